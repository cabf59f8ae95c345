//! What stands below the tables: the rows to take away, how to cite them, and what they rest on. Knows nothing of cells.

use maud::{Markup, html};

use super::header::{permanent, short};
use super::shown::Shown;
use crate::evaluation::board_rows::Row;
use crate::scoring::baselines::Rule;
use crate::web::figures::grouped;

const FORMATS: [(&str, &str); 4] = [("csv", "CSV"), ("json", "JSON"), ("tex", "LaTeX"), ("md", "Markdown")];

/// The same rows in other formats, a feed, and a text to cite.
pub(super) fn downloads(shown: &Shown<'_>) -> Markup {
    let address = format!("{}{}", shown.origin.unwrap_or_default(), permanent(shown).address());
    let board = shown.board;
    html! {
        section.downloads aria-labelledby="take-away" {
            h2 #take-away { "To take away" }
            p {
                "All rows in this order: "
                @for (place, (format, name)) in FORMATS.iter().enumerate() {
                    @if place > 0 { ", " }
                    a href=(shown.view.api_address(format)) { (name) }
                }
                ". New entries as a " a href="/feed.atom" { "feed" } "."
            }
            details {
                summary #cite { "Cite this board" }
                p.cite {
                    "Secchi, MarineLife-16K leaderboard, " (board.split) " split"
                    @if let (Some(release), Some(hash)) = (&board.release, &board.release_sha256) {
                        ", release " (release) " (" (short(hash)) ")"
                    }
                    @if let Some(judge) = &board.judge { ", judged by " (judge.model) " (" (short(&judge.configuration)) ")" }
                    ", " (grouped(board.facts.entries)) " entries. " (address)
                }
            }
            p.printed { "Printed from " (address) }
        }
    }
}

/// What scores rest on, and what they cannot say.
pub(super) fn notes(shown: &Shown<'_>) -> Markup {
    let has_reported = shown.board.rows.iter().any(|row| row.reported);
    html! {
        section.notes aria-labelledby="notes" {
            h2 #notes { "Notes" }
            ul {
                li {
                    "Percent columns are percent right with Wilson’s interval. OEMU, BEH, AH and ECF are points from 0 to 5, and \
                     MCQ is the plain mean of the seven percent columns; their intervals come from a bootstrap over videos."
                }
                li {
                    "Rows are sorted by unrounded values, equal values share a rank, and a missing value is last both ways. "
                    "An average describes the models of its group that are here, not all of their kind."
                }
                li {
                    "A change is moving minus static. The two are different videos, so its interval is made of both: ▲ ▼ mark a \
                     clear change, △ ▽ one that chance may explain."
                }
                @if has_reported { (about_reported()) }
                @if !shown.blind.is_empty() { (about_blind(&shown.blind)) }
            }
        }
    }
}

fn about_reported() -> Markup {
    html! {
        li {
            em { "Reported" }
            " rows stand as the paper prints them; their MCQ is the mean of the seven printed values. They are not ranked, since \
             they were not scored here and their values fit fractions of about 30 questions a column, far fewer than an entry is \
             scored on. The paper’s averages stand as printed; where they do not follow from the printed rows, the mean of the \
             rows stands below."
        }
    }
}

fn about_blind(blind: &[&Row]) -> Markup {
    let has_shared_words = blind.iter().any(|row| row.model_name == Rule::SharedWords.label());
    html! {
        li {
            "Blind baselines answer from the questions’ texts alone. Only what stands above the highest of them in a column shows \
             that a model made use of the video."
            @if has_shared_words {
                " “Words shared with other questions” is so high because some questions name in their text the very object that \
                 another question about the same video asks for."
            }
        }
    }
}
