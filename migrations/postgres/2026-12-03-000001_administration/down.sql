DROP TABLE submission_notes;
DROP TABLE flag_queue;
DROP TRIGGER audit_log_stays_whole ON audit_log;
DROP TRIGGER audit_log_stays ON audit_log;
DROP FUNCTION keep_audit_log();
DROP INDEX audit_log_by_subject;
ALTER TABLE audit_log DROP COLUMN place;
