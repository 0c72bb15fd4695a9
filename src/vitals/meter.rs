//! From readings of maps to what happened in a second.

use std::collections::{BTreeMap, VecDeque};

use crate::model::histogram::Log2;
use crate::model::snapshot::MapSnapshot;
use crate::model::value::Value;
use crate::rows::{Form, THROTTLED, VITALS, Vital};

/// Seconds that are remembered.
const REMEMBERED: usize = 300;
/// Seconds that are wanted before anything is called unusual.
const ENOUGH: usize = 8;
/// How many deviations from the median are unusual.
const DEVIATIONS: f64 = 6.0;

/// Why a reading is marked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unusual {
    /// Far above what it was in the minutes before: this was usual.
    Above(f64),
    /// Bad whatever it was before.
    Bad,
}

/// One vital in one second.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Which.
    pub vital: &'static Vital,
    /// Happenings a second; for CPU time the part of all CPUs (1.0 is all).
    pub rate: f64,
    /// Median, µs: of times only.
    pub p50_us: Option<u64>,
    /// 99th percentile, µs.
    pub p99_us: Option<u64>,
    /// The longest, µs: the end of its bucket.
    pub max_us: Option<u64>,
    /// The commonest number with its rate: of errnos.
    pub commonest: Option<(u64, f64)>,
    /// Why it is marked, if it is.
    pub unusual: Option<Unusual>,
}

impl Reading {
    /// What is compared with the past: the 99th percentile of times, the rate of everything else.
    #[must_use]
    pub fn figure(&self) -> f64 {
        match self.vital.form {
            Form::Times => self.p99_us.map_or(0.0, |p99| p99 as f64),
            Form::Count | Form::CpuTime | Form::ByErrno => self.rate,
        }
    }
}

/// All vitals in one second.
#[derive(Clone, Debug, PartialEq)]
pub struct Second {
    /// When it ended, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// How long it was, ns.
    pub span_ns: u64,
    /// A reading a row, in the order of [`VITALS`]; what the kernel does not have is left out.
    pub readings: Vec<Reading>,
}

/// Counts of one map.
#[derive(Clone, Debug, Default)]
struct Held {
    total: u64,
    by_number: BTreeMap<u64, u64>,
    buckets: Vec<u64>,
    bits: u8,
}

/// Remembers the last reading and the figures of the minutes before.
#[derive(Debug)]
pub struct Meter {
    cpus: usize,
    absent: Vec<&'static str>,
    last: Option<(u64, Vec<Held>)>,
    past: Vec<VecDeque<f64>>,
}

impl Meter {
    /// Nothing was read yet. `absent` are keys of vitals whose probes this kernel does not have.
    #[must_use]
    pub fn new(cpus: usize, absent: Vec<&'static str>) -> Self {
        Self { cpus: cpus.max(1), absent, last: None, past: vec![VecDeque::new(); VITALS.len()] }
    }

    /// Takes the maps as they are now, and how often control groups were throttled in all. The first reading is what later
    /// ones are compared with, and gives nothing.
    pub fn take(&mut self, at_ns: u64, maps: &[MapSnapshot], throttled: Option<u64>) -> Option<Second> {
        let now: Vec<Held> = VITALS
            .iter()
            .map(|vital| {
                if vital.map == THROTTLED {
                    return Held { total: throttled.unwrap_or(0), ..Held::default() };
                }
                maps.iter().find(|map| *map.name == *vital.map).map_or_else(Held::default, held)
            })
            .collect();
        let last = self.last.replace((at_ns, now.clone()));
        let (since, before) = last?;
        let span_ns = at_ns.saturating_sub(since).max(1);
        let mut readings = Vec::with_capacity(VITALS.len());
        for (at, vital) in VITALS.iter().enumerate() {
            let is_there = vital.map != THROTTLED || throttled.is_some();
            if self.absent.contains(&vital.key) || !is_there {
                continue;
            }
            let mut reading = reading(vital, &before[at], &now[at], span_ns, self.cpus);
            reading.unusual = unusual(vital, reading.figure(), &self.past[at]);
            let past = &mut self.past[at];
            if past.len() == REMEMBERED {
                past.pop_front();
            }
            past.push_back(reading.figure());
            readings.push(reading);
        }
        Some(Second { at_ns, span_ns, readings })
    }

    /// Figures of the last seconds of a vital, oldest first: of its rate, or its 99th percentile.
    #[must_use]
    pub fn past(&self, vital: &Vital) -> Option<&VecDeque<f64>> {
        VITALS.iter().position(|other| other.key == vital.key).and_then(|at| self.past.get(at))
    }
}

fn held(map: &MapSnapshot) -> Held {
    let mut held = Held::default();
    for row in &map.rows {
        match &row.value {
            Value::Hist(hist) => add(&mut held, hist),
            value => {
                let count = value.as_number().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
                held.total = held.total.saturating_add(count);
                if let Some(number) = row.key.first().and_then(Value::as_number).and_then(|n| u64::try_from(n).ok()) {
                    held.by_number.insert(number, count);
                }
            }
        }
    }
    held
}

fn add(held: &mut Held, hist: &Log2) {
    held.bits = hist.bits;
    held.total = held.total.saturating_add(hist.total());
    if held.buckets.len() < hist.counts.len() {
        held.buckets.resize(hist.counts.len(), 0);
    }
    for (sum, count) in held.buckets.iter_mut().zip(&hist.counts) {
        *sum = sum.saturating_add(*count);
    }
}

#[allow(clippy::cast_precision_loss, reason = "rates are shown with three digits")]
fn reading(vital: &'static Vital, before: &Held, now: &Held, span_ns: u64, cpus: usize) -> Reading {
    let seconds = span_ns as f64 / 1e9;
    let more = now.total.saturating_sub(before.total) as f64;
    let mut reading = Reading {
        vital,
        rate: more / seconds,
        p50_us: None,
        p99_us: None,
        max_us: None,
        commonest: None,
        unusual: None,
    };
    match vital.form {
        Form::Count => {}
        Form::CpuTime => reading.rate = more / (span_ns as f64 * cpus as f64),
        Form::ByErrno => {
            let rates = now.by_number.iter().map(|(number, count)| {
                (*number, count.saturating_sub(before.by_number.get(number).copied().unwrap_or(0)))
            });
            let most = rates.max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0);
            reading.commonest = most.map(|(number, count)| (number, count as f64 / seconds));
        }
        Form::Times => {
            let counts: Vec<u64> = (0..now.buckets.len())
                .map(|at| now.buckets[at].saturating_sub(before.buckets.get(at).copied().unwrap_or(0)))
                .collect();
            let shape = Log2 { bits: now.bits, counts };
            reading.p50_us = quantile(&shape, 0.5);
            reading.p99_us = quantile(&shape, 0.99);
            reading.max_us = quantile(&shape, 1.0);
        }
    }
    reading
}

/// The end of the bucket in which a quantile lies: the value is at most that.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are positive and far below 2^52"
)]
fn quantile(hist: &Log2, part: f64) -> Option<u64> {
    let total = hist.total();
    if total == 0 {
        return None;
    }
    let wanted = ((total as f64 * part).ceil() as u64).clamp(1, total);
    let mut seen = 0_u64;
    let at = hist.counts.iter().position(|count| {
        seen = seen.saturating_add(*count);
        seen >= wanted
    })?;
    let (low, high) = hist.bounds(u32::try_from(at).ok()?);
    let last = high.map(|high| high - 1).or(low)?;
    u64::try_from(last).ok()
}

fn unusual(vital: &Vital, figure: f64, past: &VecDeque<f64>) -> Option<Unusual> {
    if figure >= vital.bad {
        return Some(Unusual::Bad);
    }
    if past.len() < ENOUGH || figure < vital.quiet {
        return None;
    }
    let median = middle(past.iter().copied().collect());
    let deviation = middle(past.iter().map(|value| (value - median).abs()).collect());
    let is_far = figure > median + DEVIATIONS * deviation.max(median * 0.05) && figure > 2.0 * median;
    is_far.then_some(Unusual::Above(median))
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::histogram::{log2_bucket, log2_buckets};
    use crate::model::snapshot::{MapKind, MapRow};

    fn map(name: &str, kind: MapKind, rows: Vec<MapRow>) -> MapSnapshot {
        MapSnapshot { name: Arc::from(name), kind, keyed: false, rows, capacity: 1, at_ns: 0 }
    }

    fn counted(name: &str, count: u64) -> MapSnapshot {
        map(name, MapKind::Count, vec![MapRow { key: Vec::new(), value: Value::Uint(count, 8) }])
    }

    fn times(us: &[i64]) -> MapSnapshot {
        let mut counts = vec![0; log2_buckets(3) as usize];
        for us in us {
            counts[log2_bucket(*us, 3) as usize] += 1;
        }
        let value = Value::Hist(Arc::new(Log2 { bits: 3, counts }));
        map("@run_queue", MapKind::Hist, vec![MapRow { key: Vec::new(), value }])
    }

    fn of<'a>(second: &'a Second, key: &str) -> &'a Reading {
        second.readings.iter().find(|reading| reading.vital.key == key).unwrap()
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_second_is_what_came_since_the_last_reading() {
        let mut meter = Meter::new(2, Vec::new());
        assert_eq!(meter.take(0, &[counted("@starts", 100), times(&[5, 5])], None), None);
        let maps = [counted("@starts", 130), times(&[5, 5, 7, 7, 7, 900])];
        let second = meter.take(2 * SECOND, &maps, None).unwrap();
        assert!((of(&second, "starts").rate - 15.0).abs() < 1e-9);
        let waits = of(&second, "run_queue");
        assert_eq!((waits.p50_us, waits.max_us), (Some(7), Some(959)));
        assert!((waits.rate - 2.0).abs() < 1e-9);
        assert!(second.readings.iter().all(|reading| reading.vital.key != "throttled"), "no group was read");
    }

    #[test]
    fn interrupts_are_a_part_of_all_cpus() {
        let mut meter = Meter::new(2, vec!["block"]);
        meter.take(0, &[counted("@interrupts", 0)], Some(4));
        let second = meter.take(SECOND, &[counted("@interrupts", SECOND / 2)], Some(5)).unwrap();
        let interrupts = of(&second, "interrupts");
        assert!((interrupts.rate - 0.25).abs() < 1e-9);
        assert_eq!(interrupts.unusual, Some(Unusual::Bad));
        assert_eq!(of(&second, "throttled").unusual, Some(Unusual::Bad));
        assert!(second.readings.iter().all(|reading| reading.vital.key != "block"), "this kernel has none");
    }

    #[test]
    fn what_is_far_above_the_minutes_before_is_marked_and_noise_is_not() {
        let mut meter = Meter::new(1, Vec::new());
        let mut total = 0;
        for second in 0..20 {
            total += 30 + second % 3;
            meter.take(second * SECOND, &[counted("@starts", total)], None);
        }
        let steady = meter.take(20 * SECOND, &[counted("@starts", total + 33)], None).unwrap();
        assert_eq!(of(&steady, "starts").unusual, None);
        let storm = meter.take(21 * SECOND, &[counted("@starts", total + 33 + 200)], None).unwrap();
        assert!(matches!(of(&storm, "starts").unusual, Some(Unusual::Above(usual)) if (29.0..33.0).contains(&usual)));
    }
}
