//! Files of open scripts that other programs write: noticed, and read again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::tui::data::document::Document;

/// Watches the folders of scripts: programs that write a file often put another one in its place.
#[derive(Debug)]
pub struct Watched {
    /// Absent where the system gives none: saving looks for other text all the same.
    watcher: Option<RecommendedWatcher>,
    folders: BTreeSet<PathBuf>,
    files: Arc<Mutex<Vec<Watch>>>,
}

/// A file: as events name it, and as its script does.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Watch {
    absolute: PathBuf,
    path: PathBuf,
}

impl Watched {
    /// Watches nothing yet; `changed` is called with the path of a file, as its script names it, from a thread of its own.
    pub fn new(changed: impl Fn(PathBuf) + Send + 'static) -> Self {
        let files: Arc<Mutex<Vec<Watch>>> = Arc::default();
        let known = Arc::clone(&files);
        let take = move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            if !is_written(event.kind) {
                return;
            }
            for path in event.paths {
                let files = known.lock().unwrap_or_else(PoisonError::into_inner).clone();
                files.into_iter().filter(|file| file.absolute == path).for_each(|file| changed(file.path));
            }
        };
        let watcher = notify::recommended_watcher(take).ok();
        Self { watcher, folders: BTreeSet::new(), files }
    }

    /// Watches the files of these scripts, and no others.
    pub fn follow<'d>(&mut self, documents: impl Iterator<Item = &'d Document>) {
        let watch = |path: &PathBuf| Some(Watch { absolute: std::path::absolute(path).ok()?, path: path.clone() });
        let files: Vec<Watch> = documents.filter_map(|d| d.file.path.as_ref()).filter_map(watch).collect();
        if *self.files.lock().unwrap_or_else(PoisonError::into_inner) == files {
            return;
        }
        let folder = |file: &Watch| file.absolute.parent().map(Path::to_owned);
        let wanted: BTreeSet<PathBuf> = files.iter().filter_map(folder).collect();
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = files;
        let Some(watcher) = &mut self.watcher else { return };
        for gone in self.folders.difference(&wanted) {
            // It may have been removed.
            let _ = watcher.unwatch(gone);
        }
        for new in wanted.difference(&self.folders) {
            // A folder that can't be watched has no news.
            let _ = watcher.watch(new, RecursiveMode::NonRecursive);
        }
        self.folders = wanted;
    }
}

/// Whether a file has its new contents now: written and closed, or put there under its name.
const fn is_written(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(AccessKind::Close(AccessMode::Write)) | EventKind::Modify(ModifyKind::Name(_)))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::session::update::ScriptId;
    use crate::tui::data::document::File;

    #[test]
    fn what_others_write_or_put_in_place_is_told_by_the_script_s_name() {
        let folder = std::env::temp_dir().join(format!("probescope-watch-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.bt");
        std::fs::write(&path, "x").unwrap();
        let (sender, told) = channel();
        let mut watched = Watched::new(move |path| drop(sender.send(path)));
        let file = File { path: Some(path.clone()), ..File::default() };
        watched.follow([Document::new(ScriptId(1), "x", file)].iter());
        let patience = Duration::from_secs(20);
        std::fs::write(folder.join("other.bt"), "y").unwrap();
        std::fs::write(&path, "y").unwrap();
        assert_eq!(told.recv_timeout(patience).unwrap(), path);
        std::fs::write(folder.join("new"), "z").unwrap();
        std::fs::rename(folder.join("new"), &path).unwrap();
        assert_eq!(told.recv_timeout(patience).unwrap(), path);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
