//! Order, ranks and group averages of rows that are scored already. Knows nothing of teams or pages.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::domain::column::{CaptionDimension, Column};

/// Which way a table is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The lowest value first.
    Ascending,
    /// The highest value first.
    Descending,
}

/// Rows in order, and the rank of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranking {
    /// Positions of the rows as they were given, in the order in which they are shown.
    pub order: Vec<usize>,
    /// Per row as it was given its rank, 1 the highest value whichever the direction; none without a value.
    pub ranks: Vec<Option<u32>>,
}

/// Orders rows by their unrounded values. Equal values share a rank, the next rank counts them all (1, 1, 3),
/// and they keep the order in which they were given; rows without a value come last both ways.
pub fn rank(values: &[Option<f64>], direction: Direction) -> Ranking {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|left, right| compare(values[*left], values[*right], direction));

    let mut highest_first: Vec<f64> = values.iter().copied().flatten().collect();
    highest_first.sort_unstable_by(|left, right| right.total_cmp(left));
    let rank_of =
        |value: f64| 1 + highest_first.partition_point(|other| other.total_cmp(&value).is_gt()) as u32;
    Ranking { order, ranks: values.iter().map(|value| value.map(rank_of)).collect() }
}

fn compare(left: Option<f64>, right: Option<f64>, direction: Direction) -> Ordering {
    match (left, right, direction) {
        (Some(left), Some(right), Direction::Ascending) => left.total_cmp(&right),
        (Some(left), Some(right), Direction::Descending) => right.total_cmp(&left),
        // `None` is the lesser option, and shall come last.
        _ => right.is_some().cmp(&left.is_some()),
    }
}

/// Per column the plain mean of the values that the rows have, whatever the rows' order; a column without any
/// is absent.
pub fn averages<'a>(rows: impl IntoIterator<Item = &'a BTreeMap<Column, f64>>) -> BTreeMap<Column, f64> {
    let mut values: BTreeMap<Column, Vec<f64>> = BTreeMap::new();
    for (column, value) in rows.into_iter().flatten() {
        values.entry(*column).or_default().push(*value);
    }
    values.into_iter().map(|(column, values)| (column, mean(values))).collect()
}

/// The mean of at least one value, summed in ascending order so that the digits do not depend on the order
/// given.
fn mean(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.iter().sum::<f64>() / values.len() as f64
}

/// Moving minus static for each caption dimension that has both values, as in the paper's two tables.
pub fn change(averages: &BTreeMap<Column, f64>) -> BTreeMap<CaptionDimension, f64> {
    let change_of = |dimension: &CaptionDimension| {
        let [at_rest, moving] = dimension.columns().map(|column| averages.get(&column));
        Some((*dimension, moving? - at_rest?))
    };
    CaptionDimension::ALL.iter().filter_map(change_of).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCATTERED: [Option<f64>; 6] = [Some(2.0), None, Some(5.0), Some(2.0), Some(1.0), None];

    #[test]
    fn equal_values_share_a_rank_and_keep_their_order() {
        let ranking = rank(&SCATTERED, Direction::Descending);
        assert_eq!(ranking.order, [2, 0, 3, 4, 1, 5]);
        assert_eq!(ranking.ranks, [Some(2), None, Some(1), Some(2), Some(4), None]);
    }

    #[test]
    fn the_other_way_round_missing_values_are_last_and_ranks_are_the_same() {
        let ranking = rank(&SCATTERED, Direction::Ascending);
        assert_eq!(ranking.order, [4, 0, 3, 2, 1, 5]);
        assert_eq!(ranking.ranks, rank(&SCATTERED, Direction::Descending).ranks);
    }

    #[test]
    fn values_that_print_alike_are_not_equal() {
        let ranking = rank(&[Some(96.640_001), Some(96.640_002)], Direction::Descending);
        assert_eq!(ranking.ranks, [Some(2), Some(1)]);
    }

    #[test]
    fn averages_take_the_values_that_are_there() {
        let rows = [
            BTreeMap::from([(Column::Pmt, 80.0), (Column::Obk, 50.0)]),
            BTreeMap::from([(Column::Pmt, 81.0)]),
            BTreeMap::new(),
        ];
        assert_eq!(averages(&rows), BTreeMap::from([(Column::Pmt, 80.5), (Column::Obk, 50.0)]));
    }

    #[test]
    fn the_change_is_moving_minus_static() {
        let averages = BTreeMap::from([
            (Column::StaticBeh, 3.5),
            (Column::MovingBeh, 3.25),
            (Column::StaticAh, 2.0),
            (Column::MovingEcf, 1.0),
        ]);
        assert_eq!(change(&averages), BTreeMap::from([(CaptionDimension::Beh, -0.25)]));
    }

    fn rows_and_a_permutation() -> impl Strategy<Value = (Vec<Option<f64>>, Vec<usize>)> {
        // Few different values, so that ties are common.
        prop::collection::vec(prop::option::of((0_u8..6).prop_map(|tenths| f64::from(tenths) / 10.0)), 0..30)
            .prop_flat_map(|values| {
                let positions: Vec<usize> = (0..values.len()).collect();
                (Just(values), Just(positions).prop_shuffle())
            })
    }

    proptest! {
        #[test]
        fn a_permutation_of_the_rows_changes_no_rank((values, permutation) in rows_and_a_permutation()) {
            let shuffled: Vec<Option<f64>> = permutation.iter().map(|position| values[*position]).collect();
            for direction in [Direction::Ascending, Direction::Descending] {
                let (before, after) = (rank(&values, direction), rank(&shuffled, direction));
                let moved: Vec<Option<u32>> =
                    permutation.iter().map(|position| before.ranks[*position]).collect();
                prop_assert_eq!(&after.ranks, &moved);
                let shown = |values: &[Option<f64>], ranking: &Ranking| -> Vec<Option<f64>> {
                    ranking.order.iter().map(|position| values[*position]).collect()
                };
                prop_assert_eq!(shown(&values, &before), shown(&shuffled, &after));
            }
        }

        #[test]
        fn ties_stand_in_the_order_given((values, _) in rows_and_a_permutation()) {
            let ranking = rank(&values, Direction::Descending);
            for pair in ranking.order.windows(2) {
                prop_assert!(values[pair[0]] != values[pair[1]] || pair[0] < pair[1]);
            }
        }

        #[test]
        fn a_permutation_of_the_rows_changes_no_average((values, permutation) in rows_and_a_permutation()) {
            let row = |value: &Option<f64>| value.map(|value| (Column::Oemu, value)).into_iter().collect();
            let rows: Vec<BTreeMap<Column, f64>> = values.iter().map(row).collect();
            prop_assert_eq!(averages(&rows), averages(permutation.iter().map(|position| &rows[*position])));
        }
    }
}
