//! Files in the shapes that evaluation harnesses write, and tables that stand between tabs.

use super::*;

const FIRST: &str = "MVK--reef_dive_0007--q1";

fn faults(file: &str) -> Vec<Fault> {
    refusal(file.as_bytes(), index()).faults
}

fn warned(read: &Predictions, code: WarningCode) -> Option<&str> {
    let warning = read.warnings.iter().find(|warning| warning.code == code);
    warning.map(|warning| warning.detail.as_str())
}

#[test]
fn the_reply_of_a_logged_sample_is_found_in_its_lists() {
    for reply in [
        r#""filtered_resps": "B""#,
        r#""filtered_resps": ["B"], "resps": ["<think>C</think> B"]"#,
        r#""resps": [["B"]]"#,
        r#""prediction": "B", "resps": [["C"]]"#,
    ] {
        let line = format!(
            r#"{{"doc_id": 7, "target": "A", {reply}, "input": "Which?", "question_id": "{FIRST}"}}"#
        );
        let read = accepted(line.as_bytes(), index());
        assert_eq!(read.answers[0].as_deref(), Some("B"), "{line}");
        assert_eq!(warned(&read, WarningCode::ExtraField), None, "{line}");
        assert_eq!(warned(&read, WarningCode::MatchedByPlace), None, "{line}");
    }
}

#[test]
fn what_harnesses_wrote_holds_the_answers_as_they_were() {
    let index = QuestionIndex::new(Split::Val, questions(Split::Val), []);
    let file = |name: &str| fs::read(fixture("harnesses").join(name)).unwrap();
    let rule = accepted(&file("rule.jsonl"), &index);
    assert_eq!(rule.answered, 25);
    for begin in ["=", "<think>"] {
        assert!(rule.answers.iter().flatten().any(|answer| answer.starts_with(begin)), "{begin}");
    }
    for name in ["vlm-xlsx.xlsx", "vlm-tsv.tsv", "vlm-json.json"] {
        let read = accepted(&file(name), &index);
        assert_eq!(read.answers, rule.answers, "{name}");
        assert_eq!(warned(&read, WarningCode::ExtraField), None, "{name}");
    }
    // lmms-eval takes off what a model thinks before it answers.
    let spoken = |answer: &Option<String>| {
        answer.as_deref().map(|answer| answer.rsplit("</think>").next().unwrap_or_default().trim().to_owned())
    };
    let read = accepted(&file("lmms-rule.jsonl"), &index);
    let expected: Vec<_> = rule.answers.iter().map(spoken).collect();
    assert_eq!(read.answers.iter().map(spoken).collect::<Vec<_>>(), expected);
}

#[test]
fn several_replies_or_none_are_a_fault_where_one_is_expected() {
    let line = |replies: &str| format!(r#"{{"question_id": "{FIRST}", "filtered_resps": {replies}}}"#);
    for (replies, word) in [(r#"["A", "B"]"#, "holds 2 replies"), ("[[]]", "holds no reply")] {
        let fault = faults(&line(replies)).remove(0);
        assert_eq!((fault.code, fault.line), (FaultCode::WrongType, Some(1)));
        assert_eq!(fault.pointer.as_deref(), Some("/filtered_resps"));
        assert!(fault.detail.contains(word), "{}", fault.detail);
    }
    assert_eq!(faults(&line("[null]"))[0].code, FaultCode::WrongType);
    let deep = line(&("[".repeat(5000) + "]".repeat(5000).as_str()));
    assert_eq!(faults(&deep)[0].code, FaultCode::TooDeep);
}

#[test]
fn a_logged_sample_names_its_question_by_id_in_its_document_or_by_place() {
    let by_doc = format!(r#"{{"doc_id": 3, "doc": {{"question_id": "{FIRST}"}}, "resps": [["B"]]}}"#);
    let read = accepted(by_doc.as_bytes(), index());
    assert_eq!(read.answers[0].as_deref(), Some("B"));
    let by_place = r#"{"doc_id": 3, "target": "A", "filtered_resps": "B"}"#;
    let read = accepted(by_place.as_bytes(), index());
    assert_eq!(read.answers[3].as_deref(), Some("B"));
    let told = warned(&read, WarningCode::MatchedByPlace).unwrap();
    assert!(told.contains("`doc_id` 3 in line 1, taken for `MVK--"), "{told}");
    let json = r#"[{"index": 0, "question": "Which?", "prediction": "B"}]"#;
    assert_eq!(accepted(json.as_bytes(), index()).answers[0].as_deref(), Some("B"));
    for (place, code) in [("199", FaultCode::UnknownQuestion), ("-1", FaultCode::WrongType)] {
        let fault = faults(&format!(r#"{{"doc_id": {place}, "resps": "B"}}"#)).remove(0);
        assert_eq!((fault.code, fault.pointer.as_deref()), (code, Some("/doc_id")));
    }
    let twice = "{\"doc_id\": 0, \"resps\": \"B\"}\n{\"doc_id\": 0, \"resps\": \"B\"}";
    assert_eq!(faults(twice)[0].code, FaultCode::DuplicateQuestion);
}

#[test]
fn a_table_between_tabs_is_read_with_and_without_quotes() {
    for table in [
        format!("question_id\tprediction\n{FIRST}\tB, I think\n"),
        format!(
            "\"index\"\t\"question\"\t\"question_id\"\t\"prediction\"\n\"9\"\t\"a\tb\"\t\"{FIRST}\"\t\"B, I think\"\n"
        ),
        "index\tquestion\tprediction\n0\tWhich?\tB, I think\n".to_owned(),
        "index,question,prediction\n0.0,Which?,\"B, I think\"\n".to_owned(),
    ] {
        let read = accepted(table.as_bytes(), index());
        assert_eq!(read.answers[0].as_deref(), Some("B, I think"), "{table}");
        assert_eq!(warned(&read, WarningCode::ExtraField), None, "{table}");
    }
    let fault = faults("index\tprediction\nfirst\tB\n").remove(0);
    assert_eq!((fault.code, fault.pointer.as_deref()), (FaultCode::WrongType, Some("/index")));
    let fault = faults("a\tb\n1\t2\n").remove(0);
    assert_eq!((fault.code, fault.line), (FaultCode::MissingField, Some(1)));
}

#[test]
fn places_in_utf16_are_those_of_the_text() {
    let list = format!("[\n {{\"question_id\": \"{FIRST}\",\n  \"an\u{e9}\": \"🐠\", \"answer\": 2}}]");
    let table = format!("question_id,answer\r\n{FIRST},B\r\nMVK--none--q1,C\r\n");
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let utf16 = |text: &str| -> Vec<u8> {
            std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
        };
        for file in [utf16(&list), gzip(&utf16(&list))] {
            let fault = first_fault(&file);
            assert_eq!((fault.code, fault.line, fault.column), (FaultCode::WrongType, Some(3), Some(25)));
        }
        let fault = first_fault(&utf16(&table));
        assert_eq!((fault.code, fault.line), (FaultCode::UnknownQuestion, Some(3)));
    }
}
