//! How a picture must be turned to stand upright: the stream's display matrix. Knows no pixels.

use ffmpeg::codec::packet::side_data::Type as SideDataType;
use ffmpeg::format::stream::Stream;
use ffmpeg_next as ffmpeg;

/// The four numbers of a display matrix that turn and mirror, by rows; 16.16 fixed point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Orientation {
    across: [i32; 2],
    down: [i32; 2],
}

impl Orientation {
    const UPRIGHT: Orientation = Orientation { across: [1 << 16, 0], down: [0, 1 << 16] };

    /// The orientation of a stream's pictures.
    pub(super) fn of(stream: &Stream<'_>) -> Orientation {
        let matrix = stream.side_data().find(|data| data.kind() == SideDataType::DisplayMatrix);
        matrix.and_then(|matrix| Orientation::read(matrix.data())).unwrap_or(Orientation::UPRIGHT)
    }

    /// Reads the nine native numbers of a display matrix.
    fn read(matrix: &[u8]) -> Option<Orientation> {
        let number = |place: usize| {
            let bytes = matrix.get(4 * place..4 * place + 4)?;
            Some(i32::from_ne_bytes(bytes.try_into().ok()?))
        };
        Some(Orientation { across: [number(0)?, number(1)?], down: [number(3)?, number(4)?] })
    }

    /// Degrees counterclockwise by which a player turns the picture, as ffprobe tells them.
    pub(super) fn degrees(self) -> i32 {
        let [cosine, sine] = self.across.map(f64::from);
        ((-sine).atan2(cosine).to_degrees().round() as i32).rem_euclid(360)
    }

    /// Whether width and height change places.
    pub(super) fn is_sideways(self) -> bool {
        self.across[1].unsigned_abs() > self.across[0].unsigned_abs()
    }

    /// The filters that do it, as the `ffmpeg` command chooses them; each with a comma behind it. An angle between the
    /// quarters is left as it is: no camera writes one.
    pub(super) fn filters(self) -> String {
        let [across, down] = [self.across, self.down];
        if self.is_sideways() {
            let way = match (across[1] > 0, down[0].signum()) {
                (true, 1) => "cclock_flip",
                (true, _) => "clock",
                (false, -1) => "clock_flip",
                (false, _) => "cclock",
            };
            return format!("transpose={way},");
        }
        let mirror = |negative: bool, filter: &'static str| if negative { filter } else { "" };
        format!("{}{}", mirror(across[0] < 0, "hflip,"), mirror(down[1] < 0, "vflip,"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_the_eight_orientations_has_its_filters() {
        let one = 1 << 16;
        for (across, down, degrees, filters) in [
            ([one, 0], [0, one], 0, ""),
            ([0, one], [-one, 0], 270, "transpose=clock,"),
            ([-one, 0], [0, -one], 180, "hflip,vflip,"),
            ([0, -one], [one, 0], 90, "transpose=cclock,"),
            ([-one, 0], [0, one], 180, "hflip,"),
            ([one, 0], [0, -one], 0, "vflip,"),
            ([0, one], [one, 0], 270, "transpose=cclock_flip,"),
            ([0, -one], [-one, 0], 90, "transpose=clock_flip,"),
        ] {
            let bytes: Vec<u8> = [across[0], across[1], 0, down[0], down[1], 0, 0, 0, 1 << 30]
                .into_iter()
                .flat_map(i32::to_ne_bytes)
                .collect();
            let orientation = Orientation::read(&bytes).unwrap();
            assert_eq!((orientation.degrees(), orientation.filters().as_str()), (degrees, filters));
        }
        assert_eq!(Orientation::read(&[0; 12]), None);
    }
}
