//! Tables, bars and words for people who read a terminal.

use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

/// The narrowest terminal that a table is fitted to, in characters.
const MIN_WIDTH: usize = 40;

/// A table of text under a header, or a paragraph a row on a terminal too narrow for it: an id broken over lines can be
/// neither copied nor searched for.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(header).add_rows(rows.clone());
    let drawn = table.to_string();
    let needed = drawn.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    match table.width().map(usize::from) {
        // Some terminals claim to have no width; fitting anything into that helps nobody.
        Some(width) if (MIN_WIDTH..needed).contains(&width) => paragraphs(header, &rows, width),
        _ => drawn,
    }
}

/// Each row as its first cell and, below it, the others with their names, as many on a line as fit.
fn paragraphs(header: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let mut text = Vec::new();
    for row in rows {
        let mut cells = header.iter().zip(row);
        text.extend(cells.next().map(|(_, first)| first.clone()));
        let mut line = String::new();
        for (name, cell) in cells.filter(|(_, cell)| !cell.is_empty()) {
            let cell = format!("{name} {cell}");
            if !line.is_empty() && line.chars().count() + ", ".len() + cell.chars().count() > width {
                text.push(std::mem::take(&mut line));
            }
            let before = if line.is_empty() { "  " } else { ", " };
            line = line + before + cell.trim();
        }
        text.push(line);
    }
    text.join("\n")
}

/// A bar of this form, which only a terminal shows.
pub fn bar(message: &'static str, template: &str, length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length).with_message(message);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A JSON text without its quotes and without characters that a terminal would obey.
pub fn word(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().filter(|c| !c.is_control()).collect()
}

/// A time of the API without its milliseconds.
pub fn time(value: &Value) -> String {
    let text = word(value);
    match text.split_once('.') {
        Some((seconds, _)) => format!("{} UTC", seconds.replace('T', " ")),
        None => text,
    }
}

/// How many there are of a thing whose plural ends in s.
pub fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Prints the listed faults of a file, one a line, and how many there are in all.
pub fn print_faults(errors: &[Value], total: u64) {
    for fault in errors {
        println!("{}", fault_line(fault));
    }
    let listed = errors.len() as u64;
    if total > listed {
        println!("the first {listed} of {total} faults");
    }
}

/// Where a fault is, what kind it is, and what is wrong.
fn fault_line(fault: &Value) -> String {
    let place = match (fault["line"].as_u64(), fault["column"].as_u64()) {
        (Some(line), Some(column)) => Some(format!("line {line}, column {column}")),
        (Some(line), None) => Some(format!("line {line}")),
        _ => fault["pointer"].as_str().map(|_| word(&fault["pointer"])),
    };
    let told = |field: &str| fault[field].as_str().map(|_| word(&fault[field]));
    let parts = [place, told("question_id"), told("code"), told("detail")];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_stays_whole_where_a_table_is_too_wide() {
        let (id, made) = ("019aa4f2-0000-7000-8000-000000000000", "2026-11-30 12:00:00 UTC");
        let row = [id, "test", "Reef-8B", "", "private", made].map(str::to_owned).to_vec();
        let text = paragraphs(&["id", "split", "model", "team", "visibility", "submitted"], &[row], 60);
        let expected = "019aa4f2-0000-7000-8000-000000000000
  split test, model Reef-8B, visibility private
  submitted 2026-11-30 12:00:00 UTC";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_fault_is_one_line_and_a_time_has_no_milliseconds() {
        let fault = json!({"line": 2, "column": 16, "question_id": null, "code": "malformed_json", "detail": "a\u{1b} b"});
        assert_eq!(fault_line(&fault), "line 2, column 16: malformed_json: a b");
        let fault =
            json!({"pointer": "/paper_url", "question_id": null, "code": "invalid", "detail": "no address"});
        assert_eq!(fault_line(&fault), "/paper_url: invalid: no address");
        assert_eq!(time(&json!("2026-11-30T12:00:00.123Z")), "2026-11-30 12:00:00 UTC");
        assert_eq!(time(&Value::Null), "null");
        assert_eq!([0, 1, 2].map(|n| counted(n, "fault")), ["0 faults", "1 fault", "2 faults"]);
    }
}
