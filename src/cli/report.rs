//! Tables, bars and words for people who read a terminal.

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{ContentArrangement, Table};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

/// The narrowest terminal that a table is fitted to, in characters.
const MIN_WIDTH: u16 = 40;

/// A table of text under a header.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(header);
    // Some terminals claim to have no width; squeezing a table into that helps nobody.
    if table.width().is_none_or(|width| width >= MIN_WIDTH) {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    for row in rows {
        table.add_row(row);
    }
    table.to_string()
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

/// Prints the listed faults of a file as a table, and how many there are in all.
pub fn print_faults(errors: &[Value], total: u64) {
    if errors.is_empty() {
        return;
    }
    let text = |fault: &Value, field: &str| match &fault[field] {
        Value::Null => String::new(),
        value => word(value),
    };
    let rows = errors.iter().map(|fault| {
        let place = match (fault["line"].as_u64(), fault["column"].as_u64()) {
            (Some(line), Some(column)) => format!("line {line}, column {column}"),
            (Some(line), None) => format!("line {line}"),
            _ => text(fault, "pointer"),
        };
        vec![place, text(fault, "question_id"), text(fault, "code"), text(fault, "detail")]
    });
    println!("{}", table(&["place", "question", "code", "what is wrong"], rows));
    let listed = errors.len() as u64;
    if total > listed {
        println!("the first {listed} of {} faults", total);
    }
}
