//! Pictures of a leaderboard: SVG made on the server, each in a figure whose caption states the finding and that holds the
//! same numbers as a table. Knows nothing of pages.
//!
//! Widths are percentages, so that one picture fits every screen while its text keeps its size; colours and shapes come
//! from the style sheet alone.

mod axis;
mod intervals;
mod marks;
mod people;
mod profile;
mod progress;
mod scatter;
mod slopes;
mod spend;
#[cfg(test)]
mod tests;

use maud::{Markup, html};

pub(super) use axis::Axis;
pub(super) use intervals::intervals;
pub(super) use marks::cut;
pub(super) use people::people;
pub(super) use profile::profile;
pub(super) use progress::best_over_time;
pub(super) use scatter::scatter;
pub(super) use slopes::slopes;
pub(super) use spend::{Day, spend};

/// Rows of a chart at most: more are no picture any more.
const MAX_ROWS: usize = 60;

/// A drawing and its text alternative.
struct Drawing<'a> {
    /// Unique within a page.
    id: &'a str,
    title: &'a str,
    description: &'a str,
    /// In pixels; the width is what there is.
    height: u32,
    /// Whether it has the figure's whole width, so that names may stand beside their marks on large screens.
    wide: bool,
    content: Markup,
}

impl Drawing<'_> {
    fn markup(&self) -> Markup {
        let (title, description) = (format!("{}-title", self.id), format!("{}-words", self.id));
        html! {
            svg.drawing.wide[self.wide] role="img" aria-labelledby={ (title) " " (description) } width="100%" height=(self.height) {
                title id=(title) { (self.title) }
                desc id=(description) { (self.description) }
                (self.content)
            }
        }
    }
}

/// The numbers of a chart: a head, and rows whose first cell names them.
struct Numbers {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Numbers {
    fn markup(&self, id: &str) -> Markup {
        let label = format!("{id}-numbers");
        html! {
            details.numbers {
                summary id=(label) { "Same numbers as a table" }
                div.scroll tabindex="0" role="region" aria-labelledby=(label) {
                    table {
                        thead {
                            tr {
                                @for (place, head) in self.head.iter().enumerate() {
                                    th.number[place > 0] scope="col" { (head) }
                                }
                            }
                        }
                        tbody {
                            @for row in &self.rows {
                                tr {
                                    @for (place, cell) in row.iter().enumerate() {
                                        @if place == 0 { th scope="row" { (cell) } } @else { td.number { (cell) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A chart with its finding, its key, its drawings and its numbers.
fn figure(
    id: &str,
    (title, finding): (&str, &str),
    key: &Markup,
    drawings: &Markup,
    numbers: &Numbers,
) -> Markup {
    html! {
        figure.chart id=(id) {
            figcaption { strong { (title) ". " } (finding) }
            (key)
            (drawings)
            (numbers.markup(id))
        }
    }
}
