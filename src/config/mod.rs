//! Settings: flags, the environment and `secchi.toml`, each beaten by the one before it. The only room that reads the
//! environment. Knows no room that a setting is for.

mod storage;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::{Args, Command, ValueEnum};

pub use storage::{MediaAddress, StoreSettings};

/// The prefix of every environment variable.
const PREFIX: &str = "SECCHI_";

/// What is logged unless said otherwise; the HTTP server's own word on starting and stopping adds nothing.
const DEFAULT_LOG: &str = "info,actix_server=warn";

/// Sets what is logged; no setting, since logging starts before settings are read.
const LOG_VARIABLE: &str = "SECCHI_LOG";

/// The file that is read when `--config` names none and it exists.
const DEFAULT_FILE: &str = "secchi.toml";

/// How work is handed out.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Queue")]
pub struct QueueSettings {
    /// `redis://…`; without it the queue is embedded in the one server
    #[arg(long, env = "SECCHI_REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<String>,
}

/// Where metrics are served.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Metrics")]
pub struct MetricsSettings {
    /// Address of `/metrics`, apart from the public one [default: 127.0.0.1:9464, of a worker 127.0.0.1:9465]
    #[arg(long, env = "SECCHI_METRICS_LISTEN")]
    pub metrics_listen: Option<SocketAddr>,
}

/// What the API and the pages need.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "HTTP")]
pub struct HttpSettings {
    /// Address of the API and the pages
    #[arg(long, env = "SECCHI_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// The address that absolute links begin with [default: the listen address]
    #[arg(long, env = "SECCHI_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// Addresses whose X-Forwarded-For is believed, separated by commas
    #[arg(long, env = "SECCHI_TRUSTED_PROXIES", value_delimiter = ',')]
    pub trusted_proxies: Vec<IpAddr>,
    /// HS256 key of 32 bytes or more [default: made once and kept in the data folder]
    #[arg(long, env = "SECCHI_JWT_SECRET", hide_env_values = true, hide_default_value = true)]
    pub jwt_secret: Option<String>,
    /// Requests a minute for one key or, without one, one address; 0 is none
    #[arg(long, env = "SECCHI_HTTP_RATE_PER_MINUTE", default_value_t = 600)]
    pub http_rate_per_minute: u32,
    /// Seconds that a server goes on serving after SIGTERM while `/readyz` says 503, so that a proxy takes it out first;
    /// requests under way then have a minute, instead of 8 s
    #[arg(long, env = "SECCHI_DRAIN_S", default_value_t = 0)]
    pub drain_s: u64,
    /// Bytes of a prediction file, before and after decompression alike
    #[arg(long, env = "SECCHI_MAX_UPLOAD_BYTES", default_value_t = 67_108_864)]
    pub max_upload_bytes: u64,
    /// How teams come about.
    #[command(flatten)]
    pub signup: SignupSettings,
}

/// Who may sign up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SignupMode {
    /// Nobody; maintainers make teams
    Closed,
    /// Everybody; a maintainer approves
    Approval,
    /// Everybody, at once
    Open,
}

/// How teams come about.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Sign-up")]
pub struct SignupSettings {
    /// Who may sign up: nobody, whom a maintainer approves, or everybody at once
    #[arg(long, env = "SECCHI_SIGNUP", default_value = "approval")]
    pub signup: SignupMode,
    /// `smtps://user:password@host`: new teams get their key by e-mail; needs a binary with the feature `smtp` [default:
    /// the key is told to whoever signed up]
    #[arg(long, env = "SECCHI_SMTP_URL", hide_env_values = true, hide_default_value = true)]
    pub smtp_url: Option<String>,
    /// The address that such e-mail comes from
    #[arg(long, env = "SECCHI_SMTP_FROM")]
    pub smtp_from: Option<String>,
}

impl SignupSettings {
    /// Whether new teams get their key by e-mail.
    ///
    /// # Errors
    /// What is missing, where the settings ask for it and it cannot be done.
    pub fn sends_mail(&self) -> Result<bool, &'static str> {
        match (&self.smtp_url, &self.smtp_from) {
            (None, _) => Ok(false),
            (Some(_), _) if cfg!(not(feature = "smtp")) => Err(
                "SECCHI_SMTP_URL is set, but this binary was built without e-mail; build it with `--features smtp`, or \
                 leave the setting out: the key is then told to whoever signed up",
            ),
            (Some(_), None) => {
                Err("SECCHI_SMTP_URL needs SECCHI_SMTP_FROM, the address that e-mail comes from")
            }
            (Some(_), Some(_)) => Ok(true),
        }
    }
}

/// How many submissions a team may make.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Quota")]
pub struct QuotaSettings {
    /// Accepted test submissions a team and day
    #[arg(long, env = "SECCHI_QUOTA_PER_DAY", default_value_t = 5)]
    pub quota_per_day: u32,
    /// Accepted test submissions a team in all
    #[arg(long, env = "SECCHI_QUOTA_TOTAL", default_value_t = 20)]
    pub quota_total: u32,
    /// Accepted val submissions a team and day
    #[arg(long, env = "SECCHI_QUOTA_VAL_PER_DAY", default_value_t = 20)]
    pub quota_val_per_day: u32,
}

/// Which judge scores open-ended answers, and how it is reached.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Judge")]
pub struct JudgeSettings {
    /// An OpenAI-compatible endpoint; without it the built-in offline judge scores
    #[arg(long, env = "SECCHI_JUDGE_BASE_URL")]
    pub judge_base_url: Option<String>,
    /// The model that judges
    #[arg(long, env = "SECCHI_JUDGE_MODEL", default_value = "gpt-5.5")]
    pub judge_model: String,
    /// The endpoint's key
    #[arg(long, env = "SECCHI_JUDGE_API_KEY", hide_env_values = true, hide_default_value = true)]
    pub judge_api_key: Option<String>,
    /// Calls at once, over all workers that share a Redis
    #[arg(long, env = "SECCHI_JUDGE_MAX_CONCURRENCY", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub judge_max_concurrency: u32,
    /// Requests a minute, over all workers that share a Redis [default: no limit]
    #[arg(long, env = "SECCHI_JUDGE_RPM", value_parser = clap::value_parser!(u32).range(1..))]
    pub judge_rpm: Option<u32>,
    /// Tokens a minute, sent and received, over all workers that share a Redis [default: no limit]
    #[arg(long, env = "SECCHI_JUDGE_TPM", value_parser = clap::value_parser!(u32).range(1..))]
    pub judge_tpm: Option<u32>,
    /// Seconds that one call may take
    #[arg(long, env = "SECCHI_JUDGE_TIMEOUT_S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub judge_timeout_s: u64,
    /// Dollars that judging may cost in a UTC day; then it pauses till the next [default: no limit]
    #[arg(long, env = "SECCHI_JUDGE_BUDGET_USD_PER_DAY", value_parser = dollars)]
    pub judge_budget_usd_per_day: Option<f64>,
    /// Dollars for a million tokens sent
    #[arg(long, env = "SECCHI_JUDGE_PRICE_IN", default_value_t = 0.0, value_parser = dollars)]
    pub judge_price_in: f64,
    /// Dollars for a million tokens sent that the endpoint had in its cache [default: as other tokens sent]
    #[arg(long, env = "SECCHI_JUDGE_PRICE_CACHED", value_parser = dollars)]
    pub judge_price_cached: Option<f64>,
    /// Dollars for a million tokens received
    #[arg(long, env = "SECCHI_JUDGE_PRICE_OUT", default_value_t = 0.0, value_parser = dollars)]
    pub judge_price_out: f64,
    /// Hours after which the judge is asked anew about the answers that people rated, so that drift shows; the calls cost
    /// money [default: never by itself]
    #[arg(long, env = "SECCHI_CALIBRATION_EVERY_HOURS", value_parser = clap::value_parser!(u32).range(1..=8784))]
    pub calibration_every_hours: Option<u32>,
    /// A folder whose files replace the built-in prompts
    #[arg(long, env = "SECCHI_PROMPTS_DIR")]
    pub prompts_dir: Option<PathBuf>,
}

/// Which server a client command speaks to.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub struct ClientSettings {
    /// Address of the server
    #[arg(long, env = "SECCHI_URL", default_value = "http://127.0.0.1:8080")]
    pub url: String,
    /// The team's API key
    #[arg(long, env = "SECCHI_API_KEY", hide_env_values = true, hide_default_value = true)]
    pub api_key: Option<String>,
}

/// What is wrong with `secchi.toml`.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("`{0}` cannot be read: {1}")]
    Read(PathBuf, std::io::Error),
    /// The file is no TOML; the line itself is not repeated, since it may hold a secret.
    #[error("`{0}` is no TOML in line {1}: {2}")]
    Syntax(PathBuf, usize, String),
    /// The file sets something that is no setting.
    #[error("`{0}` sets `{1}`, which is no setting; `secchi serve --help` lists them")]
    UnknownKey(PathBuf, String),
    /// A setting holds something else than text, a number or a list of these.
    #[error("`{0}`: `{1}` must be text, a number or a list of texts")]
    WrongType(PathBuf, String),
}

/// Makes the settings of `file`, or of `secchi.toml` if there is one, the defaults of `command`, which flags and the
/// environment beat. Keys are the variables' names in lower case without the prefix.
///
/// # Errors
/// When the file cannot be read or sets what is no setting.
pub fn with_file(command: Command, file: Option<&Path>) -> Result<Command, ConfigError> {
    let path = match file {
        Some(path) => path,
        None if Path::new(DEFAULT_FILE).exists() => Path::new(DEFAULT_FILE),
        None => return Ok(command),
    };
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Read(path.to_owned(), error))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        ConfigError::Syntax(path.to_owned(), before.matches('\n').count() + 1, error.message().to_owned())
    })?;
    let mut values = Vec::new();
    for (key, value) in table {
        let text =
            setting_text(&value).ok_or_else(|| ConfigError::WrongType(path.to_owned(), key.clone()))?;
        values.push((format!("{PREFIX}{}", key.to_uppercase()), key, text));
    }
    for (variable, key, _) in &values {
        if !knows_variable(&command, variable) {
            return Err(ConfigError::UnknownKey(path.to_owned(), key.clone()));
        }
    }
    Ok(values
        .into_iter()
        .fold(command, |command, (variable, _, text)| set_default(command, &variable, &text)))
}

/// Makes a variable that is set to nothing one that is not set, as files for systemd and Compose write it (`NAME=`).
pub fn without_empty(command: Command) -> Command {
    let is_empty = |argument: &clap::Arg| {
        argument.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty())
    };
    command
        .mut_args(|argument| if is_empty(&argument) { argument.env(Resettable::Reset) } else { argument })
        .mut_subcommands(without_empty)
}

/// The file that `--config` names among the arguments of this process; known before they are parsed, since the file
/// decides the defaults.
pub fn file_argument(arguments: &[std::ffi::OsString]) -> Option<PathBuf> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--config" {
            return arguments.next().map(PathBuf::from);
        }
        if let Some(path) = argument.to_str().and_then(|text| text.strip_prefix("--config=")) {
            return Some(PathBuf::from(path));
        }
    }
    None
}

/// Variables of the environment that look like settings and are none of `command`'s, so that a misspelt one is noticed.
pub fn unknown_variables(command: &Command) -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut unknown: Vec<String> = names
        .filter(|name| name.starts_with(PREFIX) && name != LOG_VARIABLE && !name.starts_with("SECCHI_TEST_"))
        .filter(|name| !knows_variable(command, name))
        .collect();
    unknown.sort_unstable();
    unknown
}

/// Whether traces are asked for; where they go is OpenTelemetry's own to read.
pub fn is_traced() -> bool {
    std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some_and(|value| !value.is_empty())
}

/// Whether the user asks for output without colours (`NO_COLOR`).
pub fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// The log filter of a client command: as [`log_filter`], but of Secchi's own words unless said.
pub fn notes_filter() -> String {
    log_variable().unwrap_or_else(|| format!("secchi={DEFAULT_LOG}"))
}

/// The log filter: `SECCHI_LOG` in the syntax of `tracing`'s directives; `info` unless said.
pub fn log_filter() -> String {
    log_variable().unwrap_or_else(|| DEFAULT_LOG.into())
}

fn log_variable() -> Option<String> {
    std::env::var(LOG_VARIABLE).ok().filter(|filter| !filter.is_empty())
}

/// Reads an amount of money.
fn dollars(text: &str) -> Result<f64, String> {
    let amount: f64 = text.parse().map_err(|_| "it must be a number of dollars".to_owned())?;
    if amount.is_finite() && amount >= 0.0 {
        Ok(amount)
    } else {
        Err("it must be 0 or more dollars".to_owned())
    }
}

fn setting_text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Array(items) => {
            let items: Option<Vec<&str>> = items.iter().map(toml::Value::as_str).collect();
            items.map(|items| items.join(","))
        }
        _ => None,
    }
}

fn knows_variable(command: &Command, variable: &str) -> bool {
    let known = |argument: &clap::Arg| argument.get_env().is_some_and(|name| name == variable);
    command.get_arguments().any(known) || command.get_subcommands().any(|sub| knows_variable(sub, variable))
}

fn set_default(command: Command, variable: &str, text: &str) -> Command {
    let text = text.to_owned();
    let variable = variable.to_owned();
    let concerned = command
        .get_arguments()
        .find(|argument| argument.get_env().is_some_and(|name| name == variable.as_str()))
        .map(|argument| argument.get_id().to_string());
    let command = match concerned {
        Some(id) => command.mut_arg(id, |argument| {
            // What the help does not show of the environment it does not show of the file either.
            let hidden = argument.is_hide_default_value_set() || argument.is_hide_env_values_set();
            argument.default_value(text.clone()).hide_default_value(hidden)
        }),
        None => command,
    };
    command.mut_subcommands(|sub| set_default(sub, &variable, &text))
}

#[cfg(test)]
mod tests {
    use clap::{FromArgMatches, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    struct Probe {
        #[command(flatten)]
        http: HttpSettings,
    }

    fn parse(file: &str, arguments: &[&str]) -> Result<Probe, ConfigError> {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("secchi.toml");
        std::fs::write(&path, file).unwrap();
        let command = with_file(<Probe as clap::CommandFactory>::command(), Some(&path))?;
        let matches = command.get_matches_from(arguments);
        Ok(Probe::from_arg_matches(&matches).unwrap())
    }

    #[test]
    fn the_file_beats_the_default_and_a_flag_beats_the_file() {
        let file = "http_rate_per_minute = 7\ntrusted_proxies = [\"10.0.0.1\", \"10.0.0.2\"]\n";
        let from_file = parse(file, &["secchi"]).unwrap().http;
        assert_eq!(from_file.http_rate_per_minute, 7);
        assert_eq!(from_file.trusted_proxies.len(), 2);
        assert_eq!(from_file.max_upload_bytes, 67_108_864);
        let from_flag = parse(file, &["secchi", "--http-rate-per-minute", "9"]).unwrap().http;
        assert_eq!(from_flag.http_rate_per_minute, 9);
    }

    #[test]
    fn an_unknown_setting_is_named() {
        let error = parse("lisen = \"127.0.0.1:1\"", &["secchi"]).unwrap_err();
        assert!(error.to_string().contains("`lisen`"), "{error}");
    }
}
