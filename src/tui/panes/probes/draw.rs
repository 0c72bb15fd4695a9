//! What each probe does, costs and loses.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::ProbesPane;
use crate::model::stats::{ProbeStats, TraceStats};
use crate::tui::base::action::Pick;
use crate::tui::base::paint::{put, put_end, style_row};
use crate::tui::base::text::{fit, fit_end, grouped, neutralise, short_count, width};
use crate::tui::base::theme::Slot;
use crate::tui::data::document::Document;
use crate::tui::data::trace::incomplete;
use crate::tui::pane::Context;
use crate::tui::widgets::columns::PROBES;
use crate::tui::widgets::frame::pane_frame;

/// Paints the pane.
pub fn draw(pane: &ProbesPane, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let (inside, _) = pane_frame(ctx, buf, area);
    let theme = ctx.theme();
    let Some(stats) = &ctx.document.trace.stats else {
        put(
            buf,
            inside,
            1,
            0,
            &fit("Nothing runs: Ctrl-S runs the script.", usize::from(inside.width)),
            theme[Slot::Dim],
        );
        return;
    };
    heading(pane, ctx, buf, inside);
    let (first, rows) = view(pane, ctx, stats, usize::from(inside.height));
    for (y, (place, index)) in order(pane, ctx, stats).into_iter().enumerate().skip(first).take(rows).enumerate() {
        row(ctx, buf, inside, y + 1, index, &stats.probes[index]);
        if place == pane.selected && ctx.focused {
            style_row(buf, inside, y + 1, theme[Slot::Selected]);
        }
    }
    losses(ctx, stats, buf, inside, rows + 1);
}

/// The first probe shown, in the order shown, and how many: losses below keep some room.
fn view(pane: &ProbesPane, ctx: &Context<'_>, stats: &TraceStats, height: usize) -> (usize, usize) {
    let below = if stats.losses.is_empty() { 0 } else { stats.losses.len() + 1 };
    let room = height.saturating_sub(1);
    let rows = stats.probes.len().min(room.saturating_sub(below.min(room / 2)));
    let selected = if ctx.focused { pane.selected } else { 0 };
    ((selected + 1).saturating_sub(rows), rows)
}

/// What is at a place of the screen; `area` is the pane's frame.
#[must_use]
pub fn spot_at(pane: &ProbesPane, ctx: &Context<'_>, area: Rect, (column, row): (u16, u16)) -> Option<Pick> {
    let stats = ctx.document.trace.stats.as_ref()?;
    let at = usize::from(row.checked_sub(area.y + 1)?);
    if at == 0 {
        let column = usize::from(column.saturating_sub(area.x + 1));
        let places = places(usize::from(area.width).saturating_sub(2));
        let ends = places.into_iter().filter(|(_, end)| column < *end);
        return ends.min_by_key(|(_, end)| *end).map(|(column, _)| Pick::Heading { table: 0, column });
    }
    let (first, rows) = view(pane, ctx, stats, usize::from(area.height).saturating_sub(2));
    (at <= rows).then(|| Pick::Row { table: 0, row: first + at - 1 })
}

/// Columns that fit, narrow panes show fewer: (index in the registry, its right end).
fn places(total: usize) -> Vec<(usize, usize)> {
    let wanted: &[usize] = match total {
        0..=17 => &[],
        18..=43 => &[2],
        44..=57 => &[2, 3],
        _ => &[1, 2, 3, 4, 5],
    };
    let mut end = total.saturating_sub(1);
    let mut out = Vec::new();
    for column in wanted.iter().rev() {
        out.push((*column, end));
        end = end.saturating_sub(usize::from(PROBES[*column].width) + 1);
    }
    out.push((0, end));
    out
}

fn heading(pane: &ProbesPane, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let look = ctx.theme()[Slot::Heading];
    let arrow = if pane.descending { "↓" } else { "↑" };
    for (column, end) in places(usize::from(area.width)) {
        let mark = if column == pane.sort && ctx.focused { arrow } else { "" };
        let title = format!("{mark}{}", PROBES[column].title);
        if column == 0 {
            put(buf, area, 1, 0, &title, look);
        } else {
            put_end(buf, area, end, 0, &title, look);
        }
    }
}

fn order(pane: &ProbesPane, ctx: &Context<'_>, stats: &TraceStats) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..stats.probes.len()).collect();
    if pane.sort == 0 {
        rows.sort_by_key(|i| stats.probes[*i].name.clone());
    } else {
        let value = |i: usize| number(ctx, i, &stats.probes[i], pane.sort).unwrap_or(-1.0);
        rows.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
    }
    if pane.descending {
        rows.reverse();
    }
    rows
}

fn number(ctx: &Context<'_>, index: usize, probe: &ProbeStats, column: usize) -> Option<f64> {
    let rate = || ctx.document.trace.probe_rate(index);
    match column {
        1 => Some(probe.attached.into()),
        2 => rate().map(|r| r.per_second),
        3 => rate().map(|r| r.ns_per_run),
        4 => rate().map(|r| r.cpu_percent),
        _ => Some(probe.misses as f64),
    }
}

fn row(ctx: &Context<'_>, buf: &mut Buffer, area: Rect, y: usize, index: usize, probe: &ProbeStats) {
    let theme = ctx.theme();
    for (column, end) in places(usize::from(area.width)) {
        if column == 0 {
            let name = named(ctx.document, index);
            put(buf, area, 1, y, &fit_end(&neutralise(&name), end.saturating_sub(2)), theme[Slot::Probe]);
            continue;
        }
        let value = number(ctx, index, probe, column);
        let text = value.map_or_else(
            || "–".to_owned(),
            |v| match column {
                3 => format!("{v:.0}"),
                4 => format!("{v:.2}"),
                _ => short_count(v),
            },
        );
        let silent = column == 2 && ctx.document.trace.silent().contains(&index);
        let text = if silent { "0 hits".to_owned() } else { text };
        let wrong = column == 5 && probe.misses > 0;
        let slot = if wrong { Slot::Error } else { Slot::Value };
        put_end(buf, area, end, y, &text, theme[if silent { Slot::Warning } else { slot }]);
    }
}

/// Columns of a loss's place at least.
const LEAST_SITE: usize = 8;

/// A probe's name; of several clauses on one probe with the line that each stands in, or else its number among them.
pub fn named(document: &Document, index: usize) -> Cow<'_, str> {
    let Some(stats) = &document.trace.stats else { return Cow::Borrowed("") };
    let Some(probe) = stats.probes.get(index) else { return Cow::Borrowed("") };
    let same = |probes: &[ProbeStats]| probes.iter().filter(|p| p.name == probe.name).count();
    let (all, nth) = (same(&stats.probes), same(&stats.probes[..index]));
    if all < 2 {
        return Cow::Borrowed(&probe.name);
    }
    let lines = document.trace.source.lines().enumerate();
    let heads = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
    let found: Vec<usize> = heads.flat_map(|(n, line)| line.match_indices(&*probe.name).map(move |_| n + 1)).collect();
    Cow::Owned(match found.get(nth).filter(|_| found.len() == all) {
        Some(line) => format!("{}, line {line}", probe.name),
        None => format!("{}, clause {}", probe.name, nth + 1),
    })
}

/// Columns of a loss's cause, where none is longer.
const CAUSE: usize = 22;

fn losses(ctx: &Context<'_>, stats: &TraceStats, buf: &mut Buffer, area: Rect, from: usize) {
    let theme = ctx.theme();
    if stats.losses.is_empty() {
        if from < usize::from(area.height) {
            put(buf, area, 1, from, "nothing lost", theme[Slot::Good]);
        }
        return;
    }
    put(buf, area, 1, from, "lost or incomplete", theme[Slot::Heading]);
    let rows = usize::from(area.height).saturating_sub(from + 1);
    let longest = stats.losses.iter().take(rows).map(|loss| width(loss.cause.words()) + 1).max();
    let cause = longest.map_or(CAUSE, |longest| longest.max(CAUSE));
    for (i, loss) in stats.losses.iter().take(rows).enumerate() {
        let y = from + 1 + i;
        let count = grouped(loss.count);
        let slot = if incomplete(loss.cause) { Slot::Warning } else { Slot::Error };
        let wide = usize::from(area.width);
        let words = loss.cause.words();
        // Without room for the place, and at last for all of the words, the number stays.
        let room = wide.saturating_sub(width(&count) + 3);
        if room < cause + LEAST_SITE {
            put(buf, area, 1, y, &fit(words, room), theme[slot]);
            put_end(buf, area, wide.saturating_sub(1), y, &count, theme[slot]);
            continue;
        }
        let x = put(buf, area, 1, y, &format!("{words:<cause$}"), theme[slot]);
        let before = ctx.document.trace.source.get(..loss.span.0 as usize).unwrap_or("");
        let (line, column) =
            (before.matches('\n').count() + 1, before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1);
        // Several calls of one line lose on their own account.
        let site = format!("{} line {line}:{column}", neutralise(&loss.site));
        let room = usize::from(area.width).saturating_sub(x + width(&count) + 3);
        put(buf, area, x, y, &fit_end(&site, room), theme[Slot::Dim]);
        put_end(buf, area, usize::from(area.width).saturating_sub(1), y, &count, theme[slot]);
    }
}
