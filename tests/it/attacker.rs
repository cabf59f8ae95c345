//! A team that tries to read the key off its scores: with the default quota, over simulated days, from what the API tells
//! it, as cleverly as we know. It must not gain two points over its best honest file, and maintainers must see it soon.

use std::collections::{BTreeMap, HashSet};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use reqwest::Method;
use serde_json::{Value, json};

use secchi::domain::question::Split;

use crate::support::{Options, Secchi, TestTeam, metadata};

const DAY_MS: i64 = 86_400_000;

const LABELS: [&str; 4] = ["A", "B", "C", "D"];

/// Looks that the default quota gives.
const LOOKS: usize = 20;

/// Points of `MCQ` that no attack may gain.
const MOST: f64 = 2.0;

/// The multiple-choice types with their columns and how often they occur in the test split.
const TYPES: [(&str, &str, usize); 7] = [
    ("central_object", "MBC-so", 500),
    ("object_detect", "MBC-mo", 500),
    ("central_object_appearance", "PMT", 500),
    ("camera_motion", "PDO", 500),
    ("central_object_motion", "OBK", 380),
    ("environment", "SM-e", 357),
    ("lighting", "SM-l", 283),
];

/// How often the paper's best model is right in each.
const STRONG: [f64; 7] = [1.0, 0.833, 0.9, 0.7, 0.967, 0.833, 0.705];

/// A middling model, which has more to gain.
const MIDDLING: [f64; 7] = [0.8, 0.45, 0.45, 0.45, 0.8, 0.45, 0.45];

/// A file: a letter from 0 to 3 for each question, by type.
type File = [Vec<u8>; 7];

/// Right answers by type, as a team reads them off its scores.
type Counts = [f64; 7];

struct Chance(ChaCha8Rng);

impl Chance {
    fn new(seed: u64) -> Chance {
        Chance(ChaCha8Rng::seed_from_u64(seed))
    }

    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    fn happens(&mut self, share: f64) -> bool {
        (self.0.next_u64() as f64 / u64::MAX as f64) < share
    }

    fn key(&mut self) -> File {
        TYPES.map(|(.., n)| (0..n).map(|_| self.below(4) as u8).collect())
    }

    /// A model that is right in these shares, and else chooses any other letter.
    fn honest(&mut self, key: &File, rates: [f64; 7]) -> File {
        std::array::from_fn(|kind| {
            let letter = |right: &u8| if self.happens(rates[kind]) { *right } else { self.other(*right) };
            key[kind].iter().map(letter).collect()
        })
    }

    fn other(&mut self, letter: u8) -> u8 {
        (letter + 1 + self.below(3) as u8) % 4
    }
}

fn question_id(kind: usize, video: usize) -> String {
    format!("MVK--clip_{video:04}--q{}", kind + 1)
}

/// A release with this key, 500 videos and no open-ended question.
fn release(key: &File) -> Vec<u8> {
    let mut text = String::new();
    for video in 0..500 {
        for (kind, (question_type, ..)) in TYPES.into_iter().enumerate() {
            let Some(right) = key[kind].get(video) else { continue };
            let options = ["north", "east", "south", "west"].map(|word| format!("{word} of {video}"));
            let labelled = std::array::from_fn::<_, 4, _>(
                |place| json!({ "label": LABELS[place], "text": options[place] }),
            );
            let record = json!({
                "question_id": question_id(kind, video), "id": format!("MVK--clip_{video:04}"), "task": "qa",
                "type": question_type, "question_format": "multiple_choice", "collection": "MVK",
                "video_id": format!("clip_{video:04}"), "video_file": format!("clip_{video:04}.mkv"),
                "video_path": format!("MVK/clip_{video:04}.mkv"), "central_object": "fish",
                "question": "Which?", "prompt": "Which?", "options": labelled,
                "answer": LABELS[usize::from(*right)],
                "answer_text": options[usize::from(*right)], "evidence_attributes": { "central_object": "fish" },
            });
            text.push_str(&format!("{record}\n"));
        }
    }
    text.into_bytes()
}

fn written(file: &File) -> Vec<u8> {
    let mut answers = BTreeMap::new();
    for (kind, letters) in file.iter().enumerate() {
        for (video, letter) in letters.iter().enumerate() {
            answers.insert(question_id(kind, video), LABELS[usize::from(*letter)]);
        }
    }
    json!(answers).to_string().into_bytes()
}

/// What `MCQ` is in truth.
fn truth(key: &File, file: &File) -> f64 {
    let share = |kind: usize| {
        let right = key[kind].iter().zip(&file[kind]).filter(|(right, letter)| right == letter).count();
        100.0 * right as f64 / key[kind].len() as f64
    };
    (0..7).map(share).sum::<f64>() / 7.0
}

/// A team that looks at its scores.
struct Team<'a> {
    secchi: &'a Secchi,
    team: TestTeam,
    key: &'a File,
    looks: usize,
    /// How many of them told nothing.
    untold: usize,
    /// The best of those that told something, in truth.
    best: f64,
}

impl<'a> Team<'a> {
    async fn new(secchi: &'a Secchi, slug: &str, key: &'a File) -> Team<'a> {
        Team { secchi, team: secchi.team(slug).await, key, looks: 0, untold: 0, best: 0.0 }
    }

    fn has_looks(&self) -> bool {
        self.looks < LOOKS
    }

    /// Sends a file and reads how many of each type are right, if that is told.
    async fn look(&mut self, file: &File) -> Option<Counts> {
        let (secchi, key) = (self.secchi, Some(self.team.key.as_str()));
        if self.looks > 0 && self.looks.is_multiple_of(5) {
            secchi.clock.advance_ms(DAY_MS);
        }
        // A name of its own each time, published, so that every way to read a score is open.
        let metadata = metadata(&format!("{}-{}", self.team.slug, self.looks));
        if self.looks == 0 {
            let dry = secchi.submission_with("?dry_run=true", &self.team, &metadata, written(file));
            assert!(!dry.send().await.unwrap().text().await.unwrap().contains("scores"));
        }
        let sent = secchi.submit(&self.team, &metadata, written(file)).await;
        assert_eq!(sent.status(), 202, "look {}", self.looks);
        let id = sent.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
        secchi.drain().await;
        self.looks += 1;
        let path = format!("/api/v1/submissions/{id}");
        let seen = secchi.get_json(&path, key).await;
        assert_eq!(seen["state"], "scored");
        // It cannot be had back.
        let cancelled = secchi.request(Method::DELETE, &path, key).send().await.unwrap();
        assert_eq!(cancelled.status(), 409);
        if seen["scores"].get("MCQ").is_none() {
            self.untold += 1;
            self.assert_untold(&id).await;
            return None;
        }
        self.best = self.best.max(truth(self.key, file));
        let mut counts = [0.0; 7];
        for (count, (_, column, n)) in counts.iter_mut().zip(TYPES) {
            *count = (seen["scores"][column]["value"].as_f64().unwrap() * n as f64 / 100.0).round();
        }
        Some(counts)
    }

    /// Nothing that the team can ask for tells what is withheld.
    async fn assert_untold(&self, id: &str) {
        let (secchi, key) = (self.secchi, Some(self.team.key.as_str()));
        for path in [
            format!("/api/v1/submissions/{id}"),
            format!("/api/v1/submissions/{id}/events"),
            format!("/api/v1/submissions/{id}/report"),
            format!("/api/v1/entries/{id}"),
        ] {
            let said = secchi.get(&path, key).await.text().await.unwrap();
            for (_, column, _) in TYPES {
                assert!(!said.contains(&format!("\"{column}\"")), "{path}: {said}");
            }
        }
        for format in ["json", "csv"] {
            let path = format!("/api/v1/leaderboard?all=1&format={format}");
            assert!(!secchi.get(&path, key).await.text().await.unwrap().contains(id), "{format}");
        }
        let withheld = secchi.get(&format!("/api/v1/submissions/{id}/answers"), key).await;
        assert_eq!(withheld.status(), 403);
    }

    /// The first member of the team's series that maintainers were shown.
    async fn flagged_at(&self, maintainer: &TestTeam) -> i64 {
        let page = self.secchi.get_json("/api/v1/admin/series?limit=1000", Some(&maintainer.key)).await;
        let items = page["items"].as_array().unwrap().iter();
        let own = items.filter(|item| item["team"] == self.team.slug.as_str());
        own.map(|item| item["place"].as_i64().unwrap()).min().expect("the series is flagged")
    }
}

/// Changes some answers of each type at random, and keeps what raised the type's score.
async fn climb(team: &mut Team<'_>, chance: &mut Chance, honest: &File, block: usize) -> File {
    let mut kept = honest.clone();
    let mut best = team.look(&kept).await.expect("an honest file's scores");
    while team.has_looks() {
        let mut file = kept.clone();
        for letters in &mut file {
            for _ in 0..block {
                let place = chance.below(letters.len());
                letters[place] = chance.other(letters[place]);
            }
        }
        if let Some(counts) = team.look(&file).await {
            for kind in 0..7 {
                if counts[kind] > best[kind] {
                    best[kind] = counts[kind];
                    kept[kind] = file[kind].clone();
                }
            }
        }
    }
    kept
}

/// What the mixtures of two files of one type told.
#[derive(Default)]
struct Equations {
    /// Per look, 1 for each question on which the first file's answer was sent, -1 for the second's.
    signs: Vec<Vec<f64>>,
    /// By how much the first file's answers are right more often, with those signs.
    sums: Vec<f64>,
}

impl Equations {
    /// The most likely lead of the first file on each question: least squares.
    fn leads(&self, questions: usize) -> Vec<f64> {
        let n = self.signs.len();
        let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
        let mut rows: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                (0..n)
                    .map(|j| dot(&self.signs[i], &self.signs[j]) + if i == j { 1e-6 } else { 0.0 })
                    .collect()
            })
            .collect();
        let mut weights = self.sums.clone();
        for pivot in 0..n {
            let (base, weight) = (rows[pivot].clone(), weights[pivot]);
            for (place, row) in rows.iter_mut().enumerate().filter(|(place, _)| *place != pivot) {
                let factor = row[pivot] / base[pivot];
                row.iter_mut().zip(&base).for_each(|(value, base)| *value -= factor * base);
                weights[place] -= factor * weight;
            }
        }
        (0..n).for_each(|row| weights[row] /= rows[row][row]);
        (0..questions).map(|place| (0..n).map(|row| weights[row] * self.signs[row][place]).sum()).collect()
    }
}

/// Mixes two honest files at random where they differ, and works out from the exact counts which is right where.
async fn mix(team: &mut Team<'_>, chance: &mut Chance, [one, other]: [&File; 2]) -> File {
    let counts = [team.look(one).await.expect("scores"), team.look(other).await.expect("scores")];
    let apart: [Vec<usize>; 7] = std::array::from_fn(|kind| {
        (0..one[kind].len()).filter(|place| one[kind][*place] != other[kind][*place]).collect()
    });
    let mut told: [Equations; 7] = Default::default();
    for kind in 0..7 {
        told[kind].signs.push(vec![1.0; apart[kind].len()]);
        told[kind].sums.push(counts[0][kind] - counts[1][kind]);
    }
    let mut tried = HashSet::new();
    loop {
        let leads: [Vec<f64>; 7] = std::array::from_fn(|kind| told[kind].leads(apart[kind].len()));
        let guess: File = std::array::from_fn(|kind| {
            let mut letters = one[kind].clone();
            for (place, lead) in apart[kind].iter().zip(&leads[kind]) {
                letters[*place] = if *lead >= 0.0 { one[kind][*place] } else { other[kind][*place] };
            }
            letters
        });
        if !team.has_looks() {
            return guess;
        }
        // While scores are told, mixtures at random say most; then the best guess may pass, or one near it.
        let is_blind = team.untold > 0;
        let noise = if !is_blind {
            1.0
        } else if tried.insert(guess.clone()) {
            0.0
        } else {
            0.1
        };
        let mut file = guess;
        let mut signs: [Vec<f64>; 7] = Default::default();
        for kind in 0..7 {
            for place in &apart[kind] {
                if chance.happens(noise) {
                    let first = chance.happens(0.5);
                    file[kind][*place] = if first { one[kind][*place] } else { other[kind][*place] };
                }
                signs[kind].push(if file[kind][*place] == one[kind][*place] { 1.0 } else { -1.0 });
            }
        }
        if let Some(seen) = team.look(&file).await {
            for kind in 0..7 {
                told[kind].sums.push(2.0 * seen[kind] - counts[0][kind] - counts[1][kind]);
                told[kind].signs.push(signs[kind].clone());
            }
        }
    }
}

/// A server whose test split has this key, and its maintainers.
async fn attacked(seed: u64) -> (Secchi, TestTeam, Chance, File) {
    let secchi = Secchi::with(Options::default()).await;
    let maintainer = secchi.maintainer("harbour").await;
    let mut chance = Chance::new(seed);
    let key = chance.key();
    secchi.import_as("attacked", Split::Test, release(&key).as_slice()).await;
    (secchi, maintainer, chance, key)
}

async fn climbs(rates: [f64; 7], block: usize) {
    let (secchi, maintainer, mut chance, key) = attacked(1).await;
    let honest = chance.honest(&key, rates);
    let mut team = Team::new(&secchi, "climbers", &key).await;
    let reached = climb(&mut team, &mut chance, &honest, block).await;
    assert_harmless(&team, &maintainer, truth(&key, &reached), truth(&key, &honest)).await;
}

async fn mixes(rates: [f64; 7]) {
    let (secchi, maintainer, mut chance, key) = attacked(2).await;
    let honest = [chance.honest(&key, rates), chance.honest(&key, rates)];
    let mut team = Team::new(&secchi, "mixers", &key).await;
    let reached = mix(&mut team, &mut chance, [&honest[0], &honest[1]]).await;
    let best = truth(&key, &honest[0]).max(truth(&key, &honest[1]));
    assert_harmless(&team, &maintainer, truth(&key, &reached), best).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changing_single_answers_of_a_strong_file_and_keeping_what_helps_gains_nothing_much() {
    climbs(STRONG, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changing_many_answers_of_a_middling_file_and_keeping_what_helps_gains_nothing_much() {
    climbs(MIDDLING, 25).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn working_out_from_mixtures_of_two_strong_files_which_is_right_where_gains_nothing_much() {
    mixes(STRONG).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn working_out_from_mixtures_of_two_middling_files_which_is_right_where_gains_nothing_much() {
    mixes(MIDDLING).await;
}

#[expect(clippy::print_stdout, reason = "the figures are of interest")]
/// Asserts that what an attack reached, or the best of what it was told the scores of, is no great gain, and that
/// maintainers saw it coming.
async fn assert_harmless(team: &Team<'_>, maintainer: &TestTeam, reached: f64, honest: f64) {
    assert_eq!(team.looks, LOOKS);
    let gain = team.best.max(reached) - honest;
    let flagged_at = team.flagged_at(maintainer).await;
    println!(
        "from {honest:.2} by {gain:.2} points; {} looks told nothing; flagged at file {flagged_at}",
        team.untold
    );
    assert!(gain < MOST, "gained {gain:.2} points");
    assert!(flagged_at < 10, "flagged at file {flagged_at}");
}
