//! A row a CPU, in rtla's columns and names, with percentiles, the top source and a sparkline.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::figures::us;
use super::moment::Shown;
use super::{Context, LatencyPane};
use crate::model::latency::{CpuTotal, Distribution, LatencyStat, Mode, NoiseClass, SourceStat, Totals};
use crate::tui::paint::{put, put_end, sparkline, style_row};
use crate::tui::text::{fit, neutralise, width};
use crate::tui::theme::Slot;

/// Columns kept for the sparkline at least, where there is one.
const SPARK: usize = 8;
/// Columns of the top source at least, and at most.
const SOURCE: (usize, usize) = (14, 28);

/// A column: its title, what is left out first where there is no room (the highest), and its cells.
struct Column {
    title: &'static str,
    rank: u8,
    of: fn(&CpuTotal) -> Option<f64>,
    text: fn(f64) -> String,
}

fn count(n: f64) -> String {
    format!("{n:.0}")
}

fn in_us(n: f64) -> String {
    us(n as u64)
}

fn percent(n: f64) -> String {
    format!("{n:.5}")
}

const fn times(title: &'static str, rank: u8, of: fn(&CpuTotal) -> Option<f64>) -> Column {
    Column { title, rank, of, text: in_us }
}

const fn number(title: &'static str, rank: u8, of: fn(&CpuTotal) -> Option<f64>) -> Column {
    Column { title, rank, of, text: count }
}

/// A percentile: lengths are known to a bucket, whose middle may lie over the longest of all.
fn at(lengths: &Distribution, percent: f64, max_ns: u64) -> Option<f64> {
    lengths.percentile_ns(percent).map(|ns| ns.min(max_ns) as f64)
}

fn stat(of: &LatencyStat, value: u64) -> Option<f64> {
    (of.count > 0).then_some(value as f64)
}

macro_rules! timer {
    ($kind:ident, $what:ident) => {
        |t| t.timer.as_ref().and_then(|t| stat(&t.$kind, t.$kind.$what))
    };
    ($kind:ident) => {
        |t| t.timer.as_ref().and_then(|t| t.$kind.mean_ns()).map(|ns| ns as f64)
    };
    ($kind:ident at $percent:literal) => {
        |t| t.timer.as_ref().and_then(|t| at(&t.$kind.lengths, $percent, t.$kind.max_ns))
    };
}

macro_rules! noise {
    ($($what:ident).+) => {
        |t| t.noise.as_ref().map(|n| n.$($what).+ as f64)
    };
    (at $percent:literal) => {
        |t| t.noise.as_ref().and_then(|n| at(&n.lengths, $percent, n.max_gap_ns))
    };
}

macro_rules! passive {
    ($what:ident) => {
        |t| stat(&t.passive, t.passive.$what)
    };
    (at $percent:literal) => {
        |t| at(&t.passive.lengths, $percent, t.passive.max_ns)
    };
}

fn rate(of: u64, total: &CpuTotal) -> Option<f64> {
    (total.measured_ns > 0).then(|| of as f64 * 1e9 / total.measured_ns as f64)
}

static TIMERLAT: &[Column] = &[
    number("COUNT", 3, timer!(irq, count)),
    times("IRQ cur", 6, timer!(irq, current_ns)),
    times("min", 8, timer!(irq, min_ns)),
    times("avg", 5, timer!(irq)),
    times("max", 2, timer!(irq, max_ns)),
    times("Thr cur", 5, timer!(thread, current_ns)),
    times("min", 8, timer!(thread, min_ns)),
    times("avg", 4, timer!(thread)),
    times("max", 1, timer!(thread, max_ns)),
    times("Usr cur", 9, timer!(user, current_ns)),
    times("min", 9, timer!(user, min_ns)),
    times("avg", 9, timer!(user)),
    times("max", 7, timer!(user, max_ns)),
    times("p50", 6, timer!(thread at 50.0)),
    times("p99", 3, timer!(thread at 99.0)),
    times("p99.9", 4, timer!(thread at 99.9)),
];

static OSNOISE: &[Column] = &[
    number("Period", 8, noise!(periods)),
    times("Runtime", 9, noise!(runtime_ns)),
    times("Noise", 2, noise!(noise_ns)),
    Column {
        title: "% CPU Aval",
        rank: 3,
        of: |t| t.noise.as_ref().map(|n| n.available_e5() as f64 / 1e5),
        text: percent,
    },
    times("Max Noise", 5, noise!(max_noise_ns)),
    times("Max Single", 1, noise!(max_gap_ns)),
    number("HW", 4, noise!(hardware)),
    number("NMI", 7, noise!(entries.nmi)),
    number("IRQ", 4, noise!(entries.irq)),
    number("Softirq", 5, noise!(entries.softirq)),
    number("Thread", 4, noise!(entries.thread)),
    times("Residual", 7, |t| t.noise.as_ref().map(|n| n.residual_ns.max(0) as f64)),
    times("p50", 8, noise!(at 50.0)),
    times("p99", 5, noise!(at 99.0)),
    times("p99.9", 6, noise!(at 99.9)),
];

static PASSIVE: &[Column] = &[
    number("COUNT", 5, passive!(count)),
    times("avg", 3, |t| t.passive.mean_ns().map(|ns| ns as f64)),
    times("max", 1, passive!(max_ns)),
    times("p50", 4, passive!(at 50.0)),
    times("p99", 2, passive!(at 99.0)),
    times("p99.9", 4, passive!(at 99.9)),
    number("NMI/s", 9, |t| rate(t.entries.nmi, t)),
    number("IRQ/s", 6, |t| rate(t.entries.irq, t)),
    number("Softirq/s", 7, |t| rate(t.entries.softirq, t)),
    number("Thread/s", 8, |t| rate(t.entries.thread, t)),
];

const fn columns(mode: Mode) -> &'static [Column] {
    match mode {
        Mode::Timerlat => TIMERLAT,
        Mode::Osnoise => OSNOISE,
        Mode::Passive => PASSIVE,
    }
}

/// The titles that rows can be sorted by, each once: of several with one title the first.
fn sortable(mode: Mode) -> Vec<&'static str> {
    let mut titles = Vec::new();
    for column in columns(mode) {
        if !titles.contains(&column.title) {
            titles.push(column.title);
        }
    }
    titles
}

/// The CPUs, in order.
pub fn order(pane: &LatencyPane, shown: &Shown<'_>) -> Vec<u32> {
    let mut cpus: Vec<u32> = shown.totals.cpus.keys().copied().collect();
    if let Some(column) = columns(shown.mode()).iter().find(|c| Some(c.title) == pane.sort) {
        let value = |cpu: &u32| shown.totals.cpus.get(cpu).and_then(column.of).unwrap_or(-1.0);
        cpus.sort_by(|a, b| value(b).total_cmp(&value(a)));
    }
    if pane.ascending {
        cpus.reverse();
    }
    cpus
}

/// The column that comes after the one that rows are sorted by.
pub fn next_sort(pane: &LatencyPane, shown: &Shown<'_>) -> Option<&'static str> {
    let titles = sortable(shown.mode());
    match pane.sort.and_then(|title| titles.iter().position(|t| *t == title)) {
        None => titles.first().copied(),
        Some(at) => titles.get(at + 1).copied(),
    }
}

/// All CPUs as one.
fn all(totals: &Totals) -> CpuTotal {
    let mut sum = CpuTotal::default();
    for total in totals.cpus.values() {
        sum.measured_ns += total.measured_ns;
        sum.entries.add(&total.entries);
        if let Some(noise) = &total.noise {
            sum.noise.get_or_insert_default().add(noise);
        }
        if let Some(timer) = &total.timer {
            sum.timer.get_or_insert_default().add(timer);
        }
        sum.passive.add(&total.passive);
    }
    sum
}

/// What took most time: timers are late, they take none.
pub fn top_source(total: &CpuTotal) -> Option<&str> {
    let named = |s: &&SourceStat| s.class != NoiseClass::Timer && s.name != "others";
    total.sources.iter().find(named).map(|s| s.name.as_str())
}

/// The thread that took most of the chosen CPU.
pub fn thread(pane: &LatencyPane, shown: &Shown<'_>) -> Option<u32> {
    let total = shown.totals.cpus.get(&shown.cpu(pane)?)?;
    let mut threads = total.sources.iter().filter(|source| source.class == NoiseClass::Thread);
    threads.find_map(|source| super::task::pid_of(&source.name))
}

/// One table ready to be drawn.
struct Table {
    titles: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
    widths: Vec<usize>,
}

impl Table {
    fn of(pane: &LatencyPane, shown: &Shown<'_>, room: usize) -> Self {
        let columns = columns(shown.mode());
        let order = order(pane, shown);
        let cells = |total: &CpuTotal| -> Vec<String> {
            columns.iter().map(|c| (c.of)(total).map_or_else(|| "-".to_owned(), c.text)).collect()
        };
        let mut rows: Vec<(String, Vec<String>)> =
            order.iter().filter_map(|cpu| Some((label(shown, *cpu), cells(shown.totals.cpus.get(cpu)?)))).collect();
        if rows.len() > 1 {
            let mut sum = cells(&all(shown.totals));
            // All of them together have none of now.
            sum.iter_mut()
                .zip(columns)
                .filter(|(_, c)| c.title.ends_with("cur"))
                .for_each(|(cell, _)| *cell = "-".into());
            rows.push(("ALL".to_owned(), sum));
        }
        let mut titles: Vec<String> = columns.iter().map(|c| c.title.to_owned()).collect();
        let mut ranks: Vec<u8> = columns.iter().map(|c| c.rank).collect();
        if let Some(at) = columns.iter().position(|c| Some(c.title) == pane.sort) {
            titles[at].insert(0, if pane.ascending { '↑' } else { '↓' });
        }
        let widths = |titles: &[String], rows: &[(String, Vec<String>)]| -> Vec<usize> {
            let of =
                |n: usize| rows.iter().map(|(_, cells)| width(&cells[n])).max().unwrap_or(0).max(width(&titles[n]));
            (0..titles.len()).map(of).collect()
        };
        loop {
            let wide = widths(&titles, &rows);
            let used = 5 + wide.iter().map(|w| w + 1).sum::<usize>();
            let last = ranks.iter().enumerate().max_by_key(|(_, rank)| **rank).map(|(n, _)| n);
            match last {
                Some(n) if used > room && titles.len() > 1 => {
                    titles.remove(n);
                    ranks.remove(n);
                    rows.iter_mut().for_each(|(_, cells)| drop(cells.remove(n)));
                }
                _ => return Self { titles, rows, widths: wide },
            }
        }
    }
}

/// A CPU as its row is named: isolated ones have an `i`.
fn label(shown: &Shown<'_>, cpu: u32) -> String {
    let place = shown.meter.and_then(|meter| meter.places.iter().find(|p| p.cpu == cpu));
    let isolated = if place.is_some_and(|p| p.isolated) { "i" } else { "" };
    format!("{cpu}{isolated}")
}

/// Paints the table.
pub fn draw(pane: &LatencyPane, ctx: &Context<'_>, shown: &Shown<'_>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let table = Table::of(pane, shown, usize::from(area.width));
    let mut ends = Vec::new();
    let mut end = 4;
    for wide in &table.widths {
        end += wide + 1;
        ends.push(end);
    }
    let look = theme[Slot::Heading];
    put_end(buf, area, 4, 0, "CPU", look);
    for (title, end) in table.titles.iter().zip(&ends) {
        put_end(buf, area, *end, 0, title, look);
    }
    let order = order(pane, shown);
    let left = usize::from(area.width).saturating_sub(end + 2);
    let source = if left >= SOURCE.0 { left.saturating_sub(SPARK + 1).clamp(SOURCE.0, SOURCE.1) } else { 0 };
    let spark = left.saturating_sub(source + 1);
    if source > 0 {
        put(buf, area, end + 2, 0, &fit("top source", source), look);
    }
    let rows = usize::from(area.height).saturating_sub(1);
    let first = (pane.row.min(order.len().saturating_sub(1)) + 1).saturating_sub(rows.max(1));
    for (y, (at, (name, cells))) in table.rows.iter().enumerate().skip(first).take(rows).enumerate() {
        let y = y + 1;
        put_end(buf, area, 4, y, name, theme[Slot::Figure].patch(theme[Slot::Value]));
        for (cell, end) in cells.iter().zip(&ends) {
            put_end(buf, area, *end, y, cell, theme[Slot::Value]);
        }
        let Some(cpu) = order.get(at) else { continue };
        if let Some(top) = shown.totals.cpus.get(cpu).and_then(top_source).filter(|_| source > 0) {
            put(buf, area, end + 2, y, &fit(&neutralise(top), source), theme[Slot::Dim]);
        }
        if spark >= SPARK {
            let kind = shown.headline();
            let mut worst: Vec<u64> =
                shown.cells().rev().filter(|c| c.cpu == *cpu).take(spark).map(|c| c.worst_ns[kind]).collect();
            worst.reverse();
            put(buf, area, end + 3 + source, y, &sparkline(worst.iter().copied(), spark), theme[Slot::Spark]);
        }
        if at == pane.row && ctx.focused {
            style_row(buf, area, y, theme[Slot::Selected]);
        }
    }
}

/// The row at a line of the table.
pub fn row_at(pane: &LatencyPane, shown: &Shown<'_>, height: usize, line: usize) -> Option<usize> {
    let order = order(pane, shown);
    let rows = height.saturating_sub(1).max(1);
    let first = (pane.row.min(order.len().saturating_sub(1)) + 1).saturating_sub(rows);
    let row = first + line.checked_sub(1)?;
    (row < order.len()).then_some(row)
}

/// The table as text, with tabs.
pub fn text(pane: &LatencyPane, shown: &Shown<'_>) -> String {
    let table = Table::of(pane, shown, usize::MAX / 2);
    let mut lines = vec![format!("CPU\t{}", table.titles.join("\t"))];
    lines.extend(table.rows.iter().map(|(name, cells)| format!("{name}\t{}", cells.join("\t"))));
    lines.join("\n")
}
