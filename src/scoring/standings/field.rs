//! The outcomes of many entries, packed so that any two can be compared within a fraction of a microsecond: some 8 KB an
//! entry of the test split. Knows no tests.

use crate::domain::column::Column;
use crate::domain::outcome::Outcome;
use crate::scoring::columns::{QuestionFacts, RIGHT, hundredths};
use crate::scoring::intervals::Tally;

use super::levels::Gap;

/// The standard normal quantiles of 97.5 % and 80 %, added: what a difference must be in standard errors so that a test at
/// 5 % finds it four times out of five.
const FOUND_IN_FOUR_OF_FIVE: f64 = 1.959_963_984_540_054 + 0.841_621_233_572_914_2;

/// The fewest questions that one of two entries must win for mid-p McNemar to find a difference at 5 %.
const FEWEST_WON: f64 = 5.0;

/// Videos in a word of bits.
const BITS: usize = u64::BITS as usize;

/// Squares of differences of up to 500 that 32 bits hold the sum of.
const SUMMED: usize = 4096;

/// How many partial sums a loop keeps, so that it can work on several videos at once.
const LANES: usize = 8;

/// The entries of a board, by position, with their outcomes in each column.
pub struct Field {
    columns: Vec<Packed>,
}

/// What entries have in one column.
struct Packed {
    column: Column,
    /// The questions that count, each with the part that it belongs to and the place of its video in a row. `MCQ` has the
    /// percent columns for parts, another column is its only one.
    questions: Vec<(usize, usize, usize)>,
    /// How many questions each part counts.
    counts: Vec<u64>,
    /// Places of a row.
    videos: usize,
    rows: Rows,
    /// Per entry the sum of its row.
    sums: Vec<f64>,
    values: Vec<Option<f64>>,
}

/// One row an entry; that of an entry without a value is void.
enum Rows {
    /// A percent column: a bit a video, set where the letter is right.
    Bits(Vec<u64>),
    /// A mean: hundredths of a point a video, at most 500 as a video has one question of a type.
    Hundredths(Vec<i16>),
    /// `MCQ`: what each video adds to the value.
    Parts(Vec<f64>),
}

impl Field {
    /// A field without entries on a release's questions.
    pub fn new(questions: &[QuestionFacts]) -> Field {
        Field { columns: Column::ALL.iter().map(|column| Packed::new(*column, questions)).collect() }
    }

    /// Adds an entry by what became of its answers.
    pub fn push(&mut self, outcomes: &[Outcome]) {
        for packed in &mut self.columns {
            packed.push(outcomes);
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |packed| packed.values.len())
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn packed(&self, column: Column) -> Option<&Packed> {
        self.columns.iter().find(|packed| packed.column == column)
    }

    /// How many videos a column counts.
    pub(super) fn videos(&self, column: Column) -> usize {
        self.packed(column).map_or(0, |packed| packed.videos)
    }

    /// The value of an entry, as on the board.
    pub(super) fn value(&self, column: Column, entry: usize) -> Option<f64> {
        self.packed(column)?.values[entry]
    }

    /// Those of the entries that have a value, highest first.
    pub(super) fn order(&self, column: Column, members: &[usize]) -> Vec<usize> {
        let value = |entry: usize| self.value(column, entry);
        let mut order: Vec<usize> = members.iter().copied().filter(|entry| value(*entry).is_some()).collect();
        order.sort_by(|one, other| {
            value(*other).partial_cmp(&value(*one)).unwrap_or(std::cmp::Ordering::Equal)
        });
        order
    }

    /// Says what lies between each of `entries` and each of `others`, by their places in these lists.
    pub(super) fn gaps(
        &self,
        column: Column,
        entries: &[usize],
        others: &[usize],
        mut found: impl FnMut(usize, usize, Gap),
    ) {
        let Some(packed) = self.packed(column) else { return };
        for (place, other) in others.iter().enumerate() {
            for (entry_place, entry) in entries.iter().enumerate() {
                found(entry_place, place, packed.gap(*entry, *other));
            }
        }
    }

    /// How far apart two entries must be for a test of theirs alone to find it at 5 % in four cases of five, in the
    /// column's unit; none where no two entries differ.
    ///
    /// It rests on the median of the standard errors of the differences between neighbours in the column's order, as
    /// those are the pairs that readers ask about: entries that agree in more questions can be told apart by less. In a
    /// percent column fewer than five questions are never enough.
    pub fn smallest_difference(&self, column: Column, members: &[usize]) -> Option<f64> {
        let packed = self.packed(column)?;
        let order = self.order(column, members);
        let mut errors: Vec<f64> =
            order.windows(2).map(|pair| packed.error(packed.gap(pair[0], pair[1]))).collect();
        errors.retain(|error| *error > 0.0);
        errors.sort_by(f64::total_cmp);
        let found = FOUND_IN_FOUR_OF_FIVE * errors.get(errors.len() / 2)?;
        let least = if Column::PERCENT.contains(&column) { FEWEST_WON * packed.scale() } else { 0.0 };
        Some(found.max(least))
    }
}

impl Packed {
    fn new(column: Column, questions: &[QuestionFacts]) -> Packed {
        let parts: &[Column] = if column == Column::Mcq { &Column::PERCENT } else { &[column] };
        let mut counted = Vec::new();
        for (part, of) in parts.iter().enumerate() {
            let counts = |(_, facts): &(usize, &QuestionFacts)| of.counts(facts.question_type, facts.camera);
            let counting = questions.iter().enumerate().filter(counts);
            counted.extend(counting.map(|(place, facts)| (place, part, facts.video)));
        }
        let mut videos: Vec<usize> = counted.iter().map(|(_, _, video)| *video).collect();
        videos.sort_unstable();
        videos.dedup();
        let mut counts = vec![0; parts.len()];
        for (_, part, video) in &mut counted {
            counts[*part] += 1;
            *video = videos.partition_point(|known| known < video);
        }
        let rows = match column {
            Column::Mcq => Rows::Parts(Vec::new()),
            _ if Column::PERCENT.contains(&column) => Rows::Bits(Vec::new()),
            _ => Rows::Hundredths(Vec::new()),
        };
        let videos = videos.len();
        Packed { column, questions: counted, counts, videos, rows, sums: Vec::new(), values: Vec::new() }
    }

    fn push(&mut self, outcomes: &[Outcome]) {
        let mut row = vec![0.0; self.videos];
        let mut sums = vec![0; self.counts.len()];
        let mut add = |(question, part, video): &(usize, usize, usize)| {
            let hundredths = hundredths(self.column, outcomes.get(*question)?)?;
            sums[*part] += hundredths;
            row[*video] += hundredths as f64 / self.share(*part);
            Some(())
        };
        let is_complete = self.questions.iter().all(|question| add(question).is_some());
        let tally = |sums: &[u64]| match (sums, self.counts.as_slice()) {
            ([sum], [count]) => Tally { sums: [*sum], counts: [*count] }.value(),
            (sums, counts) => {
                Tally::<7> { sums: sums.try_into().ok()?, counts: counts.try_into().ok()? }.value()
            }
        };
        self.values.push(if is_complete { tally(&sums) } else { None });
        self.sums.push(row.iter().sum());
        match &mut self.rows {
            Rows::Bits(bits) => bits.extend(row.chunks(BITS).map(|chunk| {
                chunk.iter().enumerate().fold(0, |word, (bit, right)| word | (u64::from(*right > 0.0) << bit))
            })),
            Rows::Hundredths(hundredths) => hundredths.extend(row.iter().map(|sum| *sum as i16)),
            Rows::Parts(parts) => parts.extend(row),
        }
    }

    /// What hundredths of a part's unit are divided by in a row.
    fn share(&self, part: usize) -> f64 {
        match self.rows {
            Rows::Bits(_) => RIGHT as f64,
            Rows::Hundredths(_) => 1.0,
            Rows::Parts(_) => (100 * self.counts[part] * self.counts.len() as u64) as f64,
        }
    }

    /// What 1 in a row adds to the column's value.
    fn scale(&self) -> f64 {
        match self.rows {
            Rows::Bits(_) => 100.0 / self.counts[0] as f64,
            Rows::Hundredths(_) => 0.01 / self.counts[0] as f64,
            Rows::Parts(_) => 1.0,
        }
    }

    fn gap(&self, one: usize, other: usize) -> Gap {
        let squares = match &self.rows {
            Rows::Bits(bits) => {
                let words = self.videos.div_ceil(BITS);
                let differing = row(bits, words, one).iter().zip(row(bits, words, other));
                f64::from(differing.map(|(one, other)| (one ^ other).count_ones()).sum::<u32>())
            }
            Rows::Hundredths(hundredths) => {
                let square = |(one, other): (&i16, &i16)| {
                    let difference = i32::from(one - other);
                    difference * difference
                };
                let one = row(hundredths, self.videos, one).chunks(SUMMED);
                let other = row(hundredths, self.videos, other).chunks(SUMMED);
                let sums = one.zip(other).map(|(one, other)| one.iter().zip(other).map(square).sum::<i32>());
                sums.map(f64::from).sum()
            }
            Rows::Parts(parts) => {
                squared_distance(row(parts, self.videos, one), row(parts, self.videos, other))
            }
        };
        Gap { sum: self.sums[one] - self.sums[other], squares }
    }

    /// The standard error of a difference, in the column's unit.
    fn error(&self, gap: Gap) -> f64 {
        let videos = self.videos as f64;
        let scatter = (videos * gap.squares - gap.sum * gap.sum) / (videos - 1.0);
        self.scale() * scatter.max(0.0).sqrt()
    }
}

fn row<T>(rows: &[T], width: usize, entry: usize) -> &[T] {
    &rows[entry * width..(entry + 1) * width]
}

/// In several partial sums, since one would wait for each addition before the next.
fn squared_distance(one: &[f64], other: &[f64]) -> f64 {
    let (ones, ones_left) = one.as_chunks::<LANES>();
    let (others, others_left) = other.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (one, other) in ones.iter().zip(others) {
        for lane in 0..LANES {
            let difference = one[lane] - other[lane];
            sums[lane] += difference * difference;
        }
    }
    let left = ones_left.iter().zip(others_left).map(|(one, other)| (one - other) * (one - other));
    sums.iter().sum::<f64>() + left.sum::<f64>()
}
