//! Building questions of a few videos that are written here.
