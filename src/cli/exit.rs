//! The exit codes of the client commands: the one place that decides them.

use crate::client::ClientError;

/// What the help of every client command ends with.
pub const EXIT_CODES: &str = "Exit codes:\n  0  done; of a followed submission: scored\n  1  anything else\n  2  refused: \
a faulty file, quota or usage\n  3  incomplete: a submission that ended otherwise than scored, or a part is missing\n  4  \
the server or endpoint was not reached\n  5  the key was refused";

/// What shells tell of a program that ended because its reader had gone (128 and SIGPIPE).
const CLOSED_PIPE: i32 = 141;

/// How a command ends that did not do all of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Anything that no other code stands for.
    Other = 1,
    /// A faulty file, or another thing that the user must change.
    Refused = 2,
    /// A part is missing, or a submission ended otherwise than scored.
    Incomplete = 3,
    /// The server or endpoint was not reached.
    Unreachable = 4,
    /// The key was refused.
    KeyRefused = 5,
}

/// An end with a code and what is told of it.
#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub struct Ended {
    /// The code.
    pub exit: Exit,
    /// What the user is told.
    pub words: String,
}

impl Exit {
    /// The error of a command that ends so, with what the user is told.
    pub fn with(self, words: impl Into<String>) -> anyhow::Error {
        self.ended(words).into()
    }

    /// The same, for who adds to what is told.
    pub fn ended(self, words: impl Into<String>) -> Ended {
        Ended { exit: self, words: words.into() }
    }
}

/// The help below a client command: examples, then the exit codes.
pub fn help(examples: &str) -> String {
    if examples.is_empty() { EXIT_CODES.to_owned() } else { format!("Examples:\n{examples}\n\n{EXIT_CODES}") }
}

/// The exit code that an error ends the program with.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    let exit = match (error.downcast_ref::<Ended>(), error.downcast_ref::<ClientError>()) {
        (Some(ended), _) => ended.exit,
        (None, Some(error)) => exit_of(error),
        (None, None) => Exit::Other,
    };
    exit as u8
}

/// From here on, the program ends without a word when whoever reads its output has gone, as `head` does.
///
/// The signal that other programs end by would also end it when a server closes a connection.
pub fn end_with_the_reader() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let words = panic.payload_as_str().unwrap_or_default();
        if words.starts_with("failed printing to stdout") && words.contains("Broken pipe") {
            std::process::exit(CLOSED_PIPE);
        }
        told(panic);
    }));
}

/// What an error of the client means for the exit code.
pub fn exit_of(error: &ClientError) -> Exit {
    match error {
        ClientError::NoKey | ClientError::KeyForm | ClientError::Address(_) => Exit::Refused,
        ClientError::File(..) => Exit::Other,
        ClientError::Unreachable { .. } | ClientError::Stranger { .. } => Exit::Unreachable,
        ClientError::Damaged(..) => Exit::Incomplete,
        ClientError::Refused(refusal) => match (refusal.status, refusal.code.as_str()) {
            (403, "feedback_withheld") => Exit::Refused,
            (401 | 403, _) => Exit::KeyRefused,
            (429, "quota_exceeded") => Exit::Refused,
            (429 | 500.., _) => Exit::Unreachable,
            _ => Exit::Refused,
        },
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_code_is_found_below_what_was_said_about_it() {
        let error: Result<(), _> = Err(ClientError::NoKey);
        assert_eq!(exit_code(&error.context("while pulling").unwrap_err()), 2);
        assert_eq!(exit_code(&Exit::Incomplete.with("3 are missing")), 3);
        assert_eq!(exit_code(&anyhow::anyhow!("?")), 1);
    }
}
