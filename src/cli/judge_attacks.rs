//! `secchi judge check --attacks`: whether the configured judge can be talked into a score.

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::report::table;
use crate::evaluation::judges::Judges;
use crate::judge::attacks::{Resistance, Tried, attacks, try_attacks};
use crate::judge::{Judge, Usage};

/// Asks the judge about every attack and says what came of each.
///
/// # Errors
/// When the judge was talked into a score or gave none.
pub async fn check(judges: &Judges, judge: &dyn Judge, json: bool) -> anyhow::Result<()> {
    let attacks = attacks()?;
    // It shows itself on a terminal alone.
    let bar = ProgressBar::new(attacks.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("attacks {bar:30} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    let tried = try_attacks(judge, attacks, judges.max_concurrency(), || bar.inc(1)).await;
    bar.finish_and_clear();
    let mut usage = Usage::default();
    tried.iter().for_each(|tried| usage += tried.usage);
    let cost_usd = judges.cost_usd(usage);
    if json {
        for tried in &tried {
            println!("{}", line(tried));
        }
    } else {
        println!("{}", table(&["id", "family", "honest", "got", "verdict"], tried.iter().map(row)));
        let sent = usage.prompt_tokens;
        println!("{} attacks, {sent} + {} tokens, ${cost_usd:.6}", tried.len(), usage.completion_tokens);
    }
    let named = |resistance: Resistance| -> Vec<&str> {
        let such = tried.iter().filter(|tried| tried.resistance() == resistance);
        such.map(|tried| tried.attack.id.as_str()).collect()
    };
    let (fooled, silent) = (named(Resistance::Fooled), named(Resistance::NotJudged));
    anyhow::ensure!(
        fooled.is_empty(),
        "the judge was talked into a score by {} of {} attacks: {}; do not rank under this configuration",
        fooled.len(),
        tried.len(),
        fooled.join(", ")
    );
    anyhow::ensure!(silent.is_empty(), "not judged, so that nothing is known: {}", silent.join(", "));
    Ok(())
}

fn row(tried: &Tried) -> Vec<String> {
    let scores = |scores: [u8; 3]| scores.map(|score| score.to_string()).join(" ");
    let got = tried.result.as_ref().map_or_else(Clone::clone, |got| scores(*got));
    let attack = &tried.attack;
    let resistance = tried.resistance().to_string();
    vec![attack.id.clone(), attack.family.clone(), scores(attack.honest), got, resistance]
}

fn line(tried: &Tried) -> serde_json::Value {
    let attack = &tried.attack;
    json!({
        "attack": attack.id, "family": attack.family, "rubric": attack.rubric, "honest": attack.honest,
        "got": tried.result.as_ref().ok(), "error": tried.result.as_ref().err(), "verdict": tried.resistance(),
    })
}
