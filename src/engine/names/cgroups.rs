//! Control groups' paths by id, in every hierarchy that is mounted.

use std::collections::HashMap;
use std::fs::DirEntry;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders looked at in one search of a hierarchy.
const MOST_GROUPS: usize = 20_000;
/// Searches that found nothing new before a hierarchy is left alone.
const MOST_MISSES: u32 = 16;

/// Paths of control groups by id: a group's id is the inode number of its folder in cgroup2.
#[derive(Debug)]
pub struct Cgroups {
    mounts: PathBuf,
    hierarchies: Option<Vec<Hierarchy>>,
}

impl Cgroups {
    /// Of the hierarchies in a list of mounts (`/proc/mounts`); nothing is read yet.
    #[must_use]
    pub fn new(mounts: PathBuf) -> Self {
        Self { mounts, hierarchies: None }
    }

    /// Where the group is, as `hierarchy:path` joined by commas, in the hierarchies that `wanted` names;
    /// empty when it is in none. cgroup2 is called `unified` and comes first, a hierarchy of cgroup1 is
    /// called by its folder, and has what has the same inode number there: bpftrace tells both.
    pub fn paths(&mut self, id: u64, wanted: impl Fn(&str) -> bool) -> String {
        let hierarchies = self.hierarchies.get_or_insert_with(|| mounted(&self.mounts));
        let wanted = hierarchies.iter_mut().filter(|h| wanted(&h.name));
        let found = wanted.filter_map(|h| h.path(id).map(|path| format!("{}:{path}", h.name)));
        found.collect::<Vec<_>>().join(",")
    }
}

/// The hierarchies of a list of mounts, `unified` first, the others by name.
fn mounted(list: &Path) -> Vec<Hierarchy> {
    let text = std::fs::read_to_string(list).unwrap_or_default();
    let mut found: Vec<Hierarchy> = Vec::new();
    for line in text.lines() {
        let mut words = line.split(' ').skip(1);
        let (Some(folder), Some(kind)) = (words.next(), words.next()) else { continue };
        let root = PathBuf::from(folder);
        let name = match kind {
            "cgroup2" => "unified".to_owned(),
            "cgroup" => root.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            _ => continue,
        };
        // The same hierarchy may be mounted once more, for a chroot.
        if !found.iter().any(|h| h.name == name) {
            found.push(Hierarchy { name, root, unified: kind == "cgroup2", paths: HashMap::new(), misses: 0 });
        }
    }
    found.sort_by(|a, b| b.unified.cmp(&a.unified).then_with(|| a.name.cmp(&b.name)));
    found
}

/// One mounted hierarchy.
#[derive(Debug)]
struct Hierarchy {
    name: String,
    root: PathBuf,
    unified: bool,
    paths: HashMap<u64, Arc<str>>,
    misses: u32,
}

impl Hierarchy {
    /// The path below the mount point, `/` for the root; `None` when there is no such group.
    fn path(&mut self, id: u64) -> Option<Arc<str>> {
        if !self.paths.contains_key(&id) && self.misses < MOST_MISSES {
            self.search();
            if !self.paths.contains_key(&id) {
                self.misses += 1;
            }
        }
        self.paths.get(&id).cloned()
    }

    /// Walks the tree in the order of its folders; the first path with an inode number counts.
    fn search(&mut self) {
        self.paths.clear();
        if let Ok(meta) = std::fs::metadata(&self.root) {
            self.paths.insert(meta.ino(), "/".into());
        }
        let mut open: Vec<std::fs::ReadDir> = std::fs::read_dir(&self.root).into_iter().collect();
        let mut seen = 0;
        while let Some(folder) = open.last_mut() {
            let Some(entry) = folder.next() else {
                open.pop();
                continue;
            };
            let Ok(entry) = entry else { continue };
            let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
            if is_folder || !self.unified {
                self.remember(&entry);
            }
            if is_folder && seen < MOST_GROUPS {
                seen += 1;
                open.extend(std::fs::read_dir(entry.path()));
            }
        }
    }

    fn remember(&mut self, entry: &DirEntry) {
        let path = entry.path();
        let below = path.strip_prefix(&self.root).unwrap_or(&path);
        self.paths.entry(entry.ino()).or_insert_with(|| format!("/{}", below.display()).into());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_by_name_with_cgroup2_first() {
        let folder = std::env::temp_dir().join(format!("probescope-cgroups-{}", std::process::id()));
        let at = |name: &str| folder.join(name);
        std::fs::create_dir_all(at("two/a/b")).unwrap();
        std::fs::create_dir_all(at("cpu/c")).unwrap();
        let mounts = format!(
            "proc /proc proc rw 0 0\ncgroup {cpu} cgroup rw,cpu 0 0\ncgroup2 {two} cgroup2 rw 0 0\ncgroup2 /x cgroup2 rw 0 0\n",
            cpu = at("cpu").display(),
            two = at("two").display()
        );
        std::fs::write(at("mounts"), mounts).unwrap();
        let found = mounted(&at("mounts"));
        assert_eq!(found.iter().map(|h| &*h.name).collect::<Vec<_>>(), ["unified", "cpu"]);
        let mut groups = Cgroups::new(at("mounts"));
        let inode = |name: &str| std::fs::metadata(at(name)).unwrap().ino();
        assert_eq!(groups.paths(inode("two/a/b"), |_| true), "unified:/a/b");
        assert_eq!(groups.paths(inode("two"), |_| true), "unified:/");
        assert_eq!(groups.paths(inode("cpu/c"), |_| true), "cpu:/c");
        assert_eq!(groups.paths(inode("cpu/c"), |name| name == "unified"), "");
        std::fs::create_dir_all(at("two/new")).unwrap();
        assert_eq!(groups.paths(inode("two/new"), |_| true), "unified:/new");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
