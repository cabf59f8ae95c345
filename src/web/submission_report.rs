//! The report on a submission as parts of its page: what was answered, what could not be read, how captions are worded, and
//! how the entry stands beside its neighbours. Decides nothing.

use maud::{Markup, html};

use super::submission_page::Seen;
use crate::domain::choice::Reason;
use crate::evaluation::report::{CaptionReport, NeighbourReport, Report, TypeCoverage, UnreadCount};
use crate::scoring::decimals::to_decimals;

/// The entries next to a submission on the board; nothing where it has no score to compare.
pub(super) fn neighbours(seen: &Seen, report: &Report) -> Markup {
    let Some(own) = seen.scores.get(&report.column) else { return html! {} };
    html! {
        section aria-labelledby="neighbours" {
            h2 #neighbours { "Beside its neighbours" }
            @if report.neighbours.is_empty() {
                p { "There is no published entry of another team on this board to compare it with." }
            } @else {
                p { (verdict(report)) }
                div.scroll tabindex="0" role="region" aria-labelledby="neighbours" {
                    table {
                        thead { tr {
                            th.model scope="col" { "Entry" }
                            th.number scope="col" { (report.column) }
                            th.number scope="col" { "Difference" }
                            th.number scope="col" { "95 % interval" }
                            th.beside scope="col" { "Real?" }
                        } }
                        tbody {
                            @for entry in &report.neighbours { (neighbour(entry, own.unit.places())) }
                        }
                    }
                }
                p.facts {
                    "Difference: this submission minus the entry, on the same questions. It counts as real where chance alone \
                     would show such a one in fewer than 5 of 100 cases, all these entries taken together."
                }
            }
        }
    }
}

fn verdict(report: &Report) -> String {
    let count = |is_kind: fn(&&NeighbourReport) -> bool| report.neighbours.iter().filter(is_kind).count();
    let better = count(|entry| entry.is_real && entry.difference > 0.0);
    let worse = count(|entry| entry.is_real && entry.difference <= 0.0);
    let alike = report.neighbours.len() - better - worse;
    let parts =
        [(better, "really better than"), (worse, "really worse than"), (alike, "not to be told from")];
    let told: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, how)| format!("{how} {count} of them"))
        .collect();
    format!("Of the published entries next to it by {}, it is {}.", report.column, told.join(", "))
}

fn neighbour(entry: &NeighbourReport, places: usize) -> Markup {
    let signed = |number: f64| {
        let sign = if number < 0.0 { "−" } else { "+" };
        format!("{sign}{}", to_decimals(number.abs(), places))
    };
    let word = match (entry.is_real, entry.difference > 0.0) {
        (true, true) => "yes, better",
        (true, false) => "yes, worse",
        (false, _) => "no",
    };
    html! {
        tr {
            th.model scope="row" {
                (entry.model_name) br;
                small.wrap { @match &entry.team { Some(team) => (team), None => em { "anonymous" } } }
                // On a phone the last column is out of sight.
                small.below { "real: " (word) }
            }
            td.number { (to_decimals(entry.value, places)) }
            td.number { (signed(entry.difference)) }
            td.number {
                @match entry.ci95 {
                    Some([low, high]) => { (signed(low)) " to " (signed(high)) }
                    None => span title="not told: the two files are too alike" { "–" }
                }
            }
            td.beside { (word) }
        }
    }
}

/// What was answered, by type of question, and what could not be read of it.
pub(super) fn answers(submission_id: &str, report: &Report) -> Markup {
    html! {
        @if report.has_answers {
            p { a href={ "/submissions/" (submission_id) "/answers" } { "What became of each answer" } }
        }
        (coverage(&report.coverage))
        @if !report.unread.is_empty() { (unread(&report.unread)) }
        @if let Some(captions) = &report.captions { (wording(captions)) }
    }
}

fn coverage(types: &[TypeCoverage]) -> Markup {
    let missing: usize = types.iter().map(|of_type| of_type.missing).sum();
    html! {
        h3 #coverage { "By type of question" }
        p {
            @match missing {
                0 => "Every question has an answer.",
                1 => "1 question has no answer: it counts as wrong, or 0 points.",
                missing => { (missing) " questions have no answer: they count as wrong, or 0 points." }
            }
        }
        div.scroll tabindex="0" role="region" aria-labelledby="coverage" {
            table {
                thead { tr {
                    th scope="col" { "Type" }
                    th.number scope="col" { "Answered" }
                    th.number scope="col" { "Missing" }
                    th.number scope="col" { "Unread" }
                } }
                tbody {
                    @for of_type in types {
                        tr {
                            th scope="row" { (of_type.r#type.as_str().replace('_', " ")) }
                            td.number { (of_type.answered) " of " (of_type.questions) }
                            td.number { (of_type.missing) }
                            td.number { (of_type.unread) }
                        }
                    }
                }
            }
        }
    }
}

fn unread(counts: &[UnreadCount]) -> Markup {
    html! {
        h3 #unread { "Answers without a letter that could be read" }
        p { "Each counts as wrong; no letter is guessed." }
        div.scroll tabindex="0" role="region" aria-labelledby="unread" {
            table.scores {
                thead { tr { th scope="col" { "Reason" } th.number scope="col" { "Answers" } } }
                tbody {
                    @for UnreadCount { reason, count } in counts {
                        tr {
                            th scope="row" { (in_words(*reason)) br; small { code { (reason) } } }
                            td.number { (count) }
                        }
                    }
                }
            }
        }
    }
}

/// Why no letter was read; the reasons of letters that were are told by their names.
pub(super) fn in_words(reason: Reason) -> &'static str {
    match reason {
        Reason::Empty => "nothing but punctuation",
        Reason::InfraError => "a service error or a null marker in the place of a reply",
        Reason::ReasoningUnclosed => "the reply ends inside its reasoning",
        Reason::EmptyField => "the field for the answer is empty",
        Reason::Multiple => "several letters, none of them preferred",
        Reason::Stuffing => "every letter",
        Reason::ConflictLabelText => "a letter with the text of another option",
        Reason::ConflictingDeclarations => "two answers are declared and none is taken back",
        Reason::EchoOnly => "only the repeated question",
        Reason::Conditional => "the choice hangs on an open condition",
        Reason::Hedge => "several letters held equally possible",
        Reason::OnlyRejections => "letters are only ruled out",
        Reason::OutOfRange => "the letter is not among the options",
        Reason::MultipleText => "the texts of several options",
        Reason::NoneOfAbove => "every option is refused",
        Reason::Refusal => "an apology or inability",
        Reason::Injection => "text for the grader, or a pointer to the key",
        Reason::NoSignal => "nothing in the reply points to an option",
        letter => letter.as_str(),
    }
}

fn wording(captions: &CaptionReport) -> Markup {
    let several = captions.captions - captions.one_sentence;
    let odd = [
        (captions.too_long, "80 words or more; the benchmark asks for fewer"),
        (several, "not one whole sentence, as the benchmark asks for"),
        (captions.cut_off, "cut off in mid-sentence; look at the limit of the model's output"),
        (captions.repeated, "word for word the same as another"),
    ];
    html! {
        h3 { "Captions" }
        p {
            (captions.captions) " captions of " (to_decimals(captions.words_min, 0)) " to "
            (to_decimals(captions.words_max, 0)) " words, " (to_decimals(captions.words_mean, 1)) " on the mean."
        }
        @if odd.iter().any(|(count, _)| *count > 0) {
            ul.warnings {
                @for (count, what) in odd.iter().filter(|(count, _)| *count > 0) { li { strong { (count) } " " (what) } }
            }
        }
    }
}
