//! Who is signed in: the cookie, the token that each form carries, and what a form must prove. The cookie holds a signed
//! name of the key and no key; the session ends with the key.

use std::future::Future;
use std::pin::Pin;

use actix_web::cookie::{Cookie, SameSite, time};
use actix_web::dev::Payload;
use actix_web::http::{Method, StatusCode, header};
use actix_web::{FromRequest, HttpRequest, web};
use maud::{Markup, html};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::Pages;
use super::refusal::Refusal;
use crate::accounts::{Principal, Unauthenticated, resume_session};
use crate::domain::key::Scope;
use crate::tokens::SESSION_TTL_S;

const COOKIE: &str = "secchi_session";

/// The field of a form that holds its token.
pub(super) const TOKEN_FIELD: &str = "form_token";

/// A browser that is signed in.
pub(super) struct Session {
    pub(super) principal: Principal,
    form_token: String,
}

impl Session {
    /// The hidden field that shows that a form comes from a page of this session.
    pub(super) fn token_field(&self) -> Markup {
        html! { input type="hidden" name=(TOKEN_FIELD) value=(self.form_token); }
    }

    /// Whether a form carries this session's token. How far the comparison got tells nothing: nobody can choose the
    /// beginning of a hash.
    pub(super) fn gave(&self, token: &str) -> bool {
        self.form_token == token
    }

    /// Refuses what this session's key may not do.
    pub(super) fn needs(&self, scope: Scope) -> Result<(), Refusal> {
        let held = self.principal.scope;
        if scope <= held {
            return Ok(());
        }
        let detail = format!(
            "This browser signed in with a key of scope `{held}`, and this needs `{scope}`. Sign out, and sign in with \
             another key."
        );
        Err(Refusal::said(StatusCode::FORBIDDEN, "This key may not do that", detail))
    }

    /// Refuses whoever is no maintainer.
    pub(super) fn needs_maintainer(&self) -> Result<(), Refusal> {
        if !self.principal.is_maintainer() {
            let detail = "This page is for maintainers.";
            return Err(Refusal::said(StatusCode::FORBIDDEN, "This page is not for teams", detail));
        }
        self.needs(Scope::Admin)
    }

    /// The session that a request's cookie names; none without a cookie.
    ///
    /// # Errors
    /// When the session has ended.
    pub(super) async fn find(
        request: &HttpRequest,
        pages: &Pages,
    ) -> Result<Option<Session>, Unauthenticated> {
        let evaluation = &pages.evaluation;
        if evaluation.store.is_read_only() {
            return Err(Unauthenticated::ReadOnly);
        }
        let Some(cookie) = request.cookie(COOKIE) else { return Ok(None) };
        let token = cookie.value();
        let now_ms = evaluation.clock.now_ms();
        let place = pages.address(request);
        let principal = resume_session(&evaluation.store, &pages.signer, token, place, now_ms).await?;
        // Whoever does not know the cookie cannot know this, and whoever reads a page does not learn the cookie.
        let form_token = hex::encode(Sha256::digest(format!("{TOKEN_FIELD}:{token}")));
        Ok(Some(Session { principal, form_token }))
    }
}

/// The cookie that signs a browser in.
pub(super) fn cookie(pages: &Pages, token: String) -> Cookie<'static> {
    let lifetime = time::Duration::seconds(SESSION_TTL_S);
    Cookie::build(COOKIE, token)
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(pages.is_secure())
        .max_age(lifetime)
        .finish()
}

/// The cookie that signs a browser out.
pub(super) fn no_cookie(pages: &Pages) -> Cookie<'static> {
    let mut cookie = cookie(pages, String::new());
    cookie.make_removal();
    cookie
}

type Found<T> = Pin<Box<dyn Future<Output = Result<T, Refusal>>>>;

impl FromRequest for Session {
    type Error = Refusal;
    type Future = Found<Session>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move { signed_in(&request).await })
    }
}

async fn signed_in(request: &HttpRequest) -> Result<Session, Refusal> {
    let pages = pages(request)?;
    let next = (request.method() == Method::GET).then(|| request.path().to_owned());
    match Session::find(request, &pages).await {
        Ok(Some(session)) => Ok(session),
        Ok(None) => Err(Refusal::SignIn { next }),
        Err(error) => match error.into() {
            Refusal::SignIn { .. } => Err(Refusal::SignIn { next }),
            refusal => Err(refusal),
        },
    }
}

fn pages(request: &HttpRequest) -> Result<web::Data<Pages>, Refusal> {
    let pages = request.app_data::<web::Data<Pages>>().cloned();
    pages.ok_or_else(|| Refusal::Inside("the pages are not wired".into()))
}

/// A form that a page of this session sent.
pub(super) struct Posted<T> {
    pub(super) session: Session,
    pub(super) form: T,
}

#[derive(Deserialize)]
struct Tokened<T> {
    #[serde(default)]
    form_token: String,
    #[serde(flatten)]
    form: T,
}

impl<T: DeserializeOwned + 'static> FromRequest for Posted<T> {
    type Error = Refusal;
    type Future = Found<Posted<T>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let form = web::Form::<Tokened<T>>::from_request(&request, payload);
        Box::pin(async move {
            from_here(&request)?;
            let session = signed_in(&request).await?;
            let Tokened { form_token, form } = read(form.await)?;
            if session.gave(&form_token) {
                Ok(Posted { session, form })
            } else {
                Err(Refusal::foreign_form())
            }
        })
    }
}

/// A form that needs no session, but no other site may send.
pub(super) struct Open<T>(pub(super) T);

impl<T: DeserializeOwned + 'static> FromRequest for Open<T> {
    type Error = Refusal;
    type Future = Found<Open<T>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let form = web::Form::<T>::from_request(&request, payload);
        Box::pin(async move {
            from_here(&request)?;
            read(form.await).map(Open)
        })
    }
}

fn read<T>(form: Result<web::Form<T>, actix_web::Error>) -> Result<T, Refusal> {
    form.map(web::Form::into_inner).map_err(|error| {
        let detail =
            format!("The form could not be read: {error}. Go back, load the page anew and send it again.");
        Refusal::said(StatusCode::BAD_REQUEST, "This form is incomplete", detail)
    })
}

/// Refuses what a page of another site makes a browser send. A client that is no browser tells neither header, and has no
/// cookie that it did not ask for.
pub(super) fn from_here(request: &HttpRequest) -> Result<(), Refusal> {
    let told = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let here = match (told("sec-fetch-site"), told(header::ORIGIN.as_str())) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, None) => true,
        (None, Some(origin)) => {
            let pages = pages(request)?;
            let host = origin.split_once("://").map_or(origin, |(_, host)| host);
            told(header::HOST.as_str()) == Some(host) || pages.public_origin.as_deref() == Some(origin)
        }
    };
    if here { Ok(()) } else { Err(Refusal::foreign_form()) }
}
