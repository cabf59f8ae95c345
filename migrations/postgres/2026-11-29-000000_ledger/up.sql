-- The ledger: everything that a score depends on. Ids are UUIDv7 text, instants UTC milliseconds, enums text with a
-- CHECK, JSON text. The SQLite twin has the same tables and columns.

-- One row: who this installation is, and a counter that rises with every change that a board may show.
CREATE TABLE installation (
    id TEXT PRIMARY KEY NOT NULL,
    board_revision BIGINT NOT NULL
);
INSERT INTO installation (id, board_revision) VALUES (replace(gen_random_uuid()::text, '-', ''), 0);

-- Who may work on what: one row a submission, and one for the reconciler. `epoch` is the fencing number.
CREATE TABLE leases (
    name TEXT PRIMARY KEY NOT NULL,
    owner TEXT,
    expires_at_ms BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    attempts INTEGER NOT NULL
);
INSERT INTO leases (name, owner, expires_at_ms, epoch, attempts) VALUES ('reconciler', NULL, 0, 0, 0);

CREATE TABLE releases (
    id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    split TEXT NOT NULL CHECK (split IN ('test', 'val', 'train')),
    content_sha256 TEXT NOT NULL,
    feedback TEXT NOT NULL CHECK (feedback IN ('none', 'per-question')),
    active BOOLEAN NOT NULL,
    created_at_ms BIGINT NOT NULL,
    UNIQUE (split, name)
);
CREATE UNIQUE INDEX releases_active ON releases (split) WHERE active;

CREATE TABLE videos (
    release_id TEXT NOT NULL REFERENCES releases (id),
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    collection TEXT NOT NULL,
    video_id TEXT NOT NULL,
    video_file TEXT NOT NULL,
    video_path TEXT NOT NULL,
    PRIMARY KEY (release_id, position),
    UNIQUE (release_id, id)
);

-- What the import found in the videos' files.
CREATE TABLE video_files (
    release_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    duration_ms BIGINT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    frames_per_second DOUBLE PRECISION NOT NULL,
    frames INTEGER NOT NULL,
    codec TEXT NOT NULL,
    rotation INTEGER NOT NULL,
    bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (release_id, position),
    FOREIGN KEY (release_id, position) REFERENCES videos (release_id, position)
);

CREATE TABLE questions (
    release_id TEXT NOT NULL REFERENCES releases (id),
    position INTEGER NOT NULL,
    question_id TEXT NOT NULL,
    video_position INTEGER NOT NULL,
    type TEXT NOT NULL,
    question TEXT NOT NULL,
    prompt TEXT NOT NULL,
    options TEXT NOT NULL,
    PRIMARY KEY (release_id, position),
    UNIQUE (release_id, question_id),
    FOREIGN KEY (release_id, video_position) REFERENCES videos (release_id, position)
);

-- The secret half of a question. Only grading, judging and a release with per-question feedback read it.
CREATE TABLE answer_keys (
    release_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    task TEXT NOT NULL,
    central_object TEXT NOT NULL,
    answer TEXT NOT NULL,
    answer_text TEXT NOT NULL,
    evidence TEXT NOT NULL,
    camera TEXT NOT NULL CHECK (camera IN ('static', 'moving', 'unknown')),
    PRIMARY KEY (release_id, position),
    FOREIGN KEY (release_id, position) REFERENCES questions (release_id, position)
);

CREATE TABLE teams (
    id TEXT PRIMARY KEY NOT NULL,
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    email TEXT,
    role TEXT NOT NULL CHECK (role IN ('team', 'maintainer')),
    disabled_at_ms BIGINT,
    intake_sequence BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL
);

CREATE TABLE api_keys (
    id TEXT PRIMARY KEY NOT NULL,
    team_id TEXT NOT NULL REFERENCES teams (id),
    sha256 TEXT NOT NULL UNIQUE,
    revoked_at_ms BIGINT,
    created_at_ms BIGINT NOT NULL
);
CREATE INDEX api_keys_team ON api_keys (team_id);

-- What a judgement depends on; `text` is the whole configuration with prompts, schemas and the fence's secret.
CREATE TABLE judge_configurations (
    id TEXT PRIMARY KEY NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('offline', 'llm')),
    model TEXT NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('staged', 'current', 'retired')),
    created_at_ms BIGINT NOT NULL
);
CREATE UNIQUE INDEX judge_configurations_current ON judge_configurations (state) WHERE state = 'current';

CREATE TABLE submissions (
    id TEXT PRIMARY KEY NOT NULL,
    team_id TEXT NOT NULL REFERENCES teams (id),
    release_id TEXT NOT NULL REFERENCES releases (id),
    split TEXT NOT NULL CHECK (split IN ('test', 'val')),
    model_name TEXT NOT NULL,
    backbone TEXT,
    access TEXT NOT NULL CHECK (access IN ('open', 'closed')),
    parameters_b DOUBLE PRECISION,
    description TEXT,
    paper_url TEXT,
    code_url TEXT,
    visibility TEXT NOT NULL CHECK (visibility IN ('private', 'anonymous', 'public')),
    state TEXT NOT NULL
        CHECK (state IN ('queued', 'grading', 'judging', 'scored', 'incomplete', 'cancelled', 'failed')),
    paused_for TEXT CHECK (paused_for IN ('budget', 'judge_unavailable')),
    content_sha256 TEXT NOT NULL,
    questions INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    unparsed INTEGER NOT NULL,
    graded INTEGER NOT NULL,
    to_judge INTEGER NOT NULL,
    judged INTEGER NOT NULL,
    reused INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    warnings TEXT NOT NULL,
    configuration_id TEXT REFERENCES judge_configurations (id),
    withdrawn_reason TEXT,
    not_before_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    finished_at_ms BIGINT
);
CREATE INDEX submissions_team ON submissions (team_id, id);
CREATE INDEX submissions_board ON submissions (release_id, state);
CREATE INDEX submissions_open ON submissions (created_at_ms) WHERE state IN ('queued', 'grading', 'judging');

-- The answers of a submission by question position: JSON, zstd.
CREATE TABLE predictions (
    submission_id TEXT PRIMARY KEY NOT NULL REFERENCES submissions (id),
    answers BYTEA NOT NULL
);

CREATE TABLE idempotency_keys (
    team_id TEXT NOT NULL REFERENCES teams (id),
    key TEXT NOT NULL,
    request_sha256 TEXT NOT NULL,
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (team_id, key)
);

-- A team's quota is a sum over these rows: charges count against it, refunds and grants for it.
CREATE TABLE quota_ledger (
    id TEXT PRIMARY KEY NOT NULL,
    team_id TEXT NOT NULL REFERENCES teams (id),
    split TEXT NOT NULL CHECK (split IN ('test', 'val')),
    kind TEXT NOT NULL CHECK (kind IN ('charge', 'refund', 'grant')),
    amount INTEGER NOT NULL CHECK (amount > 0),
    submission_id TEXT REFERENCES submissions (id),
    reason TEXT NOT NULL,
    day TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL
);
CREATE INDEX quota_ledger_team ON quota_ledger (team_id, split, day);

-- Cache and ledger of the judge at once. `key` is the hash of the question as judged and the normalised answer.
CREATE TABLE judgements (
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    key TEXT NOT NULL,
    vote INTEGER NOT NULL,
    question_id TEXT NOT NULL,
    scores TEXT NOT NULL,
    explanations TEXT NOT NULL,
    answered_model TEXT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cost_usd DOUBLE PRECISION NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (configuration_id, key, vote)
);

-- Which submission asks the judge under a key now; good as long as its lease of that epoch is.
CREATE TABLE judge_claims (
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    key TEXT NOT NULL,
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    epoch BIGINT NOT NULL,
    PRIMARY KEY (configuration_id, key)
);
CREATE INDEX judge_claims_submission ON judge_claims (submission_id);

CREATE TABLE judge_spend (
    day TEXT NOT NULL,
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    rubric TEXT NOT NULL CHECK (rubric IN ('oemu', 'caption')),
    team_id TEXT NOT NULL REFERENCES teams (id),
    calls BIGINT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cost_usd DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (day, configuration_id, rubric, team_id)
);

-- Per submission and configuration one compact vector of per-question results.
CREATE TABLE outcomes (
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    vector BYTEA NOT NULL,
    PRIMARY KEY (submission_id, configuration_id)
);

-- Per submission and configuration the columns that stand, as JSON: [[column, value, [low, high], n], …]. One row and
-- not fifteen, since a board reads all columns of ten thousand submissions.
CREATE TABLE scores (
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    by_column TEXT NOT NULL,
    PRIMARY KEY (submission_id, configuration_id)
);

CREATE TABLE audit_log (
    id TEXT PRIMARY KEY NOT NULL,
    at_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    before TEXT,
    after TEXT
);
