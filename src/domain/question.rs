//! Splits, questions, their types and formats. Knows nothing of keys or how a question is graded.

use serde::{Deserialize, Serialize};

/// Declares an enum whose variants are written as fixed text in files, SQL and JSON.
#[macro_export]
macro_rules! text_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:tt),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
        pub enum $name { $(
            #[doc = concat!("`", $text, "`")]
            $(#[$vmeta])*
            #[serde(rename = $text)]
            $variant
        ),+ }

        impl $name {
            /// Every value, in the order of the benchmark.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The text that stands for the value in files, SQL and JSON.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }

            /// The value that `text` stands for.
            pub fn parse(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> std::result::Result<Self, String> {
                Self::parse(text).ok_or_else(|| {
                    let known: Vec<&str> = Self::ALL.iter().map(|v| v.as_str()).collect();
                    format!("`{text}` is none of {}", known.join(", "))
                })
            }
        }
    };
}

text_enum! {
    /// A part of the benchmark; the keys of `test` are secret.
    Split { Test = "test", Val = "val", Train = "train" }
}

text_enum! {
    /// How a question is answered.
    QuestionFormat { MultipleChoice = "multiple_choice", OpenEnded = "open_ended" }
}

text_enum! {
    /// What a question asks about; nine types (paper, "Evaluation Dimensions").
    QuestionType {
        CentralObject = "central_object",
        ObjectDetect = "object_detect",
        CentralObjectAppearance = "central_object_appearance",
        CameraMotion = "camera_motion",
        CentralObjectMotion = "central_object_motion",
        Environment = "environment",
        Lighting = "lighting",
        CameraObjectOpenEnded = "camera_object_open_ended",
        Caption = "caption",
    }
}

text_enum! {
    /// The scheme by which an LLM judge scores an open-ended answer.
    Rubric { Oemu = "oemu", Caption = "caption" }
}

text_enum! {
    /// Whether the camera of a video moves; part of the key.
    Camera { Static = "static", Moving = "moving", Unknown = "unknown" }
}

impl QuestionType {
    /// The format that every question of this type has.
    pub const fn format(self) -> QuestionFormat {
        match self.rubric() {
            Some(_) => QuestionFormat::OpenEnded,
            None => QuestionFormat::MultipleChoice,
        }
    }

    /// The rubric that scores this type, if it is open-ended.
    pub const fn rubric(self) -> Option<Rubric> {
        match self {
            Self::CameraObjectOpenEnded => Some(Rubric::Oemu),
            Self::Caption => Some(Rubric::Caption),
            _ => None,
        }
    }
}

impl Rubric {
    /// The names of the three criteria, in the order in which scores are kept.
    pub const fn criteria(self) -> [&'static str; 3] {
        match self {
            Self::Oemu => ["camera_motion_and_viewpoint", "object_activity", "camera_object_relationship"],
            Self::Caption => ["subject_correspondence", "temporal_description", "hallucination_detection"],
        }
    }
}

/// One option of a multiple-choice question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct QuestionOption {
    /// The option's letter, one of `A` to `Z`.
    pub label: String,
    /// What the option says.
    pub text: String,
}
