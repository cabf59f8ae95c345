//! An entry's score as a small picture for a README. Knows nothing of ranks: a badge stays long after they have changed.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, get, web};
use serde::Deserialize;
use uuid::Uuid;

use super::Shared;
use super::entries::standing;
use super::error::{Answer, Problem};
use super::prepared::prepared;
use crate::domain::column::{Column, Unit};
use crate::evaluation::entries::{Entry, Found, find_entry};
use crate::evaluation::rendered::Rendered;
use crate::scoring::decimals::to_decimals;
use crate::store::StoreError;

/// Pixels that a character takes on average in the badge's type.
const CHAR_PX: usize = 7;
const PADDING_PX: usize = 10;

/// Which score.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct BadgeParameters {
    /// A column's id; `MCQ` unless said.
    column: Option<String>,
}

/// A score of a published entry as a picture
#[utoipa::path(
    tag = "board",
    params(("id" = String, Path, description = "The entry's id"), BadgeParameters),
    responses(
        (status = 200, description = "The picture", body = String, content_type = "image/svg+xml"),
        (status = 304, description = "The picture that `If-None-Match` names still stands"),
        (status = 400, description = "There is no such column", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is no such entry, or it is not published", body = Problem, content_type = "application/problem+json"),
        (status = 410, description = "The entry was withdrawn; the detail says why", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/entries/{id}/badge.svg")]
pub async fn find_badge(
    request: HttpRequest,
    state: Shared,
    id: web::Path<Uuid>,
    parameters: web::Query<BadgeParameters>,
) -> Answer<HttpResponse> {
    let column = match parameters.column.as_deref() {
        None => Column::Mcq,
        Some(id) => Column::parse(id).ok_or_else(|| unknown_column(id))?,
    };
    let id = id.to_string();
    let unknown = format!("there is no published entry `{id}`");
    let found: Result<Option<Found>, StoreError> =
        state.evaluation.store.snapshot(move |connection| find_entry(connection, &id)).await;
    let entry = standing(found?.ok_or_else(|| Problem::not_found(unknown))?)?;
    let picture = badge(&format!("MarineLife-16K {column}"), &value(&entry, column));
    Ok(prepared(&request, &Rendered::new(picture.into_bytes()), "image/svg+xml; charset=utf-8").await)
}

fn unknown_column(id: &str) -> Problem {
    let known = Column::ALL.iter().map(|column| column.as_str()).collect::<Vec<_>>().join(", ");
    let detail = format!("`column` is `{id}`; give one of {known}");
    Problem::new(StatusCode::BAD_REQUEST, "unknown_column", detail)
}

/// The score in words; of a board of the past with the release that it belongs to.
fn value(entry: &Entry, column: Column) -> String {
    let Some(cell) = entry.scores.get(&column) else { return "not scored".to_owned() };
    let value = match cell.unit {
        Unit::Percent => format!("{} %", to_decimals(cell.value, 1)),
        Unit::Points => format!("{} of 5", to_decimals(cell.value, 2)),
    };
    if entry.current { value } else { format!("{value} ({}, not current)", entry.release) }
}

fn badge(label: &str, value: &str) -> String {
    let width = |text: &str| text.chars().count() * CHAR_PX + 2 * PADDING_PX;
    let (left, right) = (width(label), width(value));
    let whole = left + right;
    let (label, value) = (escaped(label), escaped(value));
    let text = |middle: usize, width: usize, text: &str| {
        let length = width - 2 * PADDING_PX;
        format!(r#"<text x="{middle}" y="14" textLength="{length}">{text}</text>"#)
    };
    let texts = text(left / 2, left, &label) + &text(left + right / 2, right, &value);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" aria-label="{label}: {value}"><title>{label}: {value}</title><rect width="{whole}" height="20" rx="3" fill="#14212b"/><path d="M{left} 0h{end}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{end}z" fill="#0a5c96"/><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g></svg>"##,
        end = right - 3
    )
}

/// A text that stands in XML as it is.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_badge_says_is_escaped() {
        let badge = badge("a & b", "\"<script>\"");
        assert!(badge.contains("a &amp; b: &quot;&lt;script&gt;&quot;"), "{badge}");
        assert!(!badge.contains("<script"), "{badge}");
    }
}
