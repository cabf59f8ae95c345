//! What can be wrong or odd about a prediction file. Knows nothing of how files are read or answered.

use serde::{Deserialize, Serialize};

use crate::text_enum;

text_enum! {
    /// Why a prediction file is refused (contract 2).
    FaultCode {
        MalformedJson = "malformed_json",
        DuplicateKey = "duplicate_key",
        MalformedCsv = "malformed_csv",
        NotUtf8 = "not_utf8",
        UnknownFormat = "unknown_format",
        EmptyFile = "empty_file",
        MissingField = "missing_field",
        WrongType = "wrong_type",
        UnknownQuestion = "unknown_question",
        WrongSplit = "wrong_split",
        DuplicateQuestion = "duplicate_question",
        AnswerTooLong = "answer_too_long",
        LineTooLong = "line_too_long",
        TooLarge = "too_large",
        TooDeep = "too_deep",
        CorruptCompression = "corrupt_compression",
        NestedCompression = "nested_compression",
    }
}

text_enum! {
    /// What is odd about a file that is accepted all the same (contract 2).
    WarningCode {
        MissingAnswers = "missing_answers",
        EmptyAnswer = "empty_answer",
        UnparsedAnswer = "unparsed_answer",
        ExtraField = "extra_field",
        MatchedByPlace = "matched_by_place",
        RepeatedFile = "repeated_file",
        /// Not of the file alone: it differs little from many before it.
        ScoresWithheld = "scores_withheld",
    }
}

/// One fault of a prediction file, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct Fault {
    /// What kind of fault it is.
    pub code: FaultCode,
    /// Line of the uncompressed text, from 1.
    pub line: Option<u64>,
    /// Column in the line, in characters from 1.
    pub column: Option<u64>,
    /// The field or JSON pointer concerned, such as `/answer`.
    pub pointer: Option<String>,
    /// The question concerned, if its id could be read.
    pub question_id: Option<String>,
    /// What is wrong and how to mend it, one sentence or two.
    pub detail: String,
}

/// One oddity of an accepted prediction file, with how often it occurs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct Warning {
    /// What kind of oddity it is.
    pub code: WarningCode,
    /// How many answers or fields it concerns.
    pub count: u64,
    /// What it means for the scores, with the first place where it occurs.
    pub detail: String,
}
