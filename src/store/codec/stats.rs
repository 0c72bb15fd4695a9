//! Counters of traces, as what changed since they were read before.

use std::sync::Arc;

use super::decode::Decoder;
use super::varint::{put, put_signed};
use super::{Encoder, cause_code, cause_of};
use crate::model::stats::{Loss, PartialMap, ProbeStats, TraceStats};

impl Encoder {
    /// Appends counters, as differences to `old` where there are some.
    pub fn stats(&mut self, stats: &TraceStats, old: Option<&TraceStats>, at_ns: u64, out: &mut Vec<u8>) {
        put_signed(out, at_ns.wrapping_sub(stats.at_ns) as i64);
        put(out, stats.delivered);
        put(out, stats.losses.len() as u64);
        for loss in &stats.losses {
            out.push(cause_code(loss.cause));
            let site = self.string(loss.site.as_bytes());
            put(out, site);
            put(out, u64::from(loss.span.0));
            put(out, u64::from(loss.span.1));
            put(out, loss.count);
        }
        let same = old.filter(|o| {
            let pairs = o.probes.iter().zip(&stats.probes);
            o.probes.len() == stats.probes.len() && pairs.into_iter().all(|(a, b)| a.name == b.name)
        });
        put(out, (stats.probes.len() as u64) << 1 | u64::from(same.is_some()));
        match same {
            None => stats.probes.iter().for_each(|probe| {
                let name = self.string(probe.name.as_bytes());
                put(out, name);
                counters(probe, &ProbeStats::default(), out);
            }),
            Some(old) => {
                let changed = || stats.probes.iter().zip(&old.probes).enumerate().filter(|(_, (new, old))| new != old);
                put(out, changed().count() as u64);
                let mut next = 0;
                for (index, (probe, old)) in changed() {
                    put(out, (index - next) as u64);
                    next = index + 1;
                    counters(probe, old, out);
                }
            }
        }
        for part in &stats.parts {
            let map = self.string(part.map.as_bytes());
            let flags = u64::from(part.braked) | u64::from(part.detached_ns.is_some()) << 1;
            let numbers = [map, part.ran, part.throttled, flags].into_iter().chain(part.detached_ns);
            numbers.for_each(|number| put(out, number));
        }
    }
}

/// A probe's numbers as differences.
fn counters(probe: &ProbeStats, old: &ProbeStats, out: &mut Vec<u8>) {
    out.push(u8::from(probe.runs.is_some()) | u8::from(probe.run_time_ns.is_some()) << 1);
    put(out, u64::from(probe.attached));
    put_signed(out, probe.misses.wrapping_sub(old.misses) as i64);
    for (new, old) in [(probe.runs, old.runs), (probe.run_time_ns, old.run_time_ns)] {
        if let Some(new) = new {
            put_signed(out, new.wrapping_sub(old.unwrap_or(0)) as i64);
        }
    }
}

impl Decoder<'_> {
    /// Counters, with those that they differ from.
    pub fn stats(&mut self, old: Option<&TraceStats>, at_ns: u64) -> Option<TraceStats> {
        let at_ns = at_ns.wrapping_sub(self.reader.signed()? as u64);
        let delivered = self.reader.number()?;
        let losses = self.reader.count(5)?;
        let losses = (0..losses).map(|_| self.loss()).collect::<Option<_>>()?;
        let code = usize::try_from(self.reader.number()?).ok()?;
        let count = code >> 1;
        if code & 1 == 0 {
            let count = Some(count).filter(|n| *n <= self.reader.left() / 4)?;
            let probe = |_| {
                let probe = ProbeStats { name: self.string()?, ..ProbeStats::default() };
                self.counters(&probe)
            };
            let probes = (0..count).map(probe).collect::<Option<_>>()?;
            return Some(TraceStats { at_ns, delivered, losses, probes, parts: self.parts()? });
        }
        let mut probes = old?.probes.clone();
        if probes.len() != count {
            return None;
        }
        let mut next = 0_usize;
        for _ in 0..self.reader.count(4)? {
            let at = next.checked_add(usize::try_from(self.reader.number()?).ok()?)?;
            let probe = probes.get_mut(at)?;
            *probe = self.counters(probe)?;
            next = at + 1;
        }
        Some(TraceStats { at_ns, delivered, losses, probes, parts: self.parts()? })
    }

    /// What is behind the probes: maps that are of a part of the firings. Recordings that know of none end before.
    fn parts(&mut self) -> Option<Vec<PartialMap>> {
        let mut parts = Vec::new();
        while self.reader.left() > 0 {
            let map = self.string()?;
            let (ran, throttled) = (self.reader.number()?, self.reader.number()?);
            let flags = self.reader.number()?;
            let detached_ns = if flags & 2 == 0 { None } else { Some(self.reader.number()?) };
            parts.push(PartialMap { map, ran, throttled, braked: flags & 1 != 0, detached_ns });
        }
        Some(parts)
    }

    fn loss(&mut self) -> Option<Loss> {
        Some(Loss {
            cause: cause_of(u64::from(self.reader.byte()?))?,
            site: self.string()?,
            span: (self.reader.small()?, self.reader.small()?),
            count: self.reader.number()?,
        })
    }

    fn counters(&mut self, old: &ProbeStats) -> Option<ProbeStats> {
        let r = &mut self.reader;
        let has = r.byte()?;
        let attached = r.small()?;
        let misses = old.misses.wrapping_add(r.signed()? as u64);
        let mut counter = |has: bool, old: Option<u64>| {
            if !has {
                return Some(None);
            }
            Some(Some(old.unwrap_or(0).wrapping_add(r.signed()? as u64)))
        };
        let runs = counter(has & 1 != 0, old.runs)?;
        let run_time_ns = counter(has & 2 != 0, old.run_time_ns)?;
        Some(ProbeStats { name: Arc::clone(&old.name), attached, runs, run_time_ns, misses })
    }
}
