//! The table of what a public archive cannot count.

diesel::table! {
    archived_attempts (submission_id) {
        submission_id -> Text,
        attempts -> Integer,
    }
}
