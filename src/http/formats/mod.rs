//! The formats of a leaderboard beside JSON: the same rows in the same order. Knows nothing of requests.

pub mod csv;
pub mod latex;
pub mod latex_text;
pub mod markdown;
mod table;
#[cfg(test)]
mod tests;

use form_urlencoded::Serializer;

use crate::domain::instant;
use crate::evaluation::standing::Leaderboard;

/// The address at which this state of a board stays, behind what absolute links begin with: its release, its judge
/// configuration and, as far as it has entries, the instant of the newest.
fn permanent_address(board: &Leaderboard, public_url: &str) -> String {
    let query = &board.query;
    let mut parameters = Serializer::new(String::new());
    parameters.append_pair("split", board.split.as_str()).append_pair("sort", &board.sort);
    if let Some(group) = query.group {
        parameters.append_pair("group", group.as_str());
    }
    if query.all {
        parameters.append_pair("all", "1");
    }
    if let Some(release) = &board.release {
        parameters.append_pair("release", release);
    }
    if let Some(judge) = &board.judge {
        parameters.append_pair("judge", &judge.configuration);
    }
    if let Some(at) = board.as_of.as_ref().or(board.facts.newest_at.as_ref()) {
        parameters.append_pair("as_of", at);
    }
    format!("{public_url}/?{}", parameters.finish())
}

/// The UTC day of the state that a board shows; none while it has no entries.
fn day(board: &Leaderboard) -> Option<String> {
    let at = board.as_of.as_ref().or(board.facts.newest_at.as_ref())?;
    instant::parse_rfc3339(at).map(instant::day)
}

/// What a board says of corrections, with the words of others as `escape` writes them: what its release mended, and which
/// one holds the same questions now. Empty where there is nothing to say.
fn correction_words(board: &Leaderboard, escape: fn(&str) -> String) -> String {
    let mut words = Vec::new();
    if let Some(correction) = &board.correction {
        let since = instant::parse_rfc3339(&correction.applied_at).map(instant::day).unwrap_or_default();
        let questions = if correction.questions == 1 { "question" } else { "questions" };
        words.push(format!(
            "Corrected: since {since} this release mends {} {questions} of release {}; all entries were scored anew.",
            correction.questions,
            escape(&correction.corrects)
        ));
        words.extend(correction.notice.as_deref().map(escape));
    }
    if let Some(newer) = &board.superseded_by {
        words.push(format!("An earlier release: the present board is of release {}.", escape(newer)));
    }
    words.join(" ")
}

/// A text on one line, without characters that print nothing or turn the direction of what follows.
pub fn on_one_line(text: &str) -> String {
    let invisible = |c: &char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let printed: String =
        text.chars().filter(|c| !invisible(c)).map(|c| if c.is_control() { ' ' } else { c }).collect();
    printed.split_whitespace().collect::<Vec<_>>().join(" ")
}
