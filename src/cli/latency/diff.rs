//! `latency diff A B`: which source of noise changed, and by how much.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::ExitCode;

use super::profile::{self, Profile, Source};
use crate::cli::CliError;
use crate::stdio;

/// Compare two profiles: which sources changed, by how much.
///
/// A change has to be larger than what both runs vary by themselves (a rank test over stretches of each, corrected for
/// the number of sources), at least as large as --least, and 0.01 % of the CPUs' time. Exit codes: 0 no change, 1 a source changed, 2 the
/// profiles could not be compared.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The first profile.
    a: String,
    /// The second.
    b: String,
    /// Smallest change that is told, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0)]
    least: f64,
}

/// Stretches that a run is cut into, at least: their sums are nearly independent, as those of single seconds are not.
const BLOCKS: usize = 12;
/// How often two runs of one machine may be told apart by mistake, over all sources.
const MISTAKES: f64 = 0.02;
/// Sources that take less of the machine in both runs are no matter: 5 us of each second.
const LEAST_NS_PER_SECOND: f64 = 5_000.0;

/// A source whose time changes by less is no matter either, however sure that is: 0.01 % of each CPU. Interrupts between
/// CPUs, for one, come half as often again from one run of a quiet machine to the next, by where threads happen to run.
const LEAST_CHANGE_NS_PER_CPU: f64 = 100_000.0;

/// What is compared of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// ns in each second.
    Time,
    /// Runs in each second.
    Rate,
}

/// A source that changed.
#[derive(Clone, Debug)]
struct Change {
    what: String,
    measure: Measure,
    before: f64,
    after: f64,
    p: f64,
}

impl Change {
    fn percent(&self) -> f64 {
        if self.before > 0.0 { (self.after / self.before - 1.0) * 100.0 } else { f64::INFINITY }
    }
}

/// A source in a run: how much of it there was in each second.
struct Amounts {
    /// Of each of several stretches.
    stretches: Vec<f64>,
    /// Over the whole run.
    mean: f64,
}

/// `series` has an amount for each interval, and `lengths_ns` how long those were: one that was read late has more in
/// it and the next less, which is no change.
fn amounts(series: &[u64], lengths_ns: &[u64]) -> Amounts {
    let size = (series.len() / BLOCKS).max(1);
    let a_second = |(amounts, lengths_ns): (&[u64], &[u64])| {
        let seconds = lengths_ns.iter().sum::<u64>() as f64 / 1e9;
        (seconds > 0.0).then(|| amounts.iter().sum::<u64>() as f64 / seconds)
    };
    let stretches = series.chunks(size).zip(lengths_ns.chunks(size)).filter(|(amounts, _)| amounts.len() == size);
    Amounts {
        stretches: stretches.filter_map(a_second).collect(),
        mean: a_second((series, lengths_ns)).unwrap_or_default(),
    }
}

/// The chance that two samples of one population differ in rank by so much (Mann and Whitney's test, by the normal
/// approximation with correction for continuity; ties share their rank).
fn chance(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len() as f64, b.len() as f64);
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let wins: f64 = a
        .iter()
        .flat_map(|x| {
            b.iter().map(move |y| {
                if x > y {
                    1.0
                } else if x < y {
                    0.0
                } else {
                    0.5
                }
            })
        })
        .sum();
    let spread = (n * m * (n + m + 1.0) / 12.0).sqrt();
    let z = ((wins - n * m / 2.0).abs() - 0.5).max(0.0) / spread;
    two_sided(z)
}

/// The chance of a normal variable beyond z on either side (Abramowitz and Stegun 7.1.26).
fn two_sided(z: f64) -> f64 {
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series =
        t * (0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    (series * (-x * x).exp()).clamp(0.0, 1.0)
}

fn compare(a: &Profile, b: &Profile, least: f64) -> Vec<Change> {
    let key = |s: &Source| (s.class as u8, s.name.clone());
    let keys: BTreeSet<_> = a.sources.iter().chain(&b.sources).map(key).collect();
    let find = |profile: &Profile, key: &(u8, String)| {
        profile.sources.iter().find(|s| s.class as u8 == key.0 && s.name == key.1).cloned()
    };
    let (lengths_a, lengths_b) = (a.all_lengths_ns(), b.all_lengths_ns());
    let least_change_ns = LEAST_CHANGE_NS_PER_CPU * a.cpus.len().max(b.cpus.len()) as f64;
    let (mut tested, mut comparisons) = (Vec::new(), 0_u32);
    for key in keys {
        let (first, second) = (find(a, &key), find(b, &key));
        let class = first.as_ref().or(second.as_ref()).map_or("", |s| s.class.name());
        let what = format!("{class} {}", key.1);
        let of = |source: Option<&Source>, lengths_ns: &[u64], measure| {
            let none = vec![0; lengths_ns.len()];
            let series = source.map(|s| if measure == Measure::Time { &s.net_ns } else { &s.counts });
            amounts(series.unwrap_or(&none), lengths_ns)
        };
        let both = |measure| [of(first.as_ref(), &lengths_a, measure), of(second.as_ref(), &lengths_b, measure)];
        let time = both(Measure::Time);
        let change_ns = (time[1].mean - time[0].mean).abs();
        if time.iter().all(|t| t.mean < LEAST_NS_PER_SECOND) {
            continue;
        }
        comparisons += 2;
        if change_ns < least_change_ns {
            continue;
        }
        for (measure, [before, after]) in [(Measure::Time, time), (Measure::Rate, both(Measure::Rate))] {
            let p = chance(&before.stretches, &after.stretches);
            tested.push(Change { what: what.clone(), measure, before: before.mean, after: after.mean, p });
        }
    }
    // Each further comparison is one more chance to be wrong.
    let limit = MISTAKES / f64::from(comparisons.max(1));
    let mut changed: Vec<Change> = tested.into_iter().filter(|c| c.p <= limit && c.percent().abs() >= least).collect();
    changed.sort_by(|x, y| (y.after - y.before).abs().total_cmp(&(x.after - x.before).abs()));
    changed
}

fn show(a: &Profile, b: &Profile, changes: &[Change]) -> String {
    let mut text = String::new();
    if a.kernel != b.kernel {
        let _ = writeln!(text, "kernel: {} -> {}", a.kernel, b.kernel);
    }
    for (name, before) in &a.settings {
        if let Some(after) = b.settings.get(name).filter(|after| *after != before) {
            let _ = writeln!(text, "{name}: {before} -> {after}");
        }
    }
    for change in changes {
        let (unit, scale) = if change.measure == Measure::Time { ("us/s", 1e-3) } else { ("runs/s", 1.0) };
        let _ = writeln!(
            text,
            "{:<44} {:>12.1} -> {:>12.1} {unit:<6} {:>+8.1} %  (chance {:.1e})",
            change.what,
            change.before * scale,
            change.after * scale,
            change.percent(),
            change.p
        );
    }
    if a.all_lengths_ns().len().min(b.all_lengths_ns().len()) < BLOCKS {
        let _ =
            writeln!(text, "the runs are too short to tell a change for sure: {BLOCKS} seconds at least, better 60");
    }
    if changes.is_empty() {
        text.push_str("no source changed by more than the runs vary by themselves\n");
    }
    text
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<ExitCode, CliError> {
    let (a, b) = match (profile::read(&args.a), profile::read(&args.b)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(error), _) | (_, Err(error)) => {
            let _ = std::io::Write::write_all(&mut stdio::err(), format!("probescope: {error}\n").as_bytes());
            return Ok(ExitCode::from(2));
        }
    };
    let changes = compare(&a, &b, args.least);
    std::io::Write::write_all(&mut stdio::out(), show(&a, &b, &changes).as_bytes()).map_err(CliError::stdout)?;
    Ok(if changes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::latency::{Distribution, NoiseClass};

    /// Numbers that look random and are the same in every run.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// A run of a minute with 30 sources, each with bursts; source 0 takes `factor` times its time.
    fn run(random: &mut Random, factor: f64) -> Profile {
        let source = |n: usize, random: &mut Random| {
            let scale = 5_000_000.0 * (n + 1) as f64 * if n == 0 { factor } else { 1.0 };
            let value = |random: &mut Random| {
                let burst = if random.next() < 0.1 { 3.0 } else { 1.0 };
                (scale * (0.8 + 0.4 * random.next()) * if n == 0 { 1.0 } else { burst }) as u64
            };
            Source {
                class: NoiseClass::Irq,
                name: format!("source:{n}"),
                counts: (0..60).map(|_| 1000).collect(),
                net_ns: (0..60).map(|_| value(random)).collect(),
                max_ns: 1,
                lengths: Distribution::default(),
            }
        };
        Profile {
            version: 1,
            kernel: String::new(),
            cpus: vec![0],
            topology: std::collections::BTreeMap::new(),
            settings: std::collections::BTreeMap::new(),
            interval_ns: 1_000_000_000,
            lengths_ns: Vec::new(),
            sources: (0..30).map(|n| source(n, random)).collect(),
        }
    }

    #[test]
    fn runs_of_one_machine_are_not_told_apart_and_a_change_is() {
        let mut random = Random(0x1234_5678_9abc_def1);
        let mut false_changes = 0;
        let mut found = 0;
        for _ in 0..10 {
            let a = run(&mut random, 1.0);
            false_changes += usize::from(!compare(&a, &run(&mut random, 1.0), 10.0).is_empty());
            let changes = compare(&a, &run(&mut random, 1.2), 10.0);
            found += usize::from(changes.iter().any(|c| c.what == "IRQ source:0" && (c.percent() - 20.0).abs() < 8.0));
        }
        assert!(false_changes <= 1, "{false_changes} of 10 A/A comparisons told of a change");
        assert_eq!(found, 10, "a change of 20 % is found");
    }

    #[test]
    fn a_run_that_does_not_divide_evenly_tells_as_much() {
        let values: Vec<u64> = (0..60).collect();
        let lengths_ns = [1_000_000_000; 60];
        let counts = [12, 13, 23, 24, 59, 60].map(|long| amounts(&values[..long], &lengths_ns[..long]).stretches.len());
        assert_eq!(counts, [12, 13, 23, 12, 14, 12]);
    }

    #[test]
    fn an_interval_that_was_read_late_is_no_change() {
        let mut random = Random(7);
        let late = |factor, random: &mut Random| {
            let mut run = run(random, factor);
            run.lengths_ns = (0..60).map(|n| [1_900_000_000, 100_000_000][n % 2]).collect();
            for source in &mut run.sources {
                for (n, amount) in source.net_ns.iter_mut().enumerate() {
                    *amount = *amount * [19, 1][n % 2] / 10;
                }
            }
            run
        };
        let (a, same, more) = (run(&mut random, 1.0), late(1.0, &mut random), late(1.2, &mut random));
        assert!(!compare(&a, &same, 10.0).iter().any(|c| c.what == "IRQ source:0" && c.measure == Measure::Time));
        let changes = compare(&a, &more, 10.0);
        let found = changes.iter().find(|c| c.what == "IRQ source:0" && c.measure == Measure::Time);
        assert!(found.is_some_and(|c| (c.percent() - 20.0).abs() < 8.0), "{changes:?}");
    }

    #[test]
    fn a_source_that_is_new_is_a_change() {
        let mut random = Random(99);
        let (a, mut b) = (run(&mut random, 1.0), run(&mut random, 1.0));
        b.sources.push(Source { name: "new:1".into(), net_ns: vec![900_000; 60], ..b.sources[0].clone() });
        let changes = compare(&a, &b, 10.0);
        assert!(changes.iter().any(|c| c.what == "IRQ new:1"), "{changes:?}");
        assert!(show(&a, &b, &changes).contains("IRQ new:1"));
    }

    #[test]
    fn a_change_of_next_to_nothing_is_no_matter() {
        let mut random = Random(5);
        let (mut a, mut b) = (run(&mut random, 1.0), run(&mut random, 1.0));
        let small = |net_ns| Source { name: "ipi:251".into(), net_ns: vec![net_ns; 60], ..a.sources[0].clone() };
        let (before, after, more) = (small(40_000), small(80_000), small(240_000));
        a.sources.push(before);
        b.sources.push(after);
        assert!(!compare(&a, &b, 10.0).iter().any(|c| c.what == "IRQ ipi:251"));
        *b.sources.last_mut().unwrap() = more;
        assert!(compare(&a, &b, 10.0).iter().any(|c| c.what == "IRQ ipi:251"));
    }

    #[test]
    fn chances_are_those_of_the_tables() {
        assert!((two_sided(1.96) - 0.05).abs() < 1e-3 && (two_sided(3.29) - 0.001).abs() < 1e-4);
        assert!(chance(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]) > 0.9);
    }
}
