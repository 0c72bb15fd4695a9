//! A row a CPU, in rtla's columns and names, with percentiles, the top source and a sparkline.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::figures::us;
use super::moment::Shown;
use super::{Context, LatencyPane};
use crate::model::latency::{CpuTotal, Distribution, LatencyStat, Mode, NoiseClass, SourceStat};
use crate::tui::base::paint::{put, put_end, sparkline, style_row};
use crate::tui::base::text::{fit, neutralise, width};
use crate::tui::base::theme::Slot;

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

/// What CPUs are folded into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fold {
    /// Each has a row.
    #[default]
    None,
    /// Their NUMA nodes.
    Node,
    /// Those that share their last level of cache.
    Cache,
    /// Their cores.
    Core,
    /// Those that are kept free, and the others.
    Isolated,
}

impl Fold {
    /// The one after it.
    pub const fn next(self) -> Self {
        match self {
            Self::None => Self::Node,
            Self::Node => Self::Cache,
            Self::Cache => Self::Core,
            Self::Core => Self::Isolated,
            Self::Isolated => Self::None,
        }
    }

    /// As it is told.
    pub const fn about(self) -> &'static str {
        match self {
            Self::None => "A row a CPU",
            Self::Node => "A row a NUMA node; Enter opens it",
            Self::Cache => "A row for the CPUs that share their last level of cache; Enter opens it",
            Self::Core => "A row a core; Enter opens it",
            Self::Isolated => "A row for isolated CPUs and one for the others; Enter opens it",
        }
    }

    fn group(self, shown: &Shown<'_>, cpu: u32) -> u32 {
        let place = shown.meter.and_then(|meter| meter.places.iter().find(|p| p.cpu == cpu));
        place.map_or(0, |place| match self {
            Self::None => 0,
            Self::Node => place.node,
            Self::Cache => place.cache,
            Self::Core => place.core.first().copied().unwrap_or(cpu),
            Self::Isolated => u32::from(!place.isolated),
        })
    }

    fn name(self, group: u32) -> String {
        match self {
            Self::None => group.to_string(),
            Self::Node => format!("N{group}"),
            Self::Cache => format!("L{group}"),
            Self::Core => format!("C{group}"),
            Self::Isolated => if group == 0 { "iso" } else { "rest" }.to_owned(),
        }
    }
}

/// The CPUs, in order: those of a group stand together.
pub fn order(pane: &LatencyPane, shown: &Shown<'_>) -> Vec<u32> {
    let mut cpus: Vec<u32> = shown.totals.cpus.keys().copied().collect();
    if let Some(column) = columns(shown.mode()).iter().find(|c| Some(c.title) == pane.sort) {
        let value = |cpu: &u32| shown.totals.cpus.get(cpu).and_then(column.of).unwrap_or(-1.0);
        cpus.sort_by(|a, b| value(b).total_cmp(&value(a)));
    }
    if pane.ascending {
        cpus.reverse();
    }
    if pane.fold != Fold::None {
        cpus.sort_by_key(|cpu| pane.fold.group(shown, *cpu));
    }
    cpus
}

/// A row: its name and which of the ordered CPUs it is of.
type Row = (String, Range<usize>);

fn rows_of(pane: &LatencyPane, shown: &Shown<'_>, order: &[u32]) -> Vec<Row> {
    if pane.fold == Fold::None {
        return order.iter().enumerate().map(|(at, cpu)| (label(shown, *cpu), at..at + 1)).collect();
    }
    let mut from = 0;
    let of = |group: &[u32]| {
        let row = (pane.fold.name(pane.fold.group(shown, group[0])), from..from + group.len());
        from += group.len();
        row
    };
    order.chunk_by(|a, b| pane.fold.group(shown, *a) == pane.fold.group(shown, *b)).map(of).collect()
}

/// Which row has the chosen CPU.
fn chosen(pane: &LatencyPane, rows: &[Row]) -> usize {
    rows.iter().position(|(_, cpus)| cpus.contains(&pane.row)).unwrap_or(rows.len().saturating_sub(1))
}

/// The chosen CPU so many rows further.
pub fn moved(pane: &LatencyPane, shown: &Shown<'_>, by: isize) -> usize {
    let rows = rows_of(pane, shown, &order(pane, shown));
    let to = chosen(pane, &rows).saturating_add_signed(by).min(rows.len().saturating_sub(1));
    rows.get(to).map_or(0, |(_, cpus)| cpus.start)
}

/// The chosen CPU's place once rows are folded otherwise.
pub fn folded(pane: &mut LatencyPane, shown: &Shown<'_>, fold: Fold) {
    let cpu = shown.cpu(pane);
    pane.fold = fold;
    pane.row = order(pane, shown).iter().position(|c| Some(*c) == cpu).unwrap_or(0);
}

/// The column that comes after the one that rows are sorted by.
pub fn next_sort(pane: &LatencyPane, shown: &Shown<'_>) -> Option<&'static str> {
    let titles = sortable(shown.mode());
    match pane.sort.and_then(|title| titles.iter().position(|t| *t == title)) {
        None => titles.first().copied(),
        Some(at) => titles.get(at + 1).copied(),
    }
}

/// Some CPUs as one.
fn sum<'a>(totals: impl Iterator<Item = &'a CpuTotal>) -> CpuTotal {
    let mut sum = CpuTotal::default();
    for total in totals {
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
fn top(total: &CpuTotal) -> Option<&SourceStat> {
    total.sources.iter().find(|s| s.class != NoiseClass::Timer && s.name != "others")
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
        let of = |cpus: &[u32]| {
            let mut totals = cpus.iter().filter_map(|cpu| shown.totals.cpus.get(cpu));
            if let [_] = cpus {
                return totals.next().map(cells).unwrap_or_default();
            }
            let mut cells = cells(&sum(totals));
            // All of them together have none of now.
            let now = cells.iter_mut().zip(columns).filter(|(_, c)| c.title.ends_with("cur"));
            now.for_each(|(cell, _)| *cell = "-".into());
            cells
        };
        let all = rows_of(pane, shown, &order);
        let mut rows: Vec<(String, Vec<String>)> =
            all.into_iter().map(|(name, cpus)| (name, of(&order[cpus]))).collect();
        if rows.len() > 1 {
            rows.push(("ALL".to_owned(), of(&order)));
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
    let of = rows_of(pane, shown, &order);
    let chosen = chosen(pane, &of);
    let rows = usize::from(area.height).saturating_sub(1);
    let first = (chosen + 1).saturating_sub(rows.max(1));
    for (y, (at, (name, cells))) in table.rows.iter().enumerate().skip(first).take(rows).enumerate() {
        let y = y + 1;
        put_end(buf, area, 4, y, name, theme[Slot::Figure].patch(theme[Slot::Value]));
        for (cell, end) in cells.iter().zip(&ends) {
            put_end(buf, area, *end, y, cell, theme[Slot::Value]);
        }
        let Some(cpus) = of.get(at).map(|(_, cpus)| &order[cpus.clone()]) else { continue };
        let tops = cpus.iter().filter_map(|cpu| shown.totals.cpus.get(cpu).and_then(top));
        if let Some(top) = tops.max_by_key(|s| s.net_ns).filter(|_| source > 0) {
            put(buf, area, end + 2, y, &fit(&neutralise(&top.name), source), theme[Slot::Dim]);
        }
        if let ([cpu], true) = (cpus, spark >= SPARK) {
            let kind = shown.headline();
            let mut worst: Vec<u64> =
                shown.cells().rev().filter(|c| c.cpu == *cpu).take(spark).map(|c| c.worst_ns[kind]).collect();
            worst.reverse();
            put(buf, area, end + 3 + source, y, &sparkline(worst.iter().copied(), spark), theme[Slot::Spark]);
        }
        if at == chosen && ctx.focused {
            style_row(buf, area, y, theme[Slot::Selected]);
        }
    }
}

/// The chosen CPU at a line of the table.
pub fn row_at(pane: &LatencyPane, shown: &Shown<'_>, height: usize, line: usize) -> Option<usize> {
    let of = rows_of(pane, shown, &order(pane, shown));
    let rows = height.saturating_sub(1).max(1);
    let first = (chosen(pane, &of) + 1).saturating_sub(rows);
    of.get(first + line.checked_sub(1)?).map(|(_, cpus)| cpus.start)
}

/// The table as text, with tabs.
pub fn text(pane: &LatencyPane, shown: &Shown<'_>) -> String {
    let table = Table::of(pane, shown, usize::MAX / 2);
    let mut lines = vec![format!("CPU\t{}", table.titles.join("\t"))];
    lines.extend(table.rows.iter().map(|(name, cells)| format!("{name}\t{}", cells.join("\t"))));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::latency::{CpuPlace, CpuSample, MeterInfo, Totals};
    use crate::store::TraceInfo;
    use crate::tui::data::latency::Run;

    /// Two nodes, whose CPUs' numbers alternate; what each CPU's timers were late by is its number.
    fn on_two_nodes(test: impl FnOnce(&Shown<'_>)) {
        let place = |cpu: u32| CpuPlace { cpu, node: cpu % 2, cache: cpu % 2, core: vec![cpu], isolated: cpu == 3 };
        let meter = MeterInfo { places: (0..4).map(place).collect(), ..MeterInfo::default() };
        let mut totals = Totals::default();
        for cpu in 0..4 {
            let mut late = LatencyStat::default();
            late.record(u64::from(cpu) * 1000);
            totals.add(&CpuSample { cpu, period_ns: 1, passive: Some(late), ..CpuSample::default() });
        }
        let (info, run) = (std::sync::Arc::new(TraceInfo::default()), Run::default());
        test(&Shown { info: &info, meter: Some(&meter), totals: &totals, at_ns: 0, run: &run });
    }

    #[test]
    fn a_node_is_a_row_with_the_sums_of_its_cpus() {
        on_two_nodes(|shown| {
            let mut pane = LatencyPane::default();
            folded(&mut pane, shown, Fold::Node);
            let table = text(&pane, shown);
            let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
            let max = rows[0].iter().position(|title| *title == "max").unwrap();
            let told: Vec<_> = rows[1..].iter().map(|row| (row[0], row[1], row[max])).collect();
            assert_eq!(told, [("N0", "2", "2.0"), ("N1", "2", "3.0"), ("ALL", "4", "3.0")]);
            // Down goes to the next node, and opening it keeps its CPU.
            pane.row = moved(&pane, shown, 1);
            assert_eq!(shown.cpu(&pane), Some(1));
            assert_eq!((row_at(&pane, shown, 10, 1), row_at(&pane, shown, 10, 2)), (Some(0), Some(2)));
            folded(&mut pane, shown, Fold::None);
            assert_eq!((shown.cpu(&pane), order(&pane, shown)), (Some(1), vec![0, 1, 2, 3]));
            folded(&mut pane, shown, Fold::Isolated);
            assert_eq!(text(&pane, shown).lines().nth(1).unwrap().split('\t').next(), Some("iso"));
        });
    }
}
