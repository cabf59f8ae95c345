//! Following a submission till it ends: by Server-Sent Events, or by asking again where there are none.

use std::time::{Duration, Instant};

use eventsource_stream::{Event, Eventsource as _};
use futures::StreamExt as _;
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{Client, ClientError};
use crate::domain::submission::SubmissionState;
use crate::limiter::Backoff;

/// How often a submission is asked about where there are no events.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// How long no event may come before the submission is asked about all the same.
const QUIET: Duration = Duration::from_secs(45);

/// Connections in a row that bring no event before events are given up.
const MAX_BARREN: u32 = 3;

/// How long a server may be out of reach while a submission is followed.
const PATIENCE: Duration = Duration::from_secs(600);

/// How following by events ended.
enum Heard {
    /// The submission has ended.
    End,
    /// The connection broke after this many events.
    Break(u32),
    /// It stands, but nothing was told for long.
    Quiet,
    /// There are no events here.
    Nothing,
}

impl Client {
    /// Follows a submission till it ends and tells each change; gives the ended submission.
    ///
    /// # Errors
    /// When there is none, or the server is out of reach for ten minutes.
    pub async fn follow(&self, id: &str, mut on_change: impl FnMut(&Value)) -> Result<Value, ClientError> {
        let mut last_event: Option<String> = None;
        let mut barren = 0;
        loop {
            let mut submission = self.find_patiently(id).await?;
            on_change(&submission);
            if has_ended(&submission) {
                return Ok(submission);
            }
            if barren >= MAX_BARREN {
                sleep(ASK_EVERY).await;
                continue;
            }
            match self.hear(id, &mut last_event, &mut submission, &mut on_change).await {
                Heard::End | Heard::Quiet => {}
                Heard::Nothing => barren = MAX_BARREN,
                Heard::Break(events) => {
                    barren = if events == 0 { barren + 1 } else { 0 };
                    sleep(Backoff::default().wait(barren + 1, rand::random())).await;
                }
            }
        }
    }

    /// The submission, also if the server starts anew meanwhile.
    async fn find_patiently(&self, id: &str) -> Result<Value, ClientError> {
        let started = Instant::now();
        loop {
            match self.find_submission(id).await {
                Err(error) if error.is_passing() && started.elapsed() < PATIENCE => {}
                found => return found,
            }
        }
    }

    /// Takes over what events tell till the submission has ended or they stop.
    async fn hear(
        &self,
        id: &str,
        last_event: &mut Option<String>,
        submission: &mut Value,
        on_change: &mut impl FnMut(&Value),
    ) -> Heard {
        let mut request =
            self.request(Method::GET, &["submissions", id, "events"]).header(ACCEPT, "text/event-stream");
        if let Some(last) = last_event {
            request = request.header("Last-Event-ID", last.as_str());
        }
        let response = match timeout(QUIET, self.send(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err((error, _))) if !error.is_passing() => return Heard::Nothing,
            _ => return Heard::Break(0),
        };
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return Heard::Nothing;
        }
        let mut events = response.bytes_stream().eventsource();
        let mut heard = 0;
        loop {
            let event = match timeout(QUIET, events.next()).await {
                Ok(Some(Ok(event))) => event,
                Ok(_) => return Heard::Break(heard),
                Err(_) => return Heard::Quiet,
            };
            heard += 1;
            if !event.id.is_empty() {
                *last_event = Some(event.id.clone());
            }
            take_over(submission, &event);
            on_change(submission);
            if has_ended(submission) {
                return Heard::End;
            }
        }
    }
}

fn has_ended(submission: &Value) -> bool {
    let state = submission["state"].as_str().and_then(SubmissionState::parse);
    state.is_some_and(SubmissionState::is_final)
}

/// Data are fields of the submission, among them the one that the event is named after; or that field's value, with the
/// place in the queue beside it.
fn take_over(submission: &mut Value, event: &Event) {
    let (Ok(data), Some(fields)) = (serde_json::from_str::<Value>(&event.data), submission.as_object_mut())
    else {
        return;
    };
    match data {
        Value::Object(told) if told.contains_key(&event.event) => fields.extend(told),
        Value::Object(mut told) if fields.contains_key(&event.event) => {
            if let Some(queue) = told.remove("queue") {
                fields.insert("queue".to_owned(), queue);
            }
            fields.insert(event.event.clone(), Value::Object(told));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_tells_fields_or_the_one_that_it_is_named_after() {
        let mut submission = json!({"state": "queued", "progress": {"judged": 0}, "paused_for": null});
        let mut hear = |name: &str, data: Value| {
            let event = Event { event: name.into(), data: data.to_string(), ..Event::default() };
            take_over(&mut submission, &event);
            submission.clone()
        };
        assert_eq!(
            hear("state", json!({"state": "judging", "paused_for": "budget"}))["paused_for"],
            "budget"
        );
        let progress = hear("progress", json!({"judged": 7, "queue": {"ahead": 2}}));
        assert_eq!((&progress["progress"], &progress["queue"]["ahead"]), (&json!({"judged": 7}), &json!(2)));
        assert_eq!(hear("progress", json!({"progress": {"judged": 8}}))["progress"]["judged"], 8);
        let before = hear("other", json!({"x": 1}));
        assert_eq!((&before["state"], before.as_object().unwrap().len()), (&json!("judging"), 4));
    }
}
