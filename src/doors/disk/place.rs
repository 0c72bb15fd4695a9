//! Where a path leads: the folder that holds the file in the end, and what is there.

use std::ffi::OsString;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

/// Links that are followed, as the kernel has it.
const MOST_LINKS: usize = 40;
/// Everybody may write a folder.
const OPEN_TO_ALL: u32 = 0o002;

/// A name in a folder that is held open: whatever becomes of the path, this is the folder.
#[derive(Debug)]
pub(super) struct Place {
    pub folder: OwnedFd,
    pub name: OsString,
    /// What is there; none when nothing is.
    pub found: Option<Stat>,
}

impl Place {
    /// Follows a path, its last link included.
    pub fn of(path: &Path) -> Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let name = match path.components().next_back() {
                Some(Component::Normal(name)) => name.to_owned(),
                Some(_) => return Err(ErrorKind::IsADirectory.into()),
                None => return Err(ErrorKind::NotFound.into()),
            };
            let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
            let folder = openat(CWD, &parent, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                .or_else(|_| openat(CWD, &parent, OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC, Mode::empty()))?;
            let found = match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => Some(found),
                Err(Errno::NOENT) => None,
                Err(error) => return Err(error.into()),
            };
            let Some(there) = &found else { return Ok(Self { folder, name, found }) };
            refuse_planted(&fstat(&folder)?, there)?;
            match FileType::from_raw_mode(there.st_mode) {
                FileType::Symlink => {
                    let to = readlinkat(&folder, &name, Vec::new())?;
                    let to: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(to.as_bytes());
                    path = parent.join(PathBuf::from(to));
                }
                FileType::Directory => return Err(ErrorKind::IsADirectory.into()),
                _ => return Ok(Self { folder, name, found }),
            }
        }
        Err(Errno::LOOP.into())
    }

    pub fn is_regular(&self) -> bool {
        self.found.as_ref().is_none_or(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
    }
}

/// What others put into a folder that everybody may write leads the writer where they want.
fn refuse_planted(folder: &Stat, found: &Stat) -> Result<()> {
    let own = rustix::process::geteuid().as_raw();
    if folder.st_mode & OPEN_TO_ALL == 0 || found.st_uid == own || found.st_uid == folder.st_uid {
        return Ok(());
    }
    let why = "another user has put it there, into a folder that everybody may write";
    Err(Error::new(ErrorKind::PermissionDenied, why))
}

/// A descriptor of this process that a path stands for.
pub(super) fn own_descriptor(path: &Path) -> Option<u32> {
    let text = path.to_str()?;
    match text {
        "/dev/stdout" => return Some(1),
        "/dev/stderr" => return Some(2),
        _ => {}
    }
    text.strip_prefix("/dev/fd/").or_else(|| text.strip_prefix("/proc/self/fd/"))?.parse().ok()
}
