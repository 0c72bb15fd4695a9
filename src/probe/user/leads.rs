//! Binaries that a search leads to: programs that run, and libraries.

use std::path::Path;

use super::{Process, taken_apart};
use crate::binary::usdt;
use crate::kernel::Kernel;
use crate::probe::find::find;
use crate::probe::glob::Glob;

/// Most that are named.
const MOST: usize = 60;
/// Most processes that are told by number.
const MOST_PIDS: usize = 6;
/// Shortest word that is compared with the names of what runs, when no provider is typed.
const SHORTEST: usize = 3;

/// A binary whose probes can be listed next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lead {
    /// The begin of its probes' attach points, with the colon that they go on behind.
    pub name: String,
    /// What it is.
    pub about: String,
    /// It is what was asked for: called exactly what was typed, or binaries are all that can follow.
    pub exact: bool,
}

/// The binaries that what was typed can go on to: `uprobe:` to all that run and all libraries, `uprobe:ba` to those
/// that begin so, a word alone to programs that run.
#[must_use]
pub fn leads(typed: &str, kernel: &Kernel, running: &[Process]) -> Vec<Lead> {
    let (provider, word) = match taken_apart(typed) {
        Some(t) if t.place.is_some() || t.binary.contains(['/', '*']) => return Vec::new(),
        Some(t) => (Some(t.provider), t.binary),
        None if typed.contains([':', '*']) || typed.trim().len() < SHORTEST => return Vec::new(),
        None => (None, typed.trim()),
    };
    let shown = provider.unwrap_or("uprobe");
    let mut found: Vec<Lead> = running
        .iter()
        .filter(|p| p.comm.starts_with(word) || p.file_name().starts_with(word))
        .map(|p| Lead {
            name: format!("{shown}:{}:", p.program.display()),
            about: told(p),
            exact: provider.is_some() || p.is_called(word),
        })
        .collect();
    found.sort_by_key(|lead| !lead.exact);
    // Several names of one program's processes lead to the same.
    let mut seen = std::collections::HashSet::new();
    found.retain(|lead| seen.insert(lead.name.clone()));
    if provider.is_some() {
        found.extend(libraries(shown, word, kernel));
    }
    if provider == Some("usdt") {
        found.retain(|lead| has_static_probes(&lead.name, kernel));
    }
    found.truncate(MOST);
    found
}

/// Whether the binary of a lead has a probe that its authors put there; what can't be read has none.
fn has_static_probes(name: &str, kernel: &Kernel) -> bool {
    let binary = name.split(':').nth(1).unwrap_or_default();
    let found = find(&Glob::new(binary), kernel, None).unwrap_or_default();
    found.into_iter().next().is_some_and(|file| usdt::is_in(&file.open))
}

fn told(process: &Process) -> String {
    let pids: Vec<String> = process.pids.iter().take(MOST_PIDS).map(u32::to_string).collect();
    let more = process.pids.len().saturating_sub(MOST_PIDS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{} runs as {}{more}.", process.comm, pids.join(", "))
}

fn libraries(provider: &str, word: &str, kernel: &Kernel) -> Vec<Lead> {
    let cache = kernel.libraries(Path::new(crate::binary::cache::PATH));
    let stem = |name: &str| name.split_once(".so").map_or(name, |(stem, _)| stem).to_owned();
    let mut stems: Vec<String> = cache.names().map(stem).filter(|stem| stem.starts_with(word)).collect();
    stems.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    stems.dedup();
    let lead = |stem: String| {
        let path = cache.find(&stem)?;
        Some(Lead {
            name: format!("{provider}:{stem}:"),
            about: format!("The library {}.", path.display()),
            exact: true,
        })
    };
    stems.into_iter().filter_map(lead).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Roots;

    fn process(comm: &str, program: &str, pids: &[u32]) -> Process {
        Process { comm: comm.into(), program: program.into(), pids: pids.to_vec() }
    }

    #[test]
    fn what_runs_is_led_to_by_its_name() {
        let kernel = Kernel::new(Roots::fixture("/nonexistent"));
        let running = [
            process("bash", "/usr/bin/bash", &[1, 2, 3, 4, 5, 6, 7]),
            process("worker", "/usr/bin/bash", &[8]),
            process("bashful", "/opt/bashful", &[9]),
        ];
        // Libraries, which are known by name alone, are those of the machine.
        let names = |typed: &str| {
            let found = leads(typed, &kernel, &running).into_iter().map(|l| l.name);
            found.filter(|name| name.contains('/')).collect::<Vec<_>>()
        };
        assert_eq!(names("bashful"), ["uprobe:/opt/bashful:"]);
        assert_eq!(names("bash"), ["uprobe:/usr/bin/bash:", "uprobe:/opt/bashful:"]);
        assert_eq!(names("usdt:bas"), [""; 0], "neither has a static probe");
        assert_eq!(names("uprobe:").len(), 2, "each program once");
        assert!(names("ba").is_empty() && names("uprobe:bash:re").is_empty() && names("kprobe:bash").is_empty());
        let told = &leads("bash", &kernel, &running)[0];
        assert_eq!((&*told.about, told.exact), ("bash runs as 1, 2, 3, 4, 5, 6 and 1 more.", true));
    }
}
