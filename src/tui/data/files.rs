//! Scripts on disk: written so that neither a full disk nor another program's change loses text.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::File;
use crate::disk::{self, Readers};

/// Writes a script; the folder of scripts without a name (`fresh`) is made when it is missing. What
/// is in the file stays when there is no room for the new text.
///
/// # Errors
/// When it can't be opened or written.
pub fn save(path: &Path, text: &str, fresh: bool) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|_| fresh) {
        std::fs::create_dir_all(folder)?;
    }
    disk::write(path, text.as_bytes(), Readers::Everyone)
}

/// Writes what later sessions read, whole or not at all.
///
/// # Errors
/// When that fails.
pub fn remember(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    disk::write(path, text.as_bytes(), Readers::Everyone)
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

/// Entries of a folder that are looked through for completions, and names that are told.
const MOST_ENTRIES: usize = 10_000;
const MOST_NAMES: usize = 20;

/// The path of a name that was typed so far, as far as the files there leave no choice; and the names to choose from, where
/// there are several.
#[must_use]
pub fn complete(typed: &str, home: Option<&Path>) -> (String, Vec<String>) {
    let (folder, begun) = typed.rsplit_once('/').map_or(("", typed), |(folder, _)| typed.split_at(folder.len() + 1));
    let path = if folder.is_empty() { PathBuf::from(".") } else { typed_path(folder, home) };
    let mut found: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten().take(MOST_ENTRIES) {
        let Ok(mut name) = entry.file_name().into_string() else { continue };
        let is_hidden = name.starts_with('.') && !begun.starts_with('.');
        if is_hidden || !name.starts_with(begun) || name.chars().any(char::is_control) {
            continue;
        }
        // A link to a folder leads on, too.
        if entry.path().is_dir() {
            name.push('/');
        }
        found.push(name);
    }
    found.sort_unstable();
    let Some(first) = found.first() else { return (typed.to_owned(), Vec::new()) };
    let same = found.iter().fold(first.len(), |length, name| {
        let pairs = first.char_indices().zip(name.chars()).take_while(|((at, a), b)| *at < length && a == b);
        pairs.last().map_or(0, |((at, c), _)| at + c.len_utf8())
    });
    let completed = format!("{folder}{}", &first[..same]);
    let names = if found.len() > 1 { found.into_iter().take(MOST_NAMES).collect() } else { Vec::new() };
    (completed, names)
}

/// Scripts that were saved without a name, in the folder for them, the newest first.
#[must_use]
pub fn saved_scripts(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let is_script = |path: &Path| path.extension().is_some_and(|end| end == "bt" || end == "d");
    let mut found: Vec<(std::time::SystemTime, PathBuf)> = entries
        .filter(|entry| is_script(&entry.path()))
        .filter_map(|entry| {
            Some((entry.metadata().ok().filter(std::fs::Metadata::is_file)?.modified().ok()?, entry.path()))
        })
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
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
        match disk::write_new(&path, bytes, Readers::Everyone) {
            Ok(()) => return Ok(path),
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
    fn a_path_is_completed_as_far_as_there_is_no_choice() {
        let folder = std::env::temp_dir().join(format!("probescope-complete-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("deep/er")).unwrap();
        for name in ["open-a.bt", "open-b.bt", "other.bt", ".hidden"] {
            std::fs::write(folder.join(name), "x").unwrap();
        }
        let of = |typed: &str| {
            let (completed, names) = complete(&format!("~/{typed}"), Some(&folder));
            (completed.trim_start_matches("~/").to_owned(), names.join(" "))
        };
        assert_eq!(of("ope"), ("open-".to_owned(), "open-a.bt open-b.bt".to_owned()));
        assert_eq!(of("open-a"), ("open-a.bt".to_owned(), String::new()));
        assert_eq!(of("d"), ("deep/".to_owned(), String::new()));
        assert_eq!(of("deep/"), ("deep/er/".to_owned(), String::new()));
        assert_eq!(of("none"), ("none".to_owned(), String::new()));
        assert!(!of("").1.contains("hidden") && of(".h").0 == ".hidden");
        assert_eq!(saved_scripts(&folder).len(), 3);
        std::fs::remove_dir_all(folder).unwrap();
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
