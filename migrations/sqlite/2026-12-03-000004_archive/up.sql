-- In a public archive: how many scored submissions a team had made up to an entry, which cannot be counted there, since
-- the others are left out. Elsewhere empty.
CREATE TABLE archived_attempts (
    submission_id TEXT PRIMARY KEY NOT NULL REFERENCES submissions (id),
    attempts INTEGER NOT NULL
);
