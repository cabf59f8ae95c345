//! Where a submission stands, in words: its state, its place in the queue and the time left, and who sees it. Decides
//! nothing.

use maud::{Markup, html};

use super::submission_page::Seen;
use crate::domain::fault::{Warning, WarningCode};
use crate::domain::submission::{PausedFor, SubmissionState, Visibility};
use crate::evaluation::waiting::QueuePlace;
use crate::store::submissions::Submission;

/// Where a submission stands, in a sentence.
pub(super) fn sentence(submission: &Submission) -> String {
    let progress = submission.progress;
    match (submission.state, submission.paused_for) {
        (SubmissionState::Queued, _) => "Waiting for its turn.".into(),
        (SubmissionState::Grading, _) => "The multiple-choice answers are being graded.".into(),
        (SubmissionState::Judging, None) => {
            format!("Judging: {} of {} open-ended answers.", progress.judged, progress.to_judge)
        }
        (SubmissionState::Judging, Some(PausedFor::Budget)) => format!(
            "Judging rests at {} of {} open-ended answers till tomorrow, since today's budget is used up. It goes on by itself.",
            progress.judged, progress.to_judge
        ),
        (SubmissionState::Judging, Some(PausedFor::JudgeUnavailable)) => format!(
            "Judging rests at {} of {} open-ended answers, since the judge does not answer. It goes on by itself.",
            progress.judged, progress.to_judge
        ),
        (SubmissionState::Scored, _) => "Every answer has its score.".into(),
        (SubmissionState::Incomplete, _) => format!(
            "{} open-ended answers could not be judged. They count as unknown, not as 0; a maintainer can have them tried again.",
            progress.failed
        ),
        (SubmissionState::Cancelled, _) => "It is not graded any further.".into(),
        (SubmissionState::Failed, _) => {
            "The server failed at it. That is not the file's fault; a maintainer can have it tried again."
                .into()
        }
    }
}

/// How many open-ended answers are scored, of how many; none while that is not known.
pub(super) fn done(submission: &Submission) -> Option<(i32, i32)> {
    let progress = submission.progress;
    (submission.state == SubmissionState::Judging && progress.to_judge > 0)
        .then_some((progress.judged, progress.to_judge))
}

/// Whether the multiple-choice scores are withheld, in the words of the API.
fn withheld(seen: &Seen) -> Option<&Warning> {
    seen.warnings.iter().find(|warning| warning.code == WarningCode::ScoresWithheld)
}

pub(super) fn standing(seen: &Seen, queue: Option<&QueuePlace>) -> Markup {
    let submission = &seen.submission;
    let follows = !submission.state.is_final();
    let address = format!("/submissions/{}/progress", submission.id);
    html! {
        section.state aria-labelledby="state" data-progress=[follows.then_some(address)]
            data-progress-of=(submission.state) {
            h2 #state { "State" }
            p { (badge(submission)) " " span data-sentence role="status" { (sentence(submission)) } }
            @if follows {
                @let (value, max) = done(submission).unzip();
                progress value=[value.or(Some(0))] max=[max.or(Some(1))] aria-label="Open-ended answers judged" {}
                p.facts data-queue { @if let Some(place) = queue { (queue_sentence(place)) } }
                noscript { p { a href={ "/submissions/" (submission.id) } { "Look again" } } }
                p.wrong data-lost role="status" {}
            }
            @if let Some(reason) = &submission.withdrawn_reason {
                p { "Withdrawn for good. Readers are told: " q { (reason) } }
            } @else if let Some(warning) = withheld(seen) {
                p.notice role="note" { strong { "Scores withheld. " } (warning.detail) }
            } @else if submission.state == SubmissionState::Scored {
                p {
                    (seen_by(submission.metadata.visibility))
                    @if let Some(until) = &submission.metadata.anonymous_until { " The name is shown from " (until) " (UTC)." }
                }
            }
        }
    }
}

pub(super) fn badge(submission: &Submission) -> Markup {
    let (word, kind) = match submission.state {
        _ if submission.withdrawn_reason.is_some() => ("withdrawn", "ended"),
        SubmissionState::Scored => ("scored", "fine"),
        SubmissionState::Incomplete | SubmissionState::Failed => (submission.state.as_str(), "bad"),
        SubmissionState::Cancelled => ("cancelled", "ended"),
        state => (state.as_str(), "going"),
    };
    html! { span.badge.(kind) { (word) } }
}

fn seen_by(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Private => "Only your team sees it.",
        Visibility::Anonymous => "It is on the leaderboard without your team's name.",
        Visibility::Public => "It is on the leaderboard under your team's name.",
    }
}

/// A place in the queue and the time left, in a sentence.
pub(super) fn queue_sentence(place: &QueuePlace) -> String {
    let ahead = match place.ahead {
        0 => "No submission before it".to_owned(),
        1 => "1 submission before it".to_owned(),
        ahead => format!("{ahead} submissions before it"),
    };
    match (place.seconds_low, place.seconds_high) {
        (Some(low), Some(high)) => format!("{ahead}; {} left.", range(low, high)),
        _ => format!("{ahead}; how long it takes is not known yet."),
    }
}

/// A range of seconds in the unit that its longer end asks for.
fn range(low_s: u64, high_s: u64) -> String {
    let (unit, name) = match high_s {
        0..100 => (1, "second"),
        100..6000 => (60, "minute"),
        _ => (3600, "hour"),
    };
    let (low, high) = (low_s / unit, high_s.div_ceil(unit).max(1));
    let plural = if high == 1 { "" } else { "s" };
    match low {
        0 => format!("at most about {high} {name}{plural}"),
        _ if low == high => format!("about {high} {name}{plural}"),
        _ => format!("about {low} to {high} {name}{plural}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_in_words_and_an_unknown_time_as_unknown() {
        let told = |ahead, seconds: Option<[u64; 2]>| {
            let [seconds_low, seconds_high] = seconds.map_or([None; 2], |range| range.map(Some));
            queue_sentence(&QueuePlace { ahead, seconds_low, seconds_high })
        };
        for (ahead, seconds, expected) in [
            (2, Some([60, 240]), "2 submissions before it; about 1 to 4 minutes left."),
            (1, Some([0, 30]), "1 submission before it; at most about 30 seconds left."),
            (0, Some([90, 100]), "No submission before it; about 1 to 2 minutes left."),
            (0, Some([120, 120]), "No submission before it; about 2 minutes left."),
            (0, Some([0, 0]), "No submission before it; at most about 1 second left."),
            (3, Some([4200, 10800]), "3 submissions before it; about 1 to 3 hours left."),
            (2, None, "2 submissions before it; how long it takes is not known yet."),
        ] {
            assert_eq!(told(ahead, seconds), expected);
        }
    }
}
