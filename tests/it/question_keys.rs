//! The keys of questions: given where a release's feedback lets teams grade themselves, and else to nobody.

use serde_json::{Value, json};

use secchi::benchmark::import::{NewRelease, import_release};
use secchi::domain::actor::Actor;
use secchi::domain::question::Split;
use secchi::domain::submission::Feedback;

use crate::support::{Secchi, TestTeam, problem, sample, sample_bytes};

async fn import(secchi: &Secchi, split: Split, feedback: Feedback) {
    let new = NewRelease { name: "sample".into(), split, feedback, videos: None };
    let file = std::fs::File::open(sample(&format!("{split}.jsonl"))).unwrap();
    let store = &secchi.running.evaluation.store;
    let now_ms = secchi.clock.now_ms();
    import_release(store, &Actor::command_line(), new, std::io::BufReader::new(file), None, now_ms)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
}

/// The questions of a split as lines of JSON, and the status.
async fn lines(secchi: &Secchi, team: &TestTeam, path: &str) -> (u16, Vec<Value>) {
    let request = secchi.request(reqwest::Method::GET, path, Some(&team.key));
    let response = request.header("accept", "application/x-ndjson").send().await.unwrap();
    let (status, text) = (response.status().as_u16(), response.text().await.unwrap());
    (status, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_records_of_val_are_given_as_they_were_imported() {
    let secchi = Secchi::start().await;
    import(&secchi, Split::Val, Feedback::PerQuestion).await;
    let team = secchi.team("ocean-lab").await;
    let file = String::from_utf8(sample_bytes("val.jsonl")).unwrap();
    let imported: Vec<Value> = file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let path = "/api/v1/splits/val/questions?key=true";
    assert_eq!(lines(&secchi, &team, path).await, (200, imported.clone()));
    let mut paged = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = secchi.get_json(&format!("{path}&limit=50{cursor}"), Some(&team.key)).await;
        paged.extend(page["items"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(paged, imported);
    for path in ["/api/v1/splits/val/questions?key=false", "/api/v1/splits/val/questions"] {
        let (status, public) = lines(&secchi, &team, path).await;
        assert_eq!((status, public.len()), (200, imported.len()));
        assert!(public.iter().all(|question| question.get("answer").is_none()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_is_given_of_a_test_split_or_where_feedback_is_withheld() {
    let secchi = Secchi::start().await;
    // An operator's mistake does not give the keys of a test split away.
    import(&secchi, Split::Test, Feedback::PerQuestion).await;
    import(&secchi, Split::Val, Feedback::None).await;
    let maintainer = secchi.maintainer("harbour").await;
    let team = secchi.team("ocean-lab").await;
    for split in ["test", "val"] {
        let path = format!("/api/v1/splits/{split}/questions?key=true");
        for asker in [&team, &maintainer] {
            let refused = problem(secchi.get(&path, Some(&asker.key)).await, 403).await;
            assert_eq!(refused["code"], "feedback_withheld");
            let (status, said) = lines(&secchi, asker, &path).await;
            assert_eq!((status, &said[0]["code"]), (403, &json!("feedback_withheld")));
        }
        assert_eq!(secchi.get(&path, None).await.status(), 401);
    }
}
