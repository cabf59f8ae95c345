//! The step from one release to the corrected one while others read, and through a kill.

use serde_json::{Value, json};

use secchi::domain::actor::Actor;
use secchi::domain::question::Split;
use secchi::evaluation::activating::make_active;

use crate::corrections::{CORRECTED, NOTICE, calls_needed, correct, corrected, dataset, import};
use crate::process::{Process, until};
use crate::staging::{BOARD, assert_whole_steps, board, board_of};
use crate::stand_in::StandIn;

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_the_board_while_a_release_is_corrected_never_sees_rows_of_two() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = board_of(&judge, "a").await;
    import(&secchi, &corrected()).await;
    correct(&secchi.ground, &[]);
    secchi.drain().await;
    let store = &secchi.running.evaluation.store;
    let switch = async |release: &str| {
        let now_ms = secchi.clock.now_ms();
        make_active(store, &Actor::command_line(), Split::Test, release.into(), now_ms).await.unwrap();
    };
    assert_whole_steps(&secchi, "/release", [CORRECTED, "sample"], switch).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_a_correction_is_applied_loses_nothing() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = board_of(&judge, "a").await;
    import(&secchi, &corrected()).await;
    let before = board(&secchi, BOARD).await.0;
    let ground = secchi.stop().await;
    let flags = judge.flags_of("a", 2);
    let (calls, needed) = (judge.calls(), calls_needed());
    judge.set_latency_ms(150);
    let mut server = Process::serve(&ground, "127.0.0.1:0", &flags);
    correct(&ground, &[]);
    until("scoring", async || judge.calls() > calls + 2).await;
    server.kill();
    let server = Process::serve(&ground, &server.metrics, &flags);
    let read = async || {
        let response = reqwest::get(format!("{}{BOARD}", server.base)).await.unwrap();
        response.text().await.unwrap()
    };
    assert_eq!(read().await, before);
    let applied = dataset(&ground, &["correct", CORRECTED, "--apply", "--notice", NOTICE, "--json"]).json();
    assert_eq!(
        (&applied["applied"], &applied["correction"]["progress"]["complete"]),
        (&json!(true), &json!(5))
    );
    // Of each submission in hand, the calls that were under way and the replies that were not stored yet.
    assert!(judge.repeated() <= 4 * 2 * 2, "{} calls were repeated", judge.repeated());
    assert_eq!(judge.calls() - judge.repeated(), calls + needed);
    let after: Value = serde_json::from_str(&read().await).unwrap();
    assert_eq!((&after["release"], &after["correction"]["notice"]), (&json!(CORRECTED), &json!(NOTICE)));
}
