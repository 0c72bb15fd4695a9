//! The lines of output.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{Context, Kind, News, Pane, Registered};
use crate::session::update::ScriptId;
use crate::tui::action::{Action, Pick};
use crate::tui::effect::Effect;
use crate::tui::export::Shown;
use crate::tui::keys::Scope;
use crate::tui::layout::arrange::MinSize;
use crate::tui::state::State;

pub mod draw;
pub mod expression;
pub mod fields;
pub mod filter;
pub(crate) mod keys;
pub mod log;
pub mod predicate;
pub(crate) mod update;

use log::EventLog;

/// The name of this kind.
pub const KIND: Kind = Kind("events");

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "Events",
    about: "What the script prints, line by line",
    by_default: true,
    commands: keys::BINDINGS,
    make: |state| Box::new(EventsPane::new(state)),
};

/// A view of the history's lines.
#[derive(Clone, Debug, Default)]
pub struct EventsPane {
    /// Which lines are shown, and which one is chosen.
    pub log: EventLog,
    /// Only the lines of this script.
    pinned: Option<ScriptId>,
}

impl EventsPane {
    fn new(state: &State) -> Self {
        let mut pane = Self::default();
        if state.document.trace.paused {
            pane.log.pause(&state.store);
        }
        pane
    }
}

impl Pane for EventsPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, state: &State) -> String {
        super::pinned_title(PANE.title, self.pinned, state)
    }

    fn count(&self, state: &State) -> usize {
        self.log.len(&state.store)
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 4), good: (54, 6) }
    }

    fn is_filled(&self, state: &State) -> bool {
        self.log.held(&state.store) > 0
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(&self.log, ctx, buf, area);
    }

    fn act(&mut self, action: &Action, state: &mut State, area: Rect) -> Vec<Effect> {
        if *action == Action::Pin {
            self.pinned = super::turned(self.pinned, state);
            return Vec::new();
        }
        update::act(&mut self.log, state, action, area)
    }

    fn commands(&self, _state: &State) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn takes_filter(&self) -> bool {
        true
    }

    fn shown(&self, state: &State) -> Shown {
        let traces = self.pinned.and_then(|script| state.document(script)).map(|d| d.traces.clone());
        Shown::Lines(traces, self.log.filter().to_owned())
    }

    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        draw::line_at(&self.log, ctx, area, at.y).map(|row| Pick::Row { table: 0, row })
    }

    fn hear(&mut self, news: News, state: &State) {
        self.log.know_own(&state.own);
        match news {
            News::Appended(from) => self.log.appended(&state.store, from),
            News::Held(entry) => self.log.hold(entry, &state.store),
            News::Paused => self.log.pause(&state.store),
            News::Resumed => self.log.resume(&state.store),
            News::GoOn => self.log.look(&state.store),
        }
    }

    fn is_busy(&self, state: &State) -> bool {
        self.log.is_looking(&state.store)
    }

    fn counts(&self) -> bool {
        true
    }

    fn script(&self) -> Option<ScriptId> {
        self.pinned
    }

    fn settle(&mut self, state: &State, _area: Rect) {
        let traces = self.pinned.and_then(|script| state.document(script)).map(|d| d.traces.clone());
        self.log.set_traces(traces, &state.store);
    }
}
