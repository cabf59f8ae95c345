//! Who may work on a submission: a lease that was lost or revoked lets no late result through.

use std::sync::{Arc, OnceLock};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::watch;

use secchi::evaluation::Evaluation;
use secchi::evaluation::holding::LEASE_TTL_MS;
use secchi::evaluation::work::{WorkError, work};
use secchi::judge::{Asked, Asking, Item, Judge, ScriptedJudge};
use secchi::store::leases::{self, Lease};
use secchi::store::{Store, StoreError};

use crate::process::until;
use crate::stand_in::StandIn;
use crate::support::{NOON_MS, Options, Secchi, TestTeam, metadata};

/// A judge that does something else first, in the middle of the worker's slice.
struct Meddler {
    meddle: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

impl Judge for Meddler {
    fn judge<'a>(&'a self, _: &'a Item<'a>, _: Asking) -> BoxFuture<'a, Asked> {
        async {
            (self.meddle)().await;
            Asked::free(Ok(ScriptedJudge::verdict([4, 4, 4])))
        }
        .boxed()
    }
}

/// What a meddler works with, once the server runs.
type Late<T> = Arc<OnceLock<T>>;

async fn meddled<T: Clone + Send + Sync + 'static>(
    meddle: impl Fn(T) -> BoxFuture<'static, ()> + Send + Sync + 'static,
) -> (Secchi, TestTeam, Late<T>) {
    let late: Late<T> = Arc::default();
    let judge = Meddler {
        meddle: Box::new({
            let late = late.clone();
            move || meddle(late.get().unwrap().clone())
        }),
    };
    let options = Options {
        given_judge: Some(Arc::new(judge)),
        judge: ["--judge-max-concurrency", "1"].map(str::to_owned).to_vec(),
        ..Options::default()
    };
    let (secchi, team) = Secchi::with_sample(options).await;
    (secchi, team, late)
}

async fn claim(evaluation: &Evaluation, id: &str, owner: &str) -> Option<Lease> {
    let (id, owner, now_ms) = (id.to_owned(), owner.to_owned(), evaluation.clock.now_ms());
    let claimed: Result<Option<Lease>, StoreError> = evaluation
        .store
        .write(move |connection| leases::claim_lease(connection, &id, &owner, now_ms, LEASE_TTL_MS))
        .await;
    claimed.unwrap()
}

async fn view(secchi: &Secchi, team: &TestTeam, id: &str) -> Value {
    secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_last_owner_of_a_lease_gets_through() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "random.jsonl").await;
    let evaluation = &secchi.running.evaluation;
    let first = claim(evaluation, &id, "first").await.unwrap();
    assert_eq!(claim(evaluation, &id, "second").await, None);
    secchi.clock.advance_ms(LEASE_TTL_MS);
    let second = claim(evaluation, &id, "second").await.unwrap();
    assert!(second.epoch > first.epoch);
    let now_ms = NOON_MS + LEASE_TTL_MS;
    let held: Result<[bool; 5], StoreError> = evaluation
        .store
        .write(move |connection| {
            let renewed = leases::renew_lease(connection, &first, now_ms, LEASE_TTL_MS)?;
            let confirmed = leases::confirm_lease(connection, &first)?;
            leases::release_lease(connection, &first)?;
            let still = leases::confirm_lease(connection, &second)?;
            leases::release_lease(connection, &second)?;
            let after = leases::confirm_lease(connection, &second)?;
            // The same owner with an old number is fenced off too.
            let old = Lease { owner: "second".into(), ..first };
            Ok([renewed, confirmed, still, after, leases::confirm_lease(connection, &old)?])
        })
        .await;
    assert_eq!(held.unwrap(), [false, false, true, false, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_lease_was_taken_over_in_mid_slice_writes_nothing_more() {
    // At the first call the lease lapses and another process takes it.
    let (secchi, team, late) = meddled(|(evaluation, id): (Arc<Evaluation>, String)| {
        async move {
            evaluation.clock.advance_ms(LEASE_TTL_MS);
            claim(&evaluation, &id, "another").await;
        }
        .boxed()
    })
    .await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let evaluation = secchi.running.evaluation.clone();
    assert!(late.set((evaluation.clone(), id.clone())).is_ok());
    let (_runs, mut stopping) = watch::channel(false);
    let worked = work(&evaluation, "late", &id, &mut stopping).await;
    assert!(matches!(worked, Err(WorkError::LeaseLost)), "{worked:?}");
    let submission = view(&secchi, &team, &id).await;
    assert_eq!((&submission["state"], &submission["progress"]["judged"]), (&json!("judging"), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_is_cancelled_in_mid_slice_stays_cancelled_and_is_never_ranked() {
    let (secchi, team, late) = meddled(|(http, path, key): (reqwest::Client, String, String)| {
        async move {
            http.delete(path).bearer_auth(key).send().await.unwrap();
        }
        .boxed()
    })
    .await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let path = format!("{}/api/v1/submissions/{id}", secchi.base);
    assert!(late.set((secchi.http.clone(), path, team.key.clone())).is_ok());
    secchi.drain().await;
    assert_eq!(view(&secchi, &team, &id).await["state"], "cancelled");
    secchi.clock.advance_ms(2 * LEASE_TTL_MS);
    secchi.drain().await;
    let submission = view(&secchi, &team, &id).await;
    assert_eq!(submission["state"], "cancelled");
    assert!(submission["scores"].get("OEMU").is_none(), "{submission}");
    assert_eq!(secchi.entries("/api/v1/leaderboard").await, json!([]));
    let again =
        secchi.request(Method::DELETE, &format!("/api/v1/submissions/{id}"), Some(&team.key)).send().await;
    assert_eq!(again.unwrap().status(), 409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_submission_is_not_taken_up_by_a_worker() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let path = format!("/api/v1/submissions/{id}");
    let cancelled = secchi.request(Method::DELETE, &path, Some(&team.key)).send().await.unwrap();
    assert!(cancelled.status().is_success());
    secchi.drain().await;
    let submission = view(&secchi, &team, &id).await;
    assert_eq!((&submission["state"], &submission["scores"]), (&json!("cancelled"), &json!({})));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_asked_for_a_cancelled_submission_is_not_paid_for_again() {
    let judge = StandIn::start(150).await;
    let options = Options { judge: judge.flags(4), with_worker: true, ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    until("judging", async || judge.calls() >= 6).await;
    let path = format!("/api/v1/submissions/{id}");
    let cancelled = secchi.request(Method::DELETE, &path, Some(&team.key)).send().await.unwrap();
    assert!(cancelled.status().is_success());
    let jobs = &secchi.running.evaluation.metrics.jobs;
    until("the slice", async || jobs.with_label_values(&["grade", "lost"]).get() > 0).await;
    judge.set_latency_ms(0);
    let again = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    until("judging", async || view(&secchi, &team, &again).await["state"] == "scored").await;
    assert_eq!((judge.calls(), judge.repeated()), (48, 0));
    secchi.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_sqlite_file_has_one_server_at_a_time() {
    let secchi = Secchi::with(Options::default()).await;
    let second = Store::open(&secchi.ground.database_url).await.unwrap();
    if secchi.ground.is_shared() {
        assert!(second.lock_for_server().is_ok(), "PostgreSQL serves any number");
        return;
    }
    assert!(matches!(second.lock_for_server(), Err(StoreError::InUse(_))));
    let _ground = secchi.stop().await;
    assert!(second.lock_for_server().unwrap().is_some(), "the first one has stopped");
}
