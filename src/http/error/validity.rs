//! What can go wrong with human ratings and the agreement with them, as problems.

use actix_web::http::StatusCode;

use super::Problem;
use crate::evaluation::validity::importing::ImportRatingsError;
use crate::evaluation::validity::measuring::AgreementError;

/// Faults of a file of ratings that are listed at most.
const MAX_FAULTS: usize = 100;

impl Problem {
    /// 413 for a body of more than `most` bytes.
    pub fn too_large(most: usize) -> Problem {
        let detail = format!("the body has more than {most} bytes; send a smaller file");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
    }

    /// 400 for a body that did not come whole.
    pub fn unreadable_body(error: &actix_web::Error) -> Problem {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "malformed_body",
            format!("the body did not come whole: {error}"),
        )
    }
}

impl From<ImportRatingsError> for Problem {
    fn from(error: ImportRatingsError) -> Problem {
        match error {
            ImportRatingsError::Faulty(faults) => {
                let detail = format!(
                    "the file has {} fault(s) and was refused whole; mend each of the `errors`",
                    faults.len()
                );
                let listed = &faults[..faults.len().min(MAX_FAULTS)];
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_ratings", detail)
                    .with_errors(listed, faults.len() as u64)
            }
            ImportRatingsError::Judge(_) => Problem::parameter(format!("`judge`: {error}")),
            ImportRatingsError::Store(error) => error.into(),
        }
    }
}

impl From<AgreementError> for Problem {
    fn from(error: AgreementError) -> Problem {
        match error {
            AgreementError::NoRatings
            | AgreementError::UnknownJudge(_)
            | AgreementError::NotMeasured(_)
            | AgreementError::NoFileScores => Problem::not_found(error.to_string()),
            AgreementError::Store(error) => error.into(),
        }
    }
}
