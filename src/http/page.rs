//! Pages of lists: `?limit=` and `?cursor=`. Knows nothing of what is listed.

use serde::{Deserialize, Serialize};

const DEFAULT_LIMIT: i64 = 100;
const MAX_LIMIT: i64 = 1000;

/// Why a page cannot be given.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The limit is out of range.
    #[error("`limit` must be from 1 to {MAX_LIMIT}")]
    Limit,
    /// The cursor is none of ours.
    #[error("`cursor` must be a `next_cursor` of this list")]
    Cursor,
}

/// Which part of a list is asked for.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct PageQuery {
    /// Items at most, 1 to 1,000; 100 unless said.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A part of a list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// What to send as `cursor` for the next part; null at the end.
    pub next_cursor: Option<String>,
}

impl PageQuery {
    /// Of a list that takes further parameters.
    pub fn new(limit: Option<i64>, cursor: Option<String>) -> PageQuery {
        PageQuery { limit, cursor }
    }

    /// Items at most.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn limit(&self) -> Result<i64, PageError> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if (1..=MAX_LIMIT).contains(&limit) { Ok(limit) } else { Err(PageError::Limit) }
    }

    /// The cursor as the id of the last item of the page before.
    ///
    /// # Errors
    /// When it is no id.
    pub fn after_id(&self) -> Result<Option<String>, PageError> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        let id = uuid::Uuid::parse_str(cursor).map_err(|_| PageError::Cursor)?;
        Ok(Some(id.to_string()))
    }

    /// The cursor as the last answer of the page before: its submission and its question.
    ///
    /// # Errors
    /// When it is no such pair.
    pub fn after_answer(&self) -> Result<Option<(String, String)>, PageError> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        let (submission, question) = cursor.split_once(':').ok_or(PageError::Cursor)?;
        let submission = uuid::Uuid::parse_str(submission).map_err(|_| PageError::Cursor)?;
        // No database keeps a NUL.
        let is_id = !question.is_empty() && !question.contains('\0');
        is_id.then(|| Some((submission.to_string(), question.to_owned()))).ok_or(PageError::Cursor)
    }

    /// The cursor behind an answer, as [`PageQuery::after_answer`] reads it.
    pub fn answer_cursor(submission: &str, question: &str) -> String {
        format!("{submission}:{question}")
    }

    /// The part of a list that is short enough to be known whole.
    ///
    /// # Errors
    /// When the limit is out of range or the cursor is no position.
    pub fn part<T>(&self, items: Vec<T>) -> Result<Page<T>, PageError> {
        let (limit, from) = (self.limit()?, self.position()?);
        let rest = items.into_iter().skip(usize::try_from(from).unwrap_or(usize::MAX)).collect();
        Ok(Page::cut(rest, limit, |_| (i64::from(from) + limit).to_string()))
    }

    /// The cursor as the position of the next item, from 0.
    ///
    /// # Errors
    /// When it is no position.
    pub fn position(&self) -> Result<i32, PageError> {
        let Some(cursor) = &self.cursor else { return Ok(0) };
        cursor.parse().ok().filter(|position| *position >= 0).ok_or(PageError::Cursor)
    }
}

impl<T> Page<T> {
    /// A page of at most `limit` items out of a list of one more; `cursor` tells where the next page starts.
    pub fn cut(mut items: Vec<T>, limit: i64, cursor: impl Fn(&T) -> String) -> Page<T> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = items.len() > limit;
        items.truncate(limit);
        let next_cursor = items.last().filter(|_| more).map(cursor);
        Page { items, next_cursor }
    }
}
