ALTER TABLE rejudgings RENAME TO rejudgings_by_release;
DROP INDEX rejudgings_pending;
CREATE TABLE rejudgings (
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    state TEXT NOT NULL CHECK (state IN ('pending', 'done', 'incomplete')),
    failed INTEGER NOT NULL,
    not_before_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    finished_at_ms BIGINT,
    PRIMARY KEY (submission_id, configuration_id)
);
INSERT INTO rejudgings
SELECT rejudged.submission_id, rejudged.configuration_id, rejudged.state, rejudged.failed, rejudged.not_before_ms,
    rejudged.created_at_ms, rejudged.finished_at_ms
FROM rejudgings_by_release AS rejudged, submissions
WHERE submissions.id = rejudged.submission_id AND submissions.release_id = rejudged.release_id;
DROP TABLE rejudgings_by_release;
CREATE INDEX rejudgings_pending ON rejudgings (not_before_ms) WHERE state = 'pending';

ALTER TABLE judge_failures RENAME TO judge_failures_by_release;
CREATE TABLE judge_failures (
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    question_id TEXT NOT NULL,
    key TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    calls INTEGER NOT NULL,
    first_failed_at_ms BIGINT NOT NULL,
    last_failed_at_ms BIGINT NOT NULL,
    PRIMARY KEY (submission_id, configuration_id, question_id)
);
INSERT INTO judge_failures
SELECT failed.submission_id, failed.configuration_id, failed.question_id, failed.key, failed.reason, failed.detail,
    failed.calls, failed.first_failed_at_ms, failed.last_failed_at_ms
FROM judge_failures_by_release AS failed, submissions
WHERE submissions.id = failed.submission_id AND submissions.release_id = failed.release_id;
DROP TABLE judge_failures_by_release;

ALTER TABLE scores RENAME TO scores_by_release;
DROP INDEX scores_under;
CREATE TABLE scores (
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    by_column TEXT NOT NULL,
    complete BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (submission_id, configuration_id)
);
INSERT INTO scores
SELECT scored.submission_id, scored.configuration_id, scored.by_column, scored.complete
FROM scores_by_release AS scored, submissions
WHERE submissions.id = scored.submission_id AND submissions.release_id = scored.release_id;
DROP TABLE scores_by_release;
CREATE INDEX scores_configuration ON scores (configuration_id);

ALTER TABLE outcomes RENAME TO outcomes_by_release;
CREATE TABLE outcomes (
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    vector BLOB NOT NULL,
    PRIMARY KEY (submission_id, configuration_id)
);
INSERT INTO outcomes
SELECT graded.submission_id, graded.configuration_id, graded.vector
FROM outcomes_by_release AS graded, submissions
WHERE submissions.id = graded.submission_id AND submissions.release_id = graded.release_id;
DROP TABLE outcomes_by_release;

ALTER TABLE predictions DROP COLUMN release_id;
DROP TABLE corrections;
DROP INDEX releases_staged;
ALTER TABLE releases DROP COLUMN shown;
ALTER TABLE releases DROP COLUMN staged;
ALTER TABLE releases DROP COLUMN line_id;
