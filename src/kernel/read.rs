//! Bounded reads of kernel files, whose reported sizes mean nothing.

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// Largest file that [`small_text`] reads, bytes.
const SMALL: u64 = 1 << 20;

/// All of a file, or an error when it is longer than `limit` bytes.
pub(crate) fn bounded(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let file = File::open(path)?;
    let expected = file.metadata().map_or(0, |m| m.len()).min(limit);
    let mut bytes = Vec::with_capacity(expected as usize + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("larger than {limit} bytes")));
    }
    Ok(bytes)
}

/// A large text file; bytes that are not UTF-8 are replaced.
pub(crate) fn text(path: &Path, limit: u64) -> Result<String, Error> {
    let bytes = bounded(path, limit)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// A small text file without its surrounding white space.
pub(crate) fn small_text(path: &Path) -> Result<String, Error> {
    text(path, SMALL).map(|t| t.trim().to_owned())
}
