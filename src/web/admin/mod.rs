//! Pages of administration, for maintainers only. On each of them what needs a maintainer comes first.

mod audit;
mod correction;
mod desk;
mod flags;
mod flags_page;
mod history;
mod judge;
mod judge_page;
mod moves;
mod overview;
mod overview_page;
mod rejudging;
mod releases;
mod signups;
mod submission;
mod submission_page;
mod submissions;
mod team;
mod team_page;
mod teams;

use actix_web::{Route, web};

use super::add_page;

/// The routes of administration.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    let mut page = |path: &str, routes: Vec<Route>| add_page(config, path, routes);
    page("/admin", vec![web::get().to(overview::show)]);
    page("/admin/signups", vec![web::get().to(signups::list)]);
    page("/admin/signups/{id}/approve", vec![web::post().to(signups::approve)]);
    page("/admin/signups/{id}/reject", vec![web::post().to(signups::reject)]);
    page("/admin/teams", vec![web::get().to(teams::list)]);
    page("/admin/teams/{slug}", vec![web::get().to(team::show)]);
    page("/admin/teams/{slug}/grants", vec![web::post().to(team::grant)]);
    page("/admin/teams/{slug}/disable", vec![web::post().to(team::disable)]);
    page("/admin/teams/{slug}/enable", vec![web::post().to(team::enable)]);
    page("/admin/submissions", vec![web::get().to(submissions::list)]);
    page("/admin/submissions/{id}", vec![web::get().to(submission::show)]);
    page("/admin/submissions/{id}/retry", vec![web::post().to(submission::retry)]);
    page(
        "/admin/submissions/{id}/rejudge",
        vec![web::get().to(rejudging::show), web::post().to(rejudging::rejudge)],
    );
    page("/admin/submissions/{id}/rejudge/cancel", vec![web::post().to(rejudging::cancel)]);
    page("/admin/submissions/{id}/withdraw", vec![web::post().to(submission::withdraw)]);
    page("/admin/submissions/{id}/decisions", vec![web::post().to(submission::decide)]);
    page("/admin/submissions/{id}/tell", vec![web::post().to(submission::tell)]);
    page("/admin/submissions/{id}/notes", vec![web::post().to(submission::add_note)]);
    page("/admin/flags", vec![web::get().to(flags::list)]);
    page("/admin/flags/{kind}/{id}/close", vec![web::post().to(flags::close)]);
    page("/admin/releases", vec![web::get().to(releases::list)]);
    page("/admin/releases/activate", vec![web::post().to(releases::activate)]);
    page("/admin/releases/correction", vec![web::get().to(correction::show)]);
    page("/admin/releases/stage", vec![web::post().to(correction::stage)]);
    page("/admin/releases/abandon", vec![web::post().to(correction::abandon)]);
    page("/admin/judge", vec![web::get().to(judge::show)]);
    page("/admin/judge/activate", vec![web::post().to(judge::activate)]);
    page("/admin/audit", vec![web::get().to(audit::list)]);
    page("/admin/audit/export", vec![web::get().to(audit::export)]);
}
