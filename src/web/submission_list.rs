//! The list of a team's submissions as a page. Decides nothing.

use maud::{Markup, html};

use super::frame::{self, Page, Viewer, when};
use super::session::Session;
use super::submission_page::Seen;
use super::submission_state::badge;
use crate::domain::column::Column;
use crate::scoring::decimals::to_decimals;

pub(super) fn page(session: &Session, items: &[Seen], more: bool) -> Markup {
    let page =
        Page { title: "Submissions", address: "/submissions", viewer: Viewer::Team(session), script: None };
    let content = html! {
        h1 { "Submissions" }
        @if items.is_empty() {
            p.empty { "Your team has submitted nothing yet. " a href="/submit" { "Submit a file" } }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Submissions" {
                table {
                    thead { tr {
                        th.model scope="col" { "Model" }
                        th scope="col" { "State" }
                        th scope="col" { "Split" }
                        th.number scope="col" { "MCQ" }
                        th.number scope="col" { "OEMU" }
                    } }
                    tbody { @for item in items { (list_row(item)) } }
                }
            }
            @if let Some(last) = items.last().filter(|_| more) {
                p { a href={ "/submissions?before=" (last.submission.id) } { "Older ones" } }
            }
        }
    };
    frame::document(&page, &content)
}

fn list_row(item: &Seen) -> Markup {
    let submission = &item.submission;
    let metadata = &submission.metadata;
    let score = |column| {
        let cell = item.scores.get(&column);
        html! { td.number { @match cell { Some(cell) => (to_decimals(cell.value, cell.unit.places())), None => "–" } } }
    };
    html! {
        tr {
            th.model scope="row" {
                a href={ "/submissions/" (submission.id) } { (metadata.model_name) }
                br;
                small.wrap { (when(submission.created_at_ms)) }
            }
            td { (badge(submission)) br; small { (metadata.visibility) } }
            td { (metadata.split) }
            (score(Column::Mcq))
            (score(Column::Oemu))
        }
    }
}
