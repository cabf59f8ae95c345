//! What the stand-in answers to a call: a valid verdict, or one of fifty faults. Knows neither plans nor sockets.

use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The names of all faults.
pub const FAULTS: [&str; 50] = [
    // An error by its status.
    "http500",
    "http502_html",
    "http503",
    "rate_limit",
    "insufficient_quota",
    "spend_limit",
    "slow_down",
    "bare_429",
    "http401",
    "http400",
    "http400_filter",
    // A fault of the connection.
    "conn_reset",
    "conn_close",
    "slow_body",
    "timeout",
    "chunked_truncated",
    "short_body",
    // Status 200 around something else than one completion of the model.
    "wrong_content_type",
    "text_content_type",
    "invalid_envelope",
    "bad_utf8",
    "no_choices",
    "error_200",
    "huge_body",
    "model_swap",
    // A completion without a whole text.
    "empty_content",
    "null_content",
    "refusal",
    "refusal_text",
    "length",
    "length_empty",
    "length_valid",
    "content_filter",
    // A text that is not what the schema asks for, or just so.
    "invalid_json",
    "fenced_json",
    "prose_json",
    "trailing_json",
    "wrapped_json",
    "double_encoded",
    "score_string",
    "score_float",
    "score_float_integral",
    "score_out_of_range",
    "score_bool",
    "score_null",
    "score_nan",
    "missing_key",
    "extra_key",
    "duplicate_keys",
    "no_explanation",
];

const HUGE_BYTES: usize = 2 << 20;

/// How an answer goes out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Whole,
    /// Nothing, and the connection stays open.
    Never,
    /// Nothing, and the connection closes.
    Close,
    /// Half of the body, then a reset.
    Reset,
    /// A few bytes at a time.
    Drip,
    /// A first chunk and no last one.
    CutChunks,
    /// Fewer bytes than the head says.
    Short,
}

/// What a call is answered.
pub struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Vec<u8>,
    pub delivery: Delivery,
    /// The wait to tell.
    pub wait: Option<Duration>,
    /// What is left in the rate's bucket, to be told too.
    pub left: Option<f64>,
}

impl Answer {
    fn new(status: u16, content_type: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        let body = body.into();
        Answer { status, content_type, body, delivery: Delivery::Whole, wait: None, left: None }
    }

    fn json(status: u16, body: &Value) -> Answer {
        Answer::new(status, "application/json", body.to_string())
    }

    fn error(status: u16, kind: &str, code: Option<&str>, param: Option<&str>) -> Answer {
        let error = json!({"message": "The stand-in says no.", "type": kind, "code": code, "param": param});
        Answer::json(status, &json!({ "error": error }))
    }

    /// What a call gets that the limits do not let in.
    pub fn rejection(wait: Duration, left: Option<f64>) -> Answer {
        let wait = Some(wait);
        Answer { wait, left, ..Answer::error(429, "requests", Some("rate_limit_exceeded"), None) }
    }
}

/// One call as the stand-in understands it.
pub struct Call {
    model: Value,
    /// The model that is asked, and the user message without the codes of its fence, which differ from one database to
    /// the next.
    pub message: String,
    /// The criteria with their scores, which follow from both.
    scores: Vec<(String, u8)>,
    /// Whether each score comes with an explanation.
    is_explained: bool,
}

impl Call {
    pub fn read(request: &Value) -> Call {
        let user = request["messages"][1]["content"].as_str().unwrap_or_default();
        let model = request["model"].as_str().unwrap_or_default();
        let message = format!("{model}|{}", without_fence(user));
        let criteria = request["response_format"]["json_schema"]["schema"]["properties"].as_object();
        let is_explained =
            criteria.into_iter().flatten().any(|(_, schema)| !schema["properties"]["score"].is_null());
        let score = |criterion: &String| Sha256::digest(format!("{criterion}|{message}"))[0] % 6;
        let scores = criteria.into_iter().flatten().map(|(name, _)| (name.clone(), score(name))).collect();
        Call { model: request["model"].clone(), message, scores, is_explained }
    }

    /// The answer with `fault` in it; `wait` is told where the fault tells one.
    pub fn answer(&self, fault: Option<&'static str>, wait: Duration) -> Answer {
        let fault = fault.unwrap_or_default();
        let whole = || self.completion(fault);
        let waiting = |answer: Answer| Answer { wait: Some(wait), ..answer };
        let delivered = |delivery: Delivery| Answer { delivery, ..whole() };
        match fault {
            "http500" => Answer::error(500, "server_error", None, None),
            "http502_html" => Answer::new(502, "text/html", "<html><title>502 Bad Gateway</title></html>"),
            "http503" => {
                waiting(Answer::error(503, "service_unavailable_error", Some("server_is_overloaded"), None))
            }
            "rate_limit" => waiting(Answer::error(429, "requests", Some("rate_limit_exceeded"), None)),
            "insufficient_quota" => {
                Answer::error(429, "insufficient_quota", Some("insufficient_quota"), None)
            }
            "spend_limit" => {
                Answer::error(429, "insufficient_quota", Some("project_spend_limit_exceeded"), None)
            }
            "slow_down" => waiting(Answer::error(429, "rate_limit_error", Some("slow_down"), None)),
            "bare_429" => Answer::new(429, "text/plain", "Too Many Requests\n"),
            "http401" => Answer::error(401, "invalid_request_error", Some("invalid_api_key"), None),
            "http400" => {
                let code = Some("context_length_exceeded");
                Answer::error(400, "invalid_request_error", code, Some("messages"))
            }
            "http400_filter" => Answer::error(400, "", Some("content_filter"), Some("prompt")),
            "conn_reset" => delivered(Delivery::Reset),
            "conn_close" => delivered(Delivery::Close),
            "slow_body" => delivered(Delivery::Drip),
            "timeout" => delivered(Delivery::Never),
            "chunked_truncated" => delivered(Delivery::CutChunks),
            "short_body" => delivered(Delivery::Short),
            "wrong_content_type" => Answer::new(200, "text/html", "<!doctype html><title>Sign in</title>"),
            "text_content_type" => Answer { content_type: "text/plain", ..whole() },
            "invalid_envelope" => {
                let mut answer = whole();
                answer.body.truncate(answer.body.len() - 7);
                answer.body.extend(b"\x01oops");
                answer
            }
            "bad_utf8" => {
                let mut answer = whole();
                let text = String::from_utf8_lossy(&answer.body);
                let inside = text.find(r#""content":"#).unwrap() + 13;
                answer.body.splice(inside..inside, *b"\xff\xfe");
                answer
            }
            "error_200" => Answer::error(200, "server_error", None, None),
            _ => whole(),
        }
    }

    fn completion(&self, fault: &str) -> Answer {
        let text = self.text(fault);
        let cut = |parts: usize| json!(text[..text.len() * parts / 6]);
        let (content, refusal, finish_reason) = match fault {
            "empty_content" => (json!(""), Value::Null, "stop"),
            "null_content" => (Value::Null, Value::Null, "stop"),
            "refusal" => (Value::Null, json!("I'm sorry, I can't assist with that request."), "stop"),
            "refusal_text" => (json!("I\u{2019}m sorry, but I can't help with that."), Value::Null, "stop"),
            "length" => (cut(4), Value::Null, "length"),
            "length_empty" => (json!(""), Value::Null, "length"),
            "length_valid" => (json!(text), Value::Null, "length"),
            "content_filter" => (cut(3), Value::Null, "content_filter"),
            "huge_body" => {
                (json!(text.replacen('{', &format!("{{{}", " ".repeat(HUGE_BYTES)), 1)), Value::Null, "stop")
            }
            _ => (json!(text), Value::Null, "stop"),
        };
        let model = match fault {
            "model_swap" => json!(format!("{}-mini", self.model.as_str().unwrap_or_default())),
            _ => self.model.clone(),
        };
        let message = json!({"role": "assistant", "content": content, "refusal": refusal});
        let choices = match fault {
            "no_choices" => json!([]),
            _ => json!([{"index": 0, "message": message, "finish_reason": finish_reason}]),
        };
        let usage = json!({"prompt_tokens": 100, "completion_tokens": 10});
        Answer::json(200, &json!({"model": model, "choices": choices, "usage": usage}))
    }

    /// The model's text: JSON that is written by hand, since no library writes what the faults need.
    fn text(&self, fault: &str) -> String {
        let number = |place: usize, score: u8| match fault {
            "score_string" => format!("\"{score}\""),
            "score_float" => format!("{}.5", score.min(4)),
            "score_float_integral" => format!("{score}.0"),
            "score_out_of_range" => ["6", "-1", "98989"][place % 3].to_owned(),
            "score_bool" => (score > 0).to_string(),
            "score_null" => "null".to_owned(),
            "score_nan" => "NaN".to_owned(),
            _ => score.to_string(),
        };
        let explanation = if fault == "no_explanation" { "" } else { "by lot" };
        let pair = |name: &str, number: &str| {
            if self.is_explained {
                format!(r#""{name}":{{"score":{number},"explanation":"{explanation}"}}"#)
            } else {
                format!(r#""{name}":{number}"#)
            }
        };
        let scores = self.scores.iter().enumerate();
        let mut pairs: Vec<String> =
            scores.map(|(place, (name, score))| pair(name, &number(place, *score))).collect();
        let first = self.scores.first().map(|(name, score)| pair(name, &(5 - score).to_string()));
        match fault {
            "missing_key" => drop(pairs.remove(0)),
            "extra_key" => pairs.push(r#""overall":5"#.to_owned()),
            "duplicate_keys" => pairs.splice(0..0, first).for_each(drop),
            _ => {}
        }
        let object = format!("{{{}}}", pairs.join(","));
        match fault {
            "invalid_json" => object.replace('}', ",,"),
            "fenced_json" => format!("```json\n{object}\n```"),
            "prose_json" => format!("Sure! From 0 to 5, {{roughly}} so:\n{object}\nScore: 5"),
            "trailing_json" => format!("{object}\n{object}"),
            "wrapped_json" => format!(r#"{{"scores":{object}}}"#),
            "double_encoded" => json!(object).to_string(),
            _ => object,
        }
    }
}

fn without_fence(user: &str) -> String {
    let mut parts = user.split("answer-");
    let first = parts.next().unwrap_or_default().to_owned();
    parts
        .fold(first, |text, part| text + "answer-" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}
