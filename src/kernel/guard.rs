//! Kernel settings that outlive the process: recorded before they are written, restored when it ends.
//!
//! Each [`Guard`] keeps a journal in a folder that lives as long as the system runs (`/run/probescope`). A setting is
//! written there, with the value that it had, before the kernel sees the new one. Dropping the guard, which a panic
//! does too, writes the old values back, the last first. The journal is locked for as long as its process lives: what
//! `kill -9` left behind is found by [`recover`] at the next start, and restored.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::disk;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// Where journals are kept until the next boot.
pub const JOURNALS: &str = "/run/probescope";
/// Largest journal that is believed.
const MOST_BYTES: u64 = 1 << 20;
/// A busy folder is removed so many times.
const REMOVALS: u32 = 100;
/// With so long between them.
const BETWEEN_REMOVALS: Duration = Duration::from_millis(10);
/// Largest setting.
const MOST_SETTING: usize = 64 << 10;

/// Something that was changed, and how it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Change {
    /// A file with one value.
    Value { path: PathBuf, was: String },
    /// A file of flags that are written one by one (`osnoise/options`).
    Flags { path: PathBuf, was: String },
    /// A folder that was made, and goes away by being removed: an instance of tracefs.
    Folder { path: PathBuf },
    /// A line that was added to a list (`dynamic_events`, a `trigger` file), and the line that takes it away.
    Line { path: PathBuf, undo: String },
}

impl Change {
    fn undo(&self) -> io::Result<()> {
        match self {
            Self::Value { path, was } => write(path, was),
            Self::Flags { path, was } => {
                // The first word tells only whether the others are the kernel's own.
                let flags = was.split_whitespace().filter(|f| !matches!(*f, "DEFAULTS" | "NO_DEFAULTS"));
                let mut undone = Ok(());
                for flag in flags {
                    undone = undone.and(write(path, flag));
                }
                undone
            }
            Self::Folder { path } if path.exists() => {
                // A tracer that runs in it keeps it busy.
                let _ = write(&path.join("tracing_on"), "0");
                let _ = write(&path.join("current_tracer"), "nop");
                remove(path)
            }
            Self::Folder { .. } => Ok(()),
            // What was never made, or went with its module, is away.
            Self::Line { path, undo } => match add(path, undo) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
                undone => undone,
            },
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Value { path, .. } | Self::Flags { path, .. } | Self::Folder { path } | Self::Line { path, .. } => {
                path
            }
        }
    }
}

/// Removes an instance. A process that is being killed may still have its files open for a moment, and keep it busy.
fn remove(path: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match fs::remove_dir(path) {
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy && tries < REMOVALS => {
                tries += 1;
                std::thread::sleep(BETWEEN_REMOVALS);
            }
            removed => return removed,
        }
    }
}

/// What a file has: one that lists its choices has the chosen one in brackets, and takes that word alone.
fn chosen(text: &str) -> &str {
    // A list of functions without any: `#### all functions enabled ####`.
    if text.starts_with("#### ") {
        return "";
    }
    // A ring that nothing was written to yet: `7 (expanded: 1408)`.
    if let Some((now, _)) = text.split_once(" (expanded:") {
        return now;
    }
    let mut words = text.split_whitespace();
    let inside = |word: &'_ str| word.starts_with('[') && word.ends_with(']') && word.len() > 2;
    match words.find(|word| inside(word)) {
        Some(word) if text.split_whitespace().count() > 1 => &word[1..word.len() - 1],
        _ => text,
    }
}

/// Settings that are restored when this is dropped.
#[derive(Debug)]
pub struct Guard {
    journal: PathBuf,
    file: File,
    changes: Vec<Change>,
}

impl Guard {
    /// An empty journal in a folder, which is made. Restores what ended processes have left there.
    ///
    /// # Errors
    /// When the folder or the journal cannot be made.
    pub fn new(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        recover(folder)?;
        loop {
            let journal = folder.join(format!("settings-{}-{:x}", std::process::id(), unique()));
            let file = disk::exclusive(&journal)?;
            // Another process that recovers may have found it before it was locked, and taken it for an old one.
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() && journal.exists() {
                return Ok(Self { journal, file, changes: Vec::new() });
            }
        }
    }

    /// Writes a file's value; the first value that it had is restored.
    ///
    /// # Errors
    /// When it cannot be read, recorded or written.
    pub fn set(&mut self, path: &Path, value: &str) -> io::Result<()> {
        let was = chosen(&read(path)?).to_owned();
        if was == value {
            return Ok(());
        }
        self.record(Change::Value { path: path.to_owned(), was })?;
        write(path, value)
    }

    /// Writes flags to a file that takes one at a time.
    ///
    /// # Errors
    /// As [`Guard::set`].
    pub fn set_flags(&mut self, path: &Path, flags: &[&str]) -> io::Result<()> {
        let was = read(path)?;
        self.record(Change::Flags { path: path.to_owned(), was })?;
        flags.iter().try_for_each(|flag| write(path, flag))
    }

    /// Makes a folder that is removed at the end.
    ///
    /// # Errors
    /// When it cannot be recorded or made.
    pub fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        self.record(Change::Folder { path: path.to_owned() })?;
        fs::create_dir(path)
    }

    /// Adds a line to a list of the kernel's; at the end `undo` is added, which takes it away.
    ///
    /// # Errors
    /// When it cannot be recorded, or is refused: then there is nothing to take away.
    pub fn add_line(&mut self, path: &Path, line: &str, undo: &str) -> io::Result<()> {
        self.record(Change::Line { path: path.to_owned(), undo: undo.to_owned() })?;
        add(path, line).inspect_err(|_| {
            self.changes.pop();
        })
    }

    fn record(&mut self, change: Change) -> io::Result<()> {
        // A line is only ever added: a process that is killed while it writes one has not made that change yet, and
        // those before it are whole.
        let mut line = serde_json::to_vec(&change)?;
        line.push(b'\n');
        self.changes.push(change);
        self.file.write_all(&line)
    }

    /// Restores everything, the last first. Gives what could not be.
    pub fn restore(&mut self) -> Vec<String> {
        let failed = undo(&std::mem::take(&mut self.changes));
        let _ = self.file.set_len(0);
        let _ = self.file.rewind();
        failed
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.restore();
        let _ = fs::remove_file(&self.journal);
    }
}

/// Restores what processes that live no longer have left in a folder. Gives what was restored and what could not be.
///
/// # Errors
/// When the folder is there and cannot be read.
pub fn recover(folder: &Path) -> io::Result<Vec<String>> {
    let mut told = Vec::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(told),
        Err(e) => return Err(e),
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("settings-"));
        let Some(file) = named.then(|| File::options().read(true).write(true).open(&path).ok()).flatten() else {
            continue;
        };
        // Whoever lives holds the lock.
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let mut text = Vec::new();
        let _ = (&file).take(MOST_BYTES).read_to_end(&mut text);
        let changes: Vec<Change> =
            text.split(|byte| *byte == b'\n').map_while(|line| serde_json::from_slice(line).ok()).collect();
        told.extend(changes.iter().rev().map(|c| format!("restored {}", c.path().display())));
        told.extend(undo(&changes));
        let _ = fs::remove_file(&path);
    }
    Ok(told)
}

fn undo(changes: &[Change]) -> Vec<String> {
    let undone = changes.iter().rev().map(|change| (change, change.undo()));
    undone
        .filter_map(|(change, done)| Some(format!("cannot restore {}: {}", change.path().display(), done.err()?)))
        .collect()
}

fn read(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    // By reads that are longer than what is there: `osnoise/cpus` answers shorter ones with EINVAL, the last one, too.
    let mut buffer = vec![0_u8; MOST_SETTING + MOST_SETTING];
    let mut length = 0;
    while length < MOST_SETTING {
        match file.read(&mut buffer[length..])? {
            0 => break,
            n => length += n,
        }
    }
    let text =
        String::from_utf8(buffer[..length].to_vec()).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
    Ok(text.trim_end().to_owned())
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    // Settings are written whole, by one call, and never made. Some are parsed up to a line's end that has to be there
    // (`osnoise/cpus`).
    disk::set(path, format!("{value}\n"))
}

/// Adds a line to a list that would lose its others if it were opened to be emptied.
fn add(path: &Path, line: &str) -> io::Result<()> {
    disk::setting(path)?.write_all(format!("{line}\n").as_bytes())
}

/// Tells several guards of one process apart.
fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("probescope-guard-{name}-{}", std::process::id()));
            fs::create_dir_all(path.join("run")).unwrap();
            fs::write(path.join("period"), "1000\n").unwrap();
            fs::write(path.join("runtime"), "900\n").unwrap();
            Self(path)
        }

        fn value(&self, name: &str) -> String {
            read(&self.0.join(name)).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn settings_are_as_before_when_the_guard_ends() {
        let folder = Folder::new("ends");
        let mut guard = Guard::new(&folder.0.join("run")).unwrap();
        guard.set(&folder.0.join("period"), "500").unwrap();
        guard.set(&folder.0.join("period"), "200").unwrap();
        guard.make_folder(&folder.0.join("instance")).unwrap();
        assert_eq!(folder.value("period"), "200");
        assert!(guard.set(&folder.0.join("none"), "1").is_err());
        drop(guard);
        assert_eq!(folder.value("period"), "1000");
        assert!(!folder.0.join("instance").exists());
        assert_eq!(fs::read_dir(folder.0.join("run")).unwrap().count(), 0, "no journal is left");
    }

    #[test]
    fn a_panic_restores() {
        let folder = Folder::new("panic");
        let path = folder.0.clone();
        let ended = std::thread::spawn(move || {
            let mut guard = Guard::new(&path.join("run")).unwrap();
            guard.set(&path.join("runtime"), "1").unwrap();
            panic!("as it may happen");
        });
        assert!(ended.join().is_err());
        assert_eq!(folder.value("runtime"), "900");
    }

    #[test]
    fn what_a_killed_process_left_is_restored_by_the_next_one() {
        let folder = Folder::new("killed");
        let run = folder.0.join("run");
        let mut guard = Guard::new(&run).unwrap();
        guard.set(&folder.0.join("period"), "7").unwrap();
        guard.set(&folder.0.join("runtime"), "8").unwrap();
        assert_eq!(recover(&run).unwrap(), Vec::<String>::new(), "its process lives");
        // As if the process had been killed in the middle of a line: the lock goes, nothing more is written.
        guard.file.write_all(br#"{"value":{"path":"/never"#).unwrap();
        flock(&guard.file, FlockOperation::Unlock).unwrap();
        std::mem::forget(guard);
        let told = recover(&run).unwrap();
        assert_eq!(told, ["runtime", "period"].map(|name| format!("restored {}", folder.0.join(name).display())));
        assert_eq!((folder.value("period"), folder.value("runtime")), ("1000".to_owned(), "900".to_owned()));
        fs::write(run.join("settings-1-0"), "not a journal").unwrap();
        assert_eq!(recover(&run).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn added_lines_are_taken_away_and_refused_ones_are_not() {
        let folder = Folder::new("lines");
        let (run, list) = (folder.0.join("run"), folder.0.join("list"));
        fs::write(&list, "").unwrap();
        let mut guard = Guard::new(&run).unwrap();
        guard.add_line(&list, "p:mine/a vfs_read", "-:mine/a").unwrap();
        assert!(guard.add_line(&folder.0.join("none"), "p:mine/b x", "-:mine/b").is_err());
        drop(guard);
        // An ordinary file is written from its beginning, as the kernel's lists don't mind.
        assert_eq!(fs::read_to_string(&list).unwrap(), "-:mine/a\nvfs_read\n");
        fs::remove_file(&list).unwrap();
        Change::Line { path: list, undo: "-:mine/a".into() }.undo().unwrap();
    }

    #[test]
    fn of_a_list_of_choices_the_chosen_one_is_kept() {
        assert_eq!(chosen("none [round-robin] per-cpu"), "round-robin");
        assert_eq!(chosen("1000"), "1000");
        assert_eq!(chosen("[5]"), "[5]");
        assert_eq!(chosen("7 (expanded: 1408)"), "7");
        assert_eq!(chosen("#### all functions enabled ####"), "");
    }

    #[test]
    fn flags_are_written_one_by_one() {
        let change = Change::Flags { path: PathBuf::from("/nonexistent/options"), was: "NO_DEFAULTS".into() };
        change.undo().unwrap();
        let change = Change::Flags { path: PathBuf::from("/nonexistent/options"), was: "DEFAULTS A".into() };
        assert!(change.undo().is_err(), "the flag after the first word is written");
    }
}
