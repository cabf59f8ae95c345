-- Human ratings of answers, and the judge's own scores of the same answers, asked anew now and then.

-- A file of ratings. One is active: agreement is measured by it, the others stay for the record. `judge` is whose the
-- scores are that the file itself holds, as whoever imported it says.
CREATE TABLE rating_studies (
    id TEXT PRIMARY KEY NOT NULL,
    content_sha256 TEXT NOT NULL UNIQUE,
    judge TEXT,
    active BOOLEAN NOT NULL,
    created_at_ms BIGINT NOT NULL
);
CREATE UNIQUE INDEX rating_studies_active ON rating_studies (active) WHERE active;

-- What was rated: an answer to a question in one dimension. The answer's text is there where the file holds it.
CREATE TABLE rated_items (
    study_id TEXT NOT NULL REFERENCES rating_studies (id),
    position INTEGER NOT NULL,
    item TEXT NOT NULL,
    question_id TEXT NOT NULL,
    dimension TEXT NOT NULL CHECK (dimension IN ('OEMU', 'BEH', 'AH', 'ECF')),
    judge_score DOUBLE PRECISION,
    answer TEXT,
    PRIMARY KEY (study_id, position)
);

CREATE TABLE human_ratings (
    study_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    rater TEXT NOT NULL,
    rating INTEGER NOT NULL CHECK (rating BETWEEN 0 AND 5),
    PRIMARY KEY (study_id, position, rater),
    FOREIGN KEY (study_id, position) REFERENCES rated_items (study_id, position)
);

-- A run of a judge configuration over a study's answers; `finished_at_ms` is none while answers are left. What the judge
-- says here is no judgement of a submission. `drift` and `agreement_drift` are against the configuration's first run.
CREATE TABLE calibration_runs (
    id TEXT PRIMARY KEY NOT NULL,
    study_id TEXT NOT NULL REFERENCES rating_studies (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    started_at_ms BIGINT NOT NULL,
    finished_at_ms BIGINT,
    reserved_usd DOUBLE PRECISION NOT NULL,
    items INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    mean DOUBLE PRECISION,
    agreement DOUBLE PRECISION,
    drift DOUBLE PRECISION,
    agreement_drift DOUBLE PRECISION
);
CREATE INDEX calibration_runs_configuration ON calibration_runs (configuration_id, study_id, started_at_ms);

-- What came of one item of a run: three integers as JSON, or the reason why there are none. Items about one answer have
-- one key, a hash of the question as judged and the answer.
CREATE TABLE calibration_answers (
    run_id TEXT NOT NULL REFERENCES calibration_runs (id),
    position INTEGER NOT NULL,
    key TEXT NOT NULL,
    scores TEXT,
    reason TEXT,
    PRIMARY KEY (run_id, position)
);

-- What such runs cost; part of a day's budget.
CREATE TABLE calibration_spend (
    day TEXT NOT NULL,
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    rubric TEXT NOT NULL CHECK (rubric IN ('oemu', 'caption')),
    calls BIGINT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cost_usd DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (day, configuration_id, rubric)
);

-- Under this lease one process at a time asks the judge about rated answers.
INSERT INTO leases (name, owner, expires_at_ms, epoch, attempts) VALUES ('calibration', NULL, 0, 0, 0);
