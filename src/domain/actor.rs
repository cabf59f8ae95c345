//! Who acts, and from where, as the audit log names them. Knows nothing of requests and commands.

/// What stands for the name and the place of whoever acts at the command line.
const COMMAND_LINE: &str = "command line";

/// Who does something that the audit log keeps, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The team's short name, or `command line`.
    pub name: String,
    /// The address that the request came from, or `command line`; empty where it is not kept.
    pub place: String,
}

impl Actor {
    /// A team that acts from `place`.
    pub fn new(name: impl Into<String>, place: impl Into<String>) -> Actor {
        Actor { name: name.into(), place: place.into() }
    }

    /// Whoever may run commands beside the database.
    pub fn command_line() -> Actor {
        Actor::new(COMMAND_LINE, COMMAND_LINE)
    }
}
