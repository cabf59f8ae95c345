-- What maintainers do: the audit log says from where and is never changed.

-- The address that a request came from, or `command line`; empty where it was not kept.
ALTER TABLE audit_log ADD COLUMN place TEXT NOT NULL DEFAULT '';

CREATE INDEX audit_log_by_subject ON audit_log (subject);

CREATE FUNCTION keep_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only';
END;
$$;

CREATE TRIGGER audit_log_stays BEFORE UPDATE ON audit_log
FOR EACH ROW EXECUTE FUNCTION keep_audit_log();

CREATE TRIGGER audit_log_stays_whole BEFORE DELETE OR TRUNCATE ON audit_log
FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_log();
