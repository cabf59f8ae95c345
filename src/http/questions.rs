//! The questions of a split, as teams see them.

use actix_web::http::header;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, get, web};
use futures::stream::{self, Stream};
use serde::Serialize;

use super::Shared;
use super::auth::TeamOnly;
use super::error::{Answer, Problem};
use super::page::{Page, PageQuery};
use crate::domain::question::{QuestionFormat, QuestionOption, QuestionType, Split};
use crate::store::StoreError;
use crate::store::releases::{PublicQuestion, find_active_release, load_public_questions};

/// A question as teams see it: nothing of its key.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Question {
    /// `{video}--q{n}`.
    question_id: String,
    /// The video's key.
    id: String,
    /// What it asks about.
    r#type: QuestionType,
    /// How it is answered.
    question_format: QuestionFormat,
    /// The video file's stem.
    video_id: String,
    /// The video file's name.
    video_file: String,
    /// The question without its options.
    question: String,
    /// The question as a model is to be asked.
    prompt: String,
    /// The options; none for an open-ended question.
    options: Vec<QuestionOption>,
}

impl From<PublicQuestion> for Question {
    fn from(public: PublicQuestion) -> Question {
        Question {
            question_id: public.question_id,
            id: public.video.id,
            r#type: public.question_type,
            question_format: public.question_type.format(),
            video_id: public.video.video_id,
            video_file: public.video.video_file,
            question: public.question,
            prompt: public.prompt,
            options: public.options,
        }
    }
}

/// Lists the public questions of a split
///
/// A page of them, or with `Accept: application/x-ndjson` the whole split, one question a line.
#[utoipa::path(
    tag = "questions",
    security(("bearer" = [])),
    params(("split" = Split, Path, description = "`test` or `val`"), PageQuery),
    responses(
        (status = 200, description = "Questions", content((Page<Question> = "application/json"), (String = "application/x-ndjson"))),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "The split has no active release", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/splits/{split}/questions")]
pub async fn list_questions(
    request: HttpRequest,
    state: Shared,
    _team: TeamOnly,
    split: web::Path<String>,
    page: web::Query<PageQuery>,
) -> Answer<HttpResponse> {
    let split = scored_split(&split)?;
    let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let whole = accept.is_some_and(|accept| accept.contains("application/x-ndjson"));
    let (position, limit) = if whole { (0, i64::MAX - 1) } else { (page.position()?, page.limit()?) };
    let found: Result<Option<Vec<PublicQuestion>>, StoreError> = state
        .evaluation
        .store
        .read(move |connection| {
            let Some(release) = find_active_release(connection, split)? else { return Ok(None) };
            Ok(Some(load_public_questions(connection, &release.id, position, limit + 1)?))
        })
        .await;
    let found =
        found?.ok_or_else(|| Problem::not_found(format!("no release of `{split}` is active here")))?;
    if whole {
        return Ok(HttpResponse::Ok().content_type("application/x-ndjson").streaming(lines(found)));
    }
    let page = Page::cut(found, limit, |question| (question.position + 1).to_string());
    let items = page.items.into_iter().map(Question::from).collect();
    Ok(HttpResponse::Ok().json(Page { items, next_cursor: page.next_cursor }))
}

/// One question a line, written as the reader takes them.
fn lines(questions: Vec<PublicQuestion>) -> impl Stream<Item = std::io::Result<Bytes>> {
    stream::iter(questions.into_iter().map(|question| {
        let mut line = serde_json::to_vec(&Question::from(question))?;
        line.push(b'\n');
        Ok(Bytes::from(line))
    }))
}

/// A split that has public questions.
pub(super) fn scored_split(text: &str) -> Result<Split, Problem> {
    match Split::parse(text) {
        Some(split @ (Split::Test | Split::Val)) => Ok(split),
        _ => Err(Problem::not_found(format!("there is no split `{text}`; there are `test` and `val`"))),
    }
}
