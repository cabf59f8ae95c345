//! What the judge cost by day, as bars. Knows no clock and no teams.

use maud::{Markup, html};

use super::axis::percent;
use super::{Drawing, Numbers};
use crate::domain::instant::{self, DAY_MS};
use crate::scoring::decimals::to_decimals;

const TOP_PX: u32 = 40;
const PLOT_PX: u32 = 140;

/// Days that are drawn at most: bars of more would be thinner than a line.
const MAX_DAYS: usize = 92;

/// The part of a day's width that its bar takes.
const BAR: f64 = 0.8;

/// The part of the width that the axis' figures take on a phone.
const FIGURES: f64 = 0.12;

/// What a UTC day came to.
pub(in super::super) struct Day {
    pub(in super::super) day: String,
    pub(in super::super) calls: i64,
    pub(in super::super) cost_usd: f64,
}

/// Dollars by day from one UTC day to another, or calls where nothing was paid for; days without calls have no bar. A
/// budget is drawn as a line.
pub(in super::super) fn spend(days: &[Day], (from, to): (&str, &str), budget_usd: Option<f64>) -> Markup {
    let Some(dates) = dates(from, to).filter(|dates| dates.len() <= MAX_DAYS && !days.is_empty()) else {
        return html! {};
    };
    let is_paid = days.iter().any(|day| day.cost_usd > 0.0);
    let value = |day: &Day| if is_paid { day.cost_usd } else { day.calls as f64 };
    let budget_usd = budget_usd.filter(|_| is_paid);
    let highest = days.iter().map(value).fold(0.0, f64::max);
    let scale = Scale::up_to(highest.max(budget_usd.unwrap_or_default()));
    let (title, finding) = words(days, is_paid, budget_usd);
    let bars = days.iter().filter_map(|day| {
        let place = dates.iter().position(|date| *date == day.day)?;
        Some((place, value(day)))
    });
    let drawing = Drawing {
        id: "chart-spend",
        title: &title,
        description: &finding,
        height: TOP_PX + PLOT_PX + 24,
        wide: false,
        content: drawn(&scale, &dates, bars, budget_usd, is_paid),
    };
    super::figure("spend", (&title, &finding), &html! {}, &drawing.markup(), &numbers(days))
}

/// The days from one to another, both counted.
fn dates(from: &str, to: &str) -> Option<Vec<String>> {
    let noon = |day: &str| Some(instant::day_end_ms(day)? - DAY_MS / 2);
    let (first, last) = (noon(from)?, noon(to)?);
    let count = usize::try_from((last - first) / DAY_MS).ok()?;
    Some((0..=count.min(MAX_DAYS)).map(|day| instant::day(first + day as i64 * DAY_MS)).collect())
}

/// An axis of amounts from 0.
struct Scale {
    step: f64,
    steps: u32,
}

impl Scale {
    /// The axis that holds an amount, with steps of 1, 2 or 5 of a power of ten.
    fn up_to(highest: f64) -> Scale {
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let power = 10_f64.powf((highest / 4.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
        let step = step.into_iter().find(|step| highest / step <= 4.0).unwrap_or(power * 10.0);
        Scale { step, steps: (highest / step).ceil().max(1.0) as u32 }
    }

    /// How far below the top an amount lies, in pixels.
    fn y(&self, amount: f64) -> f64 {
        let share = amount / (self.step * f64::from(self.steps));
        let down = (1.0 - share.clamp(0.0, 1.0)) * f64::from(PLOT_PX);
        ((f64::from(TOP_PX) + down) * 10.0).round() / 10.0
    }

    fn figure(&self, amount: f64) -> String {
        let places = (-self.step.log10().floor()).clamp(0.0, 6.0) as usize;
        to_decimals(amount, places)
    }
}

fn drawn(
    scale: &Scale,
    dates: &[String],
    bars: impl Iterator<Item = (usize, f64)>,
    budget_usd: Option<f64>,
    is_paid: bool,
) -> Markup {
    let foot = TOP_PX + PLOT_PX;
    let width = (1.0 - FIGURES) / dates.len() as f64;
    let across = |place: usize| (place as f64).mul_add(width, FIGURES);
    // The ends of a plot are a little inside its width.
    let share_of_width = |share: f64| format!("{}%", to_decimals(share * 96.0, 2));
    html! {
        text.axis x="0" y="12" { @if is_paid { "dollars a day" } @else { "calls a day" } }
        @for step in 0..=scale.steps {
            @let amount = scale.step * f64::from(step);
            @let y = scale.y(amount);
            line.grid x1="0" x2="100%" y1=(y) y2=(y) {}
            text.tick.first.over x="0" y=(y - 4.0) { (scale.figure(amount)) }
        }
        @for (place, amount) in bars {
            @let y = scale.y(amount);
            rect.bar-day x=(percent((1.0 - BAR).mul_add(width / 2.0, across(place)))) y=(y)
                width=(share_of_width(width * BAR)) height=((f64::from(foot) - y).max(1.0)) {}
        }
        @if let Some(budget) = budget_usd {
            @let y = scale.y(budget);
            line.budget x1="0" x2="100%" y1=(y) y2=(y) {}
            text.over.last x="100%" y=(y - 4.0) { "budget" }
        }
        @if let (Some(first), Some(last)) = (dates.first(), dates.last()) {
            text.tick.first x=(percent(FIGURES)) y=(foot + 18) { (first) }
            @if dates.len() > 1 { text.tick.last x="100%" y=(foot + 18) { (last) } }
        }
    }
}

fn words(days: &[Day], is_paid: bool, budget_usd: Option<f64>) -> (String, String) {
    let calls: i64 = days.iter().map(|day| day.calls).sum();
    if !is_paid {
        let title = "Calls to the judge by day".to_owned();
        return (title, format!("{calls} calls, none of them paid for."));
    }
    let cost: f64 = days.iter().map(|day| day.cost_usd).sum();
    let mut finding = format!("${} for {calls} calls", to_decimals(cost, 2));
    if let Some(most) = days.iter().max_by(|one, other| one.cost_usd.total_cmp(&other.cost_usd)) {
        finding += &format!("; the dearest day was {} with ${}", most.day, to_decimals(most.cost_usd, 2));
    }
    finding += &match budget_usd {
        Some(budget) => format!("; the line is the budget of a day, ${}.", to_decimals(budget, 2)),
        None => "; there is no budget.".to_owned(),
    };
    ("What the judge cost by day".to_owned(), finding)
}

fn numbers(days: &[Day]) -> Numbers {
    let row = |day: &Day| vec![day.day.clone(), day.calls.to_string(), to_decimals(day.cost_usd, 4)];
    Numbers {
        head: ["Day", "Calls", "Dollars"].map(str::to_owned).to_vec(),
        rows: days.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_holds_its_highest_amount_in_a_few_round_steps() {
        for (highest, step, steps) in
            [(0.0, 0.5, 2), (3.0, 1.0, 3), (0.007, 0.002, 4), (41.0, 20.0, 3), (1000.0, 500.0, 2)]
        {
            let scale = Scale::up_to(highest);
            assert!((scale.step - step).abs() < 1e-9, "{highest}: {}", scale.step);
            assert_eq!(scale.steps, steps, "{highest}");
        }
        assert_eq!(Scale::up_to(0.007).figure(0.006), "0.006");
        assert_eq!(Scale::up_to(41.0).figure(40.0), "40");
    }

    #[test]
    fn bars_stand_at_their_days_and_nothing_is_drawn_of_nothing() {
        let day = |day: &str, cost_usd| Day { day: day.into(), calls: 7, cost_usd };
        let days = [day("2026-11-01", 1.0), day("2026-11-03", 2.0)];
        let drawn = spend(&days, ("2026-11-01", "2026-11-03"), Some(4.0)).into_string();
        assert_eq!(drawn.matches("<rect").count(), 2);
        assert!(
            drawn.contains("the dearest day was 2026-11-03 with $2.00") && drawn.contains("class=\"budget\"")
        );
        let free = spend(&[day("2026-11-01", 0.0)], ("2026-11-01", "2026-11-01"), Some(4.0)).into_string();
        assert!(free.contains("none of them paid for") && !free.contains("class=\"budget\""), "{free}");
        assert_eq!(spend(&[], ("2026-11-01", "2026-11-03"), None).into_string(), "");
    }
}
