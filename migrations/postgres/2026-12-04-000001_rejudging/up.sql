-- Where a maintainer does not believe the judgements on a submission: those made before this instant do not count, and all
-- of its answers are asked about again. Until the last is judged, new judgements stand beside the old as vote 1; then they
-- become vote 0, which is the one that counts, and the replaced ones are kept as votes from 2 on.
ALTER TABLE rejudgings ADD COLUMN anew_since_ms BIGINT;

-- When judgements behind these scores were last replaced.
ALTER TABLE scores ADD COLUMN rejudged_at_ms BIGINT;
