//! Live maps: tables with bars, histograms, stacks.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::events::EventsPane;
use super::{Context, Kind, Pane, Registered};
use crate::session::update::ScriptId;
use crate::tui::action::{Action, Pick};
use crate::tui::document::Document;
use crate::tui::effect::Effect;
use crate::tui::export::Shown;
use crate::tui::keys::Scope;
use crate::tui::layout::arrange::MinSize;
use crate::tui::layout::tree::Axis;
use crate::tui::state::State;

mod buckets;
pub mod cells;
pub mod draw;
mod histogram;
pub(crate) mod keys;
pub(crate) mod update;
pub mod views;

/// The name of this kind.
pub const KIND: Kind = Kind("maps");

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "Maps",
    about: "The script's maps, live: tables, histograms, stacks",
    by_default: true,
    commands: keys::BINDINGS,
    make: |_| Box::new(MapsPane::default()),
};

/// A view of a script's maps.
#[derive(Clone, Copy, Debug, Default)]
pub struct MapsPane {
    /// Stays with this script.
    pinned: Option<ScriptId>,
}

impl MapsPane {
    fn document<'a>(&self, state: &'a State) -> &'a Document {
        self.pinned.and_then(|script| state.document(script)).unwrap_or(&state.document)
    }
}

impl Pane for MapsPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, state: &State) -> String {
        let title = super::pinned_title(PANE.title, self.pinned, state);
        // What the events leave out is counted in the kernel, before anybody looks.
        let hides_own = state.panes.view::<EventsPane>().is_some_and(|events| events.log.hides_own());
        if hides_own { format!("{title}, own events counted too") } else { title }
    }

    fn count(&self, state: &State) -> usize {
        self.document(state).maps.views.len()
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 4), good: (54, 6) }
    }

    fn wanted(&self, state: &State, axis: Axis, of: u16) -> Option<u16> {
        let rows = u16::try_from(draw::wanted(self.document(state)) + 2).unwrap_or(u16::MAX);
        (axis == Axis::Down).then(|| rows.clamp(5, (of * 7 / 10).max(5)))
    }

    fn is_filled(&self, state: &State) -> bool {
        !self.document(state).maps.views.is_empty()
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(ctx, buf, area);
    }

    fn act(&mut self, action: &Action, state: &mut State, area: Rect) -> Vec<Effect> {
        if *action == Action::Pin {
            self.pinned = super::turned(self.pinned, state);
            return Vec::new();
        }
        let script = self.document(state).id;
        state.with(script, |state| update::act(state, action, area)).unwrap_or_default()
    }

    fn commands(&self, _state: &State) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn takes_filter(&self) -> bool {
        true
    }

    fn shown(&self, state: &State) -> Shown {
        let document = self.document(state);
        document
            .maps
            .current()
            .map_or(Shown::Picture, |view| Shown::Map(document.trace.id, std::sync::Arc::clone(&view.snapshot.name)))
    }

    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        draw::spot_at(ctx, area, (at.x, at.y))
    }

    fn counts(&self) -> bool {
        true
    }

    fn script(&self) -> Option<ScriptId> {
        self.pinned
    }
}
