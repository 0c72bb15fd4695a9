//! The lines of output.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::events::matches;
use super::super::paint::{highlighted, note, put, put_end, style_row};
use super::super::state::{Layer, Pane, State};
use super::super::text::{char_width, fit, grouped, neutralise, wrap};
use super::super::theme::Slot;
use super::super::trace::Phase;
use super::bars::output_frame;

/// Index of the line that is shown at a row of the screen; `area` is the pane's frame.
#[must_use]
pub fn line_at(state: &State, area: Rect, row: u16) -> Option<usize> {
    let filtered = state.layers.iter().any(|l| matches!(l, Layer::Filter(_))) || !state.events.filter().is_empty();
    let top = area.y + 1 + u16::from(filtered && area.height > 3);
    let rows = usize::from((area.bottom().saturating_sub(1)).saturating_sub(top));
    let at = usize::from(row.checked_sub(top)?);
    let index = first_row(state.events.len(), state.events.selected()?, rows) + at;
    (at < rows && index < state.events.len()).then_some(index)
}

/// Paints the pane.
pub fn draw(state: &State, buf: &mut Buffer, area: Rect, tabbed: bool) {
    let (mut inside, taken) = output_frame(state, buf, area, Pane::Events, tabbed);
    let theme = &state.theme;
    let log = &state.events;
    note(buf, area, &counts(state), theme[Slot::Faint], taken);
    let filtering = state.layers.iter().find_map(|l| if let Layer::Filter(i) = l { Some(i) } else { None });
    if (filtering.is_some() || !log.filter().is_empty()) && inside.height > 1 {
        let x = put(buf, inside, 0, 0, "filter ", theme[Slot::Key]);
        let text = filtering.map_or_else(|| log.filter(), |i| i.text());
        put(buf, inside, x, 0, text, theme[Slot::Text]);
        if let Some(input) = filtering {
            let under = input.text()[input.before().len()..].chars().next().unwrap_or(' ').to_string();
            put(buf, inside, x + super::super::text::width(input.before()), 0, &under, theme[Slot::Cursor]);
        }
        inside.y += 1;
        inside.height -= 1;
    }
    if log.held() == 0 {
        return welcome(state, buf, inside);
    }
    if log.is_empty() {
        put(buf, inside, 1, 0, "No line passes the filter.", theme[Slot::Dim]);
        return;
    }
    let rows = usize::from(inside.height);
    let selected = log.selected().unwrap_or(0);
    let first = first_row(log.len(), selected, rows);
    let numbers = inside.width >= 60;
    let digits = log.get((first + rows).min(log.len()) - 1).map_or(1, |(n, _)| (n + 1).to_string().len()).max(3);
    for (y, index) in (first..log.len()).take(rows).enumerate() {
        let Some((number, line)) = log.get(index) else { break };
        let mut x = 1;
        if numbers {
            put_end(buf, inside, 1 + digits, y, &(number + 1).to_string(), theme[Slot::Faint]);
            x += digits + 2;
        }
        let text = neutralise(&line.text);
        let skipped = skip_columns(&text, log.left);
        let found = if log.filter().is_empty() { Vec::new() } else { matches(log.filter(), skipped) };
        let at = |i: usize| {
            let byte = skipped.char_indices().nth(i).map_or(0, |(b, _)| b);
            found.iter().any(|r| r.contains(&byte))
        };
        if found.is_empty() {
            put(buf, inside, x, y, skipped, theme[Slot::Text]);
        } else {
            highlighted(buf, inside, x, y, skipped, at, theme[Slot::Text], theme[Slot::Matched]);
        }
        if index == selected && state.focus == Pane::Events {
            style_row(buf, inside, y, theme[Slot::Selected]);
        }
    }
}

/// The selected row is in view; near the end the view is full.
fn first_row(len: usize, selected: usize, rows: usize) -> usize {
    let last_page = len.saturating_sub(rows);
    if selected >= last_page { last_page } else { selected.saturating_sub(rows / 2) }
}

fn skip_columns(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        if used >= columns {
            return &text[at..];
        }
        used += char_width(c);
    }
    if columns == 0 { text } else { "" }
}

fn counts(state: &State) -> String {
    let log = &state.events;
    let mut out = if log.filter().is_empty() {
        format!("{} lines", grouped(log.held() as u64))
    } else {
        format!("{} of {} lines", grouped(log.len() as u64), grouped(log.held() as u64))
    };
    if log.held() == 0 {
        out.clear();
    }
    if log.trimmed > 0 {
        let _ = write!(out, " · {} older dropped", grouped(log.trimmed));
    }
    if log.stay {
        let _ = write!(out, " · {} below", grouped(log.back as u64));
    }
    out
}

/// Nothing was printed yet: why that may be.
fn waiting(state: &State, buf: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let room = usize::from(area.width).saturating_sub(2);
    put(buf, area, 1, 0, &fit("Attached; no line was printed yet.", room), theme[Slot::Dim]);
    let silent = state.trace.silent();
    let Some(stats) = state.trace.stats.as_ref().filter(|_| !silent.is_empty()) else { return };
    put(buf, area, 1, 2, &fit("No events yet, 0 hits:", room), theme[Slot::Warning]);
    let rows = usize::from(area.height).saturating_sub(3);
    for (y, index) in silent.iter().take(rows).enumerate() {
        let name = neutralise(&stats.probes[*index].name).into_owned();
        put(buf, area, 3, y + 3, &fit(&name, room.saturating_sub(2)), theme[Slot::Probe]);
    }
    let hint = "Does what they trace happen now? A predicate counts as a hit, whether it lets an event pass or not.";
    for (y, line) in wrap(hint, room).iter().enumerate() {
        put(buf, area, 1, 4 + silent.len().min(rows) + y, line, theme[Slot::Dim]);
    }
}

fn welcome(state: &State, buf: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    if state.trace.phase == Phase::Running {
        return waiting(state, buf, area);
    }
    if state.trace.phase != Phase::Idle {
        return;
    }
    let (mut area, room) = (area, usize::from(area.width).saturating_sub(2));
    if let Some(reason) = &state.disabled {
        let lines = wrap(&neutralise(&format!("Scripts cannot run here: {reason}.")), room);
        for (y, line) in lines.iter().enumerate() {
            put(buf, area, 1, y, line, theme[Slot::Warning]);
        }
        let used = (lines.len() as u16 + 1).min(area.height);
        area = Rect { y: area.y + used, height: area.height - used, ..area };
    }
    let (height, width) = (usize::from(area.height), usize::from(area.width));
    let box_width = 36;
    let x = width.saturating_sub(box_width) / 2;
    let top = height.saturating_sub(WELCOME.len() + 2) / 2;
    if height > WELCOME.len() + 1 {
        put(buf, area, x, top, "Trace the running kernel", theme[Slot::Heading]);
    }
    let from = if height > WELCOME.len() + 1 { top + 2 } else { 0 };
    for (i, (key, what)) in WELCOME.iter().enumerate() {
        put_end(buf, area, x + 6, from + i, key, theme[Slot::Key]);
        put(buf, area, x + 8, from + i, what, theme[Slot::Dim]);
    }
}

/// The first steps, in their order, and the ways out.
const WELCOME: [(&str, &str); 8] = [
    ("/", "find a probe: try openat"),
    ("Enter", "insert a clause for it"),
    ("Ctrl-S", "save, compile and attach"),
    ("Esc", "go to the output, and back"),
    ("Ctrl-O", "open one of the bundled scripts"),
    ("Ctrl-K", "every command by name"),
    ("F1", "every key"),
    ("Ctrl-Q", "leave"),
];
