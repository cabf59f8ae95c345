//! Signs that an answer speaks to whoever grades it instead of describing a video. Knows nothing of how they are found.

use crate::text_enum;

text_enum! {
    /// A sign that an answer tries to talk to the judge; a hint for maintainers that no score depends on.
    Sign {
        /// It tells the grader to drop its instructions, or that the grading is over.
        Override = "override",
        /// It asks for a score.
        ScoreDemand = "score_demand",
        /// It speaks to or of whoever grades.
        GraderAddress = "grader_address",
        /// It speaks of grading, a rubric or criteria.
        GradingTalk = "grading_talk",
        /// It claims to quote the reference answer.
        ReferenceClaim = "reference_claim",
        /// It holds scores as a judge would give them.
        PlantedVerdict = "planted_verdict",
        /// It holds marks or labels of a chat between a model and its users.
        RoleTag = "role_tag",
        /// It pretends to end before its end.
        ClosingMark = "closing_mark",
        /// It holds text in an encoding that no reader reads.
        EncodedPayload = "encoded_payload",
        /// It holds signs that print nothing.
        HiddenCharacters = "hidden_characters",
        /// It holds control characters.
        ControlCharacters = "control_characters",
        /// Its letters are spaced out or swapped for look-alikes.
        DisguisedText = "disguised_text",
        /// One word or sign makes up most of it.
        Repetition = "repetition",
        /// Parts of it are no language, as optimised suffixes are.
        Gibberish = "gibberish",
    }
}
