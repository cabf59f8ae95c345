//! Workbooks: what is read from them, what is wrong with them, and those that are attacks.

use zip::write::{SimpleFileOptions, ZipWriter};

use super::*;

const FIRST: &str = "MVK--reef_dive_0007--q1";
const SECOND: &str = "MVK--reef_dive_0007--q2";

/// An archive of these parts.
fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A workbook whose first sheet holds these rows and whose cells share these texts.
fn workbook(rows: &str, texts: &str) -> Vec<u8> {
    let sheet = format!("<worksheet><dimension ref=\"A1:XFD9\"/><sheetData>{rows}</sheetData></worksheet>");
    let texts = format!("<sst uniqueCount=\"99999999999999\">{texts}</sst>");
    archive(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("xl/workbook.xml", b"<workbook><sheets><sheet name=\"a\" r:id=\"r2\"/></sheets></workbook>"),
        (
            "xl/_rels/workbook.xml.rels",
            b"<R><R Id=\"r1\" Target=\"x.xml\"/><R Id=\"r2\" Target=\"sheets/1.xml\"/></R>",
        ),
        ("xl/sheets/1.xml", sheet.as_bytes()),
        ("xl/sharedStrings.xml", texts.as_bytes()),
    ])
}

fn inline(name: &str, text: &str) -> String {
    format!("<c r=\"{name}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
}

/// A header of `question_id` and `answer`, then these rows.
fn table(rows: &str, texts: &str) -> Vec<u8> {
    let header = format!("<row r=\"1\">{}{}</row>", inline("A1", "question_id"), inline("B1", "answer"));
    workbook(&(header + rows), texts)
}

/// A row that answers a question with one cell.
fn answered(number: u64, id: &str, cell: &str) -> String {
    format!("<row r=\"{number}\">{}{cell}</row>", inline(&format!("A{number}"), id))
}

#[test]
fn a_cell_is_text_however_it_is_written() {
    let texts = "<si><t xml:space=\"preserve\"> a &lt;b&gt; &#x1f420;_x000D_\n</t></si><si><r><t>ri</t></r><rPh><t>x</t></rPh><r><t>ch</t></r></si>";
    for (cell, answer) in [
        ("<c r=\"B2\" t=\"s\"><v>0</v></c>", " a <b> 🐠\r\n"),
        ("<c r=\"B2\" t=\"s\"><v>1</v></c>", "rich"),
        ("<c t=\"inlineStr\"><is><t>B_x005F_x000D_ _xyz_</t></is></c>", "B_x000D_ _xyz_"),
        ("<c r=\"B2\"><f>B2+1</f><v>0</v></c>", "=B2+1"),
        ("<c r=\"B2\" t=\"e\"><f>B</f><v>#NAME?</v></c>", "=B"),
        ("<c r=\"B2\" t=\"str\"><f>A1&amp;\"\"</f><v>B</v></c>", "B"),
        ("<c r=\"C2\"><v>1</v></c>", ""),
    ] {
        let file = table(&answered(2, FIRST, cell), texts);
        for file in [gzip(&file), zstd::encode_all(&file[..], 3).unwrap(), file] {
            assert_eq!(accepted(&file, index()).answers[0].as_deref(), Some(answer), "{cell}");
        }
    }
}

#[test]
fn faults_of_a_workbook_have_row_column_and_id() {
    let number = answered(2, FIRST, "<c r=\"B2\"><v>5</v></c>");
    let unknown = answered(4, "MVK--none--q1", &inline("B4", "A"));
    let refused = refusal(&table(&(number + "<row r=\"3\"/>" + unknown.as_str()), ""), index());
    assert_eq!(refused.total, 2, "{refused:?}");
    let [first, second] = &refused.faults[..] else { unreachable!() };
    assert_eq!((first.code, first.line, first.column), (FaultCode::WrongType, Some(2), Some(2)));
    assert_eq!((first.pointer.as_deref(), first.question_id.as_deref()), (Some("/answer"), Some(FIRST)));
    assert_eq!((second.code, second.line, second.column), (FaultCode::UnknownQuestion, Some(4), Some(1)));
    let header = first_fault(&workbook(&format!("<row r=\"3\">{}</row>", inline("A3", "x")), ""));
    assert_eq!((header.code, header.line), (FaultCode::MissingField, Some(3)));
    assert_eq!(first_fault(&table("", "")).code, FaultCode::EmptyFile);
}

#[test]
fn a_workbook_of_vlmevalkit_names_its_questions_by_place_where_it_has_no_ids() {
    let header: String = ["index", "question", "prediction"]
        .iter()
        .zip(["A1", "B1", "C1"])
        .map(|(name, at)| inline(at, name))
        .collect();
    let row = format!("<row><c><v>1</v></c>{}{}</row>", inline("B2", "Which?"), inline("C2", "B"));
    let read = accepted(&workbook(&format!("<row>{header}</row>{row}"), ""), index());
    assert_eq!(read.answers[1].as_deref(), Some("B"));
    let codes: Vec<_> = read.warnings.iter().map(|warning| warning.code).collect();
    assert_eq!(codes, [WarningCode::MissingAnswers, WarningCode::MatchedByPlace]);
}

#[test]
fn what_is_no_readable_workbook_is_told_so() {
    let good = table(&answered(2, FIRST, &inline("B2", "A")), "");
    for (file, code, word) in [
        (archive(&[("answers.jsonl", b"{}")]), FaultCode::UnknownFormat, "no workbook"),
        (archive(&[("xl/workbook.xml", b"<workbook/>")]), FaultCode::UnknownFormat, "no sheet"),
        (archive(&[("xl/workbook.xml", b"<<<")]), FaultCode::UnknownFormat, "cannot be read"),
        (table("<row><c r=\"B2\" t=\"s\"><v>7</v></c></row>", ""), FaultCode::UnknownFormat, "text 7"),
        (table("<row><c r=\"ZZZ1\"><v>7</v></c></row>", ""), FaultCode::UnknownFormat, "no column"),
        (table("<row r=\"x\"/>", ""), FaultCode::UnknownFormat, "cannot be read"),
        (table("<row><c><v>&what;</v></c></row>", ""), FaultCode::UnknownFormat, "`&what;`"),
        (good[..good.len() - 30].to_vec(), FaultCode::CorruptCompression, "damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec(), FaultCode::UnknownFormat, "password"),
    ] {
        let fault = first_fault(&file);
        assert_eq!(fault.code, code, "{fault:?}");
        assert!(fault.detail.contains(word), "{word}: {}", fault.detail);
    }
}

#[test]
fn a_workbook_that_is_a_bomb_is_too_large_and_takes_no_memory_for_what_it_says() {
    let spaces = " ".repeat(70 << 20);
    let long = format!("<si><t>{}</t></si>", "a".repeat(60_000));
    let cells: String = (0..2000).map(|_| "<row><c r=\"B2\" t=\"s\"><v>0</v></c></row>").collect();
    let rows: String =
        (0..2000).map(|place| answered(2 + place, FIRST, "<c r=\"B2\" t=\"s\"><v>0</v></c>")).collect();
    for file in [table(&spaces, ""), table("", &spaces), table(&cells, &long), table(&rows, &long)] {
        assert!(file.len() < 1 << 20, "{}", file.len());
        assert_eq!(first_fault(&file).code, FaultCode::TooLarge);
    }
    let name = |number| format!("xl/{number}");
    let names: Vec<String> = (0..1001).map(name).collect();
    let parts: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    assert!(first_fault(&archive(&parts)).detail.contains("1000 parts"));
}

fn damaged_workbook() -> impl Strategy<Value = Vec<u8>> {
    let good = table(
        &(answered(2, FIRST, "<c r=\"B2\" t=\"s\"><v>0</v></c>")
            + answered(3, SECOND, &inline("B3", "A")).as_str()),
        "<si><t>B</t></si>",
    );
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8);
    (edits, any::<prop::sample::Index>()).prop_map(move |(edits, cut)| {
        let mut file = good.clone();
        for (at, byte) in edits {
            let at = at.index(file.len());
            file[at] = byte;
        }
        file.truncate(cut.index(file.len() * 4).max(1));
        file
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn damaged_workbooks_are_read_or_refused(file in damaged_workbook()) {
        prop_assert!(!matches!(read(&file[..], index(), &LIMITS), Err(ReadError::Io(_))));
    }

    #[test]
    fn nearly_a_sheet_is_read_or_refused(
        parts in prop::collection::vec(prop::sample::select(vec![
            "<row>", "</row>", "<c r=\"A2\">", "<c t=\"s\">", "<c t=\"inlineStr\">", "</c>", "<v>", "</v>", "<f>", "</f>",
            "<is>", "</is>", "<t>", "</t>", "0", "9", "&amp;", "&#0;", "&#x41;", "_x0041_", "MVK--reef_dive_0007--q1", "<", "é",
        ]), 0..30)
    ) {
        let file = table(&parts.concat(), "<si><t>B</t></si>");
        prop_assert!(!matches!(read(&file[..], index(), &LIMITS), Err(ReadError::Io(_))));
    }
}
