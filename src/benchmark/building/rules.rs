//! What is asked about a video, in which words, and what is right: the paper's rules A1 to A6 and B7 to B9. Texts and forms
//! of answers are data: they stand here letter by letter, the typographic apostrophe included. Knows nothing of options.

use serde_json::{Map, Value};

use super::annotation::Annotation;
use super::movement::has_subject;
use crate::domain::question::QuestionType;
use crate::text_enum;

const CAPTION_QUESTION: &str = "Write one complete English video-captioning sentence that contains fewer than 80 words, \
    describes the central object\u{2019}s identity, texture or pattern, color, size, and shape, includes up to three secondary \
    objects, details the environment and lighting, mentions the video quality, describes the object motion, and defines the \
    camera position and camera angle separately.";

text_enum! {
    /// What a part of an answer says.
    Attribute {
        CentralObject = "central_object",
        Color = "color",
        SizeShape = "size_shape",
        ObjectsPresent = "objects_present",
        CameraPosition = "camera_position",
        CameraAngle = "camera_angle",
        MovementBehavior = "movement_behavior",
        Environment = "environment",
        Lighting = "lighting",
    }
}

/// The types of question in the order in which they are numbered; the last three are asked only where there is an answer.
const ORDER: [QuestionType; 9] = [
    QuestionType::CentralObject,
    QuestionType::CentralObjectAppearance,
    QuestionType::ObjectDetect,
    QuestionType::CameraMotion,
    QuestionType::CameraObjectOpenEnded,
    QuestionType::Caption,
    QuestionType::CentralObjectMotion,
    QuestionType::Environment,
    QuestionType::Lighting,
];

/// The types of question that are asked about a video, in the order of their numbers.
pub(super) fn types_for(video: &Annotation) -> impl Iterator<Item = QuestionType> {
    let is_asked = |question_type: &QuestionType| match question_type {
        QuestionType::CentralObjectMotion => video.central_motion.is_some(),
        QuestionType::Environment => video.environment.is_some(),
        QuestionType::Lighting => video.lighting.is_some(),
        _ => true,
    };
    ORDER.into_iter().filter(is_asked)
}

/// The question's text.
pub(super) fn question(video: &Annotation, question_type: QuestionType) -> String {
    let name = &video.central_object;
    match question_type {
        QuestionType::CentralObject => "What is the central object in the video?".to_owned(),
        QuestionType::CentralObjectAppearance => {
            format!("Which color and size or shape description best matches the {name}?")
        }
        QuestionType::ObjectDetect => {
            "Which option lists only objects present in the video? An option is incorrect if it \
            includes any object not shown."
                .to_owned()
        }
        QuestionType::CameraMotion => {
            "Which camera position or camera movement best matches the video?".to_owned()
        }
        QuestionType::CameraObjectOpenEnded => format!(
            "How do the camera movement and viewpoint capture the {name} and the visible object activity in the video?"
        ),
        QuestionType::Caption => CAPTION_QUESTION.to_owned(),
        QuestionType::CentralObjectMotion => {
            format!("Which movement or state of the {name}, best matches the video?")
        }
        QuestionType::Environment => "How is the environment in the video?".to_owned(),
        QuestionType::Lighting => "How is the lighting in the video?".to_owned(),
    }
}

/// The parts of the right answer that are wrong in other options; none of an open-ended question.
pub(super) fn parts(video: &Annotation, question_type: QuestionType) -> Vec<(Attribute, String)> {
    let some = |attribute, text: &Option<String>| text.iter().map(|text| (attribute, text.clone())).collect();
    match question_type {
        QuestionType::CentralObject => vec![(Attribute::CentralObject, video.central_object.clone())],
        QuestionType::CentralObjectAppearance => {
            vec![(Attribute::Color, video.color.clone()), (Attribute::SizeShape, video.size_shape.clone())]
        }
        QuestionType::ObjectDetect if video.objects_present.is_empty() => {
            vec![(Attribute::CentralObject, video.central_object.clone())]
        }
        QuestionType::ObjectDetect => {
            video.objects_present.iter().map(|name| (Attribute::ObjectsPresent, name.clone())).collect()
        }
        QuestionType::CameraMotion => vec![
            (Attribute::CameraPosition, video.camera_position.clone()),
            (Attribute::CameraAngle, video.camera_angle.clone()),
        ],
        QuestionType::CentralObjectMotion => some(Attribute::MovementBehavior, &video.central_motion),
        QuestionType::Environment => some(Attribute::Environment, &video.environment),
        QuestionType::Lighting => some(Attribute::Lighting, &video.lighting),
        QuestionType::CameraObjectOpenEnded | QuestionType::Caption => Vec::new(),
    }
}

/// An option that is made of these parts.
pub(super) fn option(video: &Annotation, question_type: QuestionType, parts: &[&str]) -> String {
    match (question_type, parts) {
        (QuestionType::CentralObjectAppearance, [color, size_shape]) => {
            format!("color: {color}; size/shape: {size_shape}")
        }
        (QuestionType::CameraMotion, [position, angle]) => {
            format!("camera position/view: {position}; camera angle/movement: {angle}")
        }
        (QuestionType::ObjectDetect, objects) if !video.objects_present.is_empty() => {
            [&[video.central_object.as_str()], objects].concat().join(", ")
        }
        _ => parts.join(", "),
    }
}

/// The reference of an open-ended question.
pub(super) fn reference(video: &Annotation, question_type: QuestionType) -> String {
    if question_type == QuestionType::Caption {
        return video.caption.clone();
    }
    let Annotation { central_object: name, camera_position: position, camera_angle: angle, .. } = video;
    let activity = match (&video.movement_behavior, &video.central_motion) {
        // Nothing is said where nothing is known.
        (None, _) => return format!("Filmed as {position} with {angle}, the {name} is kept in view."),
        (Some(movement), None) => format!("with {movement}"),
        (Some(movement), Some(motion)) if has_subject(motion) => format!("as follows: {movement}"),
        (Some(movement), Some(_)) => movement.clone(),
    };
    format!("Filmed as {position} with {angle}, the {name} can be seen {activity}.")
}

/// The annotated values behind a question, as text; what is missing is left out.
pub(super) fn evidence(video: &Annotation, question_type: QuestionType) -> Map<String, Value> {
    let names: &[&str] = match question_type {
        QuestionType::CentralObject => &["central_object"],
        QuestionType::CentralObjectAppearance => &["central_object", "color", "size_shape"],
        QuestionType::ObjectDetect => &["central_object", "objects_present"],
        QuestionType::CameraMotion => &["camera_position", "camera_angle"],
        QuestionType::CameraObjectOpenEnded => {
            &["central_object", "movement_behavior", "camera_position", "camera_angle"]
        }
        QuestionType::Caption => &[
            "central_object",
            "texture",
            "color",
            "size_shape",
            "objects_present",
            "environment",
            "lighting",
            "video_clarity",
            "movement_behavior",
            "camera_position",
            "camera_angle",
        ],
        QuestionType::CentralObjectMotion => &["central_object", "movement_behavior"],
        QuestionType::Environment => &["environment"],
        QuestionType::Lighting => &["lighting"],
    };
    names.iter().filter_map(|name| Some(((*name).to_owned(), Value::String(value(video, name)?)))).collect()
}

fn value(video: &Annotation, name: &str) -> Option<String> {
    match name {
        "central_object" => Some(video.central_object.clone()),
        "texture" => video.texture.clone(),
        "color" => Some(video.color.clone()),
        "size_shape" => Some(video.size_shape.clone()),
        "objects_present" => Some(video.objects_present.join(", ")).filter(|names| !names.is_empty()),
        "environment" => video.environment.clone(),
        "lighting" => video.lighting.clone(),
        "video_clarity" => video.video_clarity.clone(),
        "movement_behavior" => video.movement_behavior.clone(),
        "camera_position" => Some(video.camera_position.clone()),
        "camera_angle" => Some(video.camera_angle.clone()),
        _ => None,
    }
}
