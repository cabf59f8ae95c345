//! What people and judges rate answers in: the four open-ended types of the paper's human study. Computes nothing.

use super::column::CaptionDimension;
use super::question::QuestionType;
use crate::text_enum;

text_enum! {
    /// An open-ended type, whatever the camera (paper, "Human Study").
    Dimension { Oemu = "OEMU", Beh = "BEH", Ah = "AH", Ecf = "ECF" }
}

impl Dimension {
    /// The type of question whose answers are rated in it.
    pub const fn question_type(self) -> QuestionType {
        match self {
            Self::Oemu => QuestionType::CameraObjectOpenEnded,
            Self::Beh | Self::Ah | Self::Ecf => QuestionType::Caption,
        }
    }

    /// The dimension of captions that it is, if it is one.
    pub const fn caption(self) -> Option<CaptionDimension> {
        match self {
            Self::Oemu => None,
            Self::Beh => Some(CaptionDimension::Beh),
            Self::Ah => Some(CaptionDimension::Ah),
            Self::Ecf => Some(CaptionDimension::Ecf),
        }
    }

    /// What it asks about, in the paper's words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Oemu => "Open-ended with motion understanding",
            Self::Beh => "Biological entity hallucination",
            Self::Ah => "Action hallucination",
            Self::Ecf => "Environmental context fabrications",
        }
    }
}
