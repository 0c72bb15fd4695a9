//! Loops on kernels that know none (before Linux 5.17): their verifier follows each round.

use crate::lang::codes::run::FOLLOWED;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::Block;

use super::func::Lowerer;
use super::loops::UNROLLED_WEIGHT;
use super::numbers::Walking;
use super::weight;

const HELP: &str =
    "write few constant rounds, `for $i : 0..16`, and leave them by `break`; Linux 5.17 needs no such care";

impl<'a> Lowerer<'_, 'a> {
    /// Tells of a plain loop that the verifier of a kernel without other loops may give up on: one of unknown
    /// rounds, or of many with much in each.
    pub fn warn_of_rounds(&mut self, rounds: Option<u64>, body: &'a Block, span: Span) {
        if Walking::of(self.u.facts) != Walking::Counting {
            return;
        }
        let weight = |rounds: u64| rounds.saturating_mul(weight::block(self.scale(), body));
        let message = match rounds {
            Some(rounds) if weight(rounds) <= UNROLLED_WEIGHT => return,
            Some(rounds) => {
                format!("this kernel follows all {rounds} rounds of this loop before it runs, and may give up")
            }
            None => {
                "this kernel follows this loop round by round before it runs, and refuses it when it sees no end".into()
            }
        };
        self.u.warn(Diagnostic::warning(FOLLOWED, span, message).help(HELP));
    }
}
