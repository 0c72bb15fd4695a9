//! Processes in procfs. One whose first thread has ended goes on as long as another one lives; `/proc/PID` then tells
//! nothing of its memory, files and program, but the folders of its threads do.

use std::path::{Path, PathBuf};

/// What is left of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// It runs, its first thread, too.
    All,
    /// Its first thread has ended; the folder of one that runs.
    Others(PathBuf),
    /// Nothing: it is gone, or nobody has asked for its exit code yet.
    Nothing,
}

/// What is left of a process, by procfs's mount point.
#[must_use]
pub fn left(proc: &Path, pid: u32) -> Left {
    let folder = proc.join(pid.to_string());
    let has_ended = |folder: &Path| std::fs::read(folder.join("stat")).map_or(true, |stat| has_ended(&stat));
    if !folder.exists() {
        return Left::Nothing;
    }
    if !has_ended(&folder) {
        return Left::All;
    }
    let threads = std::fs::read_dir(folder.join("task")).into_iter().flatten().flatten().map(|entry| entry.path());
    threads.into_iter().find(|thread| !has_ended(thread)).map_or(Left::Nothing, Left::Others)
}

/// The folder that tells of a process's memory, files and program: its own, or that of a thread that is left.
#[must_use]
pub fn folder(proc: &Path, pid: u32) -> PathBuf {
    match left(proc, pid) {
        Left::Others(thread) => thread,
        Left::All | Left::Nothing => proc.join(pid.to_string()),
    }
}

/// Whether a `/proc/PID/stat` is of a thread that has ended. Its name stands in brackets and may hold any character.
fn has_ended(stat: &[u8]) -> bool {
    let state = stat.iter().rposition(|b| *b == b')').and_then(|at| stat.get(at + 2));
    matches!(state, Some(b'Z' | b'X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_process_is_told_by_its_threads() {
        let root = std::env::temp_dir().join(format!("probescope-process-{}", std::process::id()));
        let write = |path: &str, state: char| {
            let path = root.join(path);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("stat"), format!("7 (a) Z) {state} 1 7")).unwrap();
        };
        write("7", 'S');
        for (pid, thread) in [("8", 'S'), ("9", 'Z')] {
            write(pid, 'Z');
            write(&format!("{pid}/task/{pid}"), 'Z');
            write(&format!("{pid}/task/10"), thread);
        }
        let found = [7, 8, 9, 6].map(|pid| left(&root, pid));
        let folder = folder(&root, 8);
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(found, [Left::All, Left::Others(root.join("8/task/10")), Left::Nothing, Left::Nothing]);
        assert_eq!(folder, root.join("8/task/10"));
    }
}
