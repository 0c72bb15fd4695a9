//! Painting on a buffer: everything is clipped to the area given, whatever the size of the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::text::{char_width, fit, width};
use super::theme::{Slot, Theme};

/// Writes text at a column and row of `area`; returns the column after it.
pub fn put(buf: &mut Buffer, area: Rect, x: usize, y: usize, text: &str, style: Style) -> usize {
    let area = area.intersection(buf.area);
    if y < usize::from(area.height) && x < usize::from(area.width) {
        let room = usize::from(area.width) - x;
        let at = (area.x + x as u16, area.y + y as u16);
        buf.set_stringn(at.0, at.1, text, room, style);
    }
    x + width(text)
}

/// Writes text that ends before column `end`; returns the column of its start.
pub fn put_end(buf: &mut Buffer, area: Rect, end: usize, y: usize, text: &str, style: Style) -> usize {
    let start = end.saturating_sub(width(text));
    put(buf, area, start, y, &fit(text, end), style);
    start
}

/// Writes pieces of different looks one after the other; returns the column after them.
pub fn pieces(buf: &mut Buffer, area: Rect, x: usize, y: usize, parts: &[(&str, Style)]) -> usize {
    parts.iter().fold(x, |x, (text, style)| put(buf, area, x, y, text, *style))
}

/// Styles a row without changing its text.
pub fn style_row(buf: &mut Buffer, area: Rect, y: usize, style: Style) {
    if y < usize::from(area.height) {
        let row = Rect { y: area.y + y as u16, height: 1, ..area };
        buf.set_style(row.intersection(buf.area), style);
    }
}

/// Empties an area.
pub fn clear(buf: &mut Buffer, area: Rect, style: Style) {
    let area = area.intersection(buf.area);
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            buf[(x, y)].reset();
        }
    }
    buf.set_style(area, style);
}

/// A rounded frame with a title on its upper edge; returns what is inside.
pub fn frame(buf: &mut Buffer, area: Rect, theme: &Theme, focused: bool, title: &str) -> Rect {
    let line = theme[if focused { Slot::BorderFocus } else { Slot::Border }];
    let (w, h) = (usize::from(area.width), usize::from(area.height));
    if w < 2 || h < 2 {
        return area;
    }
    let edge = "─".repeat(w - 2);
    put(buf, area, 0, 0, &format!("╭{edge}╮"), line);
    for y in 1..h - 1 {
        put(buf, area, 0, y, "│", line);
        put(buf, area, w - 1, y, "│", line);
    }
    put(buf, area, 0, h - 1, &format!("╰{edge}╯"), line);
    if !title.is_empty() && w > 4 {
        let style = theme[if focused { Slot::TitleFocus } else { Slot::Title }];
        put(buf, area, 1, 0, &fit(&format!(" {title} "), w - 2), style);
    }
    Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 }
}

/// A note on the upper edge of a frame, at its right.
pub fn note(buf: &mut Buffer, area: Rect, text: &str, style: Style, taken: usize) {
    let end = usize::from(area.width).saturating_sub(2);
    if !text.is_empty() && width(text) + 2 + taken <= end {
        put_end(buf, area, end, 0, &format!(" {text} "), style);
    }
}

/// Adds a mark without a width of its own (an accent) to the character at a column.
pub fn add_mark(buf: &mut Buffer, area: Rect, x: usize, y: usize, mark: char) {
    let area = area.intersection(buf.area);
    if y < usize::from(area.height)
        && x < usize::from(area.width)
        && let Some(cell) = buf.cell_mut((area.x + x as u16, area.y + y as u16))
    {
        let whole = format!("{}{mark}", cell.symbol());
        cell.set_symbol(&whole);
    }
}

/// Text with some characters (by index) in another look.
#[allow(clippy::too_many_arguments, reason = "a place, a text and two looks")]
pub fn highlighted(
    buf: &mut Buffer,
    area: Rect,
    x: usize,
    y: usize,
    text: &str,
    at: impl Fn(usize) -> bool,
    plain: Style,
    marked: Style,
) -> usize {
    let (mut column, mut last) = (x, None);
    let mut letter = [0_u8; 4];
    for (i, c) in text.chars().enumerate() {
        if column + char_width(c) > usize::from(area.width) {
            break;
        }
        if char_width(c) == 0 {
            if let Some(last) = last {
                add_mark(buf, area, last, y, c);
            }
            continue;
        }
        last = Some(column);
        let style = if at(i) { plain.patch(marked) } else { plain };
        column = put(buf, area, column, y, c.encode_utf8(&mut letter), style);
    }
    column
}

/// A bar of `part` (0 to 1) of `columns`, in eighths.
#[must_use]
pub fn bar(part: f64, columns: usize) -> String {
    let eighths = (part.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize;
    let eighths = if part > 0.0 { eighths.max(1) } else { 0 };
    let mut out = "█".repeat(eighths / 8);
    if eighths % 8 > 0 {
        out.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8 - 1]);
    }
    out
}

/// Counts as columns of eighths, the newest `columns` of them.
#[must_use]
pub fn sparkline(values: impl ExactSizeIterator<Item = u64> + Clone, columns: usize) -> String {
    let skip = values.len().saturating_sub(columns);
    let shown = values.skip(skip);
    let most = shown.clone().max().unwrap_or(0).max(1) as f64;
    let step = |v: u64| ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][((v as f64 / most) * 7.0).round() as usize];
    shown.map(step).collect()
}

/// A chart of columns, `rows` high, from the top: the newest `columns` values between the least one
/// or 0 and the largest; nothing where there is no value.
#[must_use]
pub fn chart(values: &[Option<i64>], columns: usize, rows: usize) -> Vec<String> {
    let shown = &values[values.len().saturating_sub(columns)..];
    let known = || shown.iter().flatten().copied();
    let (low, high) = (known().min().unwrap_or(0).min(0), known().max().unwrap_or(0).max(1));
    let span = high as f64 - low as f64;
    let eighths = |v: i64| ((v as f64 - low as f64) / span * (rows * 8) as f64).round() as usize;
    let cell = |value: &Option<i64>, row: usize| {
        let Some(value) = value else { return ' ' };
        // What was seen is drawn, even the least value.
        let filled = eighths(*value).max(1).saturating_sub((rows - 1 - row) * 8);
        [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][filled.min(8)]
    };
    (0..rows).map(|row| shown.iter().map(|v| cell(v, row)).collect()).collect()
}

/// A box in the middle of an area.
#[must_use]
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_exact_to_an_eighth() {
        assert_eq!(bar(0.0, 4), "");
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(0.0001, 4), "▏", "what is there is seen");
    }

    #[test]
    fn charts_keep_gaps_and_show_the_newest() {
        let values = [Some(99), Some(0), None, Some(4), Some(8)];
        assert_eq!(chart(&values, 4, 2), ["   █", "▁ ██"]);
        assert_eq!(chart(&[], 4, 2), ["", ""]);
        assert_eq!(chart(&[Some(i64::MIN), Some(i64::MAX)], 9, 1), ["▁█"]);
    }

    #[test]
    fn accents_stay_on_their_letters() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 6, 1));
        let area = buf.area;
        highlighted(&mut buf, area, 0, 0, "e\u{301}漢\u{302}x", |i| i == 3, Style::new(), Style::new());
        let cells: Vec<&str> = buf.content().iter().map(ratatui::buffer::Cell::symbol).collect();
        assert_eq!(cells, ["e\u{301}", "漢\u{302}", " ", "x", " ", " "]);
    }

    #[test]
    fn nothing_is_painted_outside() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 5, 2));
        let inside = Rect::new(1, 0, 3, 1);
        put(&mut buf, inside, 1, 0, "abcdef", Style::new());
        put(&mut buf, inside, 0, 1, "x", Style::new());
        put(&mut buf, Rect::new(3, 1, 90, 90), 0, 40, "y", Style::new());
        assert_eq!(buf, Buffer::with_lines(["  ab ", "     "]));
    }
}
