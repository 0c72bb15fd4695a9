//! A file that is written piece by piece.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, Write};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{
    AtFlags, FallocateFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, XattrFlags, fallocate, fchmod, fchown,
    fgetxattr, flistxattr, fsetxattr, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use super::Readers;
use super::place::{Place, own_descriptor};
use crate::stdio::{self, Stream};

/// Longest list of extended attributes, and longest of them, that are kept, bytes.
const MOST_ATTRIBUTES: usize = 64 << 10;

/// A file on its way: [`Output::commit`] gives it its name. One that is dropped before leaves nothing behind.
#[derive(Debug)]
pub struct Output {
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// Written beside, to take this place.
    Beside { file: File, place: Place, draft: Option<OsString> },
    /// Nothing was there: it grows in its place, where others can watch it.
    Growing(File),
    /// Kept in an unnamed file, to be written over what is there.
    InPlace { file: File, kept: File },
    /// A pipe, a device, a terminal.
    Special(Stream),
}

impl Output {
    /// A file that is there once it is whole.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn beside(path: &Path, readers: Readers) -> io::Result<Self> {
        Self::open(path, readers, false)
    }

    /// A file that grows over a long time: where nothing is yet, others can watch it.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn growing(path: &Path, readers: Readers) -> io::Result<Self> {
        Self::open(path, readers, true)
    }

    fn open(path: &Path, readers: Readers, grows: bool) -> io::Result<Self> {
        if let Some(number) = own_descriptor(path) {
            return Ok(Self { way: Way::Special(descriptor(number)?) });
        }
        let place = Place::of(path)?;
        if !place.is_regular() {
            let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
            let file = openat(&place.folder, &place.name, flags, Mode::empty())?;
            return Ok(Self { way: Way::Special(stdio::file(File::from(file))) });
        }
        let way = match &place.found {
            None if grows => Way::Growing(make(&place, &place.name, mode(readers))?),
            None => {
                let (draft, file) = draft(&place, mode(readers))?;
                Way::Beside { file, place, draft: Some(draft) }
            }
            // There is nothing that could be destroyed.
            Some(found) if grows && found.st_size == 0 => Way::Growing(empty(&place, readers)?),
            Some(found) => match alike(&place, found, readers)? {
                Some((draft, file)) => Way::Beside { file, place, draft: Some(draft) },
                None => in_place(&place)?,
            },
        };
        Ok(Self { way })
    }

    /// Whether this is a terminal.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(&self.way, Way::Special(stream) if stream.is_terminal())
    }

    /// Cuts off what was written after the first so many bytes.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn truncate(&mut self, length: u64) -> io::Result<()> {
        match &mut self.way {
            Way::Beside { file, .. } | Way::Growing(file) | Way::InPlace { kept: file, .. } => {
                file.set_len(length)?;
                file.seek(io::SeekFrom::Start(length)).map(drop)
            }
            Way::Special(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// When that fails: what was there stays.
    pub fn commit(self) -> io::Result<()> {
        if let Way::Beside { file, .. } | Way::Growing(file) = &self.way {
            file.sync_all()?;
        }
        self.name()
    }

    /// Gives the file its name.
    pub(super) fn name(mut self) -> io::Result<()> {
        match &mut self.way {
            Way::Beside { place, draft, .. } => {
                if let Some(name) = draft.as_ref() {
                    renameat(&place.folder, name, &place.folder, &place.name)?;
                }
                *draft = None;
                sync_folder(place);
                Ok(())
            }
            Way::Growing(_) => Ok(()),
            Way::InPlace { file, kept } => copy(kept, file),
            Way::Special(stream) => stream.flush(),
        }
    }

    /// As [`Output::commit`], and what was put there in the meantime stays.
    ///
    /// # Errors
    /// When something is there now, or that fails.
    pub fn commit_new(mut self) -> io::Result<()> {
        let Way::Beside { file, place, draft } = &mut self.way else { return self.commit() };
        file.sync_all()?;
        if let Some(name) = draft.as_ref() {
            match renameat_with(&place.folder, name, &place.folder, &place.name, RenameFlags::NOREPLACE) {
                // Not every file system can do that; a link is never made over anything.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    rustix::fs::linkat(&place.folder, name, &place.folder, &place.name, AtFlags::empty())?;
                    unlinkat(&place.folder, name, AtFlags::empty())?;
                }
                other => other?,
            }
        }
        *draft = None;
        sync_folder(place);
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.way {
            Way::Beside { file, .. } | Way::Growing(file) | Way::InPlace { kept: file, .. } => file.write(bytes),
            Way::Special(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Way::Special(stream) = &mut self.way { stream.flush() } else { Ok(()) }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Way::Beside { place, draft: Some(draft), .. } = &self.way {
            let _ = unlinkat(&place.folder, draft, AtFlags::empty());
        }
    }
}

fn mode(readers: Readers) -> Mode {
    Mode::from_raw_mode(if readers == Readers::Owner { 0o600 } else { 0o666 })
}

/// One of the process's descriptors.
fn descriptor(number: u32) -> io::Result<Stream> {
    match number {
        1 => stdio::out_unbuffered(),
        2 => Ok(stdio::err()),
        _ => {
            let file = OpenOptions::new().append(true).open(format!("/proc/self/fd/{number}"))?;
            Ok(stdio::file(file))
        }
    }
}

/// A file to add to.
pub(super) fn append(path: &Path) -> io::Result<Stream> {
    if let Some(number) = own_descriptor(path) {
        return descriptor(number);
    }
    let place = Place::of(path)?;
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let flags = if place.found.is_none() { flags | OFlags::CREATE | OFlags::EXCL } else { flags };
    let file = openat(&place.folder, &place.name, flags, mode(Readers::Everyone))?;
    Ok(stdio::file(File::from(file)))
}

/// Whether a file could be written, found out without a change.
pub(super) fn may_write(path: &Path) -> io::Result<()> {
    if own_descriptor(path).is_some() {
        return Ok(());
    }
    let place = Place::of(path)?;
    if place.found.is_none() {
        return Ok(rustix::fs::accessat(&place.folder, ".", rustix::fs::Access::WRITE_OK, AtFlags::empty())?);
    }
    // Opening a pipe or a device may do something.
    if place.is_regular() { old(&place).map(drop) } else { Ok(()) }
}

/// What is there, opened to be written over.
fn old(place: &Place) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(&place.folder, &place.name, flags, Mode::empty())?))
}

fn empty(place: &Place, readers: Readers) -> io::Result<File> {
    let file = old(place)?;
    if readers == Readers::Owner {
        fchmod(&file, mode(readers))?;
    }
    Ok(file)
}

fn make(place: &Place, name: &std::ffi::OsStr, mode: Mode) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(&place.folder, name, flags, mode)?))
}

/// An empty file beside a place.
fn draft(place: &Place, mode: Mode) -> io::Result<(OsString, File)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!(".probescope-{}-{number}.new", std::process::id()));
        match make(place, &name, mode) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (name, file)),
        }
    }
}

/// An empty file beside one that is there, with its mode, owner and attributes; none where there can be no such file.
fn alike(place: &Place, found: &Stat, readers: Readers) -> io::Result<Option<(OsString, File)>> {
    if found.st_nlink > 1 {
        return Ok(None);
    }
    // Whoever may not write the file may not replace it either, though the folder be theirs.
    let old = old(place)?;
    let (name, file) = match draft(place, Mode::from_raw_mode(0o600)) {
        Ok(made) => made,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(error),
    };
    let made = rustix::fs::fstat(&file)?;
    let owner = (made.st_uid != found.st_uid).then(|| Uid::from_raw(found.st_uid));
    let group = (made.st_gid != found.st_gid).then(|| Gid::from_raw(found.st_gid));
    if fchown(&file, owner, group).is_err() {
        unlinkat(&place.folder, &name, AtFlags::empty())?;
        return Ok(None);
    }
    keep_attributes(&old, &file);
    let bits = if readers == Readers::Owner { 0o600 } else { found.st_mode & 0o7777 };
    fchmod(&file, Mode::from_raw_mode(bits))?;
    Ok(Some((name, file)))
}

/// Access lists and labels, as far as they may be read and written.
fn keep_attributes(from: impl std::os::fd::AsFd, to: impl std::os::fd::AsFd) {
    let mut names = vec![0_u8; MOST_ATTRIBUTES];
    let Ok(length) = flistxattr(&from, &mut names[..]) else { return };
    let mut value = vec![0_u8; MOST_ATTRIBUTES];
    for name in names[..length].split(|b| *b == 0).filter(|name| !name.is_empty()) {
        if let Ok(length) = fgetxattr(&from, name, &mut value[..]) {
            let _ = fsetxattr(&to, name, &value[..length], XattrFlags::empty());
        }
    }
}

/// What is there, opened to be written over, and an unnamed file for the new content.
fn in_place(place: &Place) -> io::Result<Way> {
    let file = old(place)?;
    let unnamed = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let open = |folder: &str| openat(rustix::fs::CWD, folder, unnamed, Mode::from_raw_mode(0o600));
    let kept = open("/var/tmp").or_else(|_| open("/tmp")).or_else(|_| open("/dev/shm"))?;
    Ok(Way::InPlace { file, kept: File::from(kept) })
}

/// Writes over a file, once there is room for it.
fn copy(from: &mut File, to: &mut File) -> io::Result<()> {
    let length = from.metadata()?.len();
    reserve(to, length)?;
    from.rewind()?;
    to.rewind()?;
    io::copy(from, to)?;
    to.set_len(length)?;
    to.sync_all()
}

/// Makes sure that there is room, on file systems that can.
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    match fallocate(file.as_fd(), FallocateFlags::KEEP_SIZE, 0, bytes) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// The new name is on the disk, too. Not every file system syncs folders.
fn sync_folder(place: &Place) {
    let _ = rustix::fs::fsync(&place.folder);
}
