//! The report of a release: how often what is annotated, as bars in one page that needs nothing else (paper, Figure 5). Knows
//! nothing of how things are counted.

use std::fmt::Write as _;

use super::giveaway::Guess;
use super::statistics::{Count, Frequencies, SplitCounts, Statistics};
use crate::domain::column::dimension;
use crate::domain::question::{Camera, QuestionType};

/// Bars of a chart at most; the others are summed up.
const MAX_BARS: usize = 15;

/// Pixels of a bar with its space.
const ROW_PX: usize = 22;

const STYLE: &str = "
:root { color-scheme: light dark; --bar: #2a6f97; --line: #8885; }
@media (prefers-color-scheme: dark) { :root { --bar: #61a5c2; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; } caption { text-align: start; font-weight: 600; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: end; } th:first-child, td:first-child { text-align: start; }
.scroll { overflow-x: auto; } .charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(24rem, 1fr)); gap: 1.5rem; }
figure { margin: 0; } figcaption { font-weight: 600; } figcaption small { font-weight: 400; }
svg { width: 100%; } svg rect { fill: var(--bar); } svg text { font-size: 12px; fill: currentColor; } svg .count { text-anchor: end; }
@media (max-width: 30rem) { .charts { grid-template-columns: 1fr; } }
";

/// The page.
pub fn page(release: &str, statistics: &Statistics, guesses: &[Guess]) -> String {
    let mut page = String::new();
    let title = format!("What {} holds", escaped(release));
    // Writing to a string does not fail.
    _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n\
         <p>For maintainers: it counts right answers of all splits, the test split included.</p>\n"
    );
    page.push_str(&splits_table(&statistics.splits));
    page.push_str(&types_table(&statistics.splits));
    page.push_str(&guesses_table(guesses));
    page.push_str("<h2>Objects</h2>\n<div class=\"charts\">\n");
    page.push_str(&chart("objects in a video", "videos by number", &statistics.objects_per_video));
    statistics.objects.iter().for_each(|of| page.push_str(&frequencies(of)));
    page.push_str("</div>\n<h2>Attributes</h2>\n<div class=\"charts\">\n");
    statistics.attributes.iter().filter(|of| of.videos > 0).for_each(|of| page.push_str(&frequencies(of)));
    page.push_str("</div>\n<h2>Captions</h2>\n<div class=\"charts\">\n");
    page.push_str(&chart("words of a caption", "captions by length", &statistics.caption_words));
    page.push_str("</div>\n</body></html>\n");
    page
}

fn splits_table(splits: &[SplitCounts]) -> String {
    let camera =
        |counts: &SplitCounts, camera| counts.cameras.get(&camera).copied().unwrap_or_default().to_string();
    let rows = splits.iter().map(|counts| {
        let collections = counts.collections.iter().map(|(name, count)| format!("{name} {count}"));
        vec![
            name(counts),
            counts.videos.to_string(),
            counts.questions.to_string(),
            counts.multiple_choice.to_string(),
            (counts.questions - counts.multiple_choice).to_string(),
            camera(counts, Camera::Static),
            camera(counts, Camera::Moving),
            camera(counts, Camera::Unknown),
            collections.collect::<Vec<_>>().join(", "),
        ]
    });
    let head = [
        "split",
        "videos",
        "questions",
        "multiple choice",
        "open-ended",
        "camera static",
        "moving",
        "unspecified",
        "collections",
    ];
    table("Splits", &head, rows)
}

fn types_table(splits: &[SplitCounts]) -> String {
    let names: Vec<String> = splits.iter().map(name).collect();
    let head: Vec<&str> = ["type", "dimension"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let rows = QuestionType::ALL.iter().map(|question_type| {
        let counts = splits
            .iter()
            .map(|counts| counts.types.get(question_type).copied().unwrap_or_default().to_string());
        [question_type.to_string(), dimension(*question_type).to_owned()].into_iter().chain(counts).collect()
    });
    table("Questions by type", &head, rows)
}

fn guesses_table(guesses: &[Guess]) -> String {
    let rows = guesses.iter().map(|guess| {
        let note = if guess.is_inherent { "other questions name the central object" } else { "" };
        let percent = format!("{:.1} %", guess.percent());
        vec![
            guess.question_type.to_string(),
            guess.rule.to_owned(),
            percent,
            guess.questions.to_string(),
            note.to_owned(),
        ]
    });
    table("Guessed right without a video", &["type", "rule", "right", "questions", "note"], rows)
}

fn name(counts: &SplitCounts) -> String {
    counts.split.map_or_else(|| "all".to_owned(), |split| split.to_string())
}

fn table(caption: &str, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
        cells.map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect()
    };
    let head = cells("th", &mut head.iter().copied());
    let rows: String =
        rows.map(|row| format!("<tr>{}</tr>\n", cells("td", &mut row.iter().map(String::as_str)))).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption><thead><tr>{head}</tr></thead>\
         <tbody>{rows}</tbody></table></div>\n",
        escaped(caption)
    )
}

fn frequencies(of: &Frequencies) -> String {
    let words = format!("{} different in {} videos", of.values.len(), of.videos);
    chart(of.attribute, &words, &of.values)
}

/// Bars with their names and numbers as text, so that the picture can be read, searched and heard.
fn chart(title: &str, words: &str, counts: &[Count]) -> String {
    let (shown, rest) = counts.split_at(counts.len().min(MAX_BARS));
    let most = shown.iter().map(|count| count.count).max().unwrap_or_default().max(1);
    let width = |count: usize| 34.0 * count as f64 / most as f64;
    let mut bars: Vec<(String, usize, f64)> =
        shown.iter().map(|count| (count.value.clone(), count.count, width(count.count))).collect();
    if !rest.is_empty() {
        // What is summed up would dwarf the others: it has no bar.
        bars.push((format!("{} others", rest.len()), rest.iter().map(|count| count.count).sum(), 0.0));
    }
    let mut svg = String::new();
    for (row, (value, count, percent)) in bars.iter().enumerate() {
        let y = row * ROW_PX;
        _ = writeln!(
            svg,
            "<text x=\"0\" y=\"{0}\">{1}<title>{2}</title></text><rect x=\"66%\" y=\"{3}\" width=\"{percent:.2}%\" height=\"{4}\"/>\
             <text class=\"count\" x=\"65%\" y=\"{0}\">{count}</text>",
            y + 15,
            escaped(&cut(value)),
            escaped(value),
            y + 3,
            ROW_PX - 6
        );
    }
    format!(
        "<figure><figcaption>{0} <small>{1}</small></figcaption><svg role=\"img\" aria-label=\"{0}: {1}\" height=\"{2}\">{svg}</svg></figure>\n",
        escaped(title),
        escaped(words),
        bars.len() * ROW_PX
    )
}

/// Letters of a name that fit beside a bar.
const MAX_NAME: usize = 34;

fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_NAME {
        return text.to_owned();
    }
    text.chars().take(MAX_NAME - 1).chain(['…']).collect()
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
