//! The page of a board as the server writes it: the same rows as the API, filters, the paper's averages, and addresses that last.

use serde_json::Value;

use crate::support::{Options, Secchi, TestTeam, metadata};

/// A board of three entries in two groups, and the paper's rows.
async fn with_entries() -> (Secchi, TestTeam) {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    for (name, file, size) in
        [("Weak", "weak_model.jsonl", 2), ("Strong", "strong_model.jsonl", 38), ("Random", "random.jsonl", 7)]
    {
        let mut metadata = metadata(name);
        metadata["parameters_b"] = size.into();
        secchi.scored(&team, &metadata, file).await;
    }
    (secchi, team)
}

async fn page(secchi: &Secchi, path: &str) -> String {
    let response = secchi.get(path, None).await;
    assert_eq!(response.status(), 200, "{path}");
    response.text().await.unwrap()
}

/// The part of a page that is one of its tables.
fn table<'p>(page: &'p str, id: &str) -> &'p str {
    let begun = page.split_once(&format!("id=\"{id}-box\"")).unwrap().1;
    begun.split_once("</table>").unwrap().0
}

/// The models of a table, from top to bottom, without averages.
fn models(table: &str) -> Vec<String> {
    let rows = table.split("<th class=\"model\" scope=\"row\">").skip(1);
    let name = |row: &str| {
        let row = row.strip_prefix("<a").map_or(row, |link| link.split_once('>').unwrap().1);
        row.split('<').next().unwrap().to_owned()
    };
    rows.map(name).filter(|name| !name.starts_with("Average")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_holds_the_rows_of_the_other_formats_in_their_order() {
    let (secchi, _) = with_entries().await;
    for layout in ["groups", "ranks"] {
        for sort in ["-MCQ", "MCQ", "-static/BEH", "OEMU", "-SM-l"] {
            let query = format!("sort={sort}&view={layout}");
            let html = page(&secchi, &format!("/?{query}")).await;
            let json = secchi.get_json(&format!("/api/v1/leaderboard?{query}"), None).await;
            let rows = json["rows"].as_array().unwrap().iter().filter(|row| row["blind"] == false);
            let expected: Vec<&str> = rows.map(|row| row["model_name"].as_str().unwrap()).collect();
            assert_eq!(expected.len(), 15);
            let captions = models(table(&html, "captions"));
            assert_eq!(captions, expected, "{query}");
            assert_eq!(models(table(&html, "questions"))[..expected.len()], captions, "{query}");
            let csv = page(&secchi, &format!("/api/v1/leaderboard?{query}&format=csv")).await;
            let mut found = csv.lines().skip(1);
            for model in expected {
                assert!(
                    found.any(|line| line.contains(model)),
                    "{query}: {model} is not where it is in {csv}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_papers_averages_stand_as_printed_and_two_of_them_beside_what_the_rows_give() {
    let secchi = Secchi::start().await;
    let page = page(&secchi, "/").await;
    let both: Vec<&str> =
        page.split("<small>rows: ").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    // Of `MCQ` the paper prints no average.
    assert_eq!(both, ["67.2", "2.05", "65.4", "74.8", "82.48"]);
    for cell in
        ["2.04<small>rows: 2.05", "82.46<small>rows: 82.48", "<td>93.33</td>", "<td>90.33</td>", "−0.13"]
    {
        assert!(page.contains(cell), "no `{cell}` in {page}");
    }
    assert!(page.contains("fractions of about 30 questions"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_leaves_ranks_and_averages_as_they_are_and_says_so() {
    let (secchi, _) = with_entries().await;
    let found = page(&secchi, "/?q=WEAK").await;
    assert_eq!(models(table(&found, "captions")), ["Weak"]);
    assert!(
        found.contains("1 of 3 entries shown") && found.contains("ranks still count all 3 entries"),
        "{found}"
    );
    assert!(found.contains("Average of 2 entries"), "{found}");
    let small = page(&secchi, "/?group=open-small&group=closed").await;
    assert!(models(table(&small, "captions")).contains(&"Grok-4.3".to_owned()));
    assert!(!models(table(&small, "captions")).contains(&"Strong".to_owned()));
    assert!(small.contains("Remove: </span>Closed models"), "{small}");
    let ranks = page(&secchi, "/?view=ranks&group=open-large").await;
    assert!(ranks.contains("Average of 3 reported") && !ranks.contains("Average of 5 reported"), "{ranks}");
    let none = page(&secchi, "/?q=%3Cb%3Eoctopus").await;
    assert!(
        none.contains("No entry is left by the filters.") && none.contains("“&lt;b&gt;octopus”"),
        "{none}"
    );
    let columns = page(&secchi, "/?cols=PMT&cols=static/AH&ci=0").await;
    assert!(!columns.contains("; interval "), "{columns}");
    let headers = |id: &str| table(&columns, id).matches("id=\"by-").count();
    assert_eq!((headers("questions"), headers("captions")), (1, 1));
    assert!(!page(&secchi, "/?cols=PMT").await.contains("id=\"captions-box\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_parameter_is_told_and_an_unknown_one_is_left_out_in_words() {
    let secchi = Secchi::start().await;
    for query in ["group=large", "cols=pmt", "ci=yes", "page=0", "view=list", "sort=-nothing"] {
        let response = secchi.get(&format!("/?{query}"), None).await;
        assert_eq!(response.status(), 400, "{query}");
        let (_, value) = query.split_once('=').unwrap();
        let text = response.text().await.unwrap();
        assert!(
            text.contains(&format!("`{}`", value.trim_start_matches('-'))) || text.contains(value),
            "{text}"
        );
    }
    let page = page(&secchi, "/?utm_source=%3Cscript%3E&fbclid=1").await;
    assert!(
        page.contains("<code>utm_source</code>, <code>fbclid</code>, which means nothing here"),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn blind_baselines_stand_apart_and_are_explained() {
    let (secchi, _) = with_entries().await;
    let page = page(&secchi, "/?view=ranks").await;
    let shown = models(table(&page, "questions"));
    assert!(
        shown[15..]
            .iter()
            .all(|name| name.contains("letter") || name.contains("option") || name.contains("words"))
    );
    assert_eq!(shown.len(), 18, "{shown:?}");
    assert!(page.contains("the very object that another question"), "{page}");
    assert_eq!(models(table(&page, "captions")).len(), 15, "they have no captions");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_permanent_address_shows_the_same_rows_when_others_have_come() {
    let (secchi, team) = with_entries().await;
    let before = page(&secchi, "/?sort=-OEMU&view=ranks").await;
    let (head, _) = before.split_once("\">Permanent address").unwrap();
    let address = head.rsplit_once("href=\"").unwrap().1.replace("&amp;", "&");
    for part in ["sort=-OEMU", "view=ranks", "release=sample", "judge=", "as_of="] {
        assert!(address.contains(part), "no `{part}` in {address}");
    }
    secchi.clock.advance_ms(86_400_000);
    secchi.scored(&team, &metadata("Late"), "perfect.jsonl").await;
    assert!(models(table(&page(&secchi, "/").await, "questions")).contains(&"Late".to_owned()));
    let then = page(&secchi, &address).await;
    assert_eq!(models(table(&then, "questions")), models(table(&before, "questions")));
    assert!(then.contains("as it stood at"), "{then}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_tells_its_data_and_how_it_is_handed_on() {
    let options = Options { http: vec!["--public-url", "https://secchi.example"], ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let entry: Value = secchi.scored(&team, &metadata("Reef <8B>"), "strong_model.jsonl").await;
    let page = page(&secchi, "/").await;
    for part in [
        "Release <strong>sample</strong>",
        "199 questions, 24 videos",
        "<strong>1</strong> entry",
        "property=\"og:image\" content=\"https://secchi.example/og/board.png\"",
        "name=\"description\" content=\"Reef &lt;8B&gt; is the only entry so far",
        "type=\"application/atom+xml\"",
        "Printed from https://secchi.example/?",
        "/api/v1/leaderboard?view=groups&amp;format=tex",
        &format!("href=\"/entries/{}\"", entry["id"].as_str().unwrap()),
    ] {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
}
