//! The API: routes, their roles and the shape of what they say. Reads go straight to the store; whatever writes goes
//! through a use case.

mod admin;
mod agreement;
mod answers;
mod auth;
mod badge;
mod benchmark;
mod body;
mod citation;
mod compare;
mod configurations;
mod door;
mod entries;
mod error;
mod events;
mod feed;
mod formats;
mod frames;
mod health;
mod keys;
mod leaderboard;
mod openapi;
mod page;
mod prepared;
mod questions;
mod quota;
mod range;
mod record;
mod report;
mod review;
mod signup;
mod submission_view;
mod submissions;
mod unhandled;
mod upload;
mod video_file;
mod videos;

use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use actix_web::web;
use tokio::sync::watch;

use crate::config::SignupMode;
use crate::evaluation::Evaluation;
use crate::evaluation::boards::Boards;
use crate::evaluation::following::Following;
use crate::frames::Frames;
use crate::limiter::HttpLimiter;
use crate::media::Media;
use crate::tokens::Signer;

use openapi::Routes;

pub use door::guard;
pub use error::Problem;
pub use openapi::{document, stand_at_zero};
pub use unhandled::{extractor_errors, unmatched};

/// What the handlers share.
pub struct State {
    /// The use cases and the store.
    pub evaluation: Arc<Evaluation>,
    /// Checks access tokens.
    pub signer: Signer,
    /// Requests a minute, unless there is no limit.
    pub limiter: Option<HttpLimiter>,
    /// The same for videos and frames: a client that fetches a split asks for thousands.
    pub media_limiter: Option<HttpLimiter>,
    /// The videos' files.
    pub media: Media,
    /// The videos' frames.
    pub frames: Frames,
    /// Addresses whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// Leaderboards as last built.
    pub boards: Arc<Boards>,
    /// Submissions that are followed.
    pub following: Arc<Following>,
    /// Turns true some time before the process stops: who can shall ask another server.
    pub draining: Arc<AtomicBool>,
    /// Turns true when the process stops.
    pub stopping: watch::Receiver<bool>,
    /// Who may sign up.
    pub signup: SignupMode,
    /// Whether a new team's key is sent by e-mail.
    pub mails: bool,
    /// What absolute links begin with; known once the server listens.
    pub public_url: OnceLock<String>,
}

impl State {
    /// An absolute link to a path of this server.
    fn link(&self, path: &str) -> String {
        format!("{}{path}", self.public_url.get().map_or("", String::as_str))
    }
}

/// The state as handlers get it.
pub type Shared = web::Data<State>;

/// Every route of the API, with its description.
pub fn routes(config: &mut impl Routes) {
    config
        // First: it is asked for most, and routes are tried in turn.
        .service(leaderboard::find_leaderboard)
        .service(health::check_health)
        .service(health::check_readiness)
        .service(benchmark::find_benchmark)
        .service(agreement::find_agreement)
        .service(entries::find_entry)
        .service(compare::find_comparison)
        .service(badge::find_badge)
        .service(record::find_record)
        .service(record::find_record_keys)
        .service(citation::find_citation)
        .service(citation::find_board_citation)
        .service(feed::find_feed)
        .service(auth::create_token)
        .service(auth::find_me)
        .service(keys::list_keys)
        .service(keys::create_key)
        .service(keys::revoke_key)
        .service(keys::rotate_key)
        .service(quota::list_quotas)
        .service(quota::list_quota_entries)
        .service(signup::create_signup)
        .service(signup::find_signup)
        .service(signup::create_signup_key)
        .service(questions::list_questions)
        .service(videos::find_video)
        .service(video_file::find_video_file)
        .service(frames::list_frames)
        .service(frames::find_frame)
        .service(submissions::create_submission)
        .service(submissions::list_submissions)
        .service(submissions::find_submission)
        .service(submissions::update_submission)
        .service(submissions::cancel_submission)
        .service(submissions::withdraw_submission)
        .service(review::create_reviewers_link)
        .service(review::revoke_reviewers_link)
        .service(review::find_reviewed_entry)
        .service(answers::list_answers)
        .service(events::list_events)
        .service(report::find_report)
        .service(configurations::list_judge_configurations)
        .service(openapi::find_document);
    admin::routes(config);
}
