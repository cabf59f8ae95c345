//! The audit log as maintainers read it: searched, and written out whole as CSV or as one JSON object a line.

use futures::{Stream, stream};
use serde::{Deserialize, Serialize};

use crate::domain::instant::{day_end_ms, is_day, parse_rfc3339, rfc3339};
use crate::domain::spreadsheet::defused;
use crate::store::audit::{AuditFilter, AuditRow, load_audit};
use crate::store::{DbConnection, Store, StoreError};

/// Lines that are read at once where all are written out.
const BATCH: i64 = 1000;

/// Why the log cannot be searched so.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// A bound is neither an instant nor a day.
    #[error(
        "`{0}` is no instant and no day; write 2026-11-30T08:00:00Z, or 2026-11-30 for the whole UTC day"
    )]
    Instant(String),
    /// The end is before the beginning.
    #[error("`{to}` is before `{from}`; give them the other way round")]
    Order {
        /// The beginning.
        from: String,
        /// The end.
        to: String,
    },
    /// No database keeps a NUL.
    #[error("what is searched for holds a NUL, which no line of the log does; leave it out")]
    Nul,
}

/// What is asked of the log; what is none is not asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// A team's short name, or `command line`.
    pub actor: Option<String>,
    /// An action, such as `grant_quota`.
    pub action: Option<String>,
    /// What was acted on: an id, a short name.
    pub subject: Option<String>,
    /// The first instant or UTC day.
    pub from: Option<String>,
    /// The last instant or UTC day.
    pub to: Option<String>,
    /// A text that stands anywhere in the line.
    pub text: Option<String>,
}

impl AuditQuery {
    /// The query in the form in which lines are found.
    ///
    /// # Errors
    /// When a bound is none, the end is before the beginning, or a text cannot stand in the log.
    pub fn filter(self) -> Result<AuditFilter, AuditError> {
        let AuditQuery { actor, action, subject, from, to, text } = self;
        let bound = |text: &Option<String>, is_end: bool| match text {
            Some(text) => instant(text, is_end).map(Some).ok_or_else(|| AuditError::Instant(text.clone())),
            None => Ok(None),
        };
        let (from_ms, to_ms) = (bound(&from, false)?, bound(&to, true)?);
        if let (Some(from_ms), Some(to_ms)) = (from_ms, to_ms)
            && from_ms > to_ms
        {
            let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
            return Err(AuditError::Order { from, to });
        }
        if [&actor, &action, &subject, &text].into_iter().flatten().any(|text| text.contains('\0')) {
            return Err(AuditError::Nul);
        }
        let text = text.filter(|text| !text.is_empty());
        Ok(AuditFilter { actor, action, subject, from_ms, to_ms, text })
    }
}

/// The instant that a bound names: of a day its first or last one.
fn instant(text: &str, is_end: bool) -> Option<i64> {
    match (is_day(text), is_end) {
        (true, true) => day_end_ms(text),
        (true, false) => parse_rfc3339(&format!("{text}T00:00:00Z")),
        (false, _) => parse_rfc3339(text),
    }
}

/// A line of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AuditView {
    /// The line's id.
    pub id: String,
    /// When.
    pub at: String,
    /// Who: a team's short name, or `command line`.
    pub actor: String,
    /// The address that the request came from, or `command line`; null where it was not kept.
    pub place: Option<String>,
    /// What was done.
    pub action: String,
    /// To what.
    pub subject: String,
    /// What was so before; null where there was nothing.
    #[schema(value_type = Option<Object>)]
    pub before: Option<serde_json::Value>,
    /// What is so since; null where nothing more can be said.
    #[schema(value_type = Option<Object>)]
    pub after: Option<serde_json::Value>,
}

impl From<AuditRow> for AuditView {
    fn from(row: AuditRow) -> AuditView {
        AuditView {
            id: row.id,
            at: rfc3339(row.at_ms),
            actor: row.actor,
            place: Some(row.place).filter(|place| !place.is_empty()),
            action: row.action,
            subject: row.subject,
            before: row.before.map(readable),
            after: row.after.map(readable),
        }
    }
}

/// An object as such, any other text as text.
fn readable(text: String) -> serde_json::Value {
    match serde_json::from_str(&text) {
        Ok(value @ serde_json::Value::Object(_)) => value,
        _ => text.into(),
    }
}

/// A part of the log, newest first, behind the line `after`.
///
/// # Errors
/// When the database fails.
pub fn list_audit(
    connection: &mut DbConnection,
    filter: &AuditFilter,
    after: Option<&str>,
    limit: i64,
) -> Result<Vec<AuditView>, StoreError> {
    Ok(load_audit(connection, filter, after, limit)?.into_iter().map(AuditView::from).collect())
}

/// How the log is written out whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Export {
    /// With a header; no cell is taken for a formula.
    #[serde(rename = "csv")]
    Csv,
    /// One JSON object a line.
    #[serde(rename = "jsonl")]
    JsonLines,
}

impl Export {
    /// The media type of the whole.
    pub fn media_type(self) -> &'static str {
        match self {
            Export::Csv => "text/csv; charset=utf-8",
            Export::JsonLines => "application/x-ndjson",
        }
    }

    /// The name of a file that holds it.
    pub fn file_name(self) -> &'static str {
        match self {
            Export::Csv => "audit.csv",
            Export::JsonLines => "audit.jsonl",
        }
    }

    /// What stands before the first line.
    fn head(self) -> Vec<u8> {
        match self {
            Export::Csv => record(
                ["id", "at", "actor", "place", "action", "subject", "before", "after"].map(str::to_owned),
            ),
            Export::JsonLines => Vec::new(),
        }
    }

    /// Lines of the log as bytes.
    fn lines(self, views: &[AuditView]) -> Vec<u8> {
        views.iter().flat_map(|view| self.line(view)).collect()
    }

    fn line(self, view: &AuditView) -> Vec<u8> {
        match self {
            Export::Csv => {
                let place = view.place.clone().unwrap_or_default();
                let (before, after) = (said(&view.before), said(&view.after));
                let cells =
                    [&view.id, &view.at, &view.actor, &place, &view.action, &view.subject, &before, &after];
                record(cells.map(|cell| defused(cell)))
            }
            Export::JsonLines => {
                let mut line = serde_json::to_vec(view).unwrap_or_default();
                line.push(b'\n');
                line
            }
        }
    }
}

/// What was so before or after, as text; empty where nothing is said.
pub fn said(value: &Option<serde_json::Value>) -> String {
    match value {
        None => String::new(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// All matches in parts, newest first, so that a log of any length takes the memory of one part.
pub fn exported(
    store: Store,
    filter: AuditFilter,
    export: Export,
) -> impl Stream<Item = Result<Vec<u8>, StoreError>> {
    // What is to be sent before the next part, and the line behind which that begins; none at the end.
    let begin = Some((export.head(), None::<String>));
    stream::try_unfold(begin, move |state| {
        let (store, filter) = (store.clone(), filter.clone());
        async move {
            let Some((mut bytes, after)) = state else { return Ok(None) };
            let views = store
                .read(move |connection| list_audit(connection, &filter, after.as_deref(), BATCH))
                .await?;
            bytes.extend(export.lines(&views));
            let is_full = i64::try_from(views.len()).unwrap_or(BATCH) == BATCH;
            let next = views.last().filter(|_| is_full).map(|last| (Vec::new(), Some(last.id.clone())));
            Ok(Some((bytes, next)))
        }
    })
}

fn record<const N: usize>(cells: [String; N]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail.
    let _written = writer.write_record(cells);
    writer.into_inner().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(from: &str, to: &str) -> AuditQuery {
        AuditQuery { from: Some(from.into()), to: Some(to.into()), ..AuditQuery::default() }
    }

    #[test]
    fn a_day_is_meant_whole() {
        let filter = query("2026-11-30", "2026-11-30").filter().unwrap();
        assert_eq!((filter.from_ms, filter.to_ms), (Some(1_795_996_800_000), Some(1_796_083_199_999)));
        let filter = query("2026-11-30T08:00:00Z", "2026-11-30T10:00:00+01:00").filter().unwrap();
        assert_eq!(filter.to_ms.unwrap() - filter.from_ms.unwrap(), 3_600_000);
    }

    #[test]
    fn a_bound_that_is_none_and_an_end_before_the_beginning_are_refused() {
        assert!(query("yesterday", "2026-11-30").filter().unwrap_err().to_string().contains("`yesterday`"));
        assert!(matches!(query("2026-12-01", "2026-11-30").filter(), Err(AuditError::Order { .. })));
        let nul = AuditQuery { actor: Some("a\0".into()), ..AuditQuery::default() };
        assert!(matches!(nul.filter(), Err(AuditError::Nul)));
    }
}
