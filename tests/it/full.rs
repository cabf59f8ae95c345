//! The benchmark at full size: the generator's three splits are imported and its files graded, on the second back end
//! by two worker processes. Runs where the generator is at hand.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::Value;
use tempfile::TempDir;

use secchi::clock::Clock;
use secchi::domain::question::Split;

use crate::grading::{COUNTED, assert_counts};
use crate::support::{Ground, Options, Secchi, TestTeam, metadata};

/// In a debug build on two busy cores the work takes a tenth of this.
const PATIENCE: Duration = Duration::from_secs(240);

/// The folder of the shared material: `SECCHI_SHARED`, or beside the repository.
pub fn generator() -> Option<PathBuf> {
    let shared = std::env::var_os("SECCHI_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let script = shared.join("data/generate.py");
    script.exists().then_some(script)
}

pub fn generate(script: &Path) -> TempDir {
    let folder = TempDir::new().unwrap();
    for part in ["dataset", "predictions"] {
        let mut python = Command::new("python3");
        // The material may be read-only.
        python.arg("-B").arg(script).arg(folder.path()).args(["--only", part]);
        assert!(python.status().unwrap().success(), "{part}");
    }
    folder
}

/// A worker of its own process; ends with the test.
struct Worker {
    process: Child,
    metrics_url: String,
}

impl Worker {
    fn start(ground: &Ground) -> Worker {
        let mut command = Command::new(env!("CARGO_BIN_EXE_secchi"));
        command.arg("worker").env("SECCHI_METRICS_LISTEN", "127.0.0.1:0").env("SECCHI_LOG", "warn");
        command.env("SECCHI_DATABASE_URL", &ground.database_url);
        command.env("SECCHI_REDIS_URL", ground.redis_url.as_ref().unwrap());
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (_, metrics_url) = line.trim().rsplit_once(' ').unwrap_or_else(|| panic!("no worker: {line}"));
        Worker { metrics_url: metrics_url.to_owned(), process }
    }

    /// Pieces of work of this worker that ended so.
    async fn jobs(&self, outcome: &str) -> u64 {
        let text = reqwest::get(&self.metrics_url).await.unwrap().text().await.unwrap();
        let label = format!("outcome=\"{outcome}\"");
        let of_jobs =
            text.lines().filter(|line| line.starts_with("secchi_jobs_total") && line.contains(&label));
        of_jobs.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _it_may_have_ended = self.process.kill();
        let _status = self.process.wait();
    }
}

async fn until_scored(secchi: &Secchi, team: &TestTeam, id: &str) -> Value {
    let started = Instant::now();
    loop {
        let submission = secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
        if submission["finished_at"].is_string() {
            return submission;
        }
        assert!(started.elapsed() < PATIENCE, "{submission}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_benchmark_is_imported_and_graded_exactly() {
    let Some(script) = generator() else {
        eprintln!("the generator is not at hand: set SECCHI_SHARED to run this at full size");
        return;
    };
    let made = generate(&script);
    let read = |name: &str| std::fs::read(made.path().join(name)).unwrap();
    let ground = Ground::new();
    let is_shared = ground.is_shared();
    let workers: Vec<Worker> =
        if is_shared { (0..2).map(|_| Worker::start(&ground)).collect() } else { Vec::new() };
    let options = Options { clock: Some(Clock::System), with_worker: !is_shared, ..Options::default() };
    let secchi = Secchi::on(ground, options).await;
    for split in [Split::Test, Split::Val, Split::Train] {
        secchi.import_as("full", split, &read(&format!("{split}.jsonl"))[..]).await;
    }
    let team = secchi.team("ocean-lab").await;
    let mut ids = Vec::new();
    for name in COUNTED {
        let file = read(&format!("predictions/{name}.jsonl"));
        let submission: Value = secchi.submit(&team, &metadata(name), file).await.json().await.unwrap();
        ids.push(submission["id"].as_str().unwrap_or_else(|| panic!("{submission}")).to_owned());
    }
    let expected: Value = serde_json::from_slice(&read("predictions/EXPECTED.json")).unwrap();
    assert_eq!(expected["questions"], 4020);
    for (name, id) in COUNTED.iter().zip(&ids) {
        assert_counts(name, &until_scored(&secchi, &team, id).await, &expected);
    }
    if is_shared {
        let jobs = async |outcome| join_all(workers.iter().map(|worker| worker.jobs(outcome))).await;
        // The last may not be counted yet.
        assert!(jobs("done").await.iter().sum::<u64>() <= COUNTED.len() as u64);
        assert_eq!(
            jobs("failed").await,
            [0, 0],
            "workers at the same answers do not get in each other's way"
        );
    }
}
