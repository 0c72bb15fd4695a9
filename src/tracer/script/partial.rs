//! Telling, once each, of probes that no longer run: from then on results are partial.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::codegen::artifact::BrakeCause;
use crate::engine::Trace;
use crate::engine::brake::Braked;
use crate::lang::codes::run::BRAKED;
use crate::lang::diagnostic::Diagnostic;
use crate::model::words;
use crate::tracer::report::{Face, Report};

/// The exit code of a run whose results are partial.
pub const PARTIAL_EXIT: i32 = 3;

const HELP: &str =
    "results are partial from here on: let the loop end sooner or trace fewer events; `--no-brake` lets it run";

/// Remembers what was told.
#[derive(Debug, Default)]
pub struct PartialTeller {
    told: BTreeSet<u32>,
}

impl PartialTeller {
    /// Whether anything was told.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        !self.told.is_empty()
    }

    /// Reports every probe that was turned off since the last time; a pattern's many places together.
    pub fn tell(&mut self, trace: &Trace, face: &mut dyn Face) -> io::Result<()> {
        let mut by_probe: BTreeMap<u32, (Braked, usize)> = BTreeMap::new();
        for braked in trace.braked() {
            if self.told.insert(braked.index) {
                by_probe.entry(braked.probe).and_modify(|(_, more)| *more += 1).or_insert((braked, 0));
            }
        }
        if !by_probe.is_empty() {
            face.comes_from_here();
        }
        for (braked, more) in by_probe.values() {
            face.report(&Report::Partial(&diagnostic(braked, *more)))?;
        }
        Ok(())
    }
}

fn diagnostic(braked: &Braked, more: usize) -> Diagnostic {
    let steps = words::grouped(braked.steps);
    let ms = braked.took_ns / 1_000_000;
    let cost = match braked.cause {
        BrakeCause::Steps => format!("one firing made {steps} steps in its loops, {ms} ms"),
        BrakeCause::Second if braked.took_ns >= braked.elapsed_ns => {
            format!("one firing took {ms} ms, {steps} steps in its loops")
        }
        BrakeCause::Second | BrakeCause::Thread => {
            let percent = (braked.took_ns.saturating_mul(100) / braked.elapsed_ns.max(1)).min(100);
            let whose =
                if braked.cause == BrakeCause::Second { "a CPU's time" } else { "what a thread got of its CPU" };
            format!("it took {percent} % of {whose}, {steps} steps a firing in its loops")
        }
    };
    let others = if more == 0 { String::new() } else { format!(" (and {more} more of its places)") };
    let message = format!("{}{others} is turned off: {cost}", braked.name);
    Diagnostic::warning(BRAKED, braked.span, message).help(HELP)
}
