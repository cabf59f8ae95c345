//! What the ledger keeps of failed calls to the judge.

use secchi::domain::question::Split;
use secchi::store::StoreError;
use secchi::store::failures::{FailureRow, load_failures, note_failures, reset_calls};
use secchi::store::releases::find_active_release;
use secchi::store::scores::Under;

use crate::support::{NOON_MS, Options, Secchi, metadata};

#[tokio::test(flavor = "multi_thread")]
async fn failed_calls_are_summed_and_the_last_reason_stands() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let submission = secchi.scored(&team, &metadata("Reef-8B"), "random.jsonl").await;
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let (id, configuration) = (text(&submission["id"]), text(&submission["judge"]["configuration"]));
    let active: Result<_, StoreError> =
        secchi.running.evaluation.store.read(|connection| find_active_release(connection, Split::Test)).await;
    let under = Under::new(&active.unwrap().unwrap().id, &configuration);
    let row = |question: &str, reason: &str, at_ms: i64| FailureRow {
        submission_id: id.clone(),
        release_id: under.release_id.clone(),
        configuration_id: configuration.clone(),
        question_id: question.into(),
        key: "k".into(),
        reason: reason.into(),
        detail: format!("{reason}, three tries"),
        calls: 1,
        first_failed_at_ms: at_ms,
        last_failed_at_ms: at_ms,
    };
    let rows =
        [row("b", "refused", NOON_MS), row("a", "refused", NOON_MS), row("b", "malformed", NOON_MS + 5)];
    let (submission_id, of) = (id.clone(), under.clone());
    let noted: Result<(Vec<FailureRow>, Vec<FailureRow>), StoreError> = secchi
        .running
        .evaluation
        .store
        .write(move |connection| {
            note_failures(connection, &rows)?;
            let noted = load_failures(connection, &submission_id, &of)?;
            reset_calls(connection, &submission_id)?;
            Ok((noted, load_failures(connection, &submission_id, &of)?))
        })
        .await;
    let (noted, reset) = noted.unwrap();
    let twice = FailureRow { calls: 2, first_failed_at_ms: NOON_MS, ..row("b", "malformed", NOON_MS + 5) };
    assert_eq!(noted, [row("a", "refused", NOON_MS), twice]);
    assert!(reset.iter().all(|row| row.calls == 0 && row.first_failed_at_ms == NOON_MS), "{reset:?}");
}
