//! The known id that is nearest to an unknown one. Knows nothing of what ids mean.

/// Most edits that a misspelt id is away from the right one.
const MAX_EDITS: usize = 4;

/// The one known id that is fewest edits away from `id`, if it is few and no other is as near. The work for a known id
/// grows with its length alone, and ends where the two differ too much.
pub(super) fn nearest<'k>(id: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let id = id.as_bytes();
    // Of a short id a few edits leave nothing.
    let mut limit = MAX_EDITS.min(id.len() / 4);
    let (mut best, mut is_alone) = (None, false);
    for candidate in known {
        let Some(edits) = edits(id, candidate.as_bytes(), limit) else { continue };
        is_alone = edits < limit || best.is_none();
        (best, limit) = (Some(candidate), edits);
    }
    best.filter(|_| is_alone)
}

/// How many bytes must be added, left out or changed to turn one text into the other, if at most `limit`.
fn edits(a: &[u8], b: &[u8], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    // Row `i` holds the edits between the first `i` bytes of `a` and the first `i + offset - limit` bytes of `b`.
    let width = 2 * limit + 1;
    let mut row = [usize::MAX; 2 * MAX_EDITS + 1];
    for (offset, edits) in row.iter_mut().enumerate().take(width).skip(limit) {
        *edits = offset - limit;
    }
    for (i, byte) in a.iter().enumerate() {
        let mut least = usize::MAX;
        for offset in 0..width {
            // The place in `b` after this step.
            let Some(j) = (i + 1 + offset).checked_sub(limit).filter(|j| *j <= b.len()) else {
                row[offset] = usize::MAX;
                continue;
            };
            let changed = j.checked_sub(1).map(|at| row[offset].saturating_add(usize::from(b[at] != *byte)));
            let added = offset.checked_sub(1).filter(|_| j > 0).map(|left| row[left].saturating_add(1));
            let left_out = row.get(offset + 1).filter(|_| offset + 1 < width).map(|up| up.saturating_add(1));
            let edits = [changed, added, left_out].into_iter().flatten().min().unwrap_or(usize::MAX);
            row[offset] = edits;
            least = least.min(edits);
        }
        if least > limit {
            return None;
        }
    }
    let last = (b.len() + limit).checked_sub(a.len())?;
    row.get(last).copied().filter(|edits| *edits <= limit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The textbook's whole table.
    fn all_edits(a: &[u8], b: &[u8]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut before = std::mem::replace(&mut row[0], i + 1);
            for (j, y) in b.iter().enumerate() {
                let changed = before + usize::from(x != y);
                before = row[j + 1];
                row[j + 1] = changed.min(before + 1).min(row[j] + 1);
            }
        }
        row[b.len()]
    }

    #[test]
    fn the_nearest_id_is_found_where_it_stands_out() {
        let known = ["MVK--reef_dive_0007--q1", "MVK--reef_dive_0007--q2", "MSC--sandbank_0001--q1"];
        let found = |id| nearest(id, known.into_iter());
        assert_eq!(found("MSC--sandbank_01--q1"), Some(known[2]));
        assert_eq!(found("MSC-sandbank_0001-q1"), Some(known[2]));
        assert_eq!(found("MVK--reef_dive_0007--q7"), None, "two are as near");
        assert_eq!(found("MVK--kelp_forest_0001--q1"), None);
        assert_eq!(found(""), None);
        assert_eq!(found(&"x".repeat(1 << 20)), None);
    }

    proptest! {
        #[test]
        fn edits_are_counted_up_to_the_limit(a in "[ab]{0,9}", b in "[ab]{0,9}", limit in 0..=MAX_EDITS) {
            let all = all_edits(a.as_bytes(), b.as_bytes());
            prop_assert_eq!(edits(a.as_bytes(), b.as_bytes(), limit), (all <= limit).then_some(all));
        }
    }
}
