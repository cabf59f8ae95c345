//! Which board is asked for, and in what order. Knows nothing of rows.

use serde::Deserialize;

use crate::domain::column::Column;
use crate::domain::instant::{day_end_ms, is_day, parse_rfc3339};
use crate::domain::question::Split;
use crate::domain::submission::Group;
use crate::store::StoreError;

/// By which column rows are sorted, and which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sort {
    /// The column.
    pub column: Column,
    /// Whether the highest value comes first.
    pub descending: bool,
}

impl Sort {
    /// What is sorted by unless said otherwise.
    pub const DEFAULT: Sort = Sort { column: Column::Mcq, descending: true };

    /// Reads a column's id, `-` in front for descending.
    pub fn parse(text: &str) -> Option<Sort> {
        let (id, descending) = text.strip_prefix('-').map_or((text, false), |id| (id, true));
        Some(Sort { column: Column::parse(id)?, descending })
    }
}

impl std::fmt::Display for Sort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.descending { "-" } else { "" }, self.column)
    }
}

/// The last instant that RFC 3339 can write.
const LAST_MS: i64 = 253_402_300_799_999;

/// How rows are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum View {
    /// All rows in one order.
    #[default]
    Ranks,
    /// One order within each group, the groups as in the paper, baselines last.
    Groups,
}

/// Which rows a board shows, and in what order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BoardQuery {
    /// The split.
    pub split: Split,
    /// The order.
    pub sort: Sort,
    /// Only this group.
    pub group: Option<Group>,
    /// All of a team's submissions of a model instead of the newest.
    pub all: bool,
    /// The judge configuration with this id instead of the current one.
    pub judge: Option<String>,
    /// The release with this name instead of the active one.
    pub release: Option<String>,
    /// The board as it stood at this instant instead of the present one.
    pub as_of_ms: Option<i64>,
    /// How the rows are laid out.
    pub view: View,
}

impl BoardQuery {
    /// The board of a split that is shown unless more is said.
    pub const fn of(split: Split) -> BoardQuery {
        BoardQuery {
            split,
            sort: Sort::DEFAULT,
            group: None,
            all: false,
            judge: None,
            release: None,
            as_of_ms: None,
            view: View::Ranks,
        }
    }
}

/// Why a board cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum BoardQueryError {
    /// The sorted column is none.
    #[error("`sort` is `{0}`; give one of {columns}, `-` in front for descending", columns = column_ids())]
    UnknownColumn(String),
    /// There is no board under the judge configuration.
    #[error("there is no board under `judge` = `{asked}`; there are boards under {}", known.join(", "))]
    UnknownJudge {
        /// What was given.
        asked: String,
        /// The ids of the configurations that are current or were so once.
        known: Vec<String>,
    },
    /// The split has no board under such a release.
    #[error("there is no board of `{split}` under release `{asked}`; there are boards under {}", known.join(", "))]
    UnknownRelease {
        /// The split.
        split: Split,
        /// What was given.
        asked: String,
        /// The names of the releases that are active or were so once.
        known: Vec<String>,
    },
    /// Another parameter has a value that it cannot have.
    #[error("`{name}` is `{value}`; give {allowed}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: String,
        /// What may be given.
        allowed: &'static str,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The parameters of a board, as they stand in an address.
#[derive(Debug, Default, Clone, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct BoardParameters {
    /// `test` or `val`; `test` unless said.
    pub split: Option<String>,
    /// A column's id, `-` in front for descending; `-MCQ` unless said.
    pub sort: Option<String>,
    /// Only this group: `open-small`, `open-large` or `closed`.
    pub group: Option<String>,
    /// `json`, `csv`, `tex` or `md`; `Accept` works too.
    pub format: Option<String>,
    /// 1 for all submissions of a team's model instead of the newest.
    pub all: Option<String>,
    /// The id of a judge configuration that was current once; the current one unless said.
    pub judge: Option<String>,
    /// The name of a release of the split that was active once; the active one unless said.
    pub release: Option<String>,
    /// A day, meaning its end in UTC, or an RFC 3339 instant: the board as it stood then.
    pub as_of: Option<String>,
    /// `ranks` for one order of all rows, `groups` for one within each group.
    pub view: Option<String>,
}

impl BoardParameters {
    /// The board that is meant, laid out as `default_view` says unless the parameters do.
    ///
    /// # Errors
    /// When a parameter has a value that it cannot have.
    pub fn query(&self, default_view: View) -> Result<BoardQuery, BoardQueryError> {
        let wrong = |name, value: &str, allowed| BoardQueryError::Parameter {
            name,
            value: value.to_owned(),
            allowed,
        };
        let split = match self.split.as_deref() {
            None | Some("test") => Split::Test,
            Some("val") => Split::Val,
            Some(other) => return Err(wrong("split", other, "`test` or `val`")),
        };
        let sort = match self.sort.as_deref() {
            None => Sort::DEFAULT,
            Some(text) => Sort::parse(text).ok_or_else(|| BoardQueryError::UnknownColumn(text.to_owned()))?,
        };
        let group = match self.group.as_deref() {
            None => None,
            Some(text) => {
                let unknown = || wrong("group", text, "`open-small`, `open-large` or `closed`");
                Some(Group::parse(text).ok_or_else(unknown)?)
            }
        };
        let all = match self.all.as_deref() {
            None | Some("0") => false,
            Some("1") => true,
            Some(other) => return Err(wrong("all", other, "0 or 1")),
        };
        let as_of_ms = match self.as_of.as_deref() {
            None => None,
            Some(text) => {
                let known = if is_day(text) { day_end_ms(text) } else { parse_rfc3339(text) };
                let day = "a day such as `2026-11-30`, or an instant such as `2026-11-30T12:00:00Z`";
                let known = known.filter(|at_ms| (0..=LAST_MS).contains(at_ms));
                Some(known.ok_or_else(|| wrong("as_of", text, day))?)
            }
        };
        let view = match self.view.as_deref() {
            None => default_view,
            Some("ranks") => View::Ranks,
            Some("groups") => View::Groups,
            Some(other) => return Err(wrong("view", other, "`ranks` or `groups`")),
        };
        let (judge, release) = (self.judge.clone(), self.release.clone());
        Ok(BoardQuery { split, sort, group, all, judge, release, as_of_ms, view })
    }
}

fn column_ids() -> String {
    Column::ALL.iter().map(|column| column.as_str()).collect::<Vec<_>>().join(", ")
}
