//! `secchi grade` beside the server that has graded the same file.

use serde_json::Value;

use secchi::domain::question::Split;

use crate::program::{Ended, run, secchi as program};
use crate::support::{Options, Secchi, metadata, sample};

fn grade(folder: &std::path::Path, file: &str, questions: &str, more: &[&str]) -> Ended {
    let (file, questions) = (sample(file), sample(questions));
    let arguments = ["grade", file.to_str().unwrap(), "--questions", questions.to_str().unwrap()];
    run(&mut program(folder, &[&arguments, more].concat()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_teams_own_machine_gives_the_servers_digits() {
    // On a test split the server tells the interval of MCQ to a tenth; keys are had on val.
    let secchi = Secchi::with(Options::default()).await;
    secchi.import(Split::Val, "test.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    let folder = secchi.ground.data.path();
    for file in ["strong_model.jsonl", "letters_noisy.jsonl", "partial.jsonl", "variant_utf16be_bom.csv"] {
        let mut metadata = metadata(file);
        metadata["split"] = Split::Val.as_str().into();
        let served = secchi.scored(&team, &metadata, file).await;
        let path = format!("predictions/{file}");
        let own = tokio::task::block_in_place(|| grade(folder, &path, "test.jsonl", &["--json"])).json();
        assert!(served["scores"].as_object().unwrap().len() > 7, "{served}");
        for field in ["scores", "coverage", "warnings"] {
            // As text: not a digit may differ.
            assert_eq!(own[field].to_string(), served[field].to_string(), "{file}: {field}");
        }
        assert_eq!(
            (&own["judge"]["model"], &served["judge"]["model"]),
            (&"offline".into(), &"offline".into())
        );
    }
}

#[test]
fn a_camera_that_is_open_is_told_and_settled_as_at_an_import() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(sample("test.jsonl")).unwrap();
    let mut records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let first = records.find(|record| record["evidence_attributes"]["camera_angle"].is_string()).unwrap();
    let (id, angle) = (&first["id"], first["evidence_attributes"]["camera_angle"].as_str().unwrap());
    let of_video = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"] == *id;
    let open: String = text
        .lines()
        .map(|line| if of_video(line) { line.replace(angle, "unclear") } else { line.to_owned() } + "\n")
        .collect();
    let questions = folder.path().join("open.jsonl");
    std::fs::write(&questions, open).unwrap();
    let cameras = folder.path().join("cameras.csv");
    std::fs::write(&cameras, format!("id,camera\n{},static\n", id.as_str().unwrap())).unwrap();
    let (questions, cameras) = (questions.to_str().unwrap(), cameras.to_str().unwrap());
    let file = "predictions/perfect.jsonl";
    let before = grade(folder.path(), file, questions, &["--json"]).json();
    assert_eq!(before["unknown_cameras"], 1);
    assert!(grade(folder.path(), file, questions, &[]).stdout().contains("`--camera`"));
    let settled = grade(folder.path(), file, questions, &["--json", "--camera", cameras]).json();
    assert_eq!(settled["unknown_cameras"], 0);
    let captions = |grades: &Value| {
        let count = |column: &str| grades["scores"][column]["n"].as_u64().unwrap();
        count("static/BEH") + count("moving/BEH")
    };
    assert_eq!((captions(&before), captions(&settled)), (23, 24));
}

#[test]
fn a_faulty_file_is_told_fault_by_fault_and_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = grade(folder.path(), "predictions/random.jsonl", "val.jsonl", &[]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stdout.contains("unknown_question") && wrong.stdout.contains("line 1"), "{}", wrong.stdout);
    assert!(wrong.stdout.contains("the first 100 of 199 faults"), "{}", wrong.stdout);
    let no_keys = grade(folder.path(), "predictions/random.jsonl", "predictions/random.jsonl", &[]);
    assert_eq!(no_keys.code, Some(2), "{no_keys:?}");
    assert!(no_keys.stderr.contains("has no keys; `--questions` takes whole records"), "{no_keys:?}");
    assert_eq!(no_keys.stdout, "");
    let none = run(&mut program(folder.path(), &["grade", "none.jsonl", "--questions", "none.jsonl"]));
    assert!(none.code == Some(2) && none.stderr.contains("none.jsonl"), "{none:?}");
}
