//! What is mounted where, by the kernel's list (`/proc/self/mounts`).

use std::path::PathBuf;

/// Where control groups of version 2 are mounted, by the text of such a list.
#[must_use]
pub fn cgroup2(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (folder, kind) = (words.next()?, words.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(folder))
    })
}
