//! Heat maps: CPU by time, and latency by time. Their cursor is the moment of the views.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::figures::{class_letter, class_name, class_style, time};
use super::moment::Shown;
use super::{Context, LatencyPane, View};
use crate::model::latency::Mode;
use crate::store::{Cursor, History as _};
use crate::tui::base::paint::{put, put_end};
use crate::tui::base::text::fit;
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::data::latency::{BUCKETS, Cell, PARTS};

/// How much time a column can have.
pub const STEPS_NS: [u64; 9] = [
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
];
/// Columns of the names at the left.
const NAMES: usize = 9;
/// Rows of the scale below.
const BELOW: usize = 2;
/// Lines of a CPU at most.
const TALLEST: usize = 4;
/// What stands for little and for much where there are no colours.
const SHADES: [&str; 4] = ["░", "▒", "▓", "█"];

/// Which of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step(usize);

impl Default for Step {
    fn default() -> Self {
        Self(3)
    }
}

impl Step {
    pub const fn ns(self) -> u64 {
        STEPS_NS[self.0]
    }

    pub fn wider(self) -> Self {
        Self((self.0 + 1).min(STEPS_NS.len() - 1))
    }

    pub const fn narrower(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

/// Columns of a map in a pane so wide, its frame included.
const fn wide(area: Rect) -> usize {
    (area.width as usize).saturating_sub(NAMES + 3)
}

/// Keeps the moment in sight.
pub fn settle(pane: &mut LatencyPane, data: &Data, area: Rect) {
    let span = pane.step.ns() * wide(area).max(1) as u64;
    let Some(shown) = Shown::of(data) else { return };
    let align = |ns: u64| ns.div_ceil(pane.step.ns()) * pane.step.ns();
    let inside = shown.at_ns <= pane.end_ns && shown.at_ns + span > pane.end_ns;
    if data.moment.cursor == Cursor::Live {
        pane.end_ns = align(shown.at_ns);
    } else if !inside || !pane.end_ns.is_multiple_of(pane.step.ns()) {
        pane.end_ns = align((shown.at_ns + span / 2).min(shown.end_ns()).max(shown.at_ns));
    }
}

/// One column of a map: from when to when.
fn column(pane: &LatencyPane, columns: usize, x: usize) -> (u64, u64) {
    let step = pane.step.ns();
    let to = pane.end_ns.saturating_sub(step * (columns - 1 - x.min(columns - 1)) as u64);
    (to.saturating_sub(step), to)
}

/// The time that the cursor's column has, for what happened there.
pub fn chosen(pane: &LatencyPane, shown: &Shown<'_>) -> (u64, u64) {
    let step = pane.step.ns();
    let to = shown.at_ns.div_ceil(step) * step;
    (to.saturating_sub(step), to)
}

/// The moment that the cursor goes to, a column away.
pub fn moved(pane: &LatencyPane, data: &Data, shown: &Shown<'_>, later: bool) -> Option<u64> {
    let step = pane.step.ns();
    let entries = &data.store;
    if later {
        let to = shown.at_ns.saturating_add(step);
        let at = entries.last_at(to)?;
        let here = entries.last_at(shown.at_ns)?;
        return Some(if at == here { entries.seek_time(shown.at_ns + 1) } else { at });
    }
    entries.last_at(shown.at_ns.saturating_sub(step)).or_else(|| Some(entries.entries().start))
}

/// The entry at a column of the map, of a pane whose frame is `area`.
pub fn entry_at(pane: &LatencyPane, data: &Data, area: Rect, x: u16) -> Option<u64> {
    let x = usize::from(x.checked_sub(area.x + 1)?).checked_sub(NAMES)?;
    let columns = wide(area);
    (x < columns).then(|| column(pane, columns, x).1).and_then(|to_ns| data.store.last_at(to_ns))
}

/// The first row of the map of CPUs that is in sight, of so many.
fn first_row(pane: &LatencyPane, shown: &Shown<'_>, rows: usize) -> usize {
    (pane.row.min(shown.totals.cpus.len().saturating_sub(1)) + 1).saturating_sub(rows.max(1))
}

/// How many lines each CPU has: few CPUs share the room, so that what a moment was like is seen from afar.
fn tall(shown: &Shown<'_>, lines: usize) -> usize {
    (lines / shown.totals.cpus.len().max(1)).clamp(1, TALLEST)
}

/// The row of the map of CPUs at a line of a view so high.
pub fn row_at(pane: &LatencyPane, shown: &Shown<'_>, height: usize, line: usize) -> Option<usize> {
    let lines = height.saturating_sub(BELOW);
    let tall = tall(shown, lines);
    let row = first_row(pane, shown, lines / tall) + line / tall;
    (line < lines && row < shown.totals.cpus.len()).then_some(row)
}

/// How long a latency is, from 0 to 1: from 1 us to 10 ms and more, by its logarithm.
fn heat(ns: u64) -> f64 {
    if ns == 0 { 0.0 } else { ((ns as f64 / 1e3).log10() / 4.0).clamp(0.02, 1.0) }
}

fn shade(part: f64) -> &'static str {
    SHADES[((part * 4.0) as usize).min(3)]
}

/// Paints a map.
pub fn draw(pane: &LatencyPane, ctx: &Context<'_>, shown: &Shown<'_>, buf: &mut Buffer, area: Rect) {
    let columns = usize::from(area.width).saturating_sub(NAMES + 1);
    if columns == 0 || area.height < 3 {
        return;
    }
    let body = Rect { height: area.height - BELOW as u16, ..area };
    let cells: Vec<Vec<&Cell>> = (0..columns)
        .map(|x| {
            let (from, to) = column(pane, columns, x);
            shown.cells_of(from, to)
        })
        .collect();
    if pane.view == View::Heat {
        by_cpu(pane, ctx, shown, &cells, buf, body);
    } else {
        by_length(pane, ctx, shown, &cells, buf, body);
    }
    cursor(pane, ctx, shown, columns, buf, body);
    scale(pane, ctx, shown, buf, area);
}

/// The net time that nobody asked for, in a cell: threads are noise only where a measuring thread waits.
fn dominant(cells: &[&Cell], mode: Mode) -> Option<usize> {
    let sum = |part: usize| cells.iter().map(|c| c.parts[part]).sum::<u64>();
    let parts = (0..PARTS.len()).filter(|part| mode == Mode::Osnoise || *part != 4);
    parts.max_by_key(|part| sum(*part)).filter(|part| sum(*part) > 0)
}

fn by_cpu(
    pane: &LatencyPane,
    ctx: &Context<'_>,
    shown: &Shown<'_>,
    cells: &[Vec<&Cell>],
    buf: &mut Buffer,
    area: Rect,
) {
    let theme = ctx.theme();
    let cpus = shown.cpus(pane);
    let kind = shown.headline();
    let lines = usize::from(area.height);
    let tall = tall(shown, lines);
    let rows = lines / tall;
    let first = first_row(pane, shown, rows);
    for (row, (place, cpu)) in cpus.iter().enumerate().skip(first).take(rows).enumerate() {
        let y = row * tall;
        let chosen = place == pane.row && ctx.focused;
        let look = theme[if chosen { Slot::Key } else { Slot::Value }];
        put_end(buf, area, NAMES - 1, y, &format!("{}CPU {cpu}", if chosen { "›" } else { "" }), look);
        for (x, cells) in cells.iter().enumerate() {
            let of: Vec<&Cell> = cells.iter().copied().filter(|c| c.cpu == *cpu).collect();
            if of.is_empty() {
                continue;
            }
            if pane.by_source {
                if let Some(part) = dominant(&of, shown.mode()) {
                    for y in y..y + tall {
                        put(buf, area, NAMES + x, y, class_letter(PARTS[part]), class_style(theme, PARTS[part]));
                    }
                }
                continue;
            }
            let part = heat(of.iter().map(|c| c.worst_ns[kind]).max().unwrap_or(0));
            for y in y..y + tall {
                put(buf, area, NAMES + x, y, shade(part), theme.gradient(part));
            }
        }
    }
}

fn by_length(
    pane: &LatencyPane,
    ctx: &Context<'_>,
    shown: &Shown<'_>,
    cells: &[Vec<&Cell>],
    buf: &mut Buffer,
    area: Rect,
) {
    let theme = ctx.theme();
    let kind = shown.headline();
    let cpu = shown.cpu(pane).filter(|_| !pane.all);
    let of = |cell: &&&Cell| cpu.is_none_or(|cpu| cell.cpu == cpu);
    let used = |bucket: usize| cells.iter().flatten().filter(of).any(|c| c.lengths[kind][bucket] > 0);
    let Some(top) = (0..BUCKETS).rev().find(|b| used(*b)) else { return };
    let low = (0..BUCKETS).find(|b| used(*b)).unwrap_or(0);
    let rows = usize::from(area.height);
    // From 1 us on each bucket has a row, what is shorter shares the last one.
    for y in 0..rows.min(top + 1 - low) {
        let bucket = top - y;
        let name = if y + 1 == rows && bucket > low { format!("<{}", time(2 << bucket)) } else { time(1 << bucket) };
        put_end(buf, area, NAMES - 1, y, &name, theme[Slot::Dim]);
        for (x, cells) in cells.iter().enumerate() {
            let sum = |from: usize, to: usize| -> u64 {
                cells.iter().filter(of).flat_map(|c| &c.lengths[kind][from..to]).map(|n| u64::from(*n)).sum()
            };
            let all = sum(0, BUCKETS);
            let here = sum(if y + 1 == rows { 0 } else { bucket }, bucket + 1);
            if here > 0 {
                // One of a thousand is seen, too.
                let part = (1.0 + (here as f64 / all as f64).log10() / 3.0).clamp(0.05, 1.0);
                put(buf, area, NAMES + x, y, shade(part), theme.gradient(part));
            }
        }
    }
}

/// The column of the moment.
fn cursor(pane: &LatencyPane, ctx: &Context<'_>, shown: &Shown<'_>, columns: usize, buf: &mut Buffer, area: Rect) {
    let (_, to) = chosen(pane, shown);
    let back = (pane.end_ns.saturating_sub(to) / pane.step.ns()) as usize;
    let Some(x) = (columns - 1).checked_sub(back) else { return };
    let x = area.x + (NAMES + x) as u16;
    let lines = usize::from(area.height);
    for y in area.top()..area.bottom() {
        let here =
            pane.view == View::Heat && row_at(pane, shown, lines + BELOW, usize::from(y - area.y)) == Some(pane.row);
        if let Some(cell) = buf.cell_mut((x, y)) {
            if here && ctx.focused {
                cell.modifier |= Modifier::REVERSED;
            } else if cell.symbol() == " " {
                cell.set_symbol("│");
                cell.set_style(ctx.theme()[Slot::Faint]);
            }
        }
    }
}

/// The time below the map, and what its colours mean.
fn scale(pane: &LatencyPane, ctx: &Context<'_>, shown: &Shown<'_>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let (width, y) = (usize::from(area.width), usize::from(area.height) - 2);
    let columns = width.saturating_sub(NAMES + 1);
    let first = column(pane, columns, 0).0;
    let ago = |ns: u64| format!("-{}", time(pane.end_ns.saturating_sub(ns)));
    put(buf, area, NAMES, y, &ago(first), theme[Slot::Faint]);
    let state = ctx.data;
    let from_ns = state.store.span().map_or(0, |(first, _)| first);
    let here = format!("{:.1} s, {} a column", shown.at_ns.saturating_sub(from_ns) as f64 / 1e9, time(pane.step.ns()));
    put_end(buf, area, width - 1, y, &here, theme[Slot::Dim]);
    let (from, to) = chosen(pane, shown);
    let hits = shown.episodes_in(from, to).count();
    let mut x = NAMES;
    if pane.view == View::Heat && pane.by_source {
        for class in PARTS {
            x = put(buf, area, x, y + 1, class_letter(class), class_style(theme, class));
            x = put(buf, area, x, y + 1, &format!(" {}  ", class_name(class)), theme[Slot::Dim]);
        }
    } else if pane.view == View::Heat {
        for (ns, last) in [(1_000, false), (10_000, false), (100_000, false), (1_000_000, false), (10_000_000, true)] {
            x = put(buf, area, x, y + 1, shade(heat(ns)), theme.gradient(heat(ns)));
            let more = if last { " and more" } else { "  " };
            x = put(buf, area, x, y + 1, &format!(" {}{more}", time(ns)), theme[Slot::Dim]);
        }
    } else {
        let whose = match shown.cpu(pane).filter(|_| !pane.all) {
            Some(cpu) => format!("CPU {cpu}; a: all"),
            None => "all CPUs; a: one".to_owned(),
        };
        let kind = shown.kinds(shown.mode())[shown.headline()];
        x = put(buf, area, x, y + 1, &fit(&format!("{kind} latency, {whose}"), width), theme[Slot::Dim]);
    }
    if hits > 0 {
        let text = format!("{hits} episode{} here: Enter", if hits == 1 { "" } else { "s" });
        if x + text.len() + 2 < width {
            put_end(buf, area, width - 1, y + 1, &text, theme[Slot::Warning]);
        }
    }
}
