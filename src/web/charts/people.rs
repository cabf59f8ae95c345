//! What people and the judge give in the mean, dimension by dimension: the paper's human study from the ratings at hand.
//! Computes nothing.

use maud::{Markup, html};

use super::super::figures::signed;
use super::axis::Axis;
use super::marks::{MISSING, Origin, shape};
use super::{Drawing, Numbers};
use crate::domain::column::Unit;
use crate::domain::submission::Group;
use crate::scoring::agreement::{Agreement, Estimate, Measure};
use crate::scoring::decimals::to_decimals;

const ROW_PX: u32 = 46;
/// Where people's mark lies within its row, and the judge's.
const MARK_Y: [u32; 2] = [21, 33];
const HEAD_PX: u32 = 38;

/// People's means and the judge's by dimension, given with the dimensions' names, each with its interval.
pub(in super::super) fn people(finding: &str, rows: &[(&str, &Agreement)]) -> Markup {
    let title = "Means of people and judge by type";
    let axis = Axis::whole(Unit::Points);
    let drawing = Drawing {
        id: "chart-people",
        title,
        description: finding,
        height: HEAD_PX + ROW_PX * rows.len() as u32 + 4,
        wide: true,
        content: drawn(&axis, rows),
    };
    super::figure("people", (title, finding), &legend(), &drawing.markup(), &numbers(rows))
}

/// People's mean and the judge's.
fn means(of: &Agreement) -> [Estimate; 2] {
    [Measure::HumanMean, Measure::JudgeMean]
        .map(|measure| of.measures.get(&measure).copied().unwrap_or_default())
}

fn mark(place: usize) -> Markup {
    shape(Some(Group::OpenSmall), Origin::Scored, ["rest plain", "plain"][place])
}

fn drawn(axis: &Axis, rows: &[(&str, &Agreement)]) -> Markup {
    html! {
        text.axis x="0" y="12" { "mean, " (axis.words()) }
        (axis.figures_across(30))
        (axis.upright_lines(HEAD_PX, ROW_PX * rows.len() as u32))
        @for (row, (name, of)) in rows.iter().enumerate() {
            @let means = means(of);
            svg.row y=(HEAD_PX + ROW_PX * row as u32) height=(ROW_PX) {
                text.name y="12" { (name) }
                text.value x="100%" y="12" {
                    tspan.figure { (figure(means[0].value)) " → " (figure(means[1].value)) }
                }
                g.marks {
                    @for (place, mean) in means.iter().enumerate() {
                        @if let Some([low, high]) = mean.ci95 {
                            line.whisker x1=(axis.x(low)) x2=(axis.x(high)) y1=(MARK_Y[place]) y2=(MARK_Y[place]) {}
                        }
                        @if let Some(value) = mean.value {
                            svg x=(axis.x(value)) y=(MARK_Y[place]) { (mark(place)) }
                        }
                    }
                }
            }
        }
    }
}

fn legend() -> Markup {
    html! {
        ul.legend {
            @for (place, words) in ["hollow: people", "filled: the judge"].iter().enumerate() {
                li { svg width="14" height="14" aria-hidden="true" { svg x="7" y="7" { (mark(place)) } } " " (words) }
            }
            li {
                svg width="26" height="14" aria-hidden="true" { line.whisker x1="1" x2="25" y1="7" y2="7" {} }
                " 95 % interval over videos"
            }
        }
    }
}

fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| to_decimals(value, 2))
}

fn numbers(rows: &[(&str, &Agreement)]) -> Numbers {
    let with_interval = |estimate: Estimate| match estimate.ci95 {
        Some([low, high]) => {
            format!("{} ({}–{})", figure(estimate.value), to_decimals(low, 2), to_decimals(high, 2))
        }
        None => figure(estimate.value),
    };
    let row = |(name, of): &(&str, &Agreement)| {
        let [people, judge] = means(of).map(with_interval);
        let bias = of.measures.get(&Measure::Bias).and_then(|bias| bias.value);
        let bias = bias.map_or_else(|| MISSING.to_owned(), |bias| signed(bias, 2));
        vec![(*name).to_owned(), people, judge, bias, of.items.to_string()]
    };
    Numbers {
        head: ["Type", "people", "judge", "judge minus people", "items"].map(str::to_owned).to_vec(),
        rows: rows.iter().map(row).collect(),
    }
}
