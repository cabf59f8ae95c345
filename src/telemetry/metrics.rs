//! The series of one process and their labels. Knows nothing of when what is counted.

use prometheus::core::Collector;
use prometheus::{
    CounterVec, Encoder as _, Gauge, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};

use crate::domain::question::{Rubric, Split};
use crate::domain::sign::Sign;
use crate::domain::submission::{PausedFor, SubmissionState};

/// What happens to a submission in the end, as a label.
const OUTCOMES: [SubmissionState; 4] = [
    SubmissionState::Scored,
    SubmissionState::Incomplete,
    SubmissionState::Cancelled,
    SubmissionState::Failed,
];

/// Every series of one process (contract 7).
pub struct Metrics {
    registry: Registry,
    /// Sets of frames that were asked for, by how they came (`kept`, `taken`, `failed`).
    pub frame_sets: IntCounterVec,
    /// Answered requests by method, route pattern and status.
    pub http_requests: IntCounterVec,
    /// Seconds from a request's head to its answer's head, by method and route pattern.
    pub http_duration: HistogramVec,
    /// Submissions that reached a final state, by split and state.
    pub submissions: IntCounterVec,
    /// Submissions by state; a server's, from the ledger.
    pub submissions_in_state: IntGaugeVec,
    /// Seconds from acceptance to the final state, by split.
    pub submission_duration: HistogramVec,
    /// Seconds from acceptance to the scores as a multiple of what the judge itself needs, by split.
    pub submission_judge_ratio: HistogramVec,
    /// Submissions whose judging rests, by what for; a server's, from the ledger.
    pub submissions_paused: IntGaugeVec,
    /// Submissions that wait for a worker; a server's.
    pub queue_depth: IntGauge,
    /// Seconds that the longest waiting one has waited; a server's.
    pub queue_oldest: Gauge,
    /// Slices of work by kind (`grade`, `judge`, `rejudge`) and outcome (`done`, `requeued`, `lost`, `failed`).
    pub jobs: IntCounterVec,
    /// Multiple-choice answers by dimension and outcome (`right`, `wrong`, `unparsed`, `missing`).
    pub graded_answers: IntCounterVec,
    /// Open-ended answers that show a sign of talking to the judge, by sign.
    pub flagged_answers: IntCounterVec,
    /// Tries at the judge by model, rubric and outcome.
    pub judge_requests: IntCounterVec,
    /// Seconds of a try at the judge, by model and rubric.
    pub judge_duration: HistogramVec,
    /// Tokens by model and kind (`prompt`, `cached`, `completion`).
    pub judge_tokens: IntCounterVec,
    /// Dollars by model.
    pub judge_cost: CounterVec,
    /// Tries under way.
    pub judge_in_flight: IntGauge,
    /// Judgements that stood already, by rubric.
    pub judge_reused: IntCounterVec,
    /// 1 while the judge is given up for the moment.
    pub judge_circuit_open: IntGauge,
    /// Calls that may be under way at once at present, over all processes.
    pub judge_concurrency: IntGauge,
    /// Dollars that the day has left; a server's, and absent without a budget.
    judge_budget_remaining: Gauge,
    /// What the judge says of rated answers, in the order of [`CALIBRATION`]; a server's, each absent while unknown.
    judge_calibration: Vec<Gauge>,
}

/// What is told of the current configuration's newest run over rated answers; none is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Calibration {
    /// The mean of the judge's scores, from 0 to 5.
    pub mean: Option<f64>,
    /// That mean minus the first run's, on the same answers.
    pub drift: Option<f64>,
    /// The quadratic-weighted kappa with people's means.
    pub agreement: Option<f64>,
    /// That kappa minus the first run's.
    pub agreement_drift: Option<f64>,
    /// Items that were rated.
    pub items: Option<f64>,
    /// Of these, items whose answer could not be judged.
    pub items_failed: Option<f64>,
    /// When the run ended, in seconds since 1970.
    pub last_run_s: Option<f64>,
}

fn named(name: &str, help: &str) -> Opts {
    Opts::new(name, help).namespace("secchi")
}

/// The series of [`Calibration`], in the order of its fields.
const CALIBRATION: [(&str, &str); 7] = [
    ("judge_calibration_mean", "Mean of the judge's scores of the rated answers, 0 to 5."),
    ("judge_calibration_drift", "That mean minus the mean of the configuration's first run."),
    ("judge_calibration_agreement", "Quadratic-weighted kappa of the judge with people's means."),
    ("judge_calibration_agreement_drift", "That kappa minus the kappa of the configuration's first run."),
    ("judge_calibration_items", "Items of the calibration set."),
    ("judge_calibration_items_failed", "Items whose answer could not be judged in the newest run."),
    ("judge_calibration_last_run_timestamp_seconds", "When the newest run ended."),
];

impl Metrics {
    /// Registers every series. `of_server` adds the gauges of the ledger.
    ///
    /// # Errors
    /// Only when two series have one name, which a test would show.
    pub fn new(of_server: bool) -> prometheus::Result<Metrics> {
        let counters =
            |name: &str, help: &str, labels: &[&str]| IntCounterVec::new(named(name, help), labels);
        let histogram = |name: &str, help: &str, labels: &[&str], buckets: &[f64]| {
            let opts = HistogramOpts::from(named(name, help)).buckets(buckets.to_vec());
            HistogramVec::new(opts, labels)
        };
        let gauge = |name: &str, help: &str| IntGauge::with_opts(named(name, help));
        let fast = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
        let slow = [0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0];
        let call = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 300.0];
        let times = [1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, 100.0];
        let metrics = Metrics {
            registry: Registry::new(),
            frame_sets: counters("frame_sets_total", "Sets of frames asked for.", &["outcome"])?,
            http_requests: counters(
                "http_requests_total",
                "Answered requests.",
                &["method", "route", "status"],
            )?,
            http_duration: histogram(
                "http_request_duration_seconds",
                "Time to answer a request.",
                &["method", "route"],
                &fast,
            )?,
            submissions: counters("submissions_total", "Submissions that ended.", &["split", "outcome"])?,
            submissions_in_state: IntGaugeVec::new(
                named("submissions_in_state", "Submissions by state."),
                &["state"],
            )?,
            submission_duration: histogram(
                "submission_duration_seconds",
                "Time from acceptance to the end.",
                &["split"],
                &slow,
            )?,
            submission_judge_ratio: histogram(
                "submission_judge_time_ratio",
                "Time from acceptance to the scores, as a multiple of what the judge itself needs.",
                &["split"],
                &times,
            )?,
            submissions_paused: IntGaugeVec::new(
                named("submissions_paused", "Submissions whose judging rests."),
                &["paused_for"],
            )?,
            queue_depth: gauge("queue_depth", "Submissions that wait for a worker.")?,
            queue_oldest: Gauge::with_opts(named(
                "queue_oldest_seconds",
                "Wait of the longest waiting submission.",
            ))?,
            jobs: counters("jobs_total", "Slices of work.", &["kind", "outcome"])?,
            graded_answers: counters("graded_answers_total", "Graded answers.", &["dimension", "outcome"])?,
            flagged_answers: counters(
                "flagged_answers_total",
                "Answers that show a sign of talking to the judge.",
                &["sign"],
            )?,
            judge_requests: counters(
                "judge_requests_total",
                "Tries at the judge.",
                &["model", "rubric", "outcome"],
            )?,
            judge_duration: histogram(
                "judge_request_duration_seconds",
                "Time of a try at the judge.",
                &["model", "rubric"],
                &call,
            )?,
            judge_tokens: counters("judge_tokens_total", "Tokens of the judge.", &["model", "kind"])?,
            judge_cost: CounterVec::new(
                named("judge_cost_usd_total", "Dollars that the judge cost."),
                &["model"],
            )?,
            judge_in_flight: gauge("judge_in_flight", "Tries at the judge under way.")?,
            judge_reused: counters("judge_reused_total", "Judgements that stood already.", &["rubric"])?,
            judge_circuit_open: gauge("judge_circuit_open", "1 while the judge is given up for the moment.")?,
            judge_concurrency: gauge(
                "judge_concurrency",
                "Tries at the judge that may be under way at once.",
            )?,
            judge_budget_remaining: Gauge::with_opts(named(
                "judge_budget_remaining_usd",
                "Dollars that the UTC day has left for the judge.",
            ))?,
            judge_calibration: CALIBRATION
                .iter()
                .map(|(name, help)| Gauge::with_opts(named(name, help)))
                .collect::<prometheus::Result<_>>()?,
        };
        metrics.register(of_server)?;
        metrics.stand_at_zero(of_server);
        Ok(metrics)
    }

    fn register(&self, of_server: bool) -> prometheus::Result<()> {
        let build =
            IntGaugeVec::new(named("build_info", "Always 1; the labels say what runs."), &["version"])?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let mut series: Vec<Box<dyn Collector>> = vec![
            Box::new(build),
            Box::new(self.http_requests.clone()),
            Box::new(self.http_duration.clone()),
            Box::new(self.submissions.clone()),
            Box::new(self.submission_duration.clone()),
            Box::new(self.submission_judge_ratio.clone()),
            Box::new(self.jobs.clone()),
            Box::new(self.graded_answers.clone()),
            Box::new(self.flagged_answers.clone()),
            Box::new(self.judge_requests.clone()),
            Box::new(self.judge_duration.clone()),
            Box::new(self.judge_tokens.clone()),
            Box::new(self.judge_cost.clone()),
            Box::new(self.judge_in_flight.clone()),
            Box::new(self.judge_reused.clone()),
            Box::new(self.judge_circuit_open.clone()),
            Box::new(self.judge_concurrency.clone()),
            Box::new(prometheus::process_collector::ProcessCollector::for_self()),
        ];
        if of_server {
            series.push(Box::new(self.frame_sets.clone()));
            series.push(Box::new(self.submissions_in_state.clone()));
            series.push(Box::new(self.submissions_paused.clone()));
            series.push(Box::new(self.queue_depth.clone()));
            series.push(Box::new(self.queue_oldest.clone()));
        }
        series.into_iter().try_for_each(|collector| self.registry.register(collector))
    }

    /// Makes the series whose labels are known beforehand stand from the start.
    fn stand_at_zero(&self, of_server: bool) {
        for split in [Split::Test, Split::Val] {
            self.submission_duration.with_label_values(&[split.as_str()]);
            self.submission_judge_ratio.with_label_values(&[split.as_str()]);
            for outcome in OUTCOMES {
                self.submissions.with_label_values(&[split.as_str(), outcome.as_str()]);
            }
        }
        for kind in ["grade", "judge", "rejudge"] {
            for outcome in ["done", "requeued", "lost", "failed"] {
                self.jobs.with_label_values(&[kind, outcome]);
            }
        }
        for dimension in crate::domain::column::Column::PERCENT {
            for outcome in ["right", "wrong", "unparsed", "missing"] {
                self.graded_answers.with_label_values(&[dimension.as_str(), outcome]);
            }
        }
        for sign in Sign::ALL {
            self.flagged_answers.with_label_values(&[sign.as_str()]);
        }
        for rubric in Rubric::ALL {
            self.judge_reused.with_label_values(&[rubric.as_str()]);
        }
        if of_server {
            for outcome in ["kept", "taken", "failed"] {
                self.frame_sets.with_label_values(&[outcome]);
            }
            for state in SubmissionState::ALL {
                self.submissions_in_state.with_label_values(&[state.as_str()]);
            }
            for paused_for in PausedFor::ALL {
                self.submissions_paused.with_label_values(&[paused_for.as_str()]);
            }
        }
    }

    /// Says how many dollars the day has left; the series stands from then on.
    pub fn set_budget_remaining(&self, remaining_usd: f64) {
        self.judge_budget_remaining.set(remaining_usd);
        // Only the first time registers it; later ones find it there.
        let _known_already = self.registry.register(Box::new(self.judge_budget_remaining.clone()));
    }

    /// Says what the judge's newest run over rated answers came to; what is unknown stands no more.
    pub fn set_calibration(&self, calibration: Calibration) {
        let Calibration { mean, drift, agreement, agreement_drift, items, items_failed, last_run_s } =
            calibration;
        let values = [mean, drift, agreement, agreement_drift, items, items_failed, last_run_s];
        for (gauge, value) in self.judge_calibration.iter().zip(values) {
            // It may be there already, or gone already.
            let _as_before = match value {
                Some(value) => {
                    gauge.set(value);
                    self.registry.register(Box::new(gauge.clone()))
                }
                None => self.registry.unregister(Box::new(gauge.clone())),
            };
        }
    }

    /// All series in Prometheus' text format.
    ///
    /// # Errors
    /// Only when a series is malformed, which a test would show.
    pub fn render(&self) -> prometheus::Result<Vec<u8>> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(text)
    }
}
