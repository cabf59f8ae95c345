//! What a key may do: every operation with each scope of a key.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};

use secchi::domain::key::Scope;
use secchi::domain::question::Split;

use crate::clips::{add, clip, lay};
use crate::operations::operations;
use crate::roles::{TABLE, Who, body, judge, new_key, object, submission};
use crate::support::{Options, Secchi};

#[tokio::test(flavor = "multi_thread")]
async fn a_key_does_what_its_scope_allows_and_no_more() {
    let options = Options {
        given_judge: Some(Arc::new(judge())),
        quota: vec!["--quota-val-per-day", "1000"],
        ..Options::default()
    };
    let (secchi, folder) = (Secchi::with(options).await, tempfile::tempdir().unwrap());
    secchi.import(Split::Val, "val.jsonl").await;
    lay(folder.path(), &[clip("one_frame_h264.mp4")]);
    add(&secchi, folder.path()).await.unwrap();
    let owner = secchi.team("ocean-lab").await;
    let server = (&secchi.http, secchi.base.as_str());
    for operation in operations() {
        let (_, who, on, granted) = *TABLE.iter().find(|(id, ..)| *id == operation.id).unwrap();
        let Some(needed) = operation.scope() else { continue };
        let least = match who {
            Who::Maintainer => Scope::Admin,
            _ if operation.method == Method::GET => Scope::Read,
            _ => Scope::Submit,
        };
        assert_eq!(needed, least, "{}", operation.id);
        // A team has so many keys at most.
        let maintainer = secchi.maintainer(&operation.id.replace('_', "-")).await;
        let team = if who == Who::Maintainer { &maintainer } else { &owner };
        let id = object(&secchi, &owner, on).await;
        let before = if on.is_submission() { submission(&secchi, &owner, &id).await } else { Value::Null };
        for scope in Scope::ALL.iter().filter(|scope| **scope <= needed) {
            let what = format!("{} with scope {scope}", operation.id);
            let (_, key) = new_key(&secchi, &team.key, *scope).await;
            let response = operation.request(server, Some(&key), &id, &team.key).send().await.unwrap();
            let status = response.status().as_u16();
            let answer = body(response).await;
            if *scope == needed {
                assert_eq!(status, granted, "{what}: {answer}");
                continue;
            }
            assert_eq!((status, &answer["code"]), (403, &json!("wrong_scope")), "{what}: {answer}");
            let detail = answer["detail"].as_str().unwrap();
            assert!(detail.contains(needed.as_str()) && detail.contains(scope.as_str()), "{what}: {detail}");
            if on.is_submission() {
                assert_eq!(submission(&secchi, &owner, &id).await, before, "{what} changed something");
            }
        }
    }
}
