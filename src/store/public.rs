//! What of each table everybody may know: the closed list behind a public archive. Nothing is public that is not on it,
//! and a table or column that is not on it makes no public archive until somebody has decided.

use sha2::{Digest as _, Sha256};

use super::rows::{Cell, Cells};
use super::tables::Table;

/// Matches what a board may show, as `standing::published` does.
const PUBLISHED: &str = "(submissions.state = 'scored' AND submissions.visibility <> 'private' \
     AND submissions.withdrawn_reason IS NULL AND NOT EXISTS (SELECT 1 FROM series_members \
     WHERE series_members.submission_id = submissions.id AND NOT series_members.told))";

/// Matches judge configurations that have a board.
const WITH_BOARD: &str =
    "(SELECT id FROM judge_configurations WHERE state = 'current' OR retired_at_ms IS NOT NULL)";

/// Matches releases that have a board: of one that waits, such as a correction, nobody knows.
const SHOWN: &str = "(SELECT id FROM releases WHERE shown AND split <> 'train')";

/// Matches failed answers of submissions under what their entries stand under.
const STOOD: &str = "submissions.id = judge_failures.submission_id \
     AND submissions.release_id = judge_failures.release_id \
     AND submissions.configuration_id = judge_failures.configuration_id";

/// Tables of which nothing is public.
const LEFT_OUT: [&str; 25] = [
    "leases",
    "video_files",
    "answer_keys",
    "api_keys",
    "signups",
    "reviewer_links",
    "predictions",
    "idempotency_keys",
    "quota_ledger",
    "judge_claims",
    "judge_spend",
    "outcomes",
    "rejudgings",
    "answer_flags",
    "series_members",
    "letter_bands",
    "rating_studies",
    "rated_items",
    "human_ratings",
    "calibration_runs",
    "calibration_answers",
    "calibration_spend",
    "audit_log",
    "flag_queue",
    "submission_notes",
];

/// What is public of the others, column by column; a constant stands for a column of which nothing is. Entries of one
/// nameless team and model stay one line of the board, and are otherwise nobody's.
const PUBLIC: [(&str, &str); 16] = [
    ("installation", "SELECT id, 0 AS board_revision, 0 AS judge_checked_at_ms FROM installation"),
    (
        "releases",
        // Their order is on the pages of entries, and not when they were imported.
        "SELECT id, name, split, content_sha256, feedback, active, row_number() OVER (ORDER BY created_at_ms) AS created_at_ms, \
         line_id, FALSE AS staged, shown FROM releases WHERE id IN {shown}",
    ),
    (
        "videos",
        "SELECT release_id, position, CAST(position AS TEXT) AS id, '' AS collection, '' AS video_id, '' AS video_file, \
         '' AS video_path FROM videos WHERE release_id IN {shown}",
    ),
    (
        "questions",
        // How many there are of each type is known, and not which video has which.
        "SELECT release_id, position, CAST(position AS TEXT) AS question_id, 0 AS video_position, type, '' AS question, \
         '' AS prompt, '[]' AS options FROM (SELECT release_id, type, \
         row_number() OVER (PARTITION BY release_id ORDER BY type) - 1 AS position FROM questions) AS by_type WHERE release_id IN {shown}",
    ),
    (
        "teams",
        "SELECT id, slug, slug AS name, NULL AS email, 'team' AS role, NULL AS disabled_at_ms, 0 AS intake_sequence, \
         0 AS created_at_ms FROM teams WHERE id IN (SELECT team_id FROM submissions WHERE {published} \
         AND visibility = 'public') \
         UNION ALL SELECT team_id || ' ' || model_name, '(nameless ' || row_number() OVER (ORDER BY min(id)) || ')', '', \
         NULL, 'team', NULL, 0, 0 FROM submissions WHERE {published} AND visibility = 'anonymous' \
         GROUP BY team_id, model_name",
    ),
    (
        "judge_configurations",
        "SELECT id, kind, model, text, state, created_at_ms, retired_at_ms FROM judge_configurations \
         WHERE id IN {with_board}",
    ),
    (
        "submissions",
        "SELECT id, CASE WHEN visibility = 'public' THEN team_id ELSE team_id || ' ' || model_name END AS team_id, \
         release_id, split, model_name, backbone, access, parameters_b, \
         CASE WHEN visibility = 'public' THEN description END AS description, \
         CASE WHEN visibility = 'public' THEN paper_url END AS paper_url, \
         CASE WHEN visibility = 'public' THEN code_url END AS code_url, visibility, state, NULL AS paused_for, \
         '' AS content_sha256, questions, answered, unparsed, 0 AS graded, 0 AS to_judge, 0 AS judged, 0 AS reused, \
         0 AS failed, '[]' AS warnings, configuration_id, NULL AS withdrawn_reason, 0 AS not_before_ms, created_at_ms, \
         finished_at_ms, NULL AS anonymous_until, \
         CASE WHEN visible_since_ms > finished_at_ms THEN visible_since_ms END AS visible_since_ms FROM submissions WHERE {published}",
    ),
    (
        // Of decisions by hand what the pages of the entries that stand on them say, the reason as it was written.
        "judgements",
        "SELECT configuration_id, key, vote, question_id, '[0,0,0]' AS scores, '[null,null,null]' AS explanations, \
         '' AS answered_model, 0 AS prompt_tokens, 0 AS cached_tokens, 0 AS completion_tokens, 0 AS cost_usd, created_at_ms, \
         '' AS decided_by, decision_reason FROM judgements WHERE decided_by IS NOT NULL AND vote = 0 \
         AND EXISTS (SELECT 1 FROM judge_failures JOIN submissions ON {stood} WHERE judge_failures.key = judgements.key \
         AND judge_failures.configuration_id = judgements.configuration_id AND {published})",
    ),
    (
        "judge_failures",
        "SELECT judge_failures.submission_id, judge_failures.release_id, judge_failures.configuration_id, \
         judge_failures.question_id, \
         judge_failures.key, '' AS reason, '' AS detail, 0 AS calls, 0 AS first_failed_at_ms, 0 AS last_failed_at_ms \
         FROM judge_failures JOIN submissions ON {stood} \
         JOIN judgements ON judgements.key = judge_failures.key \
         AND judgements.configuration_id = judge_failures.configuration_id AND judgements.vote = 0 \
         WHERE judgements.decided_by IS NOT NULL AND {published}",
    ),
    (
        "scores",
        "SELECT scores.submission_id, scores.release_id, scores.configuration_id, scores.by_column, scores.complete, \
         0 AS questions, 0 AS answered, 0 AS unparsed, scores.rejudged_at_ms FROM scores \
         JOIN submissions ON submissions.id = scores.submission_id \
         WHERE scores.configuration_id IN {with_board} AND scores.release_id IN {shown} AND {published}",
    ),
    (
        "board_changes",
        "SELECT split, at_ms, release_id, configuration_id FROM board_changes \
         WHERE release_id IN {shown} AND configuration_id IN {with_board}",
    ),
    (
        "corrections",
        "SELECT release_id, corrected_id, notice, questions, changes, 0 AS staged_at_ms, applied_at_ms FROM corrections \
         WHERE applied_at_ms IS NOT NULL",
    ),
    ("baselines", "SELECT release_id, rule, by_column FROM baselines WHERE release_id IN {shown}"),
    (
        "ranked_boards",
        "SELECT release_id, configuration_id, scope, '' AS fingerprint, smallest_difference FROM ranked_boards \
         WHERE configuration_id IN {with_board} AND release_id IN {shown}",
    ),
    (
        "rank_ranges",
        "SELECT rank_ranges.release_id, rank_ranges.configuration_id, rank_ranges.scope, rank_ranges.submission_id, \
         rank_ranges.by_column FROM rank_ranges JOIN submissions ON submissions.id = rank_ranges.submission_id \
         WHERE rank_ranges.configuration_id IN {with_board} AND rank_ranges.release_id IN {shown} AND {published}",
    ),
    ("record_keys", "SELECT id, '' AS seed, public_key, created_at_ms, retired_at_ms FROM record_keys"),
];

/// What the ledger does not store, since it counts it: all of a team's submissions, not only the published ones.
const COUNTED: (&str, &str) = (
    "archived_attempts",
    "SELECT submission_id, attempts FROM (SELECT id AS submission_id, \
     row_number() OVER (PARTITION BY split, team_id ORDER BY created_at_ms, id) AS attempts FROM submissions \
     WHERE state = 'scored' AND visibility <> 'anonymous') AS counted WHERE submission_id IN \
     (SELECT id FROM submissions WHERE {published} AND visibility = 'public')",
);

/// Columns whose values connect rows and are told to nobody: hashed with a salt that is thrown away.
const SALTED: [(&str, &str); 6] = [
    ("installation", "id"),
    ("releases", "id"),
    ("teams", "id"),
    ("submissions", "team_id"),
    ("judgements", "key"),
    ("judge_failures", "key"),
];

/// Columns that hold the id of a release, in whatever table.
const OF_RELEASES: [&str; 3] = ["release_id", "line_id", "corrected_id"];

/// The configuration's text is on the judge's page, all but the secret of the fence.
const FENCED: (&str, &str) = ("judge_configurations", "text");

/// Selects the public rows of a table with exactly its columns; none of a table of which nothing is public.
///
/// # Errors
/// The name of the table or column about which nobody has decided, or that is on the list and not in the database.
pub fn public_select(table: &Table) -> Result<Option<String>, String> {
    if LEFT_OUT.contains(&table.name.as_str()) {
        return Ok(None);
    }
    let listed = PUBLIC.iter().chain([&COUNTED]).find(|(name, _)| *name == table.name);
    let (_, select) = listed.ok_or_else(|| table.name.clone())?;
    let mut decided: Vec<&str> = select
        .split_once(" FROM ")
        .map_or(*select, |(list, _)| list.trim_start_matches("SELECT "))
        .split(", ")
        .map(|term| term.rsplit([' ', '.']).next().unwrap_or(term))
        .collect();
    for column in &table.columns {
        // Asked here and not by the database: SQLite takes an unknown quoted name for a text.
        let place = decided.iter().position(|name| *name == column.name);
        decided.swap_remove(place.ok_or_else(|| format!("{}.{}", table.name, column.name))?);
    }
    if let Some(unknown) = decided.first() {
        return Err(format!("{}.{unknown}", table.name));
    }
    let names =
        [("{stood}", STOOD), ("{published}", PUBLISHED), ("{with_board}", WITH_BOARD), ("{shown}", SHOWN)];
    let select = names.iter().fold((*select).to_owned(), |select, (name, sql)| select.replace(name, sql));
    // By name, so that the order of columns in the list does not matter.
    Ok(Some(format!("SELECT {} FROM ({select}) AS public_rows", table.column_names())))
}

/// Takes out of a row what no statement of SQL can.
pub fn veil(table: &Table, row: Cells, salt: &[u8]) -> Cells {
    let veiled = row.into_iter().zip(&table.columns).map(|(cell, column)| {
        let place = (table.name.as_str(), column.name.as_str());
        match cell {
            Cell::Text(text) if SALTED.contains(&place) || OF_RELEASES.contains(&column.name.as_str()) => {
                let hash = Sha256::new().chain_update(salt).chain_update(text).finalize();
                Cell::Text(hex::encode(hash))
            }
            Cell::Text(text) if place == FENCED => Cell::Text(without_fence(&text)),
            cell => cell,
        }
    });
    veiled.collect()
}

/// A configuration's text with a secret that opens nothing; no text at all where it cannot be read.
fn without_fence(text: &str) -> String {
    let Ok(mut configuration) = serde_json::from_str::<serde_json::Value>(text) else {
        return String::new();
    };
    if let Some(secret) = configuration.get_mut("fence_secret") {
        *secret = "0".repeat(64).into();
    }
    configuration.to_string()
}
