//! Where the numbers of an entry come from, what they were under other releases and judges, and how to quote them. Computes nothing.

use maud::{Markup, html};

use super::board::BoardView;
use super::entry::Seen;
use super::frame::when;
use super::judge::sha256;
use crate::domain::column::{Column, Unit};
use crate::domain::instant::parse_rfc3339;
use crate::evaluation::board_rows::{ScoreCell, ScoreCells};
use crate::evaluation::entries::Rescoring;
use crate::scoring::decimals::to_decimals;

/// The columns whose values depend on a judge.
const JUDGED: [Column; 7] = [
    Column::Oemu,
    Column::StaticBeh,
    Column::StaticAh,
    Column::StaticEcf,
    Column::MovingBeh,
    Column::MovingAh,
    Column::MovingEcf,
];

/// Release, judge, code, and who ran what.
pub(super) fn source(seen: &Seen) -> Markup {
    let entry = &seen.entry;
    html! {
        section aria-labelledby="source" {
            h2 #source { "Where the numbers come from" }
            dl {
                dt { "Who ran it" } dd { "Scored here from the team's predictions file; the model was run by the team." }
                dt { "Release" } dd { (entry.release) ", SHA-256 " code { (entry.release_sha256) } }
                @if let Some(judge) = &entry.judge {
                    dt { "Judge" }
                    dd { (judge.model) ", configuration " code { (judge.configuration) } " (" a href="/judge" { "what it scores" } ")" }
                }
                @if let Some(configuration) = &seen.configuration {
                    @for (rubric, text) in &configuration.prompts {
                        dt { "Prompt " code { (rubric) } } dd { "SHA-256 " code { (sha256(text)) } }
                    }
                }
                dt { "Code" } dd { "Secchi " (entry.code_version) }
                @if let Some(at_ms) = entry.scored_at.as_deref().and_then(parse_rfc3339) { dt { "Scored" } dd { (when(at_ms)) } }
                @if let Some(at_ms) = entry.rejudged_at.as_deref().and_then(parse_rfc3339) {
                    dt { "Rejudged" }
                    dd { (when(at_ms)) ": maintainers had the judge asked again, and its new scores replaced the old" }
                }
                @if let Some(attempts) = seen.row().and_then(|(_, row)| row.attempts) {
                    dt { "Attempts" } dd { "Number " (attempts) " of its team's scored submissions to this split" }
                }
            }
            (decided_by_hand(seen))
        }
    }
}

fn decided_by_hand(seen: &Seen) -> Markup {
    let decided = &seen.entry.decided_by_hand;
    html! {
        @if decided.is_empty() {
            p { "No answer was decided by hand." }
        } @else {
            h3 #by-hand { "Decided by hand" }
            p { "The judge gave no score for these answers, so maintainers decided them." }
            div.scroll tabindex="0" role="region" aria-labelledby="by-hand" {
                table {
                    thead { tr { th scope="col" { "Question" } th scope="col" { "Why" } th scope="col" { "When" } } }
                    tbody {
                        @for answer in decided {
                            tr {
                                th scope="row" { code { (answer.question_id) } }
                                td { (answer.reason) }
                                td { @if let Some(at_ms) = parse_rfc3339(&answer.decided_at) { (when(at_ms)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The scores under each release and judge configuration, where there is more than one.
pub(super) fn history(seen: &Seen) -> Markup {
    let Some([first, others @ ..]) = seen.rescorings.get(..).filter(|all| all.len() > 1) else {
        return html! {};
    };
    let is_corrected = others.iter().any(|other| other.release.id != first.release.id);
    let columns: Vec<Column> = is_corrected.then_some(Column::Mcq).into_iter().chain(JUDGED).collect();
    html! {
        section aria-labelledby="history" {
            @if is_corrected {
                h2 #history { "Under other releases and judges" }
                p.hint {
                    "A corrected release mends questions whose key was wrong. The same answers were scored under each; the boards of "
                    "earlier releases stay."
                }
            } @else {
                h2 #history { "Under other judges" }
                p.hint { "The multiple-choice columns follow from letters alone and are the same under every judge." }
            }
            div.scroll tabindex="0" role="region" aria-labelledby="history" {
                table {
                    thead {
                        tr {
                            @if is_corrected { th scope="col" { "Release" } }
                            th scope="col" { "Judge" }
                            @for column in &columns { th.number scope="col" { (column) } }
                        }
                    }
                    tbody {
                        @for Rescoring { release, judge, scores } in &seen.rescorings {
                            @let named = is_corrected.then_some(release.name.as_str());
                            @let address = BoardView::address_under(release.split, named, Some(&judge.configuration));
                            tr {
                                @if is_corrected {
                                    td { (release.name) small { @if release.active { "active" } @else { "earlier" } } }
                                }
                                th scope="row" {
                                    (judge.model)
                                    small.wrap {
                                        @match judge.retired_at.as_deref().and_then(parse_rfc3339) {
                                            Some(at_ms) => { "retired " (when(at_ms)) }
                                            None => "current",
                                        }
                                    }
                                    small {
                                        a href=(address) {
                                            (judge.configuration.get(..12).unwrap_or(&judge.configuration))
                                        }
                                    }
                                }
                                @for column in &columns { td.number { (value(scores, *column)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn value(scores: &ScoreCells, column: Column) -> String {
    let text = |cell: &ScoreCell| to_decimals(cell.value, cell.unit.places());
    scores.get(&column).map_or_else(|| "–".to_owned(), text)
}

/// The record, the citation, the data and the badge.
pub(super) fn take_away(seen: &Seen) -> Markup {
    let id = &seen.entry.id;
    let api = format!("/api/v1/entries/{id}");
    let badge = format!("{api}/badge.svg");
    let markdown =
        format!("[![MarineLife-16K]({origin}{badge})]({origin}/entries/{id})", origin = seen.origin);
    let mcq = seen.entry.scores.get(&Column::Mcq).map(|cell| to_decimals(cell.value, Unit::Percent.places()));
    html! {
        section.downloads aria-labelledby="take-away" {
            h2 #take-away { "To take away" }
            ul {
                @if seen.place.is_some() { li { a href={ (api) "/record" } { "Signed record" } ": all of this page's numbers, checked offline by " code { "secchi verify" } } }
                li { a href={ (api) "/citation.bib" } { "BibTeX" } " to cite it" }
                li { a href=(api) { "JSON" } }
            }
            p { img.shield src=(badge) alt={ "MarineLife-16K, MCQ " (mcq.as_deref().unwrap_or("not scored")) } height="20"; }
            p #snippet { "The badge in Markdown; " code { "?column=OEMU" } " or any other column works too:" }
            pre.scroll tabindex="0" role="region" aria-labelledby="snippet" { code { (markdown) } }
        }
    }
}
