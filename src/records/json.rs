//! JSON whose meaning is beyond doubt: no key twice, nothing behind it; and where two values differ. Knows nothing of records.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads a JSON value in which no object has a key twice.
///
/// # Errors
/// When it is malformed or has such a key; the words say where.
pub fn read(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice::<Strict>(text).map(|strict| strict.0)
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Strict, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number is out of range"))?;
        Ok(Strict(number.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Strict, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Strict(values.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Strict, A::Error> {
        let mut members = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            if members.contains_key(&key) {
                let key: String = key.chars().filter(|c| !c.is_control()).take(40).collect();
                return Err(A::Error::custom(format!("duplicate key `{key}`")));
            }
            let Strict(value) = object.next_value()?;
            members.insert(key, value);
        }
        Ok(Strict(members.into()))
    }
}

/// A JSON pointer to the first place at which two values differ, with what stands there in each.
pub fn first_difference(left: &Value, right: &Value) -> Option<(String, Option<Value>, Option<Value>)> {
    let below = |name: &str, left: Option<&Value>, right: Option<&Value>| match (left, right) {
        (Some(left), Some(right)) => {
            let (pointer, left, right) = first_difference(left, right)?;
            Some((format!("/{name}{pointer}"), left, right))
        }
        (None, None) => None,
        (left, right) => Some((format!("/{name}"), left.cloned(), right.cloned())),
    };
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let names = left.keys().chain(right.keys());
            names.map(|name| below(name, left.get(name), right.get(name))).find_map(|found| found)
        }
        (Value::Array(left), Value::Array(right)) => (0..left.len().max(right.len()))
            .find_map(|place| below(&place.to_string(), left.get(place), right.get(place))),
        _ => (left != right).then(|| (String::new(), Some(left.clone()), Some(right.clone()))),
    }
}
