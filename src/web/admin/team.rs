//! One team, and what a maintainer does about it.

use actix_web::web;
use serde::Deserialize;

use super::desk::Stood;
use super::history::last_acts;
use super::team_page::{self, Seen};
use crate::accounts::{AccountError, disable_team, enable_team};
use crate::domain::question::Split;
use crate::evaluation::quota::{Grant, GrantError, grant_quota, quota};
use crate::store::StoreError;
use crate::store::keys::load_keys;
use crate::store::quota::load_ledger;
use crate::store::submissions::{SubmissionFilter, search_submissions};
use crate::store::teams::find_team;
use crate::web::Pages;
use crate::web::refusal::{Refusal, Shown, html, see_other};
use crate::web::session::{Posted, Session};
use crate::web::sign_in::Nothing;

/// Submissions and entries of the ledger that the page shows.
const SHOWN: i64 = 20;

pub(super) async fn show(pages: web::Data<Pages>, session: Session, slug: web::Path<String>) -> Shown {
    session.needs_maintainer()?;
    page(&pages, &session, &slug, None, &GrantForm::blank()).await
}

/// A grant as it is typed.
#[derive(Deserialize)]
pub(super) struct GrantForm {
    #[serde(default)]
    pub(super) split: String,
    #[serde(default)]
    pub(super) amount: String,
    #[serde(default)]
    pub(super) reason: String,
}

impl GrantForm {
    fn blank() -> GrantForm {
        GrantForm { split: Split::Test.to_string(), amount: "1".into(), reason: String::new() }
    }

    fn grant(&self) -> Result<Grant, Stood> {
        let split = Split::parse(&self.split);
        let split = split.ok_or_else(|| Stood::faulty(format!("`{}` is no split", self.split)))?;
        let amount = self.amount.trim().parse();
        let amount =
            amount.map_err(|_| Stood::faulty(format!("`{}` is no number of submissions", self.amount)))?;
        Ok(Grant { split, amount, reason: self.reason.clone() })
    }
}

pub(super) async fn grant(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<GrantForm>,
    slug: web::Path<String>,
) -> Shown {
    session.needs_maintainer()?;
    let stood = match form.grant() {
        Ok(grant) => {
            let (store, actor) = (&pages.evaluation.store, session.principal.actor());
            match grant_quota(store, &actor, &slug, grant, pages.evaluation.clock.now_ms()).await {
                Ok(_) => return Ok(see_other(&address(&slug))),
                Err(GrantError::UnknownTeam(_)) => return Err(Refusal::not_found()),
                Err(GrantError::Store(error)) => return Err(error.into()),
                Err(GrantError::Faults(faults)) => Stood::faults(&faults),
            }
        }
        Err(stood) => stood,
    };
    page(&pages, &session, &slug, Some(stood), &form).await
}

pub(super) async fn disable(
    pages: web::Data<Pages>,
    Posted { session, .. }: Posted<Nothing>,
    slug: web::Path<String>,
) -> Shown {
    session.needs_maintainer()?;
    let (store, now_ms) = (&pages.evaluation.store, pages.evaluation.clock.now_ms());
    let disabled = disable_team(store, &session.principal.actor(), slug.to_string(), now_ms).await;
    changed(&pages, &session, &slug, disabled.map(drop)).await
}

pub(super) async fn enable(
    pages: web::Data<Pages>,
    Posted { session, .. }: Posted<Nothing>,
    slug: web::Path<String>,
) -> Shown {
    session.needs_maintainer()?;
    let (store, now_ms) = (&pages.evaluation.store, pages.evaluation.clock.now_ms());
    let enabled = enable_team(store, &session.principal.actor(), slug.to_string(), now_ms).await;
    changed(&pages, &session, &slug, enabled.map(drop)).await
}

async fn changed(pages: &Pages, session: &Session, slug: &str, change: Result<(), AccountError>) -> Shown {
    match change {
        Ok(()) => Ok(see_other(&address(slug))),
        Err(AccountError::UnknownTeam(_)) => Err(Refusal::not_found()),
        Err(AccountError::Store(error)) => Err(error.into()),
        Err(error) => page(pages, session, slug, Some(Stood::conflict(error)), &GrantForm::blank()).await,
    }
}

fn address(slug: &str) -> String {
    format!("/admin/teams/{slug}")
}

async fn page(
    pages: &Pages,
    session: &Session,
    slug: &str,
    stood: Option<Stood>,
    typed: &GrantForm,
) -> Shown {
    let evaluation = &pages.evaluation;
    let (settings, now_ms) = (evaluation.quota, evaluation.clock.now_ms());
    let slug = slug.to_owned();
    let found: Result<Option<Seen>, StoreError> = evaluation
        .store
        .read(move |connection| {
            let Some(team) = find_team(connection, &slug)? else { return Ok(None) };
            let mut quotas = Vec::new();
            for split in [Split::Test, Split::Val] {
                quotas.push(quota(connection, &settings, &team.id, split, now_ms)?);
            }
            let filter = SubmissionFilter { team: Some(slug), ..SubmissionFilter::default() };
            Ok(Some(Seen {
                quotas,
                keys: load_keys(connection, &team.id)?,
                submissions: search_submissions(connection, &filter, None, SHOWN)?,
                ledger: load_ledger(connection, &team.id, None, SHOWN)?,
                acts: last_acts(connection, Some(&team.slug))?,
                now_ms,
                team,
            }))
        })
        .await;
    let seen = found?.ok_or_else(Refusal::not_found)?;
    let status = Stood::status(stood.as_ref());
    Ok(html(status, team_page::page(session, &seen, typed, stood.as_ref())))
}
