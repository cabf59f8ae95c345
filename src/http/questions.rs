//! The questions of a split, as teams see them; with their keys where a release's feedback lets teams grade themselves.

use actix_web::http::{StatusCode, header};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, get, web};
use futures::stream;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Shared;
use super::auth::TeamOnly;
use super::error::{Answer, Problem};
use super::page::{Page, PageQuery};
use crate::domain::question::{QuestionFormat, QuestionOption, QuestionType, Split};
use crate::domain::submission::Feedback;
use crate::store::releases::{
    KeyedQuestion, PublicQuestion, Release, find_active_release, load_keyed_questions, load_public_questions,
};
use crate::store::{DbConnection, StoreError};

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

/// A question with its key, in the paper's schema. It has no `Debug`, so that no log can hold it.
#[derive(Serialize, utoipa::ToSchema)]
pub struct QuestionRecord {
    /// The public half.
    #[serde(flatten)]
    public: Question,
    /// The task of the paper.
    task: String,
    /// The collection that the video comes from.
    collection: String,
    /// The video file's path in its collection.
    video_path: String,
    /// What the video shows above all.
    central_object: String,
    /// The right letter; empty for an open-ended question.
    answer: String,
    /// The right option's text, or a right answer.
    answer_text: String,
    /// What the annotators saw.
    #[schema(value_type = Object)]
    evidence_attributes: Box<RawValue>,
}

impl TryFrom<KeyedQuestion> for QuestionRecord {
    type Error = StoreError;

    fn try_from(keyed: KeyedQuestion) -> Result<QuestionRecord, StoreError> {
        let (public, key) = (keyed.public, keyed.key);
        let unknown = |_| StoreError::Unknown { what: "evidence of", value: public.question_id.clone() };
        Ok(QuestionRecord {
            evidence_attributes: RawValue::from_string(key.evidence).map_err(unknown)?,
            task: key.task,
            collection: public.video.collection.clone(),
            video_path: public.video.video_path.clone(),
            central_object: key.central_object,
            answer: key.answer,
            answer_text: key.answer_text,
            public: Question::from(public),
        })
    }
}

/// A question as it was asked for.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum QuestionView {
    /// As teams see it.
    Public(Question),
    /// With its key.
    Keyed(Box<QuestionRecord>),
}

/// Which questions are asked for.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct QuestionsQuery {
    /// Items at most, 1 to 1,000; 100 unless said.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
    /// `true` gives the whole records, with their keys; only where the release's feedback is `per-question`.
    key: Option<bool>,
}

/// Lists the questions of a split
///
/// A page of them, or with `Accept: application/x-ndjson` the whole split, one question a line.
#[utoipa::path(
    tag = "questions",
    security(("bearer" = [])),
    params(("split" = Split, Path, description = "`test` or `val`"), QuestionsQuery),
    responses(
        (status = 200, description = "Questions", content((Page<QuestionView> = "application/json"), (String = "application/x-ndjson"))),
        (status = 403, description = "The release gives no such feedback", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "The split has no active release", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/splits/{split}/questions")]
pub async fn list_questions(
    request: HttpRequest,
    state: Shared,
    _team: TeamOnly,
    split: web::Path<String>,
    query: web::Query<QuestionsQuery>,
) -> Answer<HttpResponse> {
    let split = scored_split(&split)?;
    let query = query.into_inner();
    let page = PageQuery::new(query.limit, query.cursor);
    let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let whole = accept.is_some_and(|accept| accept.contains("application/x-ndjson"));
    let (position, limit) = if whole { (0, i64::MAX - 1) } else { (page.position()?, page.limit()?) };
    let with_key = query.key == Some(true);
    let found: Result<Option<Found>, StoreError> = state
        .evaluation
        .store
        .read(move |connection| {
            let Some(release) = find_active_release(connection, split)? else { return Ok(None) };
            find(connection, &release, with_key, position, limit + 1).map(Some)
        })
        .await;
    let found =
        found?.ok_or_else(|| Problem::not_found(format!("no release of `{split}` is active here")))?;
    let Found::Questions(questions) = found else {
        let detail = format!("`{split}` gives no keys to teams; ask without `key`");
        return Err(Problem::new(StatusCode::FORBIDDEN, "feedback_withheld", detail));
    };
    if whole {
        let lines = questions.into_iter().map(|(_, question)| line(&question));
        return Ok(HttpResponse::Ok().content_type("application/x-ndjson").streaming(stream::iter(lines)));
    }
    let page = Page::cut(questions, limit, |(position, _)| (position + 1).to_string());
    let items = page.items.into_iter().map(|(_, question)| question).collect();
    Ok(HttpResponse::Ok().json(Page::<QuestionView> { items, next_cursor: page.next_cursor }))
}

/// What a split has to give.
enum Found {
    /// Questions by position.
    Questions(Vec<(i32, QuestionView)>),
    /// Keys were asked for and are not given.
    Withheld,
}

/// At most `limit` questions from `position` on. The keys of a test split are given to nobody, whatever its feedback.
fn find(
    connection: &mut DbConnection,
    release: &Release,
    with_key: bool,
    position: i32,
    limit: i64,
) -> Result<Found, StoreError> {
    if !with_key {
        let questions = load_public_questions(connection, &release.id, position, limit)?.into_iter();
        let shown = questions.map(|public| (public.position, QuestionView::Public(public.into())));
        return Ok(Found::Questions(shown.collect()));
    }
    if release.split == Split::Test || release.feedback != Feedback::PerQuestion {
        return Ok(Found::Withheld);
    }
    let keyed = load_keyed_questions(connection, &release.id)?.into_iter();
    let keyed = keyed.filter(|question| question.public.position >= position);
    let shown = keyed
        .take(usize::try_from(limit).unwrap_or(usize::MAX))
        .map(|question| Ok((question.public.position, QuestionView::Keyed(Box::new(question.try_into()?)))));
    shown.collect::<Result<_, StoreError>>().map(Found::Questions)
}

/// A question as a line of JSON.
fn line(question: &QuestionView) -> std::io::Result<Bytes> {
    let mut line = serde_json::to_vec(question)?;
    line.push(b'\n');
    Ok(Bytes::from(line))
}

/// A split that has public questions.
pub(super) fn scored_split(text: &str) -> Result<Split, Problem> {
    match Split::parse(text) {
        Some(split @ (Split::Test | Split::Val)) => Ok(split),
        _ => Err(Problem::not_found(format!("there is no split `{text}`; there are `test` and `val`"))),
    }
}
