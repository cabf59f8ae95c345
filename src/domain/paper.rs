//! The results that the paper prints: Tables 3 and 4, digit by digit. Their values fit fractions of about 30 questions, so
//! they are shown as reported and ranked nowhere.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::column::{CaptionDimension, Column};
use super::submission::Group;

/// A model of the paper.
#[derive(Debug, Deserialize)]
pub struct PaperModel {
    /// Its name as in Table 3.
    pub model: String,
    /// Its backbone as in Table 3.
    pub backbone: Option<String>,
    /// Its values as printed.
    pub values: BTreeMap<Column, String>,
}

/// A group of the paper's tables.
#[derive(Debug, Deserialize)]
pub struct PaperGroup {
    /// Which group.
    pub group: Group,
    /// Its models, in order.
    pub models: Vec<PaperModel>,
    /// The averages as printed.
    pub averages: BTreeMap<Column, String>,
    /// Moving minus static as printed, with its sign.
    pub change: BTreeMap<CaptionDimension, String>,
}

static TABLES: LazyLock<Vec<PaperGroup>> =
    LazyLock::new(|| serde_json::from_str(include_str!("paper.json")).unwrap_or_default());

/// The groups of the paper's tables, in order.
pub fn paper_tables() -> &'static [PaperGroup] {
    &TABLES
}

/// A printed number; none where it is no number.
pub fn printed_number(printed: &str) -> Option<f64> {
    printed.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_hold_twelve_models_with_a_number_in_every_column_but_the_mean() {
        let sizes: Vec<usize> = paper_tables().iter().map(|group| group.models.len()).collect();
        assert_eq!(sizes, [5, 3, 4]);
        for group in paper_tables() {
            let columns = group.models.iter().map(|model| &model.values).chain([&group.averages]);
            for values in columns {
                assert_eq!(values.len(), Column::ALL.len() - 1);
                assert!(!values.contains_key(&Column::Mcq));
                assert!(values.values().all(|printed| printed_number(printed).is_some()), "{values:?}");
            }
            assert_eq!(group.change.len(), CaptionDimension::ALL.len());
        }
    }
}
