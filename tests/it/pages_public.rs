//! Pages that tell the public of the judge and of the benchmark.

use secchi::store::StoreError;
use secchi::store::configurations::find_current_configuration;
use serde_json::Value;

use crate::stand_in::StandIn;
use crate::support::{Options, Secchi, metadata};

#[tokio::test(flavor = "multi_thread")]
async fn the_judge_page_shows_the_instructions_and_no_secret() {
    let judge = StandIn::start(0).await;
    let options = Options { judge: judge.flags(16), ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let page = secchi.get("/judge", None).await;
    assert_eq!(page.status(), 200);
    let page = page.text().await.unwrap();
    let row: Result<_, StoreError> = secchi.running.evaluation.store.read(find_current_configuration).await;
    let row = row.unwrap().unwrap();
    let stored: Value = serde_json::from_str(&row.text).unwrap();
    let secret = stored["fence_secret"].as_str().unwrap();
    assert_eq!(secret.len(), 64);
    assert!(!page.contains(secret));
    assert!(page.contains(&row.id) && page.contains(&row.model), "{page}");
    assert!(page.contains("camera_motion_and_viewpoint") && page.contains("submission is scored"), "{page}");
    assert!(page.contains("Not known here"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_release_explains_itself_all_the_same() {
    let secchi = Secchi::start().await;
    for (path, words) in
        [("/judge", "Offline judge"), ("/about", "fractions of 30 questions"), ("/", "Gemini-3.1-Pro")]
    {
        let page = secchi.get(path, None).await;
        assert_eq!(page.status(), 200, "{path}");
        assert!(page.text().await.unwrap().contains(words), "{path}: {words}");
    }
}
