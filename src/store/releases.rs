//! Releases, their videos and questions. Only the functions named `keyed` read the secret half.

use diesel::prelude::*;

use super::connection::on_each;
use super::schema::{answer_keys, questions, releases, videos};
use super::{DbConnection, Result, stored};
use crate::domain::question::{Camera, QuestionOption, QuestionType, Split};
use crate::domain::submission::Feedback;

/// Rows of one INSERT; PostgreSQL takes at most 65,535 parameters.
const BATCH: usize = 2000;

/// A release of a split. It never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// UUIDv7.
    pub id: String,
    /// The name, unique within the split.
    pub name: String,
    /// The split that it holds.
    pub split: Split,
    /// Hash of the imported file and the settled cameras, in hex.
    pub content_sha256: String,
    /// What teams may read about single answers.
    pub feedback: Feedback,
    /// Whether it is the one that submissions are graded by.
    pub active: bool,
    /// When it was imported.
    pub created_at_ms: i64,
    /// The id of the first release of its line: releases of one line hold the same questions, corrected.
    pub line_id: String,
    /// Whether what is published is scored under it, so that it can become the active one.
    pub staged: bool,
    /// Whether it ever was the active one: then it has a board of its own.
    pub shown: bool,
}

/// A video of a release.
#[derive(Debug, Clone, PartialEq, Eq, Insertable, Queryable)]
#[diesel(table_name = videos, treat_none_as_default_value = false)]
pub struct Video {
    /// The release's id.
    pub release_id: String,
    /// Its place in the release, from 0.
    pub position: i32,
    /// The video's key, `{collection}--{stem}`.
    pub id: String,
    /// The collection that it comes from.
    pub collection: String,
    /// The file's stem.
    pub video_id: String,
    /// The file's name.
    pub video_file: String,
    /// The file's path in its collection.
    pub video_path: String,
}

/// The public half of a question, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Insertable, Queryable)]
#[diesel(table_name = questions, treat_none_as_default_value = false)]
pub struct QuestionRow {
    /// The release's id.
    pub release_id: String,
    /// Its place in the release, from 0.
    pub position: i32,
    /// `{video}--q{n}`.
    pub question_id: String,
    /// The place of its video in the release.
    pub video_position: i32,
    /// A [`QuestionType`] as text.
    pub question_type: String,
    /// The question without its options.
    pub question: String,
    /// The question as a model is to be asked.
    pub prompt: String,
    /// The options as JSON.
    pub options: String,
}

/// The secret half of a question, as stored. It has no `Debug`, so that no log can hold it.
#[derive(Clone, PartialEq, Eq, Insertable, Queryable)]
#[diesel(table_name = answer_keys, treat_none_as_default_value = false)]
pub struct KeyRow {
    /// The release's id.
    pub release_id: String,
    /// The question's place in the release.
    pub position: i32,
    /// The record's `task`.
    pub task: String,
    /// The record's central object.
    pub central_object: String,
    /// The right letter; empty for an open-ended question.
    pub answer: String,
    /// The right option's text, or the reference answer.
    pub answer_text: String,
    /// The evidence as JSON.
    pub evidence: String,
    /// A [`Camera`] as text.
    pub camera: String,
}

/// A question as teams see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicQuestion {
    /// Its place in the release, from 0.
    pub position: i32,
    /// `{video}--q{n}`.
    pub question_id: String,
    /// Its type.
    pub question_type: QuestionType,
    /// The question without its options.
    pub question: String,
    /// The question as a model is to be asked.
    pub prompt: String,
    /// The options; none for an open-ended question.
    pub options: Vec<QuestionOption>,
    /// Its video.
    pub video: Video,
}

/// A question with its key. It has no `Debug`, so that no log can hold it.
#[derive(Clone)]
pub struct KeyedQuestion {
    /// The public half.
    pub public: PublicQuestion,
    /// The secret half.
    pub key: KeyRow,
    /// Whether the camera of its video moves.
    pub camera: Camera,
}

type ReleaseRow = (String, String, String, String, String, bool, i64, String, bool, bool);

fn release(row: ReleaseRow) -> Result<Release> {
    let (id, name, split, content_sha256, feedback, active, created_at_ms, line_id, staged, shown) = row;
    Ok(Release {
        id,
        name,
        split: stored("split", &split, Split::parse)?,
        content_sha256,
        feedback: stored("feedback", &feedback, Feedback::parse)?,
        active,
        created_at_ms,
        line_id,
        staged,
        shown,
    })
}

/// Adds a release with its videos, questions and keys.
pub fn insert_release(
    connection: &mut DbConnection,
    release: &Release,
    videos: &[Video],
    questions: &[QuestionRow],
    keys: &[KeyRow],
) -> Result<()> {
    let row = (
        releases::id.eq(&release.id),
        releases::name.eq(&release.name),
        releases::split.eq(release.split.as_str()),
        releases::content_sha256.eq(&release.content_sha256),
        releases::feedback.eq(release.feedback.as_str()),
        releases::active.eq(release.active),
        releases::created_at_ms.eq(release.created_at_ms),
        releases::line_id.eq(&release.line_id),
        releases::staged.eq(release.staged),
        releases::shown.eq(release.shown),
    );
    diesel::insert_into(releases::table).values(row).execute(connection)?;
    for rows in videos.chunks(BATCH) {
        on_each!(connection, |inner| diesel::insert_into(videos::table).values(rows).execute(inner))?;
    }
    for rows in questions.chunks(BATCH) {
        on_each!(connection, |inner| diesel::insert_into(questions::table).values(rows).execute(inner))?;
    }
    for rows in keys.chunks(BATCH) {
        on_each!(connection, |inner| diesel::insert_into(answer_keys::table).values(rows).execute(inner))?;
    }
    Ok(())
}

/// All releases, oldest first.
pub fn load_releases(connection: &mut DbConnection) -> Result<Vec<Release>> {
    let rows: Vec<ReleaseRow> = releases::table.order((releases::split, releases::id)).load(connection)?;
    rows.into_iter().map(release).collect()
}

/// The release of a split with this name.
pub fn find_release(connection: &mut DbConnection, split: Split, name: &str) -> Result<Option<Release>> {
    let found = releases::table
        .filter(releases::split.eq(split.as_str()))
        .filter(releases::name.eq(name))
        .first(connection)
        .optional()?;
    found.map(release).transpose()
}

/// The release with this id.
pub fn load_release(connection: &mut DbConnection, release_id: &str) -> Result<Release> {
    release(releases::table.find(release_id).first(connection)?)
}

/// The release that submissions to a split are graded by.
pub fn find_active_release(connection: &mut DbConnection, split: Split) -> Result<Option<Release>> {
    let found = releases::table
        .filter(releases::split.eq(split.as_str()))
        .filter(releases::active)
        .first(connection)
        .optional()?;
    found.map(release).transpose()
}

/// Makes one release of a split the active one.
pub fn activate_release(connection: &mut DbConnection, split: Split, release_id: &str) -> Result<()> {
    let of_split = releases::table.filter(releases::split.eq(split.as_str()));
    diesel::update(of_split.filter(releases::active)).set(releases::active.eq(false)).execute(connection)?;
    diesel::update(releases::table.find(release_id))
        .set((releases::active.eq(true), releases::shown.eq(true)))
        .execute(connection)?;
    Ok(())
}

/// How many videos a release has, and how many questions of each type.
pub fn load_counts(
    connection: &mut DbConnection,
    release_id: &str,
) -> Result<(i64, Vec<(QuestionType, i64)>)> {
    let clips = videos::table.filter(videos::release_id.eq(release_id)).count().get_result(connection)?;
    let types: Vec<(String, i64)> = questions::table
        .filter(questions::release_id.eq(release_id))
        .group_by(questions::question_type)
        .select((questions::question_type, diesel::dsl::count(questions::position)))
        .load(connection)?;
    let mut counts = Vec::with_capacity(types.len());
    for (name, count) in types {
        counts.push((stored("question type", &name, QuestionType::parse)?, count));
    }
    counts.sort_unstable();
    Ok((clips, counts))
}

/// The ids of a release's questions, in order.
pub fn load_question_ids(connection: &mut DbConnection, release_id: &str) -> Result<Vec<String>> {
    let ids = questions::table
        .filter(questions::release_id.eq(release_id))
        .order(questions::position)
        .select(questions::question_id)
        .load(connection)?;
    Ok(ids)
}

/// At most `limit` questions of a release from `position` on, as teams see them.
pub fn load_public_questions(
    connection: &mut DbConnection,
    release_id: &str,
    position: i32,
    limit: i64,
) -> Result<Vec<PublicQuestion>> {
    let clips = load_videos(connection, release_id)?;
    let rows: Vec<QuestionRow> = questions::table
        .filter(questions::release_id.eq(release_id))
        .filter(questions::position.ge(position))
        .order(questions::position)
        .limit(limit)
        .load(connection)?;
    rows.into_iter().map(|row| public_question(row, &clips)).collect()
}

/// All questions of a release with their keys.
pub fn load_keyed_questions(connection: &mut DbConnection, release_id: &str) -> Result<Vec<KeyedQuestion>> {
    let public = load_public_questions(connection, release_id, 0, i64::MAX)?;
    let keys: Vec<KeyRow> = answer_keys::table
        .filter(answer_keys::release_id.eq(release_id))
        .order(answer_keys::position)
        .load(connection)?;
    let mut keyed = Vec::with_capacity(public.len());
    for (public, key) in public.into_iter().zip(keys) {
        let camera = stored("camera", &key.camera, Camera::parse)?;
        keyed.push(KeyedQuestion { public, key, camera });
    }
    Ok(keyed)
}

fn load_videos(connection: &mut DbConnection, release_id: &str) -> Result<Vec<Video>> {
    let clips = videos::table.filter(videos::release_id.eq(release_id)).order(videos::position);
    Ok(clips.load(connection)?)
}

fn public_question(row: QuestionRow, clips: &[Video]) -> Result<PublicQuestion> {
    let unknown = |what, value: &str| super::StoreError::Unknown { what, value: value.to_owned() };
    let video = usize::try_from(row.video_position).ok().and_then(|place| clips.get(place));
    Ok(PublicQuestion {
        position: row.position,
        question_type: stored("question type", &row.question_type, QuestionType::parse)?,
        options: serde_json::from_str(&row.options).map_err(|_| unknown("option list", &row.question_id))?,
        video: video.ok_or_else(|| unknown("video", &row.question_id))?.clone(),
        question_id: row.question_id,
        question: row.question,
        prompt: row.prompt,
    })
}
