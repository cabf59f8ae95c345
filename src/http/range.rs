//! Which parts of a file a request asks for. Knows no file.

use std::ops::Range;

use actix_web::HttpRequest;
use actix_web::http::header::{self, EntityTag, Header as _, IfNoneMatch, IfRange};

/// Parts that one answer may have; who asks for more gets the whole.
const MAX_PARTS: usize = 16;

/// What is to be sent of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it.
    Whole,
    /// These bytes, in this order; never none.
    Parts(Vec<Range<u64>>),
    /// Nothing, since the file has no such bytes.
    Unsatisfiable,
}

/// The parts that a request asks for of a file with this tag and length.
pub(super) fn wanted(request: &HttpRequest, etag: &EntityTag, length: u64) -> Wanted {
    let Some(text) = request.headers().get(header::RANGE).and_then(|value| value.to_str().ok()) else {
        return Wanted::Whole;
    };
    if request.headers().contains_key(header::IF_RANGE) {
        let of_this = match IfRange::parse(request) {
            Ok(IfRange::EntityTag(tag)) => tag.strong_eq(etag),
            // A file has no date here, and a tag that cannot be read is not this one.
            _ => false,
        };
        if !of_this {
            return Wanted::Whole;
        }
    }
    parts(text, length)
}

/// Whether the request says that it has the file with this tag already.
pub(super) fn is_known(request: &HttpRequest, etag: &EntityTag) -> bool {
    request.headers().contains_key(header::IF_NONE_MATCH)
        && match IfNoneMatch::parse(request) {
            Ok(IfNoneMatch::Any) => true,
            Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|tag| tag.weak_eq(etag)),
            Err(_) => false,
        }
}

fn parts(text: &str, length: u64) -> Wanted {
    let specs = match text.parse() {
        Ok(header::Range::Bytes(specs)) => specs,
        Ok(header::Range::Unregistered(..)) => return Wanted::Whole,
        Err(_) if text.starts_with("bytes=") => return Wanted::Unsatisfiable,
        Err(_) => return Wanted::Whole,
    };
    let parts: Vec<Range<u64>> = specs
        .iter()
        .filter_map(|spec| spec.to_satisfiable_range(length))
        .map(|(first, last)| first..last + 1)
        .collect();
    let sum: u64 = parts.iter().map(|part| part.end - part.start).sum();
    match parts.len() {
        0 => Wanted::Unsatisfiable,
        // Overlaps that add up to more than the file are no way to ask for less.
        count if count > MAX_PARTS || sum > length => Wanted::Whole,
        _ => Wanted::Parts(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_parts(text: &str, expected: &[(u64, u64)]) {
        let expected = expected.iter().map(|(start, end)| *start..*end).collect();
        assert_eq!(parts(text, 100), Wanted::Parts(expected), "{text}");
    }

    #[test]
    fn parts_are_read() {
        assert_parts("bytes=0-9", &[(0, 10)]);
        assert_parts("bytes=90-", &[(90, 100)]);
        assert_parts("bytes=-5", &[(95, 100)]);
        assert_parts("bytes=-500", &[(0, 100)]);
        assert_parts("bytes=99-1000", &[(99, 100)]);
        assert_parts("bytes=0-0, 50-59,-1", &[(0, 1), (50, 60), (99, 100)]);
        assert_parts("bytes=0-0,100-", &[(0, 1)]);
    }

    #[test]
    fn what_the_file_does_not_have_is_not_to_be_satisfied() {
        for text in ["bytes=100-", "bytes=5-2", "bytes=-0", "bytes=abc", "bytes=", "bytes=100-,200-300"] {
            assert_eq!(parts(text, 100), Wanted::Unsatisfiable, "{text}");
        }
    }

    #[test]
    fn what_is_no_way_to_ask_for_less_gets_the_whole() {
        let many = format!("bytes={}", vec!["0-0"; 17].join(","));
        for text in ["lines=1-2", "garbage", "bytes=0-,0-", many.as_str()] {
            assert_eq!(parts(text, 100), Wanted::Whole, "{text}");
        }
    }
}
