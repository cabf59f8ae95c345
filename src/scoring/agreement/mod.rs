//! How far a judge agrees with people, and people with each other: from ratings of the same items to measures with
//! their intervals over videos. Knows nothing of who rated or what was rated. What is not known is none, never 0.

mod correlation;
mod resampling;
#[cfg(test)]
mod tests;
mod weighted;

use super::decimals::rounded;
use crate::text_enum;
use correlation::{kendall_tau_b, pearson, spearman, spearman_p};
use weighted::{Coincidences, Level, quadratic_kappa};

pub use resampling::{Agreement, Band, Compared, Estimate, agreement, compare_agreement, summary};

/// The points that a rating may have are 0 to 5.
pub const POINTS: usize = 6;

/// One rated item.
#[derive(Debug, Clone, PartialEq)]
pub struct RatedItem {
    /// Number of its video, by which items are resampled.
    pub video: usize,
    /// Who rated it, by number, and how, from 0 to 5; a rater gives an item one rating or none.
    pub ratings: Vec<(usize, u8)>,
    /// The judge's score, from 0 to 5; none where it gave none.
    pub judge: Option<f64>,
}

impl RatedItem {
    /// The mean of its ratings; none without one.
    pub fn human(&self) -> Option<f64> {
        mean(self.ratings.iter().map(|(_, rating)| f64::from(*rating)))
    }

    /// Both means, where there are both.
    fn both(&self) -> Option<(f64, f64)> {
        Some((self.human()?, self.judge?))
    }
}

text_enum! {
    /// What is said of ratings and a judge. Those with `human` in front or `krippendorff` concern people alone; those
    /// with `leave_one_out` compare each rating with the mean of the item's others, those with `pairwise` with each of
    /// them.
    Measure {
        HumanMean = "human_mean",
        HumanSd = "human_sd_of_item_means",
        JudgeMean = "judge_mean",
        AbsoluteDifference = "mean_absolute_difference",
        Bias = "mean_difference_judge_minus_human",
        SpearmanRho = "spearman_rho",
        SpearmanP = "spearman_p",
        KendallTauB = "kendall_tau_b",
        PearsonR = "pearson_r",
        KappaOfMeans = "quadratic_weighted_kappa_item_mean_vs_judge",
        KappaOfRatings = "quadratic_weighted_kappa_each_rating_vs_judge",
        /// Share of items where both, rounded, are equal.
        Exact = "exact_agreement",
        /// Share of items where both, rounded, differ by a point at most.
        WithinOne = "agreement_within_one_point",
        AlphaOrdinal = "krippendorff_alpha_ordinal",
        AlphaInterval = "krippendorff_alpha_interval",
        AlphaNominal = "krippendorff_alpha_nominal",
        HumanLeaveOneOutSpearman = "human_leave_one_out_spearman_rho",
        HumanLeaveOneOutKappa = "human_leave_one_out_quadratic_weighted_kappa",
        HumanLeaveOneOutDifference = "human_leave_one_out_mean_absolute_difference",
        HumanPairwiseKappa = "human_pairwise_quadratic_weighted_kappa",
        HumanPairwiseDifference = "human_pairwise_mean_absolute_difference",
    }
}

impl Measure {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Whether it has an interval: a p value has none.
    fn has_interval(self) -> bool {
        self != Measure::SpearmanP
    }
}

/// What the measures need to know of an item, worked out once for all resamples.
struct Prepared {
    video: usize,
    human: Option<f64>,
    /// People's mean and the judge's score, where there are both.
    both: Option<(f64, f64)>,
    /// The same, rounded.
    points: Option<(usize, usize)>,
    /// Each rating with the judge's score, rounded.
    each: Vec<(usize, usize)>,
    /// Each rating with the mean of the item's others.
    left_out: Vec<(f64, f64)>,
    /// The same, rounded.
    left_out_points: Vec<(usize, usize)>,
    /// Each rating with each other, in both orders.
    pairs: Vec<(usize, usize)>,
    /// How many ratings it has.
    ratings: usize,
}

impl Prepared {
    fn new(item: &RatedItem) -> Prepared {
        let ratings: Vec<u8> = item.ratings.iter().map(|(_, rating)| *rating).collect();
        let sum: u32 = ratings.iter().copied().map(u32::from).sum();
        let with_others = ratings.iter().filter(|_| ratings.len() > 1);
        let left_out: Vec<(f64, f64)> = with_others
            .map(|rating| {
                let others = f64::from(sum - u32::from(*rating)) / (ratings.len() - 1) as f64;
                (f64::from(*rating), others)
            })
            .collect();
        let rounded = |(one, other): &(f64, f64)| (point(*one), point(*other));
        let judge = item.judge.map(point);
        Prepared {
            video: item.video,
            human: item.human(),
            both: item.both(),
            points: item.both().as_ref().map(rounded),
            each: ratings.iter().filter_map(|rating| Some((usize::from(*rating), judge?))).collect(),
            left_out_points: left_out.iter().map(rounded).collect(),
            left_out,
            pairs: rating_pairs(&ratings),
            ratings: ratings.len(),
        }
    }
}

fn rating_pairs(ratings: &[u8]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (place, one) in ratings.iter().enumerate() {
        let others = ratings.iter().enumerate().filter(|(other, _)| *other != place);
        pairs.extend(others.map(|(_, other)| (usize::from(*one), usize::from(*other))));
    }
    pairs
}

/// Every measure of these items, in the order of [`Measure::ALL`].
fn measures(items: &[&Prepared]) -> [Option<f64>; Measure::COUNT] {
    let humans: Vec<f64> = items.iter().filter_map(|item| item.human).collect();
    let (human, judge): (Vec<f64>, Vec<f64>) = items.iter().filter_map(|item| item.both).unzip();
    let pairs = || human.iter().zip(&judge);
    let points = || items.iter().filter_map(|item| item.points);
    let (one, others): (Vec<f64>, Vec<f64>) = items.iter().flat_map(|item| &item.left_out).copied().unzip();
    let two = || items.iter().flat_map(|item| &item.pairs).copied();
    let rho = spearman(&human, &judge);
    let share =
        |most: usize| mean(points().map(|(one, other)| f64::from(u8::from(one.abs_diff(other) <= most))));
    let coincidences = Coincidences::of(items);
    let value = |measure: Measure| match measure {
        Measure::HumanMean => mean(humans.iter().copied()),
        Measure::HumanSd => deviation(&humans),
        Measure::JudgeMean => mean(judge.iter().copied()),
        Measure::AbsoluteDifference => mean(pairs().map(|(human, judge)| (human - judge).abs())),
        Measure::Bias => mean(pairs().map(|(human, judge)| judge - human)),
        Measure::SpearmanRho => rho,
        Measure::SpearmanP => spearman_p(rho?, human.len()),
        Measure::KendallTauB => kendall_tau_b(&human, &judge),
        Measure::PearsonR => pearson(&human, &judge),
        Measure::KappaOfMeans => quadratic_kappa(points()),
        Measure::KappaOfRatings => quadratic_kappa(items.iter().flat_map(|item| &item.each).copied()),
        Measure::Exact => share(0),
        Measure::WithinOne => share(1),
        Measure::AlphaOrdinal => coincidences.alpha(Level::Ordinal),
        Measure::AlphaInterval => coincidences.alpha(Level::Interval),
        Measure::AlphaNominal => coincidences.alpha(Level::Nominal),
        Measure::HumanLeaveOneOutSpearman => spearman(&one, &others),
        Measure::HumanLeaveOneOutKappa => {
            quadratic_kappa(items.iter().flat_map(|item| &item.left_out_points).copied())
        }
        Measure::HumanLeaveOneOutDifference => {
            mean(one.iter().zip(&others).map(|(one, others)| (one - others).abs()))
        }
        Measure::HumanPairwiseKappa => quadratic_kappa(two()),
        Measure::HumanPairwiseDifference => mean(two().map(|(one, other)| one.abs_diff(other) as f64)),
    };
    std::array::from_fn(|place| value(Measure::ALL[place]))
}

/// The point that a score is nearest to, half up.
pub fn point(score: f64) -> usize {
    (rounded(score, 0).max(0.0) as usize).min(POINTS - 1)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// The standard deviation of a sample; none of fewer than two values.
fn deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values.iter().copied())?;
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}
