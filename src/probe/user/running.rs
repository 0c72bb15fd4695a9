//! Which programs run.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::kernel::Kernel;

/// How long a list is believed.
const FRESH: Duration = Duration::from_secs(2);
/// Most processes that are looked at.
const MOST: usize = 32_768;

/// A program that runs, with its processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// What its processes are called.
    pub comm: String,
    /// Its file.
    pub program: PathBuf,
    /// Its processes of this name, ascending.
    pub pids: Vec<u32>,
}

impl Process {
    /// Whether it is known by this name: its processes', or its file's.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.comm == name || self.file_name() == name
    }

    /// The last part of its file's path.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.program.file_name().and_then(|n| n.to_str()).unwrap_or("")
    }
}

/// The programs that run, read anew when it is asked for after a while.
#[derive(Debug, Default)]
pub struct Running {
    read: Option<Instant>,
    programs: Vec<Process>,
}

impl Running {
    /// What runs now, by name. Threads of the kernel have no file and are left out.
    pub fn programs(&mut self, kernel: &Kernel) -> &[Process] {
        if self.read.is_none_or(|read| read.elapsed() > FRESH) {
            self.programs = read(kernel);
            self.read = Some(Instant::now());
        }
        &self.programs
    }
}

fn read(kernel: &Kernel) -> Vec<Process> {
    let proc = &kernel.roots().proc;
    let entries = std::fs::read_dir(proc).into_iter().flatten().flatten().take(MOST);
    let mut found: Vec<(String, PathBuf, u32)> = entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse::<u32>().ok()?;
            let program = std::fs::read_link(entry.path().join("exe")).ok()?;
            let comm = kernel.proc_text(format!("{pid}/comm"))?;
            // A file that was replaced under a running program can't be opened by its name.
            (!program.to_string_lossy().ends_with(" (deleted)")).then(|| (comm.trim().to_owned(), program, pid))
        })
        .collect();
    found.sort();
    let mut programs: Vec<Process> = Vec::new();
    for (comm, program, pid) in found {
        match programs.last_mut() {
            Some(last) if last.comm == comm && last.program == program => last.pids.push(pid),
            _ => programs.push(Process { comm, program, pids: vec![pid] }),
        }
    }
    programs
}
