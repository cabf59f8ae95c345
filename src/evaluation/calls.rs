//! What is counted about calls to the judge. Knows nothing of who asks.

use crate::domain::question::Rubric;
use crate::judge::{CallReport, FaultKind};
use crate::telemetry::Metrics;

use super::judges::Prices;
use super::pace::Pace;

/// Makes the series of the current model stand from the start.
pub(super) fn stand_at_zero(metrics: &Metrics, model: &str) {
    for rubric in Rubric::ALL {
        metrics.judge_duration.with_label_values(&[model, rubric.as_str()]);
        let faults = FaultKind::ALL.iter().map(|kind| kind.as_str());
        for outcome in faults.chain([CallReport::VALID]) {
            metrics.judge_requests.with_label_values(&[model, rubric.as_str(), outcome]);
        }
    }
    for kind in ["prompt", "cached", "completion"] {
        metrics.judge_tokens.with_label_values(&[model, kind]);
    }
    metrics.judge_cost.with_label_values(&[model]);
}

/// Counts a call that has ended, and takes it into the pace if it gave a verdict.
pub(super) fn count_call(metrics: &Metrics, pace: &Pace, prices: Prices, report: &CallReport) {
    let (model, rubric) = (report.model.as_str(), report.rubric.as_str());
    metrics.judge_requests.with_label_values(&[model, rubric, report.outcome()]).inc();
    metrics.judge_duration.with_label_values(&[model, rubric]).observe(report.duration.as_secs_f64());
    let usage = report.usage;
    for (kind, count) in [
        ("prompt", usage.prompt_tokens),
        ("cached", usage.cached_tokens),
        ("completion", usage.completion_tokens),
    ] {
        metrics.judge_tokens.with_label_values(&[model, kind]).inc_by(count);
    }
    metrics.judge_cost.with_label_values(&[model]).inc_by(prices.cost_usd(usage));
    if report.fault.is_none() {
        pace.note(report.duration, usage.prompt_tokens + usage.completion_tokens);
    }
}
