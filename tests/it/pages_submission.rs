//! The page of a submission that has ended: its report, single answers, what may be changed of it, and the link for
//! reviewers.

use secchi::domain::question::Split;
use serde_json::{Value, json};

use crate::operations::{answers, val_answers};
use crate::pages::{Browser, submitted, with_val};
use crate::support::{Options, Secchi, metadata};

/// A page's text without its tags, each run of white space as one space.
fn words(page: &str) -> String {
    let text: String = page
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text).to_owned() + " ")
        .collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn assert_says(page: &str, parts: &[&str]) {
    let text = words(page);
    for part in parts {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_tells_what_was_missing_unread_and_odd_and_nothing_of_single_answers_on_test() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let letters = std::cell::Cell::new(0);
    let file = answers("test.jsonl", |record| match record["type"].as_str().unwrap() {
        "caption" => "A ray that swims along the".into(),
        "lighting" if letters.replace(letters.get() + 1) < 2 => "I am sorry, I cannot see the video.".into(),
        _ => "A".into(),
    });
    let text = String::from_utf8(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let cut = lines[..lines.len() - 2].join("\n");
    let sent: Value = secchi.submit(&team, &metadata("Reef-8B"), cut.into()).await.json().await.unwrap();
    let path = format!("/submissions/{}", sent["id"].as_str().unwrap());
    let browser = Browser::signed_in(&secchi, &team).await;
    assert!(!browser.get(&path).await.text.contains("By type of question"), "it is not graded");
    assert_eq!(browser.get(&format!("{path}/answers")).await.status, 403);
    secchi.drain().await;
    let page = browser.get(&path).await.text;
    let parts = [
        "2 questions have no answer: they count as wrong, or 0 points.",
        "lighting 15 of 16 1 2",
        "an apology or inability refusal 2",
        "captions of 6 to 6 words, 6.0 on the mean.",
        "cut off in mid-sentence",
        "word for word the same as another",
        "There is no published entry of another team on this board",
    ];
    assert_says(&page, &parts);
    assert!(!page.contains("/answers\""), "{page}");
    let refused = browser.get(&format!("{path}/answers")).await;
    assert_eq!(refused.status, 403);
    assert_says(&refused.text, &["`test` gives no feedback on single answers."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_stands_beside_its_neighbours_in_words_and_in_a_table() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    for (slug, file) in [("a", "perfect"), ("b", "strong_model"), ("c", "random")] {
        let other = secchi.team(slug).await;
        let mut of_other = metadata(file);
        if slug == "c" {
            of_other["visibility"] = "anonymous".into();
        }
        secchi.scored(&other, &of_other, &format!("{file}.jsonl")).await;
    }
    let own = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let page = Browser::signed_in(&secchi, &team).await;
    let page = page.get(&format!("/submissions/{}", own["id"].as_str().unwrap())).await.text;
    let parts = [
        "Of the published entries next to it by MCQ, it is really better than 1 of them, really worse than 1 of them, not to \
         be told from 1 of them.",
        "perfect a real: yes, worse 100.0 −",
        "yes, worse",
        // The same file: nothing but that is told.
        "+0.0 – no",
        "yes, better",
        "random anonymous real: yes, better",
    ];
    assert_says(&page, &parts);
}

#[tokio::test(flavor = "multi_thread")]
async fn on_val_the_outcome_of_each_answer_is_listed_by_pages() {
    let (secchi, team) = with_val(Options::default()).await;
    let id = submitted(&secchi, &team).await;
    let browser = Browser::signed_in(&secchi, &team).await;
    let path = format!("/submissions/{id}/answers");
    assert_eq!(browser.get(&path).await.status, 409, "it is not graded yet");
    secchi.drain().await;
    let page = browser.get(&format!("/submissions/{id}")).await.text;
    assert!(page.contains(&format!("href=\"{path}\"")), "{page}");
    let listed = secchi.get_json(&format!("/api/v1{path}?limit=1000"), Some(&team.key)).await;
    let listed = listed["items"].as_array().unwrap();
    let (mut seen, mut from) = (Vec::new(), Some(0));
    while let Some(first) = from {
        let page = browser.get(&format!("{path}?from={first}")).await;
        assert_eq!(page.status, 200);
        let cells = page.text.split("<tr><td><code>").skip(1);
        seen.extend(cells.map(|cell| cell.split('<').next().unwrap().to_owned()));
        assert_says(&page.text, &["right , A was read", "of 5 subject correspondence:"]);
        from = page.text.contains("rel=\"next\"").then_some(first + 100);
    }
    let expected: Vec<&str> = listed.iter().map(|item| item["question_id"].as_str().unwrap()).collect();
    assert_eq!(seen, expected);
    assert!(!seen.is_empty());
    for beyond in ["10000", "-1", "x", "18446744073709551615"] {
        assert!(browser.get(&format!("{path}?from={beyond}")).await.status < 500, "{beyond}");
    }
    assert_eq!(browser.get(&format!("{path}?from=10000")).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn description_links_and_the_day_of_the_name_are_changed_by_a_form() {
    let (secchi, team) = with_val(Options::default()).await;
    let id = submitted(&secchi, &team).await;
    secchi.drain().await;
    let browser = Browser::signed_in(&secchi, &team).await;
    let path = format!("/submissions/{id}");
    let own = async || secchi.get_json(&format!("/api/v1{path}"), Some(&team.key)).await;
    // A browser sends every field of the form.
    let change = async |fields: &[(&str, &str)]| {
        let mut all = fields.to_vec();
        let blank = ["description", "paper_url", "code_url"].map(|name| (name, ""));
        all.extend(blank.iter().filter(|(name, _)| !fields.iter().any(|(given, _)| given == name)));
        browser.send(&format!("{path}/details"), &all).await
    };
    assert_eq!(browser.send(&format!("{path}/details"), &[("description", "d")]).await.status, 400);
    let links = [("paper_url", "https://example.org/paper"), ("code_url", "https://example.org/code")];
    let shown = change(&[("description", "two\r\nlines"), links[0], links[1]]).await;
    assert_eq!((shown.status, &shown.location), (303, &path));
    let now = own().await;
    assert_eq!(
        [&now["description"], &now["paper_url"], &now["code_url"]],
        [&json!("two\nlines"), &json!("https://example.org/paper"), &json!("https://example.org/code")]
    );
    // What is faulty changes nothing, and stays typed.
    let refused = change(&[("description", "<b>typed</b>"), ("paper_url", "javascript:alert(1)")]).await;
    assert_eq!(refused.status, 422);
    for part in [
        "<details open>",
        "&lt;b&gt;typed&lt;/b&gt;",
        "id=\"paper_url-error\"",
        "value=\"javascript:alert(1)\"",
    ] {
        assert!(refused.text.contains(part), "no `{part}` in {}", refused.text);
    }
    assert_eq!(own().await["description"], "two\nlines");
    // A blank field empties.
    assert_eq!(change(&[("description", "one"), ("paper_url", " "), links[1]]).await.status, 303);
    let now = own().await;
    assert_eq!((&now["description"], &now["paper_url"]), (&json!("one"), &Value::Null));
    assert_eq!(now["visibility"], "public", "who sees it stays as it was");
    let request = secchi.request(reqwest::Method::PATCH, &format!("/api/v1{path}"), Some(&team.key));
    let now: Value = request.json(&json!({ "code_url": null })).send().await.unwrap().json().await.unwrap();
    assert_eq!((&now["description"], &now["code_url"]), (&json!("one"), &Value::Null), "null empties, too");

    let anonymous = [("visibility", "anonymous"), ("anonymous_until", "2026-12-24")];
    assert_eq!(browser.send(&format!("{path}/visibility"), &anonymous).await.status, 303);
    let page = browser.get(&path).await.text;
    assert!(
        page.contains("value=\"2026-12-24\"") && page.contains("The name is shown from 2026-12-24"),
        "{page}"
    );
    for (until, status, expected) in [
        ("2027-01-31", 303, json!("2027-01-31")),
        ("2020-01-01", 422, json!("2027-01-31")),
        ("", 303, Value::Null),
    ] {
        assert_eq!(
            change(&[("description", "one"), ("anonymous_until", until)]).await.status,
            status,
            "{until}"
        );
        assert_eq!(own().await["anonymous_until"], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_for_reviewers_is_told_once_leads_to_a_page_without_a_name_and_ends() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let mut private = metadata("Reef-8B");
    private["visibility"] = "private".into();
    private["description"] = "by the Ocean Lab".into();
    private["paper_url"] = "https://ocean-lab.example.org/paper".into();
    let sent = secchi.scored(&team, &private, "weak_model.jsonl").await;
    let id = sent["id"].as_str().unwrap();
    let (browser, path) = (Browser::signed_in(&secchi, &team).await, format!("/submissions/{id}"));
    let nobody = Browser::new(&secchi);
    let link = async || {
        let told = browser.send(&format!("{path}/reviewers-link"), &[]).await;
        assert_eq!(told.status, 201, "{}", told.text);
        let (_, rest) = told.text.split_once(&format!("<code class=\"key\">{}", secchi.base)).unwrap();
        rest.split('<').next().unwrap().to_owned()
    };
    let first = link().await;
    let token = first.strip_prefix("/review/").unwrap();
    let page = browser.get(&path).await.text;
    assert!(!page.contains(token), "it is told once");
    assert_says(&page, &["Replace the link for reviewers", "End the link for reviewers"]);

    let response = nobody.request(reqwest::Method::GET, &first).send().await.unwrap();
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!((header("x-robots-tag"), header("cache-control")), ("noindex".into(), "no-store".into()));
    let seen = response.text().await.unwrap();
    assert_says(&seen, &["Reef-8B", "For reviewers.", "MCQ", "open model below 10 B parameters"]);
    for tell in ["ocean-lab", "Ocean Lab", "example.org", id] {
        assert!(!seen.contains(tell), "{tell} in {seen}");
    }
    let entry = secchi.get_json(&format!("/api/v1/review/{token}"), None).await;
    assert_eq!(entry["scores"], sent["scores"]);

    let second = link().await;
    assert_eq!(nobody.get(&first).await.status, 404, "a new link is the only one");
    assert_eq!(nobody.get(&second).await.status, 200);
    assert_eq!(browser.send(&format!("{path}/reviewers-link/end"), &[]).await.status, 303);
    assert_eq!(nobody.get(&second).await.status, 404);
    assert!(!browser.get(&path).await.text.contains("End the link"));

    let third = link().await;
    browser.send(&format!("{path}/withdraw"), &[("reason", "a wrong <b>checkpoint</b>")]).await;
    let gone = nobody.get(&third).await;
    assert_eq!(gone.status, 410);
    assert!(gone.text.contains("a wrong &lt;b&gt;checkpoint"), "{}", gone.text);
    assert_eq!(browser.send(&format!("{path}/reviewers-link"), &[]).await.status, 409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_is_not_scored_has_no_link_for_reviewers() {
    let (secchi, team) = with_val(Options::default()).await;
    let sent: Value = secchi
        .submit(&team, &crate::operations::val_metadata(), val_answers("A ray."))
        .await
        .json()
        .await
        .unwrap();
    let path = format!("/submissions/{}", sent["id"].as_str().unwrap());
    let browser = Browser::signed_in(&secchi, &team).await;
    assert!(!browser.get(&path).await.text.contains("for reviewers"));
    let refused = browser.send(&format!("{path}/reviewers-link"), &[]).await;
    assert_eq!(refused.status, 409);
    assert_says(&refused.text, &["reviewers see a `scored` one; wait until it is."]);
}
