//! What `/metrics` tells: the counters of this process, and gauges that are read from the ledger when they are asked for.

use std::sync::Arc;

use actix_web::dev::Server;
use actix_web::{App, HttpResponse, HttpServer, web};

use crate::domain::instant;
use crate::domain::line::Line;
use crate::domain::submission::{PausedFor, SubmissionState};
use crate::evaluation::Evaluation;
use crate::evaluation::validity::measuring::find_current_run;
use crate::store::StoreError;
use crate::store::calibrations::Run;
use crate::store::judgements::load_spent_usd;
use crate::store::submissions::count_by_state;
use crate::telemetry::Calibration;

/// The server of `/metrics`.
pub(super) fn metrics_server(
    socket: std::net::TcpListener,
    evaluation: Arc<Evaluation>,
    of_server: bool,
) -> std::io::Result<Server> {
    let evaluation = web::Data::from(evaluation);
    let server = HttpServer::new(move || {
        let scrape = move |evaluation: web::Data<Evaluation>| scrape(evaluation, of_server);
        App::new().app_data(evaluation.clone()).route("/metrics", web::get().to(scrape))
    });
    Ok(server.workers(1).shutdown_timeout(1).disable_signals().listen(socket)?.run())
}

/// All metrics; those of the ledger are read now.
async fn scrape(evaluation: web::Data<Evaluation>, of_server: bool) -> HttpResponse {
    let metrics = &evaluation.metrics;
    if let Some(gate) = evaluation.judges.gate() {
        metrics.judge_in_flight.set(gate.held().into());
        metrics.judge_circuit_open.set(i64::from(gate.closed().is_some()));
        metrics.judge_concurrency.set(gate.places().into());
    }
    if of_server && let Err(error) = read_ledger_gauges(&evaluation).await {
        tracing::error!(error, "the gauges of the ledger could not be read");
        return HttpResponse::ServiceUnavailable().body("the ledger or the queue is not to be reached\n");
    }
    match metrics.render() {
        Ok(text) => HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(text),
        Err(error) => {
            tracing::error!(%error, "the metrics could not be written");
            HttpResponse::InternalServerError().finish()
        }
    }
}

async fn read_ledger_gauges(evaluation: &Evaluation) -> Result<(), String> {
    let counts =
        evaluation.store.read(count_by_state).await.map_err(|error: StoreError| error.to_string())?;
    let depth = evaluation.queue.depth(Line::LAST).await.map_err(|error| error.to_string())?;
    let metrics = &evaluation.metrics;
    if let Some(budget_usd) = evaluation.judges.budget_usd() {
        let day = instant::day(evaluation.clock.now_ms());
        let spent = evaluation.store.read(move |connection| load_spent_usd(connection, &day)).await;
        let spent_usd = spent.map_err(|error: StoreError| error.to_string())?;
        metrics.set_budget_remaining(budget_usd - spent_usd);
    }
    let run: Result<Option<Run>, StoreError> = evaluation.store.read(find_current_run).await;
    metrics.set_calibration(run.map_err(|error| error.to_string())?.map(calibration).unwrap_or_default());
    for state in SubmissionState::ALL {
        let count = counts.iter().filter(|(other, ..)| other == state).map(|(.., count)| count).sum();
        metrics.submissions_in_state.with_label_values(&[state.as_str()]).set(count);
    }
    for paused_for in PausedFor::ALL {
        let of_it = counts.iter().filter(|(_, other, _)| other.as_ref() == Some(paused_for));
        let count = of_it.map(|(.., count)| count).sum();
        metrics.submissions_paused.with_label_values(&[paused_for.as_str()]).set(count);
    }
    metrics.queue_depth.set(i64::try_from(depth.waiting).unwrap_or(i64::MAX));
    let waited_ms = depth.oldest_ms.map_or(0, |oldest_ms| evaluation.clock.now_ms() - oldest_ms);
    metrics.queue_oldest.set(waited_ms.max(0) as f64 / 1000.0);
    Ok(())
}

fn calibration(run: Run) -> Calibration {
    Calibration {
        mean: run.mean,
        drift: run.drift,
        agreement: run.agreement,
        agreement_drift: run.agreement_drift,
        items: Some(run.items.into()),
        items_failed: Some(run.failed.into()),
        last_run_s: run.finished_at_ms.map(|finished_at_ms| finished_at_ms as f64 / 1000.0),
    }
}
