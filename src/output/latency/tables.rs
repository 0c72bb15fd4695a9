//! The tables of `top` and `hist`.

use std::fmt::Write as _;

use super::us;
use crate::model::latency::{Buckets, LatencyStat, NoiseClass, NoiseSample, TimerSample, Totals};

/// What a table is about.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Nanoseconds instead of microseconds.
    pub ns: bool,
    /// A column of the latency back in user space.
    pub user: bool,
    /// Colours of the headings.
    pub colour: bool,
    /// The columns that rtla does not have: residual and percentiles.
    pub more: bool,
}

impl Look {
    const fn unit(self, ns: u64) -> u64 {
        if self.ns { ns } else { ns / 1000 }
    }

    const fn unit_name(self) -> &'static str {
        if self.ns { "ns" } else { "us" }
    }

    fn heading(self, text: &str, colours: &str) -> String {
        if self.colour { format!("\x1b[{colours}m{text}\x1b[0;0;0m\n") } else { format!("{text}\n") }
    }
}

/// The table of whatever was measured.
#[must_use]
pub fn of(totals: &Totals) -> String {
    let longest = totals.cpus.values().map(|cpu| cpu.measured_ns).max().unwrap_or(0);
    let elapsed = super::duration(longest / 1_000_000_000);
    let (timer, noise) = (totals.timer(), totals.noise());
    let look = Look { ns: false, user: timer.iter().any(|(_, t)| t.user.count > 0), colour: false, more: true };
    if !timer.is_empty() {
        timerlat_top(look, &elapsed, &timer)
    } else if noise.is_empty() {
        passive_top(&elapsed, totals)
    } else {
        osnoise_top(look, "Operating System Noise", &elapsed, &noise, false)
    }
}

/// How late the kernel's own timers were, and what took most time.
#[must_use]
pub fn passive_top(duration: &str, totals: &Totals) -> String {
    let mut text = format!("{duration:<6}   | Timers of the system, how late they were (us)\n");
    let _ = writeln!(text, "CPU COUNT      |      avg       max       p50       p99     p99.9 | top source");
    for (cpu, total) in &totals.cpus {
        let stat = &total.passive;
        let at = |percent| stat.lengths.percentile_ns(percent).map_or_else(|| "-".to_owned(), us);
        let top = total.sources.iter().find(|s| s.class != NoiseClass::Timer).map_or("", |s| s.name.as_str());
        let _ = writeln!(
            text,
            "{cpu:3} #{:<9} |{:>9} {:>9} {:>9} {:>9} {:>9} | {top}",
            stat.count,
            stat.mean_ns().map_or_else(|| "-".to_owned(), us),
            us(stat.max_ns),
            at(50.0),
            at(99.0),
            at(99.9),
        );
    }
    text
}

/// rtla's `Timer Latency` table.
#[must_use]
pub fn timerlat_top(look: Look, duration: &str, rows: &[(u32, TimerSample)]) -> String {
    let mut text = look.heading(&format!("{:>50}{:46}", "Timer Latency", ""), "2;37;40");
    let unit = look.unit_name();
    let _ = write!(
        text,
        "{duration:<6}   |          IRQ Timer Latency ({unit})        |         Thread Timer Latency ({unit})"
    );
    if look.user {
        let _ = write!(text, "      |    Ret user Timer Latency ({unit})");
    }
    text.push('\n');
    let four = "      cur       min       avg       max";
    let mut columns = format!("CPU COUNT      |{four} |{four}");
    if look.user {
        let _ = write!(columns, " |{four}");
    }
    if look.more {
        columns.push_str(" |  thr p50       p99     p99.9");
    }
    text.push_str(&look.heading(&columns, "2;30;47"));
    let mut all = TimerSample::default();
    for (cpu, sample) in rows {
        if sample.irq.count + sample.thread.count + sample.user.count == 0 {
            continue;
        }
        all.add(sample);
        let _ = write!(
            text,
            "{cpu:3} #{:<9} |{} |{}",
            sample.irq.count,
            cells(look, &sample.irq, true),
            cells(look, &sample.thread, true)
        );
        if look.user {
            let _ = write!(text, " |{}", cells(look, &sample.user, true));
        }
        if look.more {
            text.push_str(&percentiles(look, &sample.thread));
        }
        text.push('\n');
    }
    if all.irq.count > 0 {
        let dashes = |n: usize| "-".repeat(n);
        let _ = write!(text, "{}|{}|{}", dashes(15), dashes(40), dashes(39));
        if look.user {
            let _ = write!(text, "-|{}", dashes(39));
        }
        let (count, exponent) = shortened(all.irq.count);
        let _ = write!(
            text,
            "\nALL #{count:<6} e{exponent} |{} |{}",
            cells(look, &all.irq, false),
            cells(look, &all.thread, false)
        );
        if look.user {
            let _ = write!(text, " |{}", cells(look, &all.user, false));
        }
        text.push('\n');
    }
    text
}

fn cells(look: Look, stat: &LatencyStat, current: bool) -> String {
    if stat.count == 0 {
        return if current { ["        -"; 4].join(" ") } else { format!("{:9} {}", "", ["        -"; 3].join(" ")) };
    }
    let first = if current { format!("{:9}", look.unit(stat.current_ns)) } else { " ".repeat(9) };
    let mean = stat.mean_ns().unwrap_or(0);
    format!("{first} {:9} {:9} {:9}", look.unit(stat.min_ns), look.unit(mean), look.unit(stat.max_ns))
}

fn percentiles(look: Look, stat: &LatencyStat) -> String {
    let at = |percent| stat.lengths.percentile_ns(percent).map_or("-".to_owned(), |ns| look.unit(ns).to_string());
    format!(" |{:>9} {:>9} {:>9}", at(50.0), at(99.0), at(99.9))
}

/// A count of at most six digits and the power of ten that it is to be multiplied by.
const fn shortened(count: u64) -> (u64, u32) {
    let (mut count, mut exponent) = (count, 0);
    while count > 999_999 {
        count /= 10;
        exponent += 1;
    }
    (count, exponent)
}

/// rtla's `Operating System Noise` table; times in us.
#[must_use]
pub fn osnoise_top(look: Look, title: &str, duration: &str, rows: &[(u32, NoiseSample)], hwnoise: bool) -> String {
    let mut text = look.heading(&format!("{:>62}{:39}", title, ""), "2;37;40");
    let _ = writeln!(text, "duration: {duration:>9} | time is in us");
    let mut columns =
        "CPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single          HW          NMI"
            .to_owned();
    if !hwnoise {
        columns.push_str("          IRQ      Softirq       Thread");
    }
    if look.more {
        columns.push_str("     Residual       <0");
    }
    text.push_str(&look.heading(&columns, "2;30;47"));
    for (cpu, sample) in rows.iter().filter(|(_, sample)| sample.periods > 0) {
        let us = |ns: u64| ns / 1000;
        let available = sample.available_e5();
        let _ = write!(
            text,
            "{cpu:3} #{:<6} {:12} {:12}   {:3}.{:05}{:12} {:12}{:12} {:12}",
            sample.periods,
            us(sample.runtime_ns),
            us(sample.noise_ns),
            available / 100_000,
            available % 100_000,
            us(sample.max_noise_ns),
            us(sample.max_gap_ns),
            sample.hardware,
            sample.entries.nmi,
        );
        if !hwnoise {
            let _ =
                write!(text, " {:12} {:12} {:12}", sample.entries.irq, sample.entries.softirq, sample.entries.thread);
        }
        if look.more {
            let _ = write!(text, " {:12} {:8}", sample.residual_ns / 1000, sample.negative_residuals);
        }
        text.push('\n');
    }
    text
}

/// What a histogram shows.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "rtla's options, each independent")]
pub struct HistLook {
    /// Nanoseconds instead of microseconds.
    pub ns: bool,
    /// Leave out the title.
    pub no_header: bool,
    /// Leave out the lines below.
    pub no_summary: bool,
    /// Leave out the first column, and names of lines.
    pub no_index: bool,
    /// Show rows of zeros.
    pub with_zeros: bool,
}

/// One column of a histogram.
#[derive(Clone, Debug)]
pub struct Column<'a> {
    /// `IRQ-000`.
    pub name: String,
    /// Which of the sums of the `ALL:` block it belongs to: `IRQ`, `Thr`, `Usr`; empty for none.
    pub sum: &'static str,
    /// Its counts.
    pub buckets: &'a Buckets,
    /// The same samples, for the lines below.
    pub stat: LatencyStat,
}

/// rtla's histogram: a row a bucket, a column a CPU and latency.
#[must_use]
pub fn hist(look: HistLook, title: &str, duration: &str, columns: &[Column<'_>]) -> String {
    let mut text = String::new();
    if !look.no_header {
        let unit = if look.ns { "nanoseconds (ns)" } else { "microseconds (us)" };
        let _ = write!(text, "# RTLA {title} histogram\n# Time unit is {unit}\n# Duration: {duration}\n");
        if !look.no_index {
            text.push_str("Index");
        }
        for column in columns {
            let _ = write!(text, "   {}", column.name);
        }
        text.push('\n');
    }
    let divisor = if look.ns { 1 } else { 1000 };
    let entries = columns.iter().map(|c| c.buckets.counts.len()).max().unwrap_or(0);
    for entry in 0..entries {
        let counts: Vec<u64> = columns.iter().map(|c| c.buckets.counts.get(entry).copied().unwrap_or(0)).collect();
        if !look.with_zeros && counts.iter().all(|count| *count == 0) {
            continue;
        }
        if !look.no_index {
            let width = columns.first().map_or(1, |c| c.buckets.width_ns / divisor);
            let _ = write!(text, "{:<6}", entry as u64 * width);
        }
        line(&mut text, counts.into_iter());
    }
    if !look.no_index {
        text.push_str("over: ");
    }
    line(&mut text, columns.iter().map(|c| c.buckets.over));
    if !look.no_summary {
        let value = |ns: u64| ns / divisor;
        summary(&mut text, look, columns.iter().map(|c| &c.stat).collect::<Vec<_>>().as_slice(), value);
        if columns.iter().any(|c| !c.sum.is_empty()) {
            all(&mut text, look, columns, value);
        }
    }
    text
}

fn line(text: &mut String, values: impl Iterator<Item = u64>) {
    for value in values {
        let _ = write!(text, "{value:9} ");
    }
    text.push('\n');
}

fn summary(text: &mut String, look: HistLook, stats: &[&LatencyStat], value: impl Fn(u64) -> u64) {
    let rows: [(&str, &dyn Fn(&LatencyStat) -> u64); 4] = [
        ("count:", &|s| s.count),
        ("min:  ", &|s| value(s.min_ns)),
        ("avg:  ", &|s| value(s.mean_ns().unwrap_or(0))),
        ("max:  ", &|s| value(s.max_ns)),
    ];
    for (name, of) in rows {
        if !look.no_index {
            text.push_str(name);
        }
        line(text, stats.iter().map(|s| of(s)));
    }
}

fn all(text: &mut String, look: HistLook, columns: &[Column<'_>], value: impl Fn(u64) -> u64) {
    let mut sums: Vec<(&str, LatencyStat)> = Vec::new();
    for column in columns {
        match sums.iter_mut().find(|(name, _)| *name == column.sum) {
            Some((_, sum)) => sum.add(&column.stat),
            None => sums.push((column.sum, column.stat.clone())),
        }
    }
    text.push_str("ALL:  ");
    for (name, _) in &sums {
        let _ = write!(text, "      {name} ");
    }
    text.push('\n');
    summary(text, look, sums.iter().map(|(_, s)| s).collect::<Vec<_>>().as_slice(), value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(lengths: &[u64]) -> LatencyStat {
        let mut stat = LatencyStat::default();
        lengths.iter().for_each(|n| stat.record(*n));
        stat
    }

    const LOOK: Look = Look { ns: false, user: false, colour: false, more: false };

    #[test]
    fn timerlat_has_rtlas_columns() {
        let sample =
            TimerSample { irq: stat(&[1_500, 2_000]), thread: stat(&[9_999, 30_000]), ..TimerSample::default() };
        let rows = [
            (0, sample.clone()),
            (1, TimerSample::default()),
            (12, TimerSample { thread: LatencyStat::default(), ..sample }),
        ];
        let text = timerlat_top(LOOK, "  0 00:00:05", &rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1],
            "  0 00:00:05   |          IRQ Timer Latency (us)        |         Thread Timer Latency (us)"
        );
        assert_eq!(
            lines[2],
            "CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max"
        );
        assert_eq!(
            lines[3],
            "  0 #2         |        2         1         1         2 |       30         9        19        30"
        );
        assert_eq!(
            lines[4],
            " 12 #2         |        2         1         1         2 |        -         -         -         -"
        );
        assert_eq!(lines[5], format!("{}|{}|{}", "-".repeat(15), "-".repeat(40), "-".repeat(39)));
        assert_eq!(
            lines[6],
            "ALL #4      e0 |                  1         1         2 |                  9        19        30"
        );
        assert_eq!(shortened(12_345_678), (123_456, 2));
    }

    #[test]
    fn osnoise_has_rtlas_columns() {
        let sample = NoiseSample {
            periods: 2,
            runtime_ns: 2_000_000_000,
            noise_ns: 190_000,
            max_noise_ns: 100_000,
            max_gap_ns: 9_000,
            hardware: 18,
            residual_ns: -1_500,
            ..NoiseSample::default()
        };
        let text = osnoise_top(LOOK, "Operating System Noise", "  0 00:00:02", &[(1, sample.clone())], false);
        let row = "  1 #2           2000000          190    99.99050         100            9          18            0            0            0            0";
        assert_eq!(text.lines().nth(3), Some(row));
        let more = osnoise_top(Look { more: true, ..LOOK }, "", "", &[(1, sample)], false);
        assert!(more.lines().nth(3).unwrap().ends_with("           -1        0"), "a negative residual is shown");
    }

    #[test]
    fn histograms_follow_rtlas_rules() {
        let mut buckets = Buckets::new(100_000, 21);
        [50_000, 150_000, 3_000_000].iter().for_each(|n| buckets.record(*n));
        let column = |name: &str, sum| Column {
            name: name.into(),
            sum,
            buckets: &buckets,
            stat: stat(&[50_000, 150_000, 3_000_000]),
        };
        let columns = [column("IRQ-000", "IRQ"), column("Thr-000", "Thr")];
        let text = hist(HistLook::default(), "timerlat", "  0 00:00:01", &columns);
        assert!(text.starts_with("# RTLA timerlat histogram\n# Time unit is microseconds (us)\n"));
        assert!(
            text.contains("Index   IRQ-000   Thr-000\n0             1         1 \n100           1         1 \nover: "),
            "{text}"
        );
        assert!(
            text.contains("count:        3         3 \n") && text.contains("ALL:        IRQ       Thr \n"),
            "{text}"
        );
        let zeros = hist(HistLook { with_zeros: true, ..HistLook::default() }, "timerlat", "", &columns);
        assert!(zeros.contains("\n2000          0         0 \n"), "{zeros}");
        let bare = hist(
            HistLook { no_index: true, no_header: true, no_summary: true, ..HistLook::default() },
            "",
            "",
            &columns,
        );
        assert!(!bare.contains("count:") && !bare.contains("ALL:") && !bare.contains("RTLA"));
    }
}
