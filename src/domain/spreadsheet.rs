//! Texts in files that people open with a spreadsheet. Knows nothing of the file's form.

/// What spreadsheets take for the beginning of a formula, some of them also in full width.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// A text that no spreadsheet takes for a formula.
pub fn defused(text: &str) -> String {
    if text.starts_with(FORMULA) { format!("'{text}") } else { text.to_owned() }
}

/// The text of a cell that was defused.
pub fn armed(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|text| text.starts_with(FORMULA)).unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::{armed, defused};

    #[test]
    fn what_was_defused_is_read_again_as_it_was() {
        for text in ["=1+1", "-5 m deep", "＝1", "'quoted'", "Reef-8B", ""] {
            assert_eq!(armed(&defused(text)), text);
        }
    }

    #[test]
    fn a_formula_is_defused() {
        assert_eq!(defused("=HYPERLINK(\"x\")"), "'=HYPERLINK(\"x\")");
        assert_eq!(defused("Reef-8B"), "Reef-8B");
    }
}
