//! Names of threads: from what events tell of them, from `/proc`, and from what the kernel keeps for its traces.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A name from `/proc` holds for so long, ns: programs change it by exec.
const HOLDS_NS: u64 = 1_000_000_000;
/// The kernel's list is read again after so long at most, ns.
const AGAIN_NS: u64 = 100_000_000;
/// Names that are kept.
const MOST: usize = 100_000;

#[derive(Debug)]
struct Known {
    name: Arc<str>,
    /// Until when it is believed, by the clock of the events.
    until: u64,
}

/// Names by thread.
#[derive(Debug)]
pub struct Comms {
    /// None where there is no running kernel to ask.
    tracefs: Option<PathBuf>,
    names: HashMap<i32, Known>,
    read_again: u64,
    idle: Arc<str>,
    unknown: Arc<str>,
}

impl Comms {
    /// Names of the running kernel's threads.
    #[must_use]
    pub fn running(tracefs: &Path) -> Self {
        Self { tracefs: Some(tracefs.to_owned()), ..Self::listed("") }
    }

    /// Those of a list in the form of `saved_cmdlines`.
    #[must_use]
    pub fn listed(text: &str) -> Self {
        let mut comms = Self {
            tracefs: None,
            names: HashMap::new(),
            read_again: 0,
            idle: "<idle>".into(),
            unknown: "<...>".into(),
        };
        comms.take_list(text, u64::MAX);
        comms
    }

    fn take_list(&mut self, text: &str, until: u64) {
        for line in text.lines().take(MOST) {
            let Some((pid, name)) = line.trim_start().split_once(' ') else { continue };
            if let Ok(pid) = pid.parse() {
                self.names.entry(pid).or_insert_with(|| Known { name: name.into(), until });
            }
        }
    }

    /// What an event at a moment says of a thread's name.
    pub fn learn(&mut self, pid: i32, name: &[u8], now: u64) {
        if self.names.len() >= MOST {
            self.names.clear();
        }
        match self.names.get_mut(&pid) {
            Some(known) if known.name.as_bytes() == name => known.until = known.until.max(now + HOLDS_NS),
            _ => {
                let name = String::from_utf8_lossy(name).into();
                self.names.insert(pid, Known { name, until: now + HOLDS_NS });
            }
        }
    }

    /// A thread's name at about a moment.
    pub fn name(&mut self, pid: i32, now: u64) -> Arc<str> {
        if pid == 0 {
            return Arc::clone(&self.idle);
        }
        match self.names.get(&pid) {
            Some(known) if now <= known.until || self.tracefs.is_none() => return Arc::clone(&known.name),
            _ => {}
        }
        self.ask(pid, now);
        self.names.get(&pid).map_or_else(|| Arc::clone(&self.unknown), |known| Arc::clone(&known.name))
    }

    fn ask(&mut self, pid: i32, now: u64) {
        let Some(tracefs) = &self.tracefs else { return };
        if let Ok(name) = fs::read(format!("/proc/{pid}/comm")) {
            self.learn(pid, name.strip_suffix(b"\n").unwrap_or(&name), now);
        } else if let Some(known) = self.names.get_mut(&pid) {
            // It has ended: what it was called last stays.
            known.until = u64::MAX;
        } else if now >= self.read_again {
            self.read_again = now + AGAIN_NS;
            let list = fs::read_to_string(tracefs.join("saved_cmdlines")).unwrap_or_default();
            self.take_list(&list, u64::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_are_told() {
        let mut comms = Comms::listed("7 bash\n12 a b\nx y\n");
        assert_eq!((&*comms.name(7, 5), &*comms.name(12, 5), &*comms.name(8, 5)), ("bash", "a b", "<...>"));
        assert_eq!(&*comms.name(0, 5), "<idle>");
        comms.learn(7, b"cat", 10);
        assert_eq!(&*comms.name(7, 5), "cat");
    }
}
