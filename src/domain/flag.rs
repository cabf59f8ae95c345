//! Findings that a maintainer should look at. Knows nothing of how they are found.

use crate::text_enum;

text_enum! {
    /// What a finding is about; a hint that nothing follows from by itself.
    FlagKind {
        /// Answers that show signs of talking to the judge.
        Attack = "attack",
        /// One of many near-duplicates of a team, such as spell out a key by their scores.
        Series = "series",
        /// Nearly the same letters as another team's file.
        Twin = "twin",
        /// A sign-up that is like a team or another sign-up.
        Signup = "signup",
    }
}
