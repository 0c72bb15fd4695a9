//! The lessons that there are, and what the student has done of them.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::cli::{CliError, World};
use crate::learn::{BUNDLED, Folder, LONGEST_TEXT, Lesson, Progress};
use crate::model::render::neutralise;
use crate::{disk, regular};

/// Lessons that a folder may have.
const MOST_LESSONS: usize = 200;
/// Languages that a lesson may have.
const MOST_LANGUAGES: usize = 20;
/// Longest file of progress.
const LONGEST_PROGRESS: u64 = 1 << 20;

/// Lessons, in the order of their names.
pub(super) struct Shelf {
    pub lessons: Vec<Lesson>,
    /// What is wrong with those that can't be read.
    pub broken: Vec<String>,
    /// Where progress is kept.
    file: Option<PathBuf>,
}

impl Shelf {
    /// The program's own lessons, or those of a folder.
    pub fn open(folder: Option<&Path>, world: &World) -> Result<Self, CliError> {
        let folders = match folder {
            None => BUNDLED.iter().map(|bundled| Ok(bundled.folder())).collect(),
            Some(path) => folders(path)?,
        };
        let mut shelf = Self { lessons: Vec::new(), broken: Vec::new(), file: progress_file(world, folder) };
        for found in folders {
            match found.and_then(|folder| Lesson::parse(&folder).map_err(|e| e.to_string())) {
                Ok(lesson) => shelf.lessons.push(lesson),
                Err(why) => shelf.broken.push(neutralise(&why).into_owned()),
            }
        }
        Ok(shelf)
    }

    /// The lesson of a number or a name.
    pub fn find(&self, name: &str) -> Option<&Lesson> {
        let number: Option<u32> = name.parse().ok();
        self.lessons.iter().find(|lesson| {
            let after = lesson.name.split_once('-').map_or("", |(_, after)| after);
            lesson.name == name || after == name || (number.is_some() && lesson.number().parse().ok() == number)
        })
    }

    /// What was done so far.
    pub fn progress(&self) -> Progress {
        let text = self.file.as_ref().and_then(|file| regular::text(file, LONGEST_PROGRESS).ok());
        text.map(|text| Progress::parse(&text)).unwrap_or_default()
    }

    /// Keeps what was done, with what another process has kept meanwhile.
    pub fn keep(&self, progress: &Progress) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Err(std::io::Error::other("HOME is not set")) };
        let mut all = self.progress();
        all.hints.extend(progress.hints.clone());
        for (name, done) in &progress.done {
            all.done.entry(name.clone()).or_insert_with(|| done.clone());
        }
        if let Some(folder) = file.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        disk::write_soon(file, all.text().as_bytes())
    }
}

/// Lessons of folders of the user have files of progress of their own.
fn progress_file(world: &World, folder: Option<&Path>) -> Option<PathBuf> {
    let state = crate::cli::workbench::state_folder(world)?;
    let Some(folder) = folder else { return Some(state.join("lessons.json")) };
    let path = std::fs::canonicalize(folder).ok()?;
    let hash = path.as_os_str().as_encoded_bytes().iter();
    let hash = hash.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3));
    Some(state.join(format!("lessons-{hash:016x}.json")))
}

/// The lessons' folders below a folder, in the order of their names; one that can't be read says why.
fn folders(root: &Path) -> Result<Vec<Result<Folder, String>>, CliError> {
    let unreadable = |source| CliError::Read { path: root.display().to_string(), source };
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(root).map_err(unreadable)?.take(10 * MOST_LESSONS) {
        let Ok(name) = entry.map_err(unreadable)?.file_name().into_string() else { continue };
        if name.starts_with(|c: char| c.is_ascii_digit()) && root.join(&name).is_dir() {
            names.push(name);
        }
    }
    names.sort();
    if names.len() > MOST_LESSONS {
        return Err(CliError::Refused(format!("{}: more than {MOST_LESSONS} lessons", root.display())));
    }
    if names.is_empty() {
        return Err(CliError::Refused(format!("{}: there is no folder of a lesson (NN-name)", root.display())));
    }
    Ok(names.into_iter().map(|name| folder(root, name)).collect())
}

fn folder(root: &Path, name: String) -> Result<Folder, String> {
    let path = root.join(&name);
    let text = |file: &str| {
        regular::text(&path.join(file), LONGEST_TEXT as u64).map_err(|e| format!("lesson {name}: {file}: {e}"))
    };
    let either = |stem: &str| {
        let ending = if path.join(format!("{stem}.d")).exists() { "d" } else { "bt" };
        text(&format!("{stem}.{ending}"))
    };
    let mut texts = BTreeMap::new();
    let entries = std::fs::read_dir(&path).map_err(|e| format!("lesson {name}: {e}"))?;
    for file in entries.take(1000).filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        if let Some(language) = file.strip_suffix(".md").filter(|_| texts.len() < MOST_LANGUAGES) {
            texts.insert(language.to_owned(), text(&file)?);
        }
    }
    let (manifest, skeleton, solution) = (text("lesson.toml")?, either("skeleton")?, either("solution")?);
    Ok(Folder { manifest, texts, skeleton, solution, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(home: &Path) -> World {
        World { home: Some(home.to_owned()), ..World::default() }
    }

    #[test]
    fn lessons_are_found_by_number_and_name_and_progress_is_kept() {
        let home = std::env::temp_dir().join(format!("probescope-shelf-{}", std::process::id()));
        let shelf = Shelf::open(None, &world(&home)).unwrap();
        assert!(shelf.broken.is_empty(), "{:?}", shelf.broken);
        let first = &shelf.lessons[0];
        for name in ["1", "01", first.name.as_str(), &first.name[3..]] {
            assert_eq!(shelf.find(name), Some(first), "{name}");
        }
        assert_eq!(shelf.find("999"), None);
        let mut progress = shelf.progress();
        progress.hints.insert(first.name.clone(), 1);
        shelf.keep(&progress).unwrap();
        assert_eq!(shelf.progress(), progress);
        std::fs::remove_dir_all(home).unwrap();
    }

    #[test]
    fn a_broken_folder_is_told_and_the_others_are_there() {
        let root = std::env::temp_dir().join(format!("probescope-folder-{}", std::process::id()));
        for (name, bundled) in [("01-good", true), ("02-empty", false), ("notes", false)] {
            std::fs::create_dir_all(root.join(name)).unwrap();
            let folder = BUNDLED[0].folder();
            let texts = [
                ("lesson.toml", &folder.manifest),
                ("en.md", &folder.texts["en"]),
                ("skeleton.bt", &folder.skeleton),
                ("solution.bt", &folder.solution),
            ];
            for (file, text) in texts.iter().filter(|_| bundled) {
                std::fs::write(root.join(name).join(file), text).unwrap();
            }
        }
        let shelf = Shelf::open(Some(&root), &world(&root)).unwrap();
        assert_eq!(shelf.lessons.len(), 1);
        assert!(shelf.broken.len() == 1 && shelf.broken[0].contains("02-empty"), "{:?}", shelf.broken);
        std::fs::remove_dir_all(&root).unwrap();
        assert!(Shelf::open(Some(&root), &world(&root)).is_err());
    }
}
