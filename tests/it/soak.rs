//! The whole test split against the simulated judge of the shared material, with real processes: wall time, limits,
//! every fault, mixtures and kills. Takes long, so `make soak` runs it; without the material each part says so and passes.
#![expect(clippy::print_stderr, reason = "a part that is left out says so")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use chrono::DateTime;
use serde_json::{Value, json};
use tempfile::TempDir;

use secchi::domain::question::Split;

use crate::full::{generate, generator};
use crate::process::{Process, until};
use crate::stand_in::FAULTS;
use crate::support::{Ground, Options, Secchi, TestTeam, metadata};

const AT_ONCE: usize = 16;
const ANY: &str = "127.0.0.1:0";

/// Answers of a submission that meets one kind of fault; the whole of it would spend its time waiting for probes.
const ANSWERS_A_KIND: usize = 64;

/// Fifteen kinds of trouble, each with one call in fifty; among them some that stop all.
const MIXTURE: [&str; 15] = [
    "http500",
    "http502_html",
    "http503",
    "rate_limit",
    "bare_429",
    "http401",
    "conn_reset",
    "short_body",
    "no_choices",
    "null_content",
    "refusal",
    "length",
    "prose_json",
    "score_float",
    "duplicate_keys",
];

/// A process of the simulated judge; killed when dropped.
struct Sim {
    child: Child,
    base: String,
}

impl Sim {
    /// One whose scores do not depend on the fence, which is another in each database.
    async fn start(script: &Path, options: Value) -> Sim {
        let mut child = Command::new("python3")
            .arg("-B")
            .arg(script)
            .args(["--port", "0", "--set", r#"strip_patterns=["answer-[0-9a-f]{16}"]"#])
            .stdout(Stdio::piped())
            // It complains of every connection that it broke on purpose.
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let base = line.trim().rsplit(' ').next().unwrap().to_owned();
        let sim = Sim { child, base };
        sim.configure(options).await;
        sim
    }

    async fn configure(&self, options: Value) {
        let request = reqwest::Client::new().post(format!("{}/sim/config", self.base)).json(&options);
        let response = request.send().await.unwrap();
        assert!(response.status().is_success(), "{options}: {}", response.text().await.unwrap());
    }

    async fn stats(&self) -> Value {
        reqwest::get(format!("{}/sim/stats", self.base)).await.unwrap().json().await.unwrap()
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The generated benchmark and the simulated judge's program.
struct Material {
    made: TempDir,
    script: PathBuf,
}

impl Material {
    fn at_hand() -> Option<Material> {
        let Some(generator) = generator() else {
            eprintln!("the shared material is not at hand: set SECCHI_SHARED to run this");
            return None;
        };
        let script = generator.parent().unwrap().parent().unwrap().join("judge/judge_sim.py");
        Some(Material { made: generate(&generator), script })
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.made.path().join(name)).unwrap()
    }

    fn predictions(&self, name: &str) -> Vec<u8> {
        self.read(&format!("predictions/{name}.jsonl"))
    }

    /// The first open-ended answers of a file, and no other.
    fn some_answers(&self) -> Vec<u8> {
        let questions = String::from_utf8(self.read("test.jsonl")).unwrap();
        let open_ended: Vec<Value> = questions
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|question| question["question_format"] == "open_ended")
            .map(|question| question["question_id"].clone())
            .take(ANSWERS_A_KIND)
            .collect();
        let answers = String::from_utf8(self.predictions("strong_model")).unwrap();
        let kept = answers
            .lines()
            .filter(|line| open_ended.contains(&serde_json::from_str::<Value>(line).unwrap()["question_id"]));
        kept.map(|line| line.to_owned() + "\n").collect::<String>().into_bytes()
    }
}

/// Processes over the whole release that ask a simulated judge.
struct Rig {
    sim: Sim,
    ground: Ground,
    team: TestTeam,
    flags: Vec<String>,
    server: Process,
    workers: Vec<Process>,
}

impl Rig {
    /// One server, and so many workers where the back end allows it; else the server works.
    async fn new(material: &Material, options: Value, flags: &[&str], workers: usize) -> Rig {
        let sim = Sim::start(&material.script, options).await;
        let base_url = format!("{}/v1", sim.base);
        let judge = ["--judge-base-url", &base_url, "--judge-model", "sim-judge", "--judge-timeout-s", "5"];
        let flags: Vec<String> = judge.iter().chain(flags).map(|flag| (*flag).to_owned()).collect();
        let secchi = Secchi::with(Options { judge: flags.clone(), ..Options::default() }).await;
        secchi.import_as("full", Split::Test, &material.read("test.jsonl")[..]).await;
        let team = secchi.team("ocean-lab").await;
        let ground = secchi.stop().await;
        let workers = if ground.is_shared() { workers } else { 0 };
        let no_worker = if workers > 0 { vec!["--no-worker".to_owned()] } else { Vec::new() };
        let server = Process::serve(&ground, ANY, &[no_worker, flags.clone()].concat());
        let workers = (0..workers).map(|_| Process::worker(&ground, ANY, &flags)).collect();
        Rig { sim, ground, team, flags, server, workers }
    }

    async fn submit(&self, answers: Vec<u8>) -> String {
        self.server.submit(&self.team, &metadata("Reef-8B"), answers).await
    }

    /// Waits for the end as long as stops and probes may take.
    async fn ended(&self, id: &str) -> Value {
        loop {
            let submission = self.server.submission(&self.team, id).await;
            if submission["finished_at"].is_string() {
                return submission;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// What came in each second, from the first.
fn requests_a_second(stats: &Value) -> Vec<u64> {
    let by_second = stats["per_second"].as_object().unwrap();
    let mut seconds: Vec<(u64, u64)> =
        by_second.iter().map(|(second, count)| (second.parse().unwrap(), count.as_u64().unwrap())).collect();
    seconds.sort_unstable();
    seconds.into_iter().map(|(_, count)| count).collect()
}

/// Scores of the file in a run without any trouble.
async fn undisturbed(material: &Material, answers: Vec<u8>) -> Value {
    let rig = Rig::new(material, json!({}), &[], 0).await;
    let id = rig.submit(answers).await;
    let submission = rig.ended(&id).await;
    assert_eq!(submission["state"], "scored");
    submission["scores"].clone()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes long: make soak"]
async fn a_thousand_calls_take_hardly_longer_than_the_judge_itself() {
    let Some(material) = Material::at_hand() else { return };
    let rig = Rig::new(&material, json!({"latency_ms": 200}), &[], 1).await;
    let id = rig.submit(material.predictions("strong_model")).await;
    let submission = rig.ended(&id).await;
    // As the server tells it: looking every now and then would add to it.
    let instant = |name| DateTime::parse_from_rfc3339(submission[name].as_str().unwrap()).unwrap();
    let wall_s = (instant("finished_at") - instant("created_at")).as_seconds_f64();
    let ideal_s = 1_000.0 * 0.2 / AT_ONCE as f64;
    println!("1,000 calls of 200 ms, {AT_ONCE} at once: {wall_s:.2} s, {:.3} of the ideal", wall_s / ideal_s);
    assert_eq!(submission["state"], "scored");
    assert!(cfg!(debug_assertions) || wall_s <= 1.05 * ideal_s, "{wall_s} s");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes long: make soak"]
async fn a_limit_of_requests_is_used_to_the_full_and_never_passed() {
    let Some(material) = Material::at_hand() else { return };
    for workers in [1, 3] {
        let options = json!({"latency_ms": 100, "rpm": 3000});
        let rig = Rig::new(&material, options, &["--judge-rpm", "3000"], workers).await;
        if workers > 1 && rig.workers.is_empty() {
            break;
        }
        let started = Instant::now();
        let mut ids = Vec::new();
        for file in &["strong_model", "weak_model", "random"][..workers] {
            ids.push(rig.submit(material.predictions(file)).await);
        }
        for id in &ids {
            assert_eq!(rig.ended(id).await["state"], "scored");
        }
        let wall_s = started.elapsed().as_secs_f64();
        let stats = rig.sim.stats().await;
        let a_second = requests_a_second(&stats);
        // Without the second's worth that goes out at once, and the end where answers run out.
        let steady = &a_second[2..a_second.len() - 2];
        let used = steady.iter().sum::<u64>() as f64 / (50 * steady.len()) as f64;
        println!("{workers} worker(s) at 3,000 a minute: {wall_s:.2} s, {:.1} % used", 100.0 * used);
        assert_eq!(stats["rejected"].as_object().unwrap().values().filter(|count| **count != 0).count(), 0);
        assert!(used >= 0.98, "{used}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes long: make soak"]
async fn every_kind_of_fault_of_the_simulated_judge_leaves_the_digits_as_they_are() {
    let Some(material) = Material::at_hand() else { return };
    let expected = undisturbed(&material, material.some_answers()).await;
    for fault in FAULTS {
        let options = json!({"force_fault": fault, "faults_clear_after_n_attempts": 1});
        let rig = Rig::new(&material, options, &[], 1).await;
        let started = Instant::now();
        let id = rig.submit(material.some_answers()).await;
        let submission = rig.ended(&id).await;
        let stats = rig.sim.stats().await;
        println!("{fault:<22} {:<10} {:>6.1} s", submission["state"], started.elapsed().as_secs_f64());
        assert_eq!((&submission["state"], &submission["scores"]), (&json!("scored"), &expected), "{fault}");
        assert_eq!(stats["repeat_after_success"], 0, "{fault}: {stats}");
        assert_eq!(stats["retry_after_violations"], 0, "{fault}: {stats}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes long: make soak"]
async fn a_mixture_of_fifteen_kinds_leaves_the_digits_of_a_thousand_calls_as_they_are() {
    let Some(material) = Material::at_hand() else { return };
    let expected = undisturbed(&material, material.predictions("strong_model")).await;
    let faults: serde_json::Map<String, Value> =
        MIXTURE.iter().map(|fault| ((*fault).to_owned(), json!(0.02))).collect();
    for seed in ["1", "2", "3"] {
        let options = json!({"faults": faults, "fault_seed": seed, "latency_ms": 20, "jitter_ms": 20});
        let rig = Rig::new(&material, options, &[], 1).await;
        let started = Instant::now();
        let id = rig.submit(material.predictions("strong_model")).await;
        let submission = rig.ended(&id).await;
        let stats = rig.sim.stats().await;
        println!(
            "mixture {seed}: {} in {:.0} s, tries {}",
            submission["state"],
            started.elapsed().as_secs_f64(),
            stats["attempts_histogram"]
        );
        assert_eq!((&submission["state"], &submission["scores"]), (&json!("scored"), &expected));
        assert_eq!(
            (&stats["repeat_after_success"], &stats["retry_after_violations"]),
            (&json!(0), &json!(0))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes long: make soak"]
async fn ten_kills_in_a_run_repeat_no_more_than_what_was_under_way() {
    const KILLS: usize = 10;
    let Some(material) = Material::at_hand() else { return };
    let expected = undisturbed(&material, material.predictions("strong_model")).await;
    let mut rig = Rig::new(&material, json!({"latency_ms": 200}), &[], 1).await;
    let id = rig.submit(material.predictions("strong_model")).await;
    for kill in 1..=KILLS {
        let calls = async || rig.sim.stats().await["distinct_prompts"].as_u64().unwrap() as usize;
        until("calls", async || calls().await >= kill * 80).await;
        let victim = rig.workers.first_mut().unwrap_or(&mut rig.server);
        victim.kill();
        let metrics = victim.metrics.clone();
        let again = if rig.workers.is_empty() {
            Process::serve(&rig.ground, &metrics, &rig.flags)
        } else {
            Process::worker(&rig.ground, &metrics, &rig.flags)
        };
        *rig.workers.first_mut().unwrap_or(&mut rig.server) = again;
    }
    let submission = rig.ended(&id).await;
    let repeated = rig.sim.stats().await["repeat_after_success"].as_u64().unwrap() as usize;
    println!("{KILLS} kills: {repeated} calls repeated, at most {} were under way", KILLS * AT_ONCE);
    assert_eq!((&submission["state"], &submission["scores"]), (&json!("scored"), &expected));
    assert!(repeated <= KILLS * AT_ONCE, "{repeated}");
}
