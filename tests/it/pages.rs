//! The teams' pages as a browser without scripts uses them: forms, their faults, and who sees what.

use std::sync::Arc;

use reqwest::multipart::{Form, Part};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder, Response};

use secchi::accounts::keys::{NewKey, grant_key};
use secchi::domain::actor::Actor;
use secchi::domain::key::Scope;
use secchi::domain::question::Split;
use secchi::judge::ScriptedJudge;

use crate::operations::{val_answers, val_metadata};
use crate::support::{NOON_MS, Options, Secchi, TestTeam, sample_bytes};

/// A browser that follows no redirect and keeps no cookie by itself, so that a test sees both.
pub struct Browser<'s> {
    secchi: &'s Secchi,
    http: Client,
    pub cookie: Option<String>,
}

/// What a page came to.
pub struct Shown {
    pub status: u16,
    pub location: String,
    pub cookie: Option<String>,
    pub text: String,
}

impl<'s> Browser<'s> {
    pub fn new(secchi: &'s Secchi) -> Browser<'s> {
        let http = Client::builder().redirect(Policy::none()).build().unwrap();
        Browser { secchi, http, cookie: None }
    }

    pub async fn signed_in(secchi: &'s Secchi, team: &TestTeam) -> Browser<'s> {
        let mut browser = Browser::new(secchi);
        let shown = browser.post("/sign-in", &[("api_key", &team.key)]).await;
        assert_eq!((shown.status, shown.location.as_str()), (303, "/submissions"), "{}", shown.text);
        browser.cookie = Some(shown.cookie.unwrap().split(';').next().unwrap().to_owned());
        browser
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.secchi.base));
        let request = request.header("accept", "text/html");
        match &self.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Shown {
        shown(self.request(Method::GET, path).send().await.unwrap()).await
    }

    /// Sends a form as it stands, without the token of a page.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Shown {
        shown(self.form(path, fields).send().await.unwrap()).await
    }

    pub fn form(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let encode = |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
        let fields: Vec<String> =
            fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        let request = self.request(Method::POST, path);
        request.header("content-type", "application/x-www-form-urlencoded").body(fields.join("&"))
    }

    /// The token that the forms of this browser's pages carry.
    pub async fn token(&self) -> String {
        field(&self.get("/submit").await.text, "form_token")
    }

    /// Sends a form of a page.
    pub async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Shown {
        let token = self.token().await;
        let mut all = vec![("form_token", token.as_str())];
        all.extend(fields);
        self.post(path, &all).await
    }

    /// Fills in the form of `/submit` and presses a button.
    pub async fn upload(&self, step: &str, fields: &[(&str, &str)], file: Option<Vec<u8>>) -> Shown {
        let page = self.get("/submit").await.text;
        let mut form = Form::new();
        for name in ["form_token", "form_key"] {
            form = form.text(name, field(&page, name));
        }
        let standard = [
            ("split", "val"),
            ("model_name", "Reef-8B"),
            ("access", "open"),
            ("parameters_b", "8"),
            ("visibility", "private"),
        ];
        for (name, value) in standard {
            let given = fields.iter().find(|(other, _)| *other == name).map_or(value, |(_, value)| value);
            form = form.text(name, given.to_owned());
        }
        for (name, value) in
            fields.iter().filter(|(name, _)| !standard.iter().any(|(other, _)| other == name))
        {
            form = form.text((*name).to_owned(), (*value).to_owned());
        }
        let part = match file {
            Some(bytes) => Part::bytes(bytes).file_name("answers.jsonl"),
            None => Part::bytes(Vec::new()).file_name(""),
        };
        let form = form.part("predictions", part).text("step", step.to_owned());
        shown(self.request(Method::POST, "/submit").multipart(form).send().await.unwrap()).await
    }
}

async fn shown(response: Response) -> Shown {
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (location, cookie) = (header("location").unwrap_or_default(), header("set-cookie"));
    let status = response.status().as_u16();
    Shown { status, location, cookie, text: response.text().await.unwrap() }
}

/// The value of a hidden field.
pub fn field(page: &str, name: &str) -> String {
    let begin = format!("name=\"{name}\" value=\"");
    let (_, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no `{name}` in {page}"));
    rest.split('"').next().unwrap().to_owned()
}

pub async fn with_val(options: Options) -> (Secchi, TestTeam) {
    let secchi = Secchi::with(options).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    (secchi, team)
}

pub async fn submitted(secchi: &Secchi, team: &TestTeam) -> String {
    let answers = val_answers("A ray glides past.");
    let response = secchi.submit(team, &val_metadata(), answers).await;
    response.json::<serde_json::Value>().await.unwrap()["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_open_to_those_whom_it_is_for_and_to_nobody_else() {
    let options = Options {
        given_judge: Some(Arc::new(ScriptedJudge::new(|_| Ok(ScriptedJudge::verdict([3, 3, 3]))))),
        ..Options::default()
    };
    let (secchi, owner) = with_val(options).await;
    let id = submitted(&secchi, &owner).await;
    secchi.drain().await;
    let (other, maintainer) = (secchi.team("reef-lab").await, secchi.maintainer("harbour").await);
    let nobody = Browser::new(&secchi);
    let owner = Browser::signed_in(&secchi, &owner).await;
    let other = Browser::signed_in(&secchi, &other).await;
    let maintainer = Browser::signed_in(&secchi, &maintainer).await;
    let of_one = ["", "/progress", "/answers"].map(|end| format!("/submissions/{id}{end}"));
    let of_team = ["/submit", "/submissions", "/quota", "/keys"].map(str::to_owned);
    for path in of_one.iter().chain(&of_team) {
        let owned = path.contains(&id);
        let seen = nobody.get(path).await;
        if path == "/submit" {
            assert!(
                seen.text.contains("href=\"/sign-in?next=/submit\"") && !seen.text.contains("<form"),
                "{path}"
            );
        } else {
            assert!(seen.location.starts_with("/sign-in"), "{path}");
        }
        assert_eq!(owner.get(path).await.status, 200, "{path}");
        for stranger in [&other, &maintainer] {
            let shown = stranger.get(path).await;
            assert_eq!(shown.status, if owned { 404 } else { 200 }, "{path}");
            // The snippets below the form name a model of that name.
            assert!(path == "/submit" || !shown.text.contains("Reef-8B"), "{path}");
        }
    }
    let posts: [(&str, &[(&str, &str)]); 6] = [
        ("details", &[("description", "the second run"), ("paper_url", ""), ("code_url", "")]),
        ("reviewers-link", &[]),
        ("reviewers-link/end", &[]),
        ("visibility", &[("visibility", "anonymous")]),
        ("cancel", &[]),
        ("withdraw", &[("reason", "a wrong checkpoint")]),
    ];
    for (action, fields) in posts {
        let path = format!("/submissions/{id}/{action}");
        assert_eq!(nobody.post(&path, fields).await.location, "/sign-in", "{path}");
        for stranger in [&other, &maintainer] {
            assert_eq!(stranger.send(&path, fields).await.status, 404, "{path}");
        }
        let expected = match action {
            "cancel" => 409,
            "reviewers-link" => 201,
            _ => 303,
        };
        assert_eq!(owner.send(&path, fields).await.status, expected, "{path}");
        assert_eq!(owner.get(&path).await.status, 405, "{path}");
    }
    for unknown in ["/submissions/nonsense", "/submissions/01a22963-3f09-7089-bfaa-4e33da3a9318", "/nowhere"]
    {
        let shown = owner.get(unknown).await;
        assert_eq!(shown.status, 404, "{unknown}");
        assert!(shown.text.contains("<h1>This page does not exist</h1>"), "{}", shown.text);
    }
    let api = owner.request(Method::GET, "/api/v1/nowhere").send().await.unwrap();
    assert_eq!(api.headers()["content-type"], "application/problem+json");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_may_only_read_changes_nothing_from_a_page() {
    let (secchi, team) = with_val(Options::default()).await;
    let id = submitted(&secchi, &team).await;
    let store = &secchi.running.evaluation.store;
    let new = NewKey { name: "dashboard".into(), scope: Scope::Read, expires_at_ms: None };
    let (_, key) = grant_key(store, &Actor::command_line(), &team.slug, new, NOON_MS).await.unwrap();
    let reader = TestTeam { slug: team.slug.clone(), key };
    let browser = Browser::signed_in(&secchi, &reader).await;
    let page = browser.get(&format!("/submissions/{id}")).await;
    assert!(page.status == 200 && !page.text.contains("<h2 id=\"decisions\""), "{}", page.text);
    let posts: [(&str, &[(&str, &str)]); 6] = [
        ("visibility", &[("visibility", "public")]),
        ("details", &[("description", "d"), ("paper_url", ""), ("code_url", "")]),
        ("reviewers-link", &[]),
        ("reviewers-link/end", &[]),
        ("cancel", &[]),
        ("withdraw", &[("reason", "r")]),
    ];
    for (action, fields) in posts {
        let shown = browser.send(&format!("/submissions/{id}/{action}"), fields).await;
        assert!(shown.status == 403 && shown.text.contains("`read`"), "{action}: {}", shown.text);
    }
    assert_eq!(browser.upload("submit", &[], Some(val_answers("A ray."))).await.status, 403);
    assert_eq!(secchi.submission_ids(&team).await, [id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_checked_submitted_followed_published_and_withdrawn_by_forms_alone() {
    let (secchi, team) = with_val(Options::default()).await;
    let browser = Browser::signed_in(&secchi, &team).await;
    let answers = val_answers("A ray glides past.");
    let checked = browser.upload("check", &[], Some(answers.clone())).await;
    assert_eq!(checked.status, 200, "{}", checked.text);
    assert!(checked.text.contains("The file can be submitted"), "{}", checked.text);
    assert!(secchi.submission_ids(&team).await.is_empty(), "a check stores nothing");
    let hostile = [("model_name", "Reef-8B <img src=x>"), ("description", "<script>alert(1)</script>")];
    let sent = browser.upload("submit", &hostile, Some(answers)).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    let [id] = &secchi.submission_ids(&team).await[..] else { panic!("one submission") };
    assert_eq!(sent.location, format!("/submissions/{id}"));
    let progress: serde_json::Value =
        serde_json::from_str(&browser.get(&format!("{}/progress", sent.location)).await.text).unwrap();
    assert_eq!(progress["state"], "queued");
    let queue = "No submission before it; how long it takes is not known yet.";
    assert_eq!(progress["queue"], queue);
    assert!(browser.get(&sent.location).await.text.contains(queue));
    secchi.drain().await;
    let page = browser.get(&sent.location).await.text;
    assert!(page.contains("Only your team sees it.") && page.contains("MCQ"), "{page}");
    let listed = browser.get("/submissions").await.text;
    assert!(listed.contains(id.as_str()));
    for shown in [&page, &listed] {
        assert!(shown.contains("Reef-8B &lt;img src=x&gt;") && !shown.contains("<img"), "{shown}");
        assert!(!shown.contains("<script>alert"), "{shown}");
    }
    let publish = format!("{}/visibility", sent.location);
    assert_eq!(browser.send(&publish, &[("visibility", "public")]).await.status, 303);
    let board = async || secchi.get("/?split=val", None).await.text().await.unwrap();
    assert!(board().await.contains("Reef-8B"));
    let withdraw = format!("{}/withdraw", sent.location);
    let refused = browser.send(&withdraw, &[("reason", " ")]).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("blank"), "{}", refused.text);
    assert_eq!(browser.send(&withdraw, &[("reason", "<b>wrong</b> checkpoint")]).await.status, 303);
    assert!(!board().await.contains("Reef-8B"));
    let page = browser.get(&sent.location).await.text;
    assert!(page.contains("&lt;b&gt;wrong&lt;/b&gt; checkpoint") && !page.contains("<b>wrong"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_is_sent_twice_makes_one_submission() {
    let (secchi, team) = with_val(Options::default()).await;
    let browser = Browser::signed_in(&secchi, &team).await;
    let page = browser.get("/submit").await.text;
    let (token, key) = (field(&page, "form_token"), field(&page, "form_key"));
    let mut locations = Vec::new();
    for _ in 0..2 {
        let form = Form::new()
            .text("form_token", token.clone())
            .text("form_key", key.clone())
            .text("split", "val")
            .text("model_name", "Reef-8B")
            .text("access", "closed")
            .text("visibility", "private")
            .part("predictions", Part::bytes(val_answers("A ray.")).file_name("a.jsonl"))
            .text("step", "submit");
        let response = browser.request(Method::POST, "/submit").multipart(form).send().await.unwrap();
        locations.push(shown(response).await.location);
    }
    assert_eq!(locations[0], locations[1]);
    assert_eq!(secchi.submission_ids(&team).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_stand_beside_their_lines_and_nothing_that_was_typed_is_lost() {
    let (secchi, team) = with_val(Options::default()).await;
    let browser = Browser::signed_in(&secchi, &team).await;
    let mut file = val_answers("A ray.");
    file.extend(b"{\"question_id\":\"nobody--1--q1\",\"answer\":\"<script>alert(1)</script>\"}\n{oops\n");
    let typed =
        [("model_name", "Reef <8B> \"quoted\""), ("description", "two\r\nlines"), ("visibility", "public")];
    let shown = browser.upload("submit", &typed, Some(file)).await;
    assert_eq!(shown.status, 422);
    for part in [
        "The file has 2 faults and was refused whole",
        "<code>unknown_question</code>",
        "<code>malformed_json</code>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "{oops",
        "value=\"Reef &lt;8B&gt; &quot;quoted&quot;\"",
        "two\nlines",
        "<title>Error: Submit",
    ] {
        assert!(shown.text.contains(part), "no `{part}` in {}", shown.text);
    }
    assert!(!shown.text.contains("<script>alert"), "{}", shown.text);
    assert!(secchi.submission_ids(&team).await.is_empty());

    let fields = [("model_name", " "), ("parameters_b", "many"), ("paper_url", "javascript:alert(1)")];
    let shown = browser.upload("submit", &fields, None).await;
    assert_eq!(shown.status, 422);
    for id in ["predictions-error", "model_name-error", "parameters_b-error", "paper_url-error"] {
        assert!(shown.text.contains(&format!("id=\"{id}\"")), "no `{id}` in {}", shown.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_against_a_file_is_said_on_the_page() {
    let options = Options { quota: vec!["--quota-val-per-day", "1"], ..Options::default() };
    let (secchi, team) = with_val(options).await;
    let browser = Browser::signed_in(&secchi, &team).await;
    let answers = || Some(val_answers("A ray."));
    let shown = browser.upload("submit", &[("split", "test")], answers()).await;
    assert_eq!(shown.status, 409);
    assert!(shown.text.contains("No release of `test` is active"), "{}", shown.text);
    assert_eq!(browser.upload("submit", &[], answers()).await.status, 303);
    let again = browser.upload("submit", &[], answers()).await.location;
    assert!(browser.get(&again).await.text.contains("You sent this file before."), "{again}");
    let shown = browser.upload("submit", &[], Some(val_answers("A shark."))).await;
    assert_eq!(shown.status, 429);
    assert!(shown.text.contains("1 of 1 submissions of today are used"), "{}", shown.text);
    let shown = browser.upload("check", &[], Some(sample_bytes("predictions/random.jsonl"))).await;
    assert_eq!(shown.status, 422, "the answers are to another split");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_loads_is_kept_for_good_under_an_address_of_its_content() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let page = Browser::signed_in(&secchi, &team).await.get("/submit").await.text;
    let addresses: Vec<&str> =
        page.split('"').filter(|part| part.starts_with("/assets/") && part.contains("?v=")).collect();
    assert_eq!(addresses.len(), 2, "a style sheet and a script: {addresses:?}");
    for address in addresses {
        let response = secchi.get(address, None).await;
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert!(header("cache-control").contains("immutable"), "{address}");
        let etag = header("etag");
        let path = address.split('?').next().unwrap();
        let plain = secchi.get(path, None).await;
        assert_eq!(plain.headers()["cache-control"], "no-cache", "{path}");
        let again = secchi.request(Method::GET, path, None).header("if-none-match", etag);
        assert_eq!(again.send().await.unwrap().status(), 304, "{path}");
    }
}
