//! What can go wrong in one HTTP try, and telling the kinds apart by status and structured fields, since
//! providers word the same fault in any way. Knows nothing of how often a try is repeated.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::Usage;
use super::headers::Remaining;
use crate::text_enum;

text_enum! {
    /// The kinds of fault of one try.
    FaultKind {
        Transport = "transport",
        Deadline = "deadline",
        RateLimit = "rate_limit",
        SlowDown = "slow_down",
        Overload = "overload",
        Server = "server",
        Money = "money",
        Key = "key",
        MissingModel = "missing_model",
        WrongModel = "wrong_model",
        SchemaRefused = "schema_refused",
        Parameter = "parameter",
        ContextTooLong = "context_too_long",
        BadRequest = "bad_request",
        ContentFilter = "content_filter",
        Refusal = "refusal",
        Length = "length",
        Malformed = "malformed",
    }
}

impl FaultKind {
    /// Whether fewer calls at once may mend it.
    pub fn is_overload(self) -> bool {
        matches!(self, FaultKind::Deadline | FaultKind::RateLimit | FaultKind::SlowDown | FaultKind::Overload)
    }

    /// Whether it says that the endpoint is out of reach or order, whatever was asked.
    pub fn is_outage(self) -> bool {
        self.is_overload() || matches!(self, FaultKind::Transport | FaultKind::Server)
    }

    /// Whether a call that ends in it would end so for every other answer too, until somebody mends it.
    pub fn stops_all(self) -> bool {
        matches!(
            self,
            FaultKind::Money
                | FaultKind::Key
                | FaultKind::MissingModel
                | FaultKind::WrongModel
                | FaultKind::SchemaRefused
        )
    }
}

/// The fault of one try; holds neither the key nor any text of the question, answer or reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFault {
    /// What kind it is.
    pub kind: FaultKind,
    /// The wait that the server asked for.
    pub wait: Option<Duration>,
    /// Whether the server allows or forbids to ask again, if it says so.
    pub may_retry: Option<bool>,
    /// The request parameter that the server refused by name.
    pub parameter: Option<Box<str>>,
    /// What the try was billed, zeros for nothing; none if that is not known.
    pub usage: Option<Usage>,
    /// What the server says is left of its limits.
    pub remaining: Remaining,
    /// What happened, for a maintainer.
    pub detail: Box<str>,
    /// The server's own words.
    pub said: Said,
}

/// A server's own words about a fault. They may repeat the request, key and all: they are for whoever owns the request,
/// never for a log, and have no `Debug` that shows them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Said(Box<str>);

impl Said {
    /// The words, of a sensible length and without control characters.
    pub fn words(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Said(..)")
    }
}

impl CallFault {
    /// A fault of which the server told nothing, not even what it billed.
    pub fn new(kind: FaultKind, detail: impl Into<Box<str>>) -> CallFault {
        CallFault {
            kind,
            wait: None,
            may_retry: None,
            parameter: None,
            usage: None,
            remaining: Remaining::default(),
            detail: detail.into(),
            said: Said::default(),
        }
    }
}

impl fmt::Display for CallFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.detail)
    }
}

/// No code or model name is longer.
const MAX_LABEL_BYTES: usize = 64;

/// No more of a server's own words is kept.
const MAX_SAID_CHARS: usize = 300;

/// Parts of a request that cannot be left out.
const ESSENTIAL: [&str; 3] = ["model", "messages", "response_format"];

const MONEY: &[&str] = &[
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "billing_hard_limit_reached",
    "billing_not_active",
];
const FILTER: &[&str] = &["content_filter", "content_policy_violation", "moderation_blocked"];
const TOO_LONG: &[&str] = &["context_length_exceeded", "string_above_max_length"];
const NO_MODEL: &[&str] = &["model_not_found", "DeploymentNotFound"];
const SLOW_DOWN: &[&str] = &["slow_down"];
const OVERLOADED: &[&str] = &["server_is_overloaded", "overloaded_error", "engine_overloaded_error"];

/// The error object of a reply, in the shapes that compatible servers give it.
pub(super) struct ErrorObject {
    kind: String,
    code: String,
    param: String,
    message: String,
}

impl ErrorObject {
    /// Reads what is there; a body that is no JSON gives empty fields.
    pub(super) fn read(body: &[u8]) -> ErrorObject {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let error = value.get("error").filter(|e| e.is_object()).unwrap_or(&value);
        let text = |field: Option<&Value>| match field {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        // FastAPI names the field in `detail[].loc`.
        let param = error.get("param").filter(|p| p.is_string()).or_else(|| value.pointer("/detail/0/loc/1"));
        ErrorObject {
            kind: text(error.get("type")),
            code: text(error.get("code")),
            param: text(param),
            // Some servers give the words alone.
            message: text(error.get("message").or_else(|| value.get("error"))),
        }
    }

    /// The fault that a reply of this status and error object means; `sent` are the request's parameters.
    pub(super) fn classify<'a>(&self, status: u16, sent: impl Iterator<Item = &'a String>) -> CallFault {
        let is = |codes: &[&str]| codes.contains(&self.code.as_str()) || codes.contains(&self.kind.as_str());
        let mut refused = None;
        // Some proxies put the status of the server behind them into the body of a 200.
        let meant = match self.code.parse() {
            Ok(code @ 400..=599) if is_success(status) => code,
            _ => status,
        };
        let kind = match meant {
            402 => FaultKind::Money,
            _ if is(MONEY) => FaultKind::Money,
            _ if is(FILTER) => FaultKind::ContentFilter,
            413 => FaultKind::ContextTooLong,
            _ if is(TOO_LONG) => FaultKind::ContextTooLong,
            _ if is(NO_MODEL) => FaultKind::MissingModel,
            401 | 403 => FaultKind::Key,
            404 => FaultKind::MissingModel,
            429 | 503 if is(SLOW_DOWN) => FaultKind::SlowDown,
            429 => FaultKind::RateLimit,
            503 | 529 => FaultKind::Overload,
            _ if is(OVERLOADED) => FaultKind::Overload,
            408 | 409 | 425 => FaultKind::Server,
            400 | 422 if self.param.starts_with("response_format") => FaultKind::SchemaRefused,
            400 | 422 => {
                refused = self.refused(sent);
                if refused.is_some() { FaultKind::Parameter } else { FaultKind::BadRequest }
            }
            400..=499 => FaultKind::BadRequest,
            _ => FaultKind::Server,
        };
        let mut detail = format!("status {status}");
        for (name, text) in [("type", &self.kind), ("code", &self.code), ("param", &self.param)] {
            if !text.is_empty() {
                detail.push_str(&format!(", {name} `{}`", label(text)));
            }
        }
        // An error costs nothing, unless it comes from a gateway that gave up on a model at work.
        let is_free = !is_success(status) && !matches!(status, 504 | 524);
        let usage = is_free.then(Usage::default);
        let said: String = self.message.chars().filter(|c| !c.is_control()).take(MAX_SAID_CHARS).collect();
        CallFault {
            parameter: refused.map(Into::into),
            usage,
            said: Said(said.into()),
            ..CallFault::new(kind, detail)
        }
    }

    /// The sent parameter that the error names, in `param` or else as a word of the message.
    fn refused<'a>(&self, sent: impl Iterator<Item = &'a String>) -> Option<String> {
        let names = |text: &str, name: &str| {
            text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
        };
        let place = if self.param.is_empty() { &self.message } else { &self.param };
        sent.filter(|name| !ESSENTIAL.contains(&name.as_str())).find(|name| names(place, name)).cloned()
    }
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// A provider's code as it stands if it looks like one; a careless server may repeat its request there, key and all.
pub(super) fn label(text: &str) -> &str {
    let is_code = |c: char| c.is_ascii_alphanumeric() || "_.-/:[]".contains(c);
    if text.len() <= MAX_LABEL_BYTES && text.chars().all(is_code) { text } else { "(withheld)" }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind(status: u16, body: Value) -> FaultKind {
        fault(status, body).kind
    }

    fn fault(status: u16, body: Value) -> CallFault {
        let sent = ["model", "messages", "temperature", "max_completion_tokens"].map(str::to_owned);
        ErrorObject::read(body.to_string().as_bytes()).classify(status, sent.iter())
    }

    #[test]
    fn money_is_told_from_a_rate_limit_by_type_and_code_and_not_by_words() {
        let quota = json!({"error": {"type": "insufficient_quota", "code": "project_spend_limit_exceeded"}});
        assert_eq!(kind(429, quota), FaultKind::Money);
        let words = json!({"error": {"type": "requests", "message": "INSUFFICIENT QUOTA for concurrency"}});
        assert_eq!(kind(429, words), FaultKind::RateLimit);
        assert_eq!(kind(402, json!({"error": {"code": 402}})), FaultKind::Money);
        assert_eq!(kind(200, json!({"error": {"code": 402}})), FaultKind::Money);
    }

    #[test]
    fn too_much_is_told_from_too_fast_and_from_overload() {
        for (status, kind_text, code, expected) in [
            (429, "requests", "rate_limit_exceeded", FaultKind::RateLimit),
            (429, "rate_limit_error", "slow_down", FaultKind::SlowDown),
            (429, "slow_down", "", FaultKind::SlowDown),
            (503, "", "slow_down", FaultKind::SlowDown),
            (503, "service_unavailable_error", "server_is_overloaded", FaultKind::Overload),
            (500, "overloaded_error", "", FaultKind::Overload),
            (200, "", "server_is_overloaded", FaultKind::Overload),
            (529, "", "", FaultKind::Overload),
        ] {
            let found = kind(status, json!({"error": {"type": kind_text, "code": code}}));
            assert_eq!(found, expected, "{status} {kind_text} {code}");
        }
        assert_eq!(kind(200, json!({"error": {"code": 429}})), FaultKind::RateLimit);
    }

    #[test]
    fn an_error_is_free_unless_a_gateway_gave_up_on_a_model_at_work() {
        for (status, usage) in [
            (302, Some(Usage::default())),
            (400, Some(Usage::default())),
            (429, Some(Usage::default())),
            (500, Some(Usage::default())),
            (200, None),
            (204, None),
            (504, None),
        ] {
            assert_eq!(fault(status, json!(null)).usage, usage, "{status}");
        }
    }

    #[test]
    fn each_kind_is_an_outage_or_stops_all_or_is_the_answers_own() {
        let are = |is: fn(FaultKind) -> bool| -> Vec<&str> {
            FaultKind::ALL.iter().filter(|kind| is(**kind)).map(|kind| kind.as_str()).collect()
        };
        assert_eq!(are(FaultKind::is_overload), ["deadline", "rate_limit", "slow_down", "overload"]);
        let outages = ["transport", "deadline", "rate_limit", "slow_down", "overload", "server"];
        assert_eq!(are(FaultKind::is_outage), outages);
        let stops = ["money", "key", "missing_model", "wrong_model", "schema_refused"];
        assert_eq!(are(FaultKind::stops_all), stops);
    }

    #[test]
    fn a_filter_is_seen_whatever_the_status() {
        for status in [400, 403] {
            assert_eq!(kind(status, json!({"error": {"code": "content_filter"}})), FaultKind::ContentFilter);
        }
    }

    #[test]
    fn a_parameter_is_refused_by_field_by_message_or_by_location() {
        let field = json!({"error": {"param": "temperature", "code": "unsupported_value"}});
        let message = json!({"message": "Unrecognized request argument supplied: max_completion_tokens"});
        let place = json!({"detail": [{"loc": ["body", "temperature"]}]});
        for (body, name) in
            [(field, "temperature"), (message, "max_completion_tokens"), (place, "temperature")]
        {
            assert_eq!(fault(400, body).parameter.as_deref(), Some(name));
        }
        let unsent = json!({"error": {"param": "max_tokens", "message": "temperature"}});
        assert_eq!(kind(400, unsent), FaultKind::BadRequest);
        let essential = json!({"error": {"param": "messages"}});
        assert_eq!(kind(400, essential), FaultKind::BadRequest);
    }

    #[test]
    fn the_rest_goes_by_status() {
        for (status, expected) in [
            (101, FaultKind::Server),
            (204, FaultKind::Server),
            (302, FaultKind::Server),
            (400, FaultKind::BadRequest),
            (401, FaultKind::Key),
            (404, FaultKind::MissingModel),
            (408, FaultKind::Server),
            (413, FaultKind::ContextTooLong),
            (418, FaultKind::BadRequest),
            (503, FaultKind::Overload),
            (504, FaultKind::Server),
        ] {
            assert_eq!(kind(status, json!("no object")), expected, "{status}");
        }
        let schema = json!({"error": {"param": "response_format.json_schema"}});
        assert_eq!(kind(400, schema), FaultKind::SchemaRefused);
    }

    #[test]
    fn the_detail_never_repeats_the_servers_message() {
        let detail = |code: &str| {
            fault(401, json!({"error": {"message": "bad key sk-1", "code": code, "type": "auth"}}))
                .detail
                .into_string()
        };
        assert_eq!(detail("invalid_api_key"), "status 401, type `auth`, code `invalid_api_key`");
        for text in ["invalid key\nsk!", "the answer was: a turtle", &"x".repeat(65)] {
            assert_eq!(detail(text), "status 401, type `auth`, code `(withheld)`");
        }
    }
}
