//! `secchi build captions`: from videos and what experts noted of them to captions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};

use crate::benchmark::building::annotation::{Annotation, CaptionsFrom, read_annotations};
use crate::benchmark::building::asking::{Fault, Named};
use crate::benchmark::building::captioning::{ASPECTS, CaptionPrompts, Captioned, Captioning, MAX_WORDS};
use crate::benchmark::building::files::write_file;
use crate::benchmark::files::{Wanted, find_videos};
use crate::domain::spreadsheet::{armed, defused};

use super::super::exit::{Exit, help};
use super::super::report::{bar, counted};
use super::endpoint::{EndpointArgs, Spent};
use super::{ended, faulty, open, prompt, some_of};

/// Make captions of annotated videos
///
/// A captioner describes eight frames of each video, a reviewer marks the description from 0 to 5 against the annotation, and
/// a refiner rewrites it where the mean of the marks is below tau. Every reply is kept in a journal: the same command goes
/// on where it was stopped, and pays for nothing twice.
#[derive(Debug, Args)]
#[command(after_help = help(
    "  secchi build captions --annotations annotations.jsonl --videos videos --base-url http://127.0.0.1:8000/v1 --model Qwen3-VL\n  secchi build captions --annotations annotations.jsonl --videos videos --base-url https://api.example.org/v1 --model big \\\n    --reviewer-model small --price-in 1.25 --price-out 10 --budget-usd 50 --out captions.jsonl"
))]
pub struct CaptionsArgs {
    /// The annotations, one JSON object a video and line
    #[arg(long, value_name = "FILE")]
    annotations: PathBuf,
    /// Folder of the videos' files, by collection or all in one
    #[arg(long, value_name = "DIR")]
    videos: PathBuf,
    /// The captions
    #[arg(long, value_name = "FILE", default_value = "captions.jsonl")]
    out: PathBuf,
    /// What people look through, the lowest scores first; what they write under `correction` is the caption when the
    /// command runs again [default: beside the captions, ending in `.review.csv`]
    #[arg(long, value_name = "FILE")]
    review: Option<PathBuf>,
    /// Mean of the marks below which a description is rewritten
    #[arg(long, default_value_t = 3.5, value_parser = mark)]
    tau: f64,
    /// Frames that the captioner sees
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    frames: u32,
    /// Pixels of a frame's longest side
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(32..=4096))]
    size: u32,
    /// The model that marks [default: the same]
    #[arg(long, value_name = "MODEL", requires = "base_url")]
    reviewer_model: Option<String>,
    /// The model that rewrites [default: the same]
    #[arg(long, value_name = "MODEL", requires = "base_url")]
    refiner_model: Option<String>,
    /// Where the models' replies are kept [default: beside the captions, ending in `.journal.jsonl`]
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// A folder whose `captioner.md`, `reviewer.md` and `refiner.md` replace the prompts
    #[arg(long, value_name = "DIR", env = "SECCHI_PROMPTS_DIR")]
    prompts_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

fn mark(text: &str) -> Result<f64, String> {
    let mark = text.parse().ok().filter(|mark: &f64| (0.0..=5.0).contains(mark));
    mark.ok_or_else(|| "give a number from 0 to 5".to_owned())
}

/// Makes the captions and writes them.
///
/// # Errors
/// When a file is faulty or a video has no file, or models give no replies.
pub async fn captions(arguments: CaptionsArgs) -> anyhow::Result<()> {
    let path = &arguments.annotations;
    let annotated =
        read_annotations(open(path)?, CaptionsFrom::Nowhere).map_err(|error| faulty(path, error))?;
    let prompts = prompts(arguments.prompts_dir.as_deref())?;
    let review = arguments.review.clone().unwrap_or_else(|| arguments.out.with_extension("review.csv"));
    let corrections = corrections(&review)?;
    let Filmed { videos, paths, without } = filmed(annotated.videos, &arguments.videos)?;
    let named = |name: Option<&str>| -> anyhow::Result<Named> {
        let model = arguments.endpoint.model(name)?;
        model.ok_or_else(|| {
            Exit::Refused.with("captions are written by a model: give `--base-url` and `--model`")
        })
    };
    let captioner = named(None)?;
    let reviewer = named(arguments.reviewer_model.as_deref())?;
    let refiner = named(arguments.refiner_model.as_deref())?;
    let journal = arguments.journal.clone().unwrap_or_else(|| arguments.out.with_extension("journal.jsonl"));
    let asking = arguments.endpoint.asking(&journal)?;
    let captioning = Captioning {
        asking: &asking,
        captioner: &captioner,
        reviewer: &reviewer,
        refiner: &refiner,
        prompts: &prompts,
        tau: arguments.tau,
        frames: arguments.frames,
        size: arguments.size,
    };
    let bar = bar("captions", "{msg} {bar:30} {pos}/{len} {per_sec} {eta}", videos.len() as u64);
    let ask = async |video: &Annotation| match paths.get(&video.id) {
        Some(path) => captioning.caption(video, path).await,
        None => Err(Fault::Skipped),
    };
    let result = asking.of_all(&videos, ask, || bar.inc(1)).await;
    bar.finish_and_clear();
    // What is wrong with single videos keeps no other one from its caption.
    let (captioned, left) = result.map_err(ended)?;
    let told = Told {
        arguments: &arguments,
        videos: videos.iter().filter_map(|video| Some((video, captioned.get(&video.id)?))).collect(),
        corrections: &corrections,
        without: &without,
        left: &left,
        spent: Spent::of(&asking),
    };
    write_file(&review, &told.review()?).with_context(|| format!("`{}`", review.display()))?;
    write_file(&arguments.out, &told.captions()).with_context(|| format!("`{}`", arguments.out.display()))?;
    println!("{}", if arguments.json { told.json().to_string() } else { told.lines(&review) });
    match told.lacking() {
        lacking if lacking.is_empty() => Ok(()),
        lacking => Err(Exit::Incomplete.with(lacking.join("\n"))),
    }
}

fn has(videos: usize) -> String {
    format!("{} {}", counted(videos as u64, "video"), if videos == 1 { "has" } else { "have" })
}

fn prompts(folder: Option<&Path>) -> anyhow::Result<CaptionPrompts> {
    let CaptionPrompts { captioner, reviewer, refiner } = CaptionPrompts::builtin();
    let prompts = CaptionPrompts {
        captioner: prompt(folder, "captioner.md", &captioner)?,
        reviewer: prompt(folder, "reviewer.md", &reviewer)?,
        refiner: prompt(folder, "refiner.md", &refiner)?,
    };
    match prompts.fault() {
        Some((name, slot)) => {
            Err(Exit::Refused.with(format!("the prompt `{name}` must hold `{slot}` exactly once")))
        }
        None => Ok(prompts),
    }
}

/// What people wrote into the table that they look through, by the video's id.
fn corrections(review: &Path) -> anyhow::Result<HashMap<String, String>> {
    let faulty =
        |detail: String| Exit::Refused.with(format!("`{}`: {detail}; nothing was written", review.display()));
    if !review.exists() {
        return Ok(HashMap::new());
    }
    let mut table = csv::Reader::from_reader(open(review)?);
    let header = table.headers().map_err(|error| faulty(error.to_string()))?.clone();
    let column = |name: &str| header.iter().position(|column| column == name);
    let (Some(id), Some(correction)) = (column("id"), column("correction")) else {
        return Err(faulty(
            "it has no columns `id` and `correction`; it was not made by this command".to_owned(),
        ));
    };
    let mut corrections = HashMap::new();
    for row in table.records() {
        let row = row.map_err(|error| faulty(error.to_string()))?;
        let text = |place: usize| row.get(place).map(armed).unwrap_or_default().to_owned();
        let caption = text(correction).split_whitespace().collect::<Vec<_>>().join(" ");
        if !caption.is_empty() {
            corrections.insert(text(id), caption);
        }
    }
    Ok(corrections)
}

/// Annotated videos and where their files are.
struct Filmed {
    /// Those that have a file.
    videos: Vec<Annotation>,
    /// The files by the video's id.
    paths: HashMap<String, PathBuf>,
    /// The ids of those that have none.
    without: Vec<String>,
}

/// Looks for the file of each video.
fn filmed(annotated: Vec<Annotation>, folder: &Path) -> anyhow::Result<Filmed> {
    let wanted: Vec<Wanted> =
        annotated.iter().map(|video| Wanted::new(&video.collection, &video.video_file)).collect();
    let found = find_videos(&wanted, folder).map_err(|error| Exit::Refused.with(error.to_string()))?;
    let (mut videos, mut paths, mut without) = (Vec::new(), HashMap::new(), Vec::new());
    for (video, path) in annotated.into_iter().zip(found) {
        match path {
            Some(path) => {
                paths.insert(video.id.clone(), path);
                videos.push(video);
            }
            None => without.push(video.id),
        }
    }
    if videos.is_empty() {
        return Err(Exit::Refused.with(format!(
            "`{}` holds none of the {} annotated videos; they are looked for as `COLLECTION/FILE` and as `FILE`",
            folder.display(),
            without.len()
        )));
    }
    Ok(Filmed { videos, paths, without })
}

/// What was made, for who made it.
struct Told<'a> {
    arguments: &'a CaptionsArgs,
    videos: Vec<(&'a Annotation, &'a Captioned)>,
    corrections: &'a HashMap<String, String>,
    without: &'a [String],
    left: &'a [String],
    spent: Spent,
}

impl<'a> Told<'a> {
    /// A video's caption, and who wrote it.
    fn caption(&self, (video, captioned): (&Annotation, &'a Captioned)) -> (&'a str, &'static str) {
        match (self.corrections.get(&video.id), &captioned.refined) {
            (Some(correction), _) => (correction, "person"),
            (None, Some(refined)) => (refined, "refiner"),
            (None, None) => (&captioned.synthetic, "captioner"),
        }
    }

    fn by(&self, who: &str) -> usize {
        self.videos.iter().filter(|made| self.caption(**made).1 == who).count()
    }

    fn captions(&self) -> String {
        let line = |made: &(&'a Annotation, &'a Captioned)| {
            let ((video, captioned), (caption, by)) = (*made, self.caption(*made));
            let line = json!({
                "id": video.id, "caption": caption, "by": by, "synthetic": captioned.synthetic, "score": captioned.score,
                "marks": captioned.marks, "refined": captioned.refined,
            });
            format!("{line}\n")
        };
        self.videos.iter().map(line).collect()
    }

    /// A row a video, what needs a look first.
    fn review(&self) -> anyhow::Result<String> {
        let mut rows = self.videos.clone();
        rows.sort_by(|(one, first), (other, second)| {
            first.score.total_cmp(&second.score).then_with(|| one.id.cmp(&other.id))
        });
        let mut table = csv::Writer::from_writer(Vec::new());
        let head =
            ["id", "video_file", "score", "by", "words", "caption", "correction", "synthetic", "refined"];
        table.write_record(head.into_iter().chain(ASPECTS))?;
        for (video, captioned) in rows {
            let (caption, by) = self.caption((video, captioned));
            let correction = self.corrections.get(&video.id).map_or("", String::as_str);
            let refined = captioned.refined.as_deref().unwrap_or_default();
            let (score, words) = (format!("{:.2}", captioned.score), words(caption).to_string());
            let marks =
                ASPECTS.map(|aspect| captioned.marks.get(aspect).map_or_else(String::new, f64::to_string));
            let texts = [
                &video.id,
                &video.video_file,
                &score,
                by,
                &words,
                caption,
                correction,
                &captioned.synthetic,
                refined,
            ];
            table.write_record(texts.into_iter().map(defused).chain(marks))?;
        }
        Ok(String::from_utf8(table.into_inner()?)?)
    }

    fn too_long(&self) -> Vec<String> {
        let is_long = |made: &&(&'a Annotation, &'a Captioned)| words(self.caption(**made).0) > MAX_WORDS;
        self.videos.iter().filter(is_long).map(|(video, _)| video.id.clone()).collect()
    }

    /// Why there are videos without a caption, if there are.
    fn lacking(&self) -> Vec<String> {
        let mut why = Vec::new();
        if !self.without.is_empty() {
            let (without, folder) = (has(self.without.len()), self.arguments.videos.display());
            why.push(format!("{without} no file in `{folder}`: {}", some_of(self.without)));
        }
        if !self.left.is_empty() {
            let left = has(self.left.len());
            why.push(format!("{left} no caption: {}; the same command tries again", some_of(self.left)));
        }
        why
    }

    /// The mean of the scores; none of no video.
    fn score(&self) -> Option<f64> {
        let scores = self.videos.iter().map(|(_, captioned)| captioned.score);
        (!self.videos.is_empty()).then(|| scores.sum::<f64>() / self.videos.len() as f64)
    }

    fn json(&self) -> Value {
        json!({
            "out": self.arguments.out, "videos": self.videos.len(), "refined": self.by("refiner"), "corrected": self.by("person"), "tau": self.arguments.tau,
            "score": self.score(), "too_long": self.too_long(), "without_file": self.without, "left": self.left,
            "model": self.spent.json(),
        })
    }

    fn lines(&self, review: &Path) -> String {
        let mut lines = vec![format!(
            "{} in `{}`, {} by the refiner (below {}), {} by people; mean score {}",
            counted(self.videos.len() as u64, "caption"),
            self.arguments.out.display(),
            self.by("refiner"),
            self.arguments.tau,
            self.by("person"),
            self.score().map_or_else(|| "unknown".to_owned(), |score| format!("{score:.2}"))
        )];
        lines.push(format!("to be looked through, the lowest scores first: `{}`", review.display()));
        lines.push(self.spent.line());
        let long = self.too_long();
        if !long.is_empty() {
            lines.push(format!(
                "{} of {} words or more: {}",
                counted(long.len() as u64, "caption"),
                MAX_WORDS + 1,
                some_of(&long)
            ));
        }
        lines.join("\n")
    }
}

fn words(caption: &str) -> usize {
    caption.split_whitespace().count()
}
