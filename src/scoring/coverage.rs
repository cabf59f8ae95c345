//! How often the 95 % intervals hold the truth, at sizes of a val split, of one camera's captions and of the test split,
//! from models that are as good as a coin to those that are nearly always right.

use std::collections::HashMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use statrs::distribution::{Binomial, Discrete as _};

use super::intervals::{Tally, over_videos, seed, wilson};

const SIZES: [u64; 3] = [30, 245, 500];
const SHARES: [f64; 4] = [0.5, 0.9, 0.967, 0.998];

/// The chance that so many of `n` questions are right for which the interval holds the true share.
fn exactly(n: u64, share: f64, mut holds: impl FnMut(u64) -> bool) -> f64 {
    let binomial = Binomial::new(share, n).unwrap();
    (0..=n)
        .map(|hits| (binomial.pmf(hits), hits))
        .filter(|(_, hits)| holds(*hits))
        .map(|(chance, _)| chance)
        .sum()
}

#[test]
fn wilsons_interval_holds_the_truth_as_often_as_it_says() {
    for n in SIZES {
        for share in SHARES {
            let covered = exactly(n, share, |hits| {
                let [low, high] = wilson(hits, n);
                low <= 100.0 * share && 100.0 * share <= high
            });
            println!("wilson {n} {share}: {covered:.4}");
            // Near the end of the scale one count decides: no run of counts up to all right has a chance between 0.92 and 0.98
            // there (0.913, then 0.986 at 245; 0.9199, then 0.981 at 500), so that no interval could do better.
            let least = if share > 0.99 { 0.91 } else { 0.92 };
            assert!((least..=0.98).contains(&covered), "{n} questions at {share}: {covered}");
        }
    }
}

/// A number below 1.
fn chance(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Whether the bootstrap over these videos, which knows nothing else, holds a value.
fn holds<const C: usize>(videos: &[Tally<C>], value: f64, top: f64) -> bool {
    // Where every mean has its share of the videos alone, a sum of hundredths can be off by its last digit.
    over_videos(seed("coverage", "c"), videos, top)
        .is_some_and(|[low, high]| low <= value + 1e-9 && value - 1e-9 <= high)
}

/// How often the bootstrap holds the hardest mean, whose answers have all points or none. Its interval depends on how many
/// have all, and its bounds rise with that, so that each is found by halving.
fn of_all_or_none(n: u64, share: f64) -> f64 {
    let mut intervals: HashMap<u64, [f64; 2]> = HashMap::new();
    let mut interval = |hits: u64| {
        *intervals.entry(hits).or_insert_with(|| {
            let all = |video| Tally { sums: [if video < hits { 500 } else { 0 }], counts: [1] };
            over_videos(seed("coverage", "c"), &(0..n).map(all).collect::<Vec<_>>(), 5.0).unwrap()
        })
    };
    let mut first = |reaches: &dyn Fn([f64; 2]) -> bool| {
        let (mut below, mut at) = (0, n + 1);
        while below < at {
            let middle = below.midpoint(at);
            if reaches(interval(middle)) { at = middle } else { below = middle + 1 }
        }
        at
    };
    let truth = 5.0 * share;
    let (lowest, beyond) = (first(&|[_, high]| high >= truth), first(&|[low, _]| low > truth));
    exactly(n, share, |hits| lowest <= hits && hits < beyond)
}

/// In what part of `rounds` the bootstrap holds the truth over videos that `draw` makes.
fn simulated<const C: usize>(
    rounds: u64,
    n: u64,
    (truth, top): (f64, f64),
    draw: impl Fn(&mut ChaCha8Rng) -> Tally<C>,
) -> f64 {
    let round = |round: &u64| {
        let mut random = ChaCha8Rng::seed_from_u64(*round);
        holds(&(0..n).map(|_| draw(&mut random)).collect::<Vec<_>>(), truth, top)
    };
    (0..rounds).filter(round).count() as f64 / rounds as f64
}

/// A criterion whose five points are won one by one.
fn points(random: &mut ChaCha8Rng, share: f64) -> Tally<1> {
    let points = (0..5).filter(|_| chance(random) < share).count() as u64;
    Tally { sums: [100 * points], counts: [1] }
}

/// A letter of each of the seven types.
fn letters(random: &mut ChaCha8Rng, share: f64) -> Tally<7> {
    Tally { sums: std::array::from_fn(|_| if chance(random) < share { 10_000 } else { 0 }), counts: [1; 7] }
}

/// The parts of simulations in which the truth is held: of a mean whose answers have all points or none, of one whose points
/// are won one by one, and of `MCQ`.
fn covered(n: u64, share: f64, rounds: u64) -> [f64; 3] {
    let of_points = simulated(rounds, n, (5.0 * share, 5.0), |random| points(random, share));
    let of_letters = simulated(rounds, n, (100.0 * share, 100.0), |random| letters(random, share));
    let covered = [of_all_or_none(n, share), of_points, of_letters];
    println!(
        "{n} at {share}: all or none {:.3}, points {:.3}, MCQ {:.3}",
        covered[0], covered[1], covered[2]
    );
    covered
}

/// Asserts that the interval holds the truth as often as it should, give or take two standard errors of a simulation.
#[track_caller]
fn assert_covered(n: u64, share: f64, rounds: u64, expect: impl Fn(f64) -> bool) {
    let give = 2.0 * (0.95 * 0.05 / rounds as f64).sqrt();
    let losses = n as f64 * (1.0 - share);
    let [all_or_none, points, letters] = covered(n, share, rounds);
    // Videos that are all alike have an interval that holds every likely truth, also where one in twenty should miss it.
    let alike = share.powf(n as f64);
    for (covered, losses, give, alike) in [
        (all_or_none, losses, 0.0, alike),
        (points, 5.0 * losses, give, alike.powi(5)),
        (letters, 7.0 * losses, give, alike.powi(7)),
    ] {
        let holds = (0.92 - give..=0.98 + give + alike).contains(&covered);
        assert!(holds || !expect(losses), "{n} videos at {share}: {covered}");
    }
}

#[test]
fn the_bootstrap_holds_the_truth_of_a_small_split() {
    for share in [0.5, 0.9] {
        assert_covered(30, share, 100, |_| true);
    }
}

#[test]
#[ignore = "minutes; cargo test --release --lib coverage -- --ignored"]
fn the_bootstrap_holds_the_truth_where_answers_differ() {
    for n in SIZES {
        for share in SHARES {
            // Where nearly all answers have all points, few samples show that they differ: it holds the truth too seldom.
            assert_covered(n, share, 600, |losses| losses >= 15.0);
        }
    }
}
