//! `secchi serve`, `secchi worker` and `secchi migrate`: processes that run until they are told to stop.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::app::{self, Process, Running};
use crate::clock::Clock;
use crate::config::{
    HttpSettings, JudgeSettings, MetricsSettings, QueueSettings, QuotaSettings, StoreSettings,
};
use crate::store::Store;

const SERVER_METRICS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9464);
const WORKER_METRICS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9465);

/// Serve the API, the pages and, unless told otherwise, an embedded worker
///
/// With nothing configured: SQLite in ./data/secchi.db, an embedded queue and http://127.0.0.1:8080. Every setting may
/// also stand in secchi.toml, by the variable's name in lower case without SECCHI_ (`listen = "0.0.0.0:8080"`).
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi serve\n  secchi serve --listen 0.0.0.0:8080 --database-url postgres://secchi@db/secchi --redis-url redis://queue\n  secchi serve --archive secchi.archive"
)]
pub struct ServeArgs {
    /// Serve only; `secchi worker` processes do the work
    #[arg(long)]
    no_worker: bool,
    /// Show an archive, read-only: no database, queue or data folder is used, and nobody signs in
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    queue: QueueSettings,
    #[command(flatten)]
    http: HttpSettings,
    #[command(flatten)]
    metrics: MetricsSettings,
    #[command(flatten)]
    quota: QuotaSettings,
    #[command(flatten)]
    judge: JudgeSettings,
}

/// Grade and judge only; needs PostgreSQL and Redis
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  secchi worker --database-url postgres://secchi@db/secchi --redis-url redis://queue"
)]
pub struct WorkerArgs {
    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    queue: QueueSettings,
    #[command(flatten)]
    metrics: MetricsSettings,
    #[command(flatten)]
    quota: QuotaSettings,
    #[command(flatten)]
    judge: JudgeSettings,
}

/// Bring the database's tables up to date and exit
#[derive(Debug, Args)]
pub struct MigrateArgs {
    #[command(flatten)]
    store: StoreSettings,
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// When it cannot start.
pub async fn serve(mut arguments: ServeArgs) -> anyhow::Result<()> {
    if arguments.archive.is_some() {
        arguments.queue.redis_url = None;
    }
    let process = Process {
        store: arguments.store,
        queue: arguments.queue,
        metrics_listen: arguments.metrics.metrics_listen.unwrap_or(SERVER_METRICS),
        judge: arguments.judge,
        quota: arguments.quota,
        max_upload_bytes: arguments.http.max_upload_bytes,
        clock: Clock::System,
        given_judge: None,
        archive: arguments.archive,
    };
    let public_url = arguments.http.public_url.clone();
    let running = app::serve(process, arguments.http, !arguments.no_worker).await?;
    if let Some(address) = running.address {
        println!("Secchi serves {}", public_url.unwrap_or_else(|| format!("http://{address}")));
    }
    println!("metrics: http://{}/metrics", running.metrics_address);
    until_stopped(running).await
}

/// Works until SIGTERM or SIGINT.
///
/// # Errors
/// When it cannot start.
pub async fn worker(arguments: WorkerArgs) -> anyhow::Result<()> {
    let process = Process {
        store: arguments.store,
        queue: arguments.queue,
        metrics_listen: arguments.metrics.metrics_listen.unwrap_or(WORKER_METRICS),
        judge: arguments.judge,
        quota: arguments.quota,
        max_upload_bytes: 0,
        clock: Clock::System,
        given_judge: None,
        archive: None,
    };
    let running = app::work(process).await?;
    println!("Secchi works; metrics: http://{}/metrics", running.metrics_address);
    until_stopped(running).await
}

/// Applies the migrations that are missing.
///
/// # Errors
/// When the database refuses.
pub async fn migrate(arguments: MigrateArgs) -> anyhow::Result<()> {
    Store::open(&arguments.store.database_url).await?;
    println!("the database is up to date");
    Ok(())
}

async fn until_stopped(running: Running) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut told = async || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    told().await;
    tokio::select! {
        () = running.drain() => {}
        // Whoever says it twice does not want to wait.
        () = told() => {}
    }
    tracing::info!("stopping: what is under way ends or is put back");
    if timeout(running.stop_limit(), running.stop()).await.is_err() {
        tracing::warn!("what was under way could not be put back in time; it will be taken up again");
    }
    Ok(())
}
