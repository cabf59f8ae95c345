//! What a page shows of a board: parameters beside the board's own, and the addresses that lead from one view to another.
//! Knows nothing of rows.

use crate::domain::column::Column;
use crate::domain::instant::rfc3339;
use crate::domain::question::Split;
use crate::domain::submission::Group;
use crate::evaluation::board_query::{BoardParameters, BoardQuery, BoardQueryError, Sort, View};

/// Characters of a search at most.
const MAX_SEARCH: usize = 100;

/// The only value of a parameter that is a switch: absent is off.
const ON: &str = "1";

/// A view of a board.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::web) struct BoardView {
    /// The board: of all groups, since a page filters by itself.
    pub(in crate::web) board: BoardQuery,
    /// What the model's, its team's or its backbone's name must hold.
    pub(super) search: String,
    /// Only these groups; empty for all.
    pub(super) groups: Vec<Group>,
    /// Only these columns; empty for all.
    pub(super) columns: Vec<Column>,
    pub(super) hides_intervals: bool,
    /// Which part of a long board, from 1.
    pub(super) page: usize,
    /// Names in the address that mean nothing here.
    pub(super) unknown: Vec<String>,
}

impl BoardView {
    /// Reads the parameters of an address, in which a name may stand several times.
    ///
    /// # Errors
    /// When a parameter has a value that it cannot have.
    pub(in crate::web) fn read(pairs: Vec<(String, String)>) -> Result<BoardView, BoardQueryError> {
        let mut parameters = BoardParameters::default();
        let (mut search, mut hides_intervals, mut page) = (String::new(), false, 1);
        let (mut groups, mut columns, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in pairs {
            match name.as_str() {
                "split" => parameters.split = Some(value),
                "sort" => parameters.sort = Some(value),
                "all" => parameters.all = Some(value),
                "judge" => parameters.judge = Some(value),
                "release" => parameters.release = Some(value),
                "as_of" => parameters.as_of = Some(value),
                "view" => parameters.view = Some(value),
                "q" => search = value.trim().chars().take(MAX_SEARCH).collect(),
                "group" => groups.push(Group::parse(&value).ok_or_else(|| wrong("group", value, GROUPS))?),
                "cols" => columns.push(Column::parse(&value).ok_or_else(|| wrong("cols", value, COLUMNS))?),
                "ci" if value == ON => hides_intervals = false,
                "ci" if value == "0" => hides_intervals = true,
                "ci" => return Err(wrong("ci", value, "0 or 1")),
                "page" => {
                    page = value
                        .parse()
                        .ok()
                        .filter(|page| *page > 0)
                        .ok_or_else(|| wrong("page", value, PAGES))?
                }
                _ => unknown.push(name),
            }
        }
        let all_groups = Group::ALL.iter().all(|group| groups.contains(group));
        let all_columns = Column::ALL.iter().all(|column| columns.contains(column));
        let in_order =
            |known: &[Group]| known.iter().copied().filter(|group| groups.contains(group)).collect();
        Ok(BoardView {
            board: parameters.query(View::Groups)?,
            search,
            groups: if all_groups { Vec::new() } else { in_order(Group::ALL) },
            columns: if all_columns { Vec::new() } else { of_all(&columns) },
            hides_intervals,
            page,
            unknown,
        })
    }

    /// Whether a column is shown.
    pub(super) fn has_column(&self, column: Column) -> bool {
        self.columns.is_empty() || self.columns.contains(&column)
    }

    /// Whether a group is shown.
    pub(super) fn has_group(&self, group: Group) -> bool {
        self.groups.is_empty() || self.groups.contains(&group)
    }

    /// Whether rows are left out.
    pub(super) fn is_filtered(&self) -> bool {
        !self.search.is_empty() || !self.groups.is_empty()
    }

    /// The view that stands when nothing but the split is said.
    pub(super) fn plain(split: Split) -> BoardView {
        let board = BoardQuery { view: View::Groups, ..BoardQuery::of(split) };
        BoardView {
            board,
            search: String::new(),
            groups: Vec::new(),
            columns: Vec::new(),
            hides_intervals: false,
            page: 1,
            unknown: Vec::new(),
        }
    }

    /// The address of a split's board under a release and a judge configuration, where either is named.
    pub(in crate::web) fn address_under(split: Split, release: Option<&str>, judge: Option<&str>) -> String {
        let mut view = BoardView::plain(split);
        view.board.release = release.map(str::to_owned);
        view.board.judge = judge.map(str::to_owned);
        view.address()
    }

    /// The same view after a change, from its first page.
    pub(super) fn with(&self, change: impl FnOnce(&mut BoardView)) -> BoardView {
        let mut changed = BoardView { page: 1, unknown: Vec::new(), ..self.clone() };
        change(&mut changed);
        changed
    }

    /// The view that a header leads to: highest first, or the other way round where it is so already.
    pub(super) fn sorted_by(&self, column: Column) -> BoardView {
        let sorted = self.board.sort;
        let descending = !(sorted.column == column && sorted.descending);
        self.with(|view| view.board.sort = Sort { column, descending })
    }

    /// What stands in the address of this view; what is usual is left out.
    pub(super) fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters = self.board_parameters(View::Groups);
        let groups = self.groups.iter().map(|group| ("group", group.to_string()));
        let columns = self.columns.iter().map(|column| ("cols", column.to_string()));
        parameters.extend(groups.chain(columns));
        let others = [
            ("q", Some(self.search.clone()).filter(|search| !search.is_empty())),
            ("ci", self.hides_intervals.then(|| "0".to_owned())),
            ("page", Some(self.page).filter(|page| *page > 1).map(|page| page.to_string())),
        ];
        parameters.extend(others.into_iter().filter_map(|(name, value)| Some((name, value?))));
        parameters
    }

    /// The parameters of the board alone, where `usual` is how it is laid out unless said.
    fn board_parameters(&self, usual: View) -> Vec<(&'static str, String)> {
        let board = &self.board;
        let view = match board.view {
            View::Ranks => "ranks",
            View::Groups => "groups",
        };
        let all = [
            ("split", Some(board.split).filter(|split| *split != Split::Test).map(|split| split.to_string())),
            ("sort", Some(board.sort).filter(|sort| *sort != Sort::DEFAULT).map(|sort| sort.to_string())),
            ("view", (board.view != usual).then(|| view.to_owned())),
            ("all", board.all.then(|| ON.to_owned())),
            ("release", board.release.clone()),
            ("judge", board.judge.clone()),
            ("as_of", board.as_of_ms.map(rfc3339)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// What distinguishes this page from others of the same board.
    pub(in crate::web) fn variant(&self) -> String {
        format!("html {} {}", self.address(), self.unknown.join(" "))
    }

    /// The address of this view.
    pub(super) fn address(&self) -> String {
        with_parameters("/", self.parameters())
    }

    /// The address of the same rows in a format of the API, which knows one group or all.
    pub(super) fn api_address(&self, format: &str) -> String {
        let mut parameters = self.board_parameters(View::Ranks);
        if let [group] = self.groups[..] {
            parameters.push(("group", group.to_string()));
        }
        parameters.push(("format", format.to_owned()));
        with_parameters("/api/v1/leaderboard", parameters)
    }
}

const GROUPS: &str = "`open-small`, `open-large` or `closed`";
const COLUMNS: &str = "a column's id such as `PMT` or `static/BEH`; repeat `cols` for several";
const PAGES: &str = "a number from 1";

fn wrong(name: &'static str, value: String, allowed: &'static str) -> BoardQueryError {
    BoardQueryError::Parameter { name, value, allowed }
}

fn of_all(columns: &[Column]) -> Vec<Column> {
    Column::ALL.iter().copied().filter(|column| columns.contains(column)).collect()
}

fn with_parameters(path: &str, parameters: Vec<(&'static str, String)>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters);
    let query = query.finish();
    // A column's id reads better with its slash, which is allowed there.
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.replace("%2F", "/")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<BoardView, BoardQueryError> {
        BoardView::read(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    #[test]
    fn an_address_leads_back_to_its_view() {
        let query = "split=val&sort=static/BEH&view=ranks&all=1&release=a+b&judge=x%26y&as_of=2026-11-30T12:00:00Z\
                     &group=closed&group=open-small&cols=PMT&cols=MBC-so&q=%22reef%26%22&ci=0&page=3";
        let view = read(query).unwrap();
        let address = view.address();
        assert_eq!(read(address.strip_prefix("/?").unwrap()).unwrap(), view);
        assert_eq!(view.groups, [Group::OpenSmall, Group::Closed]);
        assert_eq!(view.columns, [Column::MbcSo, Column::Pmt]);
        assert_eq!((view.search.as_str(), view.page), ("\"reef&\"", 3));
    }

    #[test]
    fn what_is_usual_is_left_out() {
        let usual = "split=test&sort=-MCQ&view=groups&all=0&ci=1&page=1&q=+\
                     &group=closed&group=open-small&group=open-large";
        assert_eq!(read(usual).unwrap().address(), "/");
        assert_eq!(read("").unwrap(), BoardView::plain(Split::Test));
    }

    #[test]
    fn a_wrong_value_is_told_and_an_unknown_name_is_kept_apart() {
        for query in ["group=large", "cols=pmt", "ci=2", "page=0", "page=x", "sort=x", "split=train"] {
            assert!(read(query).is_err(), "{query}");
        }
        let view = read("utm_source=x&q=reef").unwrap();
        assert_eq!(view.unknown, ["utm_source"]);
        assert_eq!(view.with(|_| {}).address(), "/?q=reef");
    }

    #[test]
    fn a_header_turns_its_own_order_around_and_starts_another_highest_first() {
        let view = read("page=2").unwrap();
        assert_eq!(view.sorted_by(Column::Mcq).address(), "/?sort=MCQ");
        assert_eq!(view.sorted_by(Column::Pmt).address(), "/?sort=-PMT");
        assert_eq!(view.sorted_by(Column::Mcq).sorted_by(Column::Mcq).address(), "/");
    }
}
