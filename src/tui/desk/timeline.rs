//! The strip of time in place of the status line, while the views are held: how much happened when, what was lost,
//! marks, and the moment that is shown.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::store::{Bucket, Cursor, History as _};
use crate::tui::base::paint::{clear, put};
use crate::tui::base::text::width;
use crate::tui::base::theme::Slot;
use crate::tui::desk::state::State;

const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// Columns from which on the words beside the strip are shown.
const WORDS_FROM: u16 = 50;

/// Whether the strip is shown.
#[must_use]
pub fn is_shown(state: &State) -> bool {
    state.document.trace.paused && state.moment.cursor != Cursor::Live && state.store.span().is_some()
}

/// The words at the left: the moment, and how it is played.
fn words(state: &State) -> String {
    let at_ns = state.store.time_at(state.moment.cursor);
    let from_ns = state.store.span().map_or(0, |(first, _)| first);
    let us = at_ns.saturating_sub(from_ns) / 1000;
    let sign = if state.moment.playing { "▶" } else { "‖" };
    format!("{sign} {} +{}.{:06} s", state.moment.speed.words(), us / 1_000_000, us % 1_000_000)
}

/// Columns of the strip: where it begins and how many there are.
fn strip(state: &State, area: Rect) -> (u16, u16) {
    let x = if area.width >= WORDS_FROM { width(&words(state)) as u16 + 2 } else { 0 };
    (area.x + x, area.width.saturating_sub(x))
}

/// The column of the strip at a place of the screen, and how many it has.
#[must_use]
pub fn column_at(state: &State, area: Rect, x: u16) -> Option<(u16, u16)> {
    let (from, columns) = strip(state, area);
    let at = x.checked_sub(from)?;
    (at < columns).then_some((at, columns))
}

/// Paints the strip.
pub fn draw(state: &State, buf: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let plain = theme[Slot::Status];
    clear(buf, area, plain);
    let Some((first_ns, last_ns)) = state.store.span() else { return };
    let (from, columns) = strip(state, area);
    if from > area.x {
        put(buf, area, 1, 0, &words(state), plain.patch(theme[Slot::Paused]));
    }
    let buckets = state.store.timeline(first_ns, last_ns.saturating_add(1), usize::from(columns));
    let most = buckets.iter().map(|b| b.events).max().unwrap_or(0).max(1);
    let at_ns = state.store.time_at(state.moment.cursor);
    let cursor = u128::from(at_ns.saturating_sub(first_ns)) * u128::from(columns.max(1) - 1)
        / u128::from((last_ns - first_ns).max(1));
    for (x, bucket) in buckets.iter().enumerate() {
        let (sign, slot) = cell(*bucket, most);
        let mut style = plain.patch(theme[slot]);
        if x as u128 == cursor {
            style = style.patch(theme[Slot::Cursor]);
        }
        put(buf, area, usize::from(from - area.x) + x, 0, sign, style);
    }
}

/// A mark hides the height of the bar, a loss or a warning colours it.
const fn cell(bucket: Bucket, most: u64) -> (&'static str, Slot) {
    let slot = if bucket.lost > 0 {
        Slot::Error
    } else if bucket.warnings > 0 {
        Slot::Warning
    } else {
        Slot::Figure
    };
    if bucket.marks > 0 {
        return ("◆", Slot::Heading);
    }
    if bucket.events == 0 {
        let sign = if bucket.lost > 0 || bucket.warnings > 0 { "▁" } else { " " };
        return (sign, slot);
    }
    (BARS[((bucket.events * 7).div_ceil(most)) as usize % 8], slot)
}
