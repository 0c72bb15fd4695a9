//! The worst latencies, and one of them in full.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::figures::{class_letter, class_style, culprit, episode_kind, time};
use super::moment::Shown;
use super::{Context, LatencyPane, timeline};
use crate::model::latency::{Episode, EpisodeKind};
use crate::output::latency::report;
use crate::store::History as _;
use crate::tui::base::paint::{put, put_end, style_row};
use crate::tui::base::text::{fit, neutralise, neutralise_line, wrap};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;

/// The worst that are listed.
const MOST: usize = 100;

/// The worst first, of those until the moment.
pub fn worst(shown: &Shown<'_>) -> Vec<Arc<Episode>> {
    let mut all: Vec<&Arc<Episode>> = shown.episodes().collect();
    all.sort_by_key(|e| (std::cmp::Reverse(e.late_ns()), e.ended_ns));
    all.into_iter().take(MOST).cloned().collect()
}

/// The lines below an open episode.
fn lines(episode: &Episode, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in report::report(episode).lines() {
        let line = neutralise_line(line).into_owned();
        if crate::tui::base::text::width(&line) > columns {
            lines.extend(wrap(&line, columns));
        } else {
            lines.push(line);
        }
    }
    if !episode.others.is_empty() {
        lines.push(String::new());
        lines.extend(report::tasks(episode).lines().map(|line| neutralise_line(line).into_owned()));
    }
    lines
}

/// Rows of the timeline: where there is little room it goes away once the report below is scrolled.
const fn chart_rows(height: usize, scroll: usize) -> usize {
    if scroll > 0 && height < 2 * timeline::ROWS { 0 } else { timeline::ROWS }
}

/// The furthest that an open episode scrolls to.
pub fn last_scroll(episode: &Episode, area: Rect) -> usize {
    let height = usize::from(area.height).saturating_sub(2 + 2);
    let inside = height.saturating_sub(1 + chart_rows(height, 1));
    lines(episode, usize::from(area.width).saturating_sub(4)).len().saturating_sub(inside.max(1))
}

/// Paints the list, or the open episode.
pub fn draw(pane: &LatencyPane, ctx: &Context<'_>, shown: &Shown<'_>, buf: &mut Buffer, area: Rect) {
    match &pane.shown {
        Some(episode) => open(pane, ctx, episode, buf, area),
        None => list(pane, ctx, shown, buf, area),
    }
}

fn when(data: &Data, ns: u64) -> String {
    let first = data.store.span().map_or(0, |(first, _)| first);
    format!("{:.3} s", ns.saturating_sub(first) as f64 / 1e9)
}

fn list(pane: &LatencyPane, ctx: &Context<'_>, shown: &Shown<'_>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let all = worst(shown);
    let wide = usize::from(area.width);
    if all.is_empty() {
        let lines = [
            "No latency was over its threshold yet.",
            "[ and ] lower and raise it, n chooses which; measuring goes on after each.",
        ];
        for (y, line) in lines.iter().enumerate() {
            put(buf, area, 1, y, &fit(line, wide.saturating_sub(2)), theme[Slot::Dim]);
        }
        return;
    }
    let heading = theme[Slot::Heading];
    put_end(buf, area, 13, 0, "latency", heading);
    put(buf, area, 15, 0, "of", heading);
    put_end(buf, area, 25, 0, "CPU", heading);
    let roomy = wide >= 70;
    if roomy {
        put_end(buf, area, 37, 0, "at", heading);
    }
    let from = if roomy { 39 } else { 27 };
    put(buf, area, from, 0, &fit("mostly", wide.saturating_sub(from)), heading);
    let rows = usize::from(area.height).saturating_sub(1).max(1);
    let first = (pane.episode.min(all.len() - 1) + 1).saturating_sub(rows);
    let longest = all[0].late_ns().max(1) as f64;
    for (y, (at, episode)) in all.iter().enumerate().skip(first).take(rows).enumerate() {
        let y = y + 1;
        let part = episode.late_ns() as f64 / longest;
        put_end(buf, area, 3, y, &(at + 1).to_string(), theme[Slot::Faint]);
        put_end(buf, area, 13, y, &time(episode.late_ns()), theme.gradient(part));
        put(buf, area, 15, y, episode_kind(episode), theme[Slot::Dim]);
        put_end(buf, area, 25, y, &episode.cpu.to_string(), theme[Slot::Value]);
        if roomy {
            put_end(buf, area, 37, y, &when(ctx.data, episode.ended_ns), theme[Slot::Dim]);
        }
        let (class, name) = culprit(episode);
        let x = put(buf, area, from, y, class_letter(class), class_style(theme, class)) + 1;
        put(buf, area, x, y, &fit(&neutralise(&name), wide.saturating_sub(x + 1)), theme[Slot::Text]);
        if at == pane.episode && ctx.focused {
            style_row(buf, area, y, theme[Slot::Selected]);
        }
    }
}

fn open(pane: &LatencyPane, ctx: &Context<'_>, episode: &Episode, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let wide = usize::from(area.width);
    let what = match episode.kind {
        EpisodeKind::Noise => "without the CPU".to_owned(),
        _ => format!("of {} latency", episode_kind(episode)),
    };
    let title = format!(
        "{} {what} on CPU {}, at {}, over {}",
        time(episode.late_ns()),
        episode.cpu,
        when(ctx.data, episode.ended_ns),
        time(episode.threshold_ns),
    );
    put(buf, area, 1, 0, &fit(&title, wide.saturating_sub(2)), theme[Slot::Heading]);
    let rows = chart_rows(usize::from(area.height), pane.scroll) as u16;
    let chart = Rect { y: area.y + 1, height: area.height.saturating_sub(1).min(rows), ..area };
    if rows > 0 {
        timeline::draw(ctx, episode, buf, chart);
    }
    let below = Rect {
        y: chart.bottom(),
        height: area.height.saturating_sub(1 + chart.height),
        x: area.x + 1,
        width: area.width.saturating_sub(2),
    };
    let lines = lines(episode, usize::from(below.width));
    for (y, line) in lines.iter().skip(pane.scroll).take(usize::from(below.height)).enumerate() {
        let slot = if line.starts_with("##") {
            Slot::Heading
        } else if line.contains("->") {
            Slot::Function
        } else {
            Slot::Text
        };
        put(buf, below, 0, y, &fit(line, usize::from(below.width)), theme[slot]);
    }
}
