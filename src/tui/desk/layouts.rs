//! Layouts on disk: those that the user saved by name, and the one of the last use.

use std::io;
use std::path::{Path, PathBuf};

use super::layout::file::LONGEST;
use crate::disk::{self, Readers};

/// Where they are.
#[derive(Clone, Debug)]
pub struct Folders {
    /// The folder of those with a name.
    pub named: PathBuf,
    /// The file of the last use.
    pub last: PathBuf,
    /// The file of the last use could not be used: it is put aside before it is written anew.
    pub broken: bool,
}

/// Whether a layout can have this name: it becomes the name of a file.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ' | '.');
    !name.is_empty() && name.len() <= 64 && !name.starts_with(['.', ' ']) && name.chars().all(fits)
}

impl Folders {
    /// Names of the saved layouts, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.named).into_iter().flatten().flatten();
        let mut names: Vec<String> = files
            .filter_map(|f| Some(f.file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
            .filter(|n| is_name(n))
            .collect();
        names.sort();
        names
    }

    fn path(&self, name: &str) -> PathBuf {
        self.named.join(format!("{name}.toml"))
    }

    /// Reads the layout of a name.
    ///
    /// # Errors
    /// When it can't be read, or is no text.
    pub fn read(&self, name: &str) -> io::Result<String> {
        read(&self.path(name))
    }

    /// Saves a layout under a name.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn save(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.path(name);
        write(&path, text)?;
        Ok(path)
    }

    /// Keeps the layout for the next start.
    ///
    /// # Errors
    /// When it can't be written, or what was broken can't be put aside.
    pub fn keep(&mut self, text: &str) -> io::Result<()> {
        if std::mem::take(&mut self.broken) {
            std::fs::rename(&self.last, self.last.with_extension("broken.toml"))?;
        }
        write(&self.last, text)
    }
}

/// Reads a layout's file.
///
/// # Errors
/// When it can't be read, is larger than a layout can be, or no text.
pub fn read(path: &Path) -> io::Result<String> {
    let bytes = crate::regular::bounded(std::fs::File::open(path)?, LONGEST)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
}

/// Writes a file in one step: whoever reads it finds the old text or the new one.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    disk::write(path, text.as_bytes(), Readers::Everyone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_file_is_put_aside_and_not_lost() {
        let folder = std::env::temp_dir().join(format!("probescope-layouts-{}", std::process::id()));
        let last = folder.join("layout.toml");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&last, "broken").unwrap();
        let mut folders = Folders { named: folder.join("layouts"), last: last.clone(), broken: true };
        assert!(folders.names().is_empty());
        folders.keep("a = 1").unwrap();
        folders.keep("a = 2").unwrap();
        assert_eq!(read(&last).unwrap(), "a = 2");
        assert_eq!(read(&folder.join("layout.broken.toml")).unwrap(), "broken");
        folders.save("two rows", "b = 1").unwrap();
        assert_eq!(
            (folders.names(), folders.read("two rows").unwrap()),
            (vec!["two rows".to_owned()], "b = 1".to_owned())
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn names_stay_in_their_folder() {
        assert!(is_name("two rows") && is_name("a-1.x"));
        for name in ["", "../x", "a/b", ".hidden", " x", "a\0", &"n".repeat(65)] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
