DELETE FROM leases WHERE name = 'calibration';
DROP TABLE calibration_spend;
DROP TABLE calibration_answers;
DROP TABLE calibration_runs;
DROP TABLE human_ratings;
DROP TABLE rated_items;
DROP TABLE rating_studies;
