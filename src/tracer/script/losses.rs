//! Telling losses once, as they grow.

use std::collections::BTreeMap;
use std::io;

use crate::lang::source::Span;
use crate::model::stats::{Loss, LossCause, TraceStats};
use crate::tracer::report::{Face, Report};

/// Remembers what was told.
#[derive(Debug, Default)]
pub struct LossTeller {
    told: BTreeMap<(LossCause, (u32, u32)), u64>,
}

impl LossTeller {
    /// Reports every loss that grew since the last time. Firings of a probe that is turned off or throttled, which was
    /// said when it was, are told at the end only.
    pub fn tell(&mut self, stats: &TraceStats, ended: bool, face: &mut dyn Face) -> io::Result<()> {
        face.comes_from_here();
        let now =
            stats.losses.iter().filter(|loss| ended || !matches!(loss.cause, LossCause::Braked | LossCause::Throttled));
        for (loss, more) in self.grown(now.cloned().collect()) {
            let span = Span::new(loss.span.0, loss.span.1);
            face.report(&Report::Lost { cause: loss.cause, count: more, site: &loss.site, span })?;
        }
        Ok(())
    }

    /// Whether loops were ended that had more to do.
    pub fn has_cut_loops(&self) -> bool {
        self.told.keys().any(|(cause, _)| *cause == LossCause::LoopCut)
    }

    /// What grew, added up by cause and place: a wildcard's probes share their place in the script.
    fn grown(&mut self, losses: Vec<Loss>) -> Vec<(Loss, u64)> {
        let mut sums: BTreeMap<(LossCause, (u32, u32)), Loss> = BTreeMap::new();
        for loss in losses {
            let count = loss.count;
            sums.entry((loss.cause, loss.span))
                .and_modify(|sum| sum.count = sum.count.saturating_add(count))
                .or_insert(loss);
        }
        let mut grown = Vec::new();
        for (key, loss) in sums {
            let told = self.told.entry(key).or_default();
            let more = loss.count.saturating_sub(*told);
            if more > 0 {
                *told = loss.count;
                grown.push((loss, more));
            }
        }
        grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_growth_is_told() {
        let loss = |count| vec![Loss { cause: LossCause::RingFull, site: "tick".into(), span: (1, 2), count }];
        let mut teller = LossTeller::default();
        let counts = |grown: Vec<(Loss, u64)>| grown.into_iter().map(|(_, n)| n).collect::<Vec<_>>();
        assert_eq!(counts(teller.grown(loss(5))), [5]);
        assert!(counts(teller.grown(loss(5))).is_empty());
        assert_eq!(counts(teller.grown(loss(7))), [2]);
    }

    #[test]
    fn probes_of_one_wildcard_are_told_together() {
        let loss = |site: &str, count| Loss { cause: LossCause::RingFull, site: site.into(), span: (1, 2), count };
        let mut teller = LossTeller::default();
        let counts = |grown: Vec<(Loss, u64)>| grown.into_iter().map(|(_, n)| n).collect::<Vec<_>>();
        assert_eq!(counts(teller.grown(vec![loss("a", 5), loss("b", 3)])), [8]);
        assert_eq!(counts(teller.grown(vec![loss("a", 5), loss("b", 4)])), [1]);
    }
}
