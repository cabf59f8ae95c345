//! The operations of the OpenAPI document, and a valid request to each of them.

use reqwest::multipart::{Form, Part};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use secchi::domain::key::Scope;

use crate::support::sample;

/// The first video of the sample's val split.
const VIDEO: &str = "MVK--Moalboal_Jan2022_0003";

/// One route and method.
pub struct Operation {
    pub id: String,
    pub method: Method,
    /// The pattern, such as `/api/v1/entries/{id}`.
    pub route: String,
    /// What the document says of it.
    pub described: Value,
}

/// Every operation that the document describes.
pub fn operations() -> Vec<Operation> {
    let document = serde_json::to_value(secchi::http::document()).unwrap();
    let mut operations = Vec::new();
    for (route, item) in document["paths"].as_object().unwrap() {
        for (method, described) in item.as_object().unwrap() {
            operations.push(Operation {
                id: described["operationId"].as_str().unwrap().to_owned(),
                method: method.to_uppercase().parse().unwrap(),
                route: route.clone(),
                described: described.clone(),
            });
        }
    }
    operations
}

impl Operation {
    /// The address for one object, whatever names it; `val` where the route asks for a split, a video of it where it asks
    /// for one.
    pub fn path(&self, id: &str) -> String {
        let names = ["{id}", "{slug}", "{claim}", "{token}", "{name}"];
        let path = names.iter().fold(self.route.clone(), |path, name| path.replace(name, id));
        path.replace("{split}", "val").replace("{key}", VIDEO).replace("{i}", "0").replace("{kind}", "attack")
    }

    /// The scope of a key that the document asks for; none where no key is needed.
    pub fn scope(&self) -> Option<Scope> {
        let named = &self.described.get("security")?[0]["bearer"][0];
        Some(Scope::parse(named.as_str().unwrap()).unwrap())
    }

    /// Whether the route names an object.
    pub fn has_id(&self) -> bool {
        self.route.contains("{id}")
    }

    /// A request to this operation that nothing is wrong with; `api_key` is what is exchanged for a token.
    pub fn request(
        &self,
        (http, base): (&Client, &str),
        key: Option<&str>,
        id: &str,
        api_key: &str,
    ) -> RequestBuilder {
        let request = http.request(self.method.clone(), format!("{base}{}", self.path(id)));
        let request = match key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        match self.id.as_str() {
            "find_comparison" => {
                let (a, b) = id.split_once(',').unwrap_or_default();
                request.query(&[("a", a), ("b", b)])
            }
            "create_token" => request.json(&json!({ "api_key": api_key })),
            "create_submission" => {
                request.multipart(form(&val_metadata(), val_answers("A ray glides past.")))
            }
            "update_submission" => request.json(&json!({ "description": "the second run" })),
            "withdraw_submission" | "withdraw_any_submission" => {
                request.json(&json!({ "reason": "a wrong checkpoint" }))
            }
            "rejudge_submission" => request.json(&json!({ "reason": "a bad hour of the provider" })),
            "create_ratings" => request.body(
                "item,question_id,dimension,rater,rating,judge_score\nS1,MVK--reef--q5,OEMU,E1,3,2.65\n",
            ),
            "close_flag" => request.json(&json!({ "reason": "it quotes a sign in the clip" })),
            "create_note" => request.json(&json!({ "text": "Asked them for the log." })),
            "stage_judge" | "activate_judge" => request.json(&json!({})),
            "create_team" => request.json(&json!({ "slug": id, "name": "The new lab" })),
            "update_series" => request.json(&json!({ "reason": "an ablation" })),
            "create_decision" => request.json(&val_decision()),
            "create_correction" => request.json(&json!({ "notice": "Three keys were wrong." })),
            "create_key" => request.json(&json!({ "name": "cluster", "scope": "read" })),
            "create_signup" => request.json(&application("new-lab")),
            "reject_signup" => request.json(&json!({ "reason": "nobody knows them" })),
            "create_grant" => request.json(&json!({ "split": "val", "amount": 1, "reason": "a lost day" })),
            _ => request,
        }
    }
}

/// What somebody says who signs up.
pub fn application(slug: &str) -> Value {
    json!({ "slug": slug, "name": format!("The {slug}"), "email": format!("{slug}@{slug}.example.org") })
}

/// A decision on the answer to the first caption question of the sample's val.
pub fn val_decision() -> Value {
    let text = std::fs::read_to_string(sample("val.jsonl")).unwrap();
    let mut records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let caption = records.find(|record| record["type"] == "caption").unwrap();
    json!({
        "question_id": caption["question_id"], "reason": "the judge never answers",
        "criteria": { "subject_correspondence": 3, "temporal_description": 3, "hallucination_detection": 3 },
    })
}

/// The form of a submission.
pub fn form(metadata: &Value, predictions: Vec<u8>) -> Form {
    Form::new()
        .text("metadata", metadata.to_string())
        .part("predictions", Part::bytes(predictions).file_name("predictions"))
}

/// Metadata of a public submission to val.
pub fn val_metadata() -> Value {
    json!({ "split": "val", "model_name": "Reef-8B", "access": "open", "parameters_b": 8, "visibility": "public" })
}

/// An answer to every question of the sample's val: the right letter, and `text` where there are no options.
pub fn val_answers(text: &str) -> Vec<u8> {
    answers("val.jsonl", |record| match record["answer"].as_str() {
        Some("") | None => text.to_owned(),
        Some(letter) => letter.to_owned(),
    })
}

/// A prediction file that answers every record of a release file of the sample by `answer`.
pub fn answers(release: &str, answer: impl Fn(&Value) -> String) -> Vec<u8> {
    let text = std::fs::read_to_string(sample(release)).unwrap();
    let lines = text.lines().map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        format!("{}\n", json!({ "question_id": record["question_id"], "answer": answer(&record) }))
    });
    lines.collect::<String>().into_bytes()
}
