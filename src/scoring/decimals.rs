//! Numbers as people read them: so many decimals, ties half up. Knows nothing of what is printed.

/// Decimals that are trusted in a computed value: what lies beyond them is the rounding of binary fractions.
const TRUSTED_PLACES: usize = 12;

/// The value with this many decimals, at most 12, ties away from zero: `2.675` gives `2.68` with two, though
/// the nearest binary fraction lies below it.
pub fn to_decimals(value: f64, places: usize) -> String {
    let places = places.min(TRUSTED_PLACES);
    let trusted = format!("{:.TRUSTED_PLACES$}", value.abs()).replace('.', "");
    // What is no number, or too large for any score, is left as it is.
    let Ok(trusted) = trusted.parse::<u128>() else { return value.to_string() };
    let (unit, one) = (power_of_ten(TRUSTED_PLACES - places), power_of_ten(places));
    let rounded = (trusted + unit / 2) / unit;
    let sign = if value < 0.0 && rounded > 0 { "-" } else { "" };
    let whole = rounded / one;
    if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{:0places$}", rounded % one) }
}

/// The number that [`to_decimals`] writes.
pub fn rounded(value: f64, places: usize) -> f64 {
    to_decimals(value, places).parse().unwrap_or(value)
}

fn power_of_ten(exponent: usize) -> u128 {
    (0..exponent).fold(1, |power, _| power * 10)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ties_go_up_as_they_are_written() {
        assert_eq!(to_decimals(2.675, 2), "2.68");
        assert_eq!(to_decimals(0.285, 2), "0.29");
        assert_eq!(to_decimals(1.005, 2), "1.01");
        assert_eq!(to_decimals(96.65, 1), "96.7");
        assert_eq!(to_decimals(0.5, 0), "1");
        assert_eq!(to_decimals(2.5, 0), "3");
    }

    #[test]
    fn a_tie_that_was_computed_is_a_tie() {
        assert_eq!(to_decimals((2.42 + 2.58 + 2.1 + 2.48) / 4.0, 2), "2.40");
        assert_eq!(to_decimals(0.1 + 0.2 - 0.015, 2), "0.29");
    }

    #[test]
    fn a_carry_runs_through_nines() {
        assert_eq!(to_decimals(99.95, 1), "100.0");
        assert_eq!(to_decimals(9.999, 2), "10.00");
        assert_eq!(to_decimals(0.999, 0), "1");
    }

    #[test]
    fn negative_values_mirror_positive_ones() {
        assert_eq!(to_decimals(-2.675, 2), "-2.68");
        assert_eq!(to_decimals(-0.126, 2), "-0.13");
        assert_eq!(to_decimals(-0.004, 2), "0.00");
        assert_eq!(to_decimals(-0.0, 1), "0.0");
    }

    #[test]
    fn missing_decimals_are_zeros() {
        assert_eq!(to_decimals(100.0, 1), "100.0");
        assert_eq!(to_decimals(3.0, 3), "3.000");
        assert_eq!(to_decimals(0.1, 12), "0.100000000000");
    }

    #[test]
    fn what_is_no_number_is_printed_as_such() {
        assert_eq!(to_decimals(f64::NAN, 2), "NaN");
        assert_eq!(to_decimals(f64::NEG_INFINITY, 2), "-inf");
    }

    proptest! {
        #[test]
        fn thousandths_round_as_integers_do(thousandths in -1_000_000_i64..1_000_000) {
            let hundredths = (thousandths.abs() + 5) / 10;
            let sign = if thousandths < 0 && hundredths > 0 { "-" } else { "" };
            let expected = format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100);
            prop_assert_eq!(to_decimals(thousandths as f64 / 1000.0, 2), expected);
        }
    }
}
