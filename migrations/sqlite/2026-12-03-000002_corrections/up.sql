-- Corrected releases: entries follow from one release of a line to another, and their scores stand under each.

-- Releases of one line hold the same questions, corrected: `line_id` is that of the first of them. One release of a split
-- may be staged: what is published is scored under it too, so that it can become the active one.
ALTER TABLE releases ADD COLUMN line_id TEXT NOT NULL DEFAULT '';
UPDATE releases SET line_id = id;
ALTER TABLE releases ADD COLUMN staged BOOLEAN NOT NULL DEFAULT FALSE;
-- Whether it ever was the active one: then it has a board of its own.
ALTER TABLE releases ADD COLUMN shown BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE releases SET shown = TRUE
WHERE active OR EXISTS (SELECT 1 FROM board_changes WHERE board_changes.release_id = releases.id)
    OR EXISTS (SELECT 1 FROM submissions WHERE submissions.release_id = releases.id);
CREATE UNIQUE INDEX releases_staged ON releases (split) WHERE staged;

-- What a release corrects, as its board says it. `changes` counts changed questions by column, as JSON.
CREATE TABLE corrections (
    release_id TEXT PRIMARY KEY NOT NULL REFERENCES releases (id),
    corrected_id TEXT NOT NULL REFERENCES releases (id),
    notice TEXT,
    questions INTEGER NOT NULL,
    changes TEXT NOT NULL,
    staged_at_ms BIGINT NOT NULL,
    applied_at_ms BIGINT
);

-- The release whose questions the answers are in the order of; its submission may stand under another by now.
ALTER TABLE predictions ADD COLUMN release_id TEXT NOT NULL DEFAULT '';
UPDATE predictions SET release_id =
    (SELECT submissions.release_id FROM submissions WHERE submissions.id = predictions.submission_id);

CREATE TABLE outcomes_by_release (
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    release_id TEXT NOT NULL REFERENCES releases (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    vector BLOB NOT NULL,
    PRIMARY KEY (submission_id, release_id, configuration_id)
);
INSERT INTO outcomes_by_release
SELECT outcomes.submission_id, submissions.release_id, outcomes.configuration_id, outcomes.vector
FROM outcomes, submissions WHERE submissions.id = outcomes.submission_id;
DROP TABLE outcomes;
ALTER TABLE outcomes_by_release RENAME TO outcomes;

-- With how much of that release was answered.
CREATE TABLE scores_by_release (
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    release_id TEXT NOT NULL REFERENCES releases (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    by_column TEXT NOT NULL,
    complete BOOLEAN NOT NULL,
    questions INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    unparsed INTEGER NOT NULL,
    PRIMARY KEY (submission_id, release_id, configuration_id)
);
INSERT INTO scores_by_release
SELECT scores.submission_id, submissions.release_id, scores.configuration_id, scores.by_column, scores.complete,
    submissions.questions, submissions.answered, submissions.unparsed
FROM scores, submissions WHERE submissions.id = scores.submission_id;
DROP TABLE scores;
ALTER TABLE scores_by_release RENAME TO scores;
CREATE INDEX scores_under ON scores (release_id, configuration_id);

CREATE TABLE judge_failures_by_release (
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    release_id TEXT NOT NULL REFERENCES releases (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    question_id TEXT NOT NULL,
    key TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    calls INTEGER NOT NULL,
    first_failed_at_ms BIGINT NOT NULL,
    last_failed_at_ms BIGINT NOT NULL,
    PRIMARY KEY (submission_id, release_id, configuration_id, question_id)
);
INSERT INTO judge_failures_by_release
SELECT judge_failures.submission_id, submissions.release_id, judge_failures.configuration_id,
    judge_failures.question_id, judge_failures.key, judge_failures.reason, judge_failures.detail,
    judge_failures.calls, judge_failures.first_failed_at_ms, judge_failures.last_failed_at_ms
FROM judge_failures, submissions WHERE submissions.id = judge_failures.submission_id;
DROP TABLE judge_failures;
ALTER TABLE judge_failures_by_release RENAME TO judge_failures;

-- Submissions that are scored under another release or configuration than their own: a staged one, or those of the board
-- where they were published after a change.
CREATE TABLE rejudgings_by_release (
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    release_id TEXT NOT NULL REFERENCES releases (id),
    configuration_id TEXT NOT NULL REFERENCES judge_configurations (id),
    state TEXT NOT NULL CHECK (state IN ('pending', 'done', 'incomplete')),
    failed INTEGER NOT NULL,
    not_before_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    finished_at_ms BIGINT,
    PRIMARY KEY (submission_id, release_id, configuration_id)
);
INSERT INTO rejudgings_by_release
SELECT rejudgings.submission_id, submissions.release_id, rejudgings.configuration_id, rejudgings.state,
    rejudgings.failed, rejudgings.not_before_ms, rejudgings.created_at_ms, rejudgings.finished_at_ms
FROM rejudgings, submissions WHERE submissions.id = rejudgings.submission_id;
DROP TABLE rejudgings;
ALTER TABLE rejudgings_by_release RENAME TO rejudgings;
CREATE INDEX rejudgings_pending ON rejudgings (not_before_ms) WHERE state = 'pending';
