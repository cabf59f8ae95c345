//! The two tables of a board: headers that sort, rows by group or in one order, averages, and baselines at the foot. Knows
//! nothing of how a number is written.

use maud::{Markup, html};

use super::averages::average_rows;
use super::cells::{self, MISSING};
use super::header::group_label;
use super::shown::Shown;
use crate::domain::column::{CaptionDimension, Column, Unit};
use crate::domain::submission::Group;
use crate::evaluation::board_rows::Row;

/// What stands in a column of a table.
#[derive(Clone, Copy)]
pub(super) enum Field {
    Score(Column),
    /// Moving minus static.
    Change(CaptionDimension),
}

/// One of the two tables.
pub(super) struct Sheet {
    pub(super) id: &'static str,
    title: &'static str,
    /// The names of its columns in full.
    names: &'static [(&'static str, &'static str)],
    pub(super) fields: Vec<Field>,
    /// Whether dimensions stand above the headers.
    by_dimension: bool,
    /// Whether baselines have scores here.
    has_blind: bool,
}

const QUESTION_NAMES: [(&str, &str); 7] = [
    ("MCQ", "mean of the seven percent columns"),
    ("MBC", "marine biotic communities (-so: central object, -mo: all objects)"),
    ("PMT", "phenotypic and morphological traits"),
    ("PDO", "perspective-dependent observations"),
    ("OBK", "organism behavioral kinematics"),
    ("SM", "spatiotemporal monitoring (-e: environment, -l: lighting)"),
    ("OEMU", "open-ended with motion understanding, points. ↑: higher is better"),
];

const CAPTION_NAMES: [(&str, &str); 3] = [
    ("BEH", "biological entity hallucination"),
    ("AH", "action hallucination"),
    ("ECF", "environmental context fabrications. ↑: points for being free of them, higher is better"),
];

impl Sheet {
    pub(super) fn questions(shown: &Shown<'_>) -> Sheet {
        let columns = [Column::Mcq]
            .into_iter()
            .chain(Column::QUESTIONS)
            .filter(|column| shown.view.has_column(*column));
        Sheet {
            id: "questions",
            title: "Table 1. Questions",
            names: &QUESTION_NAMES,
            fields: columns.map(Field::Score).collect(),
            by_dimension: false,
            has_blind: true,
        }
    }

    pub(super) fn captions(shown: &Shown<'_>) -> Sheet {
        let fields = CaptionDimension::ALL.iter().flat_map(|dimension| {
            let columns = dimension.columns().into_iter().filter(|column| shown.view.has_column(*column));
            let columns: Vec<Field> = columns.map(Field::Score).collect();
            let change = (columns.len() == 2).then_some(Field::Change(*dimension));
            columns.into_iter().chain(change)
        });
        Sheet {
            id: "captions",
            title: "Table 2. Captions, static and moving camera",
            names: &CAPTION_NAMES,
            fields: fields.collect(),
            by_dimension: true,
            has_blind: false,
        }
    }

    /// Whether a wider gap and a rule stand before a column: another unit or dimension begins.
    pub(super) fn is_apart(&self, place: usize) -> bool {
        let kind = |place: usize| match self.fields.get(place)? {
            Field::Score(column) => Some((column.unit(), column.caption_dimension())),
            Field::Change(dimension) => Some((Unit::Points, Some(*dimension))),
        };
        place > 0 && kind(place) != kind(place - 1)
    }

    /// The cells of a row, each with what `content` gives.
    pub(super) fn cells(&self, content: impl Fn(Field) -> Markup) -> Markup {
        html! {
            @for (place, field) in self.fields.iter().enumerate() {
                td class=[self.is_apart(place).then_some("apart")] { (content(*field)) }
            }
        }
    }

    fn width(&self) -> usize {
        self.fields.len() + 2
    }
}

/// A table in its box, unless none of its columns is shown.
pub(super) fn table(shown: &Shown<'_>, sheet: &Sheet) -> Markup {
    if sheet.fields.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby=(sheet.id) {
            h2 id=(sheet.id) { (sheet.title) }
            p.key-list {
                @for (place, (short, long)) in sheet.names.iter().enumerate() {
                    @if place > 0 { " · " }
                    b { (short) } " " (long)
                }
                "."
            }
            p.sideways { "Scroll the table sideways for all " (sheet.fields.len()) " columns." }
            div.scroll.board id={ (sheet.id) "-box" } tabindex="0" role="region" aria-labelledby=(sheet.id) {
                table {
                    caption.hidden { (sheet.title) ". Headers with links sort." }
                    (head(shown, sheet))
                    (body(shown, sheet))
                }
            }
        }
    }
}

fn head(shown: &Shown<'_>, sheet: &Sheet) -> Markup {
    let rows = sheet.by_dimension.then_some(2);
    let scored = |field: &Field| matches!(field, Field::Score(_));
    html! {
        thead {
            tr {
                th.model scope="col" rowspan=[rows] { "Model" }
                th.rank scope="col" rowspan=[rows] { "Rank" small { "by " (shown.view.board.sort.column) } }
                @if sheet.by_dimension { (dimension_headers(sheet)) } @else { (headers(shown, sheet)) }
            }
            @if sheet.by_dimension { tr { (headers(shown, sheet)) } }
        }
        @if !sheet.fields.iter().any(scored) { tbody {} }
    }
}

fn dimension_headers(sheet: &Sheet) -> Markup {
    let of = |dimension: CaptionDimension| {
        let is_its = |field: &&Field| match field {
            Field::Score(column) => column.caption_dimension() == Some(dimension),
            Field::Change(of) => *of == dimension,
        };
        sheet.fields.iter().filter(is_its).count()
    };
    html! {
        @for (place, dimension) in CaptionDimension::ALL.iter().enumerate() {
            @let width = of(*dimension);
            @if width > 0 {
                th.dimension.apart[place > 0] scope="colgroup" colspan=(width) { (dimension) }
            }
        }
    }
}

fn headers(shown: &Shown<'_>, sheet: &Sheet) -> Markup {
    html! {
        @for (place, field) in sheet.fields.iter().enumerate() {
            @match field {
                Field::Score(column) => (header(shown, *column, sheet.is_apart(place))),
                Field::Change(dimension) => th scope="col" {
                    div.head { span.hidden { (dimension) ", " } "change" small { "moving − static" } }
                }
            }
        }
    }
}

/// A header whose link sorts, and which says how rows are sorted by it.
fn header(shown: &Shown<'_>, column: Column, apart: bool) -> Markup {
    let sort = shown.view.board.sort;
    let order = (sort.column == column).then_some(if sort.descending { "descending" } else { "ascending" });
    let sign = match order {
        Some("descending") => "▼",
        Some(_) => "▲",
        None => "↕",
    };
    let table = if column.caption_dimension().is_some() { "captions" } else { "questions" };
    let unit = match column.unit() {
        Unit::Percent => "% ↑",
        Unit::Points => "0–5 ↑",
    };
    let judge = shown.board.judge.as_ref().filter(|_| column.unit() == Unit::Points);
    html! {
        th class=[apart.then_some("apart")] scope="col" aria-sort=[order] {
            a.head id={ "by-" (column) } href={ (shown.view.sorted_by(column).address()) "#" (table) } {
                span.nowrap {
                    @match (column.caption_dimension(), column.camera()) {
                        (Some(dimension), Some(camera)) => { span.hidden { (dimension) ", " } (camera) }
                        _ => (column)
                    }
                    span.order aria-hidden="true" { (sign) }
                }
                small { (unit) }
                @if judge.is_some_and(|judge| judge.is_offline()) { small { "offline judge" } }
            }
        }
    }
}

fn body(shown: &Shown<'_>, sheet: &Sheet) -> Markup {
    html! {
        @if shown.rows.is_empty() {
            tbody { tr { td.none colspan=(sheet.width()) { "No entry is left by the filters." } } }
        } @else if shown.is_by_group() {
            @for group in Group::ALL {
                @let rows: Vec<&Row> = shown.rows.iter().filter(|row| row.group == Some(*group)).copied().collect();
                @if !rows.is_empty() {
                    tbody {
                        (title_row(sheet, html! { (group_sign(*group)) (group_label(*group)) }))
                        @for row in rows { (entry_row(shown, sheet, row)) }
                        @if shown.ends(Some(*group)) { (average_rows(shown, sheet, *group)) }
                    }
                }
            }
        } @else {
            tbody { @for row in &shown.rows { (entry_row(shown, sheet, row)) } }
            @if shown.ends(None) {
                tbody {
                    (title_row(sheet, html! { "Averages of groups" }))
                    @for group in Group::ALL {
                        @if shown.view.has_group(*group) { (average_rows(shown, sheet, *group)) }
                    }
                }
            }
        }
        @if sheet.has_blind && !shown.blind.is_empty() {
            tbody.blind {
                (title_row(sheet, html! { "Blind baselines: they never see a video" }))
                @for row in &shown.blind { (entry_row(shown, sheet, row)) }
            }
        }
    }
}

fn title_row(sheet: &Sheet, title: Markup) -> Markup {
    html! { tr.group { th scope="rowgroup" colspan=(sheet.width()) { span { (title) } } } }
}

/// The mark of a group: its shape tells it where colours do not.
fn group_sign(group: Group) -> Markup {
    let (class, sign) = match group {
        Group::OpenSmall => ("sign group-1", "●"),
        Group::OpenLarge => ("sign group-2", "■"),
        Group::Closed => ("sign group-3", "◆"),
    };
    html! { span class=(class) aria-hidden="true" { (sign) } }
}

fn entry_row(shown: &Shown<'_>, sheet: &Sheet, row: &Row) -> Markup {
    let hides_intervals = shown.view.hides_intervals;
    html! {
        tr class=[row.reported.then_some("reported")] {
            th.model scope="row" {
                @match &row.entry {
                    Some(id) => a href={ "/entries/" (id) } { (row.model_name) },
                    None => (row.model_name.trim_start_matches("Blind: "))
                }
                small { (origin(shown, row)) }
                @if row.entry.is_some() { small.below { "Rank " (range(row).unwrap_or_else(|| MISSING.to_owned())) } }
            }
            td.rank { (rank(shown, row)) }
            (sheet.cells(|field| match field {
                Field::Score(column) => cells::score(row, column, shown.board.marks.find(row, column), hides_intervals),
                Field::Change(dimension) => cells::change(row, dimension, hides_intervals),
            }))
        }
    }
}

/// Whose a row is and what it is made of.
fn origin(shown: &Shown<'_>, row: &Row) -> Markup {
    html! {
        @if let Some(group) = row.group.filter(|_| !shown.is_by_group()) { (group_sign(group)) span.hidden { (group_label(group)) ", " } }
        @if row.reported { "reported" }
        @else if row.entry.is_some() { @match &row.team { Some(team) => (team), None => em { "anonymous" } } }
        @if let Some(backbone) = &row.backbone { " · " (backbone) }
    }
}

/// The rank range, or the rank while no range is known.
fn range(row: &Row) -> Option<String> {
    match (row.rank_range, row.rank?) {
        (Some([best, worst]), _) if best != worst => Some(format!("{best}–{worst}")),
        (Some([best, _]), _) => Some(best.to_string()),
        (None, rank) => Some(rank.to_string()),
    }
}

fn rank(shown: &Shown<'_>, row: &Row) -> Markup {
    let Some(range) = range(row) else {
        return html! { (MISSING) @if row.reported { span.hidden { " not ranked" } } };
    };
    html! {
        (range)
        small {
            @match (row.rank, row.tier) {
                (Some(rank), Some(tier)) => { "rank " (rank) ", tier " (tier) }
                _ if shown.board.as_of.is_some() => "no range kept",
                _ => "no range yet",
            }
        }
    }
}
