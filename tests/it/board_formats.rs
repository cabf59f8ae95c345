//! The board in the formats that are taken away, from a server. The LaTeX of real boards is written for `make check-latex`.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use secchi::domain::question::Split;

use crate::support::{Options, Secchi, metadata, problem};

/// Names that mean something to LaTeX, Markdown, HTML, spreadsheets or terminals.
const HOSTILE: [&str; 12] = [
    r"\input{/etc/passwd} & \end{tabular} % $x_1^2$ #1 ~ {",
    "[2pt] *starred* | pipe || **bold** _under_ `code`",
    "<script>alert(1)</script> [a](javascript:b) ![c](d) &amp;",
    "=HYPERLINK(\"https://example.org\")",
    "Modèle Ångström–Łódź — ßæøœ “quoted” ’s ṽ ấ",
    "海洋视觉模型 🐟 Рыба ψαρι π₀ α/β-VLM µm ½ ™",
    "e\u{301}\u{302}\u{303}\u{304} x\u{302} a\u{328} \u{200f}desrever zero\u{200b}width",
    "A name of one hundred and twenty characters that nobody would give to a model, but which the form takes all the same: ok",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
    "--- ?` !` ,,low'' <<guillemets>> ``grave'' fi ff \\\\",
    "{{{{ }}}} $$ && %% ## __ ^^ ~~ \\begin{document}",
    "@me www.example.org https://example.org/?a=b&c=d",
];

fn roomy() -> Options {
    Options { quota: vec!["--quota-per-day", "1000", "--quota-total", "1000"], ..Options::default() }
}

async fn text(secchi: &Secchi, path: &str) -> String {
    let response = secchi.get(path, None).await;
    assert_eq!(response.status(), 200, "{path}");
    response.text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_format_is_chosen_by_its_name_or_by_what_is_accepted() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    secchi.scored(&team, &metadata("Reef_8B"), "strong_model.jsonl").await;
    let formats = [
        ("csv", "text/csv", "Reef_8B,"),
        ("tex", "application/x-tex", "Reef\\_8B {\\scriptsize (ocean-lab)}"),
        ("md", "text/markdown", "| Reef\\_8B | ocean-lab |"),
        ("json", "application/json", "\"model_name\":\"Reef_8B\""),
    ];
    for (name, media_type, row) in formats {
        let named = secchi.get(&format!("/api/v1/leaderboard?format={name}"), None).await;
        let content_type = named.headers()["content-type"].to_str().unwrap().to_owned();
        assert!(content_type.starts_with(media_type), "{name}: {content_type}");
        let etag = named.headers()["etag"].to_str().unwrap().to_owned();
        let named = named.text().await.unwrap();
        assert!(named.contains(row), "{row} in {named}");
        let accepting = |path: &str| secchi.request(Method::GET, path, None).header("Accept", media_type);
        let accepted = accepting("/api/v1/leaderboard").send().await.unwrap().text().await.unwrap();
        assert_eq!(accepted, named);
        let known = accepting("/api/v1/leaderboard").header("If-None-Match", &etag).send().await.unwrap();
        assert_eq!(known.status(), 304, "{name}");
    }
    let refusal = problem(secchi.get("/api/v1/leaderboard?format=docx", None).await, 400).await;
    let detail = refusal["detail"].as_str().unwrap();
    assert!(detail.contains("`docx`") && detail.contains("`tex`"), "{detail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_in_latex_leads_to_the_same_rows_after_the_board_has_changed() {
    let (secchi, team) = Secchi::with_sample(roomy()).await;
    secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let latex = text(&secchi, "/api/v1/leaderboard?format=tex&sort=PMT&view=groups").await;
    let address = latex.lines().next().unwrap().strip_prefix("% ").unwrap().to_owned();
    assert!(address.starts_with(&secchi.base), "{address}");
    assert!(latex.contains(&format!("\\url{{{address}}}")), "{latex}");
    secchi.clock.advance_ms(1000);
    secchi.scored(&team, &metadata("Later-8B"), "random.jsonl").await;
    let path = address.strip_prefix(&secchi.base).unwrap().replacen('/', "/api/v1/leaderboard", 1);
    let then: Value = secchi.entries(&path).await;
    let names: Vec<&str> =
        then.as_array().unwrap().iter().map(|row| row["model_name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Reef-8B"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_names_stay_one_row_in_every_format() {
    let (secchi, team) = Secchi::with_sample(roomy()).await;
    for name in HOSTILE {
        secchi.accepted(&team, &metadata(name), "random.jsonl").await;
    }
    secchi.drain().await;
    let board = secchi.get_json("/api/v1/leaderboard", None).await;
    let rows = board["rows"].as_array().unwrap().len();
    let markdown = text(&secchi, "/api/v1/leaderboard?format=md").await;
    let lines: Vec<&str> = markdown.lines().filter(|line| line.starts_with("| ")).collect();
    // Two tables, each with a head and a line below it.
    assert_eq!(lines.len(), 2 * (rows + 2));
    let latex = text(&secchi, "/api/v1/leaderboard?format=tex").await;
    let is_row = |line: &&str| line.contains(" & ") && line.ends_with(r" \\") && !line.contains("Backbone");
    // The second table has one line above its head.
    assert_eq!(latex.lines().filter(is_row).count(), 2 * rows + 1);
    for text in [markdown, latex] {
        for taken in ["<script>", "\u{200f}", "\u{200b}", r" \input{"] {
            assert!(!text.contains(taken), "{taken:?} in {text}");
        }
    }
}

/// Writes documents for `make check-latex` to `target/latex`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "only writes documents; run by make check-latex"]
async fn latex_of_real_boards() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/latex");
    std::fs::create_dir_all(&folder).unwrap();
    let write = async |secchi: &Secchi, name: &str, query: &str| {
        let latex = text(secchi, &format!("/api/v1/leaderboard?format=tex&{query}")).await;
        std::fs::write(folder.join(format!("{name}.tex")), latex).unwrap();
    };
    let (secchi, team) = Secchi::with_sample(roomy()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    write(&secchi, "paper", "view=groups").await;
    write(&secchi, "empty", "split=val").await;
    for (place, (name, file)) in
        [("Reef-8B", "strong_model.jsonl"), ("Kelp-72B", "weak_model.jsonl"), ("Abyss", "random.jsonl")]
            .into_iter()
            .enumerate()
    {
        let mut metadata = metadata(name);
        metadata["backbone"] = json!("SigLIP/Qwen");
        metadata["parameters_b"] = json!([8, 72, 8][place]);
        if place == 2 {
            metadata["access"] = json!("closed");
            metadata["visibility"] = json!("anonymous");
        }
        secchi.accepted(&team, &metadata, file).await;
    }
    secchi.drain().await;
    write(&secchi, "groups", "view=groups").await;
    write(&secchi, "ranks", "").await;
    for name in HOSTILE {
        let mut metadata = metadata(name);
        metadata["backbone"] = json!(name);
        secchi.accepted(&team, &metadata, "random.jsonl").await;
    }
    secchi.drain().await;
    write(&secchi, "hostile", "").await;
    write(&secchi, "hostile-groups", "view=groups").await;
    for place in 0..38 {
        secchi.accepted(&team, &metadata(&format!("Model-{place}-8B")), "partial.jsonl").await;
    }
    secchi.drain().await;
    write(&secchi, "long", "").await;
    write(&secchi, "long-groups", "view=groups").await;
}
