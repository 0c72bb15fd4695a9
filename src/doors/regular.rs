//! Regular files that a script, an editor or a binary names, opened without ever waiting.
//!
//! A name may stand for anything: a pipe, which an open would wait on for ever, or a device, which
//! never ends. Only regular files are opened here, and only so much of them is read.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read as _, Result};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file for reading; anything else is an error of kind `InvalidInput`.
pub fn open(path: &Path) -> Result<File> {
    let refused = || Error::new(ErrorKind::InvalidInput, "it is not a regular file");
    // Looked at before as well: opening a device may do something.
    if !std::fs::metadata(path)?.is_file() {
        return Err(refused());
    }
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused()) }
}

/// The text of a regular file of up to `most` bytes; a longer one is an error of kind `FileTooLarge`.
pub fn text(path: &Path, most: u64) -> Result<String> {
    let bytes = bounded(open(path)?, most)?;
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Error::new(ErrorKind::InvalidData, format!("it is not UTF-8 text: byte {at} is the first that is not"))
    })
}

/// The first `most` bytes of a regular file.
pub fn start(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// All of what is read from a file, a pipe or a device, or an error of kind `FileTooLarge` when there
/// is more than `most` bytes.
pub fn bounded(file: impl std::io::Read, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than {} MiB", most >> 20)));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = std::env::temp_dir().join(format!("probescope-regular-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (pipe, plain, raw) = (folder.join("pipe"), folder.join("plain"), folder.join("raw"));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        std::fs::write(&plain, "text").unwrap();
        std::fs::write(&raw, b"a\xff").unwrap();
        let kind = |path: &Path, most| text(path, most).map_err(|e| e.kind());
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.as_path()] {
            assert_eq!(kind(path, 10), Err(ErrorKind::InvalidInput), "{}", path.display());
        }
        assert_eq!(kind(&plain, 4), Ok("text".to_owned()));
        assert_eq!(kind(&plain, 3), Err(ErrorKind::FileTooLarge));
        assert_eq!(kind(&raw, 10), Err(ErrorKind::InvalidData));
        assert_eq!(kind(&folder.join("none"), 10), Err(ErrorKind::NotFound));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
