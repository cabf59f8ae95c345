//! Whether a camera moves, read from what an annotator wrote of its angle. Knows nothing of records or
//! releases.

use std::sync::LazyLock;

use regex::Regex;

use super::question::Camera;

/// "no pan or tilt", "without any camera movement": a move that is denied, with what `or` adds to it.
static DENIED_MOVE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi) \b(?:no|without|not|never)\b (?:\s+\w+){0,2}?
          \s+ (?:pan|tilt|dolly|move|moving|movement|translation|track)\w* (?:\s+(?:or|and|nor)\s+\w+)*",
    )
});

/// A stated move. `tilted` is a view direction and a zoom is a change of lens: neither is one.
static MOVE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi) \b(?: pan|pans|panned|panning|tilts|tilting|dolly|dollies|dollying|translat\w+|track(?:s|ing)
          |follow(?:s|ing)|orbit(?:s|ing)|mov(?:es|ing) )\b | \bvertical\x20tilt\b | \btilt\x20(?:up|down)",
    )
});

static REST: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:static|stationary|fixed|locked|tripod|still|motionless)\b"));

#[expect(clippy::expect_used, reason = "the patterns are constants, which every test compiles")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern")
}

/// The camera that an annotation's `camera_angle` describes: a move beats a word of rest, and a bare view
/// direction says nothing.
pub fn camera_of(camera_angle: &str) -> Camera {
    // A denied move is itself a word of rest; `static` in its place also keeps its neighbours apart.
    let stated = DENIED_MOVE.replace_all(camera_angle, " static ");
    if MOVE.is_match(&stated) {
        Camera::Moving
    } else if REST.is_match(&stated) {
        Camera::Static
    } else {
        Camera::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_all(camera: Camera, angles: &[&str]) {
        for angle in angles {
            assert_eq!(camera_of(angle), camera, "{angle}");
        }
    }

    #[test]
    fn a_camera_that_moves_at_any_time_is_moving() {
        assert_all(
            Camera::Moving,
            &[
                "horizontal pan to the left, eye level",
                "vertical tilt upward, low angle",
                "dolly around the object as the reference center",
                "Translation to the right",
                "the camera TRACKS the object",
                "static at first, then pans slowly to the right",
                "no tilt, but the camera moves forward",
                "tilt down to the sand",
            ],
        );
    }

    #[test]
    fn a_camera_at_rest_is_static() {
        assert_all(
            Camera::Static,
            &[
                "static camera, eye level",
                "fixed on a tripod, no pan or tilt",
                "the camera does not move; high angle",
                "without any camera movement",
                "locked-off shot, frontal angle",
                "never pans nor tilts nor follows",
            ],
        );
    }

    #[test]
    fn a_view_direction_a_zoom_and_a_shake_are_no_moves() {
        assert_all(
            Camera::Static,
            &[
                "static camera, tilted downward",
                "static camera, slow zoom in",
                "static camera with slight shake, eye level",
            ],
        );
    }

    #[test]
    fn a_bare_view_direction_says_nothing() {
        assert_all(
            Camera::Unknown,
            &["", "  ", "eye level", "tilted downward", "top-down view", "slow zoom in"],
        );
    }

    #[test]
    fn words_count_whole() {
        assert_all(Camera::Unknown, &["panorama", "unfixed", "stills", "moved", "ecstatic"]);
    }
}
