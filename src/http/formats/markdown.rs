//! The leaderboard as Markdown: tables as GitHub reads them. Knows nothing of requests.

use super::table::{CAPTIONS, Cell, Line, lines, question_columns};
use super::{correction_words, day, on_one_line, permanent_address};
use crate::domain::column::Column;
use crate::evaluation::board_query::View;
use crate::evaluation::board_rows::Row;
use crate::evaluation::marks::Mark;
use crate::evaluation::standing::Leaderboard;

/// The board as two tables under a heading; `public_url` begins its address.
pub fn leaderboard(board: &Leaderboard, public_url: &str) -> Vec<u8> {
    let mut text = format!("# MarineLife-16K leaderboard, {} split\n\n", board.split);
    if let Some(release) = &board.release {
        let hash = board.release_sha256.as_deref().unwrap_or_default();
        text.push_str(&format!("- Release {} (SHA-256 `{hash}`)\n", escaped(release)));
    }
    if let Some(judge) = &board.judge {
        let words = if judge.is_offline() { " (word overlap, no language model)" } else { "" };
        text.push_str(&format!(
            "- Judge {}{words}, configuration `{}`\n",
            escaped(&judge.model),
            judge.configuration
        ));
    }
    if let Some(day) = day(board) {
        text.push_str(&format!("- As of {day}\n"));
    }
    text.push_str(&format!("- <{}>\n", permanent_address(board, public_url)));
    let correction = correction_words(board, escaped);
    let correction = if correction.is_empty() { correction } else { format!("\n{correction}\n") };
    if board.rows.is_empty() {
        text.push_str(&format!("\nNo published entry yet.\n{correction}"));
        return text.into_bytes();
    }
    for (heading, columns) in [("Questions", question_columns(board)), ("Captions", CAPTIONS.to_vec())] {
        text.push_str(&format!("\n## {heading}\n\n{}", table(board, &columns)));
    }
    text.push_str(&format!("{correction}\n{}", legend(board)));
    text.into_bytes()
}

fn table(board: &Leaderboard, columns: &[Column]) -> String {
    let ranks = board.query.view == View::Ranks;
    let mut head = if ranks { vec!["Rank"] } else { Vec::new() };
    head.extend(["Model", "Team", "Backbone"]);
    let names = head.len();
    head.extend(columns.iter().map(|column| column.as_str()));
    let alignment = |place| if place < names && !(ranks && place == 0) { "---" } else { "---:" };
    let alignments: Vec<&str> = (0..head.len()).map(alignment).collect();
    let mut text = format!("| {} |\n| {} |\n", head.join(" | "), alignments.join(" | "));
    for line in lines(board, columns) {
        let (mut record, cells) = match line {
            Line::Section(heading) => (vec![format!("**{heading}**")], Vec::new()),
            Line::Row(row, cells) => (row_names(row, ranks), cells),
            Line::Average { printed: false, cells } => (vec!["Average".to_owned()], cells),
            Line::Average { printed: true, cells } => (vec!["Average †".to_owned()], cells),
        };
        record.resize(names, String::new());
        record.extend(cells.iter().map(value));
        record.resize(head.len(), String::new());
        text.push_str(&format!("| {} |\n", record.join(" | ")));
    }
    text
}

fn row_names(row: &Row, ranks: bool) -> Vec<String> {
    let rank = row.rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
    let mark = if row.reported {
        " †"
    } else if row.blind {
        " ‡"
    } else {
        ""
    };
    let team = match &row.team {
        Some(team) => escaped(team),
        None if row.entry.is_some() => "*anonymous*".to_owned(),
        None => String::new(),
    };
    let backbone = row.backbone.as_deref().map(escaped).unwrap_or_default();
    let names = [format!("{}{mark}", escaped(&row.model_name)), team, backbone];
    ranks.then_some(rank).into_iter().chain(names).collect()
}

fn value(cell: &Cell) -> String {
    let text = &cell.text;
    let mut value = match cell.mark {
        None => text.clone(),
        Some(Mark::Best) => format!("**{text}**"),
        Some(Mark::TiesBest) => format!("{text} ≈"),
        Some(Mark::Second) => format!("<ins>{text}</ins>"),
    };
    if let Some(computed) = &cell.computed {
        value.push_str(&format!(" ({computed})"));
    }
    if let Some(change) = &cell.change {
        value.push_str(&format!(" ({change})"));
    }
    value
}

fn legend(board: &Leaderboard) -> String {
    let mut words = String::new();
    if board.rows.iter().any(|row| row.entry.is_some()) {
        words.push_str(if board.marks.are_tested() {
            "Bold: the highest of the ranked entries; ≈: cannot be told apart from it by tests of every pair; underlined: the \
             highest that is clearly below. "
        } else {
            "Bold: the highest of the ranked entries; whether others differ from it is not tested yet. "
        });
    }
    if board.rows.iter().any(|row| row.reported) {
        words.push_str("†: as printed in the paper, on fewer questions, not ranked. ");
    }
    if board.rows.iter().any(|row| row.blind) {
        words.push_str("‡: a rule that sees no video. ");
    }
    format!("{}\n", words.trim_end())
}

/// The text in a cell: nothing in it is markup, a link or the end of the cell.
fn escaped(text: &str) -> String {
    let mut markdown = String::with_capacity(text.len());
    for c in on_one_line(text).chars() {
        match c {
            '.' if markdown.ends_with("www") => markdown.push_str("&#46;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '{' | '}' | '#' | '~' | '!' | '=' | '$' => {
                markdown.extend(['\\', c]);
            }
            '<' | '>' | '&' | '|' | '"' | ':' | '@' => markdown.push_str(&format!("&#{};", u32::from(c))),
            c => markdown.push(c),
        }
    }
    markdown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_cell_or_is_markup() {
        assert_eq!(escaped("a|b\nc"), "a&#124;b c");
        assert_eq!(escaped("<img src=x>"), r"&#60;img src\=x&#62;");
        assert_eq!(escaped("**x** [y](z) \\|"), r"\*\*x\*\* \[y\](z) \\&#124;");
        assert_eq!(escaped("https://e.org @me &amp;"), "https&#58;//e.org &#64;me &#38;amp;");
        assert_eq!(escaped("www.e.org"), "www&#46;e.org");
    }
}
