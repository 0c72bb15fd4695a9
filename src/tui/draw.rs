//! Painting the state. Nothing is changed here.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::layout::{self, LEAST};
use super::paint;
use super::panes::{self, Context, editor};
use super::state::{Layer, State};
use super::theme::Slot;

/// Paints the whole screen.
pub fn draw(state: &State, buf: &mut Buffer) {
    let area = buf.area;
    paint::clear(buf, area, state.theme[Slot::Text]);
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return too_small(state, buf);
    }
    let layout = layout::of(state);
    if let Some(bar) = layout.bar {
        panes::bars::top(state, buf, bar);
    }
    for placed in &layout.panes.placed {
        if let Some(pane) = state.panes.get(placed.shown) {
            pane.draw(&Context::new(state, placed.shown, &placed.tabs), buf, placed.area);
        }
    }
    if let Some(status) = layout.status {
        panes::bars::status(state, buf, status);
    }
    let script = layout.panes.area(state.panes.focus()).filter(|_| state.on(editor::KIND) && state.layers.is_empty());
    if let (Some(popup), Some(script)) = (&state.document.assist.popup, script) {
        editor::popup::draw(state, popup, buf, script, layout.body);
    }
    for layer in &state.layers {
        draw_layer(state, layer, buf, layout.body);
    }
    if let Some(footer) = layout.footer {
        panes::bars::footer(state, buf, footer);
    }
}

fn draw_layer(state: &State, layer: &Layer, buf: &mut Buffer, body: Rect) {
    match layer {
        Layer::Browser(browser) => panes::browser::draw::draw(state, browser, buf, body),
        Layer::Help(top) => panes::help::draw(state, *top, buf, body),
        Layer::Palette(palette) => panes::palette::draw(state, palette, buf, body),
        Layer::Reader(reader) => panes::reader::draw(state, reader, buf, body),
        Layer::ConfirmQuit => panes::reader::confirm(state, buf, body, "Leave?", "leave", false),
        Layer::ConfirmOpen(name) => panes::reader::confirm(state, buf, body, &format!("Open {name}?"), "open", true),
        Layer::SaveAs(input) => panes::reader::ask(state, input, buf, body, "Save the script as"),
        Layer::Rename(input) => panes::reader::ask(state, input, buf, body, "Another name, in the whole script"),
        Layer::SaveLayout(input) => panes::reader::ask(state, input, buf, body, "Save the layout as"),
        Layer::GoTo(input) => panes::reader::ask(state, input, buf, body, "Go to 12:30:05, +1.5s, -200ms, 1m30s"),
        Layer::OpenFile(input) => {
            panes::reader::ask(state, input, buf, body, "Open a script in a tab; without a name a new one");
        }
        Layer::Parameters(asked) => panes::reader::ask(state, &asked.input, buf, body, &asked.title),
        Layer::Chooser(chooser) => panes::chooser::draw(state, chooser, buf, body),
        Layer::Confirm(confirm) => panes::reader::question(state, confirm, buf, body),
        Layer::Lens(lens) => panes::lens::draw::draw(state, lens, buf, body),
        Layer::Window => panes::window::draw(state, buf, body),
        Layer::Filter(_) | Layer::Find(_) => {}
    }
}

fn too_small(state: &State, buf: &mut Buffer) {
    let area = buf.area;
    for (y, line) in super::text::wrap("too small", usize::from(area.width)).iter().enumerate() {
        paint::put(buf, area, 0, y, line, state.theme[Slot::Warning]);
    }
}
