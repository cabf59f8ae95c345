//! `/about`: what the benchmark measures, what each column means, how the numbers come about, and what a score does not
//! say.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use maud::{Markup, html};

use super::frame::{self, Page, Sharing, Viewer};
use super::{Pages, refusal};
use crate::domain::column::{CaptionDimension, Column, Unit};
use crate::scoring::baselines::Rule;

pub(super) async fn show(pages: web::Data<Pages>) -> HttpResponse {
    let content = html! {
        h1 { "About MarineLife-16K and this board" }
        (benchmark())
        (columns())
        (statistics())
        (order())
        (reported())
        (baselines())
        (limits())
        (privacy())
        (cite())
    };
    let sharing = Sharing {
        description: "What MarineLife-16K measures, how its scores, intervals and rank ranges come about, and what they do not say.",
        origin: pages.public_origin.as_deref(),
        canonical: "/about",
        picture: "/og/board.png",
    };
    let page = Page { title: "About", address: "/about", viewer: Viewer::Anybody, script: None };
    refusal::html(StatusCode::OK, frame::shared_document(&page, &sharing, &content))
}

fn benchmark() -> Markup {
    html! {
        section aria-labelledby="benchmark" {
            h2 #benchmark { "The benchmark" }
            p {
                "MarineLife-16K asks video-language models about short underwater clips: what lives there, how it looks and moves, \
                 what the camera does, and in what light and place. Its hidden test split has 500 clips with 4,020 questions: 3,020 \
                 multiple choice and 1,000 open-ended. Models answer from frames of the video; teams send the answers here, and \
                 the keys never leave this server."
            }
        }
    }
}

fn columns() -> Markup {
    let rows = Column::ALL.iter().filter(|column| column.caption_dimension().is_none());
    html! {
        section aria-labelledby="columns" {
            h2 #columns { "The columns" }
            div.scroll tabindex="0" role="region" aria-labelledby="columns" {
                table {
                    thead { tr {
                        th scope="col" { "Column" } th scope="col" { "What it measures" } th scope="col" { "Unit" }
                    } }
                    tbody {
                        @for column in rows { tr {
                            th.nowrap scope="row" #{ "column-" (column) } { (column) }
                            td.wrap { (column.label()) }
                            td.nowrap { (unit(column.unit())) }
                        } }
                        @for dimension in CaptionDimension::ALL { tr {
                            th scope="row" #{ "column-" (dimension) } { (dimension) }
                            td.wrap { (dimension_words(*dimension)) " Apart for static and moving cameras; change is moving minus static." }
                            td.nowrap { (unit(Unit::Points)) }
                        } }
                    }
                }
            }
            p {
                "Higher is better everywhere. MCQ, the plain mean of the seven percent columns, is this board's own default order \
                 and not the paper's. Percent and points are never averaged together. Open-ended columns come from "
                a href="/judge" { "the judge" } "."
            }
        }
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Percent => "percent right",
        Unit::Points => "points, 0 to 5",
    }
}

fn dimension_words(dimension: CaptionDimension) -> &'static str {
    match dimension {
        CaptionDimension::Beh => {
            "Biological entity hallucination: whether a caption names the animals and plants that are there, and no others."
        }
        CaptionDimension::Ah => {
            "Action hallucination: whether it tells what happens, in order, and nothing that does not."
        }
        CaptionDimension::Ecf => {
            "Environmental context fabrications: whether surroundings and light are as they are, without invention."
        }
    }
}

fn statistics() -> Markup {
    html! {
        section aria-labelledby="statistics" {
            h2 #statistics { "How sure a number is" }
            ul {
                li {
                    strong { "95 % interval. " }
                    "Scores that fit what was seen, allowing for which videos happened to be chosen. Wilson's interval for a percent \
                     column; for means and MCQ a bootstrap that draws whole videos again, 2,000 times, seeded so that the same \
                     answers always give the same digits."
                }
                li {
                    strong { "Are two entries different? " }
                    "Both answered the same questions, so they are compared question by question: mid-p McNemar for a percent \
                     column, a paired t test over videos for means and MCQ. Intervals that overlap may still differ; the "
                    a href="/compare" { "comparison" } " is the test."
                }
                li {
                    strong { "Rank range. " }
                    "The best and the worst rank that these tests allow: 1 plus the entries that are clearly better, to the last \
                     rank less those that are clearly worse. “Clearly” takes all comparisons of an entry together (Holm, 5 %)."
                }
                li {
                    strong { "≈ and tiers. " }
                    "≈ marks a value that cannot be told apart from the best of its column. A tier opens with the first entry that \
                     is clearly below the first of the tier before."
                }
                li {
                    strong { "Where intervals are too narrow. " }
                    "Close to the top of the scale. Of answers that are right with a chance of 0.998, Wilson's interval of 500 \
                     holds the truth in 92.0 % of cases, of 245 in 91.3 %, since one wrong answer more or less decides; in all \
                     other cases tried, 92.5 to 97.4 %. The bootstrap, for answers that are right with a chance of 0.5 to 0.998 and \
                     30, 245 or 500 videos, 94 % and more where points are won one by one, 90.1 % and more where an answer has all \
                     points or none, and 89.7 % and more for MCQ. Where all videos are alike it knows nothing, and Wilson's \
                     interval of that share of the scale stands in, which is wide."
                }
                li {
                    strong { "What is not in the interval: " }
                    "the judge's own error, the frames that a team chose, and chance in the model's decoding."
                }
            }
        }
    }
}

fn order() -> Markup {
    html! {
        section aria-labelledby="order" {
            h2 #order { "The order of rows" }
            p {
                "One order everywhere, on the page and in JSON, CSV, LaTeX and Markdown: by the unrounded value of the sorted column. \
                 Equal values share a rank, and the next rank counts them all (1, 1, 3). A missing value comes last whichever way is \
                 sorted; it is never a 0. Rank 1 is the highest value also where the lowest is shown first. A filter hides rows and \
                 changes no rank. Of each team and model the newest entry is shown, unless all are asked for."
            }
        }
    }
}

fn reported() -> Markup {
    html! {
        section aria-labelledby="reported" {
            h2 #reported { "Rows of the paper" }
            p {
                "Twelve models are shown as the paper prints them, marked “reported”. They were not scored here and are not ranked: \
                 most of their percentages are fractions of 30 questions (of 17 for SM-l), and their caption scores fit means of 7, so \
                 they are not results on the whole test split. They have no interval for the same reason. Two of the 42 printed \
                 averages do not follow from the printed rows: OEMU of the small open models (printed 2.04, the rows give 2.05) and PMT \
                 of the closed models (printed 82.46, the rows give 82.48). The board shows both figures."
            }
        }
    }
}

fn baselines() -> Markup {
    html! {
        section aria-labelledby="blind" {
            h2 #blind { "Blind baselines" }
            p {
                "Three rules answer the multiple-choice questions without ever seeing a video. A model's score is worth what it has \
                 above them."
            }
            ul { @for rule in Rule::ALL { li { (rule_words(*rule)) } } }
            p {
                "The third is high because the benchmark gives some answers away: the text of one question may name the object that \
                 another question about the same video asks for. " code { "secchi evaluate" }
                " therefore asks each question in a conversation of its own; a model that is shown all questions of a video at once can \
                 use the same leak."
            }
        }
    }
}

fn rule_words(rule: Rule) -> &'static str {
    match rule {
        Rule::FrequentLetter => {
            "Most frequent letter: always the letter that is right most often among the questions of the type, counted on this very split."
        }
        Rule::LongestOption => "Longest option: the option with the most characters.",
        Rule::SharedWords => {
            "Words shared with other questions: the option that has most words in common with the video's other questions."
        }
    }
}

fn limits() -> Markup {
    html! {
        section aria-labelledby="limits" {
            h2 #limits { "What a score does not say" }
            ul {
                li { "It is measured on clips of two collections of marine footage; other waters, cameras and species may give another order." }
                li { "Teams run their own models: frames, prompts and decoding are what they say they are, and nobody here has run them again." }
                li { "Whether a model saw the videos in training is not known." }
                li { "The average of a group describes the models in it, not all models of their kind." }
                li { "Small differences in many columns invite to pick one; the rank range and the comparison are there to resist that." }
            }
        }
    }
}

fn privacy() -> Markup {
    html! {
        section aria-labelledby="kept" {
            h2 #kept { "What is kept and shown" }
            p {
                "Of a test split nothing is shown by question. An entry may be anonymous: then it names no team. A withdrawn entry \
                 leaves every board, past ones too, and its address says why. A board of before is the same address with "
                code { "as_of" } ", " code { "release" } " and " code { "judge" } "; it leaves out what was withdrawn since, and shows \
                 names as they are now."
            }
        }
    }
}

fn cite() -> Markup {
    html! {
        section aria-labelledby="cite" {
            h2 #cite { "To cite" }
            p {
                "Cite the benchmark's paper, and the board with its release, judge configuration and date: "
                a href="/citation.bib" { "BibTeX" } ". Each entry has a citation and a signed record of its own."
            }
        }
    }
}
