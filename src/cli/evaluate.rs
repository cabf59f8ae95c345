//! `secchi evaluate`: a model behind an OpenAI-compatible endpoint is asked every question of a split, each in a
//! conversation of its own, going on where it was stopped.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use futures::{StreamExt as _, stream};
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::domain::question::Split;
use crate::judge::{ApiKey, Endpoint, FaultKind, FinishReason, Model, ModelFault, ModelReply};
use crate::predictions::max_answer_bytes;

use super::answers::{Answers, Logged, Run};
use super::exit::{Ended, Exit, help};
use super::pull::{Plan, pull_into, usual_folder};
use super::pulled::{Folder, Manifest, PulledVideo, Question, Wanted};
use super::report::bar;

/// Questions in a row that no reply came to, of which one more ends the run.
const MAX_OUTAGES: usize = 3;

/// Questions in a row that the endpoint refused, of which one more ends the run.
const MAX_REFUSED: usize = 20;

/// Parameters that say what is asked or how it is answered, and are not the user's.
const OWN: [&str; 4] = ["model", "messages", "stream", "n"];

/// Ask a model every question of a split
///
/// Each question is a conversation of its own: the frames in order as `image_url` parts with JPEG data, then the
/// question's prompt. Answers are appended to the predictions file as they arrive, with model, tokens and time in a log
/// beside it; the same command again goes on where it was stopped. Frames that are not there yet are pulled first.
#[derive(Debug, Args)]
#[command(after_help = help(
    "  secchi evaluate --split val --base-url http://127.0.0.1:8000/v1 --model Qwen/Qwen2.5-VL-7B-Instruct\n  secchi evaluate --split val --base-url http://127.0.0.1:11434/v1 --model llava --param temperature=0 --limit 20"
))]
pub struct EvaluateArgs {
    /// test or val
    #[arg(long)]
    split: Split,
    /// Address of the endpoint up to and without `/chat/completions`
    #[arg(long)]
    base_url: String,
    /// The model's name at the endpoint
    #[arg(long)]
    model: String,
    /// The predictions file; the log beside it ends in `.log.jsonl`
    #[arg(long, value_name = "FILE", default_value = "predictions.jsonl")]
    out: PathBuf,
    /// A folder of `secchi pull`; made if it is not there [default: secchi-data/SPLIT]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Questions that are asked at once
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrency: u16,
    /// Frames that the model is shown; 0 asks it blind
    #[arg(long, default_value_t = 8)]
    frames: u32,
    /// Pixels of a frame's longest side
    #[arg(long, default_value_t = 512)]
    size: u32,
    /// The endpoint's key, if it wants one
    #[arg(long, env = "SECCHI_MODEL_API_KEY", hide_env_values = true, hide_default_value = true)]
    api_key: Option<String>,
    /// Tokens of a reply at most
    #[arg(long)]
    max_tokens: Option<u32>,
    /// A further parameter of each request, its value in JSON; may be given several times
    #[arg(long = "param", value_name = "KEY=JSON", value_parser = parameter)]
    parameters: Vec<(String, Value)>,
    /// Seconds that one try may take
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Ask only the first so many questions
    #[arg(long)]
    limit: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Address of the Secchi server, for what is not pulled yet
    #[arg(long, env = "SECCHI_URL", default_value = "http://127.0.0.1:8080", help_heading = "Server")]
    url: String,
    /// The team's API key there
    #[arg(
        long,
        env = "SECCHI_API_KEY",
        hide_env_values = true,
        hide_default_value = true,
        help_heading = "Server"
    )]
    server_key: Option<String>,
}

/// Asks a model every question that has no answer yet.
///
/// # Errors
/// When the endpoint or the server is not reached or refuses, or a file cannot be written; exit 3 when a question is left.
pub async fn evaluate(arguments: EvaluateArgs) -> anyhow::Result<()> {
    let mut parameters: Map<String, Value> = arguments.parameters.iter().cloned().collect();
    if let Some(max_tokens) = arguments.max_tokens {
        parameters.insert("max_tokens".to_owned(), json!(max_tokens));
    }
    let endpoint = Endpoint {
        base_url: arguments.base_url.clone(),
        api_key: arguments.api_key.clone().filter(|key| !key.is_empty()).map(ApiKey::new),
        timeout: Duration::from_secs(arguments.timeout),
    };
    let model = Model::new(&endpoint, &arguments.model, parameters.clone())
        .map_err(|error| Exit::Refused.with(error.to_string()))?;
    let (folder, manifest) = data(&arguments).await?;
    let mut questions = folder.questions(&manifest)?;
    questions.truncate(arguments.limit.unwrap_or(usize::MAX));
    let run = Run {
        split: arguments.split,
        model: arguments.model.clone(),
        frames: arguments.frames,
        size: arguments.size,
        parameters,
        questions_sha256: manifest.questions_sha256.clone(),
    };
    let mut answers = Answers::open(&arguments.out, &run)?;
    let session =
        Session { model: &model, folder: &folder, videos: &manifest.videos, frames: arguments.frames };
    let mut tally = Tally::default();
    let outcome = session.ask(&questions, arguments.concurrency.into(), &mut answers, &mut tally).await;
    let summary = tally.report(&arguments, &questions, &answers, &model);
    let ended = outcome.err().or_else(|| tally.incomplete(&questions, &answers, &folder));
    match ended {
        Some(ended) if !arguments.json => {
            // The cause comes first, and what was done till then below it.
            Err(ended.exit.with(format!("{}\n{summary}", ended.words)))
        }
        ended => {
            println!("{summary}");
            ended.map_or(Ok(()), |ended| Err(ended.into()))
        }
    }
}

/// The pulled folder, filled if need be.
async fn data(arguments: &EvaluateArgs) -> anyhow::Result<(Folder, Manifest)> {
    let wanted = Wanted { split: arguments.split, n: arguments.frames, size: arguments.size };
    let root = arguments.data.clone().unwrap_or_else(|| usual_folder(arguments.split));
    let mut folder = Folder::new(&root);
    if let Some(manifest) = folder.manifest()?
        && manifest.complete
        && manifest.wanted == wanted
    {
        return Ok((folder, manifest));
    }
    let client = Client::new(&arguments.url, arguments.server_key.as_deref())?;
    let plan = Plan { wanted, videos: false, key: false, concurrency: 8 };
    let pulled = pull_into(&client, &mut folder, &plan).await?;
    Ok((folder, pulled.manifest))
}

/// What came of the questions that were asked.
#[derive(Default)]
struct Tally {
    asked: usize,
    failed: usize,
    without_frames: usize,
    too_long: usize,
    first_fault: Option<String>,
    took: Duration,
}

/// Asking one model about one folder.
struct Session<'a> {
    model: &'a Model,
    folder: &'a Folder,
    videos: &'a [PulledVideo],
    frames: u32,
}

/// What came of one question.
struct Came {
    question: Question,
    took: Duration,
    /// None where its frames are not there.
    result: Option<Result<ModelReply, ModelFault>>,
}

impl Session<'_> {
    /// Asks every question without an answer, and keeps what comes.
    async fn ask(
        &self,
        questions: &[Question],
        concurrency: usize,
        answers: &mut Answers,
        tally: &mut Tally,
    ) -> Result<(), Ended> {
        let is_left = |question: &&Question| !answers.answered.contains(&question.question_id);
        let left: Vec<&Question> = questions.iter().filter(is_left).collect();
        let bar = progress(questions.len(), left.len());
        let started = Instant::now();
        let (mut outages, mut refused) = (0, 0);
        let mut coming =
            stream::iter(left).map(|question| self.ask_one(question)).buffer_unordered(concurrency);
        while let Some(came) = coming.next().await {
            tally.took = started.elapsed();
            let Came { question, took, result } = came;
            let mut logged = Logged { question_id: question.question_id.clone(), ..Logged::default() };
            logged.duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            let Some(result) = result else {
                tally.without_frames += 1;
                continue;
            };
            tally.asked += 1;
            match result {
                Ok(reply) => {
                    (outages, refused) = (0, 0);
                    let is_too_long = reply.text.len() > max_answer_bytes(question.question_format);
                    tally.too_long += usize::from(is_too_long);
                    logged.tries = reply.tries;
                    logged.is_cut = reply.finish_reason == FinishReason::Length;
                    logged.is_empty = reply.text.trim().is_empty();
                    logged.prompt_tokens = reply.usage.map(|usage| usage.prompt_tokens);
                    logged.completion_tokens = reply.usage.map(|usage| usage.completion_tokens);
                    logged.model = Some(reply.model);
                    answers.keep(reply.text, logged)?;
                    bar.inc(1);
                }
                Err(fault) => {
                    logged.tries = fault.tries;
                    logged.error = Some(fault.to_string());
                    answers.note(logged)?;
                    tally.failed += 1;
                    tally.first_fault.get_or_insert_with(|| format!("`{}`: {fault}", question.question_id));
                    let kind = fault.fault.kind;
                    if kind.is_outage() {
                        outages += 1
                    } else {
                        refused += 1
                    }
                    if kind.stops_all() || outages >= MAX_OUTAGES || refused >= MAX_REFUSED {
                        bar.finish_and_clear();
                        return Err(stopped(&fault));
                    }
                }
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    async fn ask_one(&self, question: &Question) -> Came {
        let started = Instant::now();
        let result = match self.content(question) {
            Some(content) => Some(self.model.ask(&content).await),
            None => None,
        };
        Came { question: question.clone(), took: started.elapsed(), result }
    }

    /// The message: the frames in their order, then the prompt; none where a frame is not there.
    fn content(&self, question: &Question) -> Option<Value> {
        if self.frames == 0 {
            return Some(json!(question.prompt));
        }
        let video = self.videos.iter().find(|video| video.id == question.id)?;
        let mut parts = Vec::with_capacity(video.frames.len() + 1);
        for frame in &video.frames {
            let bytes = self.folder.read(&frame.file, &frame.sha256)?;
            let url = format!("data:image/jpeg;base64,{}", STANDARD.encode(bytes));
            parts.push(json!({ "type": "image_url", "image_url": { "url": url } }));
        }
        if parts.len() != self.frames as usize {
            return None;
        }
        parts.push(json!({ "type": "text", "text": question.prompt }));
        Some(json!(parts))
    }
}

/// The bar of a run of which a part is done.
fn progress(questions: usize, left: usize) -> ProgressBar {
    let bar = bar("asking", "{msg:8} {bar:30} {pos}/{len} {per_sec} {eta}", questions as u64);
    bar.set_position((questions - left) as u64);
    bar.reset_eta();
    bar
}

/// Why nothing more is asked.
pub fn stopped(fault: &ModelFault) -> Ended {
    let kind = fault.fault.kind;
    let (exit, what) = match kind {
        FaultKind::Key => {
            (Exit::KeyRefused, "the endpoint refuses the key (`--api-key` or SECCHI_MODEL_API_KEY)")
        }
        FaultKind::MissingModel => (
            Exit::Refused,
            "the endpoint has no such model, or `--base-url` is not what stands before `/chat/completions`",
        ),
        FaultKind::Money => (Exit::Refused, "the endpoint wants to be paid first"),
        kind if kind.is_outage() => (Exit::Unreachable, "the endpoint is not reached or does not answer"),
        _ => (Exit::Refused, "the endpoint refuses one question after the other"),
    };
    // With a wrong key or model, the same command would stop again.
    let is_wrong = matches!(kind, FaultKind::Key | FaultKind::MissingModel | FaultKind::WrongModel);
    let hint = if is_wrong { "" } else { "; the same command goes on where this one stopped" };
    exit.ended(format!("{what}: {fault}{hint}"))
}

impl Tally {
    /// Why a run that came to its end has left questions without an answer, if it has.
    fn incomplete(&self, questions: &[Question], answers: &Answers, folder: &Folder) -> Option<Ended> {
        let is_left = |question: &&Question| !answers.answered.contains(&question.question_id);
        let left = questions.iter().filter(is_left).count();
        let why = match &self.first_fault {
            Some(fault) => format!(" (the first: {fault}); the same command asks them again"),
            None => format!("; `secchi pull` into `{}` looks for their frames again", folder.root.display()),
        };
        (left > 0).then(|| Exit::Incomplete.ended(format!("{left} question(s) have no answer{why}")))
    }

    /// What was done, as JSON or in lines.
    fn report(
        &self,
        arguments: &EvaluateArgs,
        questions: &[Question],
        answers: &Answers,
        model: &Model,
    ) -> String {
        let has_answer = |question: &&Question| answers.answered.contains(&question.question_id);
        let answered = questions.iter().filter(has_answer).count();
        let count = |is: fn(&Logged) -> bool| answers.logged().filter(|logged| is(logged)).count();
        let (empty, cut) = (count(|logged| logged.is_empty), count(|logged| logged.is_cut));
        // Unknown, and not 0, where the endpoint never says.
        let tokens =
            |of: fn(&Logged) -> Option<u64>| answers.logged().filter_map(of).reduce(|sum, more| sum + more);
        let (sent, received) =
            (tokens(|logged| logged.prompt_tokens), tokens(|logged| logged.completion_tokens));
        let left_out = model.left_out();
        let seconds = self.took.as_secs_f64();
        if arguments.json {
            return json!({
                "out": arguments.out, "log": answers.log_path, "questions": questions.len(),
                "answered": answered, "asked": self.asked, "failed": self.failed,
                "without_frames": self.without_frames, "empty": empty, "cut": cut, "too_long": self.too_long,
                "prompt_tokens": sent, "completion_tokens": received, "seconds": seconds,
                "left_out": left_out,
            })
            .to_string();
        }
        let mut lines = vec![
            format!("{answered} of {} questions answered in `{}`", questions.len(), arguments.out.display()),
            format!("asked now: {} in {seconds:.0} s, of which {} failed", self.asked, self.failed),
        ];
        if answered > 0 {
            let told = |tokens: Option<u64>| {
                tokens.map_or("an unknown number of".to_owned(), |count| count.to_string())
            };
            lines.push(format!("{} tokens sent, {} received, over all answers", told(sent), told(received)));
        }
        for (count, words) in [
            (
                self.without_frames,
                "were not asked: frames of their video were not there when they were pulled; `secchi pull` looks again",
            ),
            (empty, "have an empty answer: the model said nothing"),
            (cut, "have an answer that was cut at the token cap; see `--max-tokens`"),
            (self.too_long, "have an answer longer than a submission takes; see `--max-tokens`"),
        ] {
            if count > 0 {
                lines.push(format!("{count} question(s) {words}"));
            }
        }
        lines.extend(left_out.iter().map(|name| format!("the endpoint refuses `{name}`; it was left out")));
        lines.join("\n")
    }
}

/// Reads `key=json`; what is no JSON is taken for text.
fn parameter(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write KEY=JSON, such as temperature=0")?;
    if name.is_empty() || OWN.contains(&name) {
        return Err(format!("`{name}` is not yours to set"));
    }
    Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| json!(value))))
}
