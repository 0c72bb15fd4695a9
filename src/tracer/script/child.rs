//! The command of `-c`: started, held back until everything is attached, then let go.
//!
//! The child is forked at once, so that its process id is known to the compiler, and waits on a
//! pipe between fork and exec. It never outlives this process: held back, it ends when the pipe is
//! closed; let go, the kernel ends it by `SIGTERM` (`PR_SET_PDEATHSIG`), even after `kill -9`.
#![allow(unsafe_code)]

use std::ffi::OsString;
use std::fs::File;

use crate::thread::{self, Rights};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::pipe::{PipeFlags, pipe_with};

use crate::model::bytes::bytes_of;

/// Why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// Nothing to run.
    #[error("the command is empty")]
    Empty,
    /// A quote is not closed.
    #[error("the command has an unclosed quote: {0}")]
    Quote(String),
    /// fork, exec or a pipe failed.
    #[error("cannot run {command}: {source}")]
    Run {
        /// The program.
        command: String,
        /// Why.
        source: io::Error,
    },
}

/// A command that waits to be let go.
#[derive(Debug)]
pub struct Held {
    name: String,
    program: PathBuf,
    pid: u32,
    go: File,
    spawned: Receiver<io::Result<Child>>,
    bond: Sender<()>,
    /// Who wants to know how it ends.
    statuses: Option<Sender<ExitStatus>>,
}

/// What a command writes, where it may not write to the outputs of this process.
#[derive(Debug)]
pub struct Captured {
    /// The reading end of its standard output.
    pub output: OwnedFd,
    /// The same of its standard error.
    pub errors: OwnedFd,
    /// How it ends, once it has; closed without one when it was never let go.
    pub ended: Receiver<ExitStatus>,
}

impl Held {
    /// Forks; the child waits before its exec. The command line is split at blanks; quotes keep
    /// blanks and backslashes take the next character as it is.
    pub fn start(command: &str) -> Result<Self, ChildError> {
        Self::start_words(&words(command)?)
    }

    /// As [`Held::start`], with nothing to read from and with its outputs captured.
    ///
    /// # Errors
    /// As [`Held::start`].
    pub fn start_captured(command: &str) -> Result<(Self, Captured), ChildError> {
        let words = words(command)?;
        let pipe = || {
            let failed = |e: rustix::io::Errno| ChildError::Run { command: command.to_owned(), source: e.into() };
            pipe_with(PipeFlags::CLOEXEC).map_err(failed)
        };
        let ((output, out), (errors, err)) = (pipe()?, pipe()?);
        let mut held = Self::start_with(&words, |child| {
            child.stdin(Stdio::null()).stdout(Stdio::from(out)).stderr(Stdio::from(err));
        })?;
        let (statuses, ended) = channel();
        held.statuses = Some(statuses);
        Ok((held, Captured { output, errors, ended }))
    }

    /// As [`Held::start`], of words that are split already: the program and its arguments.
    pub fn start_words(words: &[String]) -> Result<Self, ChildError> {
        Self::start_with(words, |_| {})
    }

    fn start_with(words: &[String], prepare: impl FnOnce(&mut Command)) -> Result<Self, ChildError> {
        let (name, arguments) = words.split_first().ok_or(ChildError::Empty)?;
        let failed = |source| ChildError::Run { command: name.clone(), source };
        let (pid_in, pid_out) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
        let (go_in, go_out) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
        // Found before, so that there is one exec: tried in one folder after the other, each would be seen by scripts.
        let program = find(name).unwrap_or_else(|| PathBuf::from(os_of(name)));
        let mut child = Command::new(&program);
        child.arg0(os_of(name)).args(arguments.iter().map(|word| os_of(word)));
        prepare(&mut child);
        hold(&mut child, pid_out, go_in, go_out.as_raw_fd());
        let (result, spawned) = channel();
        let (bond, bound) = channel();
        // `spawn` returns only after the exec, so it waits in a thread of its own.
        // Without a name of its own: until its exec the child bears the name of this process.
        thread::spawn("", Rights::All, move || start_and_stay(child, &result, &bound)).map_err(failed)?;
        let mut pid = [0; 4];
        match File::from(pid_in).read_exact(&mut pid) {
            Ok(()) => {
                let (name, pid) = (name.clone(), u32::from_ne_bytes(pid));
                Ok(Self { name, program, pid, go: go_out.into(), spawned, bond, statuses: None })
            }
            Err(error) => {
                let source = match spawned.recv() {
                    Ok(Err(reason)) => reason,
                    _ => error,
                };
                Err(failed(source))
            }
        }
    }

    /// Its process id.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// The file that it will run.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        std::fs::canonicalize(&self.program).unwrap_or_else(|_| self.program.clone())
    }

    /// Lets it go on to its exec.
    pub fn release(mut self) -> Result<Running, ChildError> {
        let failed = |source| ChildError::Run { command: self.name.clone(), source };
        self.go.write_all(&[1]).map_err(failed)?;
        let child = match self.spawned.recv() {
            Ok(result) => result.map_err(failed)?,
            Err(_) => return Err(failed(io::Error::other("the starting thread failed"))),
        };
        Ok(Running { child, bond: self.bond, statuses: self.statuses })
    }
}

/// Starts the child and stays until its owner is gone: the kernel counts the thread that forked as
/// the parent, and would end the child together with it.
fn start_and_stay(mut command: Command, result: &Sender<io::Result<Child>>, bound: &Receiver<()>) {
    let spawned = command.spawn();
    // It holds the writing ends of what is captured, which would never end.
    drop(command);
    // The command has begun with all that the user has.
    Rights::Nothing.keep();
    match result.send(spawned) {
        Ok(()) => {
            let _ = bound.recv();
        }
        // Nobody wants it any more: it did not exec, and is only collected.
        Err(unwanted) => {
            if let Ok(mut child) = unwanted.0 {
                let _ = child.wait();
            }
        }
    }
}

/// Exit status of a child that was never let go; nobody sees it.
const NOT_WANTED: i32 = 125;

/// Makes the forked child tell its process id and wait for one byte. Without it (the other end was
/// closed) it does not exec.
fn hold(child: &mut Command, pid_out: OwnedFd, go_in: OwnedFd, go_out: i32) {
    let wait = move || {
        let pid = std::process::id().to_ne_bytes();
        rustix::io::write(&pid_out, &pid)?;
        // The fork copied the writing end, too: without closing it, the reading end never ends.
        // SAFETY: the copy in the child belongs to nobody there; close is async-signal-safe.
        unsafe { libc::close(go_out) };
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?;
        let mut byte = [0_u8; 1];
        loop {
            match rustix::io::read(&go_in, &mut byte) {
                Ok(1) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                // An error would be told to a parent that may be gone, which aborts with a message.
                // SAFETY: _exit is async-signal-safe, and nothing of the child is worth keeping.
                Ok(_) => unsafe { libc::_exit(NOT_WANTED) },
                Err(error) => return Err(error.into()),
            }
        }
    };
    // SAFETY: between fork and exec the closure only calls getpid, write, close, prctl, read and _exit,
    // which are async-signal-safe, and allocates nothing.
    unsafe { child.pre_exec(wait) };
}

/// The command after its exec.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Keeps the thread that forked it.
    #[allow(dead_code, reason = "only its being dropped matters")]
    bond: Sender<()>,
    statuses: Option<Sender<ExitStatus>>,
}

impl Running {
    /// Waits for its end.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        if let Some(statuses) = self.statuses.take() {
            let _ = statuses.send(status);
        }
        Ok(status)
    }

    /// Its status when it has ended.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Asks it to end (`SIGTERM`) and collects it.
    pub fn terminate(&mut self) {
        if let Ok(None) = self.child.try_wait()
            && let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32)
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }
}

/// The exit code that a shell would give for a status.
#[must_use]
pub fn shell_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// The program that a command line names, its first word.
///
/// # Errors
/// When the command is empty or has an unclosed quote.
pub fn program(command: &str) -> Result<String, ChildError> {
    words(command)?.into_iter().next().ok_or(ChildError::Empty)
}

/// The file that a command line runs, as a path.
#[must_use]
pub fn file(command: &str) -> Option<String> {
    let path = find(&program(command).ok()?)?;
    Some(std::fs::canonicalize(&path).unwrap_or(path).to_string_lossy().into_owned())
}

/// Where the shell would find a program: a path as it stands, a plain name in the folders of `PATH`.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    let name = os_of(name);
    let executable = |path: &PathBuf| path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(executable);
    }
    // The folders that the C library takes without a `PATH`.
    let folders = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&folders).map(|folder| folder.join(&name)).find(executable)
}

/// A word of a command line as the system takes it: bytes that are not UTF-8 are held in it as characters.
fn os_of(word: &str) -> OsString {
    OsString::from_vec(bytes_of(word).into_owned())
}

/// Splits a command line into words.
pub fn words(command: &str) -> Result<Vec<String>, ChildError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => {
                if let Some(next) = chars.next() {
                    word.get_or_insert_default().push(next);
                }
            }
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(ChildError::Quote(command.to_owned()));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command() {
        let split = |text| words(text).expect("closed quotes");
        assert_eq!(split("a  b\tc"), ["a", "b", "c"]);
        assert_eq!(split(r#"sh -c "echo 'x y'" a\ b ''"#), ["sh", "-c", "echo 'x y'", "a b", ""]);
        assert!(words("'open").is_err());
    }

    #[test]
    fn nothing_runs_before_the_release() {
        let folder = std::env::temp_dir().join(format!("probescope-child-{}", std::process::id()));
        let held = Held::start(&format!("touch {}", folder.display())).expect("forks");
        let status = std::fs::read_to_string(format!("/proc/{}/stat", held.pid())).expect("it is a process");
        assert!(!status.contains("(touch)"), "it waits before its exec: {status}");
        assert!(!folder.exists());
        let mut running = held.release().expect("runs");
        assert!(running.wait().expect("ends").success());
        assert!(folder.exists());
        std::fs::remove_file(folder).expect("was made");
    }

    #[test]
    fn outputs_of_a_captured_command_end_with_it() {
        let (held, captured) = Held::start_captured("sh -c 'echo out; echo err >&2; exit 3'").expect("forks");
        held.release().expect("runs").wait().expect("ends");
        let text = |end| io::read_to_string(File::from(end)).expect("text");
        assert_eq!((text(captured.output).as_str(), text(captured.errors).as_str()), ("out\n", "err\n"));
        assert_eq!(captured.ended.recv().expect("told").code(), Some(3));
    }

    #[test]
    fn a_command_that_is_not_there_is_told_at_the_release() {
        let held = Held::start("/nonexistent/program").expect("forks");
        assert!(held.release().is_err());
    }

    #[test]
    fn a_dropped_command_never_runs() {
        let file = std::env::temp_dir().join(format!("probescope-dropped-{}", std::process::id()));
        let held = Held::start(&format!("touch {}", file.display())).expect("forks");
        let Held { go, spawned, .. } = held;
        drop(go);
        let mut child = spawned.recv().expect("no panic").expect("its exec failed in no way that is told");
        assert_eq!(child.wait().expect("ends").code(), Some(NOT_WANTED));
        assert!(!file.exists());
    }

    #[test]
    fn a_running_command_ends_with_its_owner() {
        let held = Held::start("sleep 1000").expect("forks");
        let pid = held.pid();
        let Running { mut child, bond, .. } = held.release().expect("runs");
        drop(bond);
        assert_eq!(child.wait().expect("ends").signal(), Some(15), "process {pid}");
    }
}
