//! What all pages share: head, navigation, footer, and how instants and states are written. Knows no single page.

use maud::{DOCTYPE, Markup, html};

use super::assets::{self, BOARD, PROGRESS, STYLE, SUBMIT};
use super::session::Session;
use crate::domain::instant;

/// What a page is, beside its content.
pub(super) struct Page<'a> {
    pub(super) title: &'a str,
    /// The link of the navigation that leads here.
    pub(super) address: &'a str,
    pub(super) viewer: Viewer<'a>,
    pub(super) script: Option<Script>,
}

/// What others show of a page when its address is handed on.
pub(super) struct Sharing<'a> {
    /// One or two sentences.
    pub(super) description: &'a str,
    /// Scheme and host of this server, where it was told; pictures need it.
    pub(super) origin: Option<&'a str>,
    /// The address that stands for all views of the page, without the origin.
    pub(super) canonical: &'a str,
    /// The address of a picture of 1200 x 630 pixels, without the origin.
    pub(super) picture: &'a str,
}

/// Who looks at a page, as far as the page may know.
#[derive(Clone, Copy)]
pub(super) enum Viewer<'a> {
    /// The page is the same for everybody.
    Anybody,
    /// Nobody is signed in.
    Guest,
    Team(&'a Session),
}

/// What adds comfort to a page that works without.
#[derive(Clone, Copy)]
pub(super) enum Script {
    Board,
    Submit,
    Progress,
}

const EVERYBODYS: [(&str, &str); 5] = [
    ("/", "Board"),
    ("/compare", "Compare"),
    ("/judge", "Judge"),
    ("/about", "About"),
    ("/submit", "Submit"),
];

const TEAMS: [(&str, &str); 3] = [("/submissions", "Submissions"), ("/quota", "Quota"), ("/keys", "Keys")];

const MAINTAINERS: (&str, &str) = ("/admin", "Administration");

/// The pages of administration, which are linked to from each other.
const ADMINISTRATION: [(&str, &str); 8] = [
    ("/admin", "Overview"),
    ("/admin/signups", "Sign-ups"),
    ("/admin/teams", "Teams"),
    ("/admin/submissions", "Submissions"),
    ("/admin/flags", "Flags"),
    ("/admin/releases", "Releases"),
    ("/admin/judge", "Judge"),
    ("/admin/audit", "Audit log"),
];

/// The whole document around `content`.
pub(super) fn document(page: &Page<'_>, content: &Markup) -> Markup {
    whole(page, &html! {}, content)
}

/// The whole document of a page whose address is handed on.
pub(super) fn shared_document(page: &Page<'_>, sharing: &Sharing<'_>, content: &Markup) -> Markup {
    let origin = sharing.origin.unwrap_or_default();
    let head = html! {
        meta name="description" content=(sharing.description);
        link rel="canonical" href={ (origin) (sharing.canonical) };
        meta property="og:type" content="website";
        meta property="og:site_name" content="Secchi";
        meta property="og:title" content=(page.title);
        meta property="og:description" content=(sharing.description);
        @if !origin.is_empty() {
            meta property="og:url" content={ (origin) (sharing.canonical) };
            meta property="og:image" content={ (origin) (sharing.picture) };
            meta property="og:image:width" content="1200";
            meta property="og:image:height" content="630";
            meta name="twitter:card" content="summary_large_image";
        }
        link rel="alternate" type="application/atom+xml" title="New entries" href="/feed.atom";
    };
    whole(page, &head, content)
}

fn whole(page: &Page<'_>, head: &Markup, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) " · Secchi" }
                (head)
                link rel="stylesheet" href=(assets::address(&STYLE));
                @match page.script {
                    Some(Script::Board) => script src=(assets::address(&BOARD)) defer {},
                    Some(Script::Submit) => script src=(assets::address(&SUBMIT)) defer {},
                    Some(Script::Progress) => script src=(assets::address(&PROGRESS)) defer {},
                    None => {}
                }
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                (bar(page))
                @if is_administration(page) {
                    nav.sections aria-label="Administration" { @for target in ADMINISTRATION { (link(page, target)) } }
                }
                main #content tabindex="-1" { (content) }
                footer {
                    p {
                        "Secchi, the evaluation server of MarineLife-16K. "
                        a href="/docs/" { "API" }
                    }
                }
            }
        }
    }
}

fn is_administration(page: &Page<'_>) -> bool {
    page.address.starts_with(MAINTAINERS.0)
}

fn link(page: &Page<'_>, (address, name): (&str, &str)) -> Markup {
    html! { a href=(address) aria-current=[(address == page.address).then_some("page")] { (name) } }
}

fn bar(page: &Page<'_>) -> Markup {
    let link = |target| link(page, target);
    let (address, name) = MAINTAINERS;
    html! {
        div.bar {
            a.brand href="/" { "Secchi" }
            nav aria-label="Secchi" {
                @for target in EVERYBODYS { (link(target)) }
                @match page.viewer {
                    Viewer::Anybody => (link(("/submissions", "Your team"))),
                    Viewer::Guest => { (link(("/sign-in", "Sign in"))) (link(("/sign-up", "Sign up"))) }
                    Viewer::Team(session) => {
                        @for target in TEAMS { (link(target)) }
                        @if session.principal.is_maintainer() {
                            a href=(address) aria-current=[is_administration(page).then_some("true")] { (name) }
                        }
                    }
                }
            }
            @if let Viewer::Team(session) = page.viewer {
                form.who method="post" action="/sign-out" {
                    (session.token_field())
                    span { "Signed in as " strong { (session.principal.team.slug) } }
                    button.plain type="submit" { "Sign out" }
                }
            }
        }
    }
}

/// A page that only says something.
pub(super) fn message(title: &str, detail: &str) -> Markup {
    let page = Page { title, address: "", viewer: Viewer::Anybody, script: None };
    let content = html! {
        h1 { (title) }
        p { (detail) }
        p { a href="/" { "To the leaderboard" } }
    };
    document(&page, &content)
}

/// A secret that is shown this once.
pub(super) fn told_key(title: &str, api_key: &str) -> Markup {
    html! {
        section.good #summary role="status" aria-labelledby="summary-title" {
            h2 #summary-title { (title) }
            p { code.key { (api_key) } }
            p { "It is shown only now. Keep it where secrets are kept; whoever has it acts for the team." }
        }
    }
}

/// An instant to the minute, in UTC.
pub(super) fn when(instant_ms: i64) -> Markup {
    let exact = instant::rfc3339(instant_ms);
    let (day, time) = (exact.get(..10).unwrap_or_default(), exact.get(11..16).unwrap_or_default());
    html! { time datetime=(exact) { span { (day) } " " span { (time) " UTC" } } }
}
