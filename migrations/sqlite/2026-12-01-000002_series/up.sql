-- Submissions to a split without feedback by how alike their letters are, so that nobody reads the key off many of them.

-- One row a graded submission. Near-duplicates of one team are a series, which has the id of its first member; `place`
-- counts different files. A member that is not told shows no multiple-choice score and is on no board.
CREATE TABLE series_members (
    submission_id TEXT PRIMARY KEY NOT NULL REFERENCES submissions (id),
    team_id TEXT NOT NULL REFERENCES teams (id),
    release_id TEXT NOT NULL REFERENCES releases (id),
    series_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    nearest_id TEXT,
    compared INTEGER NOT NULL,
    differing INTEGER NOT NULL,
    told BOOLEAN NOT NULL,
    twin_id TEXT,
    twin_compared INTEGER NOT NULL,
    twin_differing INTEGER NOT NULL,
    letters BLOB NOT NULL,
    created_at_ms BIGINT NOT NULL
);
CREATE INDEX series_members_team ON series_members (team_id, release_id);
CREATE INDEX series_members_series ON series_members (series_id);

-- Hashes of parts of a submission's letters: nearly identical files share some of them.
CREATE TABLE letter_bands (
    release_id TEXT NOT NULL REFERENCES releases (id),
    hash TEXT NOT NULL,
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    PRIMARY KEY (release_id, hash, submission_id)
);
