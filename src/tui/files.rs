//! Scripts on disk: written so that neither a full disk nor another program's change loses text.

use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::File;
use super::recovery::RecoveryFolder;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Writes a script; the folder of scripts without a name (`fresh`) is made when it is missing. What
/// is in the file stays when there is no room for the new text.
///
/// # Errors
/// When it can't be opened or written.
pub fn save(path: &Path, text: &str, fresh: bool) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|_| fresh) {
        std::fs::create_dir_all(folder)?;
    }
    // The old text is cut off last: links, owner and rights stay, as they would not with a new file.
    let new = !path.exists();
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    let written = reserve(&file, text.len() as u64).and_then(|()| {
        file.rewind()?;
        file.write_all(text.as_bytes())
    });
    if let Err(error) = written {
        if new {
            drop(file);
            let _ = std::fs::remove_file(path);
        }
        return Err(error);
    }
    match file.set_len(text.len() as u64) {
        // What is no regular file has no length.
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

/// Writes what later sessions read, whole or not at all.
///
/// # Errors
/// When that fails.
pub fn remember(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let new = path.with_extension("new");
    std::fs::write(&new, text)?;
    std::fs::rename(new, path)
}

/// The file of a name that was typed: `~/` is the user's home folder.
#[must_use]
pub fn typed_path(name: &str, home: Option<&Path>) -> PathBuf {
    let name = name.trim();
    match (name.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(name),
    }
}

/// Longest script that is opened, in bytes.
pub const LONGEST: u64 = 16 << 20;

/// Reads a script, and why it can't be saved, where that is known; one that does not exist is empty.
///
/// # Errors
/// When it can't be read, is too long, or no text.
pub fn read(path: &Path) -> io::Result<(String, Option<String>)> {
    let bytes = match std::fs::File::open(path).and_then(|file| crate::regular::bounded(file, LONGEST)) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(e),
    };
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let why = format!("{} is not text in UTF-8 (byte {at}): it is left as it is", path.display());
        io::Error::new(io::ErrorKind::InvalidData, why)
    })?;
    let read_only = std::fs::metadata(path).ok().filter(|m| m.permissions().readonly());
    Ok((text, read_only.map(|_| format!("{} is read-only: save under another name with F12", path.display()))))
}

/// The script as it was last, for the panic hook.
#[derive(Clone, Debug, Default)]
pub struct Latest {
    /// Where it is kept.
    pub path: Option<PathBuf>,
    /// Its text.
    pub text: Arc<str>,
}

/// A script that was read to be opened.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Its text in the file.
    pub text: String,
    /// The file.
    pub file: File,
    /// Unsaved text of an earlier run.
    pub kept: Option<String>,
}

/// Reads a script, or begins one without a name, to open it in a tab; `number` tells those without a
/// name apart.
///
/// # Errors
/// When it can't be read: why, in plain words.
pub fn open(path: Option<PathBuf>, number: u32, recovery: Option<&RecoveryFolder>) -> Result<Opened, String> {
    let (text, read_only) = match &path {
        Some(path) => read(path).map_err(|e| format!("cannot open {}: {e}", path.display()))?,
        None => (String::new(), None),
    };
    let kept = recovery.zip(path.as_deref()).and_then(|(folder, path)| folder.adopt(path, &text));
    let recovery = recovery.map(|folder| folder.file(path.as_deref(), number));
    let file = File { path, saved: text.as_str().into(), read_only, recovery, ..File::default() };
    Ok(Opened { text, file, kept })
}

/// Makes sure that there is room for a text, on file systems that can.
fn reserve(file: &std::fs::File, bytes: u64) -> io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes) {
        Err(e @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(e.into()),
        _ => Ok(()),
    }
}

/// Whether a file holds other text than what is expected there and what shall be written: another
/// program wrote it. A file that is missing, empty, can't be read or is no regular one (a pipe, which
/// a look would wait on) is not in the way.
#[must_use]
pub fn in_the_way(path: &Path, expected: &str, text: &str) -> bool {
    let is = |there: &[u8], what: &str| there == what.as_bytes();
    path.is_file()
        && std::fs::read(path).is_ok_and(|there| !there.is_empty() && !is(&there, expected) && !is(&there, text))
}

/// `path`, or `NAME-2.bt` and so on where other text is in the way: an earlier script is not lost.
#[must_use]
pub fn free_name(path: PathBuf, text: &str) -> PathBuf {
    let free = |p: &PathBuf| match std::fs::read(p) {
        Ok(there) => there == text.as_bytes() || there.trim_ascii().is_empty(),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    };
    let stem = path.file_stem().map_or_else(|| "untitled".into(), |s| s.to_string_lossy().into_owned());
    let numbered = (2..1000).map(|n| path.with_file_name(format!("{stem}-{n}.bt")));
    std::iter::once(path.clone()).chain(numbered).find(free).unwrap_or(path)
}

/// Writes a new file; nothing that is there is written over. Tells where.
///
/// # Errors
/// When the file can't be written.
pub fn export(name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let (stem, ending) = name.split_once('.').unwrap_or((name, "txt"));
    for number in 1..1000 {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let path = PathBuf::from(format!("{stem}{number}.{ending}"));
        match std::fs::File::create_new(&path) {
            Ok(mut file) => {
                file.write_all(bytes)?;
                return Ok(path);
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_the_home_folder() {
        let home = Some(Path::new("/home/u"));
        for (typed, path) in [("~/x.bt", "/home/u/x.bt"), ("~", "/home/u"), (" a.bt ", "a.bt"), ("~u/x", "~u/x")] {
            assert_eq!(typed_path(typed, home), Path::new(path), "{typed}");
        }
        assert_eq!(typed_path("~/x.bt", None), Path::new("~/x.bt"));
    }

    #[test]
    fn a_save_keeps_links_and_tells_other_programs_changes() {
        let folder = std::env::temp_dir().join(format!("probescope-files-{}", std::process::id()));
        let (path, link) = (folder.join("deep/a.bt"), folder.join("link.bt"));
        assert!(save(&path, "x", false).is_err(), "only scripts without a name make folders");
        save(&path, "a longer text\n", true).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        save(&link, "short\n", false).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "short\n");
        assert!(link.is_symlink());
        assert!(!in_the_way(&path, "short\n", "new") && !in_the_way(&path, "other", "short\n"));
        assert!(in_the_way(&path, "other", "new") && in_the_way(&path, "", "new"));
        assert!(!in_the_way(&folder.join("none.bt"), "other", "new"));
        assert_eq!(free_name(path.clone(), "new"), path.with_file_name("a-2.bt"));
        std::fs::remove_dir_all(folder).unwrap();
        save(Path::new("/dev/null"), "what is no file is written, too", false).unwrap();
    }
}
