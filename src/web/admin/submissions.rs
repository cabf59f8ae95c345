//! All teams' submissions, for maintainers: those that need somebody, and any others by filter.

use actix_web::http::StatusCode;
use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;

use super::desk::{
    LISTED, Sheet, chosen, cut, document, id, is_retriable, picker, submission_link, table, team_link,
};
use crate::domain::outcome::FailureReason;
use crate::domain::question::Split;
use crate::domain::submission::{PausedFor, SubmissionState};
use crate::store::listings::{Reasons, load_failure_reasons};
use crate::store::rejudgings::load_incomplete;
use crate::store::submissions::{Submission, SubmissionFilter, search_submissions};
use crate::store::{DbConnection, StoreError};
use crate::web::Pages;
use crate::web::frame::when;
use crate::web::refusal::{Refusal, Shown, html as page_of};
use crate::web::session::Session;
use crate::web::submission_state::badge;

const SPLITS: [Split; 2] = [Split::Test, Split::Val];

/// A submission that needs somebody, and why.
pub(super) struct Needing {
    submission: Submission,
    /// Why answers of it failed, and how many.
    reasons: Vec<(FailureReason, i64)>,
    /// Whether it could not be rejudged whole under a configuration that is current or staged.
    is_half_rejudged: bool,
}

impl Needing {
    /// Whether it ended without all of its scores, so that it can be tried again.
    pub(super) fn is_stuck(&self) -> bool {
        is_retriable(&self.submission) || self.is_half_rejudged
    }
}

/// At most `limit` submissions that need somebody, newest first.
///
/// # Errors
/// When the database fails.
pub(super) fn load_needing(connection: &mut DbConnection, limit: i64) -> Result<Vec<Needing>, StoreError> {
    let filter = SubmissionFilter { needs_attention: true, ..SubmissionFilter::default() };
    let found = search_submissions(connection, &filter, None, limit)?;
    let ids: Vec<&str> = found.iter().map(|submission| submission.id.as_str()).collect();
    let mut reasons = load_failure_reasons(connection, &ids)?;
    let mut needing = Vec::with_capacity(found.len());
    for submission in found {
        let is_scored = submission.state == SubmissionState::Scored;
        needing.push(Needing {
            reasons: reasons.remove(&submission.id).unwrap_or_default(),
            is_half_rejudged: is_scored && !load_incomplete(connection, &submission.id)?.is_empty(),
            submission,
        });
    }
    Ok(needing)
}

/// Which submissions are listed, as it is asked.
#[derive(Default, Deserialize)]
pub(super) struct Which {
    state: Option<String>,
    team: Option<String>,
    split: Option<String>,
    /// There, if only those are asked for that need somebody.
    attention: Option<String>,
    before: Option<String>,
}

impl Which {
    fn filter(&self) -> Result<SubmissionFilter, Refusal> {
        let team = self.team.as_deref().map(str::trim).filter(|team| !team.is_empty());
        Ok(SubmissionFilter {
            state: chosen("state", self.state.as_deref())?,
            team: team.map(str::to_owned),
            split: chosen("split", self.split.as_deref())?,
            needs_attention: self.attention.is_some(),
            team_id: None,
        })
    }
}

struct Listed {
    /// Those that need somebody, whatever is asked for.
    needing: Vec<Needing>,
    more_needing: bool,
    reasons: Reasons,
    items: Vec<Submission>,
    more: bool,
}

impl Listed {
    fn reasons(&self, submission: &Submission) -> &[(FailureReason, i64)] {
        self.reasons.get(&submission.id).map_or(&[], Vec::as_slice)
    }
}

pub(super) async fn list(pages: web::Data<Pages>, session: Session, which: web::Query<Which>) -> Shown {
    session.needs_maintainer()?;
    let filter = which.filter()?;
    let before = which.before.as_deref().map(id).transpose()?;
    let asked = filter.clone();
    let found: Result<Listed, StoreError> = pages
        .evaluation
        .store
        .read(move |connection| {
            let mut needing = load_needing(connection, LISTED + 1)?;
            let more_needing = cut(&mut needing);
            let mut items = search_submissions(connection, &asked, before.as_deref(), LISTED + 1)?;
            let more = cut(&mut items);
            let ids: Vec<&str> = items.iter().map(|submission| submission.id.as_str()).collect();
            let reasons = load_failure_reasons(connection, &ids)?;
            Ok(Listed { needing, more_needing, reasons, items, more })
        })
        .await;
    Ok(page_of(StatusCode::OK, page(&session, &found?, &filter, which.before.is_some())))
}

fn page(session: &Session, listed: &Listed, filter: &SubmissionFilter, is_further: bool) -> Markup {
    let sheet = Sheet { title: "Submissions", address: "/admin/submissions", above: None, stood: None };
    let is_first = *filter == SubmissionFilter::default() && !is_further;
    let content = html! {
        @if is_first { (needing(session, listed)) }
        @else if !filter.needs_attention && !listed.needing.is_empty() {
            p { a href="/admin/submissions" { (count(listed.needing.len(), listed.more_needing)) " need you now" } }
        }
        h2 #all { @if filter.needs_attention { "Those that need you" } @else if is_first { "All" } @else { "Found" } }
        (filters(filter))
        @if listed.items.is_empty() {
            p.empty { "No submission is like that. " a href="/admin/submissions" { "All submissions" } }
        } @else {
            (table("all", &["Model", "Team", "State", "Split", "Visibility", "Submitted"], &html! {
                @for submission in &listed.items { (row(submission, listed.reasons(submission))) }
            }))
        }
        @if let Some(last) = listed.items.last().filter(|_| listed.more) {
            p { a href={ "/admin/submissions?" (query(filter)) "before=" (last.id) } { "Older ones" } }
        }
    };
    document(session, &sheet, &content)
}

/// How many, where more than were loaded may be there.
fn count(loaded: usize, more: bool) -> String {
    if more { format!("More than {loaded}") } else { loaded.to_string() }
}

/// A filter as a query, for a link that asks for more of the same.
fn query(filter: &SubmissionFilter) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some(state) = filter.state {
        query.append_pair("state", state.as_str());
    }
    if let Some(team) = &filter.team {
        query.append_pair("team", team);
    }
    if let Some(split) = filter.split {
        query.append_pair("split", split.as_str());
    }
    if filter.needs_attention {
        query.append_pair("attention", "1");
    }
    let query = query.finish();
    if query.is_empty() { query } else { format!("{query}&") }
}

fn filters(filter: &SubmissionFilter) -> Markup {
    html! {
        form.filters method="get" action="/admin/submissions" {
            (picker("state", "State", filter.state, SubmissionState::ALL))
            (picker("split", "Split", filter.split, &SPLITS))
            div {
                label for="team" { "Team" }
                input #team name="team" type="text" autocomplete="off" value=[filter.team.as_ref()];
            }
            div.choice {
                input #attention name="attention" type="checkbox" value="1" checked[filter.needs_attention];
                label for="attention" { "Needs attention" }
            }
            button.second type="submit" { "Show" }
            @if *filter != SubmissionFilter::default() { a href="/admin/submissions" { "Reset" } }
        }
    }
}

fn needing(session: &Session, listed: &Listed) -> Markup {
    html! {
        section.needs aria-labelledby="needs" {
            h2 #needs { "Needs you now" }
            @if listed.needing.is_empty() { p.empty { "Nothing: every submission gets on by itself." } }
            ul.tasks { @for submission in &listed.needing { (task(session, submission)) } }
            @if listed.more_needing { p { a href="/admin/submissions?attention=1" { "All of them" } } }
        }
    }
}

/// What is the matter with a submission, and what can be done at once.
pub(super) fn task(session: &Session, needing: &Needing) -> Markup {
    let submission = &needing.submission;
    html! {
        li {
            div {
                (badge(submission)) " " strong { (submission_link(submission)) } " by " (team_link(&submission.team))
                ", " (submission.metadata.split)
                br;
                @if needing.is_stuck() || submission.paused_for.is_some() { (trouble(submission, &needing.reasons)) }
                @else { "It has an open flag." }
            }
            @if needing.is_stuck() { (retry_button(session, submission)) }
            @else if submission.paused_for.is_none() { a href={ "/admin/submissions/" (submission.id) "#flags" } { "Look" } }
        }
    }
}

/// Trying again harms nothing and costs only what was not judged, so that one press does it.
pub(super) fn retry_button(session: &Session, submission: &Submission) -> Markup {
    html! {
        form.inline method="post" action={ "/admin/submissions/" (submission.id) "/retry" } {
            (session.token_field())
            button.second type="submit" { "Retry" span.hidden { " " (submission.metadata.model_name) } }
        }
    }
}

/// Why a submission does not get on, in a sentence.
pub(super) fn trouble(submission: &Submission, reasons: &[(FailureReason, i64)]) -> Markup {
    let because = reasons.iter().map(|(reason, count)| format!("{count} {}", why(*reason)));
    let because = because.collect::<Vec<_>>().join(", ");
    html! {
        @match (submission.state, submission.paused_for) {
            (SubmissionState::Failed, _) => "The server failed at it; its log says why.",
            (SubmissionState::Incomplete, _) => {
                (submission.progress.failed) " of " (submission.progress.to_judge) " open-ended answers have no score"
                @if !because.is_empty() { ": " (because) } "."
            }
            (_, Some(PausedFor::Budget)) => "It rests till tomorrow: today's budget is used up.",
            (_, Some(PausedFor::JudgeUnavailable)) => "It rests: the judge does not answer.",
            (SubmissionState::Scored, None) => {
                "Answers could not be judged anew or under another configuration" @if !because.is_empty() { ": " (because) } "."
            }
            _ => "It gets on by itself.",
        }
    }
}

/// Why the judge gave no score, in a word or two.
pub(super) fn why(reason: FailureReason) -> &'static str {
    match reason {
        FailureReason::Malformed => "malformed replies",
        FailureReason::Truncated => "replies cut off",
        FailureReason::Refused => "refused",
        FailureReason::ContentFilter => "stopped by a content filter",
        FailureReason::TooLong => "too long for the judge",
        FailureReason::Rejected => "rejected by the endpoint",
        FailureReason::Unavailable => "failed again and again",
    }
}

fn row(submission: &Submission, reasons: &[(FailureReason, i64)]) -> Markup {
    let needs = is_retriable(submission) || submission.paused_for.is_some();
    html! {
        tr {
            th.model scope="row" { (submission_link(submission)) }
            td { (team_link(&submission.team)) }
            td {
                (badge(submission))
                @if needs {
                    br; small.wrap { (trouble(submission, reasons)) }
                }
            }
            td { (submission.metadata.split) }
            td { (submission.metadata.visibility) }
            td { (when(submission.created_at_ms)) }
        }
    }
}
