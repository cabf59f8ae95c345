//! `secchi build questions`: from annotated videos to questions with their keys.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};

use crate::benchmark::building::annotation::{
    Annotation, Annotations, CaptionsFrom, read_annotations, read_captions,
};
use crate::benchmark::building::captioning::MAX_WORDS;
use crate::benchmark::building::distractors::Values;
use crate::benchmark::building::drafting::{Drafting, PROMPT, lacking};
use crate::benchmark::building::files::{records, write_file};
use crate::benchmark::building::giveaway::{Guess, doubtful, guesses};
use crate::benchmark::building::questions::{Built, build_questions};
use crate::benchmark::release::{ReleaseContent, read_release};
use crate::benchmark::summary::{Summary, summarize};

use super::super::exit::{Exit, help};
use super::super::report::{bar, counted, table};
use super::endpoint::{EndpointArgs, Spent};
use super::{ended, faulty, guesses_json, guesses_table, open, prompt, some_of};

/// Make the questions of annotated videos
///
/// Six to nine questions a video by the paper's rules. Wrong options are written by a model, one call a video, or drawn from
/// what is annotated for other videos. Every reply is kept in a journal: the same command goes on where it was stopped, and
/// the same annotations, replies and seed give the same file.
#[derive(Debug, Args)]
#[command(after_help = help(
    "  secchi build questions --annotations annotations.jsonl --out questions.jsonl\n  secchi build questions --annotations annotations.jsonl --captions captions.jsonl \\\n    --base-url http://127.0.0.1:8000/v1 --model Qwen3 --price-in 0.5 --price-out 2 --budget-usd 20"
))]
pub struct QuestionsArgs {
    /// The annotations, one JSON object a video and line
    #[arg(long, value_name = "FILE")]
    annotations: PathBuf,
    /// Captions by `id`, as `secchi build captions` writes them [default: the annotations' own]
    #[arg(long, value_name = "FILE")]
    captions: Option<PathBuf>,
    /// The questions
    #[arg(long, value_name = "FILE", default_value = "questions.jsonl")]
    out: PathBuf,
    /// What is left to chance follows from this number
    #[arg(long, default_value_t = 16080)]
    seed: u64,
    /// Percent of a type's questions that a rule which sees no video may surely guess
    #[arg(long, value_name = "PERCENT", default_value_t = 35.0)]
    max_guessed: f64,
    /// Write the questions also where more can be guessed
    #[arg(long)]
    accept_guessable: bool,
    /// Where a model's replies are kept [default: beside the questions, ending in `.journal.jsonl`]
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// A folder whose `distractors.md` replaces the prompt
    #[arg(long, value_name = "DIR", env = "SECCHI_PROMPTS_DIR")]
    prompts_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

/// Builds the questions and writes them.
///
/// # Errors
/// When a file is faulty, a model gives no replies, or too much can be guessed.
pub async fn questions(arguments: QuestionsArgs) -> anyhow::Result<()> {
    let path = &arguments.annotations;
    let captions = match &arguments.captions {
        Some(path) => Some(read_captions(open(path)?).map_err(|error| faulty(path, error))?),
        None => None,
    };
    let captions = match &captions {
        Some(captions) => CaptionsFrom::There(captions, "in the file of captions"),
        None => CaptionsFrom::Here,
    };
    let annotations = read_annotations(open(path)?, captions).map_err(|error| faulty(path, error))?;
    let (drafted, asked) = drafts(&arguments, &annotations).await?;
    let built = build_questions(&annotations.videos, &drafted, arguments.seed)
        .map_err(|error| faulty(path, error))?;
    let text = records(&built.content)?;
    // What comes out must be what an import takes.
    read_release(text.as_bytes()).map_err(|error| faulty(&arguments.out, error))?;
    let guesses = guesses(&built.content);
    let above: Vec<&Guess> = guesses.iter().filter(|guess| guess.is_above(arguments.max_guessed)).collect();
    if !above.is_empty() && !arguments.accept_guessable {
        return Err(too_easy(&above, &guesses, arguments.max_guessed));
    }
    write_file(&arguments.out, &text).with_context(|| format!("`{}`", arguments.out.display()))?;
    let told = Told {
        arguments: &arguments,
        annotations: &annotations,
        built: &built,
        guesses: &guesses,
        asked: asked.as_ref(),
    };
    println!("{}", if arguments.json { told.json().to_string() } else { told.lines() });
    Ok(())
}

/// Wrong values that a model writes, where one is named.
async fn drafts(
    arguments: &QuestionsArgs,
    annotations: &Annotations,
) -> anyhow::Result<(HashMap<String, Values>, Option<Spent>)> {
    let Some(asked) = arguments.endpoint.model(None)? else {
        arguments.endpoint.prices()?;
        return Ok(Default::default());
    };
    let prompt = prompt(arguments.prompts_dir.as_deref(), "distractors.md", PROMPT)?;
    if let Some(slot) = lacking(&prompt) {
        return Err(
            Exit::Refused.with(format!("the prompt `distractors.md` must hold `{slot}` exactly once"))
        );
    }
    let path = arguments.journal.clone().unwrap_or_else(|| arguments.out.with_extension("journal.jsonl"));
    let asking = arguments.endpoint.asking(&path)?;
    let drafting = Drafting { asking: &asking, asked: &asked, prompt: &prompt };
    let bar =
        bar("wrong options", "{msg} {bar:30} {pos}/{len} {per_sec} {eta}", annotations.videos.len() as u64);
    let drafted = drafting.draft(&annotations.videos, || bar.inc(1)).await;
    bar.finish_and_clear();
    Ok((drafted.map_err(ended)?, Some(Spent::of(&asking))))
}

fn too_easy(above: &[&Guess], guesses: &[Guess], bound: f64) -> anyhow::Error {
    let named: Vec<String> = above
        .iter()
        .map(|guess| {
            format!(
                "`{}` by `{}` ({:.1} % of {})",
                guess.question_type,
                guess.rule,
                guess.percent(),
                guess.questions
            )
        })
        .collect();
    Exit::Refused.with(format!(
        "{}\nmore than {bound} % can be guessed without a video: {}; nothing was written. Give another model or prompt, or none, so \
         that options are drawn from the annotations, or `--accept-guessable`",
        guesses_table(guesses),
        named.join(", ")
    ))
}

/// What was built, for who built it.
struct Told<'a> {
    arguments: &'a QuestionsArgs,
    annotations: &'a Annotations,
    built: &'a Built,
    guesses: &'a [Guess],
    asked: Option<&'a Spent>,
}

impl Told<'_> {
    /// Videos whose movement is of other things alone.
    fn others_move(&self) -> Vec<&str> {
        let videos = self.annotations.videos.iter();
        let is_of_others =
            videos.filter(|video| video.movement_behavior.is_some() && video.central_motion.is_none());
        is_of_others.map(|video| video.id.as_str()).collect()
    }

    /// Captions that are no shorter than a caption may be.
    fn long_captions(&self) -> usize {
        let words = |video: &&Annotation| video.caption.split_whitespace().count();
        self.annotations.videos.iter().filter(|video| words(video) > MAX_WORDS).count()
    }

    fn json(&self) -> Value {
        let content: &ReleaseContent = &self.built.content;
        let Summary { videos, questions, types, .. } = summarize(content);
        let of_type = types.iter().map(|of_type| {
            let letters: BTreeMap<String, usize> =
                of_type.letters.iter().map(|(letter, count)| (letter.to_string(), *count)).collect();
            json!({ "type": of_type.question_type, "dimension": of_type.dimension, "questions": of_type.questions, "letters": letters })
        });
        let multiple_choice = multiple_choice(content);
        json!({
            "out": self.arguments.out, "videos": videos, "questions": questions, "multiple_choice": multiple_choice,
            "open_ended": questions - multiple_choice, "types": of_type.collect::<Vec<_>>(), "sha256": content.sha256(),
            "wrong_values_drawn": self.built.drawn, "guesses": guesses_json(self.guesses), "doubtful": doubtful(content),
            "movement_of_others": self.others_move(), "long_captions": self.long_captions(),
            "unknown_fields": self.annotations.unknown_fields,
            "model": self.asked.map(Spent::json),
        })
    }

    fn lines(&self) -> String {
        let content = &self.built.content;
        let Summary { videos, questions, types, .. } = summarize(content);
        let multiple_choice = multiple_choice(content);
        let rows = types.iter().map(|of_type| {
            let letters: Vec<String> =
                of_type.letters.iter().map(|(letter, count)| format!("{letter} {count}")).collect();
            let named = [
                of_type.question_type.to_string(),
                of_type.dimension.to_owned(),
                of_type.questions.to_string(),
            ];
            named.into_iter().chain([letters.join("  ")]).collect()
        });
        let mut lines = vec![
            table(&["type", "dimension", "questions", "right letters"], rows),
            format!(
                "{} of {} in `{}`: {multiple_choice} multiple choice, {} open-ended",
                counted(questions as u64, "question"),
                counted(videos as u64, "video"),
                self.arguments.out.display(),
                questions - multiple_choice
            ),
            guesses_table(self.guesses),
        ];
        if let Some(asked) = self.asked {
            let drawn = self.built.drawn;
            lines.push(format!(
                "{}; {drawn} wrong values were drawn from the annotations instead",
                asked.line()
            ));
        }
        let above = self.guesses.iter().filter(|guess| guess.is_above(self.arguments.max_guessed));
        lines.extend(
            above.map(|guess| {
                format!("warning: `{}` can be guessed by `{}`", guess.question_type, guess.rule)
            }),
        );
        let others = self.others_move();
        if !others.is_empty() {
            let words = "whose movement is of other things have no question about it; `central_object_motion` in the annotation decides otherwise";
            lines.push(format!("{} {words}: {}", counted(others.len() as u64, "video"), some_of(&others)));
        }
        let long = self.long_captions();
        if long > 0 {
            lines.push(format!(
                "{} of {} words or more, which the question does not allow",
                counted(long as u64, "caption"),
                MAX_WORDS + 1
            ));
        }
        for (name, count) in &self.annotations.unknown_fields {
            lines.push(format!(
                "`{}` is no field of an annotation and was not used ({count} times)",
                name.escape_debug()
            ));
        }
        lines.join("\n")
    }
}

fn multiple_choice(content: &ReleaseContent) -> usize {
    content.questions.iter().filter(|question| !question.options.is_empty()).count()
}
