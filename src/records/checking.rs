//! Checking a signed record: what may be wrong with it, in the order in which it is looked for. Knows nothing of who asks.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::Record;
use super::json::{first_difference, read};
use super::keys::{KeySet, PublicKey};

/// The type that the header of a record's signature names, so that no other thing that is signed passes for a record.
pub(super) const TYPE: &str = "secchi-record+jws";

const ALGORITHM: &str = "EdDSA";

/// A record is smaller than that, whatever its model is called.
const MAX_BYTES: usize = 64 * 1024;

/// Characters of a value that a message shows.
const SHOWN_CHARS: usize = 80;

/// A record that its signature holds for.
#[derive(Debug, Clone)]
pub struct Checked {
    /// What was stated.
    pub record: Record,
    /// The key that signed it.
    pub key: PublicKey,
    /// Whether the key was among keys that were given; otherwise it came with the record.
    pub key_is_known: bool,
}

/// Why a record is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordFault {
    /// It is larger than any record.
    #[error("it has {0} bytes; a record has at most {MAX_BYTES}")]
    TooLarge(usize),
    /// It is no JSON, or a key stands in it twice.
    #[error("{part} is not JSON without doubt: {detail}; fetch the record again")]
    Json {
        /// Which part.
        part: &'static str,
        /// What is wrong.
        detail: String,
    },
    /// It has another shape.
    #[error("it is no object of `record` and `jws` alone: {0}")]
    Shape(String),
    /// The signature is no JWS.
    #[error("`jws` is no compact JWS: {0}")]
    Jws(&'static str),
    /// The signature's header is not one of a record.
    #[error("the signature's `{name}` is {found}; a record's is {expected}")]
    Header {
        /// The member.
        name: &'static str,
        /// What stands there.
        found: String,
        /// What would have to.
        expected: &'static str,
    },
    /// The signature's header has a member that a record's has not.
    #[error("the signature's header has `{0}`, which a record's has not")]
    HeaderMember(String),
    /// The key's id is not its thumbprint.
    #[error("the key calls itself `{named}` and is `{actual}`: another key was put in its place")]
    KeyId {
        /// The id in the header.
        named: String,
        /// The thumbprint.
        actual: String,
    },
    /// The key is none of those given.
    #[error("the key `{0}` is not among the keys given: this server did not sign it")]
    UnknownKey(String),
    /// The signature is not the key's over what is signed.
    #[error("the signature does not hold: what was signed, or the signature, was changed")]
    Signature,
    /// What is shown is not what was signed.
    #[error("`record{pointer}` is {shown}, and {signed} was signed")]
    Differs {
        /// Where.
        pointer: String,
        /// What stands in `record`.
        shown: String,
        /// What was signed.
        signed: String,
    },
    /// What was signed is no record.
    #[error("what was signed is no record that this version knows: {0}")]
    Unknown(String),
}

impl RecordFault {
    /// The fault's name for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "too_large",
            Self::Json { .. } => "malformed_json",
            Self::Shape(_) => "wrong_shape",
            Self::Jws(_) => "malformed_jws",
            Self::Header { .. } | Self::HeaderMember(_) => "wrong_header",
            Self::KeyId { .. } => "wrong_key_id",
            Self::UnknownKey(_) => "unknown_key",
            Self::Signature => "bad_signature",
            Self::Differs { .. } => "differs",
            Self::Unknown(_) => "unknown_record",
        }
    }
}

/// Checks a signed record: that the signature holds over exactly what it shows, by one of `keys` or, without them, by the
/// key that comes with it.
///
/// # Errors
/// Whatever is wrong with it first.
pub fn check(text: &[u8], keys: Option<&KeySet>) -> Result<Checked, RecordFault> {
    if text.len() > MAX_BYTES {
        return Err(RecordFault::TooLarge(text.len()));
    }
    let signed = object("it", text)?;
    if let Some(name) = signed.keys().find(|name| *name != "record" && *name != "jws") {
        return Err(RecordFault::Shape(format!("`{}` does not belong there", shown_text(name))));
    }
    let member =
        |name: &str| signed.get(name).ok_or_else(|| RecordFault::Shape(format!("`{name}` is missing")));
    let (shown, jws) = (member("record")?, member("jws")?);
    let jws = jws.as_str().ok_or(RecordFault::Jws("it is no text"))?;
    let parts: Vec<&str> = jws.split('.').collect();
    let &[header, payload, signature] = parts.as_slice() else {
        return Err(RecordFault::Jws("it has not three parts"));
    };
    let key = key(&object("the signature's header", &decoded(header)?)?)?;
    if keys.is_some_and(|keys| !keys.has(&key)) {
        return Err(RecordFault::UnknownKey(key.id().to_owned()));
    }
    decoded(signature)?;
    let message = &jws[..header.len() + 1 + payload.len()];
    if !key.has_signed(message, signature) {
        return Err(RecordFault::Signature);
    }
    let stated = Value::Object(object("what was signed", &decoded(payload)?)?);
    if let Some((pointer, shown, signed)) = first_difference(shown, &stated) {
        let (shown, signed) = (shown_value(shown.as_ref()), shown_value(signed.as_ref()));
        return Err(RecordFault::Differs { pointer: shown_text(&pointer), shown, signed });
    }
    let record = serde_json::from_value(stated)
        .map_err(|error| RecordFault::Unknown(shown_text(&error.to_string())))?;
    Ok(Checked { record, key, key_is_known: keys.is_some() })
}

/// The key that a header names, if the header is one of a record.
fn key(header: &Map<String, Value>) -> Result<PublicKey, RecordFault> {
    let expect = |name: &'static str, expected: &'static str| match header.get(name) {
        Some(found) if found == expected => Ok(()),
        found => Err(RecordFault::Header { name, found: shown_value(found), expected }),
    };
    expect("alg", ALGORITHM)?;
    expect("typ", TYPE)?;
    if let Some(name) = header.keys().find(|name| !["alg", "typ", "kid", "jwk"].contains(&name.as_str())) {
        return Err(RecordFault::HeaderMember(shown_text(name)));
    }
    let jwk = header.get("jwk");
    let wrong_jwk =
        || RecordFault::Header { name: "jwk", found: shown_value(jwk), expected: "a public Ed25519 key" };
    let key = jwk.and_then(PublicKey::from_jwk).ok_or_else(wrong_jwk)?;
    let named = header.get("kid").and_then(Value::as_str).unwrap_or_default();
    if named != key.id() {
        return Err(RecordFault::KeyId { named: shown_text(named), actual: key.id().to_owned() });
    }
    Ok(key)
}

fn decoded(part: &str) -> Result<Vec<u8>, RecordFault> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| RecordFault::Jws("a part of it is not base64url"))
}

fn object(part: &'static str, text: &[u8]) -> Result<Map<String, Value>, RecordFault> {
    match read(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(RecordFault::Json { part, detail: "it is no object".to_owned() }),
        Err(error) => Err(RecordFault::Json { part, detail: error.to_string() }),
    }
}

fn shown_value(value: Option<&Value>) -> String {
    value.map_or_else(|| "missing".to_owned(), |value| format!("`{}`", shown_text(&value.to_string())))
}

/// A text as a message may show it: not too long, and nothing that a terminal obeys.
fn shown_text(text: &str) -> String {
    let mut shown: String = text.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown
}
