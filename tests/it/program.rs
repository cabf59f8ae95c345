//! The real program as a child process that ends by itself.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::Ground;

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
