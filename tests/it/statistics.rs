//! What Secchi makes of pairs of graded files, for a comparison with scipy and statsmodels: `make check-statistics`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use secchi::domain::choice::{Choice, Reason};
use secchi::domain::column::Column;
use secchi::domain::outcome::Outcome;
use secchi::domain::question::{Camera, QuestionType};
use secchi::scoring::columns::{QuestionFacts, score_columns};
use secchi::scoring::pairs::{difference, holm};

/// Two graded files of one release.
#[derive(Deserialize)]
struct Set {
    name: String,
    questions: Vec<(QuestionType, Camera, usize)>,
    first: Vec<Graded>,
    second: Vec<Graded>,
}

/// Whether a letter is right, or a judge's three scores.
#[derive(Deserialize)]
#[serde(untagged)]
enum Graded {
    Letter(bool),
    Scores([u8; 3]),
}

fn outcomes(graded: &[Graded]) -> Vec<Outcome> {
    let outcome = |graded: &Graded| match *graded {
        Graded::Letter(correct) => {
            Outcome::Choice { choice: Choice::letter('A', Reason::LabelOnly), correct }
        }
        Graded::Scores(scores) => Outcome::Rubric { scores },
    };
    graded.iter().map(outcome).collect()
}

fn scores(set: &Set, questions: &[QuestionFacts], outcomes: &[Outcome]) -> BTreeMap<Column, Value> {
    let scores = score_columns(&set.name, questions, outcomes).unwrap();
    let told = |value, ci95: [f64; 2], n| json!({ "value": value, "ci95": ci95, "n": n });
    scores.into_iter().map(|score| (score.column, told(score.value, score.ci95, score.n))).collect()
}

fn numbers(set: &Set) -> Value {
    let facts = |&(question_type, camera, video)| QuestionFacts { question_type, camera, video };
    let questions: Vec<QuestionFacts> = set.questions.iter().map(facts).collect();
    let (first, second) = (outcomes(&set.first), outcomes(&set.second));
    let differences: BTreeMap<Column, _> = Column::ALL
        .iter()
        .filter_map(|column| Some((*column, difference(*column, &questions, &first, &second)?)))
        .collect();
    let p_values: Vec<f64> = differences.values().map(|difference| difference.p).collect();
    let raised: BTreeMap<&Column, f64> = differences.keys().zip(holm(&p_values)).collect();
    let told = differences.iter().map(|(column, difference)| {
        let told = json!({ "value": difference.value, "ci95": difference.ci95, "p": difference.p });
        (column, told)
    });
    json!({
        "name": set.name,
        "first": scores(set, &questions, &first),
        "second": scores(set, &questions, &second),
        "differences": told.collect::<BTreeMap<_, _>>(),
        "holm": raised,
    })
}

#[test]
#[ignore = "needs the sets that tests/statistics/check.py makes: make check-statistics"]
fn the_numbers_of_every_set_are_written_for_their_check() {
    let path = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("`{name}` names no file"));
    let sets = std::fs::read(path("SECCHI_TEST_STATISTICS_SETS")).unwrap();
    let sets: Vec<Set> = serde_json::from_slice(&sets).unwrap();
    let numbers: Vec<Value> = sets.iter().map(numbers).collect();
    let written = serde_json::to_vec(&numbers).unwrap();
    std::fs::write(path("SECCHI_TEST_STATISTICS_NUMBERS"), written).unwrap();
}
