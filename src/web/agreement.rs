//! `/judge/agreement`: the human study from the ratings at hand, how far a judge agrees with people, and people with each
//! other. Shows sums alone, nothing of a question or an answer.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use maud::{Markup, html};
use serde::Deserialize;

use super::agreement_words::{UNKNOWN, ceiling, estimate, leniency, whose, written};
use super::charts::people;
use super::figures::{grouped, signed};
use super::frame::{self, Page, Sharing, Viewer};
use super::{Pages, refusal};
use crate::domain::dimension::Dimension;
use crate::evaluation::validity::measuring::AgreementError;
use crate::evaluation::validity::report::{AgreementReport, DriftView};
use crate::scoring::agreement::{Agreement, Estimate, Measure};
use crate::scoring::decimals::to_decimals;

const ADDRESS: &str = "/judge/agreement";

const TITLE: &str = "How far the judge agrees with people";

/// Whose agreement is asked for.
#[derive(Deserialize)]
pub(super) struct Query {
    judge: Option<String>,
}

pub(super) async fn show(pages: web::Data<Pages>, query: web::Query<Query>) -> HttpResponse {
    let evaluation = &pages.evaluation;
    let judge = query.into_inner().judge.filter(|judge| !judge.is_empty());
    match evaluation.agreements.report(&evaluation.store, judge).await {
        Ok(report) => refusal::html(StatusCode::OK, page(&content(&report), pages.public_origin.as_deref())),
        Err(AgreementError::NoRatings) => {
            refusal::html(StatusCode::OK, page(&no_ratings(), pages.public_origin.as_deref()))
        }
        Err(AgreementError::Store(error)) => {
            tracing::error!(%error, "the page of agreement could not be built");
            let detail = "The database is not to be reached. Try again in a moment.";
            super::message(StatusCode::SERVICE_UNAVAILABLE, "The page cannot be shown", detail)
        }
        Err(error @ AgreementError::NotMeasured(_)) => {
            let detail = format!("Not known: {error}.");
            super::message(StatusCode::NOT_FOUND, "This agreement is not known", &detail)
        }
        Err(error @ (AgreementError::UnknownJudge(_) | AgreementError::NoFileScores)) => {
            super::message(StatusCode::NOT_FOUND, "This agreement is not known", &format!("{error}."))
        }
    }
}

fn page(content: &Markup, origin: Option<&str>) -> Markup {
    let sharing = Sharing {
        description: "How far the judge of MarineLife-16K's open-ended answers agrees with people who rated the same answers.",
        origin,
        canonical: ADDRESS,
        picture: "/og/board.png",
    };
    let page = Page { title: TITLE, address: "/judge", viewer: Viewer::Anybody, script: None };
    frame::shared_document(&page, &sharing, content)
}

fn no_ratings() -> Markup {
    html! {
        h1 { (TITLE) }
        p {
            strong { "Not known here. " }
            "No human ratings of answers have been imported into this server. A maintainer takes them in with "
            code { "secchi validity import" } "."
        }
        p { a href="/judge" { "The judge" } }
    }
}

fn content(report: &AgreementReport) -> Markup {
    let of = &report.overall;
    html! {
        h1 { (TITLE) }
        p {
            strong { (grouped(of.items)) } " answers about " (grouped(of.videos)) " videos were rated by "
            (of.raters) " people, " strong { (grouped(of.ratings)) } " ratings from 0 to 5; "
            @if of.judged == of.items { "the judge scored all of them." }
            @else { "the judge scored " (grouped(of.judged)) " of them." }
        }
        p.facts { (whose(report)) }
        @if of.judged > 0 {
            p { (leniency(of)) " " (ceiling(of)) }
        }
        (means(report))
        (overall(of))
        (by_dimension(report))
        @if of.judged > 0 { (bands(of)) (confusion(of)) }
        @if let Some(drift) = &report.drift { (drifted(drift)) }
        (method())
        p {
            a href="/judge" { "The judge" } " · "
            a href={ "/api/v1/judge/agreement" @if let Some(id) = &report.judge.configuration { "?judge=" (id) } } { "these figures as JSON" }
        }
    }
}

fn means(report: &AgreementReport) -> Markup {
    let rows: Vec<(&str, &Agreement)> =
        report.by_dimension.iter().map(|(dimension, of)| (dimension.as_str(), of)).collect();
    let clear = rows.iter().filter_map(|(name, of)| {
        let bias = estimate(of, Measure::Bias);
        bias.ci95.filter(|[low, high]| *low > 0.0 || *high < 0.0)?;
        Some(format!("{name} {}", signed(bias.value?, 2)))
    });
    let clear: Vec<String> = clear.collect();
    let finding = if report.overall.judged == 0 {
        "Only people have rated yet.".to_owned()
    } else if clear.is_empty() {
        "In no type does the judge's mean clearly differ from people's.".to_owned()
    } else {
        format!("The judge's mean clearly differs from people's in {}.", clear.join(", "))
    };
    people(&finding, &rows)
}

/// Measures that are shown, in words: the judge's, and the same of people among themselves where there is one.
const SHOWN: [(&str, Measure, Option<Measure>); 8] = [
    ("Quadratic-weighted kappa, one rating", Measure::KappaOfRatings, Some(Measure::HumanPairwiseKappa)),
    (
        "Quadratic-weighted kappa, mean of ratings",
        Measure::KappaOfMeans,
        Some(Measure::HumanLeaveOneOutKappa),
    ),
    ("Spearman's rho", Measure::SpearmanRho, Some(Measure::HumanLeaveOneOutSpearman)),
    ("Kendall's tau-b", Measure::KendallTauB, None),
    ("Pearson's r", Measure::PearsonR, None),
    (
        "Mean absolute difference, points",
        Measure::AbsoluteDifference,
        Some(Measure::HumanLeaveOneOutDifference),
    ),
    ("Equal after rounding, share", Measure::Exact, None),
    ("Within one point after rounding, share", Measure::WithinOne, None),
];

/// What people's ratings are worth as a yardstick.
const ALPHAS: [(&str, Measure); 3] = [
    ("Krippendorff's alpha, ordinal", Measure::AlphaOrdinal),
    ("Krippendorff's alpha, interval", Measure::AlphaInterval),
    ("Krippendorff's alpha, nominal", Measure::AlphaNominal),
];

fn overall(of: &Agreement) -> Markup {
    let p = estimate(of, Measure::SpearmanP).value;
    html! {
        section aria-labelledby="measures" {
            h2 #measures { "Agreement, all types together" }
            div.scroll tabindex="0" role="region" aria-labelledby="measures" {
                table.scores {
                    thead { tr {
                        th scope="col" { "Measure (95 % interval)" }
                        th.number scope="col" { "Judge with people" }
                        th.number scope="col" { "People with people" }
                    } }
                    tbody {
                        @for (name, judge, people) in SHOWN { tr {
                            th scope="row" { (name) }
                            td.number { (written(estimate(of, judge))) }
                            td.number { @match people {
                                Some(people) => (written(estimate(of, people))),
                                None => "–",
                            } }
                        } }
                        @for (name, alpha) in ALPHAS { tr {
                            th scope="row" { (name) }
                            td.number { "–" }
                            td.number { (written(estimate(of, alpha))) }
                        } }
                    }
                }
            }
            @if let Some(p) = p {
                p.facts { "Two-sided p of Spearman's rho: " (format!("{p:.1e}")) "." }
            }
        }
    }
}

fn by_dimension(report: &AgreementReport) -> Markup {
    let label = |dimension: Dimension| dimension.label();
    html! {
        section aria-labelledby="types" {
            h2 #types { "By type" }
            div.scroll tabindex="0" role="region" aria-labelledby="types" {
                table {
                    thead { tr {
                        th scope="col" { "Type" } th.number scope="col" { "Items" }
                        th.number scope="col" { "Judge minus people" } th.number scope="col" { "Kappa, one rating" }
                        th.number scope="col" { "People, one rating" } th.number scope="col" { "Spearman's rho" }
                        th.number scope="col" { "Alpha, ordinal" }
                    } }
                    tbody { @for (dimension, of) in &report.by_dimension { tr {
                        th scope="row" { abbr title=(label(*dimension)) { (dimension) } }
                        td.number { (of.items) }
                        td.number { (with_sign(estimate(of, Measure::Bias))) }
                        @for measure in [
                            Measure::KappaOfRatings, Measure::HumanPairwiseKappa, Measure::SpearmanRho,
                            Measure::AlphaOrdinal,
                        ] {
                            td.number { (written(estimate(of, measure))) }
                        }
                    } } }
                }
            }
        }
    }
}

fn bands(of: &Agreement) -> Markup {
    html! {
        section aria-labelledby="bands" {
            h2 #bands { "Where the judge is milder or stricter" }
            div.scroll tabindex="0" role="region" aria-labelledby="bands" {
                table.scores {
                    thead { tr {
                        th scope="col" { "People's mean, rounded" } th.number scope="col" { "Items" }
                        th.number scope="col" { "Judge minus people (95 % interval)" }
                    } }
                    tbody { @for band in &of.bias_by_band { tr {
                        th scope="row" { (band.point) } td.number { (band.items) }
                        td.number { @if band.items == 0 { "–" } @else { (with_sign(band.bias)) } }
                    } } }
                }
            }
            p.facts {
                "Some of a slope here is chance: where three people happen to agree on an end of the scale, any second opinion \
                     lies nearer to the middle."
            }
        }
    }
}

fn with_sign(bias: Estimate) -> String {
    match (bias.value, bias.ci95) {
        (None, _) => UNKNOWN.to_owned(),
        (Some(value), None) => signed(value, 2),
        (Some(value), Some([low, high])) => {
            format!("{} ({} to {})", signed(value, 2), signed(low, 2), signed(high, 2))
        }
    }
}

fn confusion(of: &Agreement) -> Markup {
    html! {
        section aria-labelledby="confusion" {
            h2 #confusion { "Point by point" }
            p { "How many answers people (down) and the judge (across) give which point, both rounded half up." }
            div.scroll tabindex="0" role="region" aria-labelledby="confusion" {
                table {
                    thead { tr {
                        th scope="col" { "People" }
                        @for point in 0..of.confusion.len() { th.number scope="col" { "judge " (point) } }
                    } }
                    tbody { @for (point, counts) in of.confusion.iter().enumerate() { tr {
                        th scope="row" { (point) }
                        @for (judge, count) in counts.iter().enumerate() {
                            td.number {
                                @if *count == 0 { "·" } @else if judge == point { strong { (count) } } @else { (count) }
                            }
                        }
                    } } }
                }
            }
        }
    }
}

fn drifted(drift: &DriftView) -> Markup {
    let number = |value: Option<f64>| value.map_or_else(|| UNKNOWN.to_owned(), |value| to_decimals(value, 2));
    let change = |value: Option<f64>| value.map_or_else(|| UNKNOWN.to_owned(), |value| signed(value, 2));
    html! {
        section aria-labelledby="drift" {
            h2 #drift { "Over time" }
            p {
                "In its newest run the judge's mean is " strong { (number(drift.mean)) } ", " (change(drift.drift))
                " since its first run on the same answers; its kappa with people's means is "
                strong { (number(drift.agreement)) } ", " (change(drift.agreement_drift)) " since then."
                @if drift.failed > 0 { " " (drift.failed) " items could not be judged in it." }
            }
        }
    }
}

fn method() -> Markup {
    html! {
        section aria-labelledby="method" {
            h2 #method { "How this is measured" }
            ul {
                li {
                    "Intervals come from drawing whole videos again, 2,000 times: answers about one clip err together. Between two \
                     rows of a table they say little; what is compared here is compared on the same answers."
                }
                li {
                    "People with people is the ceiling. One rating is compared with each other rating of the same answer; the mean of \
                     ratings, with one left out, with that one."
                }
                li {
                    "Kappa takes points from 0 to 5, rounded half up, and weighs a difference by its square. Ties share their average \
                     rank in Spearman's rho."
                }
                li {
                    "The judge's error is not in the intervals of the board: they cover which videos were chosen. A configuration that \
                     clearly agrees less than the one in force is made current only with a reason that stays on record."
                }
            }
        }
    }
}
