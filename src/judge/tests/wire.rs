//! One try on the wire: which fault or reply it is, what is known of its bill, and what its headers add.

use super::*;
use crate::judge::chat::{Chat, FinishReason, Reply};

const NOTHING: Option<Usage> = Some(Usage { prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0 });
/// What [`message`] says.
const BILLED: Option<Usage> = Some(Usage { prompt_tokens: 100, cached_tokens: 40, completion_tokens: 10 });

async fn ask_once(act: Act) -> Result<Reply, CallFault> {
    let server = Server::start([act]).await;
    ask_at(&endpoint(&server)).await
}

async fn ask_at(endpoint: &Endpoint) -> Result<Reply, CallFault> {
    Chat::new(endpoint).unwrap().ask(&Map::from_iter([("model".to_owned(), json!("m"))])).await
}

/// A completion whose parts may be replaced by others.
fn completion(changes: &[(&str, Value)]) -> Act {
    let mut whole = json!({
        "model": "m",
        "choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}},
    });
    for (pointer, value) in changes {
        *whole.pointer_mut(pointer).unwrap() = value.clone();
    }
    http(200, "", whole.to_string().as_bytes())
}

/// `act` without its last bytes.
fn cut(act: Act) -> Act {
    let Act::Send(mut bytes) = act else { unreachable!() };
    bytes.truncate(bytes.len() - 5);
    Act::Send(bytes)
}

fn before(head: &str, act: Act) -> Act {
    let Act::Send(bytes) = act else { unreachable!() };
    Act::Send([head.as_bytes(), &bytes].concat())
}

#[tokio::test]
async fn each_reply_that_is_no_completion_is_a_fault_of_its_kind_and_its_bill_is_known_or_not() {
    use FaultKind as K;
    let ok = || completion(&[]);
    let bomb = "[".repeat(500_000);
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"mo\r\n";
    for (name, act, kind, usage) in [
        ("closed at once", Act::Send(Vec::new()), K::Transport, None),
        ("no HTTP", Act::Send(b"SSH-2.0-OpenSSH_9\r\n\r\n".to_vec()), K::Transport, None),
        ("cut", cut(ok()), K::Transport, None),
        ("cut chunks", Act::Send(chunked.into()), K::Transport, None),
        ("101", http(101, "upgrade: x\r\n", b""), K::Server, NOTHING),
        ("204", Act::Send(b"HTTP/1.1 204 X\r\nconnection: close\r\n\r\n".to_vec()), K::Server, None),
        ("301", http(301, "location: /v2\r\n", b""), K::Server, NOTHING),
        ("307", http(307, "location: http://127.0.0.1:9/\r\n", b""), K::Server, NOTHING),
        ("400, cut", cut(http(400, "", b"{\"error\":{}}")), K::Transport, None),
        ("429, cut", cut(http(429, "", b"Too Many Requests")), K::RateLimit, NOTHING),
        ("503, cut", cut(http(503, "", b"{\"error\":{}}")), K::Overload, NOTHING),
        ("504", http(504, "", b"<html>"), K::Server, None),
        ("empty", http(200, "", b""), K::Server, None),
        ("a page", http(200, "content-type: text/html\r\n", b"<!doctype html>"), K::Server, None),
        ("a list", http(200, "", b"[]"), K::Server, None),
        ("no UTF-8", http(200, "", b"{\"model\":\"\xff\xfe\",\"choices\":[]}"), K::Server, None),
        ("UTF-16", http(200, "", b"{\0}\0"), K::Server, None),
        ("a byte-order mark", http(200, "", b"\xef\xbb\xbf{}"), K::Server, None),
        ("large", http(200, "", &vec![b' '; 1024 * 1024 + 1]), K::Server, None),
        ("a nesting bomb", http(200, "", bomb.as_bytes()), K::Server, None),
        ("a nesting bomb as an error", http(400, "", bomb.as_bytes()), K::BadRequest, NOTHING),
        ("an error", http(200, "", b"{\"error\":{\"type\":\"server_error\"}}"), K::Server, None),
        ("an error of money", http(200, "", b"{\"error\":{\"code\":402}}"), K::Money, None),
        ("no choice", completion(&[("/choices", json!([]))]), K::Server, BILLED),
        ("choices null", completion(&[("/choices", json!(null))]), K::Server, None),
        (
            "two choices",
            completion(&[("/choices", json!([{"message": {}}, {"message": {}}]))]),
            K::Malformed,
            BILLED,
        ),
        ("no message", completion(&[("/choices/0", json!({"text": "{}"}))]), K::Server, None),
        ("no model", completion(&[("/model", json!(null))]), K::Server, None),
    ] {
        let fault = ask_once(act).await.err().expect(name);
        assert_eq!((fault.kind, fault.usage), (kind, usage), "{name}: {fault}");
    }
}

#[tokio::test]
async fn a_completion_is_read_whatever_surrounds_it() {
    let ok = || completion(&[]);
    let text = Some("{}".to_owned());
    let calls = json!({"content": "{}", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]});
    for (name, act, content, usage) in [
        ("plain", ok(), text.clone(), BILLED),
        ("after 100", before("HTTP/1.1 100 Continue\r\n\r\n", ok()), text.clone(), BILLED),
        ("after 103", before("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", ok()), text.clone(), BILLED),
        ("tool calls beside", completion(&[("/choices/0/message", calls)]), text.clone(), BILLED),
        ("content null", completion(&[("/choices/0/message/content", json!(null))]), None, BILLED),
        (
            "content in parts",
            completion(&[("/choices/0/message/content", json!([{"type": "text", "text": "{}"}]))]),
            None,
            BILLED,
        ),
        ("content a number", completion(&[("/choices/0/message/content", json!(5))]), None, BILLED),
        ("usage null", completion(&[("/usage", json!(null))]), text.clone(), None),
        ("usage empty", completion(&[("/usage", json!({}))]), text.clone(), None),
        ("usage below 0", completion(&[("/usage/prompt_tokens", json!(-1))]), text.clone(), None),
        ("usage a fraction", completion(&[("/usage/completion_tokens", json!(0.5))]), text.clone(), None),
        ("usage too large", completion(&[("/usage/completion_tokens", json!(u64::MAX))]), text.clone(), None),
    ] {
        let reply = ask_once(act).await.map_err(|fault| fault.to_string()).expect(name);
        assert_eq!((reply.finish_reason, reply.model.as_str()), (FinishReason::Stop, "m"), "{name}");
        assert_eq!((reply.content, reply.usage), (content, usage), "{name}");
    }
    let surrogate = br#"{"model":"m","choices":[{"message":{"content":"\ud83d"},"finish_reason":"stop"}]}"#;
    assert_eq!(ask_once(http(200, "", surrogate)).await.ok().unwrap().content, None);
    let cached = completion(&[("/usage/prompt_tokens_details/cached_tokens", json!(1000))]);
    assert_eq!(ask_once(cached).await.ok().unwrap().usage.unwrap().cached_tokens, 100);
}

#[tokio::test]
async fn a_reply_that_did_not_end_by_itself_is_malformed_whatever_it_says() {
    let valid = r#"{"camera_motion_and_viewpoint":4,"object_activity":2,"camera_object_relationship":4}"#;
    for reason in [json!(null), json!("tool_calls"), json!("function_call"), json!("eos"), json!("")] {
        let act = completion(&[
            ("/choices/0/message/content", json!(valid)),
            ("/choices/0/finish_reason", reason.clone()),
        ]);
        let fault = crate::judge::reply::verdict(Rubric::Oemu, "m", ask_once(act).await.ok().unwrap());
        assert_eq!(fault.unwrap_err().kind, FaultKind::Malformed, "{reason}");
    }
}

#[tokio::test]
async fn a_connection_that_never_was_costs_nothing_and_a_deadline_may_have() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = Endpoint {
        base_url: format!("http://{}/v1", listener.local_addr().unwrap()),
        api_key: None,
        timeout: Duration::from_millis(50),
    };
    // The kernel takes the connection, and nobody answers.
    let late = ask_at(&nobody).await.err().unwrap();
    assert_eq!((late.kind, late.usage), (FaultKind::Deadline, None));
    drop(listener);
    let refused = ask_at(&Endpoint { timeout: Duration::from_secs(5), ..nobody }).await.err().unwrap();
    assert_eq!((refused.kind, refused.usage), (FaultKind::Transport, NOTHING));
}

#[tokio::test]
async fn the_headers_of_a_reply_come_with_it_and_with_its_fault() {
    let headers = "x-ratelimit-remaining-requests: 7\r\nx-ratelimit-remaining-tokens: 900\r\n\
        retry-after-ms: 50\r\nx-should-retry: false\r\n";
    let remaining = Remaining { requests: Some(7), tokens: Some(900) };
    for (status, body) in [(429, "{}"), (500, ""), (200, "<html>")] {
        let fault = ask_once(http(status, headers, body.as_bytes())).await.err().unwrap();
        assert_eq!(fault.remaining, remaining, "{status}");
        assert_eq!((fault.wait, fault.may_retry), (Some(Duration::from_millis(50)), Some(false)), "{status}");
    }
    let Act::Send(good) = completion(&[]) else { unreachable!() };
    let body = good.split(|byte| *byte == b'\n').next_back().unwrap();
    let reply = ask_once(http(200, headers, body)).await.ok().unwrap();
    assert_eq!(reply.remaining, remaining);
    let fault = crate::judge::reply::verdict(Rubric::Oemu, "m", reply).unwrap_err();
    assert_eq!((fault.kind, fault.remaining, fault.usage), (FaultKind::Malformed, remaining, BILLED));
}

#[tokio::test]
async fn a_server_that_forbids_a_retry_is_not_asked_again() {
    let (result, tries) = outcome(vec![http(500, "x-should-retry: false\r\n", b""); 9]).await;
    assert!(matches!(result, Err(Failure::Item { reason: ItemReason::Unavailable, .. })));
    assert_eq!(tries, 1);
    let (result, tries) = outcome(vec![http(400, "x-should-retry: true\r\n", b""); 2]).await;
    assert_eq!((result.unwrap().scores, tries), ([1, 2, 3], 3));
}
