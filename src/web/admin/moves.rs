//! What would move on a board, as a table. Knows nothing of why.

use maud::{Markup, html};

use super::desk::{foreign, table};
use crate::evaluation::staging_moves::Move;
use crate::scoring::decimals::to_decimals;

/// Rows that are shown at most.
const SHOWN: usize = 100;

/// Ranks and scores before and after; nothing where nothing moves.
pub(super) fn moves(moves: &[Move]) -> Markup {
    let place = |rank: Option<u32>| rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string());
    html! {
        @if !moves.is_empty() {
            h2 #moves { "What would move" }
            @if moves.len() > SHOWN { p { "The first " (SHOWN) " of " (moves.len()) "." } }
            (table("moves", &["Model", "Column", "#Rank now", "#Rank then", "#Score now", "#Score then"], &html! {
                @for moved in moves.iter().take(SHOWN) {
                    @let places = moved.column.unit().places();
                    @let value = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| to_decimals(value, places));
                    tr {
                        th.model scope="row" {
                            a href={ "/admin/submissions/" (moved.entry) } { (foreign(&moved.model_name)) }
                            br; small { (moved.team) ", " (moved.split) }
                        }
                        td { (moved.column) }
                        td.number { (place(moved.rank[0])) }
                        td.number { (place(moved.rank[1])) }
                        td.number { (value(moved.value[0])) }
                        td.number { (value(moved.value[1])) }
                    }
                }
            }))
        }
    }
}
