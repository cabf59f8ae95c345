//! Submitting a file from a page: the form, its check, and the way to the submission that comes of it.

use std::io::Seek as _;

use actix_multipart::Multipart;
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, web};

use super::Pages;
use super::refusal::{Refusal, Shown, html, see_other};
use super::session::{Session, from_here};
use super::submit_form::{Broken, Sent, SentFile, Typed, read};
use super::submit_page::{self, Verdict};
use crate::domain::key::Scope;
use crate::domain::question::Split;
use crate::domain::submission::{Metadata, MetadataFault};
use crate::evaluation::excerpts::excerpts;
use crate::evaluation::intake::{self, Accepted, IntakeError, Upload};
use crate::evaluation::quota::{Quota, quota};
use crate::predictions::Refusal as FileRefusal;
use crate::store::StoreError;

pub(super) async fn show(pages: web::Data<Pages>, session: Result<Session, Refusal>) -> Shown {
    let session = match session {
        Ok(session) => session,
        // The way over the API is for everybody to read.
        Err(Refusal::SignIn { .. }) => return Ok(html(StatusCode::OK, submit_page::guest_page())),
        Err(refusal) => return Err(refusal),
    };
    page(&pages, &session, StatusCode::OK, &Typed::blank(), &Verdict::None).await
}

pub(super) async fn create_submission(
    request: HttpRequest,
    pages: web::Data<Pages>,
    session: Session,
    form: Multipart,
) -> Shown {
    from_here(&request)?;
    session.needs(Scope::Submit)?;
    let Sent { typed, file } = match read(&session, form, pages.evaluation.max_upload_bytes).await {
        Ok(sent) => sent,
        Err(Broken::Refused(refusal)) => return Err(refusal),
        Err(Broken::TooLarge(typed, fault)) => {
            let verdict = Verdict::Refused(FileRefusal { faults: vec![fault], total: 1 }, vec![None]);
            return page(&pages, &session, StatusCode::PAYLOAD_TOO_LARGE, &typed, &verdict).await;
        }
    };
    let no_file = MetadataFault { pointer: "/predictions".into(), detail: "choose a file".into() };
    let (metadata, file) = match (typed.metadata(), file) {
        (Ok(metadata), Some(file)) => (metadata, file),
        (metadata, file) => {
            let mut faults = if file.is_none() { vec![no_file] } else { Vec::new() };
            faults.extend(metadata.err().unwrap_or_default());
            let verdict = Verdict::Faulty(faults);
            return page(&pages, &session, StatusCode::UNPROCESSABLE_ENTITY, &typed, &verdict).await;
        }
    };
    let error = match carry_out(&pages, &session, &typed, metadata, file.clone()).await {
        Ok(Done::Submitted(address)) => return Ok(see_other(&address)),
        Ok(Done::Checked(verdict)) => return page(&pages, &session, StatusCode::OK, &typed, &verdict).await,
        Err(error) => error,
    };
    let (status, verdict) = refused(&pages, &session, error, file).await?;
    page(&pages, &session, status, &typed, &verdict).await
}

enum Done {
    /// Its page.
    Submitted(String),
    Checked(Verdict),
}

async fn carry_out(
    pages: &Pages,
    session: &Session,
    typed: &Typed,
    metadata: Metadata,
    file: SentFile,
) -> Result<Done, IntakeError> {
    let evaluation = &pages.evaluation;
    let team_id = session.principal.team.id.clone();
    let file_sha256 = file.sha256.clone();
    let idempotency_key = typed.idempotency_key();
    let upload = Upload { team_id, metadata, file, file_sha256, idempotency_key };
    if typed.is_check() {
        return Ok(Done::Checked(Verdict::Checked(intake::dry_run(evaluation, upload, false).await?)));
    }
    let Accepted { submission, is_repeated } = intake::submit(evaluation, upload).await?;
    let word = if is_repeated { "?repeated" } else { "" };
    Ok(Done::Submitted(format!("/submissions/{}{word}", submission.id)))
}

/// What a page says about a file that was not accepted.
async fn refused(
    pages: &Pages,
    session: &Session,
    error: IntakeError,
    mut file: SentFile,
) -> Result<(StatusCode, Verdict), Refusal> {
    let said = Verdict::Said(error.to_string());
    Ok(match error {
        IntakeError::Metadata(faults) => (StatusCode::UNPROCESSABLE_ENTITY, Verdict::Faulty(faults)),
        IntakeError::Refused(refusal) => {
            let status = match refusal.is_too_large() {
                true => StatusCode::PAYLOAD_TOO_LARGE,
                false => StatusCode::UNPROCESSABLE_ENTITY,
            };
            file.rewind().map_err(|error| Refusal::Inside(error.to_string()))?;
            let team_id = &session.principal.team.id;
            let lines = excerpts(&pages.evaluation, team_id, file, &refusal.faults).await?;
            (status, Verdict::Refused(refusal, lines))
        }
        IntakeError::Quota(quota) => (StatusCode::TOO_MANY_REQUESTS, Verdict::Said(quota.used_up())),
        IntakeError::OtherContent => {
            let detail = "this form was submitted before with other content; look at your submissions, then send it again";
            (StatusCode::CONFLICT, Verdict::Said(detail.into()))
        }
        IntakeError::NoRelease(_) => (StatusCode::CONFLICT, said),
        IntakeError::Io(error) => return Err(Refusal::Inside(error.to_string())),
        IntakeError::Store(error) => return Err(error.into()),
    })
}

/// The quota of a team for the splits that take submissions.
pub(super) async fn quotas(pages: &Pages, session: &Session) -> Result<Vec<Quota>, StoreError> {
    let (settings, now_ms) = (pages.evaluation.quota, pages.evaluation.clock.now_ms());
    let team_id = session.principal.team.id.clone();
    pages
        .evaluation
        .store
        .read(move |connection| {
            let of = |split| quota(connection, &settings, &team_id, split, now_ms);
            [Split::Test, Split::Val].into_iter().map(of).collect()
        })
        .await
}

async fn page(
    pages: &Pages,
    session: &Session,
    status: StatusCode,
    typed: &Typed,
    verdict: &Verdict,
) -> Shown {
    let quotas = quotas(pages, session).await?;
    let max_bytes = pages.evaluation.max_upload_bytes;
    Ok(html(status, submit_page::page(session, typed, verdict, &quotas, max_bytes)))
}
