ALTER TABLE scores DROP COLUMN rejudged_at_ms;
-- What had become of such a request cannot be told without its instant.
DELETE FROM rejudgings WHERE anew_since_ms IS NOT NULL AND state <> 'done';
ALTER TABLE rejudgings DROP COLUMN anew_since_ms;
DELETE FROM judgements WHERE vote <> 0;
