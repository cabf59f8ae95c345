//! The leaderboard as LaTeX: the paper's two tables, ready to paste. Knows nothing of requests.

use super::latex_text::{FALLBACK, escaped, escaped_lines};
use super::table::{CAPTIONS, Cell, Line, lines, question_columns};
use super::{correction_words, day, permanent_address};
use crate::domain::column::Column;
use crate::domain::question::Split;
use crate::evaluation::board_query::{Sort, View};
use crate::evaluation::board_rows::Row;
use crate::evaluation::marks::Mark;
use crate::evaluation::standing::Leaderboard;

/// What goes before the first table.
const PREAMBLE: &str = r"% The preamble needs \usepackage{booktabs,graphicx,url}.
% A character that the fonts lack is printed by its number. Where the document's fonts have it (XeLaTeX, LuaLaTeX), put
% \newcommand{\unicodechar}[2]{#2} before.
";

/// Lines that fit on one page; longer tables go on in another one.
const LINES_A_PAGE: usize = 40;

/// Characters of a name that stand beside the other columns.
const NAME_CHARS: usize = 28;

/// The board as two tables that `public_url` gives the address of.
pub fn leaderboard(board: &Leaderboard, public_url: &str) -> Vec<u8> {
    let address = permanent_address(board, public_url);
    let questions = Table {
        id: "questions",
        words: "percent of right answers by dimension; OEMU in points from 0 to 5",
        columns: question_columns(board),
    };
    let captions = Table {
        id: "captions",
        words: "open-ended captions in points from 0 to 5, for static and moving cameras",
        columns: CAPTIONS.to_vec(),
    };
    let tables = [questions, captions].map(|table| table.written(board, &address));
    format!("% {address}\n{PREAMBLE}{FALLBACK}\n\n{}", tables.join("\n")).into_bytes()
}

/// One of the two tables.
struct Table {
    id: &'static str,
    /// What the values are.
    words: &'static str,
    columns: Vec<Column>,
}

impl Table {
    fn written(&self, board: &Leaderboard, address: &str) -> String {
        let lines = lines(board, &self.columns);
        let ranks = board.query.view == View::Ranks;
        let pages: Vec<&[Line<'_>]> =
            if lines.is_empty() { vec![&[]] } else { lines.chunks(LINES_A_PAGE).collect() };
        let float = |(place, page): (usize, &&[Line<'_>])| {
            let part = if pages.len() > 1 {
                format!(" Part {} of {}.", place + 1, pages.len())
            } else {
                String::new()
            };
            let number = if place > 0 { format!("-{}", place + 1) } else { String::new() };
            format!(
                "\\begin{{table*}}[t]\n\\centering\n\\caption{{{}{part}}}\n\\smallskip\n\\label{{tab:marinelife-{}-{}{number}}}\n\
                 \\footnotesize\n\\setlength{{\\tabcolsep}}{{4pt}}\n\
                 \\resizebox{{\\ifdim\\width>\\textwidth\\textwidth\\else\\width\\fi}}{{!}}{{%\n{}}}\n\
                 \\par\\smallskip\n{{\\scriptsize {}\\url{{{address}}}\\par}}\n\\end{{table*}}\n",
                self.caption(board),
                board.split,
                self.id,
                self.tabular(page, ranks),
                legend(board),
            )
        };
        pages.iter().enumerate().map(float).collect::<Vec<_>>().join("\n")
    }

    fn caption(&self, board: &Leaderboard) -> String {
        let mut caption = format!("MarineLife-16K, {} split: {}.", board.split, self.words);
        if let Some(release) = &board.release {
            caption.push_str(&format!(" Release \\texttt{{{}}}", escaped(release)));
            if let Some(hash) = board.release_sha256.as_deref().and_then(|hash| hash.get(..12)) {
                caption.push_str(&format!(" (SHA-256 \\texttt{{{hash}}})"));
            }
            caption.push('.');
        }
        if let Some(judge) = &board.judge {
            let words = if judge.is_offline() { " (word overlap, no language model)" } else { "" };
            let (model, id) = (escaped(&judge.model), escaped(&judge.configuration));
            caption.push_str(&format!(" Judge: {model}{words}, configuration \\texttt{{{id}}}."));
        }
        if let Some(day) = day(board) {
            caption.push_str(&format!(" As of {day}."));
        }
        let Sort { column, descending } = board.query.sort;
        let mean = if column == Column::Mcq { " (the mean of the seven percent columns)" } else { "" };
        let first = if descending { "highest" } else { "lowest" };
        caption.push_str(&format!(" Rows in the order of {column}{mean}, {first} first."));
        caption
    }

    fn tabular(&self, lines: &[Line<'_>], ranks: bool) -> String {
        let names = if ranks { 3 } else { 2 };
        let width = names + self.columns.len();
        let alignment = format!("{}ll{}", if ranks { "r" } else { "" }, "c".repeat(self.columns.len()));
        let mut text = format!(
            "\\begin{{tabular}}{{@{{}}{alignment}@{{}}}}\n\\toprule\n{}\\midrule\n",
            self.head(ranks)
        );
        if lines.is_empty() {
            text.push_str(&format!("\\multicolumn{{{width}}}{{c}}{{No published entry yet.}} \\\\\n"));
        }
        for (place, line) in lines.iter().enumerate() {
            let written = match line {
                Line::Section(heading) => {
                    let rule = if place > 0 { "\\midrule\n" } else { "" };
                    format!(
                        "{rule}\\multicolumn{{{width}}}{{c}}{{\\textit{{{}}}}} \\\\\n\\midrule\n",
                        escaped(heading)
                    )
                }
                Line::Row(row, cells) => format!("{} & {} \\\\\n", row_names(row, ranks), joined(cells)),
                Line::Average { printed, cells } => {
                    let mark = if *printed { "$^{\\dagger}$" } else { "" };
                    let empty = " & ".repeat(names - 1);
                    format!("\\textbf{{Average}}{mark}{empty} & {} \\\\\n", joined(cells))
                }
            };
            text.push_str(&written);
        }
        text.push_str("\\bottomrule\n\\end{tabular}");
        text
    }

    fn head(&self, ranks: bool) -> String {
        let (rank, first) = if ranks { ("Rank & ", 4) } else { ("", 3) };
        let is_captions = self.columns == CAPTIONS;
        let names: Vec<&str> = self
            .columns
            .iter()
            .map(|column| match column.caption_dimension() {
                Some(dimension) if is_captions => dimension.as_str(),
                _ => column.as_str(),
            })
            .collect();
        let names = format!("{rank}Model & Backbone & {} \\\\\n", names.join(" & "));
        if !is_captions {
            return names;
        }
        let empty = " & ".repeat(first - 1);
        let (last, then, end) = (first + 2, first + 3, first + 5);
        format!(
            "{empty}\\multicolumn{{3}}{{c}}{{STATIC CAMERA}} & \\multicolumn{{3}}{{c}}{{MOVING CAMERA}} \\\\\n\
             \\cmidrule(lr){{{first}-{last}}} \\cmidrule(l){{{then}-{end}}}\n{names}"
        )
    }
}

fn joined(cells: &[Cell]) -> String {
    cells.iter().map(value).collect::<Vec<_>>().join(" & ")
}

fn value(cell: &Cell) -> String {
    let text = if cell.text == "-" { "--" } else { &cell.text };
    let mut value = match cell.mark {
        None => text.to_owned(),
        Some(Mark::Best) => format!("\\textbf{{{text}}}"),
        Some(Mark::TiesBest) => format!("{text}$^{{\\approx}}$"),
        Some(Mark::Second) => format!("\\underline{{{text}}}"),
    };
    if let Some(computed) = &cell.computed {
        value.push_str(&format!("\\,({computed})"));
    }
    if let Some(change) = &cell.change {
        value.push_str(&format!("$_{{{change}}}$"));
    }
    value
}

/// The cells before the values: the rank where all rows stand in one order, the name and the backbone.
fn row_names(row: &Row, ranks: bool) -> String {
    let rank = match row.rank {
        Some(rank) if ranks => format!("{rank} & "),
        None if ranks => "-- & ".to_owned(),
        _ => String::new(),
    };
    let mut name = stacked(&row.model_name);
    if row.entry.is_some() {
        let team = row.team.as_deref().map_or_else(|| "anonymous".to_owned(), escaped);
        name.push_str(&format!(" {{\\scriptsize ({team})}}"));
    }
    name.push_str(if row.reported { "$^{\\dagger}$" } else { "" });
    name.push_str(if row.blind { "$^{\\ddagger}$" } else { "" });
    let backbone = row.backbone.as_deref().map_or_else(|| "--".to_owned(), stacked);
    format!("{rank}{name} & {backbone}")
}

/// A text in lines that leave room for the other columns.
fn stacked(text: &str) -> String {
    let lines = escaped_lines(text, NAME_CHARS);
    match lines.len() {
        0 | 1 => lines.concat(),
        _ => format!("\\begin{{tabular}}[t]{{@{{}}l@{{}}}}{}\\end{{tabular}}", lines.join("\\\\")),
    }
}

/// What the marks of a board say, as far as it has them.
fn legend(board: &Leaderboard) -> String {
    let mut words = String::new();
    if board.rows.iter().any(|row| row.entry.is_some()) {
        words.push_str(if board.marks.are_tested() {
            "Bold: the highest of the ranked entries; $^{\\approx}$: cannot be told apart from it by tests of every pair; \
             underlined: the highest that is clearly below. "
        } else {
            "Bold: the highest of the ranked entries; whether others differ from it is not tested yet. "
        });
    }
    if board.rows.iter().any(|row| row.reported) {
        words.push_str("$^{\\dagger}$: as printed in the paper, on fewer questions, not ranked");
        words.push_str(match board.query.view {
            View::Groups if board.split == Split::Test => {
                "; in brackets the mean of the rows where another is printed. "
            }
            _ => ". ",
        });
    }
    if board.rows.iter().any(|row| row.blind) {
        words.push_str("$^{\\ddagger}$: a rule that sees no video. ");
    }
    let correction = correction_words(board, escaped);
    if !correction.is_empty() {
        words.push_str(&format!("{correction} "));
    }
    words
}
