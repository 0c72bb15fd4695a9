//! The lines of output.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{Context, Kind, Pane, Registered};
use crate::tui::action::{Action, Pick};
use crate::tui::effect::Effect;
use crate::tui::keys::Scope;
use crate::tui::layout::arrange::MinSize;
use crate::tui::state::State;

pub mod draw;
pub mod filter;
pub(in crate::tui) mod keys;
pub mod log;
pub(in crate::tui) mod update;

/// The name of this kind.
pub const KIND: Kind = Kind("events");

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "Events",
    about: "What the script prints, line by line",
    by_default: true,
    commands: keys::BINDINGS,
    make: |_| Box::new(EventsPane),
};

/// A view of the lines.
#[derive(Clone, Copy, Debug)]
pub struct EventsPane;

impl Pane for EventsPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, _state: &State) -> String {
        PANE.title.to_owned()
    }

    fn count(&self, state: &State) -> usize {
        state.events.len(&state.store)
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 4), good: (54, 6) }
    }

    fn is_filled(&self, state: &State) -> bool {
        state.events.held(&state.store) > 0
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(ctx, buf, area);
    }

    fn act(&mut self, action: &Action, state: &mut State, area: Rect) -> Vec<Effect> {
        update::act(state, action, area)
    }

    fn commands(&self, _state: &State) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        draw::line_at(ctx.state, area, at.y).map(|row| Pick::Row { table: 0, row })
    }
}
