//! The script: its text, problems, completions, names, and how it is drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::session::update::ScriptId;
use crate::tui::base::action::{Action, Pick};
use crate::tui::base::arrange::MinSize;
use crate::tui::base::key::Scope;
use crate::tui::base::kind::{self, Kind};
use crate::tui::base::tree::Axis;
use crate::tui::data::Data;
use crate::tui::data::document::Document;
use crate::tui::pane::ask::Change;
use crate::tui::pane::{Ask, Context, Pane, Registered, Turn};
use crate::tui::widgets::rows::page;

pub(crate) mod completing;
pub mod draw;
pub(crate) mod history;
pub(crate) mod keys;
pub(crate) mod names;
pub mod popup;
pub(crate) mod update;

/// The name of this kind.
pub const KIND: Kind = kind::SCRIPT;

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "Script",
    about: "The script, with its problems where they are",
    by_default: true,
    commands: keys::BINDINGS,
    make: |data| Box::new(EditorPane { script: data.document.id }),
    follow: None,
};

/// A view of an open script: each has one.
#[derive(Clone, Copy, Debug)]
pub struct EditorPane {
    /// Which script.
    pub script: ScriptId,
}

impl EditorPane {
    fn document<'a>(&self, data: &'a Data) -> &'a Document {
        data.document(self.script).unwrap_or(&data.document)
    }
}

impl Pane for EditorPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, data: &Data) -> String {
        if data.parked.is_empty() {
            return PANE.title.to_owned();
        }
        let document = self.document(data);
        format!("{}{}", document.name(), if document.is_unsaved() { " ●" } else { "" })
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 4), good: (46, 4) }
    }

    fn wanted(&self, data: &Data, axis: Axis, of: u16) -> Option<u16> {
        if axis == Axis::Across {
            return Some(percent(of, 44).clamp(46, 92));
        }
        let document = self.document(data);
        let lines = u16::try_from(document.editor.lines().len() + 2).unwrap_or(u16::MAX);
        let problems = if document.editor.diagnostics().is_empty() { 0 } else { 3 };
        let most = percent(of, 55);
        Some(lines.saturating_add(problems).clamp(percent(of, 45), most.max(4)))
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(ctx, self.document(ctx.data), buf, area);
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, area: Rect) {
        turn.ask(Ask::Script(Some(self.script), Change::Text(action.clone(), page(area))));
    }

    fn commands(&self, data: &Data) -> &'static [Scope] {
        if data.document.assist.popup.is_some() { &[Scope::Popup, Scope::Pane(KIND)] } else { &[Scope::Pane(KIND)] }
    }

    fn draw_over(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect, body: Rect) {
        if let Some(popup) = &ctx.data.document.assist.popup {
            popup::draw(ctx.data, popup, buf, area, body);
        }
    }

    fn edits(&self) -> Option<ScriptId> {
        Some(self.script)
    }

    fn text_room(&self, data: &Data, area: Rect) -> Option<(usize, usize)> {
        Some(draw::text_size(data, self.document(data), area))
    }

    fn takes_text(&self) -> bool {
        true
    }

    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        draw::place_at(ctx.data, self.document(ctx.data), area, (at.x, at.y))
            .map(|(line, column)| Pick::Text { line, column })
    }
}

/// A part of a length that a terminal may claim to have: it is multiplied as a larger number.
const fn percent(of: u16, percent: u16) -> u16 {
    (of as u32 * percent as u32 / 100) as u16
}
