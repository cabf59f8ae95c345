//! Axes of charts: where a value lies on one, and what is printed at it. Knows nothing of rows.

use maud::{Markup, html};

use crate::domain::column::Unit;
use crate::scoring::decimals::to_decimals;

/// Percent of a plot's width that stays free at either end, so that marks at the ends are whole.
const EDGE: f64 = 2.0;

/// Ticks at most: their figures shall not touch on a phone.
const MAX_STEPS: f64 = 6.0;

/// How far a figure stands above its line.
const FIGURE_LIFT_PX: f64 = 4.0;

/// An axis of values.
pub(in super::super) struct Axis {
    low: f64,
    high: f64,
    step: f64,
    unit: Unit,
}

impl Axis {
    /// The axis from 0 to the highest value that there can be.
    pub(in super::super) fn whole(unit: Unit) -> Axis {
        Axis { low: 0.0, high: unit.top(), step: unit.top() / 5.0, unit }
    }

    /// The part of the whole axis that holds these values, from 0 where that costs little.
    pub(in super::super) fn around(unit: Unit, values: impl Iterator<Item = f64> + Clone) -> Axis {
        let whole = Axis::whole(unit);
        let lowest = values.clone().fold(whole.high, f64::min);
        let highest = values.fold(whole.low, f64::max);
        if lowest > highest {
            return whole;
        }
        let ends = |step: f64| {
            // Also where all values are the highest that there can be.
            let low = ((lowest / step).floor() * step).min(whole.high - step);
            let low = if low <= whole.step { 0.0 } else { low };
            (low, ((highest / step).ceil() * step).clamp(low + step, whole.high))
        };
        let mut step = whole.step / 4.0;
        if unit == Unit::Points {
            // Ticks at quarters of a point would need two decimals.
            step *= 2.0;
        }
        while (ends(step).1 - ends(step).0) / step > MAX_STEPS {
            step *= 2.0;
        }
        let (low, high) = ends(step);
        Axis { low, high, step, unit }
    }

    /// How far along the axis a value lies, from 0 to 1.
    pub(in super::super) fn share(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Where a value lies across a plot, in percent of its width.
    pub(super) fn x(&self, value: f64) -> String {
        percent(self.share(value))
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let steps = ((self.high - self.low) / self.step + 1e-9).floor() as u32;
        (0..=steps).map(|step| f64::from(step).mul_add(self.step, self.low))
    }

    /// A value as it stands at a tick.
    fn figure(&self, value: f64) -> String {
        to_decimals(value, usize::from(self.step.fract() != 0.0))
    }

    /// Where the axis begins and what it measures, in words.
    pub(super) fn words(&self) -> String {
        let start = self.figure(self.low);
        match self.unit {
            Unit::Percent => format!("percent right; axis starts at {start}"),
            Unit::Points => format!("points of 5; axis starts at {start}"),
        }
    }

    /// Lines across `height` at the ticks of an axis that lies on its side.
    pub(super) fn upright_lines(&self, top: u32, height: u32) -> Markup {
        html! {
            @for tick in self.ticks() {
                @let x = self.x(tick);
                line.grid x1=(x) x2=(x) y1=(top) y2=(top + height) {}
            }
        }
    }

    /// The ticks' figures, above or below those lines.
    pub(super) fn figures_across(&self, baseline: u32) -> Markup {
        html! {
            @for tick in self.ticks() {
                text.tick x=(self.x(tick)) y=(baseline) {
                    (self.figure(tick))
                }
            }
        }
    }

    /// Where a value lies in a plot that stands `height` high below `top`, in pixels.
    pub(super) fn y(&self, value: f64, top: u32, height: u32) -> f64 {
        let down = (1.0 - self.share(value)) * f64::from(height);
        ((f64::from(top) + down) * 10.0).round() / 10.0
    }

    /// The feet of the figures that stand at those lines, from the top.
    pub(super) fn level_figures(&self, top: u32, height: u32) -> impl Iterator<Item = f64> {
        self.ticks().map(move |tick| self.y(tick, top, height) - FIGURE_LIFT_PX)
    }

    /// Lines across the plot at the ticks of an axis that stands, each with its figure.
    pub(super) fn level_lines(&self, top: u32, height: u32) -> Markup {
        html! {
            @for tick in self.ticks() {
                @let y = self.y(tick, top, height);
                line.grid x1="0" x2="100%" y1=(y) y2=(y) {}
                text.tick.first.over x="0" y=(y - FIGURE_LIFT_PX) { (self.figure(tick)) }
            }
        }
    }
}

/// A share of a plot's width between its free ends.
pub(super) fn percent(share: f64) -> String {
    format!("{}%", to_decimals(share.mul_add(100.0 - 2.0 * EDGE, EDGE), 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(axis: &Axis) -> (f64, f64, usize) {
        (axis.low, axis.high, axis.ticks().count())
    }

    #[test]
    fn an_axis_is_cut_only_where_that_shows_more() {
        let around = |values: &[f64]| ends(&Axis::around(Unit::Percent, values.iter().copied()));
        assert_eq!(around(&[62.0, 71.3]), (60.0, 75.0, 4));
        assert_eq!(around(&[12.0, 71.3]).0, 0.0);
        assert_eq!(around(&[99.9, 100.0]), (95.0, 100.0, 2));
        assert_eq!(around(&[70.0]), (70.0, 75.0, 2));
        assert_eq!(around(&[100.0]), (95.0, 100.0, 2));
        assert_eq!(around(&[0.0, 0.0]), (0.0, 5.0, 2));
        assert_eq!(around(&[100.0, 100.0]), (95.0, 100.0, 2));
        assert_eq!(around(&[]), (0.0, 100.0, 6));
    }

    #[test]
    fn an_axis_says_where_it_starts() {
        let words = |values: &[f64], unit| Axis::around(unit, values.iter().copied()).words();
        assert_eq!(words(&[62.0, 71.3], Unit::Percent), "percent right; axis starts at 60");
        assert_eq!(words(&[2.3, 3.3], Unit::Points), "points of 5; axis starts at 2.0");
        assert_eq!(words(&[0.3, 3.3], Unit::Points), "points of 5; axis starts at 0");
    }

    #[test]
    fn values_lie_between_the_free_ends() {
        let axis = Axis::whole(Unit::Percent);
        assert_eq!([0.0, 50.0, 100.0].map(|value| axis.x(value)), ["2.00%", "50.00%", "98.00%"]);
        assert_eq!([0.0, 50.0, 100.0].map(|value| axis.y(value, 10, 200)), [210.0, 110.0, 10.0]);
    }
}
