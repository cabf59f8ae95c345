//! `secchi build captions` against a stand-in for three models that looks at what it is shown, and is killed in the middle.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::clips::{WHOLE, clip};
use crate::odd_server::{http, odd_server};
use crate::process::until;
use crate::program::{Ended, run, secchi as program};

/// Who is asked, by what only their prompts say.
const STEPS: [(&str, &str); 3] =
    [("captioner", "eight pictures"), ("reviewer", "eight aspects"), ("refiner", "You are an editor")];

const ASPECTS: [&str; 8] = [
    "objects",
    "appearance",
    "environment",
    "lighting",
    "clarity",
    "behavior",
    "camera_angle",
    "camera_position",
];

/// What a reply is instead, by step, the words that were said, and how often they were said before.
type Whim = fn(step: &str, words: &str, before: usize) -> Option<String>;

struct Models {
    base: String,
    /// How often each step was asked the same.
    asked: Arc<Mutex<HashMap<(&'static str, String), usize>>>,
}

impl Models {
    async fn start(whim: Whim) -> Models {
        let asked = Arc::<Mutex<HashMap<(&'static str, String), usize>>>::default();
        let counts = asked.clone();
        let base = odd_server(move |_, text| {
            let body = text.split_once("\r\n\r\n").unwrap().1;
            let request: Value = serde_json::from_str(body).unwrap();
            let (words, pictures) = said(&request);
            let (step, _) = STEPS.into_iter().find(|(_, mark)| words.contains(mark)).unwrap();
            assert_eq!(pictures.is_some(), step == "captioner", "{words}");
            let about = pictures.unwrap_or_else(|| digest(&words));
            let before = {
                let mut counts = counts.lock().unwrap();
                let count = counts.entry((step, about.clone())).or_default();
                *count += 1;
                *count - 1
            };
            let reply = whim(step, &words, before).unwrap_or_else(|| match step {
                "captioner" => format!("\"Caption: a fish {about} swims.\""),
                "reviewer" => marks(&words),
                _ => format!("Corrected Caption: a better fish\n{} swims.", &about[..6]),
            });
            completion(&reply)
        })
        .await;
        Models { base: format!("{base}/v1"), asked }
    }

    fn calls(&self, step: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|((of, _), _)| *of == step).map(|(_, count)| count).sum()
    }
}

/// The words of a request and, where it shows eight pictures, a hash of these.
fn said(request: &Value) -> (String, Option<String>) {
    let content = &request["messages"][0]["content"];
    let Some(parts) = content.as_array() else { return (content.as_str().unwrap().to_owned(), None) };
    let pictures = parts.iter().filter_map(|part| part["image_url"]["url"].as_str()).collect::<Vec<_>>();
    assert!(pictures.len() == 8 && pictures.iter().all(|url| url.starts_with("data:image/jpeg;base64,/9j/")));
    assert_eq!(parts[8]["type"], "text");
    (parts[8]["text"].as_str().unwrap().to_owned(), Some(digest(&pictures.concat())))
}

fn digest(text: &str) -> String {
    Sha256::digest(text)[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Marks that follow from the description alone: below 3.5 of every other one; nothing is noted of the light.
fn marks(words: &str) -> String {
    let number = words.split_once("a fish ").unwrap().1.chars().next().unwrap().to_digit(16).unwrap();
    let mark = if number.is_multiple_of(2) { 3 } else { 4 };
    let of_aspects: HashMap<&str, Option<u32>> =
        ASPECTS.iter().map(|aspect| (*aspect, (*aspect != "lighting").then_some(mark))).collect();
    format!("Here you are:\n```json\n{}\n```", json!(of_aspects))
}

fn completion(text: &str) -> Vec<u8> {
    let body = json!({
        "id": "c", "object": "chat.completion", "model": "stand-in",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010},
    });
    http("200 OK", "content-type: application/json\r\n", &body.to_string())
}

/// Annotated videos with these clips as their files, and the videos' ids.
fn lay(folder: &Path, clips: &[&str]) -> Vec<String> {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/building/annotations.jsonl");
    let (mut annotations, mut ids) = (String::new(), Vec::new());
    for (line, name) in std::fs::read_to_string(fixture).unwrap().lines().zip(clips) {
        let mut annotation: Value = serde_json::from_str(line).unwrap();
        annotation["caption"] = Value::Null;
        let [collection, file] =
            ["collection", "video_file"].map(|field| annotation[field].as_str().unwrap());
        ids.push(format!("{collection}--{}", file.rsplit_once('.').unwrap().0));
        let place = folder.join("videos").join(collection).join(file);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::copy(clip(name), place).unwrap();
        annotations.push_str(&format!("{annotation}\n"));
    }
    std::fs::write(folder.join("annotations.jsonl"), annotations).unwrap();
    ids
}

fn build(folder: &Path, models: &Models, more: &[&str]) -> Command {
    let common =
        ["build", "captions", "--annotations", "annotations.jsonl", "--videos", "videos", "--model", "m"];
    let mut command = program(folder, &common);
    command.args(["--base-url", &models.base, "--concurrency", "2"]).args(more);
    command
}

fn built(folder: &Path, models: &Models, more: &[&str]) -> Ended {
    run(&mut build(folder, models, more))
}

fn lines(folder: &Path, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_description_is_marked_against_the_annotation_and_rewritten_where_the_mark_is_low() {
    let (folder, models) = (tempfile::tempdir().unwrap(), Models::start(|_, _, _| None).await);
    lay(folder.path(), &WHOLE);
    let priced = ["--json", "--price-in", "1", "--price-out", "100"];
    let summary = built(folder.path(), &models, &priced).json();
    let captions = lines(folder.path(), "captions.jsonl");
    assert_eq!((captions.len(), &summary["videos"]), (WHOLE.len(), &json!(WHOLE.len())));
    let mut refined = 0;
    for line in &captions {
        let (synthetic, score) = (line["synthetic"].as_str().unwrap(), line["score"].as_f64().unwrap());
        assert!(synthetic.starts_with("a fish ") && synthetic.ends_with(" swims."), "{line}");
        assert!(line["marks"]["lighting"].is_null() && line["marks"]["objects"] == score, "{line}");
        let (by, caption) = (line["by"].as_str().unwrap(), line["caption"].as_str().unwrap());
        if score < 3.5 {
            refined += 1;
            assert!(
                by == "refiner" && caption.starts_with("a better fish ") && line["refined"] == caption,
                "{line}"
            );
        } else {
            assert!(by == "captioner" && caption == synthetic && line["refined"].is_null(), "{line}");
        }
    }
    assert!(0 < refined && refined < captions.len() && summary["refined"] == refined, "{summary}");
    let replies = 2 * WHOLE.len() + refined;
    assert_eq!(
        ["captioner", "reviewer", "refiner"].map(|step| models.calls(step)).iter().sum::<usize>(),
        replies
    );
    let cost = summary["model"]["cost_usd"].as_f64().unwrap();
    assert!((cost - replies as f64 * 0.002).abs() < 1e-9, "{summary}");
    // A higher tau asks the refiner alone.
    let calls = models.calls("refiner");
    let summary = built(folder.path(), &models, &["--json", "--tau", "5"]).json();
    assert_eq!(
        (&summary["refined"], models.calls("refiner")),
        (&json!(WHOLE.len()), calls + WHOLE.len() - refined)
    );
    assert_eq!((models.calls("captioner"), models.calls("reviewer")), (WHOLE.len(), WHOLE.len()));
    // Questions are built on them.
    let questions = [
        "build",
        "questions",
        "--annotations",
        "annotations.jsonl",
        "--captions",
        "captions.jsonl",
        "--json",
    ];
    let questions = run(program(folder.path(), &questions).arg("--accept-guessable")).json();
    assert_eq!(questions["videos"], WHOLE.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_killed_goes_on_and_pays_for_nothing_twice() {
    let (whole, models) = (tempfile::tempdir().unwrap(), Models::start(|_, _, _| None).await);
    lay(whole.path(), &WHOLE);
    built(whole.path(), &models, &[]).stdout();
    let calls = models.asked.lock().unwrap().values().sum::<usize>();
    let (killed, models) = (tempfile::tempdir().unwrap(), Models::start(|_, _, _| None).await);
    lay(killed.path(), &WHOLE);
    for asked in [1, 6, 14] {
        let mut command = build(killed.path(), &models, &[]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("calls", async || models.asked.lock().unwrap().values().sum::<usize>() >= asked).await;
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!killed.path().join("captions.jsonl").exists());
    }
    built(killed.path(), &models, &[]).stdout();
    for name in ["captions.jsonl", "captions.review.csv"] {
        let [one, other] = [&whole, &killed].map(|folder| std::fs::read(folder.path().join(name)).unwrap());
        assert_eq!(one, other, "{name}");
    }
    let again = models.asked.lock().unwrap().values().sum::<usize>() - calls;
    assert!(again <= 3 * 2, "{again} calls twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_write_under_correction_is_the_caption() {
    let (folder, models) = (tempfile::tempdir().unwrap(), Models::start(|_, _, _| None).await);
    lay(folder.path(), &WHOLE[..3]);
    built(folder.path(), &models, &[]).stdout();
    let review = folder.path().join("captions.review.csv");
    let mut table = csv::Reader::from_path(&review).unwrap();
    let header = table.headers().unwrap().clone();
    let mut rows: Vec<Vec<String>> =
        table.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
    let scores: Vec<f64> = rows.iter().map(|row| row[2].parse().unwrap()).collect();
    assert!(scores.is_sorted(), "what needs a look comes first: {scores:?}");
    let correction = header.iter().position(|name| name == "correction").unwrap();
    rows[0][correction] = "'-5 m deep, a wrasse\nrests.".to_owned();
    let mut changed = csv::Writer::from_path(&review).unwrap();
    changed.write_record(&header).unwrap();
    rows.iter().for_each(|row| changed.write_record(row).unwrap());
    changed.flush().unwrap();
    for _ in 0..2 {
        let summary = built(folder.path(), &models, &["--json"]).json();
        assert_eq!(summary["corrected"], 1);
        let captions = lines(folder.path(), "captions.jsonl");
        let corrected = captions.iter().find(|line| line["id"] == rows[0][0]).unwrap();
        assert_eq!(
            (&corrected["caption"], &corrected["by"]),
            (&json!("-5 m deep, a wrasse rests."), &json!("person"))
        );
    }
    std::fs::write(&review, "a,b\n1,2\n").unwrap();
    let refused = built(folder.path(), &models, &[]);
    assert!(
        refused.code == Some(2) && refused.stderr.contains("no columns `id` and `correction`"),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_video_that_is_missing_or_damaged_or_gets_no_marks_is_named_and_keeps_no_other_from_its_caption() {
    let models = Models::start(|step, words, _| {
        let is_odd = step == "reviewer" && words.contains("gorgonian sea fan");
        is_odd.then(|| "{\"objects\": 7}".to_owned())
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let ids = lay(folder.path(), &[WHOLE[0], WHOLE[1], "truncated_no_index.mp4", WHOLE[2]]);
    std::fs::remove_file(folder.path().join("videos/MVK/GX010123.trim.v2.mp4")).unwrap();
    let ended = built(folder.path(), &models, &[]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    for words in [
        format!("no file in `videos`: {}", ids[3]),
        format!("`{}`: 3 replies", ids[1]),
        format!("`{}`: the file is no video", ids[2]),
    ] {
        assert!(ended.stderr.contains(&words), "{words}: {}", ended.stderr);
    }
    let captions = lines(folder.path(), "captions.jsonl");
    assert!(captions.len() == 1 && captions[0]["id"] == ids[0], "{captions:?}");
    assert_eq!(models.calls("reviewer"), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_kept_and_a_higher_one_goes_on() {
    let (folder, models) = (tempfile::tempdir().unwrap(), Models::start(|_, _, _| None).await);
    lay(folder.path(), &WHOLE[..4]);
    // A captioner's call may take 8 pictures, its words and a whole reply: some $0.0104.
    let priced = ["--price-in", "1", "--price-out", "1", "--budget-usd"];
    let ended = built(folder.path(), &models, &[&priced[..], &["0.013"]].concat());
    assert!(ended.code == Some(3) && ended.stderr.contains("the budget is used up"), "{ended:?}");
    assert!((1..12).contains(&models.calls("captioner")) && !folder.path().join("captions.jsonl").exists());
    let none =
        built(folder.path(), &models, &[&priced[..], &["0.001"], &["--journal", "other.jsonl"]].concat());
    assert!(none.stderr.contains("$0.00 are spent"), "{none:?}");
    let before = models.calls("captioner");
    let summary = built(folder.path(), &models, &[&priced[..], &["1", "--json"]].concat()).json();
    assert_eq!((&summary["videos"], models.calls("captioner") > before), (&json!(4), true));
    let spent = summary["model"]["cost_usd"].as_f64().unwrap();
    let replies = summary["model"]["replies"].as_f64().unwrap();
    assert!((spent - replies * 0.00101).abs() < 1e-9, "{summary}");
}
