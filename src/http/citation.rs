//! What to cite, as BibTeX: an entry of the board, or the benchmark and the board themselves.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, get, web};
use uuid::Uuid;

use super::Shared;
use super::error::{Answer, Problem};
use super::formats::latex_text::{FALLBACK, escaped};
use super::prepared::prepared;
use crate::domain::instant;
use crate::domain::submission::Visibility;
use crate::evaluation::entries::judge_head;
use crate::evaluation::entry_record::{Published, find_published};
use crate::evaluation::rendered::Rendered;
use crate::evaluation::standing::JudgeHead;
use crate::store::StoreError;
use crate::store::submissions::Submission;

const CONTENT_TYPE: &str = "application/x-bibtex; charset=utf-8";

/// What to cite for an entry, as BibTeX
#[utoipa::path(
    tag = "board",
    params(("id" = String, Path, description = "The entry's id")),
    responses(
        (status = 200, description = "The citation", body = String, content_type = "application/x-bibtex"),
        (status = 304, description = "The citation that `If-None-Match` names still stands"),
        (status = 404, description = "There is no such entry, or it is not published", body = Problem, content_type = "application/problem+json"),
        (status = 410, description = "The entry was withdrawn; the detail says why", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/entries/{id}/citation.bib")]
pub async fn find_citation(request: HttpRequest, state: Shared, id: web::Path<Uuid>) -> Answer<HttpResponse> {
    let id = id.to_string();
    let unknown = Problem::not_found(format!("there is no published entry `{id}`"));
    let found: Result<_, StoreError> = state
        .evaluation
        .store
        .snapshot(move |connection| match find_published(connection, &id)? {
            Some(Published::Entry(submission)) => {
                let judge = judge_head(connection, submission.configuration_id.as_deref())?;
                Ok(Some(Ok((submission, judge))))
            }
            Some(Published::Withdrawn(reason)) => Ok(Some(Err(reason))),
            None => Ok(None),
        })
        .await;
    match found?.ok_or(unknown)? {
        Ok((submission, judge)) => {
            let address = state.link(&format!("/entries/{}", submission.id));
            let text = entry_citation(&submission, judge.as_ref(), &address);
            Ok(prepared(&request, &Rendered::new(text.into_bytes()), CONTENT_TYPE).await)
        }
        Err(reason) => {
            Err(Problem::new(StatusCode::GONE, "withdrawn", format!("the entry was withdrawn: {reason}")))
        }
    }
}

/// What to cite for the benchmark and this board, as BibTeX
#[utoipa::path(
    tag = "board",
    responses(
        (status = 200, description = "The citations", body = String, content_type = "application/x-bibtex"),
        (status = 304, description = "The citations that `If-None-Match` names still stand"),
    )
)]
#[get("/citation.bib")]
pub async fn find_board_citation(request: HttpRequest, state: Shared) -> Answer<HttpResponse> {
    let year = year(state.evaluation.clock.now_ms());
    let paper =
        "{MarineLife-16K}: An Attribute-Rich Video-Text Dataset for Motion-Aware Marine Video Understanding";
    let benchmark = citation(
        "marinelife16k",
        &[
            ("title", format!("{{{paper}}}")),
            ("author", "{The MarineLife-16K authors}".to_owned()),
            ("year", "2026".to_owned()),
        ],
    );
    let address = state.link("/");
    let board = citation(
        "marinelife16k-leaderboard",
        &[
            ("title", "{MarineLife-16K} Leaderboard".to_owned()),
            ("author", "{The MarineLife-16K authors}".to_owned()),
            ("year", year),
            ("howpublished", format!("\\url{{{address}}}")),
        ],
    );
    let body = Rendered::new(format!("{benchmark}\n{board}").into_bytes());
    Ok(prepared(&request, &body, CONTENT_TYPE).await)
}

/// The year of an instant.
fn year(instant_ms: i64) -> String {
    instant::day(instant_ms).chars().take(4).collect()
}

fn entry_citation(submission: &Submission, judge: Option<&JudgeHead>, address: &str) -> String {
    let metadata = &submission.metadata;
    let author = match metadata.visibility {
        Visibility::Public => escaped(&submission.team),
        _ => "Anonymous".to_owned(),
    };
    let scored_at_ms = submission.finished_at_ms.unwrap_or(submission.created_at_ms);
    let mut note = format!("Release {}", escaped(&submission.release));
    if let Some(judge) = judge {
        note.push_str(&format!(
            ", judge {}, configuration {}",
            escaped(&judge.model),
            escaped(&judge.configuration)
        ));
    }
    note.push_str(&format!(", scored {}", instant::day(scored_at_ms)));
    let title = format!("{{{} on MarineLife-16K, {} split}}", escaped(&metadata.model_name), metadata.split);
    let fields = [
        ("title", title),
        ("author", format!("{{{author}}}")),
        ("year", year(scored_at_ms)),
        ("howpublished", format!("\\url{{{address}}}")),
        ("note", note),
    ];
    citation(&format!("secchi-{}", submission.id), &fields)
}

/// One entry, with what its values need before it.
fn citation(key: &str, fields: &[(&str, String)]) -> String {
    let needs_fallback = fields.iter().any(|(_, value)| value.contains("\\unicodechar"));
    let preamble = if needs_fallback { format!("@preamble{{\"{FALLBACK}\"}}\n\n") } else { String::new() };
    let lines: String = fields.iter().map(|(name, value)| format!("  {name:<12} = {{{value}}},\n")).collect();
    format!("{preamble}@misc{{{key},\n{lines}}}\n")
}
