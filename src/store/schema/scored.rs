//! The tables of what a submission comes to under a release and a judge configuration, and of what one release corrects of
//! another.

diesel::table! {
    outcomes (submission_id, release_id, configuration_id) {
        submission_id -> Text,
        release_id -> Text,
        configuration_id -> Text,
        vector -> Binary,
    }
}

diesel::table! {
    scores (submission_id, release_id, configuration_id) {
        submission_id -> Text,
        release_id -> Text,
        configuration_id -> Text,
        by_column -> Text,
        complete -> Bool,
        questions -> Integer,
        answered -> Integer,
        unparsed -> Integer,
        rejudged_at_ms -> Nullable<BigInt>,
    }
}

diesel::table! {
    judge_failures (submission_id, release_id, configuration_id, question_id) {
        submission_id -> Text,
        release_id -> Text,
        configuration_id -> Text,
        question_id -> Text,
        key -> Text,
        reason -> Text,
        detail -> Text,
        calls -> Integer,
        first_failed_at_ms -> BigInt,
        last_failed_at_ms -> BigInt,
    }
}

diesel::table! {
    rejudgings (submission_id, release_id, configuration_id) {
        submission_id -> Text,
        release_id -> Text,
        configuration_id -> Text,
        state -> Text,
        failed -> Integer,
        not_before_ms -> BigInt,
        created_at_ms -> BigInt,
        finished_at_ms -> Nullable<BigInt>,
        anew_since_ms -> Nullable<BigInt>,
    }
}

diesel::table! {
    corrections (release_id) {
        release_id -> Text,
        corrected_id -> Text,
        notice -> Nullable<Text>,
        questions -> Integer,
        changes -> Text,
        staged_at_ms -> BigInt,
        applied_at_ms -> Nullable<BigInt>,
    }
}
