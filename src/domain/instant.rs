//! Instants: UTC milliseconds since 1970, and how they are written. Does not know what time it is.

use chrono::{DateTime, SecondsFormat, Utc};

const DAY_FORMAT: &str = "%Y-%m-%d";

/// Milliseconds of one day.
pub const DAY_MS: i64 = 86_400_000;

/// An instant as RFC 3339 text in UTC, to the millisecond.
pub fn rfc3339(instant_ms: i64) -> String {
    date_time(instant_ms).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The instant that RFC 3339 text names, in any zone.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(text).ok().map(|instant| instant.timestamp_millis())
}

/// The UTC day of an instant, `2026-11-29`.
pub fn day(instant_ms: i64) -> String {
    date_time(instant_ms).format(DAY_FORMAT).to_string()
}

/// Whether `text` is a day as [`day`] writes it.
pub fn is_day(text: &str) -> bool {
    let read = chrono::NaiveDate::parse_from_str(text, DAY_FORMAT);
    read.is_ok_and(|read| read.format(DAY_FORMAT).to_string() == text)
}

/// The last instant of a UTC day as [`day`] writes it; none where it is no day.
pub fn day_end_ms(day: &str) -> Option<i64> {
    parse_rfc3339(&format!("{day}T23:59:59.999Z"))
}

/// The first instant of the UTC day after the one that holds `instant_ms`.
pub fn next_day_ms(instant_ms: i64) -> i64 {
    (instant_ms.div_euclid(DAY_MS) + 1) * DAY_MS
}

fn date_time(instant_ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(instant_ms).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_in_utc() {
        assert_eq!(rfc3339(1_796_000_000_123), "2026-11-30T00:53:20.123Z");
        assert_eq!(parse_rfc3339("2026-11-30T01:53:20.123+01:00"), Some(1_796_000_000_123));
        assert_eq!(parse_rfc3339("2026-11-30"), None);
        assert_eq!(day(1_796_000_000_123), "2026-11-30");
        assert_eq!(rfc3339(next_day_ms(1_796_000_000_123)), "2026-12-01T00:00:00.000Z");
    }
}
