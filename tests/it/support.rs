//! A server of its own for each test: own database, own queue, own data folder, a clock that stands, and a judge that
//! the test may hand in. Work is done when the test says so.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, PgConnection};
use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

use secchi::accounts::{self, NewTeam};
use secchi::app::{self, Process, Running};
use secchi::benchmark::import::{NewRelease, import_release};
use secchi::clock::Clock;
use secchi::config::{HttpSettings, JudgeSettings, QueueSettings, QuotaSettings, StoreSettings};
use secchi::domain::actor::Actor;
use secchi::domain::question::Split;
use secchi::domain::submission::Feedback;
use secchi::domain::team::Role;
use secchi::judge::Judge;
use secchi::worker;

/// Noon of a day, so that a test that moves the clock a little stays in it.
pub const NOON_MS: i64 = 1_796_040_000_000;

/// The folder of the synthetic sample: 24 videos a split.
pub fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sample").join(name)
}

/// The bytes of a file of the sample.
pub fn sample_bytes(name: &str) -> Vec<u8> {
    let path = sample(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A database, a queue and a data folder of a test's own.
pub struct Ground {
    pub data: TempDir,
    pub database_url: String,
    pub redis_url: Option<String>,
    /// The server and the name of a database that goes when this does, so that a run's hundreds do not fill the disk.
    made: Option<(String, String)>,
}

impl Ground {
    pub fn new() -> Ground {
        let data = TempDir::new().unwrap();
        let redis_url = std::env::var("SECCHI_TEST_REDIS_URL").ok();
        let (database_url, made) = match std::env::var("SECCHI_TEST_DATABASE_URL") {
            Ok(server) => {
                let name = new_postgres_database(&server);
                let (base, _) = server.rsplit_once('/').unwrap();
                (format!("{base}/{name}"), Some((server, name)))
            }
            Err(_) => (format!("sqlite://{}", data.path().join("secchi.db").display()), None),
        };
        Ground { data, database_url, redis_url, made }
    }

    /// An SQLite database with the embedded queue, whatever this run is on.
    pub fn sqlite() -> Ground {
        let data = TempDir::new().unwrap();
        let database_url = format!("sqlite://{}", data.path().join("secchi.db").display());
        Ground { data, database_url, redis_url: None, made: None }
    }

    /// The same database and queue for another process, with a data folder of its own.
    pub fn shared(&self) -> Ground {
        assert!(self.is_shared(), "SQLite is one process's");
        let (database_url, redis_url) = (self.database_url.clone(), self.redis_url.clone());
        Ground { data: TempDir::new().unwrap(), database_url, redis_url, made: None }
    }

    /// Whether this run is on PostgreSQL with Redis.
    pub fn is_shared(&self) -> bool {
        self.redis_url.is_some()
    }
}

fn new_postgres_database(server: &str) -> String {
    let name = format!("t{}", uuid::Uuid::now_v7().simple());
    let mut connection = PgConnection::establish(server).expect("SECCHI_TEST_DATABASE_URL");
    connection.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
    name
}

impl Drop for Ground {
    fn drop(&mut self) {
        let Some((server, name)) = &self.made else { return };
        if let Ok(mut connection) = PgConnection::establish(server) {
            // What still runs is cut off; a database that stays is removed with the whole server.
            let _gone = connection.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"));
        }
    }
}

/// Settings at their defaults, changed by flags.
pub fn settings<T: Args>(flags: &[&str]) -> T {
    let command = T::augment_args(clap::Command::new("test").no_binary_name(true));
    // The environment of whoever runs the tests shall not matter.
    let ids: Vec<String> = command.get_arguments().map(|argument| argument.get_id().to_string()).collect();
    let command =
        ids.into_iter().fold(command, |command, id| command.mut_arg(id, |argument| argument.env(None)));
    T::from_arg_matches(&command.get_matches_from(flags)).unwrap()
}

/// How a test's server differs from the default one.
#[derive(Default)]
pub struct Options {
    /// Flags of the HTTP settings; the rate limit is off unless set.
    pub http: Vec<&'static str>,
    /// Flags of the quota settings.
    pub quota: Vec<&'static str>,
    /// Flags of the judge settings.
    pub judge: Vec<String>,
    /// A judge instead of the offline one.
    pub given_judge: Option<Arc<dyn Judge>>,
    /// Whether a worker runs by itself; otherwise the test drains the queue.
    pub with_worker: bool,
    /// A clock instead of one that stands at [`NOON_MS`], for tests with other processes.
    pub clock: Option<Clock>,
    /// An archive that is shown instead of the ground's database.
    pub archive: Option<PathBuf>,
}

/// A team and its key.
pub struct TestTeam {
    pub slug: String,
    pub key: String,
}

/// A running server with what a test needs to speak to it.
pub struct Secchi {
    pub running: Running,
    pub clock: Clock,
    pub base: String,
    pub http: reqwest::Client,
    pub ground: Ground,
}

impl Secchi {
    pub async fn start() -> Secchi {
        Secchi::with(Options::default()).await
    }

    pub async fn with(options: Options) -> Secchi {
        Secchi::on(Ground::new(), options).await
    }

    /// A server on a ground that another one has left.
    pub async fn on(ground: Ground, options: Options) -> Secchi {
        let clock = options.clock.unwrap_or_else(|| Clock::manual(NOON_MS));
        let mut http_flags = vec!["--listen", "127.0.0.1:0", "--http-rate-per-minute", "0"];
        http_flags.extend(&options.http);
        let judge_flags: Vec<&str> = options.judge.iter().map(String::as_str).collect();
        let http: HttpSettings = clap_last_wins(&http_flags);
        let process = Process {
            store: StoreSettings {
                database_url: ground.database_url.clone(),
                data_dir: ground.data.path().to_owned(),
                media_url: None,
            },
            queue: QueueSettings { redis_url: ground.redis_url.clone() },
            metrics_listen: "127.0.0.1:0".parse().unwrap(),
            judge: settings::<JudgeSettings>(&judge_flags),
            quota: settings::<QuotaSettings>(&options.quota),
            max_upload_bytes: http.max_upload_bytes,
            clock: clock.clone(),
            given_judge: options.given_judge,
            archive: options.archive,
        };
        let running = app::serve(process, http, options.with_worker).await.unwrap();
        let base = format!("http://{}", running.address.unwrap());
        Secchi { running, clock, base, http: reqwest::Client::new(), ground }
    }

    /// A server with the sample's test release and one team.
    pub async fn with_sample(options: Options) -> (Secchi, TestTeam) {
        let secchi = Secchi::with(options).await;
        secchi.import(Split::Test, "test.jsonl").await;
        let team = secchi.team("ocean-lab").await;
        (secchi, team)
    }

    pub async fn import(&self, split: Split, file: &str) {
        self.import_as("sample", split, std::fs::File::open(sample(file)).unwrap()).await;
    }

    pub async fn import_as(&self, name: &str, split: Split, file: impl std::io::Read) {
        let feedback = if split == Split::Val { Feedback::PerQuestion } else { Feedback::None };
        let new = NewRelease { name: name.into(), split, feedback, videos: None };
        let reader = std::io::BufReader::new(file);
        import_release(
            &self.running.evaluation.store,
            &Actor::command_line(),
            new,
            reader,
            None,
            self.clock.now_ms(),
        )
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    }

    pub async fn team(&self, slug: &str) -> TestTeam {
        self.account(slug, Role::Team).await
    }

    pub async fn maintainer(&self, slug: &str) -> TestTeam {
        self.account(slug, Role::Maintainer).await
    }

    async fn account(&self, slug: &str, role: Role) -> TestTeam {
        let new = NewTeam { slug: slug.into(), name: slug.into(), email: None, role };
        let store = &self.running.evaluation.store;
        let (team, key) =
            accounts::create_team(store, &Actor::command_line(), new, self.clock.now_ms()).await.unwrap();
        TestTeam { slug: team.slug, key }
    }

    /// Works off everything that waits.
    pub async fn drain(&self) {
        worker::drain(&self.running.evaluation, &self.running.owner).await.unwrap();
    }

    pub fn request(&self, method: Method, path: &str, key: Option<&str>) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    pub async fn get(&self, path: &str, key: Option<&str>) -> Response {
        self.request(Method::GET, path, key).send().await.unwrap()
    }

    pub async fn get_json(&self, path: &str, key: Option<&str>) -> Value {
        let response = self.get(path, key).await;
        assert!(response.status().is_success(), "{path}: {}", response.status());
        response.json().await.unwrap()
    }

    /// The rows of a board that were scored here.
    pub async fn entries(&self, path: &str) -> Value {
        entries(&self.get_json(path, None).await)
    }

    pub async fn submit(&self, team: &TestTeam, metadata: &Value, file: Vec<u8>) -> Response {
        self.submission(team, metadata, file).send().await.unwrap()
    }

    pub fn submission(&self, team: &TestTeam, metadata: &Value, file: Vec<u8>) -> RequestBuilder {
        self.submission_with("", team, metadata, file)
    }

    /// A submission with a query, such as `?dry_run=true`.
    pub fn submission_with(
        &self,
        query: &str,
        team: &TestTeam,
        metadata: &Value,
        file: Vec<u8>,
    ) -> RequestBuilder {
        let form = Form::new()
            .text("metadata", metadata.to_string())
            .part("predictions", Part::bytes(file).file_name("predictions"));
        self.request(Method::POST, &format!("/api/v1/submissions{query}"), Some(&team.key)).multipart(form)
    }

    /// Submits a file of the sample and gives the accepted submission's id.
    pub async fn accepted(&self, team: &TestTeam, metadata: &Value, file: &str) -> String {
        let response = self.submit(team, metadata, sample_bytes(&format!("predictions/{file}"))).await;
        let status = response.status();
        let body: Value = response.json().await.unwrap();
        assert_eq!(status, 202, "{body}");
        body["id"].as_str().unwrap().to_owned()
    }

    /// Submits a file of the sample, works it off and gives the submission as its team sees it.
    pub async fn scored(&self, team: &TestTeam, metadata: &Value, file: &str) -> Value {
        let id = self.accepted(team, metadata, file).await;
        self.drain().await;
        self.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await
    }

    /// Submissions that the team has used up today of its quota for the test split.
    pub async fn used_today(&self, team: &TestTeam) -> i64 {
        self.get_json("/api/v1/me", Some(&team.key)).await["quota"][0]["used_today"].as_i64().unwrap()
    }

    /// The ids of all submissions of a team, newest first.
    pub async fn submission_ids(&self, team: &TestTeam) -> Vec<String> {
        let page = self.get_json("/api/v1/submissions?limit=1000", Some(&team.key)).await;
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Stops the server and leaves its ground for another.
    pub async fn stop(self) -> Ground {
        self.running.stop().await;
        self.ground
    }
}

/// The body of a refusal, which has this status and the shape of every problem.
pub async fn problem(response: Response, status: u16) -> Value {
    let (actual, content_type) = (response.status(), response.headers()["content-type"].clone());
    assert!(response.headers().contains_key("x-request-id"));
    let body: Value = response.json().await.unwrap();
    assert_eq!(actual, status, "{body}");
    assert_eq!(content_type, "application/problem+json");
    assert_eq!(body["status"], status);
    for field in ["type", "title", "detail", "code"] {
        assert!(body[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {body}");
    }
    if let Some(errors) = body.get("errors") {
        let listed = errors.as_array().unwrap().len() as u64;
        assert!(listed > 0 && body["total"].as_u64().unwrap() >= listed, "{body}");
    }
    body
}

/// Flags given twice: the later one wins.
fn clap_last_wins(flags: &[&str]) -> HttpSettings {
    let mut kept: Vec<(&str, &str)> = Vec::new();
    for pair in flags.chunks(2) {
        kept.retain(|(name, _)| *name != pair[0]);
        kept.push((pair[0], pair[1]));
    }
    let flags: Vec<&str> = kept.into_iter().flat_map(|(name, value)| [name, value]).collect();
    settings(&flags)
}

/// Metadata of a public submission to the test split.
pub fn metadata(model_name: &str) -> Value {
    json!({
        "split": "test", "model_name": model_name, "access": "open", "parameters_b": 8, "visibility": "public",
    })
}

/// The rows of a board that were scored here.
pub fn entries(board: &Value) -> Value {
    board["rows"].as_array().unwrap().iter().filter(|row| !row["entry"].is_null()).cloned().collect()
}
