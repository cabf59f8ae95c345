//! Differences of one pair as a forest plot: a row a column, its interval, and a heavy line at no difference. Positions are
//! shares of the width, so that text keeps its size on every screen. Decides nothing.

use maud::{Markup, html};

use super::compare_words::in_words;
use super::figures::signed;
use crate::evaluation::comparing::ComparedColumn;

/// Pixels from one row to the next: its words above, its bar below.
const ROW: usize = 44;

/// Pixels above the first row, for the words at the ends.
const HEAD: usize = 26;

/// Pixels below the last row, for the scale.
const FOOT: usize = 30;

/// Half of the scale, in percent of the width; the rest is margin, so that no mark is cut off.
const HALF: f64 = 47.0;

/// Columns of one unit.
pub(super) struct Panel<'a> {
    /// What sets its ids apart from those of other panels of the page.
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    /// The letters of the two entries.
    pub(super) names: [char; 2],
    pub(super) columns: Vec<&'a ComparedColumn>,
    /// Decimals of a difference.
    pub(super) places: usize,
}

impl Panel<'_> {
    /// The plot.
    pub(super) fn draw(&self) -> Markup {
        let reach = self.reach();
        let height = HEAD + ROW * self.columns.len() + FOOT;
        let bottom = height - FOOT;
        let [a, b] = self.names;
        let (title, desc) = (format!("{}-title", self.id), format!("{}-desc", self.id));
        html! {
            svg.forest role="img" aria-labelledby=(format!("{title} {desc}")) width="100%" height=(height) {
                title id=(title) { (self.title) }
                desc id=(desc) { (self.description()) }
                @for share in [-1.0, -0.5, 0.5, 1.0] {
                    line.grid x1=(at(share)) x2=(at(share)) y1=(HEAD) y2=(bottom) {}
                }
                line.zero x1="50%" x2="50%" y1=(HEAD - 4) y2=(bottom + 4) {}
                text x="0" y="14" { "◂ " (b) " better" }
                text.end x="100%" y="14" { (a) " better ▸" }
                @for (row, column) in self.columns.iter().enumerate() {
                    (self.row(column, HEAD + ROW * row, reach))
                }
                @for share in [-1.0, -0.5, 0.0, 0.5, 1.0] {
                    text.middle x=(at(share)) y=(bottom + 20) { (self.tick(share * reach)) }
                }
            }
        }
    }

    fn row(&self, column: &ComparedColumn, top: usize, reach: f64) -> Markup {
        let (words, bar) = (top + 16, top + 30);
        let at = |value: f64| at(value / reach);
        html! {
            text.name x="0" y=(words) { (column.id) }
            text.end x="100%" y=(words) { (in_words(column, self.places)) }
            @if let Some([low, high]) = column.ci95 {
                line.whisker x1=(at(low)) x2=(at(high)) y1=(bar) y2=(bar) {}
            }
            circle class=(if column.is_clear { "clear" } else { "hollow" }) cx=(at(column.difference)) cy=(bar) r="5" {}
        }
    }

    /// Where the scale ends on both sides, in the columns' unit.
    fn reach(&self) -> f64 {
        let bounds = self.columns.iter().flat_map(|column| {
            let [low, high] = column.ci95.unwrap_or([column.difference; 2]);
            [low, high, column.difference]
        });
        let most = bounds.map(f64::abs).fold(0.0, f64::max);
        let round = [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0, 20.0, 30.0, 40.0, 60.0, 80.0, 100.0];
        round.into_iter().find(|reach| *reach >= most).unwrap_or(most)
    }

    fn tick(&self, value: f64) -> String {
        let places = usize::from(value.fract() != 0.0) + usize::from((10.0 * value).fract() != 0.0);
        if value == 0.0 { "0".to_owned() } else { signed(value, places) }
    }

    /// The plot in a sentence.
    fn description(&self) -> String {
        let [a, b] = self.names;
        let named = |is_kind: &dyn Fn(&ComparedColumn) -> bool| {
            let names = self.columns.iter().filter(|column| is_kind(column)).map(|column| column.id.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            if names.is_empty() { "none".to_owned() } else { names }
        };
        format!(
            "Differences {a} minus {b} with 95 % intervals. Clearly better, {a}: {}; {b}: {}. Not clear: {}. The table below \
             has the same numbers.",
            named(&|column| column.is_clear && column.difference > 0.0),
            named(&|column| column.is_clear && column.difference <= 0.0),
            named(&|column| !column.is_clear),
        )
    }
}

/// A place on the scale from -1 to 1.
fn at(share: f64) -> String {
    format!("{:.2}%", 50.0 + HALF * share)
}
