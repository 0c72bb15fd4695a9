//! An episode to scale: who had the CPU when, each class in a row of its own, the one that interrupts above.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::Context;
use super::figures::{class_style, time};
use crate::model::latency::{Episode, EpisodeKind, NoiseClass};
use crate::tui::base::paint::put;
use crate::tui::base::text::{fit, neutralise, width};
use crate::tui::base::theme::Slot;

/// Rows that it takes: two of the axis, four of classes, and an empty one.
pub const ROWS: usize = 7;
/// Columns of the names at the left.
const NAMES: usize = 9;
/// What interrupts stands above what it interrupts.
const LANES: [NoiseClass; 4] = [NoiseClass::Nmi, NoiseClass::Irq, NoiseClass::Softirq, NoiseClass::Thread];

/// A time as a column of so many.
fn column(episode: &Episode, ns: u64, columns: usize) -> usize {
    let long = u128::from(episode.latency_ns().max(1));
    let at = u128::from(ns.clamp(episode.began_ns, episode.ended_ns) - episode.began_ns);
    (at * columns as u128 / long) as usize
}

/// Paints it.
pub fn draw(ctx: &Context<'_>, episode: &Episode, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let columns = usize::from(area.width).saturating_sub(NAMES + 1);
    if columns < 10 || usize::from(area.height) < ROWS - 1 {
        return;
    }
    marks(ctx, episode, buf, area, columns);
    for (lane, class) in LANES.iter().enumerate() {
        let y = 2 + lane;
        put(buf, area, 1, y, class.name(), theme[Slot::Dim]);
        put(buf, area, NAMES, y, &"·".repeat(columns), theme[Slot::Faint]);
        let style = class_style(theme, Some(*class)).add_modifier(Modifier::REVERSED);
        let mut free = 0;
        for interval in episode.intervals.iter().filter(|i| i.class == *class) {
            let from = column(episode, interval.start_ns, columns).min(columns - 1);
            let to = column(episode, interval.end_ns(), columns).clamp(from + 1, columns);
            // Neighbours too short for a column of their own share one; a longer one gives its first column up.
            let from = if from < free && to > free { free } else { from };
            free = free.max(to);
            let name = neutralise(&interval.name);
            let room = to - from;
            let text = if room >= 4 { fit(&name, room).into_owned() } else { String::new() };
            let before = if interval.start_ns < episode.began_ns && room > width(&text) + 1 { "◂" } else { "" };
            let padding = " ".repeat(room.saturating_sub(width(&text) + width(before)));
            put(buf, area, NAMES + from, y, &format!("{before}{text}{padding}"), style);
        }
    }
}

/// The axis, and the moments that matter on it.
fn marks(ctx: &Context<'_>, episode: &Episode, buf: &mut Buffer, area: Rect, columns: usize) {
    let theme = ctx.theme();
    put(buf, area, NAMES, 1, &"─".repeat(columns), theme[Slot::Faint]);
    let mut free = 0;
    for part in 0..=4_u64 {
        let ns = episode.latency_ns() * part / 4;
        let text = if part == 0 { "0".to_owned() } else { time(ns) };
        let x = (columns - 1) * part as usize / 4;
        let from = x.min(columns.saturating_sub(width(&text)));
        put(buf, area, NAMES + x, 1, "┴", theme[Slot::Faint]);
        if from >= free {
            put(buf, area, NAMES + from, 0, &text, theme[Slot::Faint]);
            free = from + width(&text) + 1;
        }
    }
    let mut mark = |ns: u64, sign: &str| {
        let x = column(episode, ns, columns).min(columns - 1);
        put(buf, area, NAMES + x, 1, sign, theme[Slot::Key]);
    };
    if episode.kind != EpisodeKind::Noise {
        mark(episode.began_ns, "▼");
    }
    if let Some(latency_ns) = episode.parts.irq_latency_ns {
        mark(episode.began_ns.saturating_add(latency_ns), "▲");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_the_latency() {
        let mut episode = Episode {
            cpu: 0,
            kind: EpisodeKind::Thread,
            began_ns: 1000,
            ended_ns: 2000,
            threshold_ns: 1,
            parts: crate::model::latency::LatencyParts::default(),
            intervals: Vec::new(),
            previous_irqs: Vec::new(),
            blocker: None,
            idle: None,
            ipis: Vec::new(),
            others: Vec::new(),
            truncated: false,
        };
        assert_eq!(column(&episode, 0, 100), 0, "what began before");
        assert_eq!(column(&episode, 1500, 100), 50);
        assert_eq!(column(&episode, u64::MAX, 100), 100);
        episode.ended_ns = 1000;
        assert_eq!(column(&episode, 1000, 100), 0, "of no length");
    }
}
