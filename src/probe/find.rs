//! From the name in an attach point to a file.

use std::path::{Path, PathBuf};

use super::glob::Glob;
use super::suggest;
use crate::binary::{BinaryError, archive, cache};
use crate::kernel::{Kernel, process};

/// Most files that a pattern may stand for.
const MAX_FILES: usize = 4096;

/// A binary that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Path as the target's file system has it, for display.
    pub path: PathBuf,
    /// Path to open: through `/proc/PID/root` when the process lives in another file system.
    pub open: PathBuf,
}

/// Files that `name` stands for: a path, a program in the search path, a library's name or SONAME, or
/// a pattern; empty for the process's own program.
///
/// # Errors
/// When there is none.
pub fn find(name: &Glob, kernel: &Kernel, pid: Option<u32>) -> Result<Vec<Found>, BinaryError> {
    let root = pid.and_then(|pid| foreign_root(kernel, pid)).unwrap_or_default();
    let text = name.as_str();
    let not_found = |suggestions| BinaryError::NotFound { kind: "uprobe", name: text.to_owned(), suggestions };
    let paths = match (text, pid) {
        ("", Some(pid)) => vec![own_program(kernel, pid)?],
        ("*", Some(pid)) => mapped_files(kernel, pid),
        ("" | "*", None) => return Err(not_found(Vec::new())),
        _ if name.is_wild() => matching_files(name, kernel, &root),
        _ if text.contains('/') => vec![PathBuf::from(text)],
        _ => vec![by_name(text, kernel, pid, &root).ok_or_else(|| not_found(similar(text, kernel, &root)))?],
    };
    let found: Vec<_> = paths.into_iter().map(|path| Found { open: below(&root, &path), path }).collect();
    // Of a member of an archive the archive is the file.
    let found: Vec<_> = found.into_iter().filter(|f| archive::file_of(&f.open).is_file()).collect();
    if found.is_empty() { Err(not_found(Vec::new())) } else { Ok(found) }
}

fn below(root: &Path, path: &Path) -> PathBuf {
    if root.as_os_str().is_empty() { path.to_owned() } else { root.join(path.strip_prefix("/").unwrap_or(path)) }
}

/// `/proc/PID/root`, when the process sees other mounts than we do.
fn foreign_root(kernel: &Kernel, pid: u32) -> Option<PathBuf> {
    let namespace = |who: &Path| std::fs::read_link(kernel.roots().proc.join(who).join("ns/mnt")).ok();
    let folder = process::folder(&kernel.roots().proc, pid);
    (namespace(&folder)? != namespace(Path::new("self"))?).then(|| folder.join("root"))
}

fn own_program(kernel: &Kernel, pid: u32) -> Result<PathBuf, BinaryError> {
    let path = process::folder(&kernel.roots().proc, pid).join("exe");
    std::fs::read_link(&path).map_err(|source| BinaryError::Read { path, source })
}

/// Files that a process has mapped as code, each once.
#[must_use]
pub fn mapped_files(kernel: &Kernel, pid: u32) -> Vec<PathBuf> {
    let maps = kernel.proc_text(process::folder(&kernel.roots().proc, pid).join("maps")).unwrap_or_default();
    let mut paths: Vec<PathBuf> = Vec::new();
    for line in maps.lines() {
        let code = line.split_whitespace().nth(1).is_some_and(|rights| rights.contains('x'));
        let path = line.find('/').and_then(|at| line.get(at..)).filter(|_| code);
        if let Some(path) = path.map(PathBuf::from).filter(|p| !paths.contains(p)) {
            paths.push(path);
        }
    }
    paths
}

fn by_name(name: &str, kernel: &Kernel, pid: Option<u32>, root: &Path) -> Option<PathBuf> {
    let program = kernel.search_path().iter().map(|d| d.join(name)).find(|p| below(root, p).is_file());
    let mapped = || {
        let files = pid.map(|pid| mapped_files(kernel, pid)).unwrap_or_default();
        files.into_iter().find(|p| p.file_name().and_then(|f| f.to_str()).is_some_and(|f| is_library(f, name)))
    };
    let cached = || kernel.libraries(&below(root, Path::new(cache::PATH))).find(name).map(Path::to_owned);
    program
        .or_else(mapped)
        .or_else(cached)
        .map(|p| if root.as_os_str().is_empty() { p.canonicalize().unwrap_or(p) } else { p })
}

/// Whether the file `libc.so.6` is what `libc` or `libc.so.6` means.
fn is_library(file: &str, name: &str) -> bool {
    file.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(".so") || rest.starts_with('.'))
}

fn similar(name: &str, kernel: &Kernel, root: &Path) -> Vec<String> {
    let cache = kernel.libraries(&below(root, Path::new(cache::PATH)));
    let programs: Vec<String> = kernel
        .search_path()
        .iter()
        .filter_map(|d| std::fs::read_dir(below(root, d)).ok())
        .flat_map(|entries| entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).take(MAX_FILES))
        .collect();
    let libraries = cache.names().map(|n| n.split_once(".so").map_or(n, |(stem, _)| stem));
    let names = libraries.chain(programs.iter().map(String::as_str));
    suggest::nearest(name, names, 3).into_iter().map(str::to_owned).collect()
}

/// Files that match a path pattern, component by component; a pattern without a slash is looked for
/// in the search path.
fn matching_files(pattern: &Glob, kernel: &Kernel, root: &Path) -> Vec<PathBuf> {
    let text = pattern.as_str();
    let mut found: Vec<PathBuf> = match text.strip_prefix('/') {
        Some(path) => vec![(PathBuf::from("/"), path)],
        None if text.contains('/') => vec![(PathBuf::new(), text)],
        None => kernel.search_path().iter().map(|d| (d.clone(), text)).collect(),
    }
    .into_iter()
    .flat_map(|(start, path)| walk(start, path, root))
    .filter(|p| below(root, p).is_file())
    .collect();
    found.sort();
    found.dedup();
    found
}

fn walk(start: PathBuf, pattern: &str, root: &Path) -> Vec<PathBuf> {
    let mut level = vec![start];
    for component in pattern.split('/').filter(|c| !c.is_empty()) {
        let glob = Glob::new(component);
        level = level
            .iter()
            .flat_map(|folder| {
                if !glob.is_wild() {
                    return vec![folder.join(component)];
                }
                let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                let Ok(entries) = std::fs::read_dir(below(root, here)) else { return Vec::new() };
                let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
                names.filter(|n| glob.matches(n)).map(|n| folder.join(n)).take(MAX_FILES).collect()
            })
            .take(MAX_FILES)
            .collect();
    }
    level
}
