//! What only maintainers may do over the API.

mod audit;
mod decisions;
mod flag_queue;
mod flags;
mod judge;
mod notes;
mod overview;
mod ratings;
mod rejudging;
mod releases;
mod series;
mod signups;
mod submissions;
mod teams;
mod usage;

use serde::Deserialize;

use super::openapi::Routes;

/// Whether an act is only to be tried.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Says what it changes and costs, and changes nothing.
    #[serde(default)]
    dry_run: bool,
}

/// The routes of administration, with their description.
pub fn routes(config: &mut impl Routes) {
    config
        .service(audit::list_audit_log)
        .service(submissions::list_submissions)
        .service(submissions::find_retry_cost)
        .service(submissions::retry_submission)
        .service(submissions::withdraw_submission)
        .service(rejudging::find_rejudging)
        .service(rejudging::rejudge_submission)
        .service(rejudging::cancel_rejudging)
        .service(decisions::list_failures)
        .service(decisions::create_decision)
        .service(overview::find_overview)
        .service(flag_queue::list_flag_queue)
        .service(flag_queue::close_flag)
        .service(notes::list_notes)
        .service(notes::create_note)
        .service(judge::stage_judge)
        .service(judge::activate_judge)
        .service(flags::list_flags)
        .service(series::list_series)
        .service(series::update_series)
        .service(releases::list_releases)
        .service(releases::find_correction)
        .service(releases::create_correction)
        .service(releases::cancel_correction)
        .service(releases::update_active_release)
        .service(usage::find_judge_usage)
        .service(ratings::create_ratings)
        .service(ratings::list_ratings)
        .service(signups::list_signups)
        .service(signups::approve_signup)
        .service(signups::reject_signup)
        .service(teams::list_teams)
        .service(teams::create_team)
        .service(teams::disable_team)
        .service(teams::enable_team)
        .service(teams::rotate_team_key)
        .service(teams::create_grant);
}
