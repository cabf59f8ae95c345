//! The frames of a choice in one piece, as servers that share their media leave them to each other: a line of JSON that
//! lists them, then their JPEGs.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::video::Picture;

/// What the list says of one frame.
#[derive(Serialize, Deserialize)]
struct Listed {
    index: u64,
    timestamp_ms: i64,
    width: u32,
    height: u32,
    bytes: usize,
}

/// Puts frames in one piece.
pub(super) fn pack(pictures: &[Picture]) -> std::io::Result<Bytes> {
    let list: Vec<Listed> = pictures
        .iter()
        .map(|picture| Listed {
            index: picture.index,
            timestamp_ms: picture.timestamp_ms,
            width: picture.width,
            height: picture.height,
            bytes: picture.jpeg.len(),
        })
        .collect();
    let mut parcel = serde_json::to_vec(&list)?;
    parcel.push(b'\n');
    pictures.iter().for_each(|picture| parcel.extend_from_slice(&picture.jpeg));
    Ok(parcel.into())
}

/// The frames in a piece; none if it is not whole.
pub(super) fn unpack(parcel: &[u8]) -> Option<Vec<Picture>> {
    let end = parcel.iter().position(|byte| *byte == b'\n')?;
    let (list, mut rest) = (&parcel[..end], &parcel[end + 1..]);
    let list: Vec<Listed> = serde_json::from_slice(list).ok()?;
    let mut pictures = Vec::with_capacity(list.len());
    for Listed { index, timestamp_ms, width, height, bytes } in list {
        let (jpeg, behind) = rest.split_at_checked(bytes)?;
        pictures.push(Picture { index, timestamp_ms, width, height, jpeg: jpeg.to_vec() });
        rest = behind;
    }
    rest.is_empty().then_some(pictures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_out_and_what_is_not_whole_does_not() {
        let picture = |index| Picture { index, timestamp_ms: -40, width: 4, height: 2, jpeg: vec![b'\n'; 9] };
        let pictures = vec![picture(0), picture(3)];
        let parcel = pack(&pictures).unwrap();
        assert_eq!(unpack(&parcel), Some(pictures));
        assert_eq!(unpack(&parcel[..parcel.len() - 1]), None);
        assert_eq!(unpack(&[&parcel[..], b"x"].concat()), None);
        assert_eq!(unpack(b""), None);
    }
}
