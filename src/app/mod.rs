//! The wiring: from settings to a running server or worker, and its graceful stop.

mod judges;
mod measuring;
mod serving;

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::web;
use tokio::sync::watch;
use tokio::task::JoinSet;

#[cfg(feature = "smtp")]
use crate::accounts::mailing::keep_sending;
use crate::archive::{ArchiveError, Shown, show_archive};
use crate::clock::Clock;
use crate::config::{HttpSettings, JudgeSettings, QueueSettings, QuotaSettings, StoreSettings};
use crate::evaluation::Evaluation;
use crate::evaluation::boards::Boards;
use crate::evaluation::catalogue::Catalogue;
use crate::evaluation::judges::JudgesError;
use crate::evaluation::turns::ReadingTurns;
use crate::evaluation::validity::report::Agreements;
use crate::evaluation::waiting::Waiting;
use crate::frames::Frames;
use crate::http::{self, State};
use crate::judge::Judge;
use crate::limiter::HttpLimiter;
#[cfg(feature = "smtp")]
use crate::mail::Mailer;
use crate::media::{Media, MediaError};
use crate::queue::{EmbeddedQueue, Queue, QueueError, RedisQueue};
use crate::store::{Store, StoreError, load_installation_id};
use crate::telemetry::Metrics;
use crate::tokens::{Signer, TokenError};
use crate::{web as pages, worker};

use judges::open_judges;
use measuring::metrics_server;
use serving::api_server;

/// How long requests under way may take when the server stops.
const SHUTDOWN: Duration = Duration::from_secs(8);

/// The same where another server takes what comes: an upload may be long, and nobody waits for this one to be gone.
const DRAINED_SHUTDOWN: Duration = Duration::from_secs(60);

/// How much longer a stop may take where the database cannot be reached; what is under way is then as after a kill.
const STOP_SLACK: Duration = Duration::from_secs(1);

/// How many times as many requests for videos and frames are let through as others.
const MEDIA_RATE: u32 = 10;

/// The lease owner of a process with an embedded queue: there is only one.
const ONLY_PROCESS: &str = "embedded";

/// Why a process did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// SQLite is one process's; Redis hands out work to several.
    #[error(
        "SECCHI_REDIS_URL needs PostgreSQL; leave it out with SQLite, or set SECCHI_DATABASE_URL to postgres://…"
    )]
    RedisWithSqlite,
    /// A worker alone cannot reach an embedded queue.
    #[error("`secchi worker` needs PostgreSQL and Redis; with SQLite, `secchi serve` works by itself")]
    WorkerAlone,
    /// An address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// The kept frames cannot be used.
    #[error("the folder of frames in `{0}` cannot be used: {1}")]
    Frames(PathBuf, std::io::Error),
    /// The videos cannot be kept where the settings say.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// The metrics cannot be registered.
    #[error("metrics: {0}")]
    Metrics(String),
    /// The judge cannot be set up.
    #[error(transparent)]
    Judges(#[from] JudgesError),
    /// The token secret is unusable.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// E-mail cannot be sent as the settings say.
    #[error("{0}")]
    Mail(String),
    /// Redis cannot be reached.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The archive cannot be shown.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What every process is started with.
pub struct Process {
    /// Where the ledger lies.
    pub store: StoreSettings,
    /// How work is handed out.
    pub queue: QueueSettings,
    /// Address of `/metrics`.
    pub metrics_listen: SocketAddr,
    /// Which judge scores.
    pub judge: JudgeSettings,
    /// How many submissions a team may make.
    pub quota: QuotaSettings,
    /// Bytes of a prediction file.
    pub max_upload_bytes: u64,
    /// What time it is.
    pub clock: Clock,
    /// A judge that a test hands in instead of the settings'.
    pub given_judge: Option<Arc<dyn Judge>>,
    /// An archive that is shown instead of a ledger that is worked on.
    pub archive: Option<PathBuf>,
}

/// A running server or worker.
pub struct Running {
    /// Address of the API; none of a worker.
    pub address: Option<SocketAddr>,
    /// Address of `/metrics`.
    pub metrics_address: SocketAddr,
    /// What it works with.
    pub evaluation: Arc<Evaluation>,
    /// The name under which its worker holds leases.
    pub owner: String,
    /// Keeps other servers off an SQLite file.
    _lock: Option<File>,
    /// An archive that is shown, with a folder that goes when the process ends.
    shown: Option<Shown>,
    draining: Arc<AtomicBool>,
    /// For how long a server is not ready before it stops.
    drain: Duration,
    stopping: watch::Sender<bool>,
    worker: JoinSet<()>,
    servers: Vec<ServerHandle>,
    serving: JoinSet<std::io::Result<()>>,
}

impl Running {
    /// Serves on without being ready, for as long as the settings say, so that nothing new comes any more.
    pub async fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        tokio::time::sleep(self.drain).await;
    }

    /// How long [`Self::stop`] may take at most.
    pub fn stop_limit(&self) -> Duration {
        shutdown(self.drain) + STOP_SLACK
    }

    /// Stops in good order: requests and slices under way end or are put back.
    pub async fn stop(mut self) {
        self.stopping.send_replace(true);
        let servers = self.servers.iter().map(|server| server.stop(true));
        let worker = async { while self.worker.join_next().await.is_some() {} };
        futures::future::join(futures::future::join_all(servers), worker).await;
        while self.serving.join_next().await.is_some() {}
    }
}

/// Starts the API and the pages, with a worker unless told otherwise.
///
/// # Errors
/// When a setting, a port, the database or Redis refuses.
pub async fn serve(process: Process, http: HttpSettings, with_worker: bool) -> Result<Running, StartError> {
    let mut data_dir = process.store.data_dir.clone();
    let media = Media::at(&process.store.media())?;
    let mails = http.signup.sends_mail().map_err(|why| StartError::Mail(why.to_owned()))?;
    let mut running = open(process, true).await?;
    if let Some(shown) = &running.shown {
        data_dir = shown.scratch().to_owned();
    }
    let evaluation = running.evaluation.clone();
    let installation_id = evaluation.store.read(load_installation_id).await?;
    if http.jwt_secret.is_none() && matches!(evaluation.queue, Queue::Redis(_)) {
        tracing::warn!("SECCHI_JWT_SECRET is not set: another server will refuse this one's access tokens");
    }
    if running.shown.is_none()
        && let Err(error) = media.check().await
    {
        tracing::warn!(%error, "videos and frames cannot be sent until this is mended; all else can");
    }
    http::stand_at_zero(&evaluation.metrics);
    let boards = Arc::new(Boards::default());
    let frames = Frames::new(media.clone(), &data_dir, evaluation.metrics.clone())
        .map_err(|error| StartError::Frames(data_dir.clone(), error))?;
    let signer = Signer::new(http.jwt_secret.as_deref(), &data_dir, &installation_id)?;
    let pages = pages::Pages::new(evaluation.clone(), boards.clone(), signer.clone(), &http, mails);
    let state = web::Data::new(State {
        signup: http.signup.signup,
        mails,
        public_url: OnceLock::new(),
        signer,
        limiter: HttpLimiter::new(http.http_rate_per_minute),
        media_limiter: HttpLimiter::new(http.http_rate_per_minute.saturating_mul(MEDIA_RATE)),
        media,
        frames,
        trusted_proxies: http.trusted_proxies,
        boards: boards.clone(),
        following: Arc::default(),
        draining: running.draining.clone(),
        stopping: running.stopping.subscribe(),
        evaluation: evaluation.clone(),
    });
    running.drain = Duration::from_secs(http.drain_s);
    let (server, address) =
        api_server(http.listen, shutdown(running.drain), state.clone(), web::Data::new(pages))?;
    let public_url = http.public_url.unwrap_or_else(|| format!("http://{address}"));
    let public_url = public_url.trim_end_matches('/').to_owned();
    state.public_url.get_or_init(|| public_url.clone());
    running.address = Some(address);
    running.add_server(server);
    if running.shown.is_some() {
        return Ok(running);
    }
    running.keep_prepared(boards);
    #[cfg(feature = "smtp")]
    running.start_mailing(&http.signup, public_url)?;
    if with_worker {
        running.start_worker().await?;
    }
    Ok(running)
}

/// Starts a worker only.
///
/// # Errors
/// As [`serve`], and with an embedded queue.
pub async fn work(process: Process) -> Result<Running, StartError> {
    if process.queue.redis_url.is_none() {
        return Err(StartError::WorkerAlone);
    }
    let mut running = open(process, false).await?;
    running.start_worker().await?;
    Ok(running)
}

impl Running {
    async fn start_worker(&mut self) -> Result<(), StoreError> {
        let stopping = self.stopping.subscribe();
        self.worker = worker::start(self.evaluation.clone(), self.owner.clone(), stopping).await?;
        Ok(())
    }

    /// Has boards made anew when they change, until the process stops.
    fn keep_prepared(&mut self, boards: Arc<Boards>) {
        let (evaluation, mut stopping) = (self.evaluation.clone(), self.stopping.subscribe());
        self.serving.spawn(async move {
            tokio::select! {
                never = boards.keep_prepared(&evaluation.store) => match never {},
                _stops = stopping.wait_for(|stop| *stop) => Ok(()),
            }
        });
    }

    #[cfg(feature = "smtp")]
    fn start_mailing(
        &mut self,
        settings: &crate::config::SignupSettings,
        public_url: String,
    ) -> Result<(), StartError> {
        let (Some(url), Some(from)) = (&settings.smtp_url, &settings.smtp_from) else { return Ok(()) };
        let mailer = Mailer::new(url, from).map_err(|error| StartError::Mail(error.to_string()))?;
        let (evaluation, stopping) = (self.evaluation.clone(), self.stopping.subscribe());
        self.serving.spawn(async move {
            keep_sending(&evaluation.store, &evaluation.clock, &mailer, &public_url, stopping).await;
            Ok(())
        });
        Ok(())
    }

    fn add_server(&mut self, server: Server) {
        self.servers.push(server.handle());
        self.serving.spawn(server);
    }
}

/// Opens ledger, queue and judge, and serves the metrics.
async fn open(process: Process, of_server: bool) -> Result<Running, StartError> {
    if process.queue.redis_url.is_some() && process.store.database_url.starts_with("sqlite:") {
        return Err(StartError::RedisWithSqlite);
    }
    let metrics = Metrics::new(of_server).map_err(|error| StartError::Metrics(error.to_string()))?;
    let metrics = Arc::new(metrics);
    let shown = match &process.archive {
        Some(path) => Some(show_archive(path.clone()).await?),
        None => None,
    };
    let store = match &shown {
        Some(shown) => shown.store().clone(),
        None => Store::open(&process.store.database_url).await?,
    };
    let lock = if of_server && shown.is_none() { store.lock_for_server()? } else { None };
    let queue = match &process.queue.redis_url {
        None => Queue::Embedded(EmbeddedQueue::default()),
        Some(url) => {
            let installation_id = store.read(load_installation_id).await?;
            Queue::Redis(Box::new(RedisQueue::connect(url, &installation_id).await?))
        }
    };
    let metrics_socket = std::net::TcpListener::bind(process.metrics_listen)
        .map_err(|error| StartError::Listen(process.metrics_listen, error))?;
    let metrics_address = metrics_socket.local_addr().unwrap_or(process.metrics_listen);
    // While the address is held nobody else has the name, and its leases are those of a predecessor that is gone.
    let owner = match &queue {
        Queue::Embedded(_) => ONLY_PROCESS.to_owned(),
        Queue::Redis(_) => format!("{}/{metrics_address}", gethostname::gethostname().to_string_lossy()),
    };
    let judges = open_judges(&process, &store, &owner, &metrics).await?;
    let evaluation = Arc::new(Evaluation {
        store,
        queue,
        clock: process.clock,
        metrics,
        catalogue: Catalogue::default(),
        judges,
        waiting: Waiting::default(),
        agreements: Agreements::default(),
        quota: process.quota,
        max_upload_bytes: process.max_upload_bytes,
        reading_turns: ReadingTurns::new(),
        settled_revision: AtomicI64::new(-1),
        ranged_revision: AtomicI64::new(-1),
        next_due_ms: watch::Sender::new(i64::MAX),
    });
    let server = metrics_server(metrics_socket, evaluation.clone(), of_server)
        .map_err(|error| StartError::Listen(metrics_address, error))?;
    let mut running = Running {
        address: None,
        metrics_address,
        evaluation,
        owner,
        _lock: lock,
        shown,
        draining: Arc::default(),
        drain: Duration::ZERO,
        stopping: watch::Sender::new(false),
        worker: JoinSet::new(),
        servers: Vec::new(),
        serving: JoinSet::new(),
    };
    running.add_server(server);
    Ok(running)
}

/// How long requests under way may take at a stop.
fn shutdown(drain: Duration) -> Duration {
    if drain.is_zero() { SHUTDOWN } else { DRAINED_SHUTDOWN }
}
