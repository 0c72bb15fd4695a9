//! Files that are written: the one place for it.
//!
//! What stands in a file is never destroyed by what shall replace it: new content is written beside the old one, brought
//! to the disk, and takes its name last ([`write`], [`Output`]). A full disk, a quota, a kill in between leave the old
//! file whole. Mode, owner and extended attributes stay as they were; where a new file could not have them (the folder is
//! not ours to write, or the file has other names), room is reserved first and the content is written in place.
//!
//! Links are followed where they are the user's own. What another user has put into a folder that everybody may write is
//! never written, link or file. Pipes, devices and the process's own descriptors (`/dev/stdout`) are written as they are.
//!
//! `clippy.toml` and `tests/compiler/architecture.rs` keep the rest of the program from opening files to write.

#![allow(clippy::disallowed_methods, reason = "this is the one place")]

mod output;
mod place;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

pub use output::Output;

use crate::stdio::Stream;

/// Who may read a file that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Whom the process's umask lets.
    Everyone,
    /// Its owner alone (0600): it holds what was traced, or typed and not saved.
    Owner,
}

/// Writes all of a file, whole or not at all.
///
/// # Errors
/// When it can't be written: what was there stays.
pub fn write(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    let mut output = Output::beside(path, readers)?;
    output.write_all(bytes)?;
    output.commit()
}

/// As [`write`], for a file that only its owner may read and that is soon written again: it is not waited for the disk.
///
/// # Errors
/// When it can't be written: what was there stays.
pub fn write_soon(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut output = Output::beside(path, Readers::Owner)?;
    output.write_all(bytes)?;
    output.name()
}

/// Writes a new file, whole or not at all.
///
/// # Errors
/// When something of that name is there (`AlreadyExists`), or the file can't be written.
pub fn write_new(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut output = Output::beside(path, readers)?;
    output.write_all(bytes)?;
    output.commit_new()
}

/// Finds out whether a file could be written, and changes nothing.
///
/// # Errors
/// Why it can't.
pub fn may_write(path: &Path) -> io::Result<()> {
    output::may_write(path)
}

/// Makes an empty file that only its owner may read; one that is there, or a link, is an error.
///
/// # Errors
/// When it can't be made.
pub fn exclusive(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Opens a log of the program's own, which only its owner may read, to add to it. Links and what is no regular file are
/// refused.
///
/// # Errors
/// When it can't be opened.
pub fn log(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    if found.permissions().mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Opens a file to add to it; one that is missing is made.
///
/// # Errors
/// When it can't be opened.
pub fn append(path: &Path) -> io::Result<Stream> {
    output::append(path)
}

/// Writes a setting to a file of the kernel's: tracefs, procfs, sysfs. Nothing is made.
///
/// # Errors
/// When the kernel refuses.
pub fn set(path: impl AsRef<Path>, value: impl AsRef<[u8]>) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(value.as_ref())
}

/// Opens a file of the kernel's to write to it again and again.
///
/// # Errors
/// When the kernel refuses.
pub fn setting(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}
