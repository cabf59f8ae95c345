//! The door: hands the arguments to the command line and turns an error into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::from(error)),
    };
    match runtime.block_on(secchi::cli::run(std::env::args_os().collect())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

#[expect(clippy::print_stderr, reason = "an error is told to the user")]
fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}
