//! Numbers to names: users, errors, signals, control groups, times.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub mod time;

pub use crate::model::words::{error_text, signal_name};

/// User names by id, as `/etc/passwd` lists them.
#[derive(Clone, Debug, Default)]
pub struct Users(HashMap<u64, Arc<str>>);

impl Users {
    /// Parses the text of `/etc/passwd`; lines that make no sense are passed over.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let entries = text.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            Some((fields.nth(1)?.parse().ok()?, name))
        });
        let mut names = HashMap::new();
        for (id, name) in entries {
            names.entry(id).or_insert_with(|| name.into());
        }
        Self(names)
    }

    /// The name, or the number where there is none.
    #[must_use]
    pub fn name(&self, id: u64) -> Arc<str> {
        self.0.get(&id).cloned().unwrap_or_else(|| id.to_string().into())
    }
}

/// Paths of control groups by id: a group's id is the inode number of its folder in cgroup2.
#[derive(Debug)]
pub struct Cgroups {
    root: PathBuf,
    paths: HashMap<u64, Arc<str>>,
    misses: u32,
}

/// Folders looked at in one search of the tree.
const MOST_GROUPS: usize = 20_000;
/// Searches that found nothing new before the tree is left alone.
const MOST_MISSES: u32 = 16;

impl Cgroups {
    /// Under the mount point of cgroup2 (`/sys/fs/cgroup`); nothing is read yet.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root, paths: HashMap::new(), misses: 0 }
    }

    /// The path below the mount point, `/` for the root; `None` when there is no such group.
    pub fn path(&mut self, id: u64) -> Option<Arc<str>> {
        if !self.paths.contains_key(&id) && self.misses < MOST_MISSES {
            self.search();
            if !self.paths.contains_key(&id) {
                self.misses += 1;
            }
        }
        self.paths.get(&id).cloned()
    }

    fn search(&mut self) {
        let mut folders = vec![self.root.clone()];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            seen += 1;
            if seen > MOST_GROUPS {
                return;
            }
            self.remember(&folder);
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            let inner = entries.flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
            folders.extend(inner.map(|e| e.path()));
        }
    }

    fn remember(&mut self, folder: &Path) {
        let Ok(meta) = std::fs::metadata(folder) else { return };
        let below = folder.strip_prefix(&self.root).unwrap_or(folder);
        self.paths.insert(meta.ino(), format!("/{}", below.display()).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_by_number() {
        let users = Users::parse("root:x:0:0:root:/root:/bin/sh\nbroken\nme:x:1000:1000::/:\n");
        assert_eq!(&*users.name(0), "root");
        assert_eq!(&*users.name(1000), "me");
        assert_eq!(&*users.name(7), "7");
    }

    #[test]
    fn errors_and_signals() {
        assert_eq!(&*error_text(2), "No such file or directory");
        assert_eq!(signal_name(9), Some("Killed"));
        assert_eq!(signal_name(31), Some("Bad system call"));
        assert_eq!((signal_name(0), signal_name(32)), (None, None));
    }
}
