//! The audit log: who did what, from where; and that no row of it is changed or lost.

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::{PgConnection, SqliteConnection, sql_query};
use reqwest::Method;
use serde_json::json;

use crate::pages::Browser;
use crate::program::run_on;
use crate::support::{Ground, Options, Secchi};

/// One row, as the database holds it.
#[derive(Debug, PartialEq, QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    actor: String,
    #[diesel(sql_type = Text)]
    place: String,
    #[diesel(sql_type = Text)]
    action: String,
}

/// The audit log from its second row on: the first is of the maintainers themselves.
fn rows(ground: &Ground) -> Vec<Row> {
    let asked = sql_query("SELECT actor, place, action FROM audit_log ORDER BY id");
    let rows: Vec<Row> = match ground.database_url.strip_prefix("sqlite://") {
        Some(path) => asked.load(&mut SqliteConnection::establish(path).unwrap()).unwrap(),
        None => asked.load(&mut PgConnection::establish(&ground.database_url).unwrap()).unwrap(),
    };
    rows.into_iter().skip(1).collect()
}

/// What the database says of a statement that it refuses.
fn refusal(ground: &Ground, statement: &str) -> String {
    let refused = match ground.database_url.strip_prefix("sqlite://") {
        Some(path) => SqliteConnection::establish(path).unwrap().batch_execute(statement),
        None => PgConnection::establish(&ground.database_url).unwrap().batch_execute(statement),
    };
    refused.expect_err(statement).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_says_from_where() {
    let http = vec!["--trusted-proxies", "127.0.0.1"];
    let secchi = Secchi::with(Options { http, ..Options::default() }).await;
    let maintainer = secchi.maintainer("harbour").await;
    secchi.team("ocean-lab").await;
    let path = "/api/v1/admin/teams/ocean-lab/grants";
    let grant = json!({ "split": "val", "amount": 1, "reason": "a lost day" });
    let asked = secchi.request(Method::POST, path, Some(&maintainer.key)).json(&grant);
    assert_eq!(asked.header("x-forwarded-for", "192.0.2.7").send().await.unwrap().status(), 201);
    let applied = json!({ "slug": "reef-lab", "name": "Reef Lab", "email": "reef@example.org" });
    let applied = secchi.request(Method::POST, "/api/v1/signup", None).json(&applied).send().await.unwrap();
    let id = applied.json::<serde_json::Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    let browser = Browser::signed_in(&secchi, &maintainer).await;
    let token = browser.token().await;
    let sent = browser.form(&format!("/admin/signups/{id}/approve"), &[("form_token", &token)]);
    assert_eq!(sent.header("x-forwarded-for", "192.0.2.8").send().await.unwrap().status(), 303);
    run_on(&secchi.ground, &["team", "disable", "reef-lab"]).stdout();
    let row = |actor: &str, place: &str, action: &str| {
        let [actor, place, action] = [actor, place, action].map(str::to_owned);
        Row { actor, place, action }
    };
    let expected = [
        row("command line", "command line", "create_team"),
        row("harbour", "192.0.2.7", "grant_quota"),
        row("harbour", "192.0.2.8", "approve_signup"),
        row("command line", "command line", "disable_team"),
    ];
    assert_eq!(rows(&secchi.ground), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_row_of_the_audit_log_is_changed_or_lost() {
    let secchi = Secchi::start().await;
    secchi.maintainer("harbour").await;
    secchi.team("ocean-lab").await;
    let before = rows(&secchi.ground);
    let mut statements = vec!["UPDATE audit_log SET actor = 'nobody'", "DELETE FROM audit_log"];
    if secchi.ground.is_shared() {
        statements.push("TRUNCATE audit_log");
    }
    for statement in statements {
        let said = refusal(&secchi.ground, statement);
        assert!(said.contains("append-only"), "{statement}: {said}");
    }
    assert_eq!((before.len(), rows(&secchi.ground)), (1, before));
}
