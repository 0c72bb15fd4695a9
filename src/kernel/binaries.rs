//! Binaries that probes name, read once: scripts often probe one library many times.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::lock;
use crate::binary::BinaryError;
use crate::binary::dwarf::{DebugInfo, DwarfError};
use crate::binary::elf::Binary;

/// Where distributions keep symbols of stripped binaries.
pub(super) const DEBUG_ROOT: &str = "/usr/lib/debug";
/// Most binaries that are kept; a large one has tens of megabytes of names.
const KEPT: usize = 32;
/// Most binaries whose debug information is kept.
const KEPT_DESCRIBED: usize = 16;

/// By what a file that was replaced is told from the one that was read: device, inode, size, and time
/// of the last change in seconds and nanoseconds.
type Stamp = (u64, u64, u64, i64, i64);

/// Debug information as it was found.
type SharedInfo = Result<Arc<DebugInfo>, DwarfError>;

/// The binaries that were read.
#[derive(Debug, Default)]
pub(super) struct Binaries {
    opened: Mutex<HashMap<PathBuf, (Stamp, Arc<Binary>)>>,
    described: Mutex<HashMap<PathBuf, (Stamp, SharedInfo)>>,
}

impl Binaries {
    pub(super) fn open(&self, path: &Path, roots: &[PathBuf]) -> Result<Arc<Binary>, BinaryError> {
        let stamp = stamp(path);
        let known = lock(&self.opened).get(path).filter(|(known, _)| Some(known) == stamp.as_ref()).cloned();
        if let Some((_, binary)) = known {
            return Ok(binary);
        }
        let binary = Arc::new(Binary::open(path, roots)?);
        if let Some(stamp) = stamp {
            let mut all = lock(&self.opened);
            if all.len() >= KEPT {
                all.clear();
            }
            all.insert(path.to_owned(), (stamp, Arc::clone(&binary)));
        }
        Ok(binary)
    }

    pub(super) fn debug_info(&self, path: &Path, roots: &[PathBuf]) -> SharedInfo {
        let stamp = stamp(path);
        let known = lock(&self.described).get(path).filter(|(known, _)| Some(known) == stamp.as_ref()).cloned();
        if let Some((_, info)) = known {
            return info;
        }
        let info = DebugInfo::open(path, roots).map(Arc::new);
        if let Some(stamp) = stamp {
            let mut all = lock(&self.described);
            if all.len() >= KEPT_DESCRIBED {
                all.clear();
            }
            all.insert(path.to_owned(), (stamp, info.clone()));
        }
        info
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
