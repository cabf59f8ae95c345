//! What a judge's agreement with people comes to in words. Knows nothing of how the page is laid out.

use super::figures::signed;
use crate::evaluation::validity::report::{AgreementReport, ScoresFrom};
use crate::scoring::agreement::{Agreement, Estimate, Measure};
use crate::scoring::decimals::to_decimals;

/// What stands where nothing is known.
pub(super) const UNKNOWN: &str = "unknown";

/// A measure of some items.
pub(super) fn estimate(of: &Agreement, measure: Measure) -> Estimate {
    of.measures.get(&measure).copied().unwrap_or_default()
}

/// A value with two decimals and its interval.
pub(super) fn written(estimate: Estimate) -> String {
    match (estimate.value, estimate.ci95) {
        (None, _) => UNKNOWN.to_owned(),
        (Some(value), None) => to_decimals(value, 2),
        (Some(value), Some([low, high])) => {
            format!("{} ({} to {})", to_decimals(value, 2), to_decimals(low, 2), to_decimals(high, 2))
        }
    }
}

/// Whether the judge gives more or less than people, and by how much.
pub(super) fn leniency(of: &Agreement) -> String {
    let bias = estimate(of, Measure::Bias);
    let (Some(value), Some([low, high])) = (bias.value, bias.ci95) else {
        return "Whether the judge is milder or stricter than people is not known.".to_owned();
    };
    let interval = format!("95 % interval {} to {}", signed(low, 2), signed(high, 2));
    let size = to_decimals(value.abs(), 2);
    if low <= 0.0 && high >= 0.0 {
        return format!(
            "In the mean the judge is neither clearly milder nor stricter than people ({interval})."
        );
    }
    let direction = if value > 0.0 { "milder" } else { "stricter" };
    format!("In the mean the judge is {direction} than people by {size} points of 5 ({interval}).")
}

/// How one rating agrees with the judge beside how it agrees with another person's.
pub(super) fn ceiling(of: &Agreement) -> String {
    let judge = estimate(of, Measure::KappaOfRatings);
    let people = estimate(of, Measure::HumanPairwiseKappa);
    let (Some(with_judge), Some([low, high]), Some(with_people)) = (judge.value, judge.ci95, people.value)
    else {
        return "How the judge compares with people among themselves is not known.".to_owned();
    };
    let figures = format!(
        "(quadratic-weighted kappa {} with the judge, {} with another person; 1 is perfect, 0 is chance)",
        to_decimals(with_judge, 2),
        to_decimals(with_people, 2)
    );
    if low <= with_people && with_people <= high {
        format!("A person's rating agrees with the judge about as well as with another person's {figures}.")
    } else if with_judge < with_people {
        format!("A person's rating agrees less with the judge than with another person's {figures}.")
    } else {
        format!("A person's rating agrees more with the judge than with another person's {figures}.")
    }
}

/// Whose scores stand beside the ratings.
pub(super) fn whose(report: &AgreementReport) -> String {
    let judge = &report.judge;
    match (judge.source, &judge.said, &judge.configuration, &judge.model) {
        (ScoresFrom::Run, _, Some(id), Some(model)) => {
            format!("Configuration {id} ({model}), asked anew about the answers that people rated.")
        }
        (ScoresFrom::File, _, Some(id), Some(model)) => {
            format!("Scores that came with the ratings, said to be of configuration {id} ({model}).")
        }
        (ScoresFrom::File, Some(said), ..) => format!(
            "Scores that came with the ratings, said to be of “{said}”: not those of a configuration of this server."
        ),
        (ScoresFrom::File, None, ..) => {
            "Scores that came with the ratings; whose they are was not said, so they tell nothing of a configuration of \
             this server."
                .to_owned()
        }
        _ => "People alone: no judge has scored the rated answers yet.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::agreement::{RatedItem, agreement};

    /// Twelve videos that two people rate alike but for the first, and a judge that adds `more`.
    fn of(more: f64) -> Agreement {
        let items: Vec<RatedItem> = (0..12)
            .map(|video| {
                let rating = (video % 4) as u8;
                let ratings = vec![(0, rating), (1, rating + u8::from(video == 0))];
                RatedItem { video, ratings, judge: Some(f64::from(rating) + more) }
            })
            .collect();
        agreement([0; 32], &items)
    }

    #[test]
    fn a_mild_a_strict_and_a_fair_judge_are_told_apart() {
        assert!(leniency(&of(1.0)).contains("milder than people by 0.96 points"), "{}", leniency(&of(1.0)));
        assert!(leniency(&of(-1.0)).contains("stricter"));
        assert!(leniency(&of(0.0)).contains("neither"));
    }

    #[test]
    fn the_ceiling_says_what_a_person_agrees_with_more() {
        assert!(ceiling(&of(0.0)).contains("about as well"), "{}", ceiling(&of(0.0)));
        assert!(ceiling(&of(2.0)).contains("agrees less"), "{}", ceiling(&of(2.0)));
    }

    #[test]
    fn what_is_not_known_is_said_so() {
        let nothing = agreement([0; 32], &[]);
        assert!(leniency(&nothing).contains("not known") && ceiling(&nothing).contains("not known"));
        assert_eq!(written(estimate(&nothing, Measure::SpearmanRho)), UNKNOWN);
    }
}
