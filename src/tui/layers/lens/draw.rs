//! Paints the lens.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{Lens, Row};
use crate::tui::base::paint::{centred, clear, frame, note, put, put_end, style_row};
use crate::tui::base::text::{fit, grouped, neutralise, width};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::layers::Struck;
use crate::tui::widgets::frame::input_line;

/// Columns of a step inwards.
const STEP: usize = 2;
/// Columns of places.
const PLACE: usize = 10;

fn place(body: Rect) -> Rect {
    centred(body, body.width.saturating_sub(4).clamp(10, 150), body.height.saturating_sub(2).max(4))
}

/// Where the rows are, and the first one.
fn rows(lens: &Lens, body: Rect) -> (Rect, usize) {
    let frame = place(body);
    let height = frame.height.saturating_sub(4);
    let area = Rect { x: frame.x + 1, y: frame.y + 3, width: frame.width.saturating_sub(2), height };
    (area, (lens.selected + 1).saturating_sub(usize::from(height)))
}

/// The row at a place of the screen.
#[must_use]
pub fn row_at(lens: &Lens, body: Rect, (column, row): (u16, u16)) -> Struck {
    let at = Position::new(column, row);
    if !place(body).contains(at) {
        return Struck::Outside;
    }
    let (area, first) = rows(lens, body);
    let index = area.contains(at).then(|| first + usize::from(row - area.y));
    Struck::inside(index.filter(|index| *index < lens.rows.len()))
}

/// Paints the overlay.
pub fn draw(data: &Data, lens: &Lens, buf: &mut Buffer, body: Rect) {
    let theme = &data.theme;
    let area = place(body);
    clear(buf, area, theme[Slot::Overlay]);
    let inside = frame(buf, area, theme, true, &lens.title);
    let what = if lens.only_differences { "differences" } else { "members" };
    note(buf, area, &format!("{} {what}", grouped(lens.rows.len() as u64)), theme[Slot::Faint], width(&lens.title) + 4);
    input_line(theme, &lens.input, "/", buf, inside, 0);
    put(buf, inside, 0, 1, &"─".repeat(usize::from(inside.width)), theme[Slot::Border]);
    let (area, first) = rows(lens, body);
    if lens.rows.is_empty() {
        let text = if lens.only_differences { "Nothing differs." } else { "No member has these letters." };
        put(buf, area, 1, 0, text, theme[Slot::Dim]);
    }
    let names = names(lens, first, area);
    for (y, (index, row)) in lens.rows.iter().enumerate().skip(first).take(usize::from(area.height)).enumerate() {
        if index == lens.selected {
            style_row(buf, area, y, theme[Slot::Selected]);
            put(buf, area, 0, y, "›", theme[Slot::Key]);
        }
        paint_row(data, row, buf, area, y, names);
    }
}

/// Columns for the names in sight.
fn names(lens: &Lens, first: usize, area: Rect) -> usize {
    let sight = lens.rows.iter().skip(first).take(usize::from(area.height));
    let widest = sight.map(|row| row.depth * STEP + width(&row.name) + 2).max().unwrap_or(0);
    widest.min(usize::from(area.width) * 55 / 100)
}

fn paint_row(data: &Data, row: &Row, buf: &mut Buffer, area: Rect, y: usize, names: usize) {
    let theme = &data.theme;
    let columns = usize::from(area.width);
    let indent = (row.depth * STEP).min(names / 2);
    let mark = match row.opens {
        Some(true) => "▾",
        Some(false) => "▸",
        None => " ",
    };
    put(buf, area, 2 + indent, y, mark, theme[Slot::Key]);
    put(buf, area, 4 + indent, y, &fit(&neutralise(&row.name), names.saturating_sub(indent)), theme[Slot::Field]);
    let x = names + 5;
    let end = columns.saturating_sub(if row.place.is_empty() { 1 } else { PLACE });
    let room = end.saturating_sub(x);
    let what = neutralise(&row.what);
    match &row.before {
        Some(before) => {
            let before = neutralise(before);
            let x = put(buf, area, x, y, &fit(&before, room / 2), theme[Slot::Dim]);
            let x = put(buf, area, x, y, " → ", theme[Slot::Warning]);
            put(buf, area, x, y, &fit(&what, end.saturating_sub(x)), theme[Slot::Value]);
        }
        None => {
            put(buf, area, x, y, &fit(&what, room), theme[Slot::Type]);
        }
    }
    if !row.place.is_empty() {
        put_end(buf, area, columns.saturating_sub(1), y, &row.place, theme[Slot::Faint]);
    }
}
