DROP TABLE letter_bands;
DROP TABLE series_members;
