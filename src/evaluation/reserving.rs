//! Money that is set aside before a call goes out, so that a day's budget holds whatever the calls come to. Knows nothing
//! of what a call is about, and nothing of what it cost in the end.

use std::sync::Arc;

use futures::FutureExt;

use crate::clock::Clock;
use crate::domain::instant;
use crate::domain::question::Split;
use crate::judge::{Further, Usage};
use crate::store::claims::{self, Reservation};
use crate::store::leases::Lease;
use crate::store::{Store, StoreError, judgements};

use super::Evaluation;
use super::judges::Prices;
use super::judging::Work;

/// What a reservation came to.
pub(super) struct Granted {
    /// Calls that there is enough money for.
    pub(super) calls: usize,
    /// Whether the day's budget is spent.
    pub(super) is_spent: bool,
}

/// Sets money aside for calls about the answers of one submission.
#[derive(Clone)]
pub(super) struct Reserving {
    store: Store,
    clock: Clock,
    configuration_id: String,
    lease: Lease,
    budget_usd: f64,
    prices: Prices,
    /// Whether what is asked about is the first to get what is left.
    is_test: bool,
}

impl Reserving {
    /// Within the budget of a day; none where there is no budget.
    pub(super) fn new(evaluation: &Evaluation, work: &Work<'_>) -> Option<Reserving> {
        Some(Reserving {
            store: evaluation.store.clone(),
            clock: evaluation.clock.clone(),
            configuration_id: work.configuration_id.to_owned(),
            lease: work.lease.clone(),
            budget_usd: evaluation.judges.budget_usd()?,
            prices: evaluation.judges.prices(),
            is_test: work.submission.metadata.split == Split::Test && !work.is_rejudging,
        })
    }

    /// For calls under the claims on `keys`, in their order, of which each may cost `each_usd` at most.
    pub(super) async fn reserve(&self, keys: Vec<String>, each_usd: f64) -> Result<Granted, StoreError> {
        let Reserving { configuration_id, lease, budget_usd, is_test, .. } = self.clone();
        let now_ms = self.clock.now_ms();
        self.store
            .write_recoverable(move |connection| {
                claims::lock_budget(connection)?;
                let spent_usd = judgements::load_spent_usd(connection, &instant::day(now_ms))?;
                let is_spent = spent_usd >= budget_usd;
                if !is_test && claims::does_test_want_money(connection)? {
                    return Ok(Granted { calls: 0, is_spent });
                }
                let reservation = Reservation { budget_usd, spent_usd, each_usd };
                let calls =
                    claims::reserve_money(connection, &configuration_id, &lease, &keys, reservation, now_ms)?;
                Ok(Granted { calls, is_spent })
            })
            .await
    }

    /// For further tries of the call under the claim on `key`.
    pub(super) fn further(&self, key: &str) -> Further {
        let (reserving, key) = (self.clone(), key.to_owned());
        Arc::new(move |so_far, next| {
            let (reserving, key) = (reserving.clone(), key.clone());
            async move { reserving.reserve_further(key, so_far, next).await }.boxed()
        })
    }

    async fn reserve_further(self, key: String, so_far: Usage, next: Usage) -> bool {
        let Reserving { store, clock, configuration_id, lease, budget_usd, prices, .. } = self;
        let (so_far_usd, each_usd, now_ms) = (prices.cost_usd(so_far), prices.cost_usd(next), clock.now_ms());
        let (keys, submission) = ([key], lease.name.clone());
        let granted: Result<bool, StoreError> = store
            .write_recoverable(move |connection| {
                claims::lock_budget(connection)?;
                let spent_usd = judgements::load_spent_usd(connection, &instant::day(now_ms))?;
                let reservation = Reservation { budget_usd, spent_usd, each_usd };
                let (id, lease) = (&configuration_id, &lease);
                claims::reserve_further(connection, id, lease, &keys, so_far_usd, reservation, now_ms)
            })
            .await;
        granted.unwrap_or_else(|error| {
            tracing::warn!(submission, %error, "no money could be reserved for a further try");
            false
        })
    }
}
