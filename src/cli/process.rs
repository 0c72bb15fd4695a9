//! A process as people name it: by its number, or by its name.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::model::render::neutralise;

/// A process that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    pid: u32,
    /// Its name and arguments.
    line: String,
}

/// How many candidates are named where there are several.
const NAMED: usize = 10;

/// The process that `word` names: a number, or a name that one process alone has.
///
/// # Errors
/// No process has that name, or several have: these are listed.
pub fn process(word: &str) -> Result<u32, String> {
    if let Ok(pid) = word.parse::<u32>() {
        return Ok(pid);
    }
    if word.chars().all(|c| c.is_ascii_digit() || c == '-' || c == '+') {
        return Err("the number of a process is wanted, or its name".to_owned());
    }
    named(word, Path::new("/proc"), std::process::id())
}

fn named(word: &str, proc: &Path, own: u32) -> Result<u32, String> {
    let mut found = candidates(word, proc);
    found.retain(|candidate| candidate.pid != own);
    match found.as_slice() {
        [] => Err(format!("no process is named `{}`", neutralise(word))),
        [one] => Ok(one.pid),
        several => Err(choice(word, several)),
    }
}

fn choice(word: &str, several: &[Candidate]) -> String {
    let mut text = format!("{} processes are named `{}`; give the number of one:", several.len(), neutralise(word));
    for candidate in several.iter().take(NAMED) {
        let _ = write!(text, "\n  {:>7} {}", candidate.pid, neutralise(&candidate.line));
    }
    if several.len() > NAMED {
        let _ = write!(text, "\n  … and {} more", several.len() - NAMED);
    }
    text
}

/// Processes whose name is `word`: what the kernel has as their name, or the file's name of their first argument.
fn candidates(word: &str, proc: &Path) -> Vec<Candidate> {
    let Ok(entries) = fs::read_dir(proc) else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<Candidate> = pids
        .filter_map(|pid| {
            let folder = proc.join(pid.to_string());
            let comm = text(&folder.join("comm"), 64)?;
            let comm = comm.trim_end_matches('\n');
            let arguments = text(&folder.join("cmdline"), 4096).unwrap_or_default();
            let first = arguments.split('\0').next().unwrap_or_default();
            let file = first.rsplit('/').next().unwrap_or_default();
            // The kernel keeps fifteen bytes of a name.
            let is_cut = word.len() > 15 && word.get(..15) == Some(comm) && file == word;
            let fits = comm == word || file == word || is_cut;
            let line = arguments.trim_end_matches('\0').replace('\0', " ");
            let line = if line.is_empty() { format!("[{comm}]") } else { line };
            fits.then(|| Candidate { pid, line: line.chars().take(100).collect() })
        })
        .collect();
    found.sort_by_key(|candidate| candidate.pid);
    found
}

/// The first bytes of a small file as text.
fn text(path: &Path, most: u64) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proc(processes: &[(u32, &str, &str)]) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("probescope-proc-{}-{}", std::process::id(), processes.len()));
        for (pid, comm, cmdline) in processes {
            let own = folder.join(pid.to_string());
            fs::create_dir_all(&own).unwrap();
            fs::write(own.join("comm"), format!("{comm}\n")).unwrap();
            fs::write(own.join("cmdline"), cmdline.replace(' ', "\0")).unwrap();
        }
        folder
    }

    #[test]
    fn a_name_that_one_process_has_is_its_number() {
        let folder = proc(&[
            (12, "nginx", "/usr/sbin/nginx -g x"),
            (13, "python3", "python3 /srv/app.py"),
            (14, "kthreadd", ""),
        ]);
        assert_eq!(named("nginx", &folder, 1), Ok(12));
        assert_eq!(named("kthreadd", &folder, 1), Ok(14));
        assert_eq!(named("apache", &folder, 1), Err("no process is named `apache`".to_owned()));
        assert_eq!(named("nginx", &folder, 12), Err("no process is named `nginx`".to_owned()), "it is the caller");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn several_are_listed_and_their_names_are_not_obeyed() {
        let folder = proc(&[(20, "sh", "sh -c \u{1b}[31mred"), (21, "sh", "/bin/sh"), (22, "x", "x"), (23, "y", "y")]);
        let error = named("sh", &folder, 1).unwrap_err();
        assert!(error.starts_with("2 processes are named `sh`; give the number of one:\n       20 sh -c "), "{error}");
        assert!(!error.contains('\u{1b}') && error.ends_with("\n       21 /bin/sh"), "{error}");
        fs::remove_dir_all(folder).unwrap();
        assert_eq!(process("-5"), Err("the number of a process is wanted, or its name".to_owned()));
        assert_eq!(process("77"), Ok(77));
    }
}
