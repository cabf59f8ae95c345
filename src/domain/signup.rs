//! Sign-ups: what an applicant says, and when two of them look like one. Knows nothing of keys, storage or time.

use serde::{Deserialize, Serialize};

use super::submission::{MetadataFault, text_fault};
use super::team::is_slug;
use crate::text_enum;

text_enum! {
    /// Where a sign-up stands.
    SignupState { Pending = "pending", Approved = "approved", Rejected = "rejected" }
}

text_enum! {
    /// Why a sign-up may be somebody's second.
    Likeness {
        Email = "email",
        DomainAndName = "domain_and_name",
        Address = "address",
        Slug = "slug",
    }
}

const MAX_NAME_CHARS: usize = 120;
const MAX_PURPOSE_CHARS: usize = 1000;
/// RFC 5321, 4.5.3.1.
const MAX_EMAIL_CHARS: usize = 254;

/// What an applicant says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// The short name that the team wants: 1 to 40 of `a-z`, `0-9` and `-`.
    pub slug: String,
    /// The team's full name.
    pub name: String,
    /// Where to reach the team.
    pub email: String,
    /// The university, institute or company.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affiliation: Option<String>,
    /// What the team wants to do here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
}

impl Application {
    /// Everything that is wrong with it; empty if nothing is.
    pub fn faults(&self) -> Vec<MetadataFault> {
        let mut faults = Vec::new();
        let mut fault = |field: &str, detail: &str| {
            faults.push(MetadataFault { pointer: format!("/{field}"), detail: detail.to_owned() });
        };
        if !is_slug(&self.slug) {
            fault("slug", "is no short name; use 1 to 40 of a-z, 0-9 and `-`, not first or last");
        }
        if self.name.trim().is_empty() {
            fault("name", "is blank; give the team's full name");
        }
        if !is_email(&self.email) {
            fault("email", "is no e-mail address; give one such as `lab@example.org`");
        }
        let texts = [
            ("name", Some(&self.name), MAX_NAME_CHARS),
            ("affiliation", self.affiliation.as_ref(), MAX_NAME_CHARS),
            ("purpose", self.purpose.as_ref(), MAX_PURPOSE_CHARS),
        ];
        faults.extend(texts.into_iter().filter_map(|(field, text, max)| text_fault(field, text?, max)));
        faults
    }
}

/// What is wrong with the name and the address of a team that maintainers make.
pub fn contact_faults(name: &str, email: Option<&str>) -> Vec<MetadataFault> {
    let name = text_fault("name", name, MAX_NAME_CHARS);
    let email = email.filter(|email| !is_email(email)).map(|_| MetadataFault {
        pointer: "/email".into(),
        detail: "is no e-mail address; give one such as `lab@example.org`".into(),
    });
    name.into_iter().chain(email).collect()
}

/// Whether `text` can be an address: one `@` with a name before and a domain with a dot behind, nothing that a header
/// could be broken with.
fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.split_once('@') else { return false };
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && !"<>(),;:\\\"[]@".contains(c);
    !name.is_empty()
        && text.chars().count() <= MAX_EMAIL_CHARS
        && name.chars().all(allowed)
        && domain.chars().all(allowed)
        && domain.split('.').count() > 1
        && domain.split('.').all(|label| !label.is_empty())
}

/// How a team or applicant is compared with others.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    /// The short name.
    pub slug: &'a str,
    /// The full name.
    pub name: &'a str,
    /// Where to reach it.
    pub email: Option<&'a str>,
    /// Hash of the address that it signed up from, if it did.
    pub address_sha256: Option<&'a str>,
}

impl Identity<'_> {
    /// In what the two are alike; empty if in nothing.
    pub fn likeness(&self, other: &Identity<'_>) -> Vec<Likeness> {
        let emails = self.email.zip(other.email).map(|(one, two)| (mailbox(one), mailbox(two)));
        let same_email = emails.as_ref().is_some_and(|(one, two)| one == two);
        let same_domain = emails.as_ref().is_some_and(|(one, two)| one.1 == two.1);
        let same_name = words(self.name) == words(other.name);
        let same_address = self.address_sha256.zip(other.address_sha256).is_some_and(|(one, two)| one == two);
        let found = [
            (same_email, Likeness::Email),
            (same_domain && same_name, Likeness::DomainAndName),
            (same_address, Likeness::Address),
            (self.slug == other.slug, Likeness::Slug),
        ];
        found.into_iter().filter(|(is_so, _)| *is_so).map(|(_, likeness)| likeness).collect()
    }
}

/// Name and domain of an e-mail address in lower case, without what stands behind a `+`: it reaches the same person.
fn mailbox(email: &str) -> (String, String) {
    let email = email.trim().to_lowercase();
    let (name, domain) = email.rsplit_once('@').unwrap_or((&email, ""));
    let name = name.split('+').next().unwrap_or(name);
    (name.to_owned(), domain.to_owned())
}

/// A name without case, punctuation and order of spaces.
fn words(name: &str) -> String {
    let lower = name.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application() -> Application {
        Application {
            slug: "ocean-lab".into(),
            name: "Ocean Lab".into(),
            email: "lab@example.org".into(),
            affiliation: None,
            purpose: Some("To see how our model sees.".into()),
        }
    }

    #[test]
    fn every_fault_of_an_application_is_named_at_once() {
        assert_eq!(application().faults(), Vec::new());
        let wrong = Application {
            slug: "Ocean Lab".into(),
            name: " ".into(),
            email: "lab".into(),
            affiliation: Some("\u{1b}[31m".into()),
            purpose: Some("x".repeat(2000)),
        };
        let pointers: Vec<String> = wrong.faults().into_iter().map(|fault| fault.pointer).collect();
        assert_eq!(pointers, ["/slug", "/name", "/email", "/affiliation", "/purpose"]);
    }

    #[test]
    fn an_address_that_could_break_a_header_is_none() {
        assert!(["a@b.org", "a.b+c@x.y.org", "ü@meer.de"].into_iter().all(is_email));
        let wrong = [
            "",
            "a",
            "@b.org",
            "a@b",
            "a@.org",
            "a@b..org",
            "a@b.org\nBcc: x@y.org",
            "a b@c.org",
            "a@b@c.org",
        ];
        assert!(!wrong.into_iter().any(is_email));
    }

    #[test]
    fn a_second_sign_up_is_known_by_mail_domain_and_name_address_or_short_name() {
        let lab = Identity {
            slug: "ocean-lab",
            name: "Ocean Lab",
            email: Some("lab@example.org"),
            address_sha256: Some("1"),
        };
        let other = Identity { slug: "reef", name: "Reef", email: None, address_sha256: Some("2") };
        assert_eq!(lab.likeness(&other), []);
        let with_plus = Identity { email: Some("LAB+two@Example.org"), ..other };
        assert_eq!(lab.likeness(&with_plus), [Likeness::Email]);
        let colleague = Identity { name: "ocean-lab", email: Some("b@example.org"), ..other };
        assert_eq!(lab.likeness(&colleague), [Likeness::DomainAndName]);
        assert_eq!(lab.likeness(&Identity { address_sha256: Some("1"), ..other }), [Likeness::Address]);
        assert_eq!(lab.likeness(&Identity { slug: "ocean-lab", ..other }), [Likeness::Slug]);
        let elsewhere = Identity { name: "Ocean Lab", email: Some("x@example.com"), ..other };
        assert_eq!(lab.likeness(&elsewhere), []);
    }
}
