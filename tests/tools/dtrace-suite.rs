//! Runs the unit tests of DTrace for Linux against `probescope dtrace`, by the rules of its `runtest.sh`.
//!
//! ```text
//! cargo run --example dtrace-suite -- SUITE [--dtrace PROGRAM] [--jobs N] [--all] [--log DIR] [FILTER...]
//! cargo run --example dtrace-suite -- --toolkit FOLDER [--attach] [--dtrace PROGRAM] [FILTER...]
//! ```
//!
//! SUITE is a checkout of dtrace-utils. Tests are `.d` files of `test/unittest`; a file's name, its `.r`, `.r.p`, `.x` and
//! `.t` files and the `@@` words in it say how it is run and what it must print. Without `--all`, tests are left out that
//! need probes of other providers than dtrace, profile and syscall, kernel symbols, or the reference's own library.
//! Output of tests that fail goes to DIR. The last lines are the table. FOLDER is a checkout of the DTraceToolkit, of which
//! the second form tells what compiles, with `--attach` what the kernel takes.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a tool of the maintainers fails by panicking")]

#[path = "dtrace-suite/case.rs"]
mod case;
#[path = "dtrace-suite/run.rs"]
mod run;
#[path = "dtrace-suite/toolkit.rs"]
mod toolkit;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use case::Case;
use run::Outcome;

struct Arguments {
    suite: PathBuf,
    program: PathBuf,
    jobs: usize,
    all: bool,
    log: Option<PathBuf>,
    toolkit: bool,
    attaches: bool,
    filters: Vec<String>,
}

fn arguments() -> Arguments {
    let mut read = Arguments {
        suite: PathBuf::new(),
        program: PathBuf::from("target/debug/probescope"),
        jobs: 2,
        all: false,
        log: None,
        toolkit: false,
        attaches: false,
        filters: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    let mut free = Vec::new();
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("{word} takes a value"));
        match word.as_str() {
            "--dtrace" => read.program = value().into(),
            "--jobs" => read.jobs = value().parse().unwrap(),
            "--log" => read.log = Some(value().into()),
            "--all" => read.all = true,
            "--toolkit" => read.toolkit = true,
            "--attach" => read.attaches = true,
            _ => free.push(word),
        }
    }
    assert!(!free.is_empty(), "give the folder of the suite");
    read.suite = std::fs::canonicalize(free.remove(0)).unwrap();
    read.filters = free;
    read
}

fn main() {
    let arguments = arguments();
    let folder = std::env::temp_dir().join(format!("dtrace-suite-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let dtrace = folder.join("dtrace");
    std::os::unix::fs::symlink(std::fs::canonicalize(&arguments.program).unwrap(), &dtrace).unwrap();
    if let Some(log) = &arguments.log {
        std::fs::create_dir_all(log).unwrap();
    }
    if arguments.toolkit {
        let attaches = arguments.attaches;
        toolkit::run(
            &toolkit::Toolkit { root: &arguments.suite, dtrace: &dtrace, folder: &folder, attaches },
            &arguments.filters,
        );
        std::fs::remove_dir_all(&folder).unwrap();
        return;
    }
    run::build_triggers(&arguments.suite);
    let cases = chosen(&arguments);
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for worker in 0..arguments.jobs {
            let (next, outcomes, cases, dtrace) = (&next, &outcomes, &cases, &dtrace);
            let folder = folder.join(worker.to_string());
            let arguments = &arguments;
            scope.spawn(move || {
                std::fs::create_dir_all(&folder).unwrap();
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run::run(case, dtrace, &folder);
                    tell(case, &outcome, arguments.log.as_deref());
                    outcomes.lock().unwrap().insert(case.name.clone(), outcome);
                }
            });
        }
    });
    std::fs::remove_dir_all(&folder).unwrap();
    table(&outcomes.into_inner().unwrap());
}

fn chosen(arguments: &Arguments) -> Vec<Case> {
    let mut cases = case::find(&arguments.suite);
    cases.retain(|case| {
        (arguments.all || case.needs_little())
            && (arguments.filters.is_empty() || arguments.filters.iter().any(|f| case.name.contains(f.as_str())))
    });
    cases
}

fn tell(case: &Case, outcome: &Outcome, log: Option<&Path>) {
    match outcome {
        Outcome::Passed => println!("PASS {}", case.name),
        Outcome::Skipped(why) => println!("SKIP {} ({why})", case.name),
        Outcome::Failed { why, shown } => {
            println!("FAIL {} ({why})", case.name);
            if let Some(log) = log {
                std::fs::write(log.join(case.name.replace('/', "-")), shown).unwrap();
            }
        }
    }
}

/// What passed, by folder.
fn table(outcomes: &BTreeMap<String, Outcome>) {
    let mut rows: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    for (name, outcome) in outcomes {
        let folder = name.split('/').next().unwrap_or(name);
        for folder in [folder, "total"] {
            let row = rows.entry(folder).or_default();
            match outcome {
                Outcome::Passed => row.0 += 1,
                Outcome::Failed { .. } => row.1 += 1,
                Outcome::Skipped(_) => row.2 += 1,
            }
        }
    }
    let total = rows.remove("total").unwrap_or_default();
    println!("{:<16} {:>6} {:>6} {:>8}", "folder", "passed", "failed", "left out");
    for (name, (passed, failed, skipped)) in rows.into_iter().chain([("total", total)]) {
        println!("{name:<16} {passed:>6} {failed:>6} {skipped:>8}");
    }
    let ran = total.0 + total.1;
    println!("{} of {ran} pass ({:.1} %)", total.0, total.0 as f64 * 100.0 / ran.max(1) as f64);
}
