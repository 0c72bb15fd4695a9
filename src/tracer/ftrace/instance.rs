//! A place of the kernel's own tracing that is ours: an instance, or where the kernel demands it the top one. What is
//! changed goes through the guard, which takes it back at the end or, after `kill -9`, at the next start.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::define::Definition;
use super::{FtraceError, full_name, refusal};
use crate::disk;
use crate::kernel::Kernel;
use crate::kernel::guard::{Guard, JOURNALS};
use crate::kernel::tracefs::EventName;

/// Names of our instances begin so.
pub const PREFIX: &str = "probescope-";
/// Of all CPUs' rings together, at most, KiB.
const MOST_KB: u64 = 256 << 10;
/// A CPU's ring has so much at least, KiB.
const LEAST_KB: u64 = 64;

/// Where tracing is set up.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    tracefs: PathBuf,
    own: bool,
    guard: Guard,
}

fn failed(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FtraceError {
    let path = path.display().to_string();
    move |source| FtraceError::File { operation, path, source }
}

impl Instance {
    /// Makes one, with events that are defined for it: they go after it, as it keeps them busy.
    ///
    /// # Errors
    /// When tracefs is not there, may not be written, or the kernel has no instances, or refuses a definition.
    pub fn make(kernel: &Kernel, definitions: &[Definition]) -> Result<Self, FtraceError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let tracefs = kernel.tracefs()?;
        let mut guard = Guard::new(Path::new(JOURNALS)).map_err(failed("record settings in", Path::new(JOURNALS)))?;
        define(&mut guard, &tracefs, definitions)?;
        let name = format!("{PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = tracefs.join("instances").join(name);
        guard.make_folder(&folder).map_err(failed("make", &folder))?;
        Ok(Self { folder, tracefs, own: true, guard })
    }

    /// Takes the top one, where nobody uses it.
    ///
    /// # Errors
    /// When somebody does, told with what.
    pub fn top(kernel: &Kernel, definitions: &[Definition]) -> Result<Self, FtraceError> {
        let tracefs = kernel.tracefs()?;
        if let Some(user) = users_of_top(&tracefs) {
            return Err(FtraceError::TopInUse(user));
        }
        let mut guard = Guard::new(Path::new(JOURNALS)).map_err(failed("record settings in", Path::new(JOURNALS)))?;
        define(&mut guard, &tracefs, definitions)?;
        Ok(Self { folder: tracefs.clone(), tracefs, own: false, guard })
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The top folder of tracefs.
    #[must_use]
    pub fn tracefs(&self) -> &Path {
        &self.tracefs
    }

    /// Whether it is an instance of its own.
    #[must_use]
    pub const fn is_own(&self) -> bool {
        self.own
    }

    /// Whether it has such a file.
    #[must_use]
    pub fn has(&self, file: &str) -> bool {
        self.folder.join(file).exists()
    }

    /// Writes a setting of it.
    ///
    /// # Errors
    /// When the kernel does not take it.
    pub fn set(&mut self, file: impl AsRef<Path>, value: &str) -> Result<(), FtraceError> {
        let path = self.folder.join(file);
        // An instance goes as a whole.
        let set = if self.own { disk::set(&path, value) } else { self.guard.set(&path, value) };
        set.map_err(failed("write", &path))
    }

    /// As [`Instance::set`], where it has such a file.
    ///
    /// # Errors
    /// When the kernel does not take it.
    pub fn set_if_there(&mut self, file: &str, value: &str) -> Result<(), FtraceError> {
        if self.has(file) { self.set(file, value) } else { Ok(()) }
    }

    /// Writes a setting that the whole kernel shares, and that nobody has changed.
    ///
    /// # Errors
    /// When somebody has, or the kernel does not take it.
    pub fn set_shared(&mut self, file: &str, value: &str) -> Result<(), FtraceError> {
        let path = self.tracefs.join(file);
        let now = fs::read_to_string(&path).map_err(failed("read", &path))?;
        let (now, unset) = (now.trim(), ["", "0"]);
        if !now.starts_with('#') && !unset.contains(&now) {
            let first = now.lines().next().unwrap_or("");
            return Err(FtraceError::TopInUse(format!("{file} is set to {first}, for the whole kernel")));
        }
        self.guard.set(&path, value).map_err(failed("write", &path))
    }

    /// Writes something that people wrote: what the kernel says against it is shown.
    ///
    /// # Errors
    /// With the kernel's words and column.
    pub fn ask(&mut self, file: impl AsRef<Path>, text: &str, what: impl Into<String>) -> Result<(), FtraceError> {
        let path = self.folder.join(file);
        let set = if self.own { disk::set(&path, text) } else { self.guard.set(&path, text) };
        set.map_err(|source| refusal::of(&self.folder, what.into(), text, source).into())
    }

    /// Sets an event's filter.
    ///
    /// # Errors
    /// With the kernel's words and column.
    pub fn filter(&mut self, name: &EventName, filter: &str, what: impl Into<String>) -> Result<(), FtraceError> {
        let file = event_file(name, "filter");
        if self.own {
            return self.ask(file, filter, what);
        }
        // What reads as `none` is written as 0.
        let path = self.folder.join(file);
        self.guard.add_line(&path, filter, "0").map_err(|e| refusal::of(&self.folder, what.into(), filter, e).into())
    }

    /// Adds a trigger to an event of it.
    ///
    /// # Errors
    /// With the kernel's words and column.
    pub fn add_trigger(&mut self, name: &EventName, trigger: &str) -> Result<(), FtraceError> {
        let path = self.folder.join(event_file(name, "trigger"));
        let undo = format!("!{trigger}");
        self.guard.add_line(&path, trigger, &undo).map_err(|source| {
            let what = format!("the trigger of {}:{}", name.0, name.1);
            refusal::of(&self.folder, what, trigger, source).into()
        })
    }

    /// Gives each CPU a ring of so many KiB, or less where there are many CPUs, and sets its clock to `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// When the kernel has no memory for it, or no such clock.
    pub fn prepare(&mut self, kb: u64, cpus: u64) -> Result<(), FtraceError> {
        self.turn_off()?;
        self.set("trace_clock", "mono")?;
        let each = kb.min(MOST_KB / cpus.max(1)).max(LEAST_KB);
        self.set("buffer_size_kb", &each.to_string())?;
        self.leave_out_own_threads()
    }

    /// Nothing is written from here on. The top one stays on: what others write to it would be refused.
    ///
    /// # Errors
    /// When the kernel does not take it.
    pub fn turn_off(&mut self) -> Result<(), FtraceError> {
        if self.own { self.set("tracing_on", "0") } else { Ok(()) }
    }

    /// Our own threads are in no event of it.
    ///
    /// # Errors
    /// When the kernel does not take them.
    pub fn leave_out_own_threads(&mut self) -> Result<(), FtraceError> {
        let threads = own_threads().join(" ");
        self.set_if_there("set_event_notrace_pid", &threads)
    }

    /// The same for functions.
    ///
    /// # Errors
    /// When the kernel does not take them.
    pub fn leave_out_own_functions(&mut self) -> Result<(), FtraceError> {
        self.set_if_there("set_ftrace_notrace_pid", &own_threads().join(" "))
    }

    /// Only these threads, and what they start from now on.
    ///
    /// # Errors
    /// When the kernel does not take them.
    pub fn only(&mut self, pids: &[u32], functions: bool) -> Result<(), FtraceError> {
        let mut threads = Vec::new();
        for pid in pids {
            let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let before = threads.len();
            threads.extend(tasks.filter_map(|task| task.file_name().into_string().ok()));
            if threads.len() == before {
                return Err(FtraceError::Options(format!("there is no process {pid}")));
            }
        }
        let list = threads.join(" ");
        self.set_if_there("options/event-fork", "1")?;
        self.set("set_event_pid", &list)?;
        if functions {
            self.set_if_there("options/function-fork", "1")?;
            self.set_if_there("set_ftrace_pid", &list)?;
        }
        Ok(())
    }

    /// Removes the instance, or restores the top one. Gives what could not be.
    pub fn end(mut self) -> Vec<String> {
        self.guard.restore()
    }
}

/// Defines events for the whole kernel, until the end.
fn define(guard: &mut Guard, tracefs: &Path, definitions: &[Definition]) -> Result<(), FtraceError> {
    let path = tracefs.join("dynamic_events");
    for Definition { line, name } in definitions {
        let undo = format!("-:{}/{}", name.0, name.1);
        guard.add_line(&path, line, &undo).map_err(|source| refusal::of(tracefs, full_name(name), line, source))?;
    }
    Ok(())
}

/// A file of an event, from the instance's folder.
#[must_use]
pub fn event_file(name: &EventName, file: &str) -> PathBuf {
    Path::new("events").join(&*name.0).join(&*name.1).join(file)
}

fn own_threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().into_string().ok()).collect()
}

/// What somebody does with the top instance; nothing where it is as after the boot.
fn users_of_top(tracefs: &Path) -> Option<String> {
    let text = |file: &str| fs::read_to_string(tracefs.join(file)).unwrap_or_default().trim().to_owned();
    let tracer = text("current_tracer");
    if tracer != "nop" {
        return Some(format!("the tracer {tracer} runs there"));
    }
    let events = text("set_event");
    if let Some(first) = events.lines().next() {
        return Some(format!("events are on there ({first} and {} more)", events.lines().count() - 1));
    }
    let filter = text("set_ftrace_filter");
    let functions = filter.lines().filter(|line| !line.starts_with('#')).count();
    (functions > 0).then(|| format!("a function filter of {functions} lines is set there"))
}
