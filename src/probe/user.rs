//! User probes while they are typed: the files that a path could become, and what is in a binary.
//! The catalogue does not hold them: there are too many files.

mod leads;
mod running;

use std::path::Path;

use super::find::find;
use super::glob::Glob;
use super::listing::{Line, list};
use super::point::Provider;
use crate::kernel::Kernel;

pub use leads::{Lead, leads};
pub use running::{Process, Running};

/// Most files of a folder that are looked at.
const MOST_FILES: usize = 4096;

/// An attach point of a user probe, taken apart as far as it is typed.
struct Typed<'t> {
    provider: &'static str,
    binary: &'t str,
    /// What stands behind the binary's colon.
    place: Option<&'t str>,
}

fn taken_apart(typed: &str) -> Option<Typed<'_>> {
    let (word, rest) = typed.trim().split_once(':')?;
    let provider = Provider::find(word)?.name;
    if !matches!(provider, "uprobe" | "uretprobe" | "usdt") {
        return None;
    }
    let (binary, place) = rest.split_once(':').map_or((rest, None), |(binary, place)| (binary, Some(place)));
    Some(Typed { provider, binary, place })
}

/// The probes of the binary that is named in what was typed, those that begin so first; `None` when no
/// binary of that name is there, or when it is no user probe.
#[must_use]
pub fn probes(typed: &str, kernel: &Kernel) -> Option<Vec<Line>> {
    let Typed { provider, binary, place } = taken_apart(typed)?;
    if binary.is_empty() || binary.contains('*') {
        return None;
    }
    let place = place.unwrap_or("");
    let wanted = if place.contains('*') { place.to_owned() } else { format!("*{place}*") };
    // Of a USDT probe either name may be the one that is typed.
    let wanted = if provider == "usdt" && !place.contains(':') { format!("*:{wanted}") } else { wanted };
    let mut lines = list(&format!("{provider}:{binary}:{wanted}"), kernel).ok()?.lines;
    let own = |line: &Line| line.name.rsplit(':').next().map_or(0, |own| usize::from(!own.starts_with(place)));
    lines.sort_by_cached_key(|line| (own(line), line.name.len(), line.name.clone()));
    Some(lines)
}

/// Why the binary that is named in what was typed has no probes: it is gone, or is none. `None` until its name is whole, and
/// where nothing is wrong.
#[must_use]
pub fn why_none(typed: &str, kernel: &Kernel) -> Option<String> {
    let Typed { provider, binary, place: Some(_) } = taken_apart(typed)? else { return None };
    if binary.is_empty() || binary.contains('*') {
        return None;
    }
    let error = list(&format!("{provider}:{binary}:*"), kernel).err()?;
    Some(error.hint().map_or_else(|| error.to_string(), |hint| format!("{error}: {hint}")))
}

/// What was typed with its words joined to an attach point, where it begins with a user probe's provider or the name
/// of a library: `uprobe libc malloc`, `libssl SSL_read`. Otherwise as it is.
#[must_use]
pub fn joined(typed: &str, kernel: &Kernel) -> String {
    let words: Vec<&str> = typed.split_whitespace().collect();
    let [first, _, ..] = words.as_slice() else { return typed.trim().to_owned() };
    let is_provider = Provider::find(first).is_some_and(|p| matches!(p.name, "uprobe" | "uretprobe" | "usdt"));
    let is_library = || kernel.libraries(Path::new(crate::binary::cache::PATH)).find(first).is_some();
    if !first.contains(':') && (is_provider || is_library()) { words.join(":") } else { typed.to_owned() }
}

/// The functions and static probes of what is named without a provider: `libssl:SSL_read`, `bash readline`, the name
/// of a running process. Empty when nothing has the name.
#[must_use]
pub fn probes_of_named(typed: &str, kernel: &Kernel, running: &[Process]) -> Vec<Line> {
    // Words stand for the parts of an attach point: `bash readline`.
    let words: Vec<&str> = typed.split_whitespace().collect();
    let typed = if words.len() > 1 && !typed.contains(':') { words.join(":") } else { typed.trim().to_owned() };
    let Some((name, place)) = typed.split_once(':') else { return Vec::new() };
    if name.is_empty() || name.contains('*') || Provider::find(name).is_some() {
        return Vec::new();
    }
    let process = running.iter().find(|p| p.is_called(name)).map(|p| p.program.to_string_lossy().into_owned());
    let named = if find(&Glob::new(name), kernel, None).is_ok() { Some(name.to_owned()) } else { process };
    let Some(binary) = named else { return Vec::new() };
    let of = |provider: &str| probes(&format!("{provider}:{binary}:{place}"), kernel).unwrap_or_default();
    of("uprobe").into_iter().chain(of("usdt")).collect()
}

/// What the path in an attach point could become: folders with their slash, programs and libraries
/// with the colon that follows them. Empty once the binary is typed.
#[must_use]
pub fn files(typed: &str) -> Vec<String> {
    let Some(Typed { provider, binary, place: None }) = taken_apart(typed) else { return Vec::new() };
    let Some(cut) = binary.rfind('/') else { return Vec::new() };
    let (folder, begun) = binary.split_at(cut + 1);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_FILES);
    let name = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok().filter(|n| n.starts_with(begun))?;
        let end = if entry.path().is_dir() {
            "/"
        } else if is_code(&entry.path(), &name) {
            ":"
        } else {
            return None;
        };
        // Hidden files are offered to who asks for them.
        (begun.starts_with('.') || !name.starts_with('.')).then(|| format!("{provider}:{folder}{name}{end}"))
    };
    let mut found: Vec<String> = entries.filter_map(name).collect();
    found.sort_unstable();
    found
}

/// A library by its name, a program by its rights.
fn is_code(path: &Path, name: &str) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    name.contains(".so") || path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Roots;

    #[test]
    fn a_path_grows_to_files_and_a_binary_to_its_functions() {
        let program = std::env::current_exe().unwrap();
        let folder = program.parent().unwrap().display().to_string();
        let name = program.file_name().unwrap().to_string_lossy().into_owned();
        let (begun, _) = name.split_at(name.len() - 2);
        assert_eq!(files(&format!("u:{folder}/{begun}")), [format!("uprobe:{folder}/{name}:")]);
        let parent = program.ancestors().nth(2).unwrap().display();
        assert!(files(&format!("usdt:{parent}/")).contains(&format!("usdt:{folder}/")));
        assert!(files("uprobe:/bin/bash:read").is_empty() && files("kprobe:/").is_empty());

        let kernel = Kernel::new(Roots::running());
        let found = probes(&format!("uprobe:{}:rust_eh_perso", program.display()), &kernel).unwrap();
        assert!(found.iter().any(|l| l.name.ends_with(":rust_eh_personality")), "{found:?}");
        let named = probes_of_named(&format!("{} rust_eh_perso", program.display()), &kernel, &[]);
        assert!(named.iter().any(|l| l.name.ends_with(":rust_eh_personality")), "words stand for an attach point");
        assert!(probes("uprobe:/no/such:f", &kernel).is_none() && probes("kprobe:vfs_read", &kernel).is_none());
        assert!(why_none("uprobe:/no/such:f", &kernel).unwrap().contains("/no/such"));
        assert!(why_none("uprobe:/no/such", &kernel).is_none() && why_none("kprobe:f:g", &kernel).is_none());
    }
}
