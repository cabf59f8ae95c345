//! The queue of flags: what is suspected, the evidence, and closing one with a reason.

use std::collections::HashMap;

use actix_web::web;
use serde::Deserialize;

use super::desk::{LISTED, Stood, chosen, cut, id};
use super::flags_page::{self, Evidence, Seen};
use crate::administration::flags::{FlagError, QueuedFlagView, close_flag, list_flags};
use crate::domain::flag::FlagKind;
use crate::evaluation::flagged_answers::{FlaggedAnswer, flagged_answers};
use crate::evaluation::work::WorkError;
use crate::store::StoreError;
use crate::store::flag_queue::FlagFilter;
use crate::store::submissions::{Submission, find_submissions};
use crate::web::Pages;
use crate::web::refusal::{Refusal, Shown, html, see_other};
use crate::web::session::{Posted, Session};

/// Flagged answers that are shown as evidence of one flag.
const ANSWERS: i64 = 3;

/// Closed flags that are shown below the open ones.
const CLOSED: i64 = 20;

/// Which flags are asked for.
#[derive(Default, Deserialize)]
pub(super) struct Which {
    kind: Option<String>,
    /// Subject and kind of the flag behind which the page begins, as `ID/KIND`.
    after: Option<String>,
}

impl Which {
    fn after(&self) -> Result<Option<(String, String)>, Refusal> {
        let Some(text) = &self.after else { return Ok(None) };
        let (subject, kind) = text.split_once('/').ok_or_else(Refusal::not_found)?;
        let kind = FlagKind::parse(kind).ok_or_else(Refusal::not_found)?;
        Ok(Some((id(subject)?, kind.to_string())))
    }
}

pub(super) async fn list(pages: web::Data<Pages>, session: Session, which: web::Query<Which>) -> Shown {
    session.needs_maintainer()?;
    page(&pages, &session, &which, None).await
}

/// Why a flag is closed.
#[derive(Deserialize)]
pub(super) struct Closure {
    reason: String,
    /// There, if the browser came from the submission's page.
    #[serde(default)]
    from_submission: Option<String>,
}

pub(super) async fn close(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<Closure>,
    path: web::Path<(String, String)>,
) -> Shown {
    session.needs_maintainer()?;
    let (kind, subject) = path.into_inner();
    let kind = FlagKind::parse(&kind).ok_or_else(Refusal::not_found)?;
    let subject = id(&subject)?;
    let (store, now_ms) = (&pages.evaluation.store, pages.evaluation.clock.now_ms());
    let stood =
        match close_flag(store, &session.principal.actor(), kind, &subject, &form.reason, now_ms).await {
            Ok(_) if form.from_submission.is_some() => {
                return Ok(see_other(&format!("/admin/submissions/{subject}")));
            }
            Ok(_) => return Ok(see_other("/admin/flags")),
            Err(FlagError::Unknown(..)) => return Err(Refusal::not_found()),
            Err(FlagError::Store(error)) => return Err(error.into()),
            Err(error @ FlagError::Reason(_)) => Stood::faulty(error),
            Err(error @ FlagError::Closed(_)) => Stood::conflict(error),
        };
    page(&pages, &session, &Which::default(), Some(stood)).await
}

async fn page(pages: &Pages, session: &Session, which: &Which, stood: Option<Stood>) -> Shown {
    let (kind, after) = (chosen("kind", which.kind.as_deref())?, which.after()?);
    type Found = (Vec<QueuedFlagView>, Vec<QueuedFlagView>, HashMap<String, Submission>);
    let found: Result<Found, StoreError> = pages
        .evaluation
        .store
        .read(move |connection| {
            let after = after.as_ref().map(|(subject, kind)| (subject.as_str(), kind.as_str()));
            let of = |is_open| FlagFilter { kind, is_open: Some(is_open), subject: None };
            let open = list_flags(connection, of(true), after, LISTED + 1)?;
            let closed = list_flags(connection, of(false), None, CLOSED)?;
            let named = open.iter().filter(|flag| flag.kind != FlagKind::Signup);
            let named: Vec<&str> =
                named.flat_map(|flag| flag.other.iter().chain([&flag.subject])).map(String::as_str).collect();
            let submissions = find_submissions(connection, &named)?;
            let by_id = submissions.into_iter().map(|submission| (submission.id.clone(), submission));
            Ok((open, closed, by_id.collect()))
        })
        .await;
    let (mut open, closed, submissions) = found?;
    let more = cut(&mut open);
    let mut seen = Seen { open: Vec::new(), more, closed, kind };
    for flag in open {
        let evidence = evidence(pages, &flag, &submissions).await?;
        seen.open.push((flag, evidence));
    }
    let status = Stood::status(stood.as_ref());
    Ok(html(status, flags_page::page(session, &seen, stood.as_ref())))
}

/// What there is to see of what a flag is about.
async fn evidence(
    pages: &Pages,
    flag: &QueuedFlagView,
    submissions: &HashMap<String, Submission>,
) -> Result<Evidence, Refusal> {
    let submission = submissions.get(&flag.subject);
    let other = flag.other.as_ref().and_then(|other| submissions.get(other));
    let answers = match submission.filter(|_| flag.kind == FlagKind::Attack) {
        Some(submission) => answers(pages, submission, ANSWERS).await?,
        None => Vec::new(),
    };
    Ok(Evidence { submission: submission.cloned(), other: other.cloned(), answers })
}

/// The answers of a submission that show signs of talking to the judge.
pub(super) async fn answers(
    pages: &Pages,
    submission: &Submission,
    limit: i64,
) -> Result<Vec<FlaggedAnswer>, Refusal> {
    flagged_answers(&pages.evaluation, submission, limit).await.map_err(|error| match error {
        WorkError::Store(error) => error.into(),
        error => Refusal::Inside(error.to_string()),
    })
}
