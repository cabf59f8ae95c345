use super::*;
use crate::domain::question::QuestionOption;

#[derive(serde::Deserialize)]
struct Case {
    id: String,
    options: serde_json::Map<String, serde_json::Value>,
    response: String,
    expected: Option<char>,
    kind: String,
}

fn options(texts: &[&str]) -> Vec<QuestionOption> {
    let label = |index: usize| char::from(b'A' + index as u8).to_string();
    let option = |(index, text): (usize, &&str)| QuestionOption { label: label(index), text: (*text).to_owned() };
    texts.iter().enumerate().map(option).collect()
}

#[test]
fn the_cases_of_the_corpus_are_read_as_expected() {
    let corpus = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcq_cases.jsonl"));
    let cases: Vec<Case> = corpus.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut wrong = Vec::new();
    for case in &cases {
        let texts: Vec<&str> = case.options.values().map(|text| text.as_str().unwrap()).collect();
        let read = read_choice(&OptionSet::new(&options(&texts)), &case.response);
        if read.letter != case.expected {
            let shown: String = case.response.chars().take(160).collect();
            wrong.push(format!("{} {} {shown:?}: {:?} instead of {:?}", case.id, case.kind, read, case.expected));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
