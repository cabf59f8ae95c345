//! Files of human ratings: what was rated, and how. Knows nothing of agreement.

use std::fmt;

use diesel::prelude::*;

use super::connection::on_each;
use super::schema::{human_ratings, rated_items, rating_studies};
use super::{DbConnection, Result, StoreError, stored};
use crate::domain::dimension::Dimension;

/// Rows of one INSERT; SQLite takes at most 32,766 parameters.
const BATCH: usize = 1000;

/// A file of ratings as stored.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Insertable)]
#[diesel(table_name = rating_studies, treat_none_as_default_value = false)]
pub struct Study {
    /// Its id.
    pub id: String,
    /// Hash of the file.
    pub content_sha256: String,
    /// Whose the scores in the file are, as whoever imported it said: a configuration's id or any name.
    pub judge: Option<String>,
    /// Whether agreement is measured by it.
    pub active: bool,
    /// When it was imported.
    pub created_at_ms: i64,
}

/// What was rated, with its ratings. Its `Debug` leaves out the answer, which is a test answer.
#[derive(Clone, PartialEq)]
pub struct Rated {
    /// Its name in the file.
    pub item: String,
    /// The question.
    pub question_id: String,
    /// The dimension that was rated.
    pub dimension: Dimension,
    /// The judge's score in the file.
    pub judge_score: Option<f64>,
    /// The answer, where the file holds it.
    pub answer: Option<String>,
    /// Raters by name, and their ratings.
    pub ratings: Vec<(String, u8)>,
}

impl fmt::Debug for Rated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rated").field("item", &self.item).finish_non_exhaustive()
    }
}

/// The file with this hash, if it was imported.
pub fn find_study(connection: &mut DbConnection, content_sha256: &str) -> Result<Option<Study>> {
    let found = rating_studies::table.filter(rating_studies::content_sha256.eq(content_sha256));
    Ok(found.first(connection).optional()?)
}

/// The file by which agreement is measured.
pub fn find_active_study(connection: &mut DbConnection) -> Result<Option<Study>> {
    Ok(rating_studies::table.filter(rating_studies::active).first(connection).optional()?)
}

/// All files, the newest first.
pub fn load_studies(connection: &mut DbConnection) -> Result<Vec<Study>> {
    Ok(rating_studies::table.order(rating_studies::id.desc()).load(connection)?)
}

/// Makes one file the one by which agreement is measured.
pub fn activate_study(connection: &mut DbConnection, id: &str, judge: Option<&str>) -> Result<()> {
    diesel::update(rating_studies::table.filter(rating_studies::active))
        .set(rating_studies::active.eq(false))
        .execute(connection)?;
    diesel::update(rating_studies::table.find(id))
        .set((rating_studies::active.eq(true), rating_studies::judge.eq(judge)))
        .execute(connection)?;
    Ok(())
}

/// Adds a file that is not active yet.
pub fn insert_study(connection: &mut DbConnection, study: &Study, rated: &[Rated]) -> Result<()> {
    diesel::insert_into(rating_studies::table).values(study).execute(connection)?;
    let items: Vec<_> = rated
        .iter()
        .enumerate()
        .map(|(position, rated)| {
            (
                rated_items::study_id.eq(&study.id),
                rated_items::position.eq(place(position)),
                rated_items::item.eq(&rated.item),
                rated_items::question_id.eq(&rated.question_id),
                rated_items::dimension.eq(rated.dimension.as_str()),
                rated_items::judge_score.eq(rated.judge_score),
                rated_items::answer.eq(rated.answer.as_ref()),
            )
        })
        .collect();
    for rows in items.chunks(BATCH) {
        on_each!(connection, |inner| diesel::insert_into(rated_items::table).values(rows).execute(inner))?;
    }
    let ratings: Vec<_> = rated
        .iter()
        .enumerate()
        .flat_map(|(position, rated)| {
            rated.ratings.iter().map(move |(rater, rating)| {
                (
                    human_ratings::study_id.eq(&study.id),
                    human_ratings::position.eq(place(position)),
                    human_ratings::rater.eq(rater),
                    human_ratings::rating.eq(i32::from(*rating)),
                )
            })
        })
        .collect();
    for rows in ratings.chunks(BATCH) {
        on_each!(connection, |inner| diesel::insert_into(human_ratings::table).values(rows).execute(inner))?;
    }
    Ok(())
}

/// What was rated in a file, in its order.
pub fn load_rated(connection: &mut DbConnection, study_id: &str) -> Result<Vec<Rated>> {
    type Row = (String, String, String, Option<f64>, Option<String>);
    let rows: Vec<Row> = rated_items::table
        .filter(rated_items::study_id.eq(study_id))
        .order(rated_items::position)
        .select((
            rated_items::item,
            rated_items::question_id,
            rated_items::dimension,
            rated_items::judge_score,
            rated_items::answer,
        ))
        .load(connection)?;
    let mut rated = Vec::with_capacity(rows.len());
    for (item, question_id, dimension, judge_score, answer) in rows {
        let dimension = stored("dimension", &dimension, Dimension::parse)?;
        rated.push(Rated { item, question_id, dimension, judge_score, answer, ratings: Vec::new() });
    }
    let ratings: Vec<(i32, String, i32)> = human_ratings::table
        .filter(human_ratings::study_id.eq(study_id))
        .order((human_ratings::position, human_ratings::rater))
        .select((human_ratings::position, human_ratings::rater, human_ratings::rating))
        .load(connection)?;
    for (position, rater, rating) in ratings {
        let item = usize::try_from(position).ok().and_then(|position| rated.get_mut(position));
        let (Some(item), Ok(rating)) = (item, u8::try_from(rating)) else {
            return Err(StoreError::Unknown { what: "rating of item", value: position.to_string() });
        };
        item.ratings.push((rater, rating));
    }
    Ok(rated)
}

pub(super) fn place(position: usize) -> i32 {
    i32::try_from(position).unwrap_or(i32::MAX)
}
