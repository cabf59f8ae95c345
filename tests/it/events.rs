//! Following a submission by Server-Sent Events: what is told, when, to whom, and until when.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use secchi::accounts;
use secchi::domain::actor::Actor;
use secchi::domain::question::Split;

use crate::operations::{form, val_answers, val_metadata};
use crate::process::{PATIENCE, until};
use crate::support::{Options, Secchi, TestTeam, metadata, problem};

/// One event as a browser sees it.
#[derive(Debug, Clone)]
struct Event {
    name: String,
    id: String,
    data: Value,
}

/// A stream under way.
struct Stream {
    response: Response,
    text: String,
}

impl Stream {
    async fn open(secchi: &Secchi, team: &TestTeam, id: &str, last_event_id: &str) -> Stream {
        let request = request(secchi, team, id, last_event_id).header("accept-encoding", "gzip, br");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Stream { response, text: String::new() }
    }

    /// The next event; none where the stream has ended.
    async fn next(&mut self) -> Option<Event> {
        tokio::time::timeout(PATIENCE, async {
            loop {
                if let Some((block, rest)) = self.text.split_once("\n\n") {
                    let event = event(block);
                    self.text = rest.to_owned();
                    if event.is_some() {
                        return event;
                    }
                    continue;
                }
                // A server that stops may cut the connection.
                let chunk = self.response.chunk().await.ok().flatten()?;
                self.text.push_str(std::str::from_utf8(&chunk).unwrap());
            }
        })
        .await
        .expect("an event, or the end of the stream")
    }

    async fn named(&mut self, name: &str) -> Event {
        let event = self.next().await.unwrap();
        assert_eq!(event.name, name, "{event:?}");
        event
    }

    async fn rest(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

/// What a block of lines says; none where it is a comment or says when to connect again.
fn event(block: &str) -> Option<Event> {
    let field = |name: &str| {
        let found = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.unwrap_or_default().to_owned()
    };
    let name = field("event");
    (!name.is_empty()).then(|| Event {
        name,
        id: field("id"),
        data: serde_json::from_str(&field("data")).unwrap(),
    })
}

fn path(id: &str) -> String {
    format!("/api/v1/submissions/{id}/events")
}

fn request(secchi: &Secchi, team: &TestTeam, id: &str, last_event_id: &str) -> RequestBuilder {
    let request = secchi.request(Method::GET, &path(id), Some(&team.key));
    if last_event_id.is_empty() { request } else { request.header("last-event-id", last_event_id) }
}

async fn ask(secchi: &Secchi, team: &TestTeam, id: &str, last_event_id: &str) -> Response {
    request(secchi, team, id, last_event_id).send().await.unwrap()
}

async fn queued(secchi: &Secchi, team: &TestTeam) -> String {
    secchi.accepted(team, &metadata("Reef-8B"), "strong_model.jsonl").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_is_told_how_a_submission_stands_then_what_changes_then_that_it_has_ended() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = queued(&secchi, &team).await;
    let mut stream = Stream::open(&secchi, &team, &id, "").await;
    let expected = [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-store"),
        ("content-encoding", "identity"),
        ("x-accel-buffering", "no"),
    ];
    for (name, value) in expected {
        assert_eq!(stream.response.headers()[name], value);
    }
    let queue = json!({ "ahead": 0, "seconds_low": null, "seconds_high": null });
    let state = stream.named("state").await;
    assert_eq!(state.data, json!({ "id": id, "state": "queued", "paused_for": null, "queue": queue }));
    let progress = stream.named("progress").await;
    let none = json!({ "graded": 0, "judged": 0, "to_judge": 0, "reused": 0, "failed": 0, "queue": queue });
    assert_eq!(progress.data, none);

    secchi.drain().await;
    let events = stream.rest().await;
    let scored = secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
    let last = |name: &str| events.iter().rfind(|event| event.name == name).unwrap().data.clone();
    assert_eq!(last("state")["state"], "scored");
    assert_eq!(last("progress")["judged"], scored["progress"]["judged"]);
    assert_eq!(last("progress")["queue"], Value::Null);
    assert_eq!(last("scores"), scored["scores"]);
    let end = events.last().unwrap();
    assert_eq!((end.name.as_str(), &end.data["state"]), ("end", &json!("scored")));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_connects_again_is_told_the_newest_alone_also_by_another_server_and_after_a_restart() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = queued(&secchi, &team).await;
    let mut stream = Stream::open(&secchi, &team, &id, "").await;
    let state = stream.named("state").await;
    let progress = stream.named("progress").await;
    drop(stream);
    // Cut off before the progress came: that alone is missing.
    let mut stream = Stream::open(&secchi, &team, &id, &state.id).await;
    assert_eq!(stream.named("progress").await.id, progress.id);
    drop(stream);

    secchi.drain().await;
    let mut servers = vec![];
    if secchi.ground.is_shared() {
        servers.push(Secchi::on(secchi.ground.shared(), Options::default()).await);
    }
    servers.push(Secchi::on(secchi.stop().await, Options::default()).await);
    let mut last_id = String::new();
    for server in &servers {
        let events = Stream::open(server, &team, &id, &progress.id).await.rest().await;
        let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, ["state", "progress", "scores", "end"]);
        assert_eq!(events[0].data["state"], "scored");
        last_id = events[2].id.clone();
    }
    for server in &servers {
        let response = ask(server, &team, &id, &last_id).await;
        assert_eq!((response.status().as_u16(), response.text().await.unwrap()), (204, String::new()));
        // One that is none of ours says nothing.
        for odd in ["7", "a.b", "....", "\u{e9}.1.2", &"x.".repeat(2000)] {
            let events = Stream::open(server, &team, &id, odd).await.rest().await;
            assert_eq!(events.len(), 4, "{odd}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_knows_all_is_told_only_what_changes() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = queued(&secchi, &team).await;
    let mut first = Stream::open(&secchi, &team, &id, "").await;
    first.named("state").await;
    let known = first.named("progress").await.id;
    let mut second = Stream::open(&secchi, &team, &id, &known).await;
    let cancel = secchi.request(Method::DELETE, &format!("/api/v1/submissions/{id}"), Some(&team.key));
    assert_eq!(cancel.send().await.unwrap().status(), 200);
    for stream in [&mut first, &mut second] {
        assert_eq!(stream.named("state").await.data["state"], "cancelled");
        assert_eq!(stream.rest().await.last().unwrap().name, "end");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_follows_sixteen_at_once_and_a_closed_stream_makes_room() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = queued(&secchi, &team).await;
    let mut streams = Vec::new();
    for _ in 0..16 {
        let mut stream = Stream::open(&secchi, &team, &id, "").await;
        stream.named("state").await;
        streams.push(stream);
    }
    let refused = problem(ask(&secchi, &team, &id, "").await, 429).await;
    assert_eq!(refused["code"], "too_many_streams");
    drop(streams.pop());
    until("a place for another stream", async || ask(&secchi, &team, &id, "").await.status() == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_ends_at_once() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = queued(&secchi, &team).await;
    for _ in 0..20 {
        let head = secchi.request(Method::HEAD, &path(&id), Some(&team.key)).send().await.unwrap();
        assert_eq!(
            (head.status().as_u16(), &head.headers()["content-type"]),
            (200, &"text/event-stream".parse().unwrap())
        );
        // On the same connection.
        secchi.get_json("/api/v1/benchmark", None).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_and_a_disabled_team_are_told_nothing_more() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let other = secchi.team("reef-lab").await;
    let (of_team, of_other) = (queued(&secchi, &team).await, queued(&secchi, &other).await);
    let mut streams = [
        Stream::open(&secchi, &team, &of_team, "").await,
        Stream::open(&secchi, &other, &of_other, "").await,
    ];
    for stream in &mut streams {
        stream.named("state").await;
        stream.named("progress").await;
    }
    let store = &secchi.running.evaluation.store;
    accounts::rotate_key(store, &Actor::command_line(), team.slug.clone(), secchi.clock.now_ms())
        .await
        .unwrap();
    accounts::disable_team(store, &Actor::command_line(), other.slug.clone(), secchi.clock.now_ms())
        .await
        .unwrap();
    for stream in &mut streams {
        assert!(stream.next().await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_ends_its_streams_and_does_not_wait_for_them() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = queued(&secchi, &team).await;
    let mut stream = Stream::open(&secchi, &team, &id, "").await;
    stream.named("state").await;
    stream.named("progress").await;
    let began = std::time::Instant::now();
    let (_ground, ended) = tokio::join!(secchi.stop(), stream.next());
    assert!(ended.is_none());
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_in_the_queue_counts_who_came_before_and_a_time_is_told_once_judging_was_measured() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let other = secchi.team("reef-lab").await;
    let request = secchi.request(Method::POST, "/api/v1/submissions", Some(&team.key));
    let val =
        request.multipart(form(&val_metadata(), val_answers("A ray glides past."))).send().await.unwrap();
    let val: String = val.json::<Value>().await.unwrap()["id"].as_str().unwrap().into();
    let first = secchi.accepted(&team, &metadata("Reef-8B"), "weak_model.jsonl").await;
    let second = secchi.accepted(&other, &metadata("Reef-8B"), "random.jsonl").await;
    let queue = async |team: &TestTeam, id: &str| {
        secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await["queue"].clone()
    };
    let place = |ahead: usize| json!({ "ahead": ahead, "seconds_low": null, "seconds_high": null });
    assert_eq!(queue(&other, &second).await, place(1));
    assert_eq!(queue(&team, &first).await, place(0));
    assert_eq!(queue(&team, &val).await, place(2), "test comes before val");

    secchi.drain().await;
    assert_eq!(queue(&team, &first).await, Value::Null);
    secchi.clock.advance_ms(60_000);
    let third = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let told = queue(&team, &third).await;
    // It may need no call, or one for each of its 48 open-ended answers; more than 96 were scored in that minute.
    assert_eq!((&told["ahead"], &told["seconds_low"]), (&json!(0), &json!(0)));
    assert!((20..=60).contains(&told["seconds_high"].as_u64().unwrap()), "{told}");
    let page = secchi.get_json("/api/v1/submissions", Some(&team.key)).await;
    assert_eq!(page["items"][0]["queue"], told);
    secchi.clock.advance_ms(120_000);
    let fourth = secchi.accepted(&team, &metadata("Reef-8B"), "partial.jsonl").await;
    assert_eq!(queue(&team, &fourth).await, place(1), "what was measured is too old");
}
