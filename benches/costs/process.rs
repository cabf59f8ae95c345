//! Servers in processes of their own: Secchi, and a bare handler that sends fixed bytes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use actix_web::{App, HttpResponse, HttpServer, web};
use reqwest::multipart::{Form, Part};
use secchi::accounts::{NewTeam, create_team};
use secchi::benchmark::import::{NewRelease, import_release};
use secchi::domain::actor::Actor;
use secchi::domain::question::Split;
use secchi::domain::submission::Feedback;
use secchi::domain::team::Role;
use secchi::store::Store;
use serde_json::{Value, json};

use crate::scaled::Scaled;

/// A child process that ends with its owner.
pub struct Process {
    child: Child,
    /// A program whose output nobody could read any more would end at its next line.
    _output: BufReader<ChildStdout>,
    /// Host and port.
    pub address: String,
}

impl Process {
    /// A figure of /proc/PID/status, in bytes.
    pub fn resident(&self, name: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1024.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Starts a program that prints its address first.
pub fn start(command: &mut Command) -> Process {
    // As in the image; the same for all that are compared.
    command.envs([
        ("MALLOC_ARENA_MAX", "2"),
        ("MALLOC_MMAP_THRESHOLD_", "262144"),
        ("MALLOC_TRIM_THRESHOLD_", "262144"),
    ]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let address = line.trim().rsplit("http://").next().unwrap().to_owned();
    Process { child, _output: output, address }
}

/// Starts this program again as a server that sends `body` to everyone.
pub fn bare_server(body: &[u8]) -> Process {
    let path = std::env::temp_dir().join(format!("secchi-bench-{}", std::process::id()));
    std::fs::write(&path, body).unwrap();
    start(Command::new(std::env::current_exe().unwrap()).arg("bare-server").arg(path))
}

/// Sends the bytes of a file to everyone, until it is killed.
pub fn serve_bare(path: &str) {
    let body = web::Bytes::from(std::fs::read(path).unwrap());
    std::fs::remove_file(path).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = HttpServer::new(move || {
            let body = body.clone();
            let answer = move || {
                std::future::ready(HttpResponse::Ok().content_type("application/json").body(body.clone()))
            };
            App::new().route("/", web::get().to(answer))
        });
        let server = server.bind("127.0.0.1:0").unwrap();
        let mut output = std::io::stdout();
        writeln!(output, "http://{}", server.addrs()[0]).unwrap();
        server.run().await.unwrap();
    });
}

/// Secchi on SQLite with a team that may submit without end.
pub struct Server {
    process: Process,
    _data: tempfile::TempDir,
    key: String,
    http: reqwest::Client,
    /// Host and port.
    pub address: String,
}

impl Server {
    pub async fn start(scaled: &Scaled) -> Server {
        Server::with(scaled, &[]).await
    }

    /// One with further flags.
    pub async fn with(scaled: &Scaled, flags: &[&str]) -> Server {
        let data = tempfile::TempDir::new().unwrap();
        let url = format!("sqlite://{}", data.path().join("secchi.db").display());
        let store = Store::open(&url).await.unwrap();
        let new =
            NewRelease { name: "scaled".into(), split: Split::Test, feedback: Feedback::None, videos: None };
        import_release(&store, &Actor::command_line(), new, scaled.records.as_slice(), None, 0)
            .await
            .unwrap();
        let team = NewTeam { slug: "bench".into(), name: "Bench".into(), email: None, role: Role::Team };
        let (_, key) = create_team(&store, &Actor::command_line(), team, 0).await.unwrap();
        drop(store);
        let mut command = Command::new(env!("CARGO_BIN_EXE_secchi"));
        command
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--metrics-listen",
                "127.0.0.1:0",
                "--http-rate-per-minute",
                "0",
            ])
            .args(["--quota-per-day", "1000000", "--quota-total", "1000000", "--database-url", &url])
            .args(flags)
            .arg("--data-dir")
            .arg(data.path());
        let process = start(&mut command);
        let address = process.address.clone();
        Server { process, _data: data, key, http: reqwest::Client::new(), address }
    }

    /// As of its process.
    pub fn resident(&self, name: &str) -> f64 {
        self.process.resident(name)
    }

    pub async fn submit(&self, file: Vec<u8>) {
        // The same file of the same model again would be the same submission.
        let model_name = uuid::Uuid::now_v7();
        let metadata = json!({
            "split": "test", "model_name": model_name, "access": "closed", "visibility": "public",
        });
        let form = Form::new().text("metadata", metadata.to_string()).part("predictions", Part::bytes(file));
        let url = format!("http://{}/api/v1/submissions", self.address);
        let answer = self.http.post(url).bearer_auth(&self.key).multipart(form).send().await.unwrap();
        let status = answer.status();
        assert_eq!(status, 202, "{}", answer.text().await.unwrap());
    }

    /// Waits until the first submissions are on the board.
    pub async fn wait_until_scored(&self) {
        for _ in 0..600 {
            let board: Value = serde_json::from_slice(&self.board().await).unwrap();
            // Beside it stand the paper's rows and the baselines, which nobody scored.
            let is_scored = |row: &Value| row["reported"] == false && row["blind"] == false;
            if board["rows"].as_array().unwrap().iter().any(is_scored) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("nothing was scored within a minute");
    }

    pub async fn board(&self) -> Vec<u8> {
        let url = format!("http://{}/api/v1/leaderboard", self.address);
        self.http.get(url).send().await.unwrap().bytes().await.unwrap().to_vec()
    }

    pub async fn board_etag(&self) -> String {
        let url = format!("http://{}/api/v1/leaderboard", self.address);
        self.http.get(url).send().await.unwrap().headers()["etag"].to_str().unwrap().to_owned()
    }
}
