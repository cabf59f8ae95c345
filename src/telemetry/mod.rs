//! Logs and, in a server, metrics and traces, and how they are set up. Knows nothing of what is counted when.

use std::io::IsTerminal as _;

use tracing_subscriber::filter::{FilterExt as _, ParseError, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

#[cfg(feature = "server")]
mod metrics;
#[cfg(feature = "otlp")]
mod traces;

#[cfg(feature = "server")]
pub use metrics::{Calibration, Metrics};

/// The target of the spans that traces are made of; no log shows them.
pub const SPANS: &str = "spans";

/// What must live as long as logs and traces are wanted.
pub struct Started {
    #[cfg(feature = "otlp")]
    _traces: Option<traces::Traces>,
}

/// Sends logs to standard error, as text on a terminal and as JSON otherwise; and, if `traced`, traces to a collector,
/// until what is given back is dropped.
pub fn start_logging(filter: &str, no_color: bool, traced: bool) -> Started {
    let (filter, fault) = read(filter);
    let filter = filter.and(filter_fn(|metadata| metadata.target() != SPANS));
    let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let logs = if std::io::stderr().is_terminal() {
        logs.with_ansi(!no_color).with_target(false).boxed()
    } else {
        logs.json().flatten_event(true).with_current_span(false).boxed()
    };
    let logs = tracing_subscriber::registry().with(logs.with_filter(filter));
    #[cfg(feature = "otlp")]
    {
        let started = traced.then(traces::Traces::start).transpose();
        let traces = started.as_ref().ok().and_then(Option::as_ref);
        let _already_started = logs.with(traces.map(traces::Traces::layer)).try_init();
        tell(fault);
        if let Err(error) = &started {
            tracing::warn!(error, "no traces are sent; look at the variables `OTEL_EXPORTER_OTLP_…`");
        }
        Started { _traces: started.unwrap_or_default() }
    }
    #[cfg(not(feature = "otlp"))]
    {
        // A second call, as in tests, keeps the first set-up.
        let _already_started = logs.try_init();
        tell(fault);
        if traced {
            tracing::warn!(
                "OTEL_EXPORTER_OTLP_ENDPOINT is set, but this binary was built without traces; build it with \
                 `--features otlp`, or leave the variable out"
            );
        }
        Started {}
    }
}

/// Sends what a client command has to say meanwhile to standard error: a line each, without what only a log needs.
pub fn start_notes(filter: &str, no_color: bool) {
    let (filter, fault) = read(filter);
    let has_colours = std::io::stderr().is_terminal() && !no_color;
    let notes = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let _already_started = notes.with_ansi(has_colours).with_target(false).without_time().try_init();
    tell(fault);
}

/// The filter that a text says; where it says none, the usual one and why.
fn read(filter: &str) -> (EnvFilter, Option<ParseError>) {
    match EnvFilter::try_new(filter) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("info"), Some(error)),
    }
}

fn tell(fault: Option<ParseError>) {
    if let Some(error) = fault {
        tracing::warn!(%error, "SECCHI_LOG is no log filter; all from `info` on is logged");
    }
}
