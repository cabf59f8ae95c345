//! The pages of administration: whom they are for, and that acts by form on teams, submissions and the judge leave what they
//! should.

use reqwest::Method;
use serde_json::Value;

use secchi::accounts::keys::{NewKey, grant_key};
use secchi::accounts::{self, NewTeam};
use secchi::domain::actor::Actor;
use secchi::domain::key::Scope;
use secchi::domain::question::Split;
use secchi::domain::team::Role;

use crate::by_hand::{captions, file, refusing};
use crate::pages::Browser;
use crate::staging::{AT_ONCE, board_of, judge_command, list};
use crate::stand_in::StandIn;
use crate::support::{NOON_MS, Options, Secchi, TestTeam, metadata};

/// What others may write into names.
pub const HOSTILE: &str = "Reef <script>alert(1)</script> \"&'";

/// Its markup where it was escaped.
pub const ESCAPED: &str = "Reef &lt;script&gt;alert(1)&lt;/script&gt; &quot;&amp;'";

/// Pages without a subject of their own.
const LISTS: [&str; 7] = [
    "/admin",
    "/admin/teams",
    "/admin/submissions",
    "/admin/flags",
    "/admin/releases",
    "/admin/judge",
    "/admin/audit",
];

/// A maintainer's browser.
pub async fn maintainer(secchi: &Secchi) -> Browser<'_> {
    let team = secchi.maintainer("harbour").await;
    Browser::signed_in(secchi, &team).await
}

pub fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

async fn view(secchi: &Secchi, team: &TestTeam, id: &str) -> Value {
    secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await
}

/// A submission whose two first captions the judge refuses.
pub async fn incomplete() -> (Secchi, TestTeam, String) {
    let (secchi, _, _) = refusing(captions()[..2].to_vec()).await;
    let team = secchi.team("reef-lab").await;
    let sent: Value = secchi.submit(&team, &metadata(HOSTILE), file()).await.json().await.unwrap();
    secchi.drain().await;
    (secchi, team, text_of(&sent["id"]))
}

/// What stands in the box of what needs somebody.
pub fn needs(page: &str) -> &str {
    let (_, rest) = page.split_once("<section class=\"needs\"").unwrap_or_else(|| panic!("no box in {page}"));
    rest.split("</section>").next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn administration_is_for_maintainers_with_a_key_of_scope_admin() {
    let (secchi, team, id) = incomplete().await;
    let nobody = Browser::new(&secchi);
    let own = Browser::signed_in(&secchi, &team).await;
    let reader = secchi.maintainer("lighthouse").await;
    let new = NewKey { name: "dashboard".into(), scope: Scope::Submit, expires_at_ms: None };
    let store = &secchi.running.evaluation.store;
    let (_, key) = grant_key(store, &Actor::command_line(), &reader.slug, new, NOON_MS).await.unwrap();
    let reader = Browser::signed_in(&secchi, &TestTeam { slug: reader.slug, key }).await;
    let maintainer = maintainer(&secchi).await;
    let of_one = ["/admin/teams/reef-lab".to_owned(), format!("/admin/submissions/{id}")];
    for path in LISTS.iter().copied().chain(of_one.iter().map(String::as_str)) {
        assert_eq!(nobody.get(path).await.location, format!("/sign-in?next={path}"), "{path}");
        for stranger in [&own, &reader] {
            let shown = stranger.get(path).await;
            assert_eq!(shown.status, 403, "{path}");
            assert!(!shown.text.contains("<h2"), "{path}: {}", shown.text);
        }
        let shown = maintainer.get(path).await;
        assert_eq!(shown.status, 200, "{path}: {}", shown.text);
        assert!(shown.text.contains("<nav class=\"sections\" aria-label=\"Administration\">"), "{path}");
    }
    assert!(!own.get("/submissions").await.text.contains("/admin"), "a team is shown no way there");
    let acts = [
        "teams/reef-lab/grants".to_owned(),
        "teams/reef-lab/disable".into(),
        format!("submissions/{id}/retry"),
        format!("submissions/{id}/rejudge"),
        format!("submissions/{id}/rejudge/cancel"),
        format!("submissions/{id}/withdraw"),
        format!("submissions/{id}/decisions"),
        format!("submissions/{id}/tell"),
        format!("submissions/{id}/notes"),
        format!("flags/attack/{id}/close"),
        "releases/activate".into(),
        "releases/stage".into(),
        "releases/abandon".into(),
        "judge/activate".into(),
    ];
    let fields = [
        ("split", "test"),
        ("amount", "1"),
        ("reason", "x"),
        ("name", "sample"),
        ("notice", "x"),
        ("configuration", "x"),
        ("question_id", "x"),
        ("text", "x"),
    ];
    for act in acts {
        let path = format!("/admin/{act}");
        assert_eq!(nobody.post(&path, &fields).await.location, "/sign-in", "{path}");
        assert_eq!(own.send(&path, &fields).await.status, 403, "{path}");
        assert_eq!(reader.send(&path, &fields).await.status, 403, "{path}");
        // Without the token of a page, and from another site.
        assert_eq!(maintainer.post(&path, &fields).await.status, 403, "{path}");
        let foreign = maintainer.form(&path, &fields).header("origin", "https://evil.example");
        assert_eq!(foreign.send().await.unwrap().status(), 403, "{path}");
        // What an incomplete submission has no page for; of the others no act has one.
        let is_page = path.ends_with("/rejudge");
        assert_eq!(maintainer.get(&path).await.status, if is_page { 409 } else { 405 }, "{path}");
    }
    assert_eq!(view(&secchi, &team, &id).await["state"], "incomplete", "something was done");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_said_so_and_no_query_breaks_a_page() {
    let secchi = Secchi::start().await;
    let maintainer = maintainer(&secchi).await;
    let unknown = "01a22963-3f09-7089-bfaa-4e33da3a9318";
    for path in ["teams/nobody", "submissions/nonsense", &format!("submissions/{unknown}"), "nothing"] {
        assert_eq!(maintainer.get(&format!("/admin/{path}")).await.status, 404, "{path}");
    }
    for (path, status) in [
        ("submissions?state=gone", 400),
        ("submissions?split=%3Cscript%3E", 400),
        ("submissions?state=&team=&split=", 200),
        ("submissions?team=%27%22%3E%3Cscript%3E", 200),
        ("submissions?before=x", 404),
        ("flags?kind=nonsense", 400),
        ("flags?after=x", 404),
        ("audit?from=soon", 400),
        ("audit?from=2026-11-30&to=2026-11-01", 400),
        ("audit?q=%00", 400),
        ("audit?before=x", 404),
        ("audit?q=%25%27%22%3E%3Cscript%3E&actor=&from=", 200),
        ("audit/export", 400),
        ("audit/export?format=xml", 400),
        ("judge?from=soon", 400),
        ("judge?from=2026-11-30&to=2026-11-01", 400),
        ("judge?from=&to=", 200),
        ("judge?from=1026-11-30&to=2926-11-01", 200),
    ] {
        let shown = maintainer.get(&format!("/admin/{path}")).await;
        assert_eq!(shown.status, status, "{path}: {}", shown.text);
        assert!(!shown.text.contains("<script"), "{path}: {}", shown.text);
    }
    type Fields = &'static [(&'static str, &'static str)];
    let posts: [(String, Fields, u16); 12] = [
        ("teams/nobody/disable".into(), &[], 404),
        ("teams/nobody/grants".into(), &[("split", "test"), ("amount", "1"), ("reason", "x")], 404),
        (format!("submissions/{unknown}/retry"), &[], 404),
        (format!("submissions/{unknown}/withdraw"), &[("reason", "x")], 404),
        (format!("submissions/{unknown}/tell"), &[("reason", "x")], 404),
        (format!("submissions/{unknown}/notes"), &[("text", "x")], 404),
        (format!("flags/attack/{unknown}/close"), &[("reason", "x")], 404),
        (format!("flags/nonsense/{unknown}/close"), &[("reason", "x")], 404),
        ("releases/activate".into(), &[("split", "test"), ("name", "nothing")], 404),
        ("releases/stage".into(), &[("split", "test"), ("name", "nothing"), ("notice", "")], 404),
        ("releases/abandon".into(), &[("split", "test"), ("name", "nothing")], 404),
        ("judge/activate".into(), &[("configuration", "nothing")], 404),
    ];
    for (path, fields, status) in posts {
        assert_eq!(maintainer.send(&format!("/admin/{path}"), fields).await.status, status, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_is_granted_more_and_shut_out_and_a_faulty_grant_keeps_what_was_typed() {
    let (secchi, _) = Secchi::with_sample(Options::default()).await;
    let store = &secchi.running.evaluation.store;
    let new = NewTeam { slug: "reef".into(), name: HOSTILE.into(), email: None, role: Role::Team };
    let (_, key) = accounts::create_team(store, &Actor::command_line(), new, NOON_MS).await.unwrap();
    let team = TestTeam { slug: "reef".into(), key };
    let maintainer = maintainer(&secchi).await;
    let teams = maintainer.get("/admin/teams").await.text;
    assert!(teams.contains(ESCAPED) && !teams.contains("<script>alert"), "{teams}");

    let grants = "/admin/teams/reef/grants";
    for (amount, reason, said) in [
        ("0", "a late file", "`amount` must be from 1 to 1000"),
        ("many", "a late file", "`many` is no number"),
        ("2", " ", "`reason` is blank"),
    ] {
        let faulty = [("split", "val"), ("amount", amount), ("reason", reason)];
        let shown = maintainer.send(grants, &faulty).await;
        assert_eq!(shown.status, 422, "{said}");
        assert!(shown.text.contains(said) && shown.text.contains("<title>Error: "), "{}", shown.text);
        let kept = format!("value=\"{amount}\"");
        assert!(
            shown.text.contains(&kept) && shown.text.contains("value=\"val\" selected"),
            "{}",
            shown.text
        );
    }
    let given = [("split", "val"), ("amount", "3"), ("reason", "a <late> file")];
    assert_eq!(maintainer.send(grants, &given).await.location, "/admin/teams/reef");
    let page = maintainer.get("/admin/teams/reef").await.text;
    assert!(page.contains("A &lt;late&gt; file") && page.contains("0 of 23"), "{page}");
    let me = secchi.get_json("/api/v1/me", Some(&team.key)).await;
    assert_eq!(me["quota"][1]["granted_today"], 3);

    assert_eq!(maintainer.send("/admin/teams/reef/disable", &[]).await.status, 303);
    assert_eq!(secchi.get("/api/v1/me", Some(&team.key)).await.status(), 401);
    assert!(maintainer.get("/admin/teams/reef").await.text.contains("shut out"));
    let own = maintainer.send("/admin/teams/harbour/disable", &[]).await;
    assert!(own.status == 409 && own.text.contains("your own team"), "{}", own.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_without_a_key_that_works_needs_somebody() {
    let secchi = Secchi::start().await;
    let (team, maintainer) = (secchi.team("ocean-lab").await, maintainer(&secchi).await);
    let nothing = maintainer.get("/admin/teams").await.text;
    assert!(needs(&nothing).contains("Nothing"), "{nothing}");
    let browser = Browser::signed_in(&secchi, &team).await;
    let keys = browser.get("/keys").await.text;
    let id = keys.split_once("action=\"/keys/").unwrap().1.split('/').next().unwrap();
    assert_eq!(browser.send(&format!("/keys/{id}/revoke"), &[("last", "true")]).await.status, 303);
    let teams = maintainer.get("/admin/teams").await.text;
    assert!(needs(&teams).contains("secchi team rotate-key ocean-lab"), "{teams}");
    let page = maintainer.get("/admin/teams/ocean-lab").await.text;
    assert!(needs(&page).contains("No key works") && page.contains("revoked"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_is_stuck_stands_on_top_and_is_decided_by_form() {
    let (secchi, team, id) = incomplete().await;
    let maintainer = maintainer(&secchi).await;
    let list = maintainer.get("/admin/submissions").await.text;
    assert!(needs(&list).contains(ESCAPED) && needs(&list).contains("2 refused"), "{list}");
    assert!(!list.contains("<script>alert"), "{list}");
    let address = format!("/admin/submissions/{id}");
    let page = maintainer.get(&address).await.text;
    assert!(needs(&page).contains("2 of ") && needs(&page).contains("/retry"), "{page}");
    assert!(!page.contains("<script>alert"), "{page}");

    // The judge refuses them again.
    assert_eq!(maintainer.send(&format!("{address}/retry"), &[]).await.location, address);
    assert_eq!(view(&secchi, &team, &id).await["state"], "judging");
    let twice = maintainer.send(&format!("{address}/retry"), &[]).await;
    assert!(twice.status == 409 && twice.text.contains("The submission is `judging`"), "{}", twice.text);
    secchi.drain().await;

    let configuration = text_of(&view(&secchi, &team, &id).await["judge"]["configuration"]);
    let decisions = format!("{address}/decisions");
    let decided = async |question: &str, scores: [&str; 3], reason: &str| {
        let fields = [
            ("question_id", question),
            ("configuration", configuration.as_str()),
            ("subject_correspondence", scores[0]),
            ("temporal_description", scores[1]),
            ("hallucination_detection", scores[2]),
            ("reason", reason),
        ];
        maintainer.send(&decisions, &fields).await
    };
    let [first, second] = [0, 1].map(|place| captions()[place].clone());
    for (scores, reason, said) in [
        (["3", "", "5"], "seen", "temporal_description` is missing"),
        (["3", "six", "5"], "seen", "temporal_description` must be an integer from 0 to 5"),
        (["3", "4", "5"], "", "`reason` is blank"),
    ] {
        let shown = decided(&first, scores, reason).await;
        assert!(shown.status == 422 && shown.text.contains(said), "{said}: {}", shown.text);
    }
    assert_eq!(decided("nobody--q1", ["3", "4", "5"], "seen").await.status, 422);
    assert_eq!(decided(&first, ["3", "4", "5"], "It <says> so").await.location, address);
    assert_eq!(view(&secchi, &team, &id).await["state"], "incomplete");
    assert!(maintainer.get(&address).await.text.contains("It &lt;says&gt; so"));
    assert_eq!(decided(&second, ["0", "0", "0"], "Nothing in it").await.status, 303);
    let view = view(&secchi, &team, &id).await;
    assert_eq!(view["state"], "scored");
    assert!(maintainer.get("/admin/submissions").await.text.contains("every submission gets on by itself"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_is_withdrawn_by_form_and_its_readers_are_told_why() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = text_of(&secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await["id"]);
    let maintainer = maintainer(&secchi).await;
    let withdraw = format!("/admin/submissions/{id}/withdraw");
    let blank = maintainer.send(&withdraw, &[("reason", " ")]).await;
    assert!(blank.status == 422 && blank.text.contains("`reason` is blank"), "{}", blank.text);
    assert_eq!(maintainer.send(&withdraw, &[("reason", "trained on <test>")]).await.status, 303);
    assert_eq!(maintainer.send(&withdraw, &[("reason", "again")]).await.status, 409);
    let page = maintainer.get(&format!("/admin/submissions/{id}")).await.text;
    assert!(page.contains("trained on &lt;test&gt;") && !page.contains("/withdraw\""), "{page}");
    let entry = Browser::new(&secchi).get(&format!("/entries/{id}")).await.text;
    assert!(entry.contains("trained on &lt;test&gt;"), "{entry}");
}

#[tokio::test(flavor = "multi_thread")]
async fn submissions_are_found_by_state_team_split_and_need() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    secchi.scored(&team, &metadata("Scored one"), "strong_model.jsonl").await;
    let other = secchi.team("reef-lab").await;
    secchi.accepted(&other, &metadata("Waiting one"), "weak_model.jsonl").await;
    let maintainer = maintainer(&secchi).await;
    let found = async |query: &str| {
        let page = maintainer.get(&format!("/admin/submissions{query}")).await.text;
        ["Scored one", "Waiting one"].map(|name| page.contains(name))
    };
    for (query, expected) in [
        ("", [true, true]),
        ("?state=scored", [true, false]),
        ("?team=reef-lab", [false, true]),
        ("?split=val", [false, false]),
        ("?split=test&state=queued&team=reef-lab", [false, true]),
        ("?attention=1", [false, false]),
        ("?team=nobody", [false, false]),
    ] {
        assert_eq!(found(query).await, expected, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_staged_configuration_is_activated_by_form_once_everything_is_judged() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = board_of(&judge, "small-judge").await;
    let maintainer = maintainer(&secchi).await;
    let quiet = maintainer.get("/admin/judge").await.text;
    assert!(needs(&quiet).contains("Nothing") && quiet.contains("By rubric"), "{quiet}");
    judge_command(&secchi.ground, &["stage"], &judge.flags_of("large-judge", AT_ONCE)).stdout();
    let staged = list(&secchi.ground).into_iter().find(|view| view["state"] == "staged").unwrap();
    let id = text_of(&staged["id"]);
    let page = maintainer.get("/admin/judge").await.text;
    assert!(
        needs(&page).contains("0 of 5 entries") && !needs(&page).contains("/admin/judge/activate"),
        "{page}"
    );
    let early = maintainer.send("/admin/judge/activate", &[("configuration", &id)]).await;
    assert!(early.status == 409 && early.text.contains("5 of 5 published entries"), "{}", early.text);
    secchi.drain().await;
    let page = maintainer.get("/admin/judge").await.text;
    assert!(
        needs(&page).contains("5 of 5 entries") && needs(&page).contains("/admin/judge/activate"),
        "{page}"
    );
    let activated = maintainer.send("/admin/judge/activate", &[("configuration", &id)]).await;
    assert_eq!(activated.location, "/admin/judge");
    let board = secchi.get_json("/api/v1/leaderboard", None).await;
    assert_eq!(board["judge"]["configuration"], id.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_of_administration_is_taken_from_another_method() {
    let secchi = Secchi::start().await;
    let maintainer = maintainer(&secchi).await;
    for path in LISTS {
        let refused = maintainer.request(Method::POST, path).send().await.unwrap();
        assert_eq!(
            (refused.status().as_u16(), refused.headers()["allow"].to_str().unwrap()),
            (405, "GET, HEAD")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_on_a_submission_are_for_maintainers() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = text_of(&secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await["id"]);
    let maintainer = maintainer(&secchi).await;
    let address = format!("/admin/submissions/{id}");
    let notes = format!("{address}/notes");
    let blank = maintainer.send(&notes, &[("text", " ")]).await;
    assert!(blank.status == 422 && blank.text.contains("The note is blank"), "{}", blank.text);
    let text = "They <asked>\r\nfor it.";
    assert_eq!(maintainer.send(&notes, &[("text", text)]).await.location, address);
    let page = maintainer.get(&address).await.text;
    assert!(page.contains("They &lt;asked&gt;\nfor it."), "{page}");
    let own = Browser::signed_in(&secchi, &team).await.get(&format!("/submissions/{id}")).await.text;
    assert!(!own.contains("&lt;asked&gt;"), "{own}");
}
