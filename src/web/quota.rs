//! What a team may still submit, and the ledger that it comes from.

use actix_web::http::StatusCode;
use actix_web::web;
use maud::{Markup, html};

use super::Pages;
use super::fields::capital;
use super::frame::{self, Page, Viewer, when};
use super::refusal::{Shown, html as page_of};
use super::session::Session;
use super::submissions::Before;
use super::submit::quotas;
use crate::evaluation::quota::Quota;
use crate::store::StoreError;
use crate::store::quota::{LedgerEntry, QuotaKind, load_ledger};

/// Entries on one page of the ledger.
const LISTED: i64 = 50;

pub(super) async fn show(pages: web::Data<Pages>, session: Session, before: web::Query<Before>) -> Shown {
    let before = before.id()?;
    let quotas = quotas(&pages, &session).await?;
    let team_id = session.principal.team.id.clone();
    let entries: Result<Vec<LedgerEntry>, StoreError> = pages
        .evaluation
        .store
        .read(move |connection| load_ledger(connection, &team_id, before.as_deref(), LISTED + 1))
        .await;
    Ok(page_of(StatusCode::OK, page(&session, &quotas, entries?)))
}

fn page(session: &Session, quotas: &[Quota], mut entries: Vec<LedgerEntry>) -> Markup {
    let more = entries.len() > LISTED as usize;
    entries.truncate(LISTED as usize);
    let page = Page { title: "Quota", address: "/quota", viewer: Viewer::Team(session), script: None };
    let content = html! {
        h1 { "Quota" }
        @for quota in quotas { (left(quota)) }
        h2 #ledger { "Ledger" }
        @if entries.is_empty() {
            p.empty { "Nothing was charged yet." }
        } @else {
            div.scroll tabindex="0" role="region" aria-labelledby="ledger" {
                table {
                    thead { tr {
                        th scope="col" { "When" }
                        th scope="col" { "Split" }
                        th.number scope="col" { "Change" }
                        th scope="col" { "Why" }
                    } }
                    tbody { @for entry in &entries { (row(entry, "/submissions/")) } }
                }
            }
            @if let Some(last) = entries.last().filter(|_| more) {
                p { a href={ "/quota?before=" (last.id) } { "Older ones" } }
            }
        }
    };
    frame::document(&page, &content)
}

fn left(quota: &Quota) -> Markup {
    let id = quota.split.as_str();
    let granted =
        |granted: i64| if granted > 0 { format!(", {granted} of them granted") } else { String::new() };
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (capital(id)) }
            p { strong.large { (quota.left) } " left now" }
            dl {
                dt { "Today" }
                dd { (quota.used_today) " used of " (quota.per_day + quota.granted_today) (granted(quota.granted_today)) }
                @if let Some(total) = quota.total {
                    dt { "In all" }
                    dd { (quota.used_total) " used of " (total + quota.granted_total) (granted(quota.granted_total)) }
                }
                dt { "The day's count starts anew" }
                dd { time datetime=(quota.resets_at) { (reset(quota)) } ", in " (wait(quota.resets_in_s)) }
            }
        }
    }
}

/// The instant of the reset as people read it.
fn reset(quota: &Quota) -> String {
    let (day, time) = (quota.resets_at.get(..10), quota.resets_at.get(11..16));
    format!("{} {} UTC", day.unwrap_or_default(), time.unwrap_or_default())
}

fn wait(seconds: u64) -> String {
    let minutes = seconds.div_ceil(60);
    format!("{} h {} min", minutes / 60, minutes % 60)
}

/// An entry of a ledger; `submissions` is the address that submissions are found under.
pub(super) fn row(entry: &LedgerEntry, submissions: &str) -> Markup {
    let sign = if entry.kind == QuotaKind::Charge { "−" } else { "+" };
    html! {
        tr {
            td { (when(entry.created_at_ms)) }
            td { (entry.split) }
            td.number { (sign) (entry.amount) }
            td {
                (capital(&entry.reason)) " " small { (entry.kind) ", counts to " (entry.day) }
                @if let Some(id) = &entry.submission_id { br; a href={ (submissions) (id) } { "Its submission" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::wait;

    #[test]
    fn a_wait_is_told_in_hours_and_minutes() {
        assert_eq!([wait(43_200), wait(61), wait(1)], ["12 h 0 min", "0 h 2 min", "0 h 1 min"]);
    }
}
