//! What a file of ratings may hold, and what is said of one that holds something else.

use super::*;

const HEADER: &str = "item,question_id,dimension,rater,rating,judge_score";

fn faults(text: &str) -> Vec<(u64, Option<&'static str>, String)> {
    let faults = read(text.as_bytes()).err().unwrap_or_default();
    faults.into_iter().map(|fault| (fault.line, fault.column, fault.detail)).collect()
}

#[test]
fn the_file_of_the_human_study_is_read_whole() {
    let file = read(include_bytes!("../../../../tests/fixtures/human/ratings.csv")).ok().unwrap();
    assert_eq!(file.items.len(), 100);
    assert!(file.items.iter().all(|(_, rated)| rated.ratings.len() == 3) && !file.has_answers());
    assert_eq!(file.items[1].0, 5);
    assert_eq!(file.items[1].1.judge_score, Some(4.3));
}

#[test]
fn every_fault_is_told_at_once_with_its_line_and_column() {
    let text = format!(
        "{HEADER}\r\nS1,A--b--q5,OEMU,E1,6,2.5\r\n\r\nS1,A--b--q5,BEH,E2,4,2.5\r\nS2,A--b,XX,,3.5,\r\nS3,A--b--q5\r\n\
         S1,A--b--q5,OEMU,E2,3,2.5\r\nS1,A--b--q5,OEMU,E2,4,2.6\r\n"
    );
    let found = faults(&text);
    let places: Vec<_> = found.iter().map(|(line, column, _)| (*line, column.unwrap_or("-"))).collect();
    let expected = [
        (2, "rating"),
        (5, "rater"),
        (5, "question_id"),
        (5, "dimension"),
        (5, "rating"),
        (5, "judge_score"),
        (6, "-"),
        (7, "rater"),
        (8, "rater"),
    ];
    assert_eq!(places, expected, "{found:#?}");
}

#[test]
fn rows_of_one_item_that_contradict_each_other_are_faults() {
    let text =
        format!("{HEADER},answer\nS1,A--b--q5,OEMU,E1,1,2.5,\"a, b\nc\"\nS1,A--b--q6,BEH,E2,1,2.6,d\n");
    let found = faults(&text);
    let columns: Vec<_> = found.iter().map(|(line, column, _)| (*line, column.unwrap())).collect();
    let all = ["question_id", "dimension", "judge_score", "answer"];
    assert_eq!(columns, all.map(|column| (4, column)), "{found:#?}");
    assert!(found[0].2.contains("line 2"));
}

#[test]
fn a_header_says_what_it_lacks_and_what_it_has_too_much() {
    let found = faults("item,question_id,dimension,rater,rating,rating,colour\nx\n");
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found[0].2.contains("lacks `judge_score`"));
    assert!(found.iter().any(|(_, column, _)| *column == Some("rating")));
    assert!(found.iter().any(|(.., detail)| detail.contains("`colour`")));
}

#[test]
fn what_is_no_table_of_ratings_is_refused() {
    assert!(faults("")[0].2.contains("no rating"));
    assert!(faults(&format!("{HEADER}\n"))[0].2.contains("no rating"));
    assert!(read(b"item\xff\n").err().unwrap()[0].detail.contains("UTF-8"));
    let unclosed = faults(&format!("{HEADER},answer\nS1,A--b--q5,OEMU,E1,1,2.5,\"never\nended\n"));
    assert!(unclosed.iter().any(|(line, _, detail)| *line == 2 && detail.contains("quote")), "{unclosed:?}");
}

#[test]
fn a_judges_score_may_be_left_out_where_the_answer_is_there() {
    let text = format!("\u{feff}{HEADER},answer\nS1,A--b--q5,OEMU,E1,1,,\"say \"\"x\"\"\"\n");
    let file = read(text.as_bytes()).ok().unwrap();
    assert!(file.has_answers());
    assert_eq!(file.items[0].1.answer.as_deref(), Some("say \"x\""));
    assert_eq!(file.items[0].1.judge_score, None);
}

#[test]
fn a_question_id_names_its_video() {
    assert_eq!(video_of("MVK--Blue Corner 03 (edit)--q5"), Some("MVK--Blue Corner 03 (edit)"));
    for wrong in ["", "a--q1", "--b--q1", "a--b--q", "a--b--qx", "a--b", "a--b\n--q1"] {
        assert_eq!(video_of(wrong), None, "{wrong}");
    }
}

#[test]
fn more_items_or_ratings_of_one_than_can_be_worked_with_are_refused() {
    let file = |items: usize, raters: usize| {
        let rows = (0..items)
            .flat_map(|item| (0..raters).map(move |rater| format!("S{item},A--b--q5,OEMU,E{rater},3,2.5\n")));
        format!("{HEADER}\n{}", rows.collect::<String>())
    };
    assert_eq!(faults(&file(MAX_ITEMS, 1)), []);
    assert_eq!(faults(&file(2, MAX_RATINGS)), []);
    let found = faults(&file(1, MAX_RATINGS + 1));
    assert!(found.len() == 1 && found[0].2.contains("more than 20 ratings"), "{found:?}");
    let found = faults(&file(MAX_ITEMS + 1, 1));
    assert!(found.len() == 1 && found[0].2.contains("more than 2000 items"), "{found:?}");
}

#[test]
fn a_file_in_utf16_is_one_fault_whether_it_has_a_mark_or_not() {
    let rows = format!("{HEADER}\n{}", "S1,A--b--q5,OEMU,E1,1,2.5\n".repeat(50));
    for (mark, bytes) in [
        ("\u{feff}", u16::to_le_bytes as fn(u16) -> [u8; 2]),
        ("\u{feff}", u16::to_be_bytes),
        ("", u16::to_le_bytes),
        ("", u16::to_be_bytes),
    ] {
        let file: Vec<u8> = format!("{mark}{rows}").encode_utf16().flat_map(bytes).collect();
        let faults = read(&file).err().unwrap();
        assert_eq!(faults.len(), 1, "{faults:#?}");
        assert_eq!((faults[0].line, &*faults[0].detail), (1, "the file is UTF-16; save it as CSV in UTF-8"));
    }
}
