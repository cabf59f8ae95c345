//! The columns of the leaderboard: what each is called, which questions it counts and in what unit. Computes
//! nothing.

use super::question::{Camera, QuestionType};
use crate::text_enum;

text_enum! {
    /// A column of the leaderboard (contract 5).
    Column {
        MbcSo = "MBC-so",
        MbcMo = "MBC-mo",
        Pmt = "PMT",
        Pdo = "PDO",
        Obk = "OBK",
        SmE = "SM-e",
        SmL = "SM-l",
        Oemu = "OEMU",
        StaticBeh = "static/BEH",
        StaticAh = "static/AH",
        StaticEcf = "static/ECF",
        MovingBeh = "moving/BEH",
        MovingAh = "moving/AH",
        MovingEcf = "moving/ECF",
        Mcq = "MCQ",
    }
}

text_enum! {
    /// What a column's value is measured in: percent of 100, or points from 0 to 5.
    Unit { Percent = "percent", Points = "points" }
}

text_enum! {
    /// A caption's dimension, one per criterion of the caption rubric (paper, "Video Captioning").
    CaptionDimension { Beh = "BEH", Ah = "AH", Ecf = "ECF" }
}

impl Unit {
    /// The end of the scale, which begins at 0.
    pub const fn top(self) -> f64 {
        match self {
            Unit::Percent => 100.0,
            Unit::Points => 5.0,
        }
    }

    /// How many decimals of a value are printed.
    pub const fn places(self) -> usize {
        match self {
            Unit::Percent => 1,
            Unit::Points => 2,
        }
    }
}

impl Column {
    /// The columns that give the percentage of right letters, one per multiple-choice type.
    pub const PERCENT: [Column; 7] =
        [Self::MbcSo, Self::MbcMo, Self::Pmt, Self::Pdo, Self::Obk, Self::SmE, Self::SmL];

    /// The columns of questions, as in the paper's Table 3.
    pub const QUESTIONS: [Column; 8] =
        [Self::MbcSo, Self::MbcMo, Self::Pmt, Self::Pdo, Self::Obk, Self::SmE, Self::SmL, Self::Oemu];

    /// The type of question that the column counts; none for `MCQ`, which is made of other columns.
    pub const fn question_type(self) -> Option<QuestionType> {
        Some(match self {
            Self::MbcSo => QuestionType::CentralObject,
            Self::MbcMo => QuestionType::ObjectDetect,
            Self::Pmt => QuestionType::CentralObjectAppearance,
            Self::Pdo => QuestionType::CameraMotion,
            Self::Obk => QuestionType::CentralObjectMotion,
            Self::SmE => QuestionType::Environment,
            Self::SmL => QuestionType::Lighting,
            Self::Oemu => QuestionType::CameraObjectOpenEnded,
            Self::StaticBeh | Self::StaticAh | Self::StaticEcf => QuestionType::Caption,
            Self::MovingBeh | Self::MovingAh | Self::MovingEcf => QuestionType::Caption,
            Self::Mcq => return None,
        })
    }

    /// The camera whose videos alone the column counts, if it is not all.
    pub const fn camera(self) -> Option<Camera> {
        match self {
            Self::StaticBeh | Self::StaticAh | Self::StaticEcf => Some(Camera::Static),
            Self::MovingBeh | Self::MovingAh | Self::MovingEcf => Some(Camera::Moving),
            _ => None,
        }
    }

    /// The caption dimension that the column shows, if it is one of captions.
    pub const fn caption_dimension(self) -> Option<CaptionDimension> {
        match self {
            Self::StaticBeh | Self::MovingBeh => Some(CaptionDimension::Beh),
            Self::StaticAh | Self::MovingAh => Some(CaptionDimension::Ah),
            Self::StaticEcf | Self::MovingEcf => Some(CaptionDimension::Ecf),
            _ => None,
        }
    }

    /// Whether a question of this type about a video of this camera counts in the column.
    pub fn counts(self, question_type: QuestionType, camera: Camera) -> bool {
        self.question_type() == Some(question_type) && self.camera().is_none_or(|wanted| wanted == camera)
    }

    /// What the column's value is measured in.
    pub const fn unit(self) -> Unit {
        match self.question_type() {
            Some(question_type) if question_type.rubric().is_some() => Unit::Points,
            _ => Unit::Percent,
        }
    }

    /// What the column shows, in the paper's words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::MbcSo => "Marine biotic communities, central object",
            Self::MbcMo => "Marine biotic communities, all objects",
            Self::Pmt => "Phenotypic and morphological traits",
            Self::Pdo => "Perspective-dependent observations",
            Self::Obk => "Organism behavioral kinematics",
            Self::SmE => "Spatiotemporal monitoring, environment",
            Self::SmL => "Spatiotemporal monitoring, lighting",
            Self::Oemu => "Open-ended with motion understanding",
            Self::StaticBeh => "Biological entity hallucination, static camera",
            Self::StaticAh => "Action hallucination, static camera",
            Self::StaticEcf => "Environmental context fabrications, static camera",
            Self::MovingBeh => "Biological entity hallucination, moving camera",
            Self::MovingAh => "Action hallucination, moving camera",
            Self::MovingEcf => "Environmental context fabrications, moving camera",
            Self::Mcq => "Mean of the seven multiple-choice columns",
        }
    }

    /// Whether the column follows from letters alone.
    pub fn is_of_letters(self) -> bool {
        self == Self::Mcq || Self::PERCENT.contains(&self)
    }

    /// The percent column of a multiple-choice type; none for an open-ended one.
    pub fn percent_of(question_type: QuestionType) -> Option<Column> {
        Self::PERCENT.into_iter().find(|column| column.question_type() == Some(question_type))
    }
}

impl CaptionDimension {
    /// The dimension's column for static cameras and the one for moving cameras.
    pub const fn columns(self) -> [Column; 2] {
        match self {
            Self::Beh => [Column::StaticBeh, Column::MovingBeh],
            Self::Ah => [Column::StaticAh, Column::MovingAh],
            Self::Ecf => [Column::StaticEcf, Column::MovingEcf],
        }
    }

    /// The place of the dimension's number among the three scores of a caption.
    pub const fn criterion(self) -> usize {
        match self {
            Self::Beh => 0,
            Self::Ah => 1,
            Self::Ecf => 2,
        }
    }
}

/// The dimension or dimensions that a type of question measures, as tables and metrics name them.
pub fn dimension(question_type: QuestionType) -> &'static str {
    match Column::percent_of(question_type) {
        Some(column) => column.as_str(),
        None if question_type == QuestionType::Caption => "BEH/AH/ECF",
        None => Column::Oemu.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::question::QuestionFormat;

    #[test]
    fn the_columns_stand_in_the_order_of_the_contract() {
        let ids: Vec<&str> = Column::ALL.iter().map(|column| column.as_str()).collect();
        let expected = "MBC-so MBC-mo PMT PDO OBK SM-e SM-l OEMU static/BEH static/AH static/ECF \
                        moving/BEH moving/AH moving/ECF MCQ";
        assert_eq!(ids.join(" "), expected);
    }

    #[test]
    fn every_multiple_choice_type_has_one_percent_column() {
        for &question_type in QuestionType::ALL {
            let column = Column::percent_of(question_type);
            assert_eq!(column.is_some(), question_type.format() == QuestionFormat::MultipleChoice);
            assert!(column.is_none_or(|column| column.unit() == Unit::Percent));
        }
        assert_eq!(Column::Mcq.unit(), Unit::Percent);
        assert_eq!(Column::Oemu.unit(), Unit::Points);
        assert_eq!(Column::MovingEcf.unit(), Unit::Points);
    }

    #[test]
    fn a_caption_counts_in_the_three_columns_of_its_camera() {
        let columns_of = |camera| -> Vec<Column> {
            let counts = |column: &Column| column.counts(QuestionType::Caption, camera);
            Column::ALL.iter().copied().filter(counts).collect()
        };
        assert_eq!(columns_of(Camera::Static), [Column::StaticBeh, Column::StaticAh, Column::StaticEcf]);
        assert_eq!(columns_of(Camera::Moving), [Column::MovingBeh, Column::MovingAh, Column::MovingEcf]);
        assert_eq!(columns_of(Camera::Unknown), []);
        assert!(Column::Oemu.counts(QuestionType::CameraObjectOpenEnded, Camera::Unknown));
    }

    #[test]
    fn a_caption_dimension_and_its_columns_name_each_other() {
        for &dimension in CaptionDimension::ALL {
            for column in dimension.columns() {
                assert_eq!(column.caption_dimension(), Some(dimension));
            }
        }
    }

    #[test]
    fn every_type_measures_a_named_dimension() {
        assert_eq!(dimension(QuestionType::Lighting), "SM-l");
        assert_eq!(dimension(QuestionType::CameraObjectOpenEnded), "OEMU");
        assert_eq!(dimension(QuestionType::Caption), "BEH/AH/ECF");
    }
}
