//! Programs that have turned themselves off.

use std::sync::Arc;

use super::trace::Trace;
use crate::codegen::artifact::{BRAKE_CAUSE, BRAKE_ELAPSED, BRAKE_NS, BRAKE_STEPS, BrakeCause};
use crate::lang::source::Span;

/// A program that has turned itself off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Braked {
    /// Index in the artifact's brakes.
    pub index: u32,
    /// Where it was attached, or the first of many places.
    pub name: Arc<str>,
    /// Index of its probe.
    pub probe: u32,
    /// The first of its loops.
    pub span: Span,
    /// Why.
    pub cause: BrakeCause,
    /// Steps of the firing at which it did.
    pub steps: u64,
    /// What its firings took, ns.
    pub took_ns: u64,
    /// In how much time, ns.
    pub elapsed_ns: u64,
}

impl Trace {
    /// All programs that have turned themselves off so far.
    #[must_use]
    pub fn braked(&self) -> Vec<Braked> {
        let brakes = (0..).zip(&self.artifact().brakes);
        brakes
            .filter_map(|(index, spec)| {
                let area = self.area(&spec.area)?;
                let word = |at: u32| area.read_u64((spec.offset + at) as usize);
                let cause = match word(BRAKE_CAUSE) {
                    0 => return None,
                    code if code == BrakeCause::Steps as u64 => BrakeCause::Steps,
                    code if code == BrakeCause::Thread as u64 => BrakeCause::Thread,
                    _ => BrakeCause::Second,
                };
                Some(Braked {
                    index,
                    name: Arc::clone(&spec.name),
                    probe: spec.probe,
                    span: spec.span,
                    cause,
                    steps: word(BRAKE_STEPS),
                    took_ns: word(BRAKE_NS),
                    elapsed_ns: word(BRAKE_ELAPSED),
                })
            })
            .collect()
    }
}
