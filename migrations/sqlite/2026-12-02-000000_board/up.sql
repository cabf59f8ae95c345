-- What the public board shows beyond scores: rank ranges, blind baselines, its states in the past, and signed records.

-- Since when a submission has not been private; none while it is.
ALTER TABLE submissions ADD COLUMN visible_since_ms BIGINT;
UPDATE submissions SET visible_since_ms = created_at_ms WHERE visibility <> 'private';

-- Which release and judge configuration the board of a split has shown from an instant on.
CREATE TABLE board_changes (
    split TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    release_id TEXT NOT NULL REFERENCES releases (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    PRIMARY KEY (split, at_ms, release_id, configuration_id)
);

INSERT INTO board_changes (split, at_ms, release_id, configuration_id)
SELECT releases.split,
    CASE WHEN releases.created_at_ms > judge_configurations.created_at_ms
        THEN releases.created_at_ms ELSE judge_configurations.created_at_ms END,
    releases.id, judge_configurations.id
FROM releases, judge_configurations
WHERE releases.active AND judge_configurations.state = 'current' AND releases.split <> 'train';

-- Multiple-choice scores of rules that never see a video; `by_column` as in `scores`.
CREATE TABLE baselines (
    release_id TEXT NOT NULL REFERENCES releases (id),
    rule TEXT NOT NULL,
    by_column TEXT NOT NULL,
    PRIMARY KEY (release_id, rule)
);

-- Under this lease one process at a time works out rank ranges.
INSERT INTO leases (name, owner, expires_at_ms, epoch, attempts) VALUES ('ranges', NULL, 0, 0, 0);

-- For which rows the rank ranges of a board were worked out last: `fingerprint` is a hash of their ids and scores.
-- `scope` is `newest` (each team's newest of a model) or `all`; `smallest_difference` is by column, as JSON.
CREATE TABLE ranked_boards (
    release_id TEXT NOT NULL REFERENCES releases (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    scope TEXT NOT NULL CHECK (scope IN ('newest', 'all')),
    fingerprint TEXT NOT NULL,
    smallest_difference TEXT NOT NULL,
    PRIMARY KEY (release_id, configuration_id, scope)
);

-- How an entry stands among the others of such a board, by column, as JSON.
CREATE TABLE rank_ranges (
    release_id TEXT NOT NULL REFERENCES releases (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    scope TEXT NOT NULL CHECK (scope IN ('newest', 'all')),
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    by_column TEXT NOT NULL,
    PRIMARY KEY (release_id, configuration_id, scope, submission_id)
);

-- The Ed25519 keys that records are signed with, one of them not retired. `seed` is secret; `id` is the thumbprint of
-- the public key (RFC 7638).
CREATE TABLE record_keys (
    id TEXT PRIMARY KEY NOT NULL,
    seed BLOB NOT NULL,
    public_key TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    retired_at_ms BIGINT
);
