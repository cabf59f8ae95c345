//! The tables of what the public board shows beyond scores.

diesel::table! {
    board_changes (split, at_ms, release_id, configuration_id) {
        split -> Text,
        at_ms -> BigInt,
        release_id -> Text,
        configuration_id -> Text,
    }
}

diesel::table! {
    baselines (release_id, rule) {
        release_id -> Text,
        rule -> Text,
        by_column -> Text,
    }
}

diesel::table! {
    ranked_boards (release_id, configuration_id, scope) {
        release_id -> Text,
        configuration_id -> Text,
        scope -> Text,
        fingerprint -> Text,
        smallest_difference -> Text,
    }
}

diesel::table! {
    rank_ranges (release_id, configuration_id, scope, submission_id) {
        release_id -> Text,
        configuration_id -> Text,
        scope -> Text,
        submission_id -> Text,
        by_column -> Text,
    }
}

diesel::table! {
    record_keys (id) {
        id -> Text,
        seed -> Binary,
        public_key -> Text,
        created_at_ms -> BigInt,
        retired_at_ms -> Nullable<BigInt>,
    }
}
