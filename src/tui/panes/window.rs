//! The keys that arrange panes, shown while the next one is awaited.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::keys::{self, Scope};
use super::super::paint::{clear, frame, put, put_end};
use super::super::state::State;
use super::super::text::{fit, width};
use super::super::theme::Slot;

/// Paints them at the lower right.
pub fn draw(state: &State, buf: &mut Buffer, body: Rect) {
    let theme = &state.theme;
    let all: Vec<_> = keys::all().filter(|b| b.scope == Scope::Window).collect();
    let name = |b: &keys::Binding| b.keys.iter().map(|k| keys::name(*k)).collect::<Vec<_>>().join(" ");
    let names = all.iter().map(|b| width(&name(b))).max().unwrap_or(0);
    let texts = all.iter().map(|b| width(b.about)).max().unwrap_or(0);
    let columns = u16::try_from(names + texts + 6).unwrap_or(u16::MAX).min(body.width);
    let rows = u16::try_from(all.len() + 2).unwrap_or(u16::MAX).min(body.height);
    let area = Rect { x: body.right() - columns, y: body.bottom() - rows, width: columns, height: rows };
    clear(buf, area, theme[Slot::Overlay]);
    let inside = frame(buf, area, theme, true, "Arrange the panes");
    for (y, binding) in all.iter().take(usize::from(inside.height)).enumerate() {
        put_end(buf, inside, names + 1, y, &name(binding), theme[Slot::Key]);
        let room = usize::from(inside.width).saturating_sub(names + 3);
        put(buf, inside, names + 3, y, &fit(binding.about, room), theme[Slot::Overlay]);
    }
}
