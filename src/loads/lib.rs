//! Loads with known answers: small programs that do a known amount of something and tell the truth of it, for lessons
//! and for tests that ask a tracer what happened.
//!
//! A load is a file of `loads/` and a row of [`LOADS`]. Its amounts come from a seed: the same seed does the same. It is
//! bounded in time by its [`Plan`] and in memory by its own constants, its processes end with their parent, and what it
//! makes on disk it removes.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_macros, reason = "tests print as they like"))]
#![allow(
    clippy::disallowed_methods,
    reason = "a load is what is traced: it writes and starts threads as any program does"
)]

mod cgroup;
mod children;
mod disk;
mod dns;
mod errors;
mod faults;
mod files;
mod ipi;
mod jit;
mod leak;
mod locks;
mod memory;
mod migrate;
mod pingpong;
mod plan;
mod proc;
mod runqueue;
mod signals;
mod sleep;
mod spawn;
mod tcp;
mod tcploss;
mod usdt;

pub use children::be_child;
pub use plan::{LoadError, Plan, Random, Truth};

/// A load, as a row of data.
#[derive(Debug)]
pub struct Load {
    /// What it is called; its threads are `load-NAME` where nothing else is said.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What it tells at its end: names and what they are. A name ends with its unit where it is no count.
    pub truth: &'static [(&'static str, &'static str)],
    /// Does it.
    pub run: fn(&Plan) -> Result<Truth, LoadError>,
}

/// All loads, in the order of listings.
pub const LOADS: &[Load] = &[
    cgroup::LOAD,
    disk::LOAD,
    dns::LOAD,
    errors::LOAD,
    faults::LOAD,
    files::LOAD,
    ipi::LOAD,
    jit::LOAD,
    leak::LOAD,
    locks::LOAD,
    migrate::LOAD,
    pingpong::LOAD,
    runqueue::LOAD,
    signals::LOAD,
    sleep::LOAD,
    spawn::LOAD,
    tcp::LOAD,
    tcploss::LOAD,
    usdt::LOAD,
];

/// The load of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Load> {
    LOADS.iter().find(|load| load.name == name)
}

/// Makes the calling process end with its parent. A parent that ended before is noticed, too.
pub fn end_with_parent() -> Result<(), LoadError> {
    let tried = LoadError::at("set the parent's death signal of", "this process");
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM)).map_err(|e| tried(e.into()))
}

/// Names the calling thread; 15 bytes are kept.
pub fn name_thread(name: &str) {
    if let Ok(name) = std::ffi::CString::new(name) {
        // A name is for readers: without one the load does the same.
        let _ = rustix::thread::set_name(&name);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;

    #[test]
    fn names_are_unique_and_fit_a_threads_name() {
        let names: BTreeSet<&str> = LOADS.iter().map(|load| load.name).collect();
        assert_eq!(names.len(), LOADS.len());
        assert!(LOADS.iter().all(|load| load.name.len() <= 10 && !load.truth.is_empty()));
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let numbers = |seed| {
            let mut random = Plan::new(seed, Duration::from_secs(1)).random();
            (0..8).map(|_| random.between(10, 90)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
        assert!(numbers(3).iter().all(|n| (10..=90).contains(n)));
    }

    #[test]
    fn loads_tell_what_their_rows_promise() {
        // Those without children of their own, which are this program.
        for name in ["errors", "faults", "files", "leak", "pingpong", "sleep"] {
            let load = find(name).expect("it is a load");
            let truth = (load.run)(&Plan::new(5, Duration::from_secs(20))).expect("it runs");
            let told: Vec<&str> = truth.names().collect();
            let promised: Vec<&str> = load.truth.iter().map(|(name, _)| *name).collect();
            assert_eq!(told, promised, "{name}");
        }
    }
}
