DROP TABLE submission_notes;
DROP TABLE flag_queue;
DROP TRIGGER audit_log_stays_whole;
DROP TRIGGER audit_log_stays;
DROP INDEX audit_log_by_subject;
ALTER TABLE audit_log DROP COLUMN place;
