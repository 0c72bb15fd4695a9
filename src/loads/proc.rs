//! What the kernel counts of this process: the load's own witness.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use super::LoadError;

/// Reads a file of `/proc`.
pub fn read(path: &str) -> Result<String, LoadError> {
    fs::read_to_string(path).map_err(LoadError::at("read", path))
}

/// The number of the calling thread.
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
}

/// Nanoseconds on a CPU, nanoseconds in its queue and times that it got one, of a thread of this process.
pub fn schedstat(thread: u32) -> Result<[u64; 3], LoadError> {
    let text = read(&format!("/proc/self/task/{thread}/schedstat"))?;
    let mut numbers = text.split_whitespace().map(|n| n.parse().unwrap_or(0));
    Ok([(); 3].map(|()| numbers.next().unwrap_or(0)))
}

/// How often a thread of this process left its CPU of its own will, and how often against it.
pub fn switches(thread: u32) -> Result<(u64, u64), LoadError> {
    let text = read(&format!("/proc/self/task/{thread}/status"))?;
    Ok((named(&text, "voluntary_ctxt_switches:"), named(&text, "nonvoluntary_ctxt_switches:")))
}

/// The state of a thread of this process, as one letter; none for one that is gone.
pub fn state(thread: u32) -> Option<char> {
    stat(&format!("/proc/self/task/{thread}/stat"))?.first()?.chars().next()
}

/// Minor and major page faults of this process.
pub fn faults() -> Result<(u64, u64), LoadError> {
    let fields = stat("/proc/self/stat").unwrap_or_default();
    let number = |place: usize| fields.get(place).and_then(|f| f.parse().ok()).unwrap_or(0);
    Ok((number(7), number(9)))
}

/// Fields behind the name, which may hold blanks and brackets.
fn stat(path: &str) -> Option<Vec<String>> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// The number behind a word.
pub fn named(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// `/proc/self/io`, read by one call each time.
#[derive(Debug)]
pub struct Io(File);

impl Io {
    /// Opens it.
    pub fn open() -> Result<Self, LoadError> {
        File::open("/proc/self/io").map(Self).map_err(LoadError::at("open", "/proc/self/io"))
    }

    /// Calls that read and that wrote, with one read for each earlier use of this.
    pub fn calls(&self) -> Result<(u64, u64), LoadError> {
        let mut bytes = [0; 512];
        let length = self.0.read_at(&mut bytes, 0).map_err(LoadError::at("read", "/proc/self/io"))?;
        let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
        Ok((named(&text, "syscr:"), named(&text, "syscw:")))
    }
}

/// The sum of all CPUs' numbers of a row of `/proc/interrupts`.
pub fn interrupts(row: &str) -> u64 {
    let text = fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(row)?.strip_prefix(':'));
    line.map_or(0, |rest| rest.split_whitespace().map_while(|n| n.parse::<u64>().ok()).sum())
}

/// CPUs that this process may use, lowest first.
pub fn cpus() -> Vec<usize> {
    let set = rustix::thread::sched_getaffinity(None).unwrap_or_default();
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

/// Keeps the calling thread on one CPU.
pub fn pin(cpu: usize) -> Result<(), LoadError> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    let error = LoadError::at("keep this thread on CPU", cpu);
    rustix::thread::sched_setaffinity(None, &set).map_err(|e| error(e.into()))
}
