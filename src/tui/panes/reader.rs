//! Texts to read, questions, and input lines.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::input::Input;
use super::super::paint::{centred, clear, frame, note, pieces, put};
use super::super::state::{Confirm, Reader, State};
use super::super::text::{fit, neutralise, width, wrap};
use super::super::theme::Slot;

/// Paints a text in a frame.
pub fn draw(state: &State, reader: &Reader, buf: &mut Buffer, body: Rect) {
    let theme = &state.theme;
    let columns = body.width.saturating_sub(4).clamp(20, 110);
    let room = usize::from(columns).saturating_sub(4);
    let lines: Vec<String> = if reader.wrap {
        reader.lines.iter().flat_map(|l| wrap(&neutralise(l), room)).collect()
    } else {
        reader.lines.iter().map(|l| fit(&neutralise(l), room).into_owned()).collect()
    };
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).clamp(3, body.height.saturating_sub(2).max(3));
    let area = centred(body, columns, height);
    clear(buf, area, theme[Slot::Overlay]);
    let inside = frame(buf, area, theme, true, &reader.title);
    let rows = usize::from(inside.height);
    let top = reader.top.min(lines.len().saturating_sub(rows));
    if lines.len() > rows {
        let shown = format!("{}–{} of {}", top + 1, (top + rows).min(lines.len()), lines.len());
        note(buf, area, &shown, theme[Slot::Faint], width(&reader.title) + 4);
    }
    for (y, line) in lines.iter().skip(top).take(rows).enumerate() {
        put(buf, inside, 1, y, line, theme[Slot::Overlay]);
    }
}

/// Asks what to do with unsaved text.
pub fn confirm(state: &State, buf: &mut Buffer, body: Rect, title: &str, verb: &str, in_tab: bool) {
    let theme = &state.theme;
    let area = centred(body, 54, 6);
    clear(buf, area, theme[Slot::Overlay]);
    let inside = frame(buf, area, theme, true, title);
    let text = format!("{} has unsaved changes.", state.name());
    put(buf, inside, 2, 1, &fit(&neutralise(&text), usize::from(inside.width).saturating_sub(3)), theme[Slot::Overlay]);
    let (key, plain) = (theme[Slot::Key], theme[Slot::Overlay]);
    let (save, go) = (format!(" save and {verb}  "), format!(" {verb}  "));
    let mut parts = vec![("s", key), (&*save, plain), ("d", key), (&*go, plain)];
    if in_tab {
        parts.extend([("t", key), (" in a tab  ", plain)]);
    }
    parts.extend([("Esc", key), (" stay", plain)]);
    pieces(buf, inside, 2, 3, &parts);
}

/// Asks before something that can't be undone.
pub fn question(state: &State, confirm: &Confirm, buf: &mut Buffer, body: Rect) {
    let theme = &state.theme;
    // Inside of the frame, with two columns before the text and one after it.
    let lines = wrap(&confirm.about, usize::from(body.width.min(54)).saturating_sub(5));
    let area = centred(body, 54, u16::try_from(lines.len() + 5).unwrap_or(u16::MAX));
    clear(buf, area, theme[Slot::Overlay]);
    let inside = frame(buf, area, theme, true, &confirm.title);
    for (y, line) in lines.iter().enumerate() {
        put(buf, inside, 2, y + 1, &fit(line, usize::from(inside.width).saturating_sub(3)), theme[Slot::Overlay]);
    }
    let (key, plain) = (theme[Slot::Key], theme[Slot::Overlay]);
    pieces(buf, inside, 2, lines.len() + 2, &[("y", key), (" yes   ", plain), ("Esc", key), (" no", plain)]);
}

/// Asks for a line of text.
pub fn ask(state: &State, input: &Input, buf: &mut Buffer, body: Rect, title: &str) {
    let area = centred(body, 70, 3);
    clear(buf, area, state.theme[Slot::Overlay]);
    let inside = frame(buf, area, &state.theme, true, title);
    input_line(state, input, "›", buf, inside, 0);
}

/// A line of typed text with its cursor.
pub fn input_line(state: &State, input: &Input, prompt: &str, buf: &mut Buffer, area: Rect, y: usize) {
    let theme = &state.theme;
    let x = put(buf, area, 1, y, prompt, theme[Slot::Key]) + 1;
    let room = usize::from(area.width).saturating_sub(x + 1).max(1);
    let before = width(input.before());
    let skip = before.saturating_sub(room - 1);
    let shown = neutralise(input.text());
    let cut: String = shown.chars().skip(skip).collect();
    let plain = theme[Slot::Text];
    let look = ratatui::style::Style { bg: None, ..plain };
    put(buf, area, x, y, &cut, if input.is_proposal() { look.patch(theme[Slot::Marked]) } else { look });
    let under = input.text()[input.before().len()..].chars().next().unwrap_or(' ').to_string();
    put(buf, area, x + before - skip, y, &under, theme[Slot::Cursor]);
}
