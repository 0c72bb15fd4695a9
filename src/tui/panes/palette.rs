//! The list of commands.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::keys;
use super::super::paint::{centred, clear, frame, highlighted, put, put_end, style_row};
use super::super::palette::Palette;
use super::super::state::State;
use super::super::theme::Slot;
use super::reader::input_line;

/// Paints the overlay.
pub fn draw(state: &State, palette: &Palette, buf: &mut Buffer, body: Rect) {
    let theme = &state.theme;
    let area = centred(body, 76, body.height.saturating_sub(4).clamp(4, 22));
    clear(buf, area, theme[Slot::Overlay]);
    let inside = frame(buf, area, theme, true, "Commands");
    input_line(state, &palette.input, "›", buf, inside, 0);
    let commands = palette.commands();
    let rows = usize::from(inside.height).saturating_sub(1);
    let first = (palette.selected + 1).saturating_sub(rows);
    for (y, (i, (binding, at))) in commands.iter().enumerate().skip(first).take(rows).enumerate() {
        let key = keys::name(binding.keys[0]);
        let plain = theme[Slot::Overlay];
        highlighted(buf, inside, 2, y + 1, binding.about, |i| at.contains(&i), plain, theme[Slot::Matched]);
        put_end(buf, inside, usize::from(inside.width).saturating_sub(1), y + 1, &format!("  {key}"), theme[Slot::Key]);
        if i == palette.selected {
            style_row(buf, inside, y + 1, theme[Slot::Selected]);
        }
    }
    if commands.is_empty() {
        put(buf, inside, 2, 1, "No command has these letters.", theme[Slot::Dim]);
    }
}
