//! Binaries that probes name, and where libraries are, read once: scripts often probe one library many times.

use std::collections::HashMap;
use std::convert::Infallible;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::lock;
use crate::binary::BinaryError;
use crate::binary::cache::LibraryCache;
use crate::binary::dwarf::{DebugInfo, DwarfError};
use crate::binary::elf::Binary;

/// Where distributions keep symbols of stripped binaries.
pub(super) const DEBUG_ROOT: &str = "/usr/lib/debug";
/// Most binaries that are kept, and most caches of the dynamic linker; a large binary has tens of megabytes of names.
const KEPT: usize = 32;
/// Most binaries whose debug information is kept.
const KEPT_DESCRIBED: usize = 16;

/// By what a file that was replaced is told from the one that was read: device, inode, size, and time
/// of the last change in seconds and nanoseconds.
type Stamp = (u64, u64, u64, i64, i64);

/// Debug information as it was found.
type SharedInfo = Result<Arc<DebugInfo>, DwarfError>;

/// What was read of files, as long as they stay the same.
#[derive(Debug)]
struct Kept<T, const MOST: usize>(Mutex<HashMap<PathBuf, (Stamp, T)>>);

impl<T, const MOST: usize> Default for Kept<T, MOST> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone, const MOST: usize> Kept<T, MOST> {
    /// What is known of a file, or what `read` finds in it.
    fn get<E>(&self, path: &Path, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let stamp = stamp(path);
        let known = lock(&self.0).get(path).filter(|(known, _)| Some(known) == stamp.as_ref()).cloned();
        if let Some((_, found)) = known {
            return Ok(found);
        }
        let found = read()?;
        if let Some(stamp) = stamp {
            let mut all = lock(&self.0);
            if all.len() >= MOST {
                all.clear();
            }
            all.insert(path.to_owned(), (stamp, found.clone()));
        }
        Ok(found)
    }
}

/// The binaries that were read.
#[derive(Debug, Default)]
pub(super) struct Binaries {
    opened: Kept<Arc<Binary>, KEPT>,
    described: Kept<SharedInfo, KEPT_DESCRIBED>,
    libraries: Kept<Arc<LibraryCache>, KEPT>,
}

impl Binaries {
    pub(super) fn open(&self, path: &Path, roots: &[PathBuf]) -> Result<Arc<Binary>, BinaryError> {
        self.opened.get(path, || Binary::open(path, roots).map(Arc::new))
    }

    pub(super) fn debug_info(&self, path: &Path, roots: &[PathBuf]) -> SharedInfo {
        let read = || Ok::<_, Infallible>(DebugInfo::open(path, roots).map(Arc::new));
        self.described.get(path, read).unwrap_or_else(|never| match never {})
    }

    pub(super) fn libraries(&self, path: &Path) -> Arc<LibraryCache> {
        let read = || Ok::<_, Infallible>(Arc::new(LibraryCache::read(path)));
        self.libraries.get(path, read).unwrap_or_else(|never| match never {})
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let m = std::fs::metadata(path).ok()?;
    Some((m.dev(), m.ino(), m.size(), m.mtime(), m.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_only_when_it_changed() {
        let path = std::env::temp_dir().join(format!("probescope-binaries-{}", std::process::id()));
        std::fs::copy("/proc/self/exe", &path).unwrap();
        let all = Binaries::default();
        let first = all.open(&path, &[]).unwrap();
        assert!(Arc::ptr_eq(&first, &all.open(&path, &[]).unwrap()));
        std::fs::write(&path, "no binary").unwrap();
        assert!(all.open(&path, &[]).is_err(), "the file was replaced");
        std::fs::remove_file(&path).unwrap();
    }
}
