-- The judge in earnest: money that is reserved, answers that it failed at, configurations beside the current one.

-- When `secchi judge check` last found that the judge answers: whoever gave it up before tries again.
ALTER TABLE installation ADD COLUMN judge_checked_at_ms BIGINT NOT NULL DEFAULT 0;

-- Locked by whoever reserves money for calls, so that all processes do so one after the other.
INSERT INTO leases (name, owner, expires_at_ms, epoch, attempts) VALUES ('judge_budget', NULL, 0, 0, 0);

-- Dollars that the call under a claim may cost at most; 0 while it waits.
ALTER TABLE judge_claims ADD COLUMN reserved_usd DOUBLE PRECISION NOT NULL DEFAULT 0;

-- A maintainer's decision on an answer that the judge never could stands as a judgement.
ALTER TABLE judgements ADD COLUMN decided_by TEXT;
ALTER TABLE judgements ADD COLUMN decision_reason TEXT;
CREATE INDEX judgements_decided ON judgements (configuration_id) WHERE decided_by IS NOT NULL;
CREATE INDEX judgements_newest ON judgements (configuration_id, created_at_ms);

-- At most one is staged. One that was current once keeps a board of its own, whatever it is now.
CREATE UNIQUE INDEX judge_configurations_staged ON judge_configurations (state) WHERE state = 'staged';
ALTER TABLE judge_configurations ADD COLUMN retired_at_ms BIGINT;

-- Whether every column stands, so that a board under this configuration may show the row.
ALTER TABLE scores ADD COLUMN complete BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE scores SET complete = TRUE
    WHERE EXISTS (
        SELECT 1 FROM submissions
        WHERE submissions.id = scores.submission_id
            AND submissions.configuration_id = scores.configuration_id
            AND submissions.state = 'scored'
    );
CREATE INDEX scores_configuration ON scores (configuration_id);

-- Answers that a call to the judge failed at, with the last reason; also those that a maintainer decided.
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

-- Submissions that are judged under another configuration than their own: a staged one, or the current one where they
-- were published after a change.
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
CREATE INDEX rejudgings_pending ON rejudgings (not_before_ms) WHERE state = 'pending';

-- Answers that show signs of talking to the judge; for maintainers, and without effect on any score.
CREATE TABLE answer_flags (
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    question_id TEXT NOT NULL,
    signs TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (submission_id, question_id)
);
