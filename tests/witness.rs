//! Witnesses: what the bundled scripts, the commands and the semantic probes say of a load is compared with what the load
//! itself and others (`/proc`, strace, perf, bpftool) say of it.
//!
//! `cargo test --test witness [-- FILTER]`. A case is a row of `tests/witness/rows/`: whose answer, of which load, who else
//! is asked, and where they can't agree exactly, the bound and its reason. `docs/witnesses.md` is the table of the rows:
//! `PROBESCOPE_WITNESS_TABLE=write` writes it again. `PROBESCOPE_WITNESS_MODES=pid,ended,budget,few-keys,small-buffer` also asks with
//! `-p`, after the process has ended, with a budget, and with maps and buffers that are too small.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(missing_docs, reason = "a program, not a library")]

#[path = "witness/answer.rs"]
mod answer;
#[path = "witness/counters.rs"]
mod counters;
#[path = "witness/gate.rs"]
mod gate;
#[path = "witness/row.rs"]
mod row;
#[path = "witness/rows.rs"]
mod rows;
#[path = "witness/session.rs"]
mod session;
#[allow(dead_code, reason = "script cases use the rest")]
mod support;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use row::{Mode, Row};

fn main() {
    support::workload::run_if_asked();
    counters::be_frame_if_asked();
    let mut arguments = Arguments::from_args();
    // Loads shall not starve each other: times are compared, too.
    arguments.test_threads = arguments.test_threads.or(Some(2));
    let modes = modes();
    let turns = Turns::default();
    let mut trials = gate::trials();
    for row in rows::all() {
        for mode in modes.iter().filter(|mode| row.is_asked(**mode)) {
            trials.push(trial(row, *mode, turns.of(row.load())));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    support::run::clean();
    conclusion.exit();
}

fn modes() -> Vec<Mode> {
    let more = std::env::var("PROBESCOPE_WITNESS_MODES").unwrap_or_default();
    let more = more.split(',').filter(|word| !word.is_empty());
    std::iter::once(Mode::Plain)
        .chain(more.map(|word| Mode::named(word).unwrap_or_else(|| panic!("there is no mode `{word}`"))))
        .collect()
}

fn trial(row: &'static Row, mode: Mode, turn: Arc<Mutex<()>>) -> Trial {
    Trial::ignorable_test(row.test_name(mode), move || {
        match support::needs::unmet(&row.needs()) {
            Ok(None) => {}
            Ok(Some(reason)) => return Ok(Completion::ignored_with(reason)),
            Err(why) => return Err(Failed::from(why)),
        }
        // Two loads of one name would be one to a script.
        let _turn = turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        session::ask(row, mode).map(|()| Completion::Completed).map_err(Failed::from)
    })
}

/// Who runs which load.
#[derive(Default)]
struct Turns(Mutex<BTreeMap<String, Arc<Mutex<()>>>>);

impl Turns {
    fn of(&self, load: &str) -> Arc<Mutex<()>> {
        Arc::clone(self.0.lock().unwrap().entry(load.to_owned()).or_default())
    }
}
