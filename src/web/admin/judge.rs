//! Judge configurations, how far each agrees with people, how far the staged one has come and what it moves, and what judging
//! costs.

use std::collections::HashMap;

use actix_web::http::StatusCode;
use actix_web::web;
use serde::Deserialize;

use super::desk::Stood;
use super::judge_page::{self, Seen, Staged};
use crate::evaluation::staging::{self, ConfigurationView, StagingError, configurations};
use crate::evaluation::staging_moves::rank_moves;
use crate::evaluation::usage::{Grouping, UsageQuery, judge_usage};
use crate::evaluation::validity::gate::{AgreementChange, agreement_change};
use crate::store::configurations::{CURRENT, STAGED};
use crate::store::rejudgings::load_incomplete_entries;
use crate::store::releases::load_releases;
use crate::store::{DbConnection, StoreError};
use crate::web::Pages;
use crate::web::refusal::{Refusal, Shown, html, see_other};
use crate::web::session::{Posted, Session};

/// Which days of spending are shown; the last thirty unless said.
#[derive(Default, Deserialize)]
pub(super) struct Days {
    from: Option<String>,
    to: Option<String>,
}

pub(super) async fn show(pages: web::Data<Pages>, session: Session, days: web::Query<Days>) -> Shown {
    session.needs_maintainer()?;
    page(&pages, &session, &days, None).await
}

/// Which configuration is to become current.
#[derive(Deserialize)]
pub(super) struct Chosen {
    configuration: String,
    /// Why one that agrees less with people is taken all the same; blank where it is not meant to be.
    #[serde(default)]
    accept_worse_agreement: String,
}

pub(super) async fn activate(pages: web::Data<Pages>, Posted { session, form }: Posted<Chosen>) -> Shown {
    session.needs_maintainer()?;
    let (store, now_ms) = (&pages.evaluation.store, pages.evaluation.clock.now_ms());
    let accepted = Some(form.accept_worse_agreement).filter(|reason| !reason.trim().is_empty());
    let (actor, chosen) = (session.principal.actor(), Some(form.configuration));
    let stood = match staging::activate(store, &actor, chosen, accepted, now_ms).await {
        Ok(_) => return Ok(see_other("/admin/judge")),
        Err(StagingError::Store(error)) => return Err(error.into()),
        Err(error @ StagingError::Unknown(_)) => {
            Stood { status: StatusCode::NOT_FOUND, detail: error.to_string() }
        }
        Err(error @ StagingError::Reason(_)) => Stood::faulty(error),
        Err(error) => Stood::conflict(error),
    };
    page(&pages, &session, &Days::default(), Some(stood)).await
}

async fn page(pages: &Pages, session: &Session, days: &Days, stood: Option<Stood>) -> Shown {
    let (evaluation, now_ms) = (&pages.evaluation, pages.evaluation.clock.now_ms());
    let given = |day: &Option<String>| day.clone().filter(|day| !day.is_empty());
    let query = |by: Grouping| {
        let query = UsageQuery::new(given(&days.from), given(&days.to), vec![by], now_ms);
        query.map_err(|error| {
            Refusal::said(StatusCode::BAD_REQUEST, "These days cannot be shown", format!("{error}."))
        })
    };
    let (by_day, by_team) = (query(Grouping::Day)?, query(Grouping::Team)?);
    let by_rubric = query(Grouping::Rubric)?;
    let budget_usd = evaluation.judges.budget_usd();
    let closed = evaluation.judges.gate().and_then(|gate| gate.closed());
    let settings = evaluation.judges.wanted();
    let settings = (settings.id(), settings.model);
    let found: Result<Seen, StoreError> = evaluation
        .store
        .snapshot(move |connection| {
            let configurations = configurations(connection)?;
            Ok(Seen {
                staged: staged(connection, &configurations)?,
                agreements: agreements(connection, &configurations)?,
                configurations,
                settings,
                closed,
                by_day: judge_usage(connection, by_day, budget_usd, now_ms)?,
                by_team: judge_usage(connection, by_team, budget_usd, now_ms)?,
                by_rubric: judge_usage(connection, by_rubric, budget_usd, now_ms)?,
            })
        })
        .await;
    let status = Stood::status(stood.as_ref());
    Ok(html(status, judge_page::page(session, &found?, stood.as_ref())))
}

/// The staged configuration and what it would move, if there is one.
fn staged(
    connection: &mut DbConnection,
    configurations: &[ConfigurationView],
) -> Result<Option<Staged>, StoreError> {
    let of_state = |state: &str| configurations.iter().find(|view| view.state == state);
    let (Some(current), Some(staged)) = (of_state(CURRENT), of_state(STAGED)) else { return Ok(None) };
    let active = load_releases(connection)?.into_iter().filter(|release| release.active);
    let active: Vec<String> = active.map(|release| release.id).collect();
    Ok(Some(Staged {
        view: staged.clone(),
        moves: rank_moves(connection, &current.id, &staged.id)?,
        stuck: load_incomplete_entries(connection, &active, &staged.id)?,
    }))
}

/// How far each configuration agrees with people beside the current one, by id; empty while none is current.
fn agreements(
    connection: &mut DbConnection,
    configurations: &[ConfigurationView],
) -> Result<HashMap<String, AgreementChange>, StoreError> {
    let Some(current) = configurations.iter().find(|view| view.state == CURRENT) else {
        return Ok(HashMap::new());
    };
    let beside = |view: &ConfigurationView| {
        Ok((view.id.clone(), agreement_change(connection, &view.id, &current.id)?))
    };
    configurations.iter().map(beside).collect()
}
