//! The door: hands the arguments to the command line and turns an error into an exit code.

use std::process::ExitCode;
use std::time::Duration;

/// How long threads that still work may take when all else has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::from(error)),
    };
    let ended = runtime.block_on(secchi::cli::run(std::env::args_os().collect()));
    // A thread that waits for a database which is gone holds up nothing.
    runtime.shutdown_timeout(LAST_WORDS);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

#[expect(clippy::print_stderr, reason = "an error is told to the user")]
fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::from(secchi::cli::exit::exit_code(error))
}
