DROP TABLE archived_attempts;
