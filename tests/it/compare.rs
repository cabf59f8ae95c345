//! Entries beside each other: what is told, on which questions and under which judge, and what is not told.

use std::cell::Cell;

use reqwest::Method;
use serde_json::{Value, json};

use secchi::domain::question::Split;

use crate::operations::{answers, val_metadata};
use crate::pages::Browser;
use crate::staging::{AT_ONCE, judge_command, judged_by};
use crate::stand_in::StandIn;
use crate::support::{Options, Secchi, TestTeam, metadata, problem, sample_bytes};

const NOBODY: &str = "01a22963-3f09-7089-bfaa-4e33da3a9318";

async fn compared(secchi: &Secchi, a: &str, b: &str) -> Value {
    secchi.get_json(&format!("/api/v1/compare?a={a}&b={b}"), None).await
}

fn column<'v>(comparison: &'v Value, id: &str) -> &'v Value {
    let found = comparison["columns"].as_array().unwrap().iter().find(|column| column["id"] == id);
    found.unwrap_or_else(|| panic!("no {id} in {comparison}"))
}

/// Whether a number has at most so many decimals.
fn has_decimals(number: &Value, places: i32) -> bool {
    let scaled = number.as_f64().unwrap() * 10_f64.powi(places);
    (scaled - scaled.round()).abs() < 1e-9
}

async fn entry(secchi: &Secchi, team: &TestTeam, metadata: &Value, file: Vec<u8>) -> String {
    let sent: Value = secchi.submit(team, metadata, file).await.json().await.unwrap();
    secchi.drain().await;
    sent["id"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned()
}

async fn of_sample(secchi: &Secchi, team: &TestTeam, file: &str) -> String {
    entry(secchi, team, &metadata(file), sample_bytes(&format!("predictions/{file}.jsonl"))).await
}

/// Answers to val of which those to `wrong_type` are wrong where `is_wrong` says so of their number, and all others right.
fn val_file(wrong_type: &str, is_wrong: impl Fn(usize) -> bool) -> Vec<u8> {
    let number = Cell::new(0);
    answers("val.jsonl", |record| match record["answer"].as_str() {
        Some("") | None => "A ray glides past.".to_owned(),
        Some(right) if record["type"] == wrong_type => {
            number.set(number.get() + 1);
            let wrong = if right == "A" { "B" } else { "A" };
            if is_wrong(number.get()) { wrong.to_owned() } else { right.to_owned() }
        }
        Some(right) => right.to_owned(),
    })
}

async fn of_val(secchi: &Secchi, team: &TestTeam, name: &str, file: Vec<u8>) -> String {
    let mut metadata = val_metadata();
    metadata["model_name"] = name.into();
    entry(secchi, team, &metadata, file).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_column_of_both_has_a_difference_which_is_rounded_on_test() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let other = secchi.team("reef-lab").await;
    let a = of_sample(&secchi, &team, "strong_model").await;
    let b = of_sample(&secchi, &other, "weak_model").await;
    let seen = compared(&secchi, &a, &b).await;
    let board = secchi.get_json("/api/v1/leaderboard", None).await;
    let heads =
        [&seen["split"], &seen["release"], &seen["judge"], &seen["rounded"], &seen["near_duplicates"]];
    assert_eq!(heads, [&json!("test"), &json!("sample"), &board["judge"], &json!(true), &json!(false)]);
    assert_eq!(
        seen["a"],
        json!({ "entry": a, "team": "ocean-lab", "model_name": "strong_model", "group": "open-small" })
    );
    assert_eq!((&seen["b"]["entry"], &seen["b"]["team"]), (&json!(b), &json!("reef-lab")));
    let row = |id: &str| board["rows"].as_array().unwrap().iter().find(|row| row["entry"] == id).unwrap();
    let columns = seen["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 15);
    for column in columns {
        let id = column["id"].as_str().unwrap();
        let (of_a, of_b) = (&row(&a)["scores"][id], &row(&b)["scores"][id]);
        assert_eq!((&column["a"], &column["b"], &column["n"]), (&of_a["value"], &of_b["value"], &of_a["n"]));
        let exact = of_a["value"].as_f64().unwrap() - of_b["value"].as_f64().unwrap();
        let told = column["difference"].as_f64().unwrap();
        assert!((told - exact).abs() < 0.05 + 1e-9 && has_decimals(&column["difference"], 1), "{column}");
        let [low, high] = [0, 1].map(|bound| &column["ci95"][bound]);
        assert!(low.as_f64().unwrap() <= told && told <= high.as_f64().unwrap(), "{column}");
        assert!(has_decimals(low, 1) && has_decimals(high, 1) && has_decimals(&column["p"], 2), "{column}");
    }
    let mcq = column(&seen, "MCQ");
    assert_eq!((&mcq["is_clear"], mcq["ci95"][0].as_f64().unwrap() > 0.0), (&json!(true), true), "{mcq}");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_val_nothing_is_rounded_and_the_other_way_round_all_signs_change() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let a = of_val(&secchi, &team, "Good", val_file("none", |_| true)).await;
    let b =
        of_val(&secchi, &team, "Nameless fish", val_file("central_object", |number| number % 3 > 0)).await;
    let (there, back) = (compared(&secchi, &a, &b).await, compared(&secchi, &b, &a).await);
    assert_eq!((&there["rounded"], &there["a"], &there["b"]), (&json!(false), &back["b"], &back["a"]));
    let number = |value: &Value| value.as_f64().unwrap();
    for (one, other) in there["columns"].as_array().unwrap().iter().zip(back["columns"].as_array().unwrap()) {
        let exact = number(&one["a"]) - number(&one["b"]);
        assert!((number(&one["difference"]) - exact).abs() < 1e-9, "{one}");
        assert_eq!(number(&one["difference"]), -number(&other["difference"]), "{one} {other}");
        for bound in 0..2 {
            assert_eq!(number(&one["ci95"][bound]), -number(&other["ci95"][1 - bound]), "{one} {other}");
        }
        for field in ["p", "is_clear", "n", "unit"] {
            assert_eq!(one[field], other[field], "{one} {other}");
        }
    }
    let (object, mcq) = (column(&there, "MBC-so"), column(&there, "MCQ"));
    assert!(!has_decimals(&object["p"], 2) && !has_decimals(&mcq["difference"], 1), "{object} {mcq}");
    assert_eq!(object["is_clear"], true);
    // Near-duplicates: on val all is told.
    let again = of_val(&secchi, &team, "Good again", val_file("none", |_| true)).await;
    let alike = compared(&secchi, &a, &again).await;
    assert_eq!((&alike["near_duplicates"], &column(&alike, "MCQ")["p"]), (&json!(true), &json!(1.0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_p_of_one_column_among_all_is_not_clear() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let a = of_val(&secchi, &team, "Good", val_file("none", |_| true)).await;
    let b = of_val(&secchi, &team, "Blind at night", val_file("lighting", |number| number <= 7)).await;
    let seen = compared(&secchi, &a, &b).await;
    let (lighting, mcq) = (column(&seen, "SM-l"), column(&seen, "MCQ"));
    // Seven questions won and none lost.
    assert!((lighting["p"].as_f64().unwrap() - 0.5_f64.powi(7)).abs() < 1e-9, "{lighting}");
    assert_eq!(lighting["is_clear"], false);
    assert!(mcq["p"].as_f64().unwrap() < 0.05, "{mcq}");
    assert_eq!(mcq["is_clear"], true, "the board's order is a question of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_entry_or_not_of_the_same_release_is_refused_with_a_clear_word() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let a = of_sample(&secchi, &team, "strong_model").await;
    let b = of_sample(&secchi, &team, "weak_model").await;
    let of_val = of_val(&secchi, &team, "Good", val_file("none", |_| true)).await;
    let mut private = metadata("Secret");
    private["visibility"] = "private".into();
    let hidden = entry(&secchi, &team, &private, sample_bytes("predictions/random.jsonl")).await;
    let gone = of_sample(&secchi, &team, "partial").await;
    let path = format!("/api/v1/submissions/{gone}/withdraw");
    let reason = json!({ "reason": "a wrong checkpoint" });
    let withdrawn = secchi.request(Method::POST, &path, Some(&team.key)).json(&reason).send().await.unwrap();
    assert_eq!(withdrawn.status(), 200);
    let queued = secchi.accepted(&team, &metadata("Waiting"), "letters_noisy.jsonl").await;

    let refused = [
        (format!("a={a}&b={NOBODY}"), 404, "not_found", NOBODY),
        (format!("a={a}&b={hidden}"), 404, "not_found", hidden.as_str()),
        (format!("a={queued}&b={a}"), 404, "not_found", queued.as_str()),
        (format!("a={a}&b=%00"), 404, "not_found", "no published entry"),
        (format!("a={a}&b={gone}"), 410, "withdrawn", "a wrong checkpoint"),
        (format!("a={a}&b={a}"), 400, "invalid_parameter", "twice"),
        (format!("a={a}&b={}", a.to_uppercase()), 400, "invalid_parameter", "twice"),
        (format!("a={a}"), 400, "invalid_parameter", "`b`"),
        (format!("a={a}&b={b}&c=1"), 400, "invalid_parameter", "`c`"),
        (format!("a={a}&b={of_val}"), 409, "different_releases", "`val`"),
        (format!("a={a}&b={b}&judge=nobody"), 404, "unknown_judge", "`nobody`"),
    ];
    for (query, status, code, word) in refused {
        let refusal = problem(secchi.get(&format!("/api/v1/compare?{query}"), None).await, status).await;
        assert_eq!(refusal["code"], code, "{query}");
        assert!(refusal["detail"].as_str().unwrap().contains(word), "{query}: {refusal}");
        if word != "`b`" && word != "`c`" {
            let page = secchi.get(&format!("/compare?{query}"), None).await;
            assert_eq!(page.status(), status, "{query}");
            let text = page.text().await.unwrap();
            assert!(text.contains("Error: ") && text.contains("<select"), "{query}: {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_are_compared_under_the_newest_judge_that_has_judged_both_and_never_under_two() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = judged_by(&judge, "a").await;
    let early = of_sample(&secchi, &team, "strong_model").await;
    let mut private = metadata("Late to appear");
    private["visibility"] = "private".into();
    let late = entry(&secchi, &team, &private, sample_bytes("predictions/weak_model.jsonl")).await;
    judge_command(&secchi.ground, &["stage"], &judge.flags_of("b", AT_ONCE)).stdout();
    secchi.drain().await;
    judge_command(&secchi.ground, &["activate"], &[]).stdout();
    let new = of_sample(&secchi, &team, "random").await;
    let publish = secchi.request(Method::PATCH, &format!("/api/v1/submissions/{late}"), Some(&team.key));
    let published = publish.json(&json!({ "visibility": "public" })).send().await.unwrap();
    assert_eq!(published.status(), 200);

    let judge_of = async |a: &str, b: &str| compared(&secchi, a, b).await["judge"].clone();
    let (present, past) = (judge_of(&early, &new).await, judge_of(&early, &late).await);
    assert_eq!((&present["model"], &present["retired_at"]), (&json!("b"), &Value::Null));
    assert_eq!((&past["model"], past["retired_at"].is_string()), (&json!("a"), true));
    let apart = secchi.get(&format!("/api/v1/compare?a={late}&b={new}"), None).await;
    assert_eq!(problem(apart, 409).await["code"], "different_judges");
    let under = |judge: &Value, b: &str| {
        let judge = judge["configuration"].as_str().unwrap();
        format!("/api/v1/compare?a={early}&b={b}&judge={judge}")
    };
    let refusal = problem(secchi.get(&under(&past, &new), None).await, 409).await;
    assert!(refusal["detail"].as_str().unwrap().contains(&new), "{refusal}");
    secchi.drain().await;
    assert_eq!(judge_of(&early, &late).await, present, "the current one has judged both by now");
    let again = secchi.get_json(&under(&past, &late), None).await;
    assert_eq!(again["judge"], past);
    let now = compared(&secchi, &early, &late).await;
    assert_eq!(column(&again, "MCQ"), column(&now, "MCQ"));
    assert_ne!(column(&again, "OEMU"), column(&now, "OEMU"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_anonymous_entry_is_compared_without_its_teams_name() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let other = secchi.team("hidden-lab").await;
    let mut nameless = metadata("Nameless");
    nameless["visibility"] = "anonymous".into();
    let a = entry(&secchi, &other, &nameless, sample_bytes("predictions/weak_model.jsonl")).await;
    let b = of_sample(&secchi, &team, "strong_model").await;
    let seen = compared(&secchi, &a, &b).await;
    assert_eq!((&seen["a"]["team"], &seen["a"]["model_name"]), (&Value::Null, &json!("Nameless")));
    let page = secchi.get(&format!("/compare?entry={a}&entry={b}"), None).await.text().await.unwrap();
    assert!(page.contains("Entry A is anonymous") && !page.contains("Entry B is anonymous"), "{page}");
    assert!(!page.contains("hidden-lab") && !seen.to_string().contains("hidden-lab"));
}

#[tokio::test(flavor = "multi_thread")]
async fn on_test_what_is_nearly_the_same_is_compared_without_digits_that_tell_single_answers() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let other = secchi.team("reef-lab").await;
    let strong = String::from_utf8(sample_bytes("predictions/strong_model.jsonl")).unwrap();
    let weak = String::from_utf8(sample_bytes("predictions/weak_model.jsonl")).unwrap();
    let a = entry(&secchi, &team, &metadata("Strong"), strong.clone().into()).await;
    let b = entry(&secchi, &other, &metadata("Strong again"), strong.clone().into()).await;
    let seen = compared(&secchi, &a, &b).await;
    assert_eq!(seen["near_duplicates"], true);
    for column in seen["columns"].as_array().unwrap() {
        let told = [&column["difference"], &column["ci95"], &column["p"], &column["is_clear"]];
        assert_eq!(told, [&json!(0.0), &Value::Null, &Value::Null, &json!(false)], "{column}");
    }
    let page = secchi.get(&format!("/compare?entry={a}&entry={b}"), None).await.text().await.unwrap();
    assert!(page.contains("A and B are near-duplicates") && page.contains("cannot be told apart"), "{page}");

    // Another file but for one column, in which it is the same: there nothing is told either.
    let lighting: Vec<String> = String::from_utf8(sample_bytes("test.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["type"] == "lighting")
        .map(|record| record["question_id"].as_str().unwrap().to_owned())
        .collect();
    let is_lighting = |line: &&str| {
        let answer: Value = serde_json::from_str(line).unwrap();
        lighting.iter().any(|id| answer["question_id"] == id.as_str())
    };
    let own = weak.lines().filter(|line| !is_lighting(line));
    let mixed: String =
        own.chain(strong.lines().filter(is_lighting)).map(|line| format!("{line}\n")).collect();
    let c = entry(&secchi, &other, &metadata("Mixed"), mixed.into()).await;
    let seen = compared(&secchi, &a, &c).await;
    assert_eq!(seen["near_duplicates"], false);
    assert_eq!((&column(&seen, "SM-l")["ci95"], &column(&seen, "SM-l")["p"]), (&Value::Null, &Value::Null));
    assert!(column(&seen, "SM-e")["ci95"].is_array() && column(&seen, "MCQ")["ci95"].is_array(), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_says_who_is_ahead_in_words_and_draws_and_lists_the_same_numbers() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let browser = Browser::new(&secchi);
    let empty = browser.get("/compare").await;
    assert!(empty.status == 200 && empty.text.contains("nothing to compare yet"), "{}", empty.text);
    let [a, b] = ["strong_model", "weak_model"].map(|file| of_sample(&secchi, &team, file));
    let (a, b) = (a.await, b.await);
    let offered = browser.get("/compare").await.text;
    assert!(offered.contains("strong_model (ocean-lab), MCQ 84.8"), "{offered}");
    let one = browser.get(&format!("/compare?entry={a}&entry=")).await;
    assert!(one.status == 200 && one.text.contains("Choose a second entry"), "{}", one.text);

    let text = browser.get(&format!("/compare?entry={a}&entry={b}&entry=")).await.text;
    let verdict = "strong_model (A) is ahead of weak_model (B) by 40.0 points; with this many videos the gap could be 31.0 to 49.0.";
    assert!(text.contains(verdict), "{text}");
    let other_way = browser.get(&format!("/compare?a={b}&b={a}")).await.text;
    assert!(
        other_way.contains(&verdict.replace("(B)", "(x)").replace("(A)", "(B)").replace("(x)", "(A)")),
        "{other_way}"
    );
    assert!(text.contains(&format!("/compare?entry={b}&amp;entry={a}\">Swap")), "{text}");
    assert_eq!((text.matches("role=\"img\"").count(), text.matches("<table").count()), (2, 1));
    assert!(text.contains("<desc") && !text.contains("style="), "{text}");
    for column in compared(&secchi, &a, &b).await["columns"].as_array().unwrap() {
        let id = column["id"].as_str().unwrap();
        assert_eq!(text.matches(&format!(">{id}<")).count(), 2, "{id} stands in the plot and in the table");
    }
    let kept = browser.get(&format!("/compare?entry={a}&entry={b}&judge=")).await;
    assert_eq!(kept.status, 200);

    let c = of_sample(&secchi, &team, "random").await;
    let three = browser.get(&format!("/compare?entry={a}&entry={b}&entry={c}")).await.text;
    assert_eq!((three.matches("role=\"img\"").count(), three.matches("<table").count()), (4, 2));
    assert!(three.contains(verdict) && three.contains("random (C)"), "{three}");
    let six = browser.get(&format!("/compare?{}", vec![format!("entry={a}"); 6].join("&"))).await;
    assert!(six.status == 400 && six.text.contains("at most 5"), "{}", six.text);
    for wrong in ["split=train", "colour=red"] {
        assert_eq!(browser.get(&format!("/compare?{wrong}")).await.status, 400, "{wrong}");
    }
}
