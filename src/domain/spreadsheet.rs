//! Texts in files that people open with a spreadsheet. Knows nothing of the file's form.

/// What spreadsheets take for the beginning of a formula, some of them also in full width.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// A text that no spreadsheet takes for a formula.
pub fn defused(text: &str) -> String {
    if text.starts_with(FORMULA) { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::defused;

    #[test]
    fn a_formula_is_defused() {
        assert_eq!(defused("=HYPERLINK(\"x\")"), "'=HYPERLINK(\"x\")");
        assert_eq!(defused("Reef-8B"), "Reef-8B");
    }
}
