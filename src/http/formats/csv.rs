//! The leaderboard as CSV: the JSON's rows in the JSON's order. Knows nothing of requests.

use crate::domain::column::Column;
use crate::domain::spreadsheet::defused;
use crate::evaluation::board_rows::Row;
use crate::evaluation::standing::Leaderboard;

/// The JSON's names (contract 5).
const FACTS: [&str; 11] = [
    "rank",
    "rank_range",
    "entry",
    "team",
    "model_name",
    "backbone",
    "group",
    "reported",
    "blind",
    "attempts",
    "submitted_at",
];

/// The board as CSV with a header. Each column has its value, interval and number of questions.
pub fn leaderboard(board: &Leaderboard) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<String> = FACTS.map(str::to_owned).to_vec();
    for column in Column::ALL {
        header.push(column.to_string());
        header.extend(["ci95_low", "ci95_high", "n"].map(|part| format!("{column} {part}")));
    }
    let records = std::iter::once(header).chain(board.rows.iter().map(record));
    for record in records {
        // Writing to memory does not fail.
        let _written = writer.write_record(record);
    }
    writer.into_inner().unwrap_or_default()
}

fn record(row: &Row) -> Vec<String> {
    let text = |value: &Option<String>| value.as_deref().map(defused).unwrap_or_default();
    let mut record = vec![
        row.rank.map(|rank| rank.to_string()).unwrap_or_default(),
        // As JSON writes it: a spreadsheet takes `1-3` for a day.
        row.rank_range.map(|[best, worst]| format!("[{best},{worst}]")).unwrap_or_default(),
        text(&row.entry),
        text(&row.team),
        defused(&row.model_name),
        text(&row.backbone),
        row.group.map(|group| group.to_string()).unwrap_or_default(),
        row.reported.to_string(),
        row.blind.to_string(),
        row.attempts.map(|attempts| attempts.to_string()).unwrap_or_default(),
        text(&row.submitted_at),
    ];
    for column in Column::ALL {
        match row.scores.get(column) {
            Some(cell) => {
                let bound = |place: usize| cell.ci95.map(|bounds| bounds[place].to_string());
                let n = cell.n.map(|n| n.to_string());
                record.push(cell.value.to_string());
                record.extend([bound(0), bound(1), n].map(Option::unwrap_or_default));
            }
            None => record.extend(std::iter::repeat_n(String::new(), 4)),
        }
    }
    record
}
