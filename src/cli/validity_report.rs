//! How far a judge agrees with people, as a terminal shows it.

use super::report::table;
use crate::evaluation::validity::report::{AgreementReport, ScoresFrom};
use crate::scoring::agreement::{Agreement, Estimate, Measure};
use crate::scoring::decimals::to_decimals;

/// Prints the measures of all items and of each dimension, the bias by band, and the confusion.
pub fn print_report(report: &AgreementReport) {
    println!("{}", whose(report));
    let columns: Vec<(String, &Agreement)> = std::iter::once(("all".to_owned(), &report.overall))
        .chain(report.by_dimension.iter().map(|(dimension, of)| (dimension.to_string(), of)))
        .collect();
    let mut header = vec!["measure"];
    header.extend(columns.iter().map(|(name, _)| name.as_str()));
    let counted = [
        ("items", columns.iter().map(|(_, of)| of.items).collect::<Vec<usize>>()),
        ("items the judge scored", columns.iter().map(|(_, of)| of.judged).collect()),
        ("ratings", columns.iter().map(|(_, of)| of.ratings).collect()),
        ("videos", columns.iter().map(|(_, of)| of.videos).collect()),
    ];
    let counted = counted.into_iter().map(|(name, counts)| {
        let cells = counts.iter().map(ToString::to_string);
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<String>>()
    });
    let measured = Measure::ALL.iter().map(|measure| {
        let cells = columns.iter().map(|(_, of)| figure(*measure, of.measures.get(measure)));
        std::iter::once(measure.as_str().replace('_', " ")).chain(cells).collect()
    });
    println!("{}", table(&header, counted.chain(measured)));
    println!("bias of the judge where people's mean, rounded, is");
    let bands = report.overall.bias_by_band.iter().map(|band| {
        vec![band.point.to_string(), band.items.to_string(), figure(Measure::Bias, Some(&band.bias))]
    });
    println!("{}", table(&["people", "items", "judge minus people"], bands));
    println!("items by people's mean (down) and the judge's score (across), both rounded");
    let rows = report.overall.confusion.iter().enumerate().map(|(point, counts)| {
        std::iter::once(point.to_string()).chain(counts.iter().map(ToString::to_string)).collect()
    });
    println!("{}", table(&["", "0", "1", "2", "3", "4", "5"], rows));
}

/// Whose scores stand beside the ratings.
fn whose(report: &AgreementReport) -> String {
    let judge = &report.judge;
    let configuration = match (&judge.configuration, &judge.model) {
        (Some(id), Some(model)) => format!("configuration {id} (`{model}`)"),
        _ => "a judge of which the import does not say whose it is".to_owned(),
    };
    match (judge.source, &judge.said, &judge.measured_at) {
        (ScoresFrom::Run, _, Some(at)) => format!("{configuration}, asked about the rated answers till {at}"),
        (ScoresFrom::File, Some(said), _) => {
            format!("the scores in the file of ratings, said to be of `{said}`")
        }
        (ScoresFrom::File, None, _) => format!("the scores in the file of ratings, of {configuration}"),
        _ => "people alone: no judge has scored these items".to_owned(),
    }
}

fn figure(measure: Measure, estimate: Option<&Estimate>) -> String {
    let Some(value) = estimate.and_then(|estimate| estimate.value) else { return "unknown".to_owned() };
    if measure == Measure::SpearmanP {
        return format!("{value:.1e}");
    }
    match estimate.and_then(|estimate| estimate.ci95) {
        Some([low, high]) => {
            format!("{} ({} to {})", to_decimals(value, 2), to_decimals(low, 2), to_decimals(high, 2))
        }
        None => to_decimals(value, 2),
    }
}
