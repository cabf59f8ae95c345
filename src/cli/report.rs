//! Tables for people who read a terminal.

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{ContentArrangement, Table};

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
