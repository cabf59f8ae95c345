//! Signing a browser in with an API key, and out again.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};
use maud::{Markup, html};
use serde::Deserialize;

use super::Pages;
use super::frame::{self, Page, Viewer};
use super::refusal::{Refusal, Shown, html as page_of, see_other};
use super::session::{self, Open, Posted, Session};
use crate::accounts::{self, Unauthenticated};
use crate::limiter::Turn;

/// Where a browser goes after it signed in, unless it was on its way somewhere.
const HOME: &str = "/submissions";

/// Where a browser was on its way.
#[derive(Deserialize)]
pub(super) struct Way {
    next: Option<String>,
}

/// What the form holds.
#[derive(Deserialize)]
pub(super) struct SignIn {
    api_key: String,
    next: Option<String>,
}

/// A form without fields of its own.
#[derive(Deserialize)]
pub(super) struct Nothing {}

pub(super) async fn show(request: HttpRequest, pages: web::Data<Pages>, way: web::Query<Way>) -> Shown {
    let next = way.next.as_deref();
    match Session::find(&request, &pages).await {
        Ok(Some(_)) => Ok(see_other(&local(next))),
        Ok(None) => Ok(page_of(StatusCode::OK, form(None, next))),
        Err(error @ (Unauthenticated::Store(_) | Unauthenticated::ReadOnly)) => Err(error.into()),
        // The cookie is of no use any more; the page says why.
        Err(error) => {
            let mut response = page_of(StatusCode::OK, form(Some(&sentence(&error)), next));
            set(&mut response, session::no_cookie(&pages))?;
            Ok(response)
        }
    }
}

pub(super) async fn sign_in(
    pages: web::Data<Pages>,
    request: HttpRequest,
    Open(SignIn { api_key, next }): Open<SignIn>,
) -> Shown {
    let next = next.as_deref();
    if let Some(Turn::Wait(wait)) =
        pages.attempts.as_ref().map(|attempts| attempts.take(&pages.address(&request)))
    {
        let seconds = wait.as_secs() + 1;
        let detail =
            format!("Too many attempts to sign in came from this address. Wait {seconds} s and try again.");
        let mut response = page_of(StatusCode::TOO_MANY_REQUESTS, form(Some(&detail), next));
        response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from(seconds));
        return Ok(response);
    }
    let evaluation = &pages.evaluation;
    let signed_in =
        accounts::sign_in(&evaluation.store, &pages.signer, api_key.trim(), evaluation.clock.now_ms()).await;
    match signed_in {
        Ok(token) => {
            let mut response = see_other(&local(next));
            set(&mut response, session::cookie(&pages, token))?;
            Ok(response)
        }
        Err(Unauthenticated::Store(error)) => Err(error.into()),
        Err(Unauthenticated::Sign(error)) => Err(Refusal::Inside(error.to_string())),
        Err(error) => Ok(page_of(StatusCode::UNAUTHORIZED, form(Some(&sentence(&error)), next))),
    }
}

pub(super) async fn sign_out(pages: web::Data<Pages>, _: Posted<Nothing>) -> Shown {
    let mut response = see_other("/sign-in");
    set(&mut response, session::no_cookie(&pages))?;
    Ok(response)
}

fn set(response: &mut HttpResponse, cookie: actix_web::cookie::Cookie<'_>) -> Result<(), Refusal> {
    response.add_cookie(&cookie).map_err(|error| Refusal::Inside(error.to_string()))
}

/// An address of this server that was asked for; never one of another.
fn local(next: Option<&str>) -> String {
    let is_local = |next: &&str| {
        next.starts_with('/')
            && !next.starts_with("//")
            && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    };
    next.filter(is_local).unwrap_or(HOME).to_owned()
}

fn sentence(error: &Unauthenticated) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

fn form(error: Option<&str>, next: Option<&str>) -> Markup {
    let title = if error.is_some() { "Error: Sign in" } else { "Sign in" };
    let page = Page { title, address: "/sign-in", viewer: Viewer::Guest, script: None };
    let content = html! {
        h1 { "Sign in" }
        p { "Your team's API key signs this browser in for twelve hours. The key itself is not kept here." }
        form.narrow method="post" action="/sign-in" {
            @if let Some(next) = next { input type="hidden" name="next" value=(next); }
            div.field {
                label for="api_key" { "API key" }
                p.hint #api_key-hint { "It begins with " code { "sk_secchi_" } "." }
                @if let Some(error) = error { p.wrong #api_key-error role="alert" { (error) } }
                input #api_key name="api_key" type="password" autocomplete="current-password" required
                    spellcheck="false" autofocus[error.is_some()] aria-invalid=[error.map(|_| "true")]
                    aria-describedby=(if error.is_some() { "api_key-hint api_key-error" } else { "api_key-hint" });
            }
            button type="submit" { "Sign in" }
        }
        p { "No key yet? " a href="/sign-up" { "Sign up" } "." }
    };
    frame::document(&page, &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_sent_on_within_this_server_alone() {
        for good in ["/submit", "/submissions/01a2?x=1", "/"] {
            assert_eq!(local(Some(good)), good);
        }
        for bad in
            ["//evil.example", "/\\evil.example", "https://evil.example", "evil", "", "/a\nb", "javascript:x"]
        {
            assert_eq!(local(Some(bad)), HOME, "{bad}");
        }
        assert_eq!(local(None), HOME);
    }
}
