//! The figures of the human study against those of scipy, scikit-learn and krippendorff, and what ratings cannot tell.

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;

/// The rows of the study by dimension, in the file's order.
fn study() -> Vec<(String, RatedItem)> {
    let mut items: Vec<(String, String, RatedItem)> = Vec::new();
    let (mut videos, mut raters) = (BTreeMap::new(), BTreeMap::new());
    for line in include_str!("../../../tests/fixtures/human/ratings.csv").lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [item, question, dimension, rater, rating, judge]: [&str; 6] = cells.try_into().unwrap();
        let next = videos.len();
        let video = *videos.entry(question.rsplit_once("--").unwrap().0.to_owned()).or_insert(next);
        let next = raters.len();
        let rater = *raters.entry(rater.to_owned()).or_insert(next);
        if items.last().is_none_or(|(last, ..)| last != item) {
            let judge = Some(judge.parse().unwrap());
            items.push((item.into(), dimension.into(), RatedItem { video, ratings: Vec::new(), judge }));
        }
        items.last_mut().unwrap().2.ratings.push((rater, rating.parse().unwrap()));
    }
    items.into_iter().map(|(_, dimension, item)| (dimension, item)).collect()
}

fn assert_equals(found: &Agreement, expected: &Value) {
    let mut compared = 0;
    for (name, expected) in expected.as_object().unwrap() {
        let expected = expected.as_f64().unwrap();
        let actual = match name.as_str() {
            "items" => found.items as f64,
            "ratings" => found.ratings as f64,
            "raters" => found.raters as f64,
            name => found.measures[&Measure::parse(name).unwrap()].value.unwrap(),
        };
        let tolerance = 1e-6 * expected.abs().min(1.0);
        assert!((actual - expected).abs() <= tolerance, "{name}: {actual} is not {expected}");
        compared += 1;
    }
    assert_eq!(compared, 17);
}

#[test]
fn the_figures_of_the_human_study_are_those_of_independent_libraries() {
    let expected: Value =
        serde_json::from_str(include_str!("../../../tests/fixtures/human/expected.json")).unwrap();
    let study = study();
    let of = |wanted: Option<&str>| -> Vec<RatedItem> {
        let wanted = |dimension: &str| wanted.is_none_or(|wanted| wanted == dimension);
        study.iter().filter(|(dimension, _)| wanted(dimension)).map(|(_, item)| item.clone()).collect()
    };
    assert_equals(&agreement([0; 32], &of(None)), &expected["overall"]);
    for (dimension, expected) in expected["by_dimension"].as_object().unwrap() {
        assert_equals(&agreement([0; 32], &of(Some(dimension))), expected);
    }
}

#[test]
fn people_against_people_are_those_of_independent_libraries() {
    let items: Vec<RatedItem> = study().into_iter().map(|(_, item)| item).collect();
    let found = agreement([0; 32], &items);
    for (measure, expected) in [
        (Measure::HumanLeaveOneOutSpearman, 0.769_265_577_774_491_3),
        (Measure::HumanLeaveOneOutKappa, 0.774_621_616_895_607),
        (Measure::HumanLeaveOneOutDifference, 0.643_333_333_333_333_3),
        (Measure::HumanPairwiseKappa, 0.740_176_604_597_744_5),
        (Measure::HumanPairwiseDifference, 0.693_333_333_333_333_3),
    ] {
        let value = found.measures[&measure].value.unwrap();
        assert!((value - expected).abs() < 1e-12, "{measure}: {value} is not {expected}");
    }
}

#[test]
fn every_measure_of_the_study_lies_in_its_interval_and_has_the_same_digits_each_time() {
    let items: Vec<RatedItem> = study().into_iter().map(|(_, item)| item).collect();
    let found = agreement([7; 32], &items);
    for (measure, Estimate { value, ci95 }) in &found.measures {
        if *measure == Measure::SpearmanP {
            assert_eq!(*ci95, None);
            continue;
        }
        let ([low, high], value) = (ci95.unwrap(), value.unwrap());
        assert!(low < value && value < high, "{measure}: {low} {value} {high}");
    }
    assert_eq!(found, agreement([7; 32], &items));
    assert_ne!(found, agreement([8; 32], &items));
    assert_eq!(found.confusion.as_flattened().iter().sum::<usize>(), 100);
    assert_eq!(found.bias_by_band.iter().map(|band| band.items).sum::<usize>(), 100);
}

fn item(video: usize, ratings: &[u8], judge: Option<f64>) -> RatedItem {
    RatedItem { video, ratings: ratings.iter().copied().enumerate().collect(), judge }
}

fn known(found: &Agreement) -> Vec<&'static str> {
    let known = found.measures.iter().filter(|(_, estimate)| estimate.value.is_some());
    known.map(|(measure, _)| measure.as_str()).collect()
}

#[test]
fn nothing_is_known_of_nothing() {
    let found = agreement([0; 32], &[]);
    assert_eq!(known(&found), [""; 0]);
    assert!(found.measures.values().all(|estimate| *estimate == Estimate::default()));
    assert_eq!((found.items, found.judged, found.raters, found.videos), (0, 0, 0, 0));
}

#[test]
fn of_one_rating_an_item_people_cannot_be_compared_with_each_other() {
    let found = agreement([0; 32], &[2, 4, 5, 1].map(|rating| item(rating.into(), &[rating], Some(3.4))));
    assert_eq!(found.measures[&Measure::HumanMean].value, Some(3.0));
    for measure in Measure::ALL.iter().filter(|measure| {
        ["krippendorff", "human_leave", "human_pair"].iter().any(|start| measure.as_str().starts_with(start))
    }) {
        assert_eq!(found.measures[measure], Estimate::default(), "{measure}");
    }
}

#[test]
fn constant_ratings_leave_agreement_unknown_and_never_zero() {
    let found = agreement([0; 32], &[item(0, &[3, 3], Some(3.0)), item(1, &[3, 3], Some(3.0))]);
    let unknown = [
        Measure::SpearmanRho,
        Measure::SpearmanP,
        Measure::KendallTauB,
        Measure::PearsonR,
        Measure::KappaOfMeans,
        Measure::KappaOfRatings,
        Measure::AlphaOrdinal,
        Measure::AlphaInterval,
        Measure::AlphaNominal,
        Measure::HumanLeaveOneOutSpearman,
        Measure::HumanLeaveOneOutKappa,
        Measure::HumanPairwiseKappa,
    ];
    for measure in Measure::ALL {
        let is_known = !unknown.contains(measure);
        assert_eq!(found.measures[measure].value.is_some(), is_known, "{measure}");
    }
    assert_eq!(found.measures[&Measure::Exact].value, Some(1.0));
    let text = serde_json::to_string(&found).unwrap();
    assert!(text.contains(r#""kendall_tau_b":{"value":null,"ci95":null}"#), "{text}");
}

#[test]
fn a_constant_rater_among_others_leaves_alpha_low_and_known() {
    let found = agreement(
        [0; 32],
        &[item(0, &[3, 1], Some(1.0)), item(1, &[3, 5], Some(5.0)), item(2, &[3, 3], Some(3.0))],
    );
    assert!(found.measures[&Measure::AlphaInterval].value.unwrap() < 0.2);
    assert_eq!(found.measures[&Measure::SpearmanRho].value.map(|rho| (rho * 1e9).round()), Some(1e9));
}

#[test]
fn an_item_that_the_judge_has_not_scored_counts_for_people_alone() {
    let items = [item(0, &[1, 2], Some(1.0)), item(1, &[4, 5], None), item(2, &[3, 5], Some(5.0))];
    let found = agreement([0; 32], &items);
    assert_eq!((found.items, found.judged), (3, 2));
    assert!((found.measures[&Measure::HumanMean].value.unwrap() - 10.0 / 3.0).abs() < 1e-12);
    assert_eq!(found.measures[&Measure::Bias].value, Some(0.25));
    let unjudged = items.map(|one| RatedItem { judge: None, ..one });
    let found = agreement([0; 32], &unjudged);
    assert!(
        known(&found)
            .iter()
            .all(|name| name.contains("human") && !name.contains("judge") || name.contains("alpha"))
    );
    assert!(found.bias_by_band.iter().all(|band| band.items == 0 && band.bias == Estimate::default()));
}

#[test]
fn halves_go_up() {
    assert_eq!([0.49, 0.5, 2.5, 3.499_999_999_999_999_6, 4.5, 5.0].map(point), [0, 1, 3, 4, 5, 5]);
}

#[test]
fn a_judge_that_rates_at_random_is_worse_than_one_that_rates_as_people_do() {
    let good: Vec<RatedItem> = study().into_iter().map(|(_, item)| item).collect();
    let bad: Vec<RatedItem> = good
        .iter()
        .enumerate()
        .map(|(place, item)| RatedItem { judge: Some((place * 7 % 6) as f64), ..item.clone() })
        .collect();
    let found = compare_agreement([0; 32], &bad, &good);
    assert!(found.is_worse() && found.items == 100, "{found:?}");
    assert!(!compare_agreement([0; 32], &good, &bad).is_worse());
    let same = compare_agreement([0; 32], &good, &good);
    assert_eq!(same.difference, Estimate { value: Some(0.0), ci95: Some([0.0; 2]) });
    assert!(!same.is_worse());
    assert_eq!(compare_agreement([0; 32], &[], &[]).difference, Estimate::default());
    assert_eq!(summary(&good).1, found.second);
}
