//! Changing the judge configuration, for maintainers: what it would cost, staging and making current. The configuration that
//! may be staged is one that is stored, or the one that this server's settings describe.

use actix_web::http::StatusCode;
use actix_web::{post, web};
use serde::{Deserialize, Serialize};

use super::Trial;
use crate::evaluation::judges::JudgesError;
use crate::evaluation::staging::{
    self, ActivationPreview, ConfigurationView, StagingError, configurations, find_candidate,
    preview_activation,
};
use crate::evaluation::staging_cost::{StagingCost, staging_cost};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::body::Body;
use crate::http::error::{Answer, Problem};
use crate::store::standing::load_unjudged;

/// Which configuration is meant.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigurationChoice {
    /// A stored configuration's id. To stage: what this server's settings describe unless said; to activate: the staged
    /// one.
    configuration: Option<String>,
    /// To activate one that agrees less with people than the current one: why all the same.
    accept_worse_agreement: Option<String>,
}

/// What staging takes, and how far it is.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Staging {
    /// The configuration's id.
    configuration: String,
    /// Its model.
    model: String,
    /// What judging takes; null where it was staged without a dry run.
    cost: Option<StagingCost>,
    /// How it stands; null where it is not stored.
    standing: Option<ConfigurationView>,
}

/// Has all that is published judged under another configuration too, so that it can become current
///
/// With `dry_run` it says how many calls, tokens and dollars that takes and changes nothing. Servers and workers judge in
/// the background, while the board stays as it is.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(Trial),
    request_body = ConfigurationChoice,
    responses(
        (status = 200, description = "It is staged, or what that would take", body = Staging),
        (status = 404, description = "There is no such configuration", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/judge/stage")]
pub async fn stage_judge(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    trial: web::Query<Trial>,
    choice: Body<ConfigurationChoice>,
) -> Answer<web::Json<Staging>> {
    let ConfigurationChoice { configuration, .. } = choice.into_inner();
    let evaluation = &state.evaluation;
    let (store, judges, now_ms) = (&evaluation.store, &evaluation.judges, evaluation.clock.now_ms());
    let candidate = find_candidate(store, judges, configuration, now_ms).await?;
    let cost = match trial.dry_run {
        true => {
            let id = candidate.id.clone();
            let entries = store.read(move |connection| load_unjudged(connection, &id)).await?;
            Some(staging_cost(store, &evaluation.catalogue, judges, &candidate, entries).await?)
        }
        false => None,
    };
    if !trial.dry_run {
        staging::stage(store, &principal.actor(), candidate.clone(), now_ms).await?;
    }
    let standing = store.snapshot(configurations).await?.into_iter().find(|view| view.id == candidate.id);
    Ok(web::Json(Staging { configuration: candidate.id, model: candidate.model, cost, standing }))
}

/// Makes a configuration current in one step, the staged one unless another is named
///
/// Refused while a published entry has no complete scores under it. With `dry_run` it says which ranks would move. The
/// configuration that was current can be made so again.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(Trial),
    request_body = ConfigurationChoice,
    responses(
        (status = 200, description = "What comes of it, or would", body = ActivationPreview),
        (status = 404, description = "There is no such configuration", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "None is staged, entries have no complete scores under it, or it agrees less with people", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The reason is blank or too long", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/judge/activate")]
pub async fn activate_judge(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    trial: web::Query<Trial>,
    choice: Body<ConfigurationChoice>,
) -> Answer<web::Json<ActivationPreview>> {
    let ConfigurationChoice { configuration, accept_worse_agreement } = choice.into_inner();
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let named = configuration.clone();
    let preview = store.snapshot(move |connection| preview_activation(connection, named)).await?;
    if !trial.dry_run {
        staging::activate(store, &principal.actor(), configuration, accept_worse_agreement, now_ms).await?;
    }
    Ok(web::Json(preview))
}

impl From<StagingError> for Problem {
    fn from(error: StagingError) -> Problem {
        let code = match error {
            StagingError::Unknown(_) | StagingError::UnknownSubmission(_) => {
                return Problem::not_found(error.to_string());
            }
            StagingError::NothingStaged => "nothing_staged",
            StagingError::Unjudged { .. } => "unjudged_entries",
            StagingError::WorseAgreement { .. } => "worse_agreement",
            StagingError::Reason(_) => {
                return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_reason", error.to_string());
            }
            StagingError::Judges(JudgesError::NoneCurrent) => "no_configuration",
            StagingError::Judges(JudgesError::Store(error)) | StagingError::Store(error) => {
                return error.into();
            }
            StagingError::Judges(_) => return Problem::internal(error),
        };
        Problem::new(StatusCode::CONFLICT, code, error.to_string())
    }
}
