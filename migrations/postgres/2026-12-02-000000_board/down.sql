DROP TABLE record_keys;
DROP TABLE rank_ranges;
DROP TABLE ranked_boards;
DELETE FROM leases WHERE name = 'ranges';
DROP TABLE baselines;
DROP TABLE board_changes;
ALTER TABLE submissions DROP COLUMN visible_since_ms;
