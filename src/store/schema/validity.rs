//! The tables of human ratings and of what the judge says of the same answers.

diesel::table! {
    rating_studies (id) {
        id -> Text,
        content_sha256 -> Text,
        judge -> Nullable<Text>,
        active -> Bool,
        created_at_ms -> BigInt,
    }
}

diesel::table! {
    rated_items (study_id, position) {
        study_id -> Text,
        position -> Integer,
        item -> Text,
        question_id -> Text,
        dimension -> Text,
        judge_score -> Nullable<Double>,
        answer -> Nullable<Text>,
    }
}

diesel::table! {
    human_ratings (study_id, position, rater) {
        study_id -> Text,
        position -> Integer,
        rater -> Text,
        rating -> Integer,
    }
}

diesel::table! {
    calibration_runs (id) {
        id -> Text,
        study_id -> Text,
        configuration_id -> Text,
        started_at_ms -> BigInt,
        finished_at_ms -> Nullable<BigInt>,
        reserved_usd -> Double,
        items -> Integer,
        failed -> Integer,
        mean -> Nullable<Double>,
        agreement -> Nullable<Double>,
        drift -> Nullable<Double>,
        agreement_drift -> Nullable<Double>,
    }
}

diesel::table! {
    calibration_answers (run_id, position) {
        run_id -> Text,
        position -> Integer,
        key -> Text,
        scores -> Nullable<Text>,
        reason -> Nullable<Text>,
    }
}

diesel::table! {
    calibration_spend (day, configuration_id, rubric) {
        day -> Text,
        configuration_id -> Text,
        rubric -> Text,
        calls -> BigInt,
        prompt_tokens -> BigInt,
        cached_tokens -> BigInt,
        completion_tokens -> BigInt,
        cost_usd -> Double,
    }
}
