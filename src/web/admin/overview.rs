//! Where administration begins: everything that needs a maintainer, in one look.

use actix_web::http::StatusCode;
use actix_web::web;

use super::history::last_acts;
use super::overview_page::{self, Seen};
use super::submissions::{Needing, load_needing};
use crate::administration::overview::{JudgeKnown, overview};
use crate::domain::submission::SubmissionState;
use crate::store::StoreError;
use crate::store::releases::load_releases;
use crate::store::submissions::count_by_state;
use crate::web::Pages;
use crate::web::refusal::{Shown, html};
use crate::web::session::Session;

/// Stuck submissions that the page shows; the list has the others.
const SHOWN: usize = 5;

/// Submissions that are looked at for some that are stuck.
const LOOKED_AT: i64 = 100;

pub(super) async fn show(pages: web::Data<Pages>, session: Session) -> Shown {
    session.needs_maintainer()?;
    let (evaluation, now_ms) = (&pages.evaluation, pages.evaluation.clock.now_ms());
    let circuit = evaluation.judges.gate().map(|gate| gate.closed());
    let known = JudgeKnown::new(evaluation.judges.budget_usd(), circuit.as_ref().map(Option::as_ref));
    let closed = circuit.flatten();
    let found: Result<Seen, StoreError> = evaluation
        .store
        .snapshot(move |connection| {
            let mut stuck = load_needing(connection, LOOKED_AT)?;
            stuck.retain(Needing::is_stuck);
            let more_stuck = stuck.len() > SHOWN;
            stuck.truncate(SHOWN);
            let mut states = Vec::<(SubmissionState, i64)>::new();
            for (state, _, count) in count_by_state(connection)? {
                match states.iter_mut().find(|(known, _)| *known == state) {
                    Some((_, counted)) => *counted += count,
                    None => states.push((state, count)),
                }
            }
            Ok(Seen {
                overview: overview(connection, known, now_ms)?,
                stuck,
                more_stuck,
                states,
                closed,
                releases: load_releases(connection)?,
                acts: last_acts(connection, None)?,
            })
        })
        .await;
    Ok(html(StatusCode::OK, overview_page::page(&session, &found?)))
}
