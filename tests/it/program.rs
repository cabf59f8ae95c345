//! The real program as a child process: commands that end, and a server that is stopped.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::Ground;

/// How long anything that is waited for may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program with these arguments, in a folder of the test's own and without the environment of whoever tests.
pub fn secchi(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_secchi"));
    command.args(arguments).current_dir(folder);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SECCHI_") || name == "NO_COLOR" {
            command.env_remove(name);
        }
    }
    command
}

/// What a command came to.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// The standard output of a command that did its work.
    #[track_caller]
    pub fn stdout(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The JSON that a command printed.
    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.stdout()).unwrap()
    }
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Ended {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs a command on a ground's database.
pub fn run_on(ground: &Ground, arguments: &[&str]) -> Ended {
    run(secchi(ground.data.path(), arguments).env("SECCHI_DATABASE_URL", &ground.database_url))
}

/// A server in a process of its own.
pub struct ServerProcess {
    child: Child,
    /// Where the API and the metrics are served, without a slash at the end.
    pub base: String,
    pub metrics: String,
    /// What it writes to standard error.
    pub log: PathBuf,
}

impl ServerProcess {
    /// Starts `secchi serve` on a ground, on free ports and with `settings` in the environment.
    pub fn start(ground: &Ground, settings: &[(&str, &str)]) -> ServerProcess {
        let folder = ground.data.path();
        let log = folder.join("server.log");
        let mut command = secchi(folder, &["serve"]);
        command
            .env("SECCHI_DATABASE_URL", &ground.database_url)
            .env("SECCHI_DATA_DIR", folder)
            .env("SECCHI_LISTEN", "127.0.0.1:0")
            .env("SECCHI_METRICS_LISTEN", "127.0.0.1:0")
            .envs(ground.redis_url.iter().map(|url| ("SECCHI_REDIS_URL", url)))
            .envs(settings.iter().copied())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut address = |before: &str| -> String {
            let line = lines.next().map(Result::unwrap).unwrap_or_default();
            let address = line.strip_prefix(before);
            address
                .unwrap_or_else(|| panic!("{line:?}: {}", std::fs::read_to_string(&log).unwrap()))
                .to_owned()
        };
        let base = address("Secchi serves ");
        let metrics = address("metrics: ");
        ServerProcess { child, base, metrics, log }
    }

    /// Asks the server to stop, waits until it has, and gives what it logged.
    pub fn stop(mut self) -> String {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(asked.success());
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "the server does not stop");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "{status}");
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // After a failed assertion nobody else stops it.
        let _gone_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Asks again and again until `done` says so of the answer, which is given back.
pub async fn until<T>(mut ask: impl AsyncFnMut() -> T, done: impl Fn(&T) -> bool) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = ask().await;
        if done(&answer) {
            return answer;
        }
        assert!(Instant::now() < deadline, "what is waited for does not come");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
