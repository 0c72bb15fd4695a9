//! All keys, from the key table.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::keys;
use super::super::paint::{centred, clear, frame, note, put};
use super::super::state::State;
use super::super::text::{fit, width};
use super::super::theme::Slot;

/// A line of the help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Heading of a scope.
    Heading(&'static str),
    /// Keys and what they do.
    Entry(String, &'static str),
    /// Nothing.
    Blank,
}

/// The help, its keys cut to `columns`.
#[must_use]
pub fn lines(columns: usize) -> Vec<Line> {
    let mut out = Vec::new();
    for (scope, entries) in keys::help() {
        if !out.is_empty() {
            out.push(Line::Blank);
        }
        out.push(Line::Heading(scope.title()));
        out.extend(entries.into_iter().map(|(keys, about)| Line::Entry(fit(&keys, columns).into_owned(), about)));
    }
    out
}

/// Paints the overlay.
pub fn draw(state: &State, top: usize, buf: &mut Buffer, body: Rect) {
    let theme = &state.theme;
    let area = centred(body, 86, body.height.saturating_sub(2).max(3));
    clear(buf, area, theme[Slot::Overlay]);
    let inside = frame(buf, area, theme, true, "Keys");
    let keys = if inside.width < 50 { 14 } else { 26 };
    let all = lines(keys);
    let last = (top + usize::from(inside.height)).min(all.len());
    note(buf, area, &format!("{}–{last} of {}", top + 1, all.len()), theme[Slot::Faint], 8);
    for (y, line) in all.iter().skip(top).take(usize::from(inside.height)).enumerate() {
        match line {
            Line::Heading(title) => {
                put(buf, inside, 1, y, title, theme[Slot::TitleFocus]);
            }
            Line::Entry(names, about) => {
                put(buf, inside, 1 + keys - width(names).min(keys), y, names, theme[Slot::Key]);
                let room = usize::from(inside.width).saturating_sub(keys + 4);
                put(buf, inside, keys + 3, y, &fit(about, room), theme[Slot::Overlay]);
            }
            Line::Blank => {}
        }
    }
}
