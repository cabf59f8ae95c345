//! The parts of forms: labelled fields with their hints, what is wrong with them beside them, and the summary above. Knows
//! no single form.

use maud::{Markup, html};

use crate::domain::submission::MetadataFault;

/// A field of a form.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) label: &'a str,
    pub(super) hint: &'a str,
    /// What is wrong with it.
    pub(super) fault: Option<&'a str>,
}

/// What is wrong with a field, if something is.
pub(super) fn fault_of<'f>(faults: &'f [MetadataFault], name: &str) -> Option<&'f str> {
    let fault = faults.iter().find(|fault| fault.pointer.trim_start_matches('/') == name);
    fault.map(|fault| fault.detail.as_str())
}

impl Field<'_> {
    /// The ids of what describes the field.
    pub(super) fn described(&self) -> String {
        let name = self.name;
        match self.fault {
            Some(_) => format!("{name}-hint {name}-error"),
            None => format!("{name}-hint"),
        }
    }

    pub(super) fn invalid(&self) -> Option<&'static str> {
        self.fault.map(|_| "true")
    }
}

/// An input with its label, its hint and what is wrong with it.
pub(super) fn labelled(field: Field<'_>, input: Markup) -> Markup {
    let Field { name, label, hint, fault } = field;
    html! {
        div.field {
            label for=(name) { (label) }
            p.hint id={ (name) "-hint" } { (hint) }
            @if let Some(fault) = fault { p.wrong id={ (name) "-error" } { (capital(fault)) } }
            (input)
        }
    }
}

/// A line of text; `kind` is the input's type.
pub(super) fn line(field: Field<'_>, kind: &str, value: &str) -> Markup {
    let name = field.name;
    labelled(
        field,
        html! {
            input id=(name) name=(name) type=(kind) value=(value) autocomplete="off"
                aria-describedby=(field.described()) aria-invalid=[field.invalid()];
        },
    )
}

/// Several lines of text.
pub(super) fn lines(field: Field<'_>, value: &str) -> Markup {
    let name = field.name;
    labelled(
        field,
        html! {
            // Browsers drop the first line feed.
            textarea id=(name) name=(name) rows="3" aria-describedby=(field.described())
                aria-invalid=[field.invalid()] { "\n" (value) }
        },
    )
}

/// One of a few, each with its value, its name and a word more.
pub(super) fn choice(field: Field<'_>, chosen: &str, choices: &[(&str, &str, &str)]) -> Markup {
    let Field { name, label, hint, fault } = field;
    html! {
        fieldset.field id=(name) aria-describedby=(field.described()) {
            legend { (label) }
            p.hint id={ (name) "-hint" } { (hint) }
            @if let Some(fault) = fault { p.wrong id={ (name) "-error" } { (capital(fault)) } }
            @for (value, text, more) in choices {
                div.choice {
                    input id={ (name) "-" (value) } type="radio" name=(name) value=(value) checked[*value == chosen];
                    label for={ (name) "-" (value) } { (text) @if !more.is_empty() { small { " " (more) } } }
                }
            }
        }
    }
}

/// What stands against a form, above it.
pub(super) fn summary(title: &str, body: Markup) -> Markup {
    html! {
        section.summary #summary role="alert" tabindex="-1" aria-labelledby="summary-title" {
            h2 #summary-title { (title) }
            (body)
        }
    }
}

/// The fields that are faulty, each with the way to it.
pub(super) fn incomplete(
    faults: &[MetadataFault],
    label: impl Fn(&str) -> &'static str,
    more: &str,
) -> Markup {
    let body = html! {
        ul { @for fault in faults {
            @let name = fault.pointer.trim_start_matches('/');
            li { a href={ "#" (name) } { (label(name)) } ": " (fault.detail) }
        } }
        @if !more.is_empty() { p { (more) } }
    };
    summary("The form is not complete", body)
}

/// A sentence with its first letter as one begins.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}
