//! Boots real kernels under QEMU and runs in each, on the host's own files, this very binary's
//! script cases and the library's tests that talk to a kernel. Each result is a test here.
//!
//! `cargo test --test kernels [-- FILTER]`: FILTER chooses kernels or cases (`6.1`, `kprobe`);
//! `PROBESCOPE_KERNELS=5.10,7.2` boots only these, and `PROBESCOPE_KERNELS=none` none at all.
//! Without a filter, what two kernels show alike runs in one of them (`plan::THIN`): `PROBESCOPE_WHOLE_GUESTS=1` runs all of it.
//! The filter `/witness` asks the witnesses (`tests/witness.rs`) in all of them.
//! `PROBESCOPE_LATENCY_IN_GUESTS=1` measures latency in them, too.
//! `PROBESCOPE_GUEST_PROGRAM=target/release/probescope` tests that build of the program.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(missing_docs, reason = "a program, not a library")]

#[path = "kernels/fetch.rs"]
mod fetch;
#[path = "kernels/guest.rs"]
mod guest;
#[path = "kernels/image.rs"]
mod image;
#[path = "kernels/plan.rs"]
mod plan;
mod support;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use support::run::Outcome;

/// The kernels, slowest first so that two run to the end together.
const KERNELS: [(&str, fetch::Source); 5] = [
    ("7.2", fetch::Source::Debian("sid")),
    ("6.12", fetch::Source::Debian("trixie")),
    ("6.1", fetch::Source::Debian("bookworm")),
    ("5.10", fetch::Source::Debian("bullseye")),
    ("tracing", fetch::Source::Tracing),
];

fn main() {
    support::workload::run_if_asked();
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).is_some_and(|w| w == plan::IN_GUEST) {
        plan::in_guest(words.get(2).map(String::as_str));
        return;
    }
    let arguments = Arguments::from_args();
    if arguments.list {
        // What runs in the guests is only known to them: a kernel is one test to a runner that asks first.
        let trials = KERNELS.iter().map(|(name, _)| Trial::test(format!("kernel_{name}"), || Ok(()))).collect();
        libtest_mimic::run(&arguments, trials).exit();
    }
    let cache = cache();
    let chosen: Vec<_> = KERNELS.into_iter().filter(|(name, _)| wanted(name, &arguments)).collect();
    let results = if chosen.is_empty() {
        Vec::new()
    } else {
        match plan::Programs::stage(arguments.filter.as_deref().unwrap_or_default()) {
            Ok(programs) => boot_all(&chosen, &cache, &programs, arguments.filter.as_deref()),
            Err(why) => vec![("programs".to_owned(), Outcome::Failed(why))],
        }
    };
    let mut run_all = Arguments { filter: arguments.filter.clone(), test_threads: Some(1), ..Arguments::default() };
    if arguments.exact {
        run_all.filter = None;
    }
    // A guest that did not come up is no matter of the filter: nothing that it chose has run.
    let broken = results.iter().any(|(name, outcome)| match outcome {
        Outcome::Failed(why) if name.ends_with("/boot") || name.ends_with("/console") => {
            eprintln!("{name}: {why}");
            true
        }
        _ => false,
    });
    let trials = results.into_iter().map(trial).collect();
    let conclusion = libtest_mimic::run(&run_all, trials);
    if broken {
        std::process::exit(101);
    }
    conclusion.exit();
}

/// A test's name and how it came out.
type Outcomes = Vec<(String, Outcome)>;

fn trial((name, outcome): (String, Outcome)) -> Trial {
    Trial::ignorable_test(name, move || match outcome {
        Outcome::Passed => Ok(Completion::Completed),
        Outcome::Skipped(reason) => Ok(Completion::ignored_with(reason)),
        Outcome::Failed(why) => Err(Failed::from(why)),
    })
}

fn wanted(name: &str, arguments: &Arguments) -> bool {
    if let Ok(list) = std::env::var("PROBESCOPE_KERNELS") {
        return list.split(',').any(|k| k.trim() == name);
    }
    match arguments.filter.as_deref() {
        Some(filter) if arguments.exact => filter == format!("kernel_{name}"),
        Some(filter) if KERNELS.iter().any(|(k, _)| filter.starts_with(k)) => filter.starts_with(name),
        _ => true,
    }
}

/// Runs guests side by side, as many as cores and memory allow.
fn boot_all(
    kernels: &[(&str, fetch::Source)],
    cache: &Path,
    programs: &plan::Programs,
    filter: Option<&str>,
) -> Outcomes {
    let side_by_side = parallel_guests();
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..side_by_side.min(kernels.len()) {
            scope.spawn(|| {
                while let Some((name, source)) = kernels.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcomes = one(name, *source, cache, programs, filter);
                    results.lock().expect("no guest's thread panics").push((*name, outcomes));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no guest's thread panics");
    results.sort_by_key(|(name, _)| KERNELS.iter().position(|(k, _)| k == name));
    results.into_iter().flat_map(|(_, outcomes)| outcomes).collect()
}

fn one(name: &str, source: fetch::Source, cache: &Path, programs: &plan::Programs, filter: Option<&str>) -> Outcomes {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/kernels");
    let boot = |why: String| vec![(format!("{name}/boot"), Outcome::Skipped(why))];
    if !cfg!(target_arch = "x86_64") {
        return boot("guests are x86-64 only".into());
    }
    let kernel = match fetch::prepare(source, cache, &shared) {
        Ok(kernel) => kernel,
        Err(why) => {
            eprintln!("kernel {name}: NOT TESTED: {why}");
            return boot(why);
        }
    };
    plan::run(name, &kernel, programs, filter)
}

fn parallel_guests() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text
        .lines()
        .find_map(|l| l.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0);
    let memory = usize::try_from(kib / 1024 / (guest::MEMORY + 1024)).unwrap_or(1);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // One more than there are cores: guests rest now and then, and the last one would leave cores idle.
    memory.min(cores + 1).max(1)
}

/// Kernels are kept outside the checkout.
fn cache() -> PathBuf {
    let home = || std::env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from);
    let base = std::env::var_os("PROBESCOPE_CACHE").map_or_else(|| home().join(".cache/probescope"), PathBuf::from);
    base.join("kernels")
}
