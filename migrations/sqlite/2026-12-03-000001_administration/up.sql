-- What maintainers do: the audit log says from where and is never changed.

-- The address that a request came from, or `command line`; empty where it was not kept.
ALTER TABLE audit_log ADD COLUMN place TEXT NOT NULL DEFAULT '';

CREATE INDEX audit_log_by_subject ON audit_log (subject);

CREATE TRIGGER audit_log_stays BEFORE UPDATE ON audit_log
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;

CREATE TRIGGER audit_log_stays_whole BEFORE DELETE ON audit_log
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
