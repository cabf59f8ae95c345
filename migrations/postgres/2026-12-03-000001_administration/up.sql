-- What maintainers do: the audit log says from where and is never changed.

-- The address that a request came from, or `command line`; empty where it was not kept.
ALTER TABLE audit_log ADD COLUMN place TEXT NOT NULL DEFAULT '';

CREATE INDEX audit_log_by_subject ON audit_log (subject);

-- Findings that a maintainer should look at, open until one closes them with a reason. `subject` is a submission, or of
-- kind `signup` a sign-up; `other` is the submission that it is like, if it is like one.
CREATE TABLE flag_queue (
    subject TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('attack', 'series', 'twin', 'signup')),
    team TEXT NOT NULL,
    other TEXT,
    detail TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    closed_at_ms BIGINT,
    closed_by TEXT,
    closed_reason TEXT,
    PRIMARY KEY (subject, kind)
);

CREATE INDEX flag_queue_by_kind ON flag_queue (kind, closed_at_ms);

INSERT INTO flag_queue (subject, kind, team, detail, created_at_ms)
SELECT answer_flags.submission_id, 'attack', teams.slug,
    count(*) || ' answer(s) show signs of talking to the judge', min(answer_flags.created_at_ms)
FROM answer_flags
JOIN submissions ON submissions.id = answer_flags.submission_id
JOIN teams ON teams.id = submissions.team_id
GROUP BY answer_flags.submission_id, teams.slug;

INSERT INTO flag_queue (subject, kind, team, other, detail, created_at_ms)
SELECT series_members.submission_id, 'series', teams.slug, series_members.nearest_id,
    'file ' || series_members.place || ' of a series that differs in few letters', series_members.created_at_ms
FROM series_members
JOIN teams ON teams.id = series_members.team_id
WHERE series_members.place >= 4;

INSERT INTO flag_queue (subject, kind, team, other, detail, created_at_ms)
SELECT series_members.submission_id, 'twin', teams.slug, series_members.twin_id,
    series_members.twin_differing || ' of ' || series_members.twin_compared || ' letters differ from another team''s file',
    series_members.created_at_ms
FROM series_members
JOIN teams ON teams.id = series_members.team_id
WHERE series_members.twin_id IS NOT NULL;

-- What maintainers write down about a submission; no team sees it.
CREATE TABLE submission_notes (
    id TEXT PRIMARY KEY NOT NULL,
    submission_id TEXT NOT NULL REFERENCES submissions (id),
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL
);

CREATE INDEX submission_notes_by_submission ON submission_notes (submission_id);

CREATE FUNCTION keep_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only';
END;
$$;

CREATE TRIGGER audit_log_stays BEFORE UPDATE ON audit_log
FOR EACH ROW EXECUTE FUNCTION keep_audit_log();

CREATE TRIGGER audit_log_stays_whole BEFORE DELETE OR TRUNCATE ON audit_log
FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_log();
