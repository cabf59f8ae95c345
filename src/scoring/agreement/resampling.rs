//! What is known of an agreement: measures with 95 % intervals from resampled videos, the judge's bias by band of
//! scores, and the difference between two judges of the same items. Knows no single measure.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use super::super::intervals::{RESAMPLES, TAILS, draw, quantile};
use super::weighted::quadratic_kappa;
use super::{Measure, POINTS, Prepared, RatedItem, mean, measures, point};

/// A measure with its interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct Estimate {
    /// Its value; null where it is not known: of constant ratings nothing can be said.
    pub value: Option<f64>,
    /// The bounds of its 95 % interval over videos; null where there are none.
    pub ci95: Option<[f64; 2]>,
}

/// The judge's bias where people's mean, rounded half up, is one point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct Band {
    /// The point, 0 to 5.
    pub point: u8,
    /// Items that both have scored.
    pub items: usize,
    /// The mean of the judge's score minus people's mean.
    pub bias: Estimate,
}

/// How far a judge agrees with people on some items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct Agreement {
    /// Items that people have rated.
    pub items: usize,
    /// Of these, items that the judge has scored.
    pub judged: usize,
    /// People's ratings.
    pub ratings: usize,
    /// People who rated.
    pub raters: usize,
    /// Videos that the items are about.
    pub videos: usize,
    /// Every measure by name.
    pub measures: BTreeMap<Measure, Estimate>,
    /// The judge's bias by band.
    pub bias_by_band: Vec<Band>,
    /// Items by people's mean (row) and the judge's score (column), both rounded half up to 0 to 5.
    pub confusion: [[usize; POINTS]; POINTS],
}

/// Works out every measure with its interval; the same seed gives the same digits.
pub fn agreement(seed: [u8; 32], items: &[RatedItem]) -> Agreement {
    let prepared: Vec<Prepared> = items.iter().map(Prepared::new).collect();
    let all: Vec<&Prepared> = prepared.iter().collect();
    let mut samples: Vec<Vec<f64>> = vec![Vec::new(); Measure::COUNT + POINTS];
    let videos: Vec<usize> = all.iter().map(|item| item.video).collect();
    resample(seed, &videos, |places| {
        let sample: Vec<&Prepared> = places.iter().map(|place| all[*place]).collect();
        let values = measures(&sample).into_iter().chain(biases(&sample).map(|(_, bias)| bias));
        values.enumerate().for_each(|(place, value)| samples[place].extend(value));
    });
    let mut intervals = samples.into_iter().map(interval);
    let estimate = |(measure, value): (Measure, Option<f64>), ci95: Option<[f64; 2]>| {
        // Where all items give no value, resamples of some of them say nothing either.
        let ci95 = ci95.filter(|_| measure.has_interval() && value.is_some());
        (measure, Estimate { value, ci95 })
    };
    let values = Measure::ALL.iter().copied().zip(measures(&all));
    let measures = values.zip(intervals.by_ref()).map(|(value, ci95)| estimate(value, ci95)).collect();
    let bands = biases(&all).into_iter().zip(intervals).enumerate().map(|(point, ((items, value), ci95))| {
        Band { point: point as u8, items, bias: Estimate { value, ci95: ci95.filter(|_| value.is_some()) } }
    });
    let count = |mut numbers: Vec<usize>| {
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len()
    };
    Agreement {
        items: items.len(),
        judged: items.iter().filter(|item| item.judge.is_some()).count(),
        ratings: items.iter().map(|item| item.ratings.len()).sum(),
        raters: count(items.iter().flat_map(|item| item.ratings.iter().map(|(rater, _)| *rater)).collect()),
        videos: count(items.iter().map(|item| item.video).collect()),
        measures,
        bias_by_band: bands.collect(),
        confusion: confusion(&all),
    }
}

/// Items by people's mean (row) and the judge's score (column), both rounded half up.
fn confusion(items: &[&Prepared]) -> [[usize; POINTS]; POINTS] {
    let mut table = [[0; POINTS]; POINTS];
    for (human, judge) in items.iter().filter_map(|item| item.points) {
        table[human][judge] += 1;
    }
    table
}

/// How many items each band has, and the judge's bias there.
fn biases(items: &[&Prepared]) -> [(usize, Option<f64>); POINTS] {
    let mut sums = [(0_usize, 0.0); POINTS];
    for ((human, judge), (band, _)) in items.iter().filter_map(|item| item.both.zip(item.points)) {
        let (count, sum) = &mut sums[band];
        *count += 1;
        *sum += judge - human;
    }
    sums.map(|(count, sum)| (count, (count > 0).then(|| sum / count as f64)))
}

/// What two judges of the same items differ by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct Compared {
    /// Items that both judges and people have scored.
    pub items: usize,
    /// The first judge's quadratic-weighted kappa with people's means.
    pub first: Option<f64>,
    /// The second judge's.
    pub second: Option<f64>,
    /// The first's minus the second's, with its interval over the same resampled videos.
    pub difference: Estimate,
}

impl Compared {
    /// Whether the first judge agrees less than the second, and chance does not explain it.
    pub fn is_worse(&self) -> bool {
        self.difference.ci95.is_some_and(|[_, high]| high < 0.0)
    }
}

/// Compares two judges on the same items, given in the same order; items that one of them has not scored are left out.
pub fn compare_agreement(seed: [u8; 32], first: &[RatedItem], second: &[RatedItem]) -> Compared {
    let (mut videos, mut points) = (Vec::new(), Vec::new());
    for (one, other) in first.iter().zip(second) {
        if let (Some((human, first)), Some((_, second))) = (one.both(), other.both()) {
            videos.push(one.video);
            points.push([(point(human), point(first)), (point(human), point(second))]);
        }
    }
    let kappas = |places: &[usize]| {
        [0, 1].map(|judge| quadratic_kappa(places.iter().map(|place| points[*place][judge])))
    };
    let minus = |[one, other]: [Option<f64>; 2]| Some(one? - other?);
    let all: Vec<usize> = (0..points.len()).collect();
    let [one, other] = kappas(&all);
    let mut differences = Vec::new();
    resample(seed, &videos, |places| differences.extend(minus(kappas(places))));
    let value = minus([one, other]);
    let ci95 = interval(differences).filter(|_| value.is_some());
    Compared { items: points.len(), first: one, second: other, difference: Estimate { value, ci95 } }
}

/// The mean of a judge's scores and its quadratic-weighted kappa with people's means, without intervals.
pub fn summary(items: &[RatedItem]) -> (Option<f64>, Option<f64>) {
    let both = items.iter().filter_map(RatedItem::both);
    let kappa = quadratic_kappa(both.map(|(human, judge)| (point(human), point(judge))));
    (mean(items.iter().filter_map(|item| item.judge)), kappa)
}

/// Hands over the places of items, whose videos are given, for each of 2,000 draws of as many videos.
fn resample(seed: [u8; 32], videos: &[usize], mut each: impl FnMut(&[usize])) {
    let mut by_video = BTreeMap::<usize, Vec<usize>>::new();
    for (place, video) in videos.iter().enumerate() {
        by_video.entry(*video).or_default().push(place);
    }
    let by_video: Vec<Vec<usize>> = by_video.into_values().collect();
    if by_video.is_empty() {
        return;
    }
    let mut random = ChaCha8Rng::from_seed(seed);
    let mut places = Vec::with_capacity(videos.len());
    for _ in 0..RESAMPLES {
        places.clear();
        for _ in 0..by_video.len() {
            places.extend(&by_video[draw(&mut random, by_video.len())]);
        }
        each(&places);
    }
}

/// The percentile interval of what the resamples gave; none where fewer than half of them gave anything.
fn interval(mut values: Vec<f64>) -> Option<[f64; 2]> {
    values.sort_unstable_by(f64::total_cmp);
    (values.len() * 2 > RESAMPLES).then(|| TAILS.map(|share| quantile(&values, share)))
}
