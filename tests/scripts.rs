//! Every script case below `tests/scripts`, run by the program on this kernel.
//!
//! With `PROBESCOPE_PEER="chroot DIR bpftrace"` the same cases are run by bpftrace, which shows that
//! the expectations are its own.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(missing_docs, reason = "a program, not a library")]

mod support;

use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use support::run::{Outcome, Subject};

/// A hard cap for cases that hang; nothing is timed.
const CAP: Duration = Duration::from_secs(60);

fn main() {
    support::workload::run_if_asked();
    let arguments = Arguments::from_args();
    let trials = match support::cases() {
        Ok(cases) => cases.into_iter().map(trial).collect(),
        Err(e) => vec![Trial::test("cases are well formed", move || Err(Failed::from(e)))],
    };
    let conclusion = libtest_mimic::run(&arguments, trials);
    support::run::clean();
    conclusion.exit();
}

fn trial(case: support::case::Case) -> Trial {
    Trial::ignorable_test(case.name.clone(), move || {
        match support::run::run(&Subject::from_environment(), &case, CAP) {
            Outcome::Passed => Ok(Completion::Completed),
            Outcome::Skipped(reason) => Ok(Completion::ignored_with(reason)),
            Outcome::Failed(why) => Err(Failed::from(why)),
        }
    })
}
