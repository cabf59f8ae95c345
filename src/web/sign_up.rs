//! Signing up from a page, as the applicant does it: the form, the page that the applicant keeps, and the key, once.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, web};
use serde::Deserialize;

use super::Pages;
use super::refusal::{Refusal, Shown, html, see_other};
use super::session::Open;
use super::sign_in::Nothing;
use super::sign_up_page::{self as page, Against};
use crate::accounts::signup::{self, SignupError};
use crate::config::SignupMode;
use crate::domain::signup::Application;

/// The form as it was typed.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Typed {
    #[serde(default)]
    pub(super) slug: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) email: String,
    #[serde(default)]
    pub(super) affiliation: String,
    #[serde(default)]
    pub(super) purpose: String,
}

impl Typed {
    fn application(&self) -> Application {
        let given = |text: &str| {
            Some(text.trim()).filter(|text| !text.is_empty()).map(|text| text.replace("\r\n", "\n"))
        };
        Application {
            slug: self.slug.trim().to_owned(),
            name: self.name.trim().to_owned(),
            email: self.email.trim().to_owned(),
            affiliation: given(&self.affiliation),
            purpose: given(&self.purpose),
        }
    }
}

pub(super) async fn show(pages: web::Data<Pages>) -> Shown {
    if pages.evaluation.store.is_read_only() {
        return Err(Refusal::archive());
    }
    if pages.signup == SignupMode::Closed {
        return Err(refusal(SignupError::Closed));
    }
    Ok(html(StatusCode::OK, page::form(pages.signup, &Typed::default(), &Against::Nothing)))
}

pub(super) async fn create(pages: web::Data<Pages>, request: HttpRequest, Open(typed): Open<Typed>) -> Shown {
    let evaluation = &pages.evaluation;
    let (application, address) = (typed.application(), pages.address(&request));
    let now_ms = evaluation.clock.now_ms();
    let applied = signup::sign_up(&evaluation.store, pages.signup, application, &address, now_ms).await;
    let (status, wait_s, against) = match applied {
        Ok(applied) => return Ok(see_other(&format!("/sign-up/{}", applied.claim))),
        Err(SignupError::Faults(faults)) => (StatusCode::UNPROCESSABLE_ENTITY, None, Against::Fields(faults)),
        Err(error @ SignupError::Taken(_)) => {
            (StatusCode::CONFLICT, None, Against::field("slug", error.to_string()))
        }
        Err(error @ SignupError::TooMany { wait_s }) => {
            (StatusCode::TOO_MANY_REQUESTS, Some(wait_s), Against::All(error.to_string()))
        }
        Err(error @ SignupError::Full) => {
            (StatusCode::SERVICE_UNAVAILABLE, None, Against::All(error.to_string()))
        }
        Err(error) => return Err(refusal(error)),
    };
    let mut response = html(status, page::form(pages.signup, &typed, &against));
    if let Some(seconds) = wait_s {
        response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from(seconds));
    }
    Ok(response)
}

pub(super) async fn follow(pages: web::Data<Pages>, claim: web::Path<String>) -> Shown {
    let signup = signup::claimed_signup(&pages.evaluation.store, &claim).await.map_err(refusal)?;
    Ok(html(StatusCode::OK, page::followed(&signup, &claim, pages.mails)))
}

pub(super) async fn tell_key(pages: web::Data<Pages>, claim: web::Path<String>, _: Open<Nothing>) -> Shown {
    let evaluation = &pages.evaluation;
    let now_ms = evaluation.clock.now_ms();
    let told = signup::tell_key(&evaluation.store, &claim, pages.mails, now_ms).await.map_err(refusal)?;
    Ok(html(StatusCode::CREATED, page::told(&told.team.slug, &told.api_key)))
}

fn refusal(error: SignupError) -> Refusal {
    let detail = super::fields::capital(&error.to_string()) + ".";
    let status = match error {
        SignupError::Store(error) => return error.into(),
        SignupError::Unknown => StatusCode::NOT_FOUND,
        SignupError::Closed => StatusCode::FORBIDDEN,
        SignupError::Told => StatusCode::GONE,
        _ => StatusCode::CONFLICT,
    };
    let title = match status {
        StatusCode::NOT_FOUND => "This sign-up does not exist",
        StatusCode::FORBIDDEN => "Sign-up is closed",
        _ => "There is no key to show",
    };
    Refusal::said(status, title, detail)
}
