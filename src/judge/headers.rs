//! What the headers of a reply tell, whatever its body says: a wait, whether to ask again, what is left of the
//! limits. Knows nothing of statuses or bodies.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::fault::CallFault;
use crate::limiter::told_wait;

/// What a server says is left of its limits for now; none where it does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Remaining {
    /// Requests.
    pub requests: Option<u32>,
    /// Tokens, sent and received together.
    pub tokens: Option<u32>,
}

/// The headers of one reply.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    wait: Option<Duration>,
    may_retry: Option<bool>,
    /// What is left of the limits.
    pub(super) remaining: Remaining,
}

impl Told {
    pub(super) fn read(headers: &HeaderMap) -> Told {
        let left = |name| text(headers, name)?.parse().ok();
        Told {
            wait: wait(headers),
            may_retry: text(headers, "x-should-retry")
                .and_then(|word| word.to_ascii_lowercase().parse().ok()),
            remaining: Remaining {
                requests: left("x-ratelimit-remaining-requests"),
                tokens: left("x-ratelimit-remaining-tokens"),
            },
        }
    }

    /// `fault` with what the headers add to it.
    pub(super) fn beside(self, fault: CallFault) -> CallFault {
        let Told { wait, may_retry, remaining } = self;
        CallFault { wait, may_retry, remaining, ..fault }
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// The wait that a server tells: `retry-after-ms`, else `retry-after` in seconds or as an HTTP date.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let in_ms = text(headers, "retry-after-ms").and_then(|ms| ms.parse::<f64>().ok());
    if let Some(wait) = in_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()) {
        return Some(wait);
    }
    told_wait(text(headers, RETRY_AFTER.as_str())?)
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn told(name: &'static str, value: &str) -> Told {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        Told::read(&headers)
    }

    #[test]
    fn a_told_wait_is_read_in_every_form() {
        assert_eq!(told("retry-after-ms", "1500").wait, Some(Duration::from_millis(1500)));
        assert_eq!(told("retry-after", "2").wait, Some(Duration::from_secs(2)));
        assert_eq!(told("retry-after", "0.25").wait, Some(Duration::from_millis(250)));
        let date = (chrono::Utc::now() + Duration::from_secs(100)).format("%a, %d %b %Y %H:%M:%S GMT");
        let wait = told("retry-after", &date.to_string()).wait.unwrap();
        assert!((90..=101).contains(&wait.as_secs()), "{wait:?}");
    }

    #[test]
    fn a_told_wait_that_makes_no_sense_is_none() {
        for odd in ["-3", "NaN", "inf", "soon", "", "1e300"] {
            assert_eq!(told("retry-after", odd).wait, None, "{odd}");
        }
        assert_eq!(told("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT").wait, None);
    }

    #[test]
    fn whether_to_ask_again_is_a_word_of_the_server_or_left_open() {
        for (word, may_retry) in
            [("true", Some(true)), ("False", Some(false)), (" false ", Some(false)), ("1", None), ("", None)]
        {
            assert_eq!(told("x-should-retry", word).may_retry, may_retry, "{word}");
        }
    }

    #[test]
    fn what_is_left_of_a_limit_is_a_whole_number_or_unknown() {
        for (text, left) in
            [("0", Some(0)), ("149984", Some(149_984)), ("-1", None), ("1.5", None), ("", None)]
        {
            let requests = told("x-ratelimit-remaining-requests", text).remaining;
            assert_eq!(requests, Remaining { requests: left, tokens: None }, "{text}");
            let tokens = told("x-ratelimit-remaining-tokens", text).remaining;
            assert_eq!(tokens, Remaining { requests: None, tokens: left }, "{text}");
        }
    }
}
