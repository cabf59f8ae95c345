//! New entries as an Atom feed (RFC 4287).

use actix_web::{HttpRequest, HttpResponse, get, web};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use serde::Deserialize;

use super::Shared;
use super::error::{Answer, Problem};
use super::formats::on_one_line;
use super::prepared::prepared;
use crate::domain::column::{Column, Unit};
use crate::domain::instant;
use crate::evaluation::board_query::{BoardParameters, BoardQuery, View};
use crate::evaluation::board_rows::Row;
use crate::evaluation::standing::Leaderboard;
use crate::scoring::decimals::to_decimals;

/// Entries of the feed, the newest.
const MAX_ENTRIES: usize = 50;

/// The columns whose values an entry's summary tells.
const TOLD: [Column; 2] = [Column::Mcq, Column::Oemu];

const ATOM: &str = "http://www.w3.org/2005/Atom";

/// Which feed is asked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct FeedParameters {
    /// `test` or `val`; `test` unless said.
    split: Option<String>,
}

/// New entries as an Atom feed
///
/// The newest published entries of the present board, all of each team.
#[utoipa::path(
    tag = "board",
    params(FeedParameters),
    responses(
        (status = 200, description = "The feed", body = String, content_type = "application/atom+xml"),
        (status = 304, description = "The feed that `If-None-Match` names still stands"),
        (status = 400, description = "A parameter is wrong", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/feed.atom")]
pub async fn find_feed(
    request: HttpRequest,
    state: Shared,
    parameters: web::Query<FeedParameters>,
) -> Answer<HttpResponse> {
    let parameters = BoardParameters { split: parameters.into_inner().split, ..BoardParameters::default() };
    let query = BoardQuery { all: true, ..parameters.query(View::Ranks)? };
    let public_url = state.link("");
    // Writing to memory does not fail.
    let render = move |board: &Leaderboard| feed(board, &public_url).unwrap_or_default();
    let rendered = state.boards.rendered(&state.evaluation.store, query, "atom".to_owned(), render).await?;
    Ok(prepared(&request, &rendered, "application/atom+xml; charset=utf-8").await)
}

type Xml = Writer<Vec<u8>>;

fn feed(board: &Leaderboard, public_url: &str) -> std::io::Result<Vec<u8>> {
    let mut rows: Vec<&Row> = board.rows.iter().filter(|row| row.entry.is_some()).collect();
    rows.sort_by(|left, right| {
        (right.published_at_ms, &right.entry).cmp(&(left.published_at_ms, &left.entry))
    });
    rows.truncate(MAX_ENTRIES);
    let newest_ms = rows.first().and_then(|row| row.published_at_ms).unwrap_or_default();
    let (split, own) = (board.split, format!("{public_url}/feed.atom?split={}", board.split));
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 1);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
    xml.create_element("feed").with_attribute(("xmlns", ATOM)).write_inner_content(|xml| {
        text(xml, "id", &own)?;
        text(xml, "title", &format!("MarineLife-16K, {split} split: new entries"))?;
        text(xml, "updated", &instant::rfc3339(newest_ms))?;
        link(xml, "self", &own)?;
        link(xml, "alternate", &format!("{public_url}/?split={split}"))?;
        rows.iter().try_for_each(|row| entry(xml, row, board, public_url))
    })?;
    Ok(xml.into_inner())
}

fn entry(xml: &mut Xml, row: &Row, board: &Leaderboard, public_url: &str) -> std::io::Result<()> {
    let id = row.entry.as_deref().unwrap_or_default();
    let published = instant::rfc3339(row.published_at_ms.unwrap_or_default());
    let model = on_one_line(&row.model_name);
    xml.create_element("entry").write_inner_content(|xml| {
        text(xml, "id", &format!("urn:uuid:{id}"))?;
        text(xml, "title", &model)?;
        text(xml, "published", &published)?;
        text(xml, "updated", &published)?;
        xml.create_element("author")
            .write_inner_content(|xml| text(xml, "name", row.team.as_deref().unwrap_or("anonymous")))?;
        link(xml, "alternate", &format!("{public_url}/entries/{id}"))?;
        text(xml, "summary", &summary(row, board))
    })?;
    Ok(())
}

/// What an entry is, in one sentence, without what changes as others come.
fn summary(row: &Row, board: &Leaderboard) -> String {
    let release = board.release.as_deref().map(on_one_line).unwrap_or_default();
    let group = row.group.map(|group| format!(" ({group})")).unwrap_or_default();
    let mut summary = format!("{}{group} on release {release}", on_one_line(&row.model_name));
    for column in TOLD {
        if let Some(cell) = row.scores.get(&column) {
            let places = if cell.unit == Unit::Percent { 1 } else { 2 };
            summary.push_str(&format!(", {column} {}", to_decimals(cell.value, places)));
            if let Some([low, high]) = cell.ci95 {
                summary.push_str(&format!(
                    " ({} to {})",
                    to_decimals(low, places),
                    to_decimals(high, places)
                ));
            }
        }
    }
    summary
}

fn text(xml: &mut Xml, name: &str, text: &str) -> std::io::Result<()> {
    xml.create_element(name).write_text_content(BytesText::new(text)).map(|_| ())
}

fn link(xml: &mut Xml, relation: &str, address: &str) -> std::io::Result<()> {
    xml.create_element("link")
        .with_attributes([("rel", relation), ("href", address)])
        .write_empty()
        .map(|_| ())
}
