//! Teams and their roles. Knows nothing of keys and tokens.

use crate::text_enum;

text_enum! {
    /// What a team may do.
    Role { Team = "team", Maintainer = "maintainer" }
}

const MAX_SLUG_CHARS: usize = 40;

/// Whether `slug` may name a team: 1 to 40 of `a-z`, `0-9` and `-`, a letter or digit first and last.
pub fn is_slug(slug: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !slug.is_empty()
        && slug.len() <= MAX_SLUG_CHARS
        && slug.bytes().all(allowed)
        && !slug.starts_with('-')
        && !slug.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::is_slug;

    #[test]
    fn a_slug_is_lower_case_words_joined_by_hyphens() {
        assert!(["ocean-lab", "a", "7seas"].into_iter().all(is_slug));
        assert!(!["", "-a", "a-", "Ocean", "a b", "é", "../x"].into_iter().any(is_slug));
        assert!(!is_slug(&"a".repeat(41)));
    }
}
