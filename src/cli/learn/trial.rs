//! A student's script is run: a child process of this program, bounded in time and in what it prints.

use std::fs::DirBuilder;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use crate::cli::{CliError, World};
use crate::disk::{self, Readers};
use crate::learn::{self, Evidence, Form, Lesson, Truth};
use crate::regular;

/// Most of what a script prints, and of what is said about it, in bytes.
const MOST_OUTPUT: usize = 32 << 20;
const MOST_MESSAGES: usize = 64 << 10;
/// Longest truth of a load.
const LONGEST_TRUTH: u64 = 64 << 10;
/// A script that was told to end has this long before it is killed.
const GRACE: Duration = Duration::from_secs(3);

/// A script of a lesson that is to be run.
pub(super) struct Trial<'a> {
    pub lesson: &'a Lesson,
    /// The script, by its whole path.
    pub file: &'a Path,
    pub seed: u64,
    pub world: &'a World,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Ran {
    pub end: End,
    pub evidence: Evidence,
    pub truth: Truth,
    /// What the program said of the script, as text.
    pub messages: String,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// In order.
    Ended,
    /// The script was not run: it has mistakes, or the kernel refused it.
    Refused,
    /// It took too long.
    TooLong,
    /// It printed too much.
    TooMuch,
    /// The load has not said what it did.
    NoTruth,
}

/// A folder of this process alone, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(world: &World) -> Result<Self, CliError> {
        let root = world.variable("TMPDIR").filter(|v| v.starts_with('/')).unwrap_or("/tmp");
        let mut last = std::io::ErrorKind::AlreadyExists.into();
        for number in 0..100 {
            let path = Path::new(root).join(format!("probescope-learn-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(e) => last = e,
            }
        }
        Err(CliError::write(Path::new(root), last))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is small and private.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Trial<'_> {
    /// Runs it on the kernel, with the load.
    pub fn live(&self) -> Result<Ran, CliError> {
        let folder = Folder::new(self.world)?;
        // The program that is traced is this one, whatever its path has in it.
        let load = format!(
            "/proc/self/exe load {} --json --seed {} --duration {} --to truth.json",
            self.lesson.load, self.seed, self.lesson.limit_s
        );
        let mut command = self.command(&folder);
        command.args(["run", "-q", "-f", "json", "-c", &load]).arg(self.file);
        if self.lesson.form == Form::Bt {
            // D refuses what a program does not use.
            command.arg(own_path());
        }
        let (end, output, messages) = self.collected(command)?;
        let truth = regular::text(&folder.0.join("truth.json"), LONGEST_TRUTH).ok();
        Ok(ran(end, &output, messages, truth.as_deref().and_then(Truth::parse)))
    }

    /// Runs it on the lesson's recording.
    pub fn on_recording(&self) -> Result<Ran, CliError> {
        let name = self.lesson.recording.as_deref().unwrap_or("");
        let recorded = learn::recording(name).ok_or_else(|| {
            CliError::Refused(format!("there is no recording `{}`", crate::model::render::neutralise(name)))
        })?;
        let folder = Folder::new(self.world)?;
        let path = folder.0.join("recording.psrec");
        disk::write(&path, recorded.bytes, Readers::Owner).map_err(|e| CliError::write(&path, e))?;
        let mut command = self.command(&folder);
        command.args(["replay", "-q", "-f", "json", "recording.psrec", "--script"]).arg(self.file).arg(RECORDED_PATH);
        let (end, output, messages) = self.collected(command)?;
        Ok(ran(end, &output, messages, Truth::parse(recorded.truth)))
    }

    fn command(&self, folder: &Folder) -> Command {
        let mut command = Command::new("/proc/self/exe");
        command.current_dir(&folder.0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end, or to its limit.
    fn collected(&self, mut command: Command) -> Result<(End, Vec<u8>, Vec<u8>), CliError> {
        let failed = |e: std::io::Error| CliError::Refused(format!("cannot run the script: {e}"));
        let mut child = command.spawn().map_err(failed)?;
        let (Some(mut output), Some(mut messages)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(CliError::Refused("cannot read what the script prints".to_owned()));
        };
        let mut reader = Reader { output: Some(&mut output), messages: Some(&mut messages), ..Reader::default() };
        let until = Instant::now() + Duration::from_secs(u64::from(self.lesson.limit_s));
        let stopped = reader.read_until(until).map_err(failed)?;
        if stopped.is_some() {
            signal(&child, Signal::TERM);
            reader.given_up = true;
            if reader.read_until(Instant::now() + GRACE).map_err(failed)? == Some(End::TooLong) {
                signal(&child, Signal::KILL);
            }
        }
        let (printed, said) = (reader.printed, reader.said);
        let status = child.wait().map_err(failed)?;
        let end =
            stopped.unwrap_or(if status.code() == Some(1) && printed.is_empty() { End::Refused } else { End::Ended });
        Ok((end, printed, said))
    }
}

/// The path of the traced program in the recordings.
pub(super) const RECORDED_PATH: &str = "/usr/bin/probescope";

/// This program's own path, which scripts get as `$1`.
fn own_path() -> PathBuf {
    std::fs::read_link("/proc/self/exe").unwrap_or_else(|_| PathBuf::from("/proc/self/exe"))
}

fn ran(end: End, output: &[u8], messages: Vec<u8>, truth: Option<Truth>) -> Ran {
    let evidence = Evidence::parse(&String::from_utf8_lossy(output));
    let messages = String::from_utf8_lossy(&messages).into_owned();
    let end = if end == End::Ended && truth.is_none() { End::NoTruth } else { end };
    Ran { end, evidence, truth: truth.unwrap_or_default(), messages }
}

fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended.
        let _ = kill_process(pid, signal);
    }
}

/// Reads both streams of a child, each to its bound.
#[derive(Default)]
struct Reader<'a> {
    output: Option<&'a mut dyn ReadFd>,
    messages: Option<&'a mut dyn ReadFd>,
    printed: Vec<u8>,
    said: Vec<u8>,
    /// What is printed from now on is not kept.
    given_up: bool,
}

trait ReadFd: Read + AsFd {}
impl<T: Read + AsFd> ReadFd for T {}

impl Reader<'_> {
    /// Reads until both streams end (none), or something is over its bound.
    fn read_until(&mut self, until: Instant) -> std::io::Result<Option<End>> {
        loop {
            let open: Vec<BorrowedFd<'_>> =
                [self.output.as_ref(), self.messages.as_ref()].into_iter().flatten().map(|s| s.as_fd()).collect();
            if open.is_empty() {
                return Ok(None);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Some(End::TooLong));
            }
            let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(left.as_nanos().min(200_000_000) as u32) };
            let mut asked: Vec<PollFd<'_>> =
                open.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
            match poll(&mut asked, Some(&wait)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(e) => return Err(e.into()),
            }
            let mut ready = asked.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>().into_iter();
            let first = self.output.is_some() && ready.next().unwrap_or(false);
            let second = self.messages.is_some() && ready.next().unwrap_or(false);
            let keeps = !self.given_up;
            if first {
                take(&mut self.output, &mut self.printed, if keeps { MOST_OUTPUT + 1 } else { 0 })?;
            }
            if second {
                take(&mut self.messages, &mut self.said, MOST_MESSAGES)?;
            }
            if keeps && self.printed.len() > MOST_OUTPUT {
                return Ok(Some(End::TooMuch));
            }
        }
    }
}

/// Reads what is there; an ended stream is closed. What is beyond the bound is read and forgotten.
fn take(stream: &mut Option<&mut dyn ReadFd>, into: &mut Vec<u8>, most: usize) -> std::io::Result<()> {
    let Some(open) = stream else { return Ok(()) };
    let mut buffer = [0; 16 << 10];
    match open.read(&mut buffer) {
        Ok(0) => *stream = None,
        Ok(n) => into.extend_from_slice(&buffer[..n.min(most.saturating_sub(into.len()))]),
        Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
        Err(e) => return Err(e),
    }
    Ok(())
}
