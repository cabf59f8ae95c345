//! A file of lines that is added to as results come, and that goes on after a kill. Knows nothing of what the lines hold.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use serde_json::Value;

/// Opens a file to add to it, and gives its text; a last line without an end, which a kill left half written, is cut off.
///
/// # Errors
/// When it cannot be opened or is no UTF-8.
pub fn open_whole(path: &Path) -> io::Result<(File, String)> {
    let mut file = OpenOptions::new().create(true).append(true).read(true).open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if whole < bytes.len() {
        bytes.truncate(whole);
        file.set_len(whole as u64)?;
    }
    Ok((file, String::from_utf8(bytes).map_err(io::Error::other)?))
}

/// Adds a line, safe from a power cut when this returns.
///
/// # Errors
/// When it cannot be written.
pub fn append(file: &mut File, line: &Value) -> io::Result<()> {
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}
