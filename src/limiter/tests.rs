//! The rules of the flow, step by step, and the gate's lines.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::Gate;
use super::flow::{Effect, Ended, Flow, FlowLimits, Told, Turn};
use crate::domain::line::Line;

const START_MS: i64 = 1_000_000;

fn limits(concurrency: u32, rpm: Option<u32>, tpm: Option<u32>) -> FlowLimits {
    FlowLimits { concurrency, requests_per_minute: rpm, tokens_per_minute: tpm }
}

fn failure(overload: bool) -> Effect {
    Effect::Failure { overload, is_news: true, cause: "server".into(), detail: "d".into() }
}

fn ended(effect: Effect, started_at_ms: i64, is_probe: bool) -> Ended {
    Ended { reserved_tokens: 0, used_tokens: None, started_at_ms, is_probe, effect, told: Told::default() }
}

const GO: Turn = Turn::Go { is_probe: false };

/// Lets one call begin and end at `now_ms`.
fn call(flow: &mut Flow, limits: &FlowLimits, effect: Effect, now_ms: i64) -> Turn {
    let turn = flow.take(limits, ("a", 0), 0, now_ms);
    if let Turn::Go { is_probe } = turn {
        flow.settle(limits, ("a", 0), &ended(effect, now_ms, is_probe), now_ms);
    }
    turn
}

#[test]
fn no_more_calls_begin_than_there_are_places_over_all_processes() {
    let (mut flow, limits) = (Flow::default(), limits(3, None, None));
    assert_eq!(flow.take(&limits, ("a", 0), 0, START_MS), GO);
    assert_eq!(flow.take(&limits, ("a", 1), 0, START_MS), GO);
    assert_eq!(flow.take(&limits, ("b", 0), 0, START_MS), GO);
    assert_eq!(flow.take(&limits, ("b", 1), 0, START_MS), Turn::Wait(None));
    // Process `a` was killed: after as long as a lease its places are free.
    flow.hear("b", 1, START_MS + 14_000);
    assert_eq!(flow.take(&limits, ("b", 1), 0, START_MS + 15_000), GO);
    assert_eq!(flow.take(&limits, ("b", 2), 0, START_MS + 15_000), GO);
    assert_eq!(flow.take(&limits, ("b", 3), 0, START_MS + 15_000), Turn::Wait(None));
}

#[test]
fn what_a_predecessor_of_the_same_name_held_is_forgotten() {
    let (mut flow, limits) = (Flow::default(), limits(1, None, None));
    assert_eq!(flow.take(&limits, ("a", 0), 0, START_MS), GO);
    flow.hear("a", 0, START_MS + 1);
    assert_eq!(flow.take(&limits, ("a", 0), 0, START_MS + 1), GO);
}

#[test]
fn overload_halves_the_places_once_a_round_and_successes_bring_them_back_by_steps() {
    let (mut flow, limits) = (Flow::default(), limits(16, None, None));
    for _ in 0..5 {
        // All began before the first cut: they say one thing.
        flow.settle(&limits, ("a", 0), &ended(failure(true), START_MS, false), START_MS + 10);
    }
    assert_eq!(flow.places(&limits), 8);
    flow.settle(&limits, ("a", 0), &ended(failure(true), START_MS + 20, false), START_MS + 30);
    assert_eq!(flow.places(&limits), 4);
    for (successes, places) in [(4, 4), (1, 5), (5, 6), (200, 16)] {
        for _ in 0..successes {
            flow.settle(&limits, ("a", 0), &ended(Effect::Success, START_MS + 40, false), START_MS + 50);
        }
        assert_eq!(flow.places(&limits), places, "{successes}");
    }
    flow.settle(&limits, ("a", 0), &ended(failure(false), START_MS + 60, false), START_MS + 70);
    assert_eq!(flow.places(&limits), 16, "a fault that is no overload cuts nothing");
}

#[test]
fn twenty_failures_in_a_row_open_the_circuit_and_one_success_between_them_does_not() {
    let (mut flow, limits) = (Flow::default(), limits(64, None, None));
    for _ in 0..19 {
        assert_eq!(call(&mut flow, &limits, failure(false), START_MS), GO);
    }
    call(&mut flow, &limits, Effect::Success, START_MS);
    for _ in 0..20 {
        assert_eq!(call(&mut flow, &limits, failure(false), START_MS), GO);
    }
    assert!(matches!(call(&mut flow, &limits, Effect::Success, START_MS), Turn::Closed(_)));
}

#[test]
fn what_is_known_to_fail_opens_no_circuit_however_often_it_fails_again() {
    let (mut flow, limits) = (Flow::default(), limits(8, None, None));
    let again =
        || Effect::Failure { overload: false, is_news: false, cause: "server".into(), detail: "d".into() };
    for _ in 0..1_000 {
        assert_eq!(call(&mut flow, &limits, again(), START_MS), GO);
    }
}

#[test]
fn a_noisy_judge_is_still_a_judge() {
    let (mut flow, limits) = (Flow::default(), limits(8, None, None));
    for round in 0..1_000 {
        let effect = if round % 20 == 0 { Effect::Success } else { failure(false) };
        assert_eq!(call(&mut flow, &limits, effect, START_MS), GO, "{round}");
    }
}

#[test]
fn one_probe_at_a_time_goes_out_ever_later_and_closes_the_circuit_when_it_succeeds() {
    let (mut flow, limits) = (Flow::default(), limits(8, None, None));
    let stop = || Effect::Stop { cause: "money".into(), detail: "d".into() };
    call(&mut flow, &limits, stop(), START_MS);
    let mut now_ms = START_MS;
    for wait_ms in [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000] {
        let refused = flow.take(&limits, ("b", 0), 0, now_ms + wait_ms - 1);
        assert!(matches!(refused, Turn::Closed(closed) if closed.retry_at_ms == now_ms + wait_ms));
        now_ms += wait_ms;
        assert_eq!(flow.take(&limits, ("a", 0), 0, now_ms), Turn::Go { is_probe: true });
        assert!(matches!(flow.take(&limits, ("b", 0), 0, now_ms), Turn::Closed(_)));
        flow.settle(&limits, ("a", 0), &ended(stop(), now_ms, true), now_ms);
    }
    assert_eq!(call(&mut flow, &limits, Effect::Success, now_ms + 15_000), Turn::Go { is_probe: true });
    assert_eq!(call(&mut flow, &limits, Effect::Success, now_ms + 15_000), GO);
}

#[test]
fn who_comes_while_a_probe_is_under_way_rests_for_a_while() {
    let (mut flow, limits) = (Flow::default(), limits(4, None, None));
    for now_ms in 1..=20 {
        call(&mut flow, &limits, failure(false), now_ms);
    }
    assert_eq!(flow.take(&limits, ("a", 0), 1, 2_000), Turn::Go { is_probe: true });
    let refused = flow.take(&limits, ("b", 0), 1, 10_000);
    assert!(matches!(refused, Turn::Closed(closed) if closed.retry_at_ms > 10_000));
    // A probe that is given up says nothing, and makes nobody wait.
    flow.settle(&limits, ("a", 0), &ended(Effect::Abandoned, 2_000, true), 10_001);
    assert_eq!(flow.take(&limits, ("b", 0), 1, 10_002), Turn::Go { is_probe: true });
}

#[test]
fn the_probe_of_a_process_that_was_killed_lapses() {
    let (mut flow, limits) = (Flow::default(), limits(8, None, None));
    let stop = Effect::Stop { cause: "key".into(), detail: "d".into() };
    call(&mut flow, &limits, stop, START_MS);
    assert_eq!(flow.take(&limits, ("a", 0), 0, START_MS + 2_000), Turn::Go { is_probe: true });
    assert!(matches!(flow.take(&limits, ("b", 0), 0, START_MS + 16_000), Turn::Closed(_)));
    assert_eq!(flow.take(&limits, ("b", 0), 0, START_MS + 17_000), Turn::Go { is_probe: true });
}

#[test]
fn a_success_that_began_before_the_trouble_does_not_close_the_circuit() {
    let (mut flow, limits) = (Flow::default(), limits(8, None, None));
    call(&mut flow, &limits, Effect::Stop { cause: "money".into(), detail: "d".into() }, START_MS);
    flow.settle(&limits, ("a", 0), &ended(Effect::Success, START_MS - 1, false), START_MS + 5);
    assert!(flow.closed().is_some());
    flow.recover(START_MS);
    assert!(flow.closed().is_some(), "checked before it opened");
    flow.recover(START_MS + 1);
    assert_eq!(call(&mut flow, &limits, Effect::Success, START_MS + 6), GO);
}

#[test]
fn a_told_wait_holds_for_everybody_from_the_second_in_a_row() {
    let (mut flow, limits) = (Flow::default(), limits(8, None, None));
    let told = |flow: &mut Flow| {
        let told = Told { wait_ms: Some(5_000), ..Told::default() };
        flow.settle(&limits, ("a", 0), &Ended { told, ..ended(failure(true), START_MS, false) }, START_MS);
    };
    told(&mut flow);
    assert_eq!(flow.take(&limits, ("a", 0), 0, START_MS), GO);
    told(&mut flow);
    assert_eq!(flow.take(&limits, ("a", 0), 0, START_MS + 1_000), Turn::Wait(Some(4_000)));
    assert_eq!(flow.take(&limits, ("a", 0), 0, START_MS + 5_000), GO);
}

#[test]
fn tokens_are_set_aside_whole_and_given_back_when_the_call_ends() {
    let (mut flow, limits) = (Flow::default(), limits(8, None, Some(6_000)));
    assert_eq!(flow.take(&limits, ("a", 0), 6_001, START_MS), Turn::TooLarge);
    assert_eq!(flow.take(&limits, ("a", 0), 5_000, START_MS), GO);
    assert_eq!(flow.take(&limits, ("a", 1), 5_000, START_MS), Turn::Wait(Some(40_000)));
    let call =
        Ended { reserved_tokens: 5_000, used_tokens: Some(1_000), ..ended(Effect::Success, START_MS, false) };
    flow.settle(&limits, ("a", 0), &call, START_MS);
    assert_eq!(flow.take(&limits, ("a", 0), 5_000, START_MS), GO);
    // The server counts otherwise, and it decides.
    let told = Told { tokens: Some(100), ..Told::default() };
    flow.settle(&limits, ("a", 0), &Ended { told, ..call }, START_MS);
    assert_eq!(flow.take(&limits, ("a", 0), 700, START_MS), Turn::Wait(Some(6_000)));
}

proptest! {
    #[test]
    fn in_no_minute_do_more_calls_begin_than_the_limit_allows(
        rpm in 1_u32..600,
        gaps in prop::collection::vec(0_i64..3_000, 1..400),
    ) {
        let (mut flow, limits) = (Flow::default(), limits(1_000, Some(rpm), None));
        let (mut now_ms, mut begun) = (START_MS, Vec::new());
        for gap_ms in gaps {
            now_ms += gap_ms;
            while call(&mut flow, &limits, Effect::Success, now_ms) == GO {
                begun.push(now_ms);
            }
        }
        let burst = (f64::from(rpm) / 60.0).max(1.0);
        for (at, first) in begun.iter().enumerate() {
            for (more, last) in begun[at..].iter().enumerate() {
                let due = burst + f64::from(rpm) * (last - first) as f64 / 60_000.0;
                prop_assert!((more + 1) as f64 <= due + 1e-6, "{} calls in {} ms", more + 1, last - first);
            }
        }
    }

    #[test]
    fn who_waits_as_told_uses_the_limit_to_the_full(rpm in 1_u32..6_000, calls in 2_usize..300) {
        let (mut flow, limits) = (Flow::default(), limits(1_000, Some(rpm), None));
        let (mut now_ms, mut begun) = (START_MS, 0);
        while begun < calls {
            match call(&mut flow, &limits, Effect::Success, now_ms) {
                GO => begun += 1,
                Turn::Wait(Some(wait_ms)) => now_ms += wait_ms,
                other => prop_assert!(false, "{other:?}"),
            }
        }
        let ideal_ms = (calls as f64 - (f64::from(rpm) / 60.0).max(1.0)).max(0.0) * 60_000.0 / f64::from(rpm);
        prop_assert!((now_ms - START_MS) as f64 <= ideal_ms * 1.001 + 2.0, "{} ms, not {ideal_ms}", now_ms - START_MS);
    }
}

#[tokio::test]
async fn who_stands_in_an_earlier_line_goes_first() {
    let gate = Arc::new(Gate::new(limits(1, None, None)));
    let first = gate.enter(Line::Val, 0).await.unwrap();
    let order = Arc::<std::sync::Mutex<Vec<Line>>>::default();
    let mut tasks = tokio::task::JoinSet::new();
    for (waiting, line) in [Line::BackgroundTest, Line::Val, Line::Val, Line::Test].into_iter().enumerate() {
        let (gate, order) = (gate.clone(), order.clone());
        let there = gate.clone();
        tasks.spawn(async move {
            let pass = gate.enter(line, 0).await.unwrap();
            order.lock().unwrap().push(line);
            pass.settle().await;
        });
        while there.waiting() <= waiting {
            tokio::task::yield_now().await;
        }
    }
    first.settle().await;
    while tasks.join_next().await.is_some() {}
    assert_eq!(*order.lock().unwrap(), [Line::Test, Line::Val, Line::Val, Line::BackgroundTest]);
}

#[tokio::test]
async fn a_pass_that_is_dropped_gives_its_place_back() {
    let gate = Arc::new(Gate::new(limits(1, None, None)));
    drop(gate.enter(Line::Test, 0).await.unwrap());
    let again = tokio::time::timeout(Duration::from_secs(10), gate.enter(Line::Test, 0)).await;
    assert!(again.unwrap().is_ok());
}
