//! Answers of a scored submission that the judge is asked about again, since nobody believes what it said.

use std::sync::{Arc, Mutex};

use reqwest::{Method, Response};
use secchi::judge::{Failure, ItemReason, PauseCause, ScriptedJudge};
use serde_json::{Value, json};

use crate::by_hand::{captions, file};
use crate::operations::answers;
use crate::pages::Browser;
use crate::pages_admin::needs;
use crate::program::run_on;
use crate::staging::{AT_ONCE, BOARD, board, judge_command, rows};
use crate::stand_in::StandIn;
use crate::support::{Options, Secchi, TestTeam, metadata, problem};

/// Open-ended answers of a file.
pub const ANSWERS: usize = 48;

/// What the judge says at present.
#[derive(Default)]
pub struct Mood {
    pub scores: [u8; 3],
    /// How many verdicts it gives before it is out of reach; any number where none is set.
    pub left: Option<usize>,
    pub refused: Vec<String>,
    pub given: usize,
}

/// Shared with the judge of a server.
type Moody = Arc<Mutex<Mood>>;

fn judge(mood: &Moody) -> ScriptedJudge {
    let mood = mood.clone();
    ScriptedJudge::new(move |item| {
        let mut mood = mood.lock().unwrap();
        if mood.refused.iter().any(|id| id == item.question_id) {
            return Err(Failure::Item { reason: ItemReason::Refusal, detail: "two tries".into() });
        }
        if mood.left == Some(0) {
            return Err(Failure::Pause { cause: PauseCause::CircuitOpen, detail: "out of reach".into() });
        }
        mood.left = mood.left.map(|left| left - 1);
        mood.given += 1;
        Ok(ScriptedJudge::verdict(mood.scores))
    })
}

/// A server whose judge gives three points for everything, with a team, a maintainer and the judge's mood.
pub async fn moody(options: Options) -> (Secchi, TestTeam, TestTeam, Moody) {
    let mood = Moody::default();
    mood.lock().unwrap().scores = [3, 3, 3];
    let given_judge = Some(Arc::new(judge(&mood)) as Arc<_>);
    let quota = vec!["--quota-per-day", "100", "--quota-total", "100"];
    let (secchi, team) = Secchi::with_sample(Options { given_judge, quota, ..options }).await;
    let maintainer = secchi.maintainer("harbour").await;
    (secchi, team, maintainer, mood)
}

/// The file of `by_hand` with other words for the questions that are not captions.
fn same_captions() -> Vec<u8> {
    let captions = captions();
    answers("test.jsonl", |record| {
        let id = record["question_id"].as_str().unwrap();
        match record["answer"].as_str() {
            Some(letter) if !letter.is_empty() => letter.to_owned(),
            _ if captions.iter().any(|caption| caption == id) => format!("A ray glides past in {id}."),
            _ => format!("A crab walks in {id}."),
        }
    })
}

pub fn other_words() -> Vec<u8> {
    answers("test.jsonl", |record| format!("An eel hides in {}.", record["question_id"].as_str().unwrap()))
}

pub fn id_of(view: &Value) -> String {
    view["id"].as_str().unwrap_or_else(|| panic!("{view}")).to_owned()
}

pub async fn sent(secchi: &Secchi, team: &TestTeam, name: &str, visibility: &str, file: Vec<u8>) -> String {
    let mut metadata = metadata(name);
    metadata["visibility"] = json!(visibility);
    let response = secchi.submit(team, &metadata, file).await;
    assert_eq!(response.status(), 202);
    id_of(&response.json().await.unwrap())
}

pub async fn scored(secchi: &Secchi, team: &TestTeam, name: &str, visibility: &str, file: Vec<u8>) -> String {
    let id = sent(secchi, team, name, visibility, file).await;
    secchi.drain().await;
    assert_eq!(view(secchi, team, &id).await["state"], "scored");
    id
}

pub async fn view(secchi: &Secchi, team: &TestTeam, id: &str) -> Value {
    secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await
}

pub fn path(id: &str) -> String {
    format!("/api/v1/admin/submissions/{id}/rejudge")
}

pub async fn rejudge(secchi: &Secchi, maintainer: &TestTeam, id: &str, query: &str) -> Response {
    let path = format!("{}{query}", path(id));
    let request = secchi.request(Method::POST, &path, Some(&maintainer.key));
    request.json(&json!({ "reason": "a bad hour of the provider" })).send().await.unwrap()
}

pub async fn found(secchi: &Secchi, maintainer: &TestTeam, id: &str) -> Value {
    secchi.get_json(&path(id), Some(&maintainer.key)).await
}

/// What scores of these three everywhere come to, in a column of captions and in that of the others.
pub fn values(view: &Value) -> (f64, f64) {
    let value = |column: &str| view["scores"][column]["value"].as_f64().unwrap_or_else(|| panic!("{view}"));
    (value("static/BEH"), value("OEMU"))
}

pub fn calls(mood: &Moody) -> usize {
    mood.lock().unwrap().given
}

#[tokio::test(flavor = "multi_thread")]
async fn new_judgements_replace_the_old_in_one_step_for_all_who_gave_an_answer() {
    let (secchi, team, maintainer, mood) = moody(Options::default()).await;
    let other = secchi.team("tide-lab").await;
    let asked = scored(&secchi, &team, "Asked", "public", file()).await;
    let same = scored(&secchi, &other, "Captions", "public", same_captions()).await;
    let hidden = scored(&secchi, &other, "Hidden", "private", same_captions()).await;
    let apart = scored(&secchi, &other, "Apart", "public", other_words()).await;
    let before = board(&secchi, BOARD).await;
    let compared = format!("/api/v1/compare?a={asked}&b={same}");
    let compared_before = secchi.get_json(&compared, None).await;
    let views = async || {
        let mut views = Vec::new();
        for (owner, id) in [(&team, &asked), (&other, &same), (&other, &hidden), (&other, &apart)] {
            views.push(view(&secchi, owner, id).await);
        }
        views
    };
    let views_before = views().await;
    let so_far = calls(&mood);

    let dry = rejudge(&secchi, &maintainer, &asked, "?dry_run=true").await;
    assert_eq!(dry.status(), 200);
    let dry: Value = dry.json().await.unwrap();
    assert_eq!(
        (&dry["calls"], &dry["answers"], &dry["others"]),
        (&json!(ANSWERS), &json!(ANSWERS), &json!(2))
    );
    assert_eq!(
        (&dry["requested_at"], &dry["pending"], &dry["cost_usd"]),
        (&Value::Null, &json!(false), &Value::Null)
    );
    let printed = run_on(&secchi.ground, &["submission", "rejudge", &asked, "--dry-run", "--json"]).json();
    assert_eq!(printed, dry, "the command says the same");
    assert_eq!(found(&secchi, &maintainer, &asked).await, dry);

    // The judge is out of reach after some answers.
    *mood.lock().unwrap() = Mood { scores: [5, 1, 2], left: Some(20), ..Mood::default() };
    let begun = rejudge(&secchi, &maintainer, &asked, "").await;
    assert_eq!(begun.status(), 202);
    let begun: Value = begun.json().await.unwrap();
    assert_eq!((&begun["pending"], &begun["calls"]), (&json!(true), &json!(ANSWERS)));
    let twice = problem(rejudge(&secchi, &maintainer, &asked, "").await, 409).await;
    assert_eq!(twice["code"], "being_rejudged");
    problem(rejudge(&secchi, &maintainer, &asked, "?dry_run=true").await, 409).await;
    secchi.drain().await;
    assert_eq!(found(&secchi, &maintainer, &asked).await["calls"], ANSWERS - 20);
    let late = scored(&secchi, &team, "Late", "private", file()).await;
    assert_eq!(calls(&mood), 20, "who comes meanwhile stands on what stands");
    assert_eq!(values(&view(&secchi, &team, &late).await), values(&views_before[0]));
    assert_eq!(board(&secchi, BOARD).await, before, "nothing is seen before the last answer");
    assert_eq!(secchi.get_json(&compared, None).await, compared_before);
    assert_eq!(views().await, views_before);

    mood.lock().unwrap().left = None;
    secchi.clock.advance_ms(60_000);
    secchi.drain().await;
    assert_eq!(calls(&mood), ANSWERS, "as many as was said, {so_far} were made before");
    let now = views().await;
    let all_anew = (5.0, 0.35 * 5.0 + 0.30 + 0.35 * 2.0);
    assert_eq!(values(&now[0]), all_anew);
    assert_eq!(values(&view(&secchi, &team, &late).await), all_anew);
    for view in &now[1..3] {
        assert_eq!(values(view), (5.0, 3.0), "captions are the same, the others are not");
    }
    assert_eq!(now[3], views_before[3]);
    assert_ne!(board(&secchi, BOARD).await.1, before.1);
    let moved = secchi.get_json(&compared, None).await;
    assert_ne!(moved, compared_before);
    for (id, is_touched) in [(&asked, true), (&same, true), (&apart, false)] {
        let entry = secchi.get_json(&format!("/api/v1/entries/{id}"), None).await;
        assert_eq!(entry["rejudged_at"].is_string(), is_touched, "{entry}");
        let page = secchi.get(&format!("/entries/{id}"), None).await.text().await.unwrap();
        assert_eq!(page.contains("had the judge asked again"), is_touched);
    }
    assert_eq!(found(&secchi, &maintainer, &asked).await["requested_at"], Value::Null);
    // What comes now stands on the new ones.
    let new = scored(&secchi, &other, "New", "private", file()).await;
    assert_eq!((values(&view(&secchi, &other, &new).await), calls(&mood)), (all_anew, ANSWERS));
    let log = secchi.get_json("/api/v1/admin/audit?limit=1", Some(&maintainer.key)).await;
    let line = &log["items"][0];
    assert_eq!((&line["action"], &line["subject"]), (&json!("rejudge_submission"), &json!(asked)));
    assert_eq!(
        (&line["after"]["calls"], &line["after"]["reason"]),
        (&json!(ANSWERS), &json!("a bad hour of the provider"))
    );

    // Once more, and the ones that were replaced first are replaced too.
    mood.lock().unwrap().scores = [0, 4, 0];
    assert_eq!(rejudge(&secchi, &maintainer, &same, "").await.status(), 202);
    secchi.drain().await;
    assert_eq!(calls(&mood), 2 * ANSWERS);
    assert_eq!(values(&view(&secchi, &other, &same).await).0, 0.0);
    assert_eq!(values(&view(&secchi, &team, &asked).await), (0.0, all_anew.1));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_an_answer_fails_everything_stays_until_a_retry_or_is_given_up() {
    let (secchi, team, maintainer, mood) = moody(Options::default()).await;
    let id = scored(&secchi, &team, "Asked", "public", file()).await;
    let before = (board(&secchi, BOARD).await, view(&secchi, &team, &id).await);
    let refused = captions()[..2].to_vec();
    *mood.lock().unwrap() = Mood { scores: [1, 1, 1], refused: refused.clone(), ..Mood::default() };
    let unchanged = async |what: &str| {
        assert_eq!((board(&secchi, BOARD).await, view(&secchi, &team, &id).await), before, "{what}");
    };
    assert_eq!(rejudge(&secchi, &maintainer, &id, "").await.status(), 202);
    secchi.drain().await;
    assert_eq!(calls(&mood), ANSWERS - 2);
    unchanged("two have failed").await;
    let stuck = found(&secchi, &maintainer, &id).await;
    assert_eq!((&stuck["pending"], &stuck["failed"], &stuck["calls"]), (&json!(false), &json!(2), &json!(2)));
    let needing = "/api/v1/admin/submissions?needs_attention=true";
    assert_eq!(secchi.get_json(needing, Some(&maintainer.key)).await["items"][0]["id"], json!(id));
    let browser = Browser::signed_in(&secchi, &maintainer).await;
    let page = browser.get(&format!("/admin/submissions/{id}")).await.text;
    assert!(needs(&page).contains("is incomplete: 2 answers could not be judged"), "{page}");

    // It is given up, and asked for again: what was judged before does not count.
    let given_up =
        async || secchi.request(Method::DELETE, &path(&id), Some(&maintainer.key)).send().await.unwrap();
    assert_eq!(given_up().await.status(), 204);
    assert_eq!(problem(given_up().await, 409).await["code"], "not_being_rejudged");
    secchi.drain().await;
    unchanged("it is given up").await;
    assert_eq!(secchi.get_json(needing, Some(&maintainer.key)).await["items"], json!([]));
    secchi.clock.advance_ms(1);
    mood.lock().unwrap().scores = [2, 2, 2];
    assert_eq!(rejudge(&secchi, &maintainer, &id, "").await.status(), 202);
    secchi.drain().await;
    assert_eq!(calls(&mood), 2 * (ANSWERS - 2));
    unchanged("two have failed again").await;

    mood.lock().unwrap().refused.clear();
    let retry = format!("/api/v1/admin/submissions/{id}/retry");
    assert_eq!(secchi.get_json(&retry, Some(&maintainer.key)).await["calls"], 2);
    assert_eq!(
        secchi.request(Method::POST, &retry, Some(&maintainer.key)).send().await.unwrap().status(),
        202
    );
    secchi.drain().await;
    assert_eq!(calls(&mood), 2 * ANSWERS - 2, "only those that had failed");
    assert_eq!(values(&view(&secchi, &team, &id).await), (2.0, 2.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_were_decided_by_hand_stay_and_cost_nothing() {
    let (secchi, team, maintainer, mood) = moody(Options::default()).await;
    let decided = captions()[0].clone();
    mood.lock().unwrap().refused = vec![decided.clone()];
    let id = sent(&secchi, &team, "Asked", "public", file()).await;
    secchi.drain().await;
    let path = format!("/api/v1/admin/submissions/{id}/decisions");
    let criteria =
        json!({ "subject_correspondence": 5, "temporal_description": 5, "hallucination_detection": 5 });
    let decision = json!({ "question_id": decided, "reason": "The judge refuses.", "criteria": criteria });
    let request = secchi.request(Method::POST, &path, Some(&maintainer.key)).json(&decision);
    assert_eq!(request.send().await.unwrap().status(), 200);
    *mood.lock().unwrap() = Mood::default();
    let begun: Value = rejudge(&secchi, &maintainer, &id, "").await.json().await.unwrap();
    assert_eq!((&begun["calls"], &begun["decided"]), (&json!(ANSWERS - 1), &json!(1)));
    secchi.drain().await;
    assert_eq!(calls(&mood), ANSWERS - 1);
    let now = view(&secchi, &team, &id).await;
    assert_eq!(now["decided_by_hand"], 1);
    let of_captions = ["static/BEH", "moving/BEH"].map(|column| {
        let cell = &now["scores"][column];
        cell["value"].as_f64().unwrap() * cell["n"].as_f64().unwrap()
    });
    assert!((of_captions.iter().sum::<f64>() - 5.0).abs() < 1e-9, "{now}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_rejudged_is_refused_with_the_reason() {
    let (secchi, team, maintainer, mood) = moody(Options::default()).await;
    let refused = async |id: &str, code: &str| {
        let at_once = problem(rejudge(&secchi, &maintainer, id, "").await, 409).await;
        let tried = problem(rejudge(&secchi, &maintainer, id, "?dry_run=true").await, 409).await;
        assert_eq!((&at_once["code"], &at_once["detail"]), (&json!(code), &tried["detail"]));
        let printed = run_on(&secchi.ground, &["submission", "rejudge", id, "--reason", "x"]);
        assert_eq!(printed.code, Some(1), "{printed:?}");
        assert!(printed.stderr.contains(at_once["detail"].as_str().unwrap()), "{printed:?} {at_once}");
    };
    let queued = sent(&secchi, &team, "Queued", "public", file()).await;
    refused(&queued, "wrong_state").await;
    secchi.drain().await;
    let silent = answers("test.jsonl", |record| record["answer"].as_str().unwrap_or_default().to_owned());
    let silent = scored(&secchi, &team, "Silent", "public", silent).await;
    refused(&silent, "nothing_judged").await;
    let withdraw = format!("/api/v1/submissions/{queued}/withdraw");
    let request =
        secchi.request(Method::POST, &withdraw, Some(&team.key)).json(&json!({ "reason": "wrong" }));
    assert_eq!(request.send().await.unwrap().status(), 200);
    refused(&queued, "withdrawn").await;
    let hidden = scored(&secchi, &team, "Hidden", "private", other_words()).await;
    problem(rejudge(&secchi, &team, &hidden, "").await, 403).await;
    problem(rejudge(&secchi, &maintainer, &uuid::Uuid::now_v7().to_string(), "").await, 404).await;
    for reason in ["  ", &"x".repeat(501)] {
        let request = secchi.request(Method::POST, &path(&hidden), Some(&maintainer.key));
        let faulty = request.json(&json!({ "reason": reason })).send().await.unwrap();
        assert_eq!(problem(faulty, 422).await["errors"][0]["pointer"], "/reason");
    }
    let request = secchi.request(Method::POST, &path(&hidden), Some(&maintainer.key));
    problem(request.json(&json!({ "reason": "x", "model": "y" })).send().await.unwrap(), 422).await;
    // Published after the change it would be judged by the other anyway.
    let flags = StandIn::start(0).await.flags_of("b", AT_ONCE);
    judge_command(&secchi.ground, &["stage"], &flags).stdout();
    secchi.drain().await;
    judge_command(&secchi.ground, &["activate"], &[]).stdout();
    refused(&hidden, "not_current").await;
    assert_eq!(calls(&mood), 2 * ANSWERS, "nothing was asked about again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_says_what_it_takes_and_has_it_done() {
    let (secchi, team, maintainer, mood) = moody(Options::default()).await;
    let id = scored(&secchi, &team, "Asked", "public", file()).await;
    scored(&secchi, &team, "Captions", "public", same_captions()).await;
    let browser = Browser::signed_in(&secchi, &maintainer).await;
    let own = format!("/admin/submissions/{id}");
    let address = format!("{own}/rejudge");
    assert!(browser.get(&own).await.text.contains(&format!("href=\"{address}\"")));
    let page = browser.get(&address).await;
    assert_eq!(page.status, 200);
    for part in
        ["<dt>Calls to the judge</dt><dd>48</dd>", "no price is set", "1 gave some of these answers too"]
    {
        assert!(page.text.contains(part), "no `{part}` in {}", page.text);
    }
    let blank = browser.send(&address, &[("reason", " ")]).await;
    assert!(blank.status == 422 && blank.text.contains("reason"), "{}", blank.text);
    mood.lock().unwrap().left = Some(7);
    let begun = browser.send(&address, &[("reason", "a bad hour")]).await;
    assert_eq!((begun.status, begun.location.as_str()), (303, address.as_str()));
    // After the file's own verdicts.
    mood.lock().unwrap().left = Some(7);
    secchi.drain().await;
    let page = browser.get(&address).await.text;
    assert!(needs(&page).contains("Under way since") && needs(&page).contains("7 of 48 answers"), "{page}");
    assert!(!page.contains("Yes, rejudge"), "{page}");
    let twice = browser.send(&address, &[("reason", "a bad hour")]).await;
    assert!(twice.status == 409 && twice.text.contains("is being rejudged since"), "{}", twice.text);
    assert!(needs(&browser.get(&own).await.text).contains("is under way"));
    assert_eq!(browser.send(&format!("{address}/cancel"), &[]).await.location, address);
    assert!(browser.get(&address).await.text.contains("What it would take"));
    let nothing = format!("/admin/submissions/{}/rejudge", uuid::Uuid::now_v7());
    assert_eq!(browser.get(&nothing).await.status, 404);
    assert!(rows(&board(&secchi, BOARD).await.0).iter().all(|row| row["scores"]["OEMU"]["value"] == 3.0));
}
