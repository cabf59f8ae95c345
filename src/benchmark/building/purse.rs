//! What building a release may cost, and has cost: the most that a call may take is set aside before it is made, and what it
//! did take is booked after. Knows no endpoint.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::judge::Usage;

/// Dollars a million tokens, and dollars in all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    /// Of tokens sent.
    pub sent: f64,
    /// Of tokens received.
    pub received: f64,
    /// What all calls together may cost.
    pub budget_usd: Option<f64>,
}

impl Prices {
    /// What so many tokens cost.
    pub fn cost_usd(&self, usage: Usage) -> f64 {
        (usage.prompt_tokens as f64 * self.sent + usage.completion_tokens as f64 * self.received) / 1e6
    }
}

/// Money that calls made at once share.
pub struct Purse {
    prices: Prices,
    money: Mutex<Money>,
    settled: Notify,
}

#[derive(Debug, Clone, Copy)]
struct Money {
    spent: f64,
    reserved: f64,
}

impl Purse {
    /// A purse from which so many dollars were spent already.
    pub fn new(prices: Prices, spent: f64) -> Purse {
        Purse {
            prices,
            // The sum of nothing is -0.
            money: Mutex::new(Money { spent: spent + 0.0, reserved: 0.0 }),
            settled: Notify::new(),
        }
    }

    /// Sets aside what a call may cost at most, once there is enough; false where there never will be.
    pub async fn reserve(&self, most: Usage) -> bool {
        let most = self.prices.cost_usd(most);
        loop {
            let settled = self.settled.notified();
            {
                let mut money = self.money();
                if self.prices.budget_usd.is_none_or(|budget| money.spent + money.reserved + most <= budget) {
                    money.reserved += most;
                    return true;
                }
                if money.reserved <= 0.0 {
                    return false;
                }
            }
            settled.await;
        }
    }

    /// Books what a call did cost: all that was set aside where the endpoint does not say. Gives what was booked.
    pub fn settle(&self, most: Usage, usage: Option<Usage>) -> f64 {
        let cost = self.prices.cost_usd(usage.unwrap_or(most));
        let mut money = self.money();
        // Sums of fractions need not come out at nothing.
        money.reserved = (money.reserved - self.prices.cost_usd(most)).max(0.0);
        if money.reserved < 1e-9 {
            money.reserved = 0.0;
        }
        money.spent += cost;
        drop(money);
        self.settled.notify_waiters();
        cost
    }

    /// What was spent, in dollars.
    pub fn spent(&self) -> f64 {
        self.money().spent
    }

    fn money(&self) -> MutexGuard<'_, Money> {
        self.money.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(count: u64) -> Usage {
        Usage { prompt_tokens: count, ..Usage::default() }
    }

    #[tokio::test]
    async fn a_call_waits_for_what_others_give_back_and_none_goes_over_the_budget() {
        let purse = Purse::new(Prices { sent: 1.0, received: 0.0, budget_usd: Some(2.0) }, 0.5);
        let dollar = tokens(1_000_000);
        assert!(purse.reserve(dollar).await);
        let (waited, cost) = tokio::join!(purse.reserve(dollar), async {
            tokio::task::yield_now().await;
            purse.settle(dollar, Some(tokens(250_000)))
        });
        assert!(waited && cost == 0.25);
        assert_eq!(purse.settle(dollar, None), 1.0);
        assert_eq!(purse.spent(), 1.75);
        assert!(!purse.reserve(dollar).await);
    }
}
