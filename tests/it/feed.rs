//! The feed of new entries.

use quick_xml::Reader;
use quick_xml::events::Event;
use reqwest::Method;
use serde_json::json;

use crate::support::{Options, Secchi, metadata, problem};

/// The texts of the elements of this name below entries, read as XML.
fn texts(feed: &str, name: &str) -> Vec<String> {
    let mut reader = Reader::from_str(feed);
    let (mut path, mut found) = (Vec::<String>::new(), Vec::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                path.push(start.name().as_ref().to_owned());
                if path.len() > 2 && path.last().unwrap() == name {
                    found.push(String::new());
                }
            }
            Event::End(_) => drop(path.pop()),
            Event::Text(text) if path.len() > 2 && path.last().unwrap() == name => {
                found.last_mut().unwrap().push_str(&text);
            }
            Event::GeneralRef(entity) if path.len() > 2 && path.last().unwrap() == name => {
                let text = match &*entity {
                    "lt" => "<",
                    "gt" => ">",
                    "amp" => "&",
                    "quot" => "\"",
                    "apos" => "'",
                    other => panic!("{other}"),
                };
                found.last_mut().unwrap().push_str(text);
            }
            Event::Eof => return found,
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn published_entries_are_in_the_feed_the_newest_first() {
    let quota = vec!["--quota-per-day", "100", "--quota-total", "100"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    let feed = async || {
        let response = secchi.get("/feed.atom", None).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/atom+xml; charset=utf-8");
        response.text().await.unwrap()
    };
    assert_eq!(texts(&feed().await, "id"), Vec::<String>::new());
    let hostile = "<b>Reef</b> & \"8B\" ]]> 海";
    let first = secchi.scored(&team, &metadata(hostile), "weak_model.jsonl").await;
    let etag = secchi.get("/feed.atom", None).await.headers()["etag"].clone();
    let again = async || {
        let request = secchi.request(Method::GET, "/feed.atom", None).header("If-None-Match", &etag);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(again().await, 304);
    secchi.clock.advance_ms(60_000);
    let mut anonymous = metadata("Kelp-8B");
    anonymous["visibility"] = json!("anonymous");
    let second = secchi.scored(&team, &anonymous, "random.jsonl").await;
    let mut private = metadata("Secret-8B");
    private["visibility"] = json!("private");
    secchi.scored(&team, &private, "partial.jsonl").await;
    assert_eq!(again().await, 200);
    let feed = feed().await;
    let id = |submission: &serde_json::Value| format!("urn:uuid:{}", submission["id"].as_str().unwrap());
    assert_eq!(texts(&feed, "id"), [id(&second), id(&first)]);
    assert_eq!(texts(&feed, "title"), ["Kelp-8B", hostile]);
    assert_eq!(texts(&feed, "name"), ["anonymous", "ocean-lab"]);
    assert_eq!(texts(&feed, "updated")[1], "2026-11-30T12:00:00.000Z");
    let link = format!("href=\"{}/entries/{}\"", secchi.base, second["id"].as_str().unwrap());
    assert!(feed.contains(&link) && !feed.contains("Secret-8B"), "{feed}");
    assert!(feed.contains("<updated>2026-11-30T12:01:00.000Z</updated>"), "{feed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_is_bounded_and_of_one_split() {
    let quota = vec!["--quota-per-day", "100", "--quota-total", "100"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    for place in 0..52 {
        secchi.clock.advance_ms(1000);
        secchi.accepted(&team, &metadata(&format!("m{place}")), "partial.jsonl").await;
    }
    secchi.drain().await;
    let feed = secchi.get("/feed.atom?split=test", None).await.text().await.unwrap();
    assert_eq!(texts(&feed, "id").len(), 50);
    let val = secchi.get("/feed.atom?split=val", None).await.text().await.unwrap();
    assert_eq!(texts(&val, "id").len(), 0);
    problem(secchi.get("/feed.atom?split=train", None).await, 400).await;
    problem(secchi.get("/feed.atom?page=2", None).await, 400).await;
}
