//! The lines in which work waits, for a worker or for the judge: test before val, and what nobody waits for last.

use super::question::Split;

/// A line; who stands in an earlier one goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Line {
    /// Submissions to test.
    Test,
    /// Submissions to val.
    Val,
    /// Submissions to test that are judged under another configuration than their own.
    BackgroundTest,
    /// The same of val.
    BackgroundVal,
}

impl Line {
    /// The last of them.
    pub const LAST: Line = Line::BackgroundVal;

    /// How many there are.
    pub const COUNT: usize = Line::LAST as usize + 1;

    /// The line of submissions to a split that wait for their own scores.
    pub fn of(split: Split) -> Line {
        if split == Split::Test { Line::Test } else { Line::Val }
    }

    /// The line of submissions to a split that are rejudged.
    pub fn background(split: Split) -> Line {
        if split == Split::Test { Line::BackgroundTest } else { Line::BackgroundVal }
    }
}
