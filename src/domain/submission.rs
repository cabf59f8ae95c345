//! A submission: what a team says about its model, and the states that it passes. Knows nothing of answers or scores.

use serde::{Deserialize, Serialize};

use super::instant::{DAY_MS, day, is_day};
use super::question::Split;
use crate::text_enum;

text_enum! {
    /// Where a submission stands (contract 4).
    SubmissionState {
        Queued = "queued",
        Grading = "grading",
        Judging = "judging",
        Scored = "scored",
        Incomplete = "incomplete",
        Cancelled = "cancelled",
        Failed = "failed",
    }
}

text_enum! {
    /// Why judging waits.
    PausedFor { Budget = "budget", JudgeUnavailable = "judge_unavailable" }
}

text_enum! {
    /// Who sees a scored submission on the leaderboard, and under what name.
    Visibility { Private = "private", Anonymous = "anonymous", Public = "public" }
}

text_enum! {
    /// Whether a model's weights can be had.
    Access { Open = "open", Closed = "closed" }
}

text_enum! {
    /// The leaderboard's groups of models, as in the paper's tables.
    Group { OpenSmall = "open-small", OpenLarge = "open-large", Closed = "closed" }
}

text_enum! {
    /// What a team may read about its answers one by one.
    Feedback { None = "none", PerQuestion = "per-question" }
}

/// Below this many billions of parameters an open model counts as small (contract 5).
const SMALL_BELOW_B: f64 = 10.0;

const MAX_RELEASE_NAME_CHARS: usize = 100;
const MAX_NAME_CHARS: usize = 120;
const MAX_DESCRIPTION_CHARS: usize = 4000;
const MAX_URL_CHARS: usize = 500;
/// Two years, one of them a leap year.
const MAX_ANONYMOUS_DAYS: i64 = 731;
const MAX_REASON_CHARS: usize = 500;
const MAX_NOTE_CHARS: usize = 4000;

impl SubmissionState {
    /// Whether no worker will touch the submission again unless a maintainer asks for it.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Grading | Self::Judging)
    }
}

impl Group {
    /// The group of a model.
    pub fn of(access: Access, parameters_b: Option<f64>) -> Group {
        match (access, parameters_b) {
            (Access::Closed, _) => Group::Closed,
            (Access::Open, Some(billions)) if billions < SMALL_BELOW_B => Group::OpenSmall,
            (Access::Open, _) => Group::OpenLarge,
        }
    }
}

/// What a team says about the model that made a prediction file (contract 3, `metadata`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// The split that was answered: `test` or `val`.
    pub split: Split,
    /// The model's name as the leaderboard shows it.
    pub model_name: String,
    /// Whether the model's weights can be had.
    pub access: Access,
    /// The model's size in billions of parameters; required for `open`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters_b: Option<f64>,
    /// The vision or language backbone, as in the paper's Table 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backbone: Option<String>,
    /// Anything that a reader should know about the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// An http or https address of a paper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper_url: Option<String>,
    /// An http or https address of code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_url: Option<String>,
    /// Who may see the scored submission; `private` unless said.
    #[serde(default = "private")]
    pub visibility: Visibility,
    /// The UTC day, as 2027-03-01, from which an anonymous entry shows the team's name; never unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anonymous_until: Option<String>,
}

fn private() -> Visibility {
    Visibility::Private
}

/// One thing that is wrong with a submission's metadata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MetadataFault {
    /// JSON pointer of the field.
    pub pointer: String,
    /// What is wrong and how to mend it.
    pub detail: String,
}

/// Several faults in one line, as a terminal shows them.
pub fn listed(faults: &[MetadataFault]) -> String {
    faults.iter().map(|fault| format!("{} {}", fault.pointer, fault.detail)).collect::<Vec<_>>().join("; ")
}

impl Metadata {
    /// Everything that is wrong beyond the types of the fields; empty if nothing is.
    pub fn faults(&self) -> Vec<MetadataFault> {
        let mut faults = Vec::new();
        let mut fault = |field: &str, detail: String| {
            faults.push(MetadataFault { pointer: format!("/{field}"), detail });
        };
        if self.split == Split::Train {
            fault("split", "`train` is not scored; give `test` or `val`".into());
        }
        if self.model_name.chars().all(is_invisible) {
            fault("model_name", "the name is blank; give the name that the leaderboard shall show".into());
        }
        match self.parameters_b {
            None if self.access == Access::Open => {
                fault(
                    "parameters_b",
                    "is required where `access` is `open`; give billions of parameters".into(),
                );
            }
            Some(billions) if !(billions.is_finite() && billions > 0.0) => {
                fault("parameters_b", "must be a number above 0, in billions of parameters".into());
            }
            _ => {}
        }
        let texts = [("model_name", Some(&self.model_name)), ("backbone", self.backbone.as_ref())];
        for (field, text) in texts.into_iter().filter_map(|(f, t)| t.map(|t| (f, t))) {
            faults.extend(text_fault(field, text, MAX_NAME_CHARS));
        }
        faults.extend(self.link_faults());
        faults
    }

    /// Whether the other metadata say the same of the model, as far as that cannot be changed later.
    pub fn is_same_model(&self, other: &Metadata) -> bool {
        let model = |of: &Metadata| (of.split, of.model_name.clone(), of.access, of.backbone.clone());
        model(self) == model(other) && self.parameters_b == other.parameters_b
    }

    /// What is wrong with the day until which the entry is to be anonymous; nothing if it is to come.
    pub fn anonymity_fault(&self, now_ms: i64) -> Option<MetadataFault> {
        let until = self.anonymous_until.as_deref()?;
        let detail = if !is_day(until) {
            format!("`{}` is no day; write it as 2027-03-01", until.escape_debug())
        } else if self.visibility == Visibility::Public {
            "a `public` entry shows the name at once; leave the day out, or make it `anonymous`".into()
        } else if until <= day(now_ms).as_str() {
            format!("`{until}` is not to come; give a later day (UTC), or leave it out")
        } else if until > day(now_ms + MAX_ANONYMOUS_DAYS * DAY_MS).as_str() {
            format!("`{until}` is more than two years away; give an earlier day, or leave it out")
        } else {
            return None;
        };
        Some(MetadataFault { pointer: "/anonymous_until".into(), detail })
    }

    /// What is wrong with the description and the links: the fields that may be changed later.
    fn link_faults(&self) -> Vec<MetadataFault> {
        link_faults(self.description.as_deref(), self.paper_url.as_deref(), self.code_url.as_deref())
    }
}

/// What is wrong with a description and two links; empty if nothing is.
pub fn link_faults(
    description: Option<&str>,
    paper_url: Option<&str>,
    code_url: Option<&str>,
) -> Vec<MetadataFault> {
    let mut faults = Vec::new();
    if let Some(text) = description {
        faults.extend(text_fault("description", text, MAX_DESCRIPTION_CHARS));
    }
    for (field, url) in [("paper_url", paper_url), ("code_url", code_url)] {
        let Some(url) = url else { continue };
        let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let usable = host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'))
            && !url.contains(|c: char| c.is_whitespace() || c.is_control());
        if !usable {
            let detail = "must be an address that starts with `http://` or `https://`".into();
            faults.push(MetadataFault { pointer: format!("/{field}"), detail });
        } else {
            faults.extend(text_fault(field, url, MAX_URL_CHARS));
        }
    }
    faults
}

/// What is wrong with the reason why an entry is withdrawn; nothing if readers can be told it.
pub fn reason_fault(reason: &str) -> Option<MetadataFault> {
    if reason.trim().is_empty() {
        let detail = format!("is blank; give it in 1 to {MAX_REASON_CHARS} characters");
        return Some(MetadataFault { pointer: "/reason".into(), detail });
    }
    text_fault("reason", reason, MAX_REASON_CHARS)
}

/// What is wrong with a maintainer's notice to readers, if anything.
pub fn notice_fault(notice: &str) -> Option<MetadataFault> {
    reason_fault(notice).map(|fault| MetadataFault { pointer: "/notice".into(), ..fault })
}

/// What is wrong with a release's name; nothing if it can be shown, typed and addressed.
pub fn release_name_fault(name: &str) -> Option<String> {
    if matches!(name, "." | "..") || name.trim() != name || name.contains(['/', '\\', '\n', '\t']) {
        return Some(
            "begins or ends with a blank, or holds `/`, `\\` or a line break, or is dots alone".into(),
        );
    }
    text_fault("name", name, MAX_RELEASE_NAME_CHARS).map(|fault| fault.detail)
}

/// What is wrong with a maintainer's note on a submission; nothing if it can be kept.
pub fn note_fault(text: &str) -> Option<MetadataFault> {
    if text.trim().is_empty() {
        let detail = format!("is blank; write 1 to {MAX_NOTE_CHARS} characters");
        return Some(MetadataFault { pointer: "/text".into(), detail });
    }
    text_fault("text", text, MAX_NOTE_CHARS)
}

/// Whether a code point is reserved for programs' own use: XML forbids some of them, HTML all.
fn is_noncharacter(c: char) -> bool {
    matches!(u32::from(c), 0xFDD0..=0xFDEF) || u32::from(c) & 0xFFFE == 0xFFFE
}

/// Whether a character turns the direction of what follows, also of words that are not the text's own.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character leaves nothing to be seen.
fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || is_direction(c)
        || matches!(c, '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}')
        || matches!(c, '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}')
        || matches!(c, '\u{2800}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{E0000}'..='\u{E0FFF}')
}

pub(super) fn text_fault(field: &str, text: &str, max_chars: usize) -> Option<MetadataFault> {
    let detail = if text.chars().count() > max_chars {
        format!("is longer than {max_chars} characters; shorten it")
    } else if text.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        "holds control characters; remove them".into()
    } else if let Some(found) = text.chars().find(|c| is_noncharacter(*c) || is_direction(*c)) {
        format!("holds `U+{:04X}`, which pages and feeds cannot show safely; remove it", u32::from(found))
    } else {
        return None;
    };
    Some(MetadataFault { pointer: format!("/{field}"), detail })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Metadata {
        Metadata {
            split: Split::Test,
            model_name: "Reef-8B".into(),
            access: Access::Open,
            parameters_b: Some(8.0),
            backbone: None,
            description: None,
            paper_url: Some("https://example.org/paper".into()),
            code_url: None,
            visibility: Visibility::Private,
            anonymous_until: None,
        }
    }

    fn pointers(metadata: &Metadata) -> Vec<String> {
        metadata.faults().into_iter().map(|fault| fault.pointer).collect()
    }

    #[test]
    fn complete_metadata_has_no_fault() {
        assert_eq!(pointers(&metadata()), Vec::<String>::new());
    }

    #[test]
    fn a_name_is_seen_and_leaves_other_words_as_they_are() {
        let faulty = |name: &str| !pointers(&Metadata { model_name: name.into(), ..metadata() }).is_empty();
        for name in [
            "\u{200b}",
            "\u{3164}\u{2800} ",
            "\u{202e}RTL",
            "a\u{2066}b",
            "\u{fffe}x",
            "x\u{1fffe}",
            "\u{fdd0}",
        ] {
            assert!(faulty(name), "{name:?}");
        }
        for name in ["Reef-8B", "דג-8B", "珊瑚-8B", "🐟", "Reef 8B", "naïve\u{200d}x"] {
            assert!(!faulty(name), "{name:?}");
        }
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let wrong = Metadata {
            split: Split::Train,
            model_name: " ".into(),
            parameters_b: None,
            paper_url: Some("javascript:alert(1)".into()),
            code_url: Some("https://".into()),
            description: Some("\u{1b}[31m".into()),
            ..metadata()
        };
        let expected = ["/split", "/model_name", "/parameters_b", "/description", "/paper_url", "/code_url"];
        assert_eq!(pointers(&wrong), expected);
    }

    #[test]
    fn the_group_follows_access_and_size() {
        assert_eq!(Group::of(Access::Open, Some(9.9)), Group::OpenSmall);
        assert_eq!(Group::of(Access::Open, Some(10.0)), Group::OpenLarge);
        assert_eq!(Group::of(Access::Closed, Some(1.0)), Group::Closed);
    }

    #[test]
    fn a_name_is_kept_until_a_day_to_come_and_no_longer_than_two_years() {
        const NOW_MS: i64 = 1_796_040_000_000; // 2026-11-30
        let fault = |until: &str, visibility| {
            let anonymous = Metadata { anonymous_until: Some(until.into()), visibility, ..metadata() };
            anonymous.anonymity_fault(NOW_MS).map(|fault| fault.detail)
        };
        assert_eq!(metadata().anonymity_fault(NOW_MS), None);
        assert_eq!(fault("2026-12-01", Visibility::Anonymous), None);
        assert_eq!(fault("2028-11-30", Visibility::Private), None);
        for (until, word) in [
            ("2026-11-30", "not to come"),
            ("2025-01-01", "not to come"),
            ("2028-12-01", "two years"),
            ("2027-02-30", "no day"),
            ("soon", "no day"),
            ("2027-3-1", "no day"),
        ] {
            assert!(
                fault(until, Visibility::Anonymous).is_some_and(|detail| detail.contains(word)),
                "{until}"
            );
        }
        assert!(fault("2027-03-01", Visibility::Public).is_some());
    }

    #[test]
    fn a_release_has_a_name_that_can_be_shown_typed_and_addressed() {
        for name in ["2026-06", "2026 <b>", "sample", "v1.2+fix"] {
            assert_eq!(release_name_fault(name), None, "{name}");
        }
        for name in [".", "..", " a", "a/b", "a\\b", "a\nb", "a\u{1b}[31m", "a\u{202e}b", &"x".repeat(101)] {
            assert!(release_name_fault(name).is_some(), "{name:?}");
        }
    }
}
