//! The dashboards and rules of `dashboards/`, held against a real Prometheus that scrapes running processes.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use regex::Regex;
use secchi::domain::question::Split;
use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Process, until};
use crate::stand_in::StandIn;
use crate::support::{Ground, Options, Secchi, TestTeam, metadata, sample_bytes};

/// Pieces of expressions that give no data in a sound run, and why. One that gives data all the same is a fault too.
const MEANT_TO_BE_EMPTY: [(&str, &str); 3] = [
    ("ALERTS{", "nothing needs a person"),
    ("{status=~\"5..\"}[1h])) > 0", "no request fails by the server's fault"),
    ("secchi_judge_calibration_", "no calibration set has been judged"),
];

/// The folder of the rules, or of the dashboards.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboards").join(name)
}

/// Whether Debian's `prometheus` is here, with its `promtool`; says so if not.
#[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
fn is_here() -> bool {
    let here = Command::new("promtool").arg("--version").output().is_ok();
    if !here {
        println!("skipped: there is no prometheus; run `make setup`");
    }
    here
}

/// A Prometheus of a test's own; killed when dropped.
struct Prometheus {
    child: Child,
    base: String,
    _folder: TempDir,
}

impl Prometheus {
    /// Scrapes these processes twice a second, as the files of `dashboards/prometheus` say otherwise.
    async fn start(processes: &[(&str, &Process)]) -> Prometheus {
        let own = TempDir::new().unwrap();
        for name in ["objectives.yml", "alerts.yml"] {
            fs::copy(folder("prometheus").join(name), own.path().join(name)).unwrap();
        }
        let config = fs::read_to_string(folder("prometheus/prometheus.yml")).unwrap();
        fs::write(own.path().join("prometheus.yml"), config.replace("15s", "500ms")).unwrap();
        let target = |(name, process): &(&str, &Process)| {
            format!("- labels: {{process: {name}}}\n  targets: [\"{}\"]\n", process.metrics)
        };
        let targets: String = processes.iter().map(target).collect();
        fs::write(own.path().join("targets.yml"), targets).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", own.path().join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", own.path().join("data").display()))
            .arg(format!("--web.listen-address={free}"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let prometheus = Prometheus { child, base: format!("http://{free}"), _folder: own };
        let count = processes.len() as f64;
        until("Prometheus", async || !prometheus.values("count_over_time(up[1h]) > 2").await.is_empty())
            .await;
        until("scraping", async || prometheus.values("sum(up)").await == vec![count]).await;
        prometheus
    }

    /// What the HTTP API says at a path; null while it says nothing.
    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Value {
        let request = reqwest::Client::new().get(format!("{}/api/v1/{path}", self.base)).query(query);
        match request.send().await {
            Ok(response) => response.json().await.unwrap_or_default(),
            Err(_) => Value::Null,
        }
    }

    /// The values of an expression now, of all its series, without what is not a number.
    async fn values(&self, expression: &str) -> Vec<f64> {
        let answer = self.get("query", &[("query", expression)]).await;
        assert_ne!(answer["status"], "error", "{expression}: {answer}");
        let series = answer["data"]["result"].as_array().cloned().unwrap_or_default();
        let values = series.iter().map(|one| one["value"][1].as_str().unwrap().parse::<f64>().unwrap());
        values.filter(|value| !value.is_nan()).collect()
    }

    /// The rules that it has loaded.
    async fn rules(&self) -> Vec<Value> {
        let answer = self.get("rules", &[]).await;
        let groups = answer["data"]["groups"].as_array().unwrap().iter();
        groups.flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Every panel of every dashboard, with the dashboard's title.
fn panels() -> Vec<(String, Value)> {
    let files = fs::read_dir(folder("grafana/dashboards")).unwrap();
    let mut panels = Vec::new();
    for file in files {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let dashboard: Value = serde_json::from_str(&text).unwrap();
        let title = dashboard["title"].as_str().unwrap().to_owned();
        panels.extend(dashboard["panels"].as_array().unwrap().iter().map(|it| (title.clone(), it.clone())));
    }
    panels
}

/// What is asked for in an expression: metrics with their matchers.
fn selectors(expression: &str) -> BTreeSet<String> {
    let selector = Regex::new(r"\b(secchi[a-z0-9_:]+|process_[a-z_]+|up\b)(\{[^}]*\})?").unwrap();
    selector.find_iter(expression).map(|found| found.as_str().to_owned()).collect()
}

fn is_meant_to_be_empty(expression: &str) -> bool {
    MEANT_TO_BE_EMPTY.iter().any(|(piece, _)| expression.contains(piece))
}

/// A server with a worker, and the worker alone where this run has PostgreSQL and Redis.
async fn processes(judge: &StandIn) -> (Ground, TestTeam, Process, Option<(Ground, Process)>) {
    let secchi = Secchi::with(Options { judge: judge.flags(4), ..Options::default() }).await;
    secchi.import(Split::Test, "test.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    let ground = secchi.stop().await;
    let budget = ["--judge-budget-usd-per-day", "100", "--judge-price-in", "1", "--judge-price-out", "1"];
    let mut flags = judge.flags(4);
    flags.extend(budget.map(str::to_owned));
    let any = "127.0.0.1:0";
    if !ground.is_shared() {
        let server = Process::serve(&ground, any, &flags);
        return (ground, team, server, None);
    }
    let other = ground.shared();
    let worker = Process::worker(&other, any, &flags);
    flags.push("--no-worker".to_owned());
    let server = Process::serve(&ground, any, &flags);
    (ground, team, server, Some((other, worker)))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_panel_and_every_rule_has_data_of_a_running_secchi() {
    if !is_here() {
        return;
    }
    let judge = StandIn::start(20).await;
    let (_ground, team, server, worker) = processes(&judge).await;
    let mut scraped = vec![("server", &server)];
    scraped.extend(worker.as_ref().map(|(_, worker)| ("worker", worker)));
    let prometheus = Prometheus::start(&scraped).await;
    let predictions = || sample_bytes("predictions/strong_model.jsonl");
    // The second finds every judgement there.
    for (model, missed) in [("Reef-8B", 1.0), ("Reef-9B", 2.0)] {
        let id = server.submit(&team, &metadata(model), predictions()).await;
        assert_eq!(server.ended(&team, &id).await["state"], "scored");
        for path in ["/", "/api/v1/leaderboard", "/api/v1/nothing"] {
            reqwest::get(format!("{}{path}", server.base)).await.unwrap();
        }
        // A series that is first scraped with the second in it has not increased.
        let seen = async || {
            prometheus.values("sum(secchi_http_requests_total{status=\"404\"})").await == vec![missed]
        };
        until("a scrape", seen).await;
    }

    let rules = prometheus.rules().await;
    let (alerts, records): (Vec<_>, Vec<_>) = rules.iter().partition(|rule| rule["type"] == "alerting");
    let of_panels = panels().into_iter().flat_map(|(_, panel)| panel["targets"].as_array().unwrap().clone());
    let of_panels: Vec<String> =
        of_panels.map(|it| it["expr"].as_str().unwrap().replace("$__rate_interval", "1m")).collect();
    let of_rules = |rules: &[&Value]| -> Vec<String> {
        rules.iter().map(|rule| rule["query"].as_str().unwrap().to_owned()).collect()
    };
    let (of_alerts, of_records) = (of_rules(&alerts), of_rules(&records));
    let all = of_panels.iter().chain(&of_records);
    let of_selectors: BTreeSet<String> = all.clone().chain(&of_alerts).flat_map(|it| selectors(it)).collect();
    assert!(of_panels.len() > 50 && of_alerts.len() > 15 && of_records.len() > 10 && of_selectors.len() > 40);
    let all: BTreeSet<&String> = all.chain(&of_selectors).collect();
    for expression in all {
        if !is_meant_to_be_empty(expression) {
            until(expression, async || !prometheus.values(expression).await.is_empty()).await;
        }
    }
    let empty = of_panels.iter().chain(&of_selectors).filter(|it| is_meant_to_be_empty(it));
    let empty: BTreeSet<&String> = empty.chain(&of_alerts).collect();
    for (piece, why) in MEANT_TO_BE_EMPTY {
        assert!(empty.iter().any(|expression| expression.contains(piece)), "`{piece}` is nowhere: {why}");
    }
    for expression in empty {
        // A scrape that came too late on a busy machine is over with the next one.
        until(expression, async || prometheus.values(expression).await.is_empty()).await;
    }
    // What all servers read in the one ledger no worker tells.
    for gauge in ["secchi_queue_depth", "secchi_submissions_in_state", "secchi_judge_budget_remaining_usd"] {
        let told_by = async |process: &str| {
            !prometheus.values(&format!("{gauge}{{process=\"{process}\"}}")).await.is_empty()
        };
        assert!(told_by("server").await && !told_by("worker").await, "{gauge}");
    }
    // Both submissions were in time.
    assert_eq!(prometheus.values("round(secchi:submissions_late:increase1d)").await, vec![0.0]);
}

#[test]
fn every_rule_is_sound_and_every_alert_is_tested_both_ways() {
    if !is_here() {
        return;
    }
    let run = |arguments: &[&str]| {
        let output = Command::new("promtool").args(arguments).current_dir(folder("prometheus")).output();
        let output = output.unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    };
    run(&["check", "config", "prometheus.yml"]);
    run(&["test", "rules", "tests/objectives.yml", "tests/alerts.yml"]);

    let read = |name: &str| fs::read_to_string(folder("prometheus").join(name)).unwrap();
    let rules = [read("objectives.yml"), read("alerts.yml")].concat();
    let tests = [read("tests/objectives.yml"), read("tests/alerts.yml")].concat();
    let silence = Regex::new(r"\{eval_time: \w+, expr: 'ALERTS[^']*'\}").unwrap();
    let mut count = 0;
    for rule in rules.split("- alert: ").skip(1) {
        count += 1;
        let alert = rule.lines().next().unwrap();
        for part in ["severity: ", "summary: ", "runbook: "] {
            assert!(rule.contains(part), "`{alert}` has no {part}");
        }
        let fires = format!("ALERTS{{alertname=\"{alert}\",alertstate=\"firing\",severity=");
        assert!(tests.contains(&fires), "no test shows that `{alert}` fires");
        let own = tests.split("- name: ").filter(|test| test.lines().next().unwrap().contains(alert));
        let is_silent = own.into_iter().any(|test| silence.is_match(test));
        assert!(is_silent, "no test shows that `{alert}` stays silent");
    }
    assert!(count > 15, "only {count} alerts were found");
}

#[test]
fn every_panel_says_what_it_shows_in_which_unit_and_what_no_data_means() {
    for (dashboard, panel) in panels() {
        let (title, defaults) = (&panel["title"], &panel["fieldConfig"]["defaults"]);
        for said in [title, &panel["description"], &defaults["unit"], &defaults["noValue"]] {
            assert!(said.as_str().is_some_and(|text| !text.is_empty()), "{dashboard}: {panel}");
        }
        // The name that the provisioned data source has.
        assert_eq!(panel["datasource"]["uid"], "secchi-prometheus", "{dashboard}: {title}");
    }
    let source = folder("grafana/provisioning/datasources/prometheus.yml");
    assert!(fs::read_to_string(source).unwrap().contains("uid: secchi-prometheus\n"));
}
