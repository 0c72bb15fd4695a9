//! What took the time: classes, the sources of each, and how long the runs of one were.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::figures::{class_name, class_style, time, us};
use super::moment::Shown;
use super::{Context, LatencyPane, Opened};
use crate::model::latency::{CpuTotal, Distribution, Mode, NoiseClass, SourceStat};
use crate::tui::base::paint::{bar, put, put_end, style_row};
use crate::tui::base::text::{fit, grouped, neutralise, short_count};
use crate::tui::base::theme::Slot;

/// Classes, in the order in which they interrupt one another; the residual, and late timers, which take no time.
const CLASSES: [Option<NoiseClass>; 7] = [
    Some(NoiseClass::Hardware),
    Some(NoiseClass::Nmi),
    Some(NoiseClass::Irq),
    Some(NoiseClass::Softirq),
    Some(NoiseClass::Thread),
    None,
    Some(NoiseClass::Timer),
];

/// What a row has.
#[derive(Clone, Debug, Default)]
struct Figures {
    count: u64,
    net_ns: u64,
    max_ns: Option<u64>,
    lengths: Distribution,
}

/// A row of the view.
enum Row {
    Class(Option<NoiseClass>, Figures),
    Source(Option<NoiseClass>, String, Figures),
    Bucket(u64, u64, u64),
}

/// Whose figures, and over how long.
struct Of<'a> {
    cpus: Vec<&'a CpuTotal>,
    measured_ns: u64,
    words: String,
}

fn of<'a>(pane: &'a LatencyPane, shown: &Shown<'a>) -> Of<'a> {
    if let Some(drilled) = &pane.drilled {
        let cpus: Vec<&CpuTotal> = drilled.totals.cpus.values().collect();
        let measured_ns = cpus.iter().map(|c| c.measured_ns).sum();
        let words = format!("CPU {} in {} to the moment held", drilled.cpu, time(drilled.to_ns - drilled.from_ns));
        return Of { cpus, measured_ns, words };
    }
    let chosen = shown.chosen(pane);
    let words = match chosen.as_slice() {
        [(cpu, _)] if !pane.all => format!("CPU {cpu}"),
        all => format!("{} CPUs", all.len()),
    };
    let measured_ns = chosen.iter().map(|(_, c)| c.measured_ns).sum();
    Of { cpus: chosen.into_iter().map(|(_, c)| c).collect(), measured_ns, words }
}

/// The sources of a class on some CPUs, those with the most time first.
fn sources(cpus: &[&CpuTotal], class: Option<NoiseClass>) -> Vec<SourceStat> {
    let mut all: Vec<SourceStat> = Vec::new();
    for source in cpus.iter().flat_map(|c| &c.sources).filter(|s| Some(s.class) == class) {
        match all.iter_mut().find(|s| s.name == source.name) {
            Some(known) => {
                known.count += source.count;
                known.net_ns += source.net_ns;
                known.max_ns = known.max_ns.max(source.max_ns);
                known.lengths.add(&source.lengths);
            }
            None => all.push(source.clone()),
        }
    }
    all.sort_by(|a, b| (b.net_ns, &a.name).cmp(&(a.net_ns, &b.name)));
    all
}

/// A class as a whole. Where a thread spins, hardware and the residual are those of its gaps.
fn class(cpus: &[&CpuTotal], class: Option<NoiseClass>, of: &[SourceStat]) -> Figures {
    let noise = || cpus.iter().filter_map(|c| c.noise.as_ref());
    match class {
        Some(NoiseClass::Hardware) => Figures {
            count: noise().map(|n| n.hardware).sum(),
            net_ns: noise().map(|n| n.hardware_ns).sum(),
            ..Figures::default()
        },
        None => Figures {
            count: noise().map(|n| n.gaps - n.hardware.min(n.gaps)).sum(),
            net_ns: noise().map(|n| n.residual_ns.max(0).unsigned_abs()).sum(),
            ..Figures::default()
        },
        _ => {
            let mut lengths = Distribution::default();
            of.iter().for_each(|s| lengths.add(&s.lengths));
            Figures {
                count: of.iter().map(|s| s.count).sum(),
                net_ns: of.iter().map(|s| s.net_ns).sum(),
                max_ns: of.iter().map(|s| s.max_ns).max(),
                lengths,
            }
        }
    }
}

fn buckets(lengths: &Distribution) -> Vec<(u64, u64)> {
    let mut counts = [0_u64; 64];
    for (ns, times) in lengths.iter() {
        counts[ns.max(1).ilog2() as usize] += times;
    }
    let used: Vec<usize> = (0..64).filter(|b| counts[*b] > 0).collect();
    let (Some(first), Some(last)) = (used.first(), used.last()) else { return Vec::new() };
    (*first..=*last).map(|b| (1 << b, counts[b])).collect()
}

fn rows(pane: &LatencyPane, of: &Of<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    let is_open = |class: Option<NoiseClass>, source: Option<&str>| {
        pane.opened.iter().any(|o| o.class == class && o.source.as_deref() == source)
    };
    for name in CLASSES {
        let found = sources(&of.cpus, name);
        let figures = class(&of.cpus, name, &found);
        if figures.count == 0 && figures.net_ns == 0 {
            continue;
        }
        rows.push(Row::Class(name, figures));
        if !is_open(name, None) {
            continue;
        }
        for source in found {
            let lengths = if is_open(name, Some(&source.name)) { buckets(&source.lengths) } else { Vec::new() };
            let most = lengths.iter().map(|(_, n)| *n).max().unwrap_or(1);
            let SourceStat { count, net_ns, max_ns, lengths: of, .. } = source;
            let figures = Figures { count, net_ns, max_ns: Some(max_ns), lengths: of };
            rows.push(Row::Source(name, source.name, figures));
            rows.extend(lengths.into_iter().map(|(ns, n)| Row::Bucket(ns, n, most)));
        }
    }
    rows
}

/// How many rows there are.
pub fn count(pane: &LatencyPane, shown: &Shown<'_>) -> usize {
    rows(pane, &of(pane, shown)).len()
}

/// The thread under the cursor.
pub fn thread(pane: &LatencyPane, shown: &Shown<'_>) -> Option<u32> {
    match rows(pane, &of(pane, shown)).into_iter().nth(pane.source)? {
        Row::Source(Some(NoiseClass::Thread), name, _) => super::task::pid_of(&name),
        _ => None,
    }
}

/// Opens or closes the row under the cursor.
pub fn toggle(pane: &mut LatencyPane, shown: &Shown<'_>) {
    let opened = match rows(pane, &of(pane, shown)).into_iter().nth(pane.source) {
        Some(Row::Class(class, _)) => Opened { class, source: None },
        Some(Row::Source(class, name, _)) => Opened { class, source: Some(name) },
        _ => return,
    };
    match pane.opened.iter().position(|o| *o == opened) {
        Some(at) => drop(pane.opened.remove(at)),
        None => pane.opened.push(opened),
    }
}

/// Paints the view.
pub fn draw(pane: &LatencyPane, ctx: &Context<'_>, shown: &Shown<'_>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let of = of(pane, shown);
    let rows = rows(pane, &of);
    let wide = usize::from(area.width);
    let busy: u64 = rows.iter().map(|row| if let Row::Class(class, f) = row { taken(*class, f) } else { 0 }).sum();
    let x = put(buf, area, 1, 0, &of.words, theme[Slot::Heading]) + 1;
    let share = busy as f64 * 100.0 / of.measured_ns.max(1) as f64;
    let what =
        if shown.mode() == Mode::Osnoise { "in gaps of the spinning thread and around it" } else { "of the time" };
    let x = put(buf, area, x, 0, &fit(&format!("{share:.2} % {what}"), wide.saturating_sub(x)), theme[Slot::Dim]) + 2;
    stacked(ctx, &rows, busy, buf, Rect { height: 1, ..area }, x, wide);
    let narrow = wide < 60;
    let ends: &[usize] = if narrow { &[8, 17] } else { &[8, 17, 26, 35, 44] };
    let ends: Vec<usize> = ends.iter().rev().map(|back| wide.saturating_sub(back - 7)).collect();
    let titles: &[&str] =
        if narrow { &["time", "max µs"] } else { &["runs/s", "time", "share", "p99 µs", "max µs"] };
    for (title, end) in titles.iter().zip(&ends) {
        put_end(buf, area, *end, 1, title, theme[Slot::Heading]);
    }
    put(buf, area, 1, 1, "source", theme[Slot::Heading]);
    if rows.is_empty() {
        put(buf, area, 1, 2, "nothing was measured yet", theme[Slot::Dim]);
    }
    let high = usize::from(area.height).saturating_sub(2).max(1);
    let first = (pane.source.min(rows.len().saturating_sub(1)) + 1).saturating_sub(high);
    for (y, (at, row)) in rows.iter().enumerate().skip(first).take(high).enumerate() {
        let y = y + 2;
        let room = ends.first().map_or(wide, |end| end.saturating_sub(9));
        match row {
            Row::Class(class, figures) => {
                let sign =
                    if pane.opened.iter().any(|o| o.class == *class && o.source.is_none()) { "▾" } else { "▸" };
                let label = format!("{sign} {}", words(*class));
                put(buf, area, 1, y, &fit(&label, room), class_style(theme, *class));
                cells(ctx, &of, *class, figures, &ends, buf, area, y);
            }
            Row::Source(class, name, figures) => {
                put(buf, area, 4, y, &fit(&neutralise(name), room.saturating_sub(3)), theme[Slot::Text]);
                cells(ctx, &of, *class, figures, &ends, buf, area, y);
            }
            Row::Bucket(ns, count, most) => {
                let x = put_end(buf, area, 16, y, &time(*ns), theme[Slot::Faint]);
                let _ = x;
                let part = *count as f64 / *most as f64;
                let columns = wide.saturating_sub(30);
                let end = put(buf, area, 17, y, &bar(part, columns), theme.gradient(part));
                put(buf, area, end + 1, y, &grouped(*count), theme[Slot::Dim]);
            }
        }
        if at == pane.source && ctx.focused {
            style_row(buf, area, y, theme[Slot::Selected]);
        }
    }
}

/// A class in words.
fn words(class: Option<NoiseClass>) -> String {
    match class {
        Some(NoiseClass::Hardware) => "HW (nothing was entered)".to_owned(),
        None => "Residual (entry, exit, not traced)".to_owned(),
        Some(NoiseClass::Timer) => "Timers (how late)".to_owned(),
        class => class_name(class).to_owned(),
    }
}

/// The time that a class took; late timers take none.
const fn taken(class: Option<NoiseClass>, figures: &Figures) -> u64 {
    if matches!(class, Some(NoiseClass::Timer)) { 0 } else { figures.net_ns }
}

/// The classes' shares side by side.
fn stacked(ctx: &Context<'_>, rows: &[Row], busy: u64, buf: &mut Buffer, area: Rect, from: usize, to: usize) {
    let columns = to.saturating_sub(from + 1);
    if columns < 8 || busy == 0 {
        return;
    }
    let mut x = from;
    for row in rows {
        let Row::Class(class, figures) = row else { continue };
        let wide = (u128::from(taken(*class, figures)) * columns as u128 / u128::from(busy)) as usize;
        let letter = super::figures::class_letter(*class);
        x = put(
            buf,
            area,
            x,
            0,
            &letter.repeat(wide),
            class_style(ctx.theme(), *class).add_modifier(ratatui::style::Modifier::REVERSED),
        );
    }
}

#[allow(clippy::too_many_arguments, reason = "a row and where it goes")]
fn cells(
    ctx: &Context<'_>,
    of: &Of<'_>,
    class: Option<NoiseClass>,
    figures: &Figures,
    ends: &[usize],
    buf: &mut Buffer,
    area: Rect,
    y: usize,
) {
    let seconds = of.measured_ns as f64 / 1e9;
    let rate = if seconds > 0.0 { short_count(figures.count as f64 / seconds) } else { "-".to_owned() };
    let late = class == Some(NoiseClass::Timer);
    let share = figures.net_ns as f64 * 100.0 / of.measured_ns.max(1) as f64;
    let in_us = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), us);
    let mean = figures.net_ns.checked_div(figures.count);
    // The time that a timer was late is no time that it took: its mean stands there.
    let total = if late { mean.map_or_else(|| "-".to_owned(), time) } else { time(figures.net_ns) };
    let share = if late { "mean".to_owned() } else { format!("{share:.2} %") };
    // A length is known to its bucket, whose middle may lie over the longest of all.
    let p99 = figures.lengths.percentile_ns(99.0).map(|ns| ns.min(figures.max_ns.unwrap_or(u64::MAX)));
    let all = [rate, total.clone(), share, in_us(p99), in_us(figures.max_ns)];
    let few = [total, in_us(figures.max_ns)];
    let cells: &[String] = if ends.len() < all.len() { &few } else { &all };
    for (cell, end) in cells.iter().zip(ends) {
        put_end(buf, area, *end, y, cell, ctx.theme()[Slot::Value]);
    }
}
