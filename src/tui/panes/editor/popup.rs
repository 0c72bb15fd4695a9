//! The popup of completions at the cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::base::paint::{clear, frame, put, style_row};
use crate::tui::base::text::{fit, neutralise, width};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::data::assist::Popup;
use crate::tui::data::text::columns;

/// Columns that what is known of a name takes beside it at most.
const MOST_DETAIL: usize = 40;

/// Most rows of completions.
const ROWS: usize = 8;

/// Paints it below the cursor, or above where there is no room. `editor` is the script's frame.
pub fn draw(data: &Data, popup: &Popup, buf: &mut Buffer, editor: Rect, body: Rect) {
    let theme = &data.theme;
    let (line, column) = data.document.editor.cursor();
    let y = editor.y + 1 + line.saturating_sub(data.document.editor.top) as u16;
    let start = popup.current().map_or(0, |c| c.replace.start);
    let typed = (data.document.editor.offset().saturating_sub(start)) as usize;
    let at =
        columns(data.document.editor.line(), column).saturating_sub(typed).saturating_sub(data.document.editor.left);
    let labels = popup.items.iter().map(|i| width(&i.label)).max().unwrap_or(0);
    let details = popup.items.iter().map(|i| width(&i.detail)).max().unwrap_or(0);
    // Names are told in full wherever there is room, whatever else is known of them behind.
    let wide = (labels + details.min(MOST_DETAIL) + 6).clamp(20, usize::from(body.width).max(20)) as u16;
    let rows = popup.items.len().min(ROWS) as u16;
    let below = body.bottom().saturating_sub(y + 1);
    let height = (rows + 2).min(below.max(y.saturating_sub(body.y)));
    let top = if below >= height { y + 1 } else { y.saturating_sub(height) };
    let left = editor.x + 1 + crate::tui::panes::editor::draw::gutter(data, &data.document) as u16 + at as u16;
    let wide = wide.min(body.width);
    let x = left.saturating_sub(1).min(body.right().saturating_sub(wide));
    let area = Rect { x, y: top, width: wide, height }.intersection(body);
    if area.height < 3 {
        return;
    }
    clear(buf, area, theme[Slot::Overlay]);
    let inside = frame(buf, area, theme, true, "");
    let shown = usize::from(inside.height);
    let first = (popup.selected + 1).saturating_sub(shown);
    let room = usize::from(inside.width);
    let split = labels.min(room.saturating_sub(2));
    for (y, (i, item)) in popup.items.iter().enumerate().skip(first).take(shown).enumerate() {
        put(buf, inside, 1, y, &fit(&neutralise(&item.label), split.max(8)), theme[Slot::Overlay]);
        let x = split.max(8) + 3;
        put(buf, inside, x, y, &fit(&neutralise(&item.detail), room.saturating_sub(x)), theme[Slot::Faint]);
        if i == popup.selected {
            style_row(buf, inside, y, theme[Slot::Selected]);
        }
    }
}
