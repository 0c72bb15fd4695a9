//! The script: its text, problems, completions, names, and how it is drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{Context, Kind, Pane, Registered};
use crate::session::update::ScriptId;
use crate::tui::action::{Action, Pick};
use crate::tui::document::Document;
use crate::tui::effect::Effect;
use crate::tui::keys::Scope;
use crate::tui::layout;
use crate::tui::layout::arrange::MinSize;
use crate::tui::layout::tree::Axis;
use crate::tui::state::State;

pub mod assist;
pub(crate) mod completing;
pub(crate) mod documents;
pub mod draw;
pub(crate) mod history;
pub(crate) mod keys;
pub(crate) mod names;
pub mod popup;
pub mod text;
pub(crate) mod update;
pub mod vi;

/// The name of this kind.
pub const KIND: Kind = Kind("script");

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "Script",
    about: "The script, with its problems where they are",
    by_default: true,
    commands: keys::BINDINGS,
    make: |state| Box::new(EditorPane { script: state.document.id }),
};

/// A view of an open script: each has one.
#[derive(Clone, Copy, Debug)]
pub struct EditorPane {
    /// Which script.
    pub script: ScriptId,
}

impl EditorPane {
    fn document<'a>(&self, state: &'a State) -> &'a Document {
        state.document(self.script).unwrap_or(&state.document)
    }
}

impl Pane for EditorPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, state: &State) -> String {
        if state.parked.is_empty() {
            return PANE.title.to_owned();
        }
        let document = self.document(state);
        format!("{}{}", document.name(), if document.is_unsaved() { " ●" } else { "" })
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 4), good: (46, 4) }
    }

    fn wanted(&self, state: &State, axis: Axis, of: u16) -> Option<u16> {
        if axis == Axis::Across {
            return Some(percent(of, 44).clamp(46, 92));
        }
        let document = self.document(state);
        let lines = u16::try_from(document.editor.lines().len() + 2).unwrap_or(u16::MAX);
        let problems = if document.editor.diagnostics().is_empty() { 0 } else { 3 };
        let most = percent(of, 55);
        Some(lines.saturating_add(problems).clamp(percent(of, 45), most.max(4)))
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(ctx, self.document(ctx.state), buf, area);
    }

    fn act(&mut self, action: &Action, state: &mut State, area: Rect) -> Vec<Effect> {
        state.bring(self.script);
        completing::popup(state, action).unwrap_or_else(|| update::act(state, action, area))
    }

    fn commands(&self, state: &State) -> &'static [Scope] {
        if state.document.assist.popup.is_some() { &[Scope::Popup, Scope::Pane(KIND)] } else { &[Scope::Pane(KIND)] }
    }

    fn takes_text(&self) -> bool {
        true
    }

    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        draw::place_at(ctx.state, self.document(ctx.state), area, (at.x, at.y))
            .map(|(line, column)| Pick::Text { line, column })
    }
}

/// Brings the cursor of every script that is shown into sight.
pub(crate) fn follow(state: &mut State) {
    for placed in layout::of(state).panes.placed {
        let Some(script) = documents::script_of(state, placed.shown) else { continue };
        let Some(document) = state.document(script) else { continue };
        let (height, width) = draw::text_size(state, document, placed.area);
        state.with(script, |state| state.document.editor.reveal(height, width));
    }
}

/// A part of a length that a terminal may claim to have: it is multiplied as a larger number.
const fn percent(of: u16, percent: u16) -> u16 {
    (of as u32 * percent as u32 / 100) as u16
}
