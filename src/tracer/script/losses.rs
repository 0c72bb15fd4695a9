//! Telling losses once, as they grow.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use crate::engine::attach::Unattached;
use crate::lang::source::Span;
use crate::lang::typed::Program;
use crate::model::snapshot::{MapRow, MapSnapshot};
use crate::model::stats::{Loss, LossCause, TraceStats};
use crate::model::value::Value;
use crate::tracer::report::{Face, Report};

/// Most frames of a stack that are kept, as the kernel's own limit is (`kernel.perf_event_max_stack`).
const MOST_FRAMES: usize = 127;

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

    /// Reports what the keys of printed maps have lost, which the programs don't count.
    pub fn tell_cuts(&mut self, cuts: &Cuts, face: &mut dyn Face) -> io::Result<()> {
        for ((cause, map), (count, span)) in &cuts.rows {
            let span = *span;
            self.told.insert((*cause, (span.start, span.end)), *count);
            face.report(&Report::Lost { cause: *cause, count: *count, site: map, span })?;
        }
        Ok(())
    }

    /// Reports places of patterns that could not be attached.
    pub fn tell_left_out(&mut self, refused: &[Unattached], face: &mut dyn Face) -> io::Result<()> {
        for probe in refused {
            let span = probe.span;
            *self.told.entry((LossCause::LeftOut, (span.start, span.end))).or_default() += 1;
            face.report(&Report::Lost {
                cause: LossCause::LeftOut,
                count: 1,
                site: &probe.probe.as_str().into(),
                span,
            })?;
        }
        Ok(())
    }

    /// Whether results lack something, or may be wrong. Under a peer's name what that loses, too, is as there.
    pub fn is_partial(&self, as_peer: bool) -> bool {
        self.told.iter().any(|((cause, _), count)| *count > 0 && cause.is_partial() && (cause.is_own() || !as_peer))
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

/// Rows of maps whose keys were cut, as far as maps were printed.
#[derive(Debug, Default)]
pub struct Cuts {
    rows: BTreeMap<(LossCause, Arc<str>), (u64, Span)>,
}

impl Cuts {
    /// Looks at what is printed of a map.
    pub fn look(&mut self, snapshot: &MapSnapshot, program: &Program) {
        if !snapshot.keyed {
            return;
        }
        let cut = |cause: LossCause| {
            let is = |row: &&MapRow| row.key.iter().any(|value| is_cut(value, cause, program));
            snapshot.rows.iter().filter(is).count() as u64
        };
        let span = program.maps.iter().find(|m| m.name == snapshot.name).map_or_else(Span::default, |m| m.span);
        for cause in [LossCause::KeyCut, LossCause::StackCut] {
            let count = cut(cause);
            if count > 0 {
                let most = self.rows.entry((cause, Arc::clone(&snapshot.name))).or_insert((0, span));
                most.0 = most.0.max(count);
            }
        }
    }
}

fn is_cut(value: &Value, cause: LossCause, program: &Program) -> bool {
    match value {
        Value::Str(text) if cause == LossCause::KeyCut => {
            let (most, trailer) = (program.config.max_strlen as usize, &program.config.str_trunc_trailer);
            text.len() == most + trailer.len() && text.ends_with(trailer.as_bytes())
        }
        Value::Stack(stack) if cause == LossCause::StackCut => {
            stack.frames.iter().filter(|frame| !frame.inlined).count() >= MOST_FRAMES
        }
        Value::Tuple(values) => values.iter().any(|value| is_cut(value, cause, program)),
        _ => false,
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
