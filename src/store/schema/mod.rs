//! The tables as diesel sees them. Says nothing of what they mean: the migrations do.

mod administration;
mod archive;
mod board;
mod scored;
mod validity;

pub use administration::*;
pub use archive::*;
pub use board::*;
pub use scored::*;
pub use validity::*;

diesel::table! {
    installation (id) {
        id -> Text,
        board_revision -> BigInt,
        judge_checked_at_ms -> BigInt,
    }
}

diesel::table! {
    leases (name) {
        name -> Text,
        owner -> Nullable<Text>,
        expires_at_ms -> BigInt,
        epoch -> BigInt,
        attempts -> Integer,
    }
}

diesel::table! {
    releases (id) {
        id -> Text,
        name -> Text,
        split -> Text,
        content_sha256 -> Text,
        feedback -> Text,
        active -> Bool,
        created_at_ms -> BigInt,
        line_id -> Text,
        staged -> Bool,
        shown -> Bool,
    }
}

diesel::table! {
    videos (release_id, position) {
        release_id -> Text,
        position -> Integer,
        id -> Text,
        collection -> Text,
        video_id -> Text,
        video_file -> Text,
        video_path -> Text,
    }
}

diesel::table! {
    video_files (release_id, position) {
        release_id -> Text,
        position -> Integer,
        duration_ms -> BigInt,
        width -> Integer,
        height -> Integer,
        frames_per_second -> Double,
        frames -> Integer,
        codec -> Text,
        rotation -> Integer,
        bytes -> BigInt,
        sha256 -> Text,
    }
}

diesel::table! {
    questions (release_id, position) {
        release_id -> Text,
        position -> Integer,
        question_id -> Text,
        video_position -> Integer,
        #[sql_name = "type"]
        question_type -> Text,
        question -> Text,
        prompt -> Text,
        options -> Text,
    }
}

diesel::table! {
    answer_keys (release_id, position) {
        release_id -> Text,
        position -> Integer,
        task -> Text,
        central_object -> Text,
        answer -> Text,
        answer_text -> Text,
        evidence -> Text,
        camera -> Text,
    }
}

diesel::table! {
    teams (id) {
        id -> Text,
        slug -> Text,
        name -> Text,
        email -> Nullable<Text>,
        role -> Text,
        disabled_at_ms -> Nullable<BigInt>,
        intake_sequence -> BigInt,
        created_at_ms -> BigInt,
    }
}

diesel::table! {
    api_keys (id) {
        id -> Text,
        team_id -> Text,
        sha256 -> Text,
        revoked_at_ms -> Nullable<BigInt>,
        created_at_ms -> BigInt,
        name -> Text,
        scope -> Text,
        prefix -> Text,
        expires_at_ms -> Nullable<BigInt>,
        last_used_at_ms -> Nullable<BigInt>,
    }
}

diesel::table! {
    signups (id) {
        id -> Text,
        slug -> Text,
        name -> Text,
        email -> Text,
        affiliation -> Nullable<Text>,
        purpose -> Nullable<Text>,
        address_sha256 -> Text,
        claim_sha256 -> Text,
        state -> Text,
        reason -> Nullable<Text>,
        team_id -> Nullable<Text>,
        key_id -> Nullable<Text>,
        mail_attempts -> Integer,
        mail_not_before_ms -> BigInt,
        created_at_ms -> BigInt,
        decided_at_ms -> Nullable<BigInt>,
    }
}

diesel::table! {
    judge_configurations (id) {
        id -> Text,
        kind -> Text,
        model -> Text,
        text -> Text,
        state -> Text,
        created_at_ms -> BigInt,
        retired_at_ms -> Nullable<BigInt>,
    }
}

diesel::table! {
    submissions (id) {
        id -> Text,
        team_id -> Text,
        release_id -> Text,
        split -> Text,
        model_name -> Text,
        backbone -> Nullable<Text>,
        access -> Text,
        parameters_b -> Nullable<Double>,
        description -> Nullable<Text>,
        paper_url -> Nullable<Text>,
        code_url -> Nullable<Text>,
        visibility -> Text,
        state -> Text,
        paused_for -> Nullable<Text>,
        content_sha256 -> Text,
        questions -> Integer,
        answered -> Integer,
        unparsed -> Integer,
        graded -> Integer,
        to_judge -> Integer,
        judged -> Integer,
        reused -> Integer,
        failed -> Integer,
        warnings -> Text,
        configuration_id -> Nullable<Text>,
        withdrawn_reason -> Nullable<Text>,
        not_before_ms -> BigInt,
        created_at_ms -> BigInt,
        finished_at_ms -> Nullable<BigInt>,
        anonymous_until -> Nullable<Text>,
        visible_since_ms -> Nullable<BigInt>,
    }
}

diesel::table! {
    reviewer_links (submission_id) {
        submission_id -> Text,
        token_sha256 -> Text,
        created_at_ms -> BigInt,
    }
}

diesel::table! {
    predictions (submission_id) {
        submission_id -> Text,
        answers -> Binary,
        release_id -> Text,
    }
}

diesel::table! {
    idempotency_keys (team_id, key) {
        team_id -> Text,
        key -> Text,
        request_sha256 -> Text,
        submission_id -> Text,
        created_at_ms -> BigInt,
    }
}

diesel::table! {
    quota_ledger (id) {
        id -> Text,
        team_id -> Text,
        split -> Text,
        kind -> Text,
        amount -> Integer,
        submission_id -> Nullable<Text>,
        reason -> Text,
        day -> Text,
        created_at_ms -> BigInt,
    }
}

diesel::table! {
    judgements (configuration_id, key, vote) {
        configuration_id -> Text,
        key -> Text,
        vote -> Integer,
        question_id -> Text,
        scores -> Text,
        explanations -> Text,
        answered_model -> Text,
        prompt_tokens -> BigInt,
        cached_tokens -> BigInt,
        completion_tokens -> BigInt,
        cost_usd -> Double,
        created_at_ms -> BigInt,
        decided_by -> Nullable<Text>,
        decision_reason -> Nullable<Text>,
    }
}

diesel::table! {
    judge_claims (configuration_id, key) {
        configuration_id -> Text,
        key -> Text,
        submission_id -> Text,
        epoch -> BigInt,
        reserved_usd -> Double,
    }
}

diesel::table! {
    judge_spend (day, configuration_id, rubric, team_id) {
        day -> Text,
        configuration_id -> Text,
        rubric -> Text,
        team_id -> Text,
        calls -> BigInt,
        prompt_tokens -> BigInt,
        cached_tokens -> BigInt,
        completion_tokens -> BigInt,
        cost_usd -> Double,
    }
}

diesel::table! {
    answer_flags (submission_id, question_id) {
        submission_id -> Text,
        question_id -> Text,
        signs -> Text,
        created_at_ms -> BigInt,
    }
}

diesel::table! {
    series_members (submission_id) {
        submission_id -> Text,
        team_id -> Text,
        release_id -> Text,
        series_id -> Text,
        place -> Integer,
        nearest_id -> Nullable<Text>,
        compared -> Integer,
        differing -> Integer,
        told -> Bool,
        twin_id -> Nullable<Text>,
        twin_compared -> Integer,
        twin_differing -> Integer,
        letters -> Binary,
        created_at_ms -> BigInt,
    }
}

diesel::table! {
    letter_bands (release_id, hash, submission_id) {
        release_id -> Text,
        hash -> Text,
        submission_id -> Text,
    }
}

diesel::allow_tables_to_appear_in_same_query!(
    archived_attempts,
    installation,
    leases,
    releases,
    videos,
    video_files,
    questions,
    answer_keys,
    teams,
    api_keys,
    signups,
    judge_configurations,
    submissions,
    reviewer_links,
    predictions,
    idempotency_keys,
    quota_ledger,
    judgements,
    judge_claims,
    judge_spend,
    outcomes,
    scores,
    judge_failures,
    rejudgings,
    answer_flags,
    series_members,
    letter_bands,
    board_changes,
    baselines,
    ranked_boards,
    rank_ranges,
    record_keys,
    flag_queue,
    submission_notes,
    corrections,
    audit_log
);
