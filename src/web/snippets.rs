//! The lines of shell and Python with which a team submits without a browser, as they stand in the README. Knows nothing of
//! who looks.

use maud::{Markup, html};

const SHELL: &str = include_str!("assets/submit.sh");
const PYTHON: &str = include_str!("assets/submit.py");

/// Both, with what they need.
pub(super) fn section() -> Markup {
    html! {
        section aria-labelledby="snippets" {
            h2 #snippets { "From a shell or from Python" }
            p {
                "Both do all of it over the API. Set " code { "SECCHI_URL" } " to the address of this server and "
                code { "SECCHI_API_KEY" } " to your team's key first. The " a href="/docs/" { "API's own page" } " tells the rest."
            }
            (snippet("shell", "With curl and jq", SHELL))
            (snippet("python", "With Python and requests", PYTHON))
        }
    }
}

fn snippet(id: &str, title: &str, text: &str) -> Markup {
    html! {
        h3 id=(id) { (title) }
        pre.scroll tabindex="0" role="region" aria-labelledby=(id) { code { (text) } }
    }
}
