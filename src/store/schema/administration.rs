//! The tables of what maintainers look at and write down.

diesel::table! {
    flag_queue (subject, kind) {
        subject -> Text,
        kind -> Text,
        team -> Text,
        other -> Nullable<Text>,
        detail -> Text,
        created_at_ms -> BigInt,
        closed_at_ms -> Nullable<BigInt>,
        closed_by -> Nullable<Text>,
        closed_reason -> Nullable<Text>,
    }
}

diesel::table! {
    submission_notes (id) {
        id -> Text,
        submission_id -> Text,
        author -> Text,
        text -> Text,
        created_at_ms -> BigInt,
    }
}

diesel::table! {
    audit_log (id) {
        id -> Text,
        at_ms -> BigInt,
        actor -> Text,
        action -> Text,
        subject -> Text,
        before -> Nullable<Text>,
        after -> Nullable<Text>,
        place -> Text,
    }
}
