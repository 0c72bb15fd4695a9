//! The list of commands and scripts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::palette::{Entry, Listed, Palette};
use crate::tui::base::key::name;
use crate::tui::base::paint::{centred, clear, frame, highlighted, put, put_end, style_row};
use crate::tui::base::text::{fit, neutralise, width};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::layers::Struck;
use crate::tui::widgets::frame::input_line;

fn place(body: Rect) -> Rect {
    centred(body, 100, body.height.saturating_sub(4).clamp(4, 26))
}

/// Entries that are shown below the line of text: the first one and how many.
fn view(palette: &Palette, height: usize, needs: bool) -> (usize, usize) {
    let rows = height.saturating_sub(1 + usize::from(needs));
    ((palette.selected + 1).saturating_sub(rows), rows)
}

/// The entry at a place of the screen.
#[must_use]
pub fn entry_at(palette: &Palette, body: Rect, (column, row): (u16, u16)) -> Struck {
    let area = place(body);
    if !area.contains(ratatui::layout::Position::new(column, row)) {
        return Struck::Outside;
    }
    let entries = palette.entries();
    let height = usize::from(area.height).saturating_sub(2);
    let needs = matches!(entries.get(palette.selected), Some((Entry::Script(_), _))) && height > 4;
    let (first, rows) = view(palette, height, needs);
    let line = usize::from(row - area.y).checked_sub(2).filter(|l| *l < rows);
    Struck::inside(line.map(|l| first + l).filter(|i| *i < entries.len()))
}

/// Paints the overlay.
pub fn draw(data: &Data, palette: &Palette, buf: &mut Buffer, body: Rect) {
    let theme = &data.theme;
    let area = place(body);
    clear(buf, area, theme[Slot::Overlay]);
    let title = match palette.listed {
        Listed::All => "Commands and scripts",
        Listed::Scripts => "Open a bundled script",
        Listed::Clauses => "Insert clauses of a bundled script",
        Listed::Scopes(_) => "Limit clauses to",
        Listed::Processes(_) => "Watch a process: type its name or number",
    };
    let inside = frame(buf, area, theme, true, title);
    input_line(theme, &palette.input, "›", buf, inside, 0);
    let entries = palette.entries();
    // What the selected script needs stands below the list.
    let needs = match entries.get(palette.selected) {
        Some((Entry::Script(script), _)) if inside.height > 4 => format!("needs {}", script.needs),
        _ => String::new(),
    };
    let (first, rows) = view(palette, usize::from(inside.height), !needs.is_empty());
    let columns = usize::from(inside.width);
    for (y, (i, (entry, at))) in entries.iter().enumerate().skip(first).take(rows).enumerate() {
        let key = match entry {
            Entry::Command(binding) => binding.keys.first().map_or_else(String::new, |key| name(*key)),
            Entry::Preset(_) => "run".to_owned(),
            Entry::Export(_) => "file".to_owned(),
            Entry::Saved(_) => "saved".to_owned(),
            Entry::Script(_) if palette.listed == Listed::Scripts => String::new(),
            Entry::Clauses(_) | Entry::Scope(_) | Entry::Process(..) => String::new(),
            Entry::Script(_) => "script".to_owned(),
        };
        let (plain, words) = (theme[Slot::Overlay], neutralise(&entry.words()).into_owned());
        let shown = fit(&words, columns.saturating_sub(width(&key) + 5));
        highlighted(buf, inside, 2, y + 1, &shown, |i| at.contains(&i), plain, theme[Slot::Matched]);
        let slot = if matches!(entry, Entry::Command(_)) { Slot::Key } else { Slot::Faint };
        put_end(buf, inside, columns.saturating_sub(1), y + 1, &key, theme[slot]);
        if i == palette.selected {
            style_row(buf, inside, y + 1, theme[Slot::Selected]);
        }
    }
    if entries.is_empty() {
        put(buf, inside, 2, 1, "Nothing has these letters.", theme[Slot::Dim]);
    }
    if !needs.is_empty() {
        put(buf, inside, 2, usize::from(inside.height) - 1, &fit(&needs, columns.saturating_sub(3)), theme[Slot::Info]);
    }
}
