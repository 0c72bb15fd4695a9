//! What the workbench has said: kept for the log pane, and written to a file.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::engine::names::time::format;
use crate::lang::diagnostic::Severity;
use crate::tui::base::text::neutralise_line;

/// Messages that are kept.
const MOST: usize = 2000;
/// A file that is longer is put aside at the next start, bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Wall-clock ns; absent until it was written down.
    pub at_ns: Option<i64>,
    /// How grave it is.
    pub severity: Severity,
    /// The message.
    pub text: String,
    /// How often it was said, one time after the other.
    pub times: u32,
}

impl Said {
    /// When it was said, as people write it.
    #[must_use]
    pub fn clock(&self) -> String {
        self.at_ns.map_or_else(String::new, |at| format("%H:%M:%S", at))
    }
}

/// How grave a message is, in one word.
#[must_use]
pub const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

/// The messages, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    said: VecDeque<Said>,
    /// The last so many were not written down yet.
    fresh: usize,
    /// Where they are written, or why nowhere.
    pub file: Option<Result<PathBuf, String>>,
}

impl Journal {
    /// Takes a message; one that is said again is counted.
    pub fn say(&mut self, severity: Severity, text: &str) {
        if let Some(last) = self.said.back_mut().filter(|last| last.severity == severity && last.text == text) {
            last.times = last.times.saturating_add(1);
            return;
        }
        if self.said.len() >= MOST {
            self.said.pop_front();
        }
        self.said.push_back(Said { at_ns: None, severity, text: text.to_owned(), times: 1 });
        self.fresh = (self.fresh + 1).min(self.said.len());
    }

    /// All that are kept, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Said> + ExactSizeIterator {
        self.said.iter()
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.said.len()
    }

    /// True when nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// Those that were said since the last time, with the time of now.
    pub fn write_down(&mut self, now_ns: i64) -> impl Iterator<Item = &Said> {
        let first = self.said.len() - std::mem::take(&mut self.fresh).min(self.said.len());
        self.said.iter_mut().skip(first).map(move |said| {
            said.at_ns = Some(now_ns);
            &*said
        })
    }
}

/// The file that messages go to.
#[derive(Debug)]
pub struct LogFile {
    file: File,
}

impl LogFile {
    /// Opens the log of a folder, which is made where it is missing; a long one is put aside first.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn open(folder: &Path) -> io::Result<(Self, PathBuf)> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let path = folder.join("workbench.log");
        if std::fs::symlink_metadata(&path).is_ok_and(|found| found.len() > LONGEST_FILE) {
            std::fs::rename(&path, folder.join("workbench.log.old"))?;
        }
        Ok((Self { file: disk::log(&path)? }, path))
    }

    /// Adds messages. What can't be written is left out: the workbench goes on.
    pub fn write<'a>(&mut self, said: impl Iterator<Item = &'a Said>) {
        let line = |said: &Said| {
            let when = format("%Y-%m-%d %H:%M:%S", said.at_ns.unwrap_or(0));
            let (process, word) = (std::process::id(), word(said.severity));
            format!("{when} {process} {word}: {}\n", neutralise_line(&said.text))
        };
        let text: String = said.map(line).collect();
        if !text.is_empty() {
            let _ = self.file.write_all(text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_written_once_and_repeats_are_counted() {
        let folder = std::env::temp_dir().join(format!("probescope-journal-{}", std::process::id()));
        let (mut file, path) = LogFile::open(&folder.join("a/b")).unwrap();
        let mut journal = Journal::default();
        journal.say(Severity::Info, "one\x1b[2J\nline");
        journal.say(Severity::Info, "one\x1b[2J\nline");
        journal.say(Severity::Error, "two");
        file.write(journal.write_down(1_000_000_000));
        file.write(journal.write_down(2_000_000_000));
        journal.say(Severity::Warning, "three");
        file.write(journal.write_down(3_000_000_000));
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].contains("info: one") && !text.contains('\x1b') && lines[2].ends_with("warning: three"));
        assert_eq!(journal.iter().map(|said| said.times).collect::<Vec<_>>(), [2, 1, 1]);
        for n in 0..MOST {
            journal.say(Severity::Info, &n.to_string());
        }
        assert_eq!((journal.len(), journal.write_down(4).count()), (MOST, MOST));

        std::fs::write(&path, vec![b'x'; LONGEST_FILE as usize + 1]).unwrap();
        drop(LogFile::open(&folder.join("a/b")).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
        assert!(path.with_extension("log.old").exists());
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert!(LogFile::open(&folder.join("a/b")).is_err(), "a link leads elsewhere");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
