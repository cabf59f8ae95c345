//! Real processes of the built binary, which a test may kill.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use reqwest::multipart::{Form, Part};
use serde_json::Value;

use crate::support::{Ground, TestTeam};

/// How long anything that a test waits for may take, on a machine that does much else.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A process of `secchi`; killed when dropped.
pub struct Process {
    child: Child,
    /// `http://` and the address of the API; empty for a worker.
    pub base: String,
    /// Address of the metrics; a process that starts with it again is the same lease owner.
    pub metrics: String,
    /// What it writes to standard error.
    log: PathBuf,
}

impl Process {
    /// `secchi serve` on a ground, with further flags.
    pub fn serve(ground: &Ground, metrics: &str, flags: &[String]) -> Process {
        let listen = ["--listen", "127.0.0.1:0", "--http-rate-per-minute", "0"].map(str::to_owned);
        Process::start("serve", ground, metrics, &[&listen, flags].concat(), &[])
    }

    /// `secchi serve` on a ground, with settings in the environment.
    pub fn serve_with(ground: &Ground, environment: &[(&str, &str)]) -> Process {
        let listen = ["--listen", "127.0.0.1:0", "--http-rate-per-minute", "0"].map(str::to_owned);
        Process::start("serve", ground, "127.0.0.1:0", &listen, environment)
    }

    /// `secchi serve` at an address, perhaps one that another one has left, with further flags.
    pub fn serve_at(ground: &Ground, address: &str, metrics: &str, flags: &[String]) -> Process {
        let listen = ["--listen", address, "--http-rate-per-minute", "0"].map(str::to_owned);
        Process::start("serve", ground, metrics, &[&listen, flags].concat(), &[])
    }

    /// `secchi serve --archive` in a ground's folder, which nothing else of it is used of.
    pub fn show(ground: &Ground, archive: &Path, environment: &[(&str, &str)]) -> Process {
        let flags = ["--listen", "127.0.0.1:0", "--archive", archive.to_str().unwrap()].map(str::to_owned);
        Process::start("serve", ground, "127.0.0.1:0", &flags, environment)
    }

    /// `secchi worker` on a ground, with further flags.
    pub fn worker(ground: &Ground, metrics: &str, flags: &[String]) -> Process {
        Process::start("worker", ground, metrics, flags, &[])
    }

    fn start(
        command: &str,
        ground: &Ground,
        metrics: &str,
        flags: &[String],
        environment: &[(&str, &str)],
    ) -> Process {
        let log = ground.data.path().join(format!("{}.log", uuid::Uuid::now_v7()));
        let mut child = secchi(command, ground)
            .args(["--metrics-listen", metrics])
            .args(flags)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut process = Process { child, base: String::new(), metrics: String::new(), log };
        while process.metrics.is_empty() {
            let line = lines.next().unwrap_or_else(|| panic!("{}", process.log())).unwrap();
            if let Some(base) = line.strip_prefix("Secchi serves ") {
                process.base = base.to_owned();
            }
            if let Some((_, address)) = line.split_once("metrics: http://") {
                process.metrics = address.trim_end_matches("/metrics").to_owned();
            }
        }
        process
    }

    /// What it has written to standard error so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned()
    }

    /// The most memory that it has had.
    pub fn peak_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    /// How many files of a folder it holds open, those without a name too.
    pub fn open_files(&self, folder: &Path) -> usize {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        let targets = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        targets.filter(|target| target.starts_with(folder)).count()
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; gives how the process ended and how long it took.
    pub async fn terminate(&mut self) -> (ExitStatus, Duration) {
        let asked = Instant::now();
        let kill = format!("kill -TERM {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status, asked.elapsed());
            }
            assert!(asked.elapsed() < PATIENCE, "the process does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Submits `predictions` and gives the accepted submission's id.
    pub async fn submit(&self, team: &TestTeam, metadata: &Value, predictions: Vec<u8>) -> String {
        let form =
            Form::new().text("metadata", metadata.to_string()).part("predictions", Part::bytes(predictions));
        let request = reqwest::Client::new().post(format!("{}/api/v1/submissions", self.base));
        let response = request.bearer_auth(&team.key).multipart(form).send().await.unwrap();
        let (status, body) = (response.status(), response.json::<Value>().await.unwrap());
        assert_eq!(status, 202, "{body}");
        body["id"].as_str().unwrap().to_owned()
    }

    /// The submission as its team sees it.
    pub async fn submission(&self, team: &TestTeam, id: &str) -> Value {
        let request = reqwest::Client::new().get(format!("{}/api/v1/submissions/{id}", self.base));
        request.bearer_auth(&team.key).send().await.unwrap().json().await.unwrap()
    }

    /// Waits until the submission is in a final state.
    pub async fn ended(&self, team: &TestTeam, id: &str) -> Value {
        let waiting = Instant::now();
        loop {
            let submission = self.submission(team, id).await;
            let state = submission["state"].as_str().unwrap();
            if !["queued", "grading", "judging"].contains(&state) {
                return submission;
            }
            assert!(waiting.elapsed() < PATIENCE, "{submission}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The value of a series without labels.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = reqwest::get(format!("http://{}/metrics", self.metrics)).await.unwrap().text().await;
        let text = text.unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The command on a ground, without the settings of whoever runs the tests.
pub fn secchi(command: &str, ground: &Ground) -> Command {
    let mut process = Command::new(env!("CARGO_BIN_EXE_secchi"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SECCHI_")) {
        process.env_remove(name);
    }
    process.current_dir(ground.data.path()).arg(command).args(["--database-url", &ground.database_url]);
    if command != "migrate" {
        process.args(["--data-dir".as_ref(), ground.data.path().as_os_str()]);
        if let Some(redis_url) = &ground.redis_url {
            process.args(["--redis-url", redis_url]);
        }
    }
    process
}

/// Whether `command` ends with an error, and what it says.
pub fn refusal(command: &mut Command) -> String {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(!child.wait().unwrap().success(), "{said}");
    said
}

/// Waits until `condition` holds.
pub async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let waiting = Instant::now();
    while !condition().await {
        assert!(waiting.elapsed() < PATIENCE, "{what} takes too long");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A Redis of a test's own, which it may flush; killed when dropped.
pub struct OwnRedis {
    child: Child,
    pub port: u16,
    pub url: String,
}

impl OwnRedis {
    pub async fn start() -> OwnRedis {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        OwnRedis::start_on(free.port()).await
    }

    /// A Redis on a port that another one has left.
    pub async fn start_on(port: u16) -> OwnRedis {
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server");
        let redis = OwnRedis { child, port, url: format!("redis://127.0.0.1:{port}/") };
        until("Redis", async || redis.command("PING").await.is_ok()).await;
        redis
    }

    /// Forgets everything.
    pub async fn flush(&self) {
        self.command("FLUSHALL").await.unwrap();
    }

    async fn command(&self, name: &str) -> redis::RedisResult<String> {
        let client = redis::Client::open(self.url.as_str())?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        redis::cmd(name).query_async(&mut connection).await
    }
}

impl Drop for OwnRedis {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
