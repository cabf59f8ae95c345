//! API keys as their teams see them: what a key may do. Knows nothing of how keys are made or checked.

use super::submission::{MetadataFault, text_fault};
use crate::text_enum;

text_enum! {
    /// What a key may be used for; a later one includes those before it.
    Scope { Read = "read", Submit = "submit", Admin = "admin" }
}

const MAX_NAME_CHARS: usize = 60;

/// What is wrong with a key's name; nothing if it can be shown.
pub fn name_fault(name: &str) -> Option<MetadataFault> {
    if name.trim().is_empty() {
        let detail = "is blank; say what the key is for, such as `cluster`".into();
        return Some(MetadataFault { pointer: "/name".into(), detail });
    }
    text_fault("name", name, MAX_NAME_CHARS)
}
