//! `/entries/{id}`: one published entry, how it stands among the others, and where its numbers come from.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, web};
use maud::{Markup, html};
use uuid::Uuid;

use super::entry_scores::{captions, questions, rank};
use super::entry_source::{history, source, take_away};
use super::frame::{self, Page, Sharing, Viewer, when};
use super::refusal::{Refusal, Shown};
use super::{Pages, charts, prepared};
use crate::domain::column::Column;
use crate::domain::instant::{day, parse_rfc3339};
use crate::domain::submission::{Access, Group};
use crate::evaluation::board_query::BoardQueryError;
use crate::evaluation::board_rows::Row;
use crate::evaluation::entries::{Entry, Found, Place, Rescoring, find_entry, find_place, rescorings};
use crate::evaluation::rendered::Rendered;
use crate::evaluation::standing::{JudgeHead, Leaderboard};
use crate::judge::Configuration;
use crate::store::StoreError;
use crate::store::configurations::load_configuration;

/// What the page is made of.
pub(super) struct Seen {
    pub(super) entry: Entry,
    /// None for a moment, while a board is made anew.
    pub(super) place: Option<Place>,
    /// Its scores under each release and judge configuration that have a board.
    pub(super) rescorings: Vec<Rescoring>,
    /// The configuration behind its open-ended scores.
    pub(super) configuration: Option<Configuration>,
    /// Scheme and host of this server.
    pub(super) origin: String,
}

impl Seen {
    /// Its row on its board.
    pub(super) fn row(&self) -> Option<(&Leaderboard, &Row)> {
        let board = self.place.as_ref()?.board.as_ref();
        Some((board, board.rows.iter().find(|row| row.entry.as_ref() == Some(&self.entry.id))?))
    }
}

pub(super) async fn show(request: HttpRequest, pages: web::Data<Pages>, id: web::Path<String>) -> Shown {
    let unknown = || {
        let detail =
            "There is no published entry at this address: it may be private, or the address has a slip.";
        Refusal::said(StatusCode::NOT_FOUND, "This entry does not exist", detail)
    };
    let id = Uuid::parse_str(&id).map_err(|_| unknown())?.to_string();
    let store = &pages.evaluation.store;
    type Loaded = (Found, Vec<Rescoring>, Option<Configuration>);
    let loaded: Result<Option<Loaded>, StoreError> = store
        .snapshot(move |connection| {
            let Some(found) = find_entry(connection, &id)? else { return Ok(None) };
            let judge = match &found {
                Found::Entry(entry) => entry.judge.as_ref(),
                Found::Withdrawn { .. } => None,
            };
            let text = judge.map(|judge| load_configuration(connection, &judge.configuration)).transpose()?;
            let configuration = text.and_then(|row| serde_json::from_str(&row.text).ok());
            Ok(Some((found, rescorings(connection, &id)?, configuration)))
        })
        .await;
    let (found, rescorings, configuration) = loaded?.ok_or_else(unknown)?;
    let entry = match found {
        Found::Entry(entry) => *entry,
        Found::Withdrawn { reason, at_ms } => {
            let at = at_ms.map(|at_ms| format!(" on {}", day(at_ms))).unwrap_or_default();
            let detail = format!("It was taken off every board for good{at}. Why: {reason}");
            return Err(Refusal::said(StatusCode::GONE, "This entry was withdrawn", detail));
        }
    };
    let place = find_place(&pages.boards, store, &entry).await?;
    let seen = Seen { entry, place, rescorings, configuration, origin: pages.origin(&request) };
    let body = page(&seen, pages.public_origin.as_deref()).into_string().into_bytes();
    Ok(prepared(&request, &Rendered::new(body), "text/html; charset=utf-8").await)
}

impl From<BoardQueryError> for Refusal {
    fn from(error: BoardQueryError) -> Refusal {
        match error {
            BoardQueryError::Store(error) => error.into(),
            other => Refusal::Inside(other.to_string()),
        }
    }
}

fn page(seen: &Seen, origin: Option<&str>) -> Markup {
    let entry = &seen.entry;
    let address = format!("/entries/{}", entry.id);
    let picture = format!("/og{address}.png");
    let description = standing(seen).unwrap_or_else(|| format!("An entry of the {} split.", entry.split));
    let description = format!("{} on MarineLife-16K. {description}", entry.model_name);
    let sharing = Sharing { description: &description, origin, canonical: &address, picture: &picture };
    let content = html! {
        p.crumb { a href={ "/?split=" (entry.split) } { "Leaderboard" } }
        h1 { (entry.model_name) }
        (facts(entry))
        (notices(seen))
        @if let Some(standing) = standing(seen) { p.lead { (standing) } }
        (ways_on(seen))
        @if entry.judge.as_ref().is_some_and(JudgeHead::is_offline) {
            p.notice role="note" {
                strong { "Offline judge. " }
                "OEMU, BEH, AH and ECF are scored by word overlap with the annotators' evidence, not by a language model."
            }
        }
        (questions(seen))
        (captions(seen))
        @if let Some((board, _)) = seen.row() { (charts::profile(board, &entry.id)) }
        (about(entry))
        (source(seen))
        (history(seen))
        (take_away(seen))
        p.printed { "Printed from " (origin.unwrap_or_default()) (address) }
    };
    let page = Page { title: &entry.model_name, address: "", viewer: Viewer::Anybody, script: None };
    frame::shared_document(&page, &sharing, &content)
}

fn facts(entry: &Entry) -> Markup {
    let group = match entry.group {
        Group::OpenSmall => "Open model below 10 B parameters",
        Group::OpenLarge => "Open model of 10 B parameters and more",
        Group::Closed => "Closed model",
    };
    html! {
        p.facts {
            (group)
            @if let Some(billions) = entry.parameters_b { " (" (billions) " B)" }
            @if let Some(backbone) = &entry.backbone { " · backbone " (backbone) }
            " · by " @match &entry.team { Some(team) => strong { (team) }, None => "an anonymous team" }
        }
        p.facts {
            "Split " strong { (entry.split) } " · release " strong { (entry.release) }
            @if let Some(judge) = &entry.judge { " · judged by " strong { (judge.model) } }
            @if let Some(at_ms) = parse_rfc3339(&entry.submitted_at) { " · submitted " (when(at_ms)) }
        }
    }
}

/// What makes the entry one of the past.
fn notices(seen: &Seen) -> Markup {
    let entry = &seen.entry;
    let Some(place) = &seen.place else {
        return html! { p.notice role="note" { "It is on no board at the moment." } };
    };
    let retired_at = entry.judge.as_ref().and_then(|judge| judge.retired_at.as_deref());
    let newer = place
        .present
        .rows
        .iter()
        .find(|row| row.team.is_some() && row.team == entry.team && row.model_name == entry.model_name);
    html! {
        @if place.present.release.as_ref() != Some(&entry.release) {
            p.notice role="note" {
                strong { "An earlier release. " }
                "Its scores are of release " (entry.release) ", which is not the active one any more. They are not ranked beside those "
                "of the present board."
            }
        }
        @if let Some(retired_at) = retired_at {
            p.notice role="note" {
                strong { "An earlier judge. " }
                "The judge configuration behind its open-ended scores was retired " time datetime=(retired_at) { (retired_at) } ". "
                "They are not ranked beside those of the present board."
            }
        }
        @if place.is_replaced {
            p.notice role="note" {
                strong { "Replaced. " } "Its team has published a newer submission of this model, which stands on the board instead"
                @match newer.and_then(|row| row.entry.as_ref()) {
                    Some(newer) => { ": " a href={ "/entries/" (newer) } { "the newer entry" } "." }
                    None => ".",
                }
            }
        }
    }
}

/// How the entry stands by `MCQ`, in words.
fn standing(seen: &Seen) -> Option<String> {
    let (board, row) = seen.row()?;
    let scored = board.rows.iter().filter(|row| row.entry.is_some());
    let entries = scored.filter(|row| row.scores.contains_key(&Column::Mcq)).count() as u32;
    let range = row.standings.get(&Column::Mcq).map(|standing| standing.range);
    Some(in_sentence(&rank(seen, Column::Mcq), range, entries))
}

/// A rank among so many entries in a sentence, with who is clearly ahead and who behind.
fn in_sentence(rank: &str, range: Option<[u32; 2]>, entries: u32) -> String {
    if entries < 2 {
        return "It is the only entry of its board.".to_owned();
    }
    let lead = format!("Rank {rank} of {entries} by MCQ");
    let Some([best, worst]) = range else {
        return format!("{lead}. Which entries really differ from it is not worked out yet.");
    };
    let (ahead, behind) = (best.saturating_sub(1), entries.saturating_sub(worst));
    let level = match entries.saturating_sub(1 + ahead + behind) {
        0 => String::new(),
        1 => "; one cannot be told apart from it".to_owned(),
        level => format!("; {} cannot be told apart from it", in_words(level)),
    };
    format!("{lead}: {}, {}{level}.", are(ahead, "ahead"), are(behind, "behind"))
}

fn are(count: u32, place: &str) -> String {
    match count {
        0 => format!("none is clearly {place}"),
        1 => format!("one entry is clearly {place}"),
        count => format!("{} are clearly {place}", in_words(count)),
    }
}

fn in_words(count: u32) -> String {
    const WORDS: [&str; 13] = [
        "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    WORDS.get(count as usize).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

/// Links to its neighbours on the board, and to a comparison with the leader.
fn ways_on(seen: &Seen) -> Markup {
    let Some((board, own)) = seen.row() else { return html! {} };
    let entries: Vec<&Row> = board.rows.iter().filter(|row| row.entry.is_some()).collect();
    let place = entries.iter().position(|row| row.entry == own.entry);
    let before = place.and_then(|place| entries.get(place.checked_sub(1)?));
    let after = place.and_then(|place| entries.get(place + 1));
    let rival = entries.iter().find(|row| row.entry != own.entry);
    let link = |row: &Row, words: &str| {
        html! { a href={ "/entries/" (row.entry.as_deref().unwrap_or_default()) } { (words) (row.model_name) } }
    };
    html! {
        nav.ways aria-label="Other entries" {
            @if let Some(rival) = rival {
                a href={ "/compare?entry=" (seen.entry.id) "&entry=" (rival.entry.as_deref().unwrap_or_default()) } {
                    "Compare with " (rival.model_name)
                }
            }
            @if let Some(before) = before { (link(before, "↑ Above: ")) }
            @if let Some(after) = after { (link(after, "↓ Below: ")) }
        }
    }
}

fn about(entry: &Entry) -> Markup {
    let link = |url: &str| html! { a href=(url) rel="nofollow noopener" { (url) } };
    let address = |url: &Option<String>| url.clone().filter(|url| is_web_address(url));
    html! {
        section aria-labelledby="about" {
            h2 #about { "About the run" }
            dl {
                @if let Some(description) = &entry.description { dt { "Described by its team" } dd.text { (description) } }
                @if let Some(url) = address(&entry.paper_url) { dt { "Paper" } dd { (link(&url)) } }
                @if let Some(url) = address(&entry.code_url) { dt { "Code" } dd { (link(&url)) } }
                dt { "Weights" } dd { @match entry.access { Access::Open => "open", Access::Closed => "closed" } }
                dt { "Answered" } dd { (entry.coverage.answered) " of " (entry.coverage.questions) " questions" }
                dt { "Without a letter that could be read" } dd { (entry.coverage.unparsed) }
            }
        }
    }
}

/// Whether an address may stand behind a link; what was stored is checked again where it is shown.
fn is_web_address(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_range_is_told_in_words() {
        let words = |range, entries| in_sentence("2–5", range, entries);
        assert_eq!(
            words(Some([2, 5]), 14),
            "Rank 2–5 of 14 by MCQ: one entry is clearly ahead, nine are clearly behind; three cannot be told apart from it."
        );
        assert_eq!(
            words(Some([1, 1]), 2),
            "Rank 2–5 of 2 by MCQ: none is clearly ahead, one entry is clearly behind."
        );
        assert!(words(Some([20, 40]), 60).contains("19 are clearly ahead, 20 are clearly behind; 20 cannot"));
        assert!(words(None, 14).contains("not worked out yet"));
        assert_eq!(words(Some([1, 1]), 1), "It is the only entry of its board.");
    }

    #[test]
    fn only_web_addresses_become_links() {
        assert!(is_web_address("https://example.org") && is_web_address("http://example.org"));
        assert!(!is_web_address("javascript:alert(1)") && !is_web_address("data:text/html,x"));
    }
}
