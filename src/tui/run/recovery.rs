//! Unsaved text on disk: each workbench keeps its own in a folder of its own, and takes over what an earlier one left.
//!
//! A folder holds a lock for as long as its process lives, which ends with the process however it ends: a living
//! workbench's text is never offered as lost, and two workbenches never write to one file.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::disk;
use crate::tui::base::action::Edit;
use crate::tui::data::document;
use crate::tui::data::files::{self, LONGEST, Opened};
use crate::tui::desk::documents;
use crate::tui::desk::state::State;
use crate::tui::layers::reader::Reader;

/// The file whose lock tells that a folder's process lives.
const LOCK: &str = "lock";
/// Folders of earlier workbenches that are looked at; those of the newest first.
const MOST_FOLDERS: usize = 256;
/// Longest name of a file.
const LONGEST_NAME: usize = 200;
/// Texts without a name that are offered at one start; the others wait for the next.
const MOST_OFFERED: usize = 8;

/// This process's folder of unsaved text.
#[derive(Debug)]
pub struct RecoveryFolder {
    root: PathBuf,
    own: PathBuf,
    _lock: File,
}

impl RecoveryFolder {
    /// Makes a folder for this process in `root`.
    ///
    /// # Errors
    /// When it can't be made, or `root` leads elsewhere: is a link, or another user's.
    pub fn open(root: &Path) -> io::Result<Self> {
        if let Some(state) = root.parent() {
            fs::create_dir_all(state)?;
            refuse_foreign(state)?;
        }
        make_private(root)?;
        refuse_foreign(root)?;
        for number in 0..100 {
            let own = root.join(format!("{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&own) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let lock = disk::exclusive(&own.join(LOCK))?;
            let locked = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
            // Another workbench that tidies up may have taken the folder for a dead one's meanwhile.
            if locked && own.join(LOCK).exists() {
                return Ok(Self { root: root.to_owned(), own, _lock: lock });
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The file in which a script's unsaved text is kept: its path with `%` for `/`.
    #[must_use]
    pub fn file(&self, script: Option<&Path>, number: u32) -> PathBuf {
        self.own.join(script.map_or_else(|| format!("untitled-{number}.bt"), name_of))
    }

    /// Takes over the newest unsaved text that an ended workbench has left of this script; its file is this process's
    /// from now on. What equals `saved` is none.
    #[must_use]
    pub fn adopt(&self, script: &Path, saved: &str) -> Option<String> {
        let name = name_of(script);
        let mut found = self.left_behind();
        found.retain(|file| file.path.file_name().is_some_and(|n| n == name.as_str()));
        let mut newest = None;
        for file in found {
            let Some(text) = read(&file.path).filter(|text| text != saved && !text.trim().is_empty()) else {
                let _ = fs::remove_file(&file.path);
                continue;
            };
            if newest.is_none() && fs::rename(&file.path, self.own.join(&name)).is_ok() {
                newest = Some(text);
            }
        }
        self.tidy();
        newest
    }

    /// Takes over unsaved texts of scripts without a name, the newest first; their files are this process's, numbered from 1.
    #[must_use]
    pub fn adopt_unnamed(&self) -> Vec<String> {
        let mut adopted: Vec<String> = Vec::new();
        for file in self.left_behind() {
            let unnamed = file.path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("untitled"));
            if !unnamed || adopted.len() == MOST_OFFERED {
                continue;
            }
            let Some(text) = read(&file.path).filter(|text| !text.trim().is_empty()) else {
                let _ = fs::remove_file(&file.path);
                continue;
            };
            if adopted.contains(&text) {
                let _ = fs::remove_file(&file.path);
                continue;
            }
            let own = self.file(None, u32::try_from(adopted.len() + 1).unwrap_or(u32::MAX));
            if fs::rename(&file.path, &own).is_ok() {
                adopted.push(text);
            }
        }
        self.tidy();
        adopted
    }

    /// Files of workbenches that have ended, the newest first.
    fn left_behind(&self) -> Vec<Left> {
        let mut files: Vec<Left> = self.ended().iter().flat_map(|folder| files_of(folder)).collect();
        // Before folders stood for processes, files lay in the root.
        files.extend(files_of(&self.root));
        files.sort_by_key(|file| std::cmp::Reverse(file.written));
        files
    }

    /// Folders of workbenches that have ended.
    fn ended(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let folders = folders.filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir())).map(|entry| entry.path());
        folders.filter(|folder| *folder != self.own && has_ended(folder)).take(MOST_FOLDERS).collect()
    }

    /// Removes empty folders of workbenches that have ended.
    fn tidy(&self) {
        for folder in self.ended() {
            if files_of(&folder).is_empty() {
                let _ = fs::remove_file(folder.join(LOCK));
                let _ = fs::remove_dir(folder);
            }
        }
    }
}

impl Drop for RecoveryFolder {
    /// What is still in the folder is for the next workbench.
    fn drop(&mut self) {
        if files_of(&self.own).is_empty() {
            let _ = fs::remove_file(self.own.join(LOCK));
            let _ = fs::remove_dir(&self.own);
        }
    }
}

struct Left {
    path: PathBuf,
    written: (i64, i64),
}

/// Nobody holds the lock of a folder.
fn has_ended(folder: &Path) -> bool {
    match OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(folder.join(LOCK)) {
        Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    }
}

/// The scripts in a folder; links and what is no regular file are none.
fn files_of(folder: &Path) -> Vec<Left> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let scripts = entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "bt"));
    let left = scripts.filter_map(|entry| {
        let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Left { path: entry.path(), written: (about.mtime(), about.mtime_nsec()) })
    });
    left.collect()
}

fn read(path: &Path) -> Option<String> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    String::from_utf8(crate::regular::bounded(file, LONGEST).ok()?).ok()
}

/// The name of a script's file in the folder. Names that are too long for a file system are told apart by a checksum.
fn name_of(script: &Path) -> String {
    let path = std::path::absolute(script).unwrap_or_else(|_| script.to_owned()).to_string_lossy().replace('/', "%");
    if path.len() <= LONGEST_NAME {
        return format!("{path}.bt");
    }
    let end = path.char_indices().map(|(at, _)| at).find(|at| path.len() - at <= LONGEST_NAME - 20).unwrap_or(0);
    format!("{:08x}{}.bt", crc32fast::hash(path.as_bytes()), &path[end..])
}

fn make_private(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// A folder that is a link may lead anywhere, and one of another user may become such a link at any moment.
fn refuse_foreign(folder: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(folder)?;
    let why = if !about.is_dir() {
        "is a link or no folder"
    } else if about.uid() != rustix::process::geteuid().as_raw() {
        "belongs to another user"
    } else {
        return Ok(());
    };
    Err(io::Error::other(format!("{} {why}", folder.display())))
}

/// Writes unsaved text where it will be found again, readable by its owner only. What was kept before stays until the
/// new text is whole.
///
/// # Errors
/// When it can't be written.
pub fn keep(path: &Path, text: &str) -> io::Result<()> {
    disk::write_soon(path, text.as_bytes())
}

/// Shows unsaved texts of earlier runs: the first in the script that is open, undo being one key, the others in tabs.
pub fn offer(state: &mut State, texts: Vec<String>) {
    let mut texts = texts.into_iter();
    let Some(first) = texts.next() else { return };
    state.document.editor.edit(&Edit::SelectAll);
    state.document.editor.edit(&Edit::Paste(first));
    let (script, mut others) = (state.document.id, 0);
    for text in texts {
        let number = documents::next(state).0;
        let recovery =
            state.document.file.recovery.as_ref().map(|path| path.with_file_name(format!("untitled-{number}.bt")));
        let file = document::File { recovery, ..document::File::default() };
        documents::opened(state, Ok(Opened { text: String::new(), file, kept: Some(text) }));
        others += 1;
    }
    documents::show(state, script);
    state.toast = None;
    let mut lines =
        vec!["An earlier run ended with unsaved text. It is in the editor again.".to_owned(), String::new()];
    if others > 0 {
        lines.push(format!("{others} more of earlier runs: each in a tab of its own (Alt-N goes there)."));
    }
    lines.push("Ctrl-S saves and runs it. Ctrl-Z goes back to what is in the file.".to_owned());
    state.open(Reader { title: "Unsaved text found".into(), lines, top: 0, wrap: true });
}

/// Reads a script, or begins one without a name, to open it in a tab; `number` tells those without a
/// name apart.
///
/// # Errors
/// When it can't be read: why, in plain words.
pub fn open(path: Option<PathBuf>, number: u32, recovery: Option<&RecoveryFolder>) -> Result<Opened, String> {
    let (text, read_only) = match &path {
        Some(path) => files::read(path).map_err(|e| format!("cannot open {}: {e}", path.display()))?,
        None => (String::new(), None),
    };
    let kept = recovery.zip(path.as_deref()).and_then(|(folder, path)| folder.adopt(path, &text));
    let recovery = recovery.map(|folder| folder.file(path.as_deref(), number));
    let file = document::File { path, saved: text.as_str().into(), read_only, recovery, ..document::File::default() };
    Ok(Opened { text, file, kept })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("probescope-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder.join("state/unsaved")
    }

    /// What a workbench that was killed leaves: its lock is gone, its files are not.
    fn killed(folder: RecoveryFolder) {
        drop(folder);
    }

    #[test]
    fn a_living_workbench_keeps_its_text_and_a_dead_one_leaves_it_to_the_next() {
        let root = root("recovery");
        let (first, second) = (RecoveryFolder::open(&root).unwrap(), RecoveryFolder::open(&root).unwrap());
        let (a, b) = (first.file(None, 1), second.file(None, 1));
        assert_ne!(a, b, "two workbenches without a file never meet");
        keep(&a, "BEGIN { }").unwrap();
        keep(&b, "END { }").unwrap();
        let third = RecoveryFolder::open(&root).unwrap();
        assert!(third.adopt_unnamed().is_empty(), "both live");
        killed(first);
        assert_eq!(third.adopt_unnamed(), ["BEGIN { }"]);
        assert!(!a.exists() && third.file(None, 1).exists());
        killed(second);
        killed(third);
        let texts = RecoveryFolder::open(&root).unwrap().adopt_unnamed();
        assert_eq!(texts.len(), 2, "{texts:?}");
    }

    #[test]
    fn text_of_a_script_is_offered_for_that_script_alone() {
        let root = root("recovery-named");
        let first = RecoveryFolder::open(&root).unwrap();
        let (script, other) = (Path::new("/a/b.bt"), Path::new("/a_b.bt"));
        assert_ne!(first.file(Some(script), 1), first.file(Some(other), 1));
        keep(&first.file(Some(script), 1), "new").unwrap();
        let second = RecoveryFolder::open(&root).unwrap();
        assert_eq!(second.adopt(script, "old"), None, "its workbench lives");
        killed(first);
        assert_eq!((second.adopt(other, ""), second.adopt_unnamed().len()), (None, 0));
        assert_eq!(second.adopt(script, "old").as_deref(), Some("new"));
        fs::remove_file(second.file(Some(script), 1)).unwrap();
        drop(second);
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "nothing is left of those that are over");
    }

    #[test]
    fn a_folder_that_leads_elsewhere_is_refused() {
        let root = root("recovery-link");
        fs::create_dir_all(root.parent().unwrap()).unwrap();
        let elsewhere = root.with_file_name("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &root).unwrap();
        let refused = RecoveryFolder::open(&root).unwrap_err().to_string();
        assert!(refused.contains("link"), "{refused}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn long_paths_have_names_of_their_own() {
        let long = |end: &str| PathBuf::from(format!("/{}/{end}", "ä".repeat(400)));
        let (a, b) = (name_of(&long("x/script.bt")), name_of(&long("y/script.bt")));
        assert!(a.len() < 255 && b.len() < 255 && a != b && a.ends_with("script.bt.bt"), "{a} {b}");
    }
}
