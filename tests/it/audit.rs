//! The audit log: who did what, from where; and that no row of it is changed or lost.

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::{PgConnection, SqliteConnection, sql_query};
use reqwest::Method;
use serde_json::{Value, json};

use secchi::domain::instant::DAY_MS;

use crate::pages::Browser;
use crate::program::run_on;
use crate::support::{Ground, Options, Secchi, problem};

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

async fn log(secchi: &Secchi, key: &str, query: &str) -> Value {
    secchi.get_json(&format!("/api/v1/admin/audit?{query}"), Some(key)).await
}

/// A server whose log holds five lines: two accounts, two grants and a team that was shut out.
async fn with_log() -> (Secchi, String) {
    let secchi = Secchi::start().await;
    let maintainer = secchi.maintainer("harbour").await;
    secchi.team("ocean-lab").await;
    for reason in ["=HYPERLINK(\"x\") 100% \"sure\"", "a lost_day"] {
        let grant = json!({ "split": "val", "amount": 1, "reason": reason });
        let path = "/api/v1/admin/teams/ocean-lab/grants";
        let sent =
            secchi.request(Method::POST, path, Some(&maintainer.key)).json(&grant).send().await.unwrap();
        assert_eq!(sent.status(), 201);
        secchi.clock.advance_ms(DAY_MS);
    }
    let path = "/api/v1/admin/teams/ocean-lab/disable";
    secchi.request(Method::POST, path, Some(&maintainer.key)).send().await.unwrap();
    (secchi, maintainer.key)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_is_searched_and_read_page_by_page() {
    let (secchi, key) = with_log().await;
    let all = log(&secchi, &key, "").await;
    let items = all["items"].as_array().unwrap();
    assert_eq!(items.len(), 5);
    let newest = &items[0];
    assert_eq!(
        [&newest["actor"], &newest["place"], &newest["action"], &newest["subject"]],
        ["harbour", "127.0.0.1", "disable_team", "ocean-lab"]
    );
    assert_eq!((&newest["before"], &newest["after"]), (&json!("enabled"), &json!("disabled")));
    assert_eq!(newest["at"], "2026-12-02T12:00:00.000Z");
    let counts = [
        ("actor=harbour", 3),
        ("actor=command%20line", 2),
        ("action=grant_quota", 2),
        ("subject=harbour", 1),
        ("from=2026-12-01", 2),
        ("to=2026-11-30", 3),
        ("from=2026-12-01T00:00:00Z&to=2026-12-01", 1),
        ("q=HYPERlink", 1),
        ("q=100%25", 1),
        // A wildcard of the database's is none of the search.
        ("q=t_d", 1),
        ("q=%25", 1),
        ("q=OCEAN&actor=harbour", 3),
        ("q=nowhere", 0),
    ];
    for (query, count) in counts {
        let found = log(&secchi, &key, query).await;
        assert_eq!(found["items"].as_array().unwrap().len(), count, "{query}: {found}");
    }
    let (mut cursor, mut seen) = (String::new(), Vec::new());
    loop {
        let page = log(&secchi, &key, &format!("limit=2{cursor}")).await;
        seen.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(&seen, items);
    for query in
        ["from=yesterday", "from=2026-12-02&to=2026-12-01", "q=%00", "limit=0", "who=me", "format=xml"]
    {
        let refused = secchi.get(&format!("/api/v1/admin/audit?{query}"), Some(&key)).await;
        assert_eq!(refused.status(), 400, "{query}");
    }
    problem(secchi.get("/api/v1/admin/audit?format=csv&limit=5", Some(&key)).await, 400).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_audit_log_is_written_out_and_no_spreadsheet_takes_a_line_for_a_formula() {
    let (secchi, key) = with_log().await;
    let text = async |format: &str| {
        let response = secchi.get(&format!("/api/v1/admin/audit?format={format}"), Some(&key)).await;
        assert_eq!(response.status(), 200);
        response.text().await.unwrap()
    };
    let csv = text("csv").await;
    assert_eq!(csv.lines().next().unwrap(), "id,at,actor,place,action,subject,before,after");
    assert_eq!(csv.lines().count(), 6);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let cells: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert!(cells.iter().all(|record| record.iter().all(|cell| !cell.starts_with('='))), "{csv}");
    let jsonl = text("jsonl").await;
    let lines: Vec<Value> = jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(Value::from(lines.clone()), log(&secchi, &key, "").await["items"]);
    // The command says the same.
    assert_eq!(run_on(&secchi.ground, &["audit", "--csv"]).stdout(), csv);
    assert_eq!(run_on(&secchi.ground, &["audit", "--json"]).stdout(), jsonl);
    let some =
        run_on(&secchi.ground, &["audit", "--action", "grant_quota", "--since", "2026-12-01"]).stdout();
    assert!(some.contains("a lost_day") && !some.contains("HYPERLINK"), "{some}");
    let wrong = run_on(&secchi.ground, &["audit", "--since", "yesterday"]);
    assert!(wrong.code == Some(1) && wrong.stderr.contains("`yesterday`"), "{wrong:?}");
}
