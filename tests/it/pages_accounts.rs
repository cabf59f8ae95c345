//! Keys, quota and sign-up as pages.

use secchi::accounts::keys::{NewKey, grant_key};
use secchi::domain::actor::Actor;
use secchi::domain::key::Scope;
use secchi::domain::question::Split;
use secchi::evaluation::quota::{Grant, grant_quota};

use crate::operations::val_answers;
use crate::pages::{Browser, with_val};
use crate::pages_admin::needs;
use crate::support::{NOON_MS, Options, Secchi, TestTeam};

/// The key that a page tells.
fn told(page: &str) -> String {
    let (_, rest) = page.split_once("<code class=\"key\">").unwrap_or_else(|| panic!("no key in {page}"));
    rest.split('<').next().unwrap().to_owned()
}

/// The id of the first key that a page lists under this name.
fn key_id(page: &str, name: &str) -> String {
    let (_, rest) =
        page.split_once(&format!("<h2>{name}</h2>")).unwrap_or_else(|| panic!("no `{name}` in {page}"));
    rest.split_once("action=\"/keys/").unwrap().1.split('/').next().unwrap().to_owned()
}

const APPLICANT: [(&str, &str); 5] = [
    ("name", "Reef <Lab>"),
    ("slug", "reef-lab"),
    ("email", "lab@reef.example"),
    ("affiliation", "Reef University"),
    ("purpose", "To see."),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_made_told_once_replaced_and_revoked() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let browser = Browser::signed_in(&secchi, &team).await;
    let new = [("name", "cluster <1>"), ("scope", "read"), ("expires_at", "2027-03-01")];
    let made = browser.send("/keys", &new).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let key = told(&made.text);
    let me = secchi.get_json("/api/v1/me", Some(&key)).await;
    assert_eq!((&me["team"], &me["scope"]), (&"ocean-lab".into(), &"read".into()));
    let listed = browser.get("/keys").await.text;
    assert!(
        !listed.contains(&key) && listed.contains("<span>2027-03-01</span> <span>23:59 UTC</span>"),
        "{listed}"
    );
    let id = key_id(&listed, "cluster &lt;1&gt;");

    let replaced = browser.send(&format!("/keys/{id}/rotate"), &[("overlap_days", "0")]).await;
    assert_eq!(replaced.status, 201, "{}", replaced.text);
    assert_eq!(secchi.get("/api/v1/me", Some(&key)).await.status(), 401);
    let key = told(&replaced.text);
    assert_eq!(secchi.get("/api/v1/me", Some(&key)).await.status(), 200);
    let id = key_id(&browser.get("/keys").await.text, "cluster &lt;1&gt;");
    assert_eq!(browser.send(&format!("/keys/{id}/rotate"), &[("overlap_days", "8")]).await.status, 422);
    assert_eq!(browser.send(&format!("/keys/{id}/revoke"), &[]).await.location, "/keys");
    assert_eq!(secchi.get("/api/v1/me", Some(&key)).await.status(), 401);
    assert_eq!(browser.send(&format!("/keys/{id}/revoke"), &[]).await.status, 409);

    let own = key_id(&browser.get("/keys").await.text, "first key");
    let last = browser.send(&format!("/keys/{own}/revoke"), &[]).await;
    assert!(last.status == 409 && last.text.contains("last key"), "{}", last.text);
    assert_eq!(browser.send(&format!("/keys/{own}/revoke"), &[("last", "true")]).await.status, 303);
    assert_eq!(browser.get("/keys").await.location, "/sign-in?next=/keys");
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_a_new_key_stand_beside_its_fields_and_no_key_gives_more_than_it_has() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let browser = Browser::signed_in(&secchi, &team).await;
    for (name, scope, expires_at, id) in [
        (" ", "read", "", "name-error"),
        ("x", "", "", "scope-error"),
        ("x", "read", "soon", "expires_at-error"),
        ("x", "read", "2020-01-01", "expires_at-error"),
    ] {
        let fields = [("name", name), ("scope", scope), ("expires_at", expires_at)];
        let shown = browser.send("/keys", &fields).await;
        assert_eq!(shown.status, 422, "{id}");
        assert!(shown.text.contains(&format!("id=\"{id}\"")), "{id}: {}", shown.text);
    }
    let more = browser.send("/keys", &[("name", "x"), ("scope", "admin")]).await;
    assert!(more.status == 403 && more.text.contains("`admin`"), "{}", more.text);
    let new = NewKey { name: "dashboard".into(), scope: Scope::Read, expires_at_ms: None };
    let store = &secchi.running.evaluation.store;
    let (_, key) = grant_key(store, &Actor::command_line(), &team.slug, new, NOON_MS).await.unwrap();
    let reader = Browser::signed_in(&secchi, &TestTeam { slug: team.slug.clone(), key }).await;
    assert_eq!(reader.get("/keys").await.status, 200);
    let id = key_id(&browser.get("/keys").await.text, "dashboard");
    for (path, fields) in [
        ("/keys".to_owned(), vec![("name", "x"), ("scope", "read")]),
        (format!("/keys/{id}/rotate"), vec![("overlap_days", "1")]),
        (format!("/keys/{id}/revoke"), vec![]),
    ] {
        assert_eq!(reader.send(&path, &fields).await.status, 403, "{path}");
    }
    let other = Browser::signed_in(&secchi, &secchi.team("reef-lab").await).await;
    assert_eq!(other.send(&format!("/keys/{id}/revoke"), &[]).await.status, 404);
    assert_eq!(other.send("/keys/nonsense/rotate", &[("overlap_days", "1")]).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_quota_says_what_is_left_until_when_and_why() {
    let (secchi, team) = with_val(Options::default()).await;
    let browser = Browser::signed_in(&secchi, &team).await;
    assert_eq!(browser.upload("submit", &[], Some(val_answers("A ray."))).await.status, 303);
    let grant = Grant { split: Split::Val, amount: 3, reason: "a <late> checkpoint".into() };
    grant_quota(&secchi.running.evaluation.store, &Actor::new("harbour", ""), &team.slug, grant, NOON_MS)
        .await
        .unwrap();
    let page = browser.get("/quota").await.text;
    for part in [
        "1 used of 23, 3 of them granted",
        "0 used of 20",
        "2026-12-01 00:00 UTC",
        "in 12 h 0 min",
        "−1",
        "+3",
        "A &lt;late&gt; checkpoint",
        "Submission accepted",
    ] {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
    let other = Browser::signed_in(&secchi, &secchi.team("reef-lab").await).await;
    assert!(other.get("/quota").await.text.contains("Nothing was charged yet."));
    assert_eq!(browser.get("/quota?before=nonsense").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_applicant_is_approved_and_takes_the_key_once() {
    let secchi = Secchi::start().await;
    let nobody = Browser::new(&secchi);
    assert_eq!(nobody.get("/sign-up").await.status, 200);
    let sent = nobody.post("/sign-up", &APPLICANT).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    let mine = sent.location;
    let waiting = nobody.get(&mine).await.text;
    assert!(
        waiting.contains("Sign-up of Reef &lt;Lab&gt;") && waiting.contains("has not decided"),
        "{waiting}"
    );
    let take = format!("{mine}/key");
    assert_eq!(nobody.post(&take, &[]).await.status, 409);

    let second = [("name", "Reef Lab"), ("slug", "reeflab"), ("email", "LAB@reef.example")];
    assert_eq!(nobody.post("/sign-up", &second).await.status, 303);
    let maintainer = Browser::signed_in(&secchi, &secchi.maintainer("harbour").await).await;
    let page = maintainer.get("/admin/signups").await.text;
    for part in ["Reef &lt;Lab&gt;", "lab@reef.example", "the same e-mail"] {
        assert!(needs(&page).contains(part), "no `{part}` in {page}");
    }
    let id = |slug: &str| {
        let (_, rest) = page.split_once(&format!("<code>{slug}</code></p>")).unwrap();
        rest.split_once("action=\"/admin/signups/").unwrap().1.split('/').next().unwrap().to_owned()
    };
    let (first, second) = (id("reef-lab"), id("reeflab"));
    let blank = maintainer.send(&format!("/admin/signups/{second}/reject"), &[("reason", " ")]).await;
    assert_eq!(blank.status, 422);
    let reject = format!("/admin/signups/{second}/reject");
    assert_eq!(maintainer.send(&reject, &[("reason", "twice")]).await.status, 303);
    let approve = format!("/admin/signups/{first}/approve");
    assert_eq!(maintainer.send(&approve, &[]).await.location, "/admin/signups");
    assert_eq!(maintainer.send(&approve, &[]).await.status, 409);
    assert!(needs(&maintainer.get("/admin/signups").await.text).contains("No sign-up waits."));
    assert!(maintainer.get("/admin/signups?all").await.text.contains("twice"));

    assert!(nobody.get(&mine).await.text.contains("Show the key"));
    let taken = nobody.post(&take, &[]).await;
    assert_eq!(taken.status, 201);
    let team = TestTeam { slug: "reef-lab".into(), key: told(&taken.text) };
    Browser::signed_in(&secchi, &team).await;
    let again = nobody.post(&take, &[]).await;
    assert!(again.status == 410 && !again.text.contains(&team.key), "{}", again.text);
    assert!(nobody.get(&mine).await.text.contains("The key was told."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_or_unwanted_sign_up_comes_back_with_what_was_typed() {
    let secchi = Secchi::start().await;
    secchi.team("ocean-lab").await;
    let nobody = Browser::new(&secchi);
    let faulty = [("name", "Reef <Lab>"), ("slug", "Reef Lab"), ("email", "nowhere")];
    let shown = nobody.post("/sign-up", &faulty).await;
    assert_eq!(shown.status, 422);
    for part in ["slug-error", "email-error", "value=\"Reef &lt;Lab&gt;\"", "value=\"nowhere\""] {
        assert!(shown.text.contains(part), "no `{part}` in {}", shown.text);
    }
    let taken = [("name", "Ocean"), ("slug", "ocean-lab"), ("email", "a@b.example")];
    let shown = nobody.post("/sign-up", &taken).await;
    assert!(shown.status == 409 && shown.text.contains("slug-error"), "{}", shown.text);
    assert_eq!(nobody.get("/sign-up/nobody").await.status, 404);
    let foreign = nobody.request(reqwest::Method::POST, "/sign-up").header("origin", "https://evil.example");
    let foreign = foreign.header("content-type", "application/x-www-form-urlencoded").body("slug=x");
    assert_eq!(foreign.send().await.unwrap().status(), 403);

    let closed = Secchi::with(Options { http: vec!["--signup", "closed"], ..Options::default() }).await;
    let nobody = Browser::new(&closed);
    assert_eq!(nobody.get("/sign-up").await.status, 403);
    assert_eq!(nobody.post("/sign-up", &APPLICANT).await.status, 403);
    let open = Secchi::with(Options { http: vec!["--signup", "open"], ..Options::default() }).await;
    let nobody = Browser::new(&open);
    let mine = nobody.post("/sign-up", &APPLICANT).await.location;
    assert_eq!(nobody.post(&format!("{mine}/key"), &[]).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_ups_are_for_maintainers_with_a_key_of_scope_admin() {
    let secchi = Secchi::start().await;
    let nobody = Browser::new(&secchi);
    assert_eq!(nobody.post("/sign-up", &APPLICANT).await.status, 303);
    let (team, harbour) = (secchi.team("ocean-lab").await, secchi.maintainer("harbour").await);
    let new = NewKey { name: "laptop".into(), scope: Scope::Submit, expires_at_ms: None };
    let store = &secchi.running.evaluation.store;
    let (_, key) = grant_key(store, &Actor::command_line(), &harbour.slug, new, NOON_MS).await.unwrap();
    let lesser = TestTeam { slug: harbour.slug.clone(), key };
    let maintainer = Browser::signed_in(&secchi, &harbour).await;
    let page = maintainer.get("/admin/signups").await.text;
    let id = page.split_once("action=\"/admin/signups/").unwrap().1.split('/').next().unwrap().to_owned();
    let paths = [format!("/admin/signups/{id}/approve"), format!("/admin/signups/{id}/reject")];
    assert_eq!(nobody.get("/admin/signups").await.location, "/sign-in?next=/admin/signups");
    for path in &paths {
        assert_eq!(nobody.post(path, &[("reason", "no")]).await.location, "/sign-in", "{path}");
    }
    for stranger in [&team, &lesser] {
        let browser = Browser::signed_in(&secchi, stranger).await;
        let shown = browser.get("/admin/signups").await;
        assert!(shown.status == 403 && !shown.text.contains("reef-lab"), "{}", shown.text);
        for path in &paths {
            assert_eq!(browser.send(path, &[("reason", "no")]).await.status, 403, "{path}");
        }
    }
    assert_eq!(maintainer.get("/admin/signups").await.text, page, "something was decided");
    assert_eq!(maintainer.send("/admin/signups/nobody/approve", &[]).await.status, 404);
}
