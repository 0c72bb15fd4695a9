//! The lines of output.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::session::update::ScriptId;
use crate::tui::base::action::{Action, Pick};
use crate::tui::base::arrange::MinSize;
use crate::tui::base::key::Scope;
use crate::tui::base::kind::{self, Kind};
use crate::tui::data::Data;
use crate::tui::pane::{Context, News, Pane, Registered, Shown, Turn};

pub mod draw;
pub mod fields;
pub(crate) mod keys;
pub mod log;
pub mod predicate;
pub(crate) mod update;

use log::EventLog;

/// The name of this kind.
pub const KIND: Kind = kind::EVENTS;

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "Events",
    about: "What the script prints, line by line",
    by_default: true,
    commands: keys::BINDINGS,
    make: |data| Box::new(EventsPane::new(data)),
    follow: None,
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
    fn new(data: &Data) -> Self {
        let mut pane = Self::default();
        if data.document.trace.paused {
            pane.log.pause(&data.store);
        }
        pane
    }
}

impl Pane for EventsPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, data: &Data) -> String {
        crate::tui::pane::pinned_title(PANE.title, self.pinned, data)
    }

    fn count(&self, data: &Data) -> usize {
        self.log.len(&data.store)
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 4), good: (54, 6) }
    }

    fn is_filled(&self, data: &Data) -> bool {
        self.log.held(&data.store) > 0
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(&self.log, ctx, buf, area);
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, area: Rect) {
        if *action == Action::Pin {
            self.pinned = crate::tui::pane::turned(self.pinned, turn);
            return;
        }
        update::act(&mut self.log, turn, action, area);
    }

    fn commands(&self, _data: &Data) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn takes_filter(&self) -> bool {
        true
    }

    fn shown(&self, data: &Data) -> Shown {
        let traces = self.pinned.and_then(|script| data.document(script)).map(|d| d.traces.clone());
        Shown::Lines(traces, self.log.filter().to_owned())
    }

    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        draw::line_at(&self.log, ctx, area, at.y).map(|row| Pick::Row { table: 0, row })
    }

    fn hear(&mut self, news: News, data: &Data) {
        self.log.know_own(&data.own);
        match news {
            News::Appended(from) => self.log.appended(&data.store, from),
            News::Held(entry) => self.log.hold(entry, &data.store),
            News::Paused => self.log.pause(&data.store),
            News::Resumed => self.log.resume(&data.store),
            News::GoOn => self.log.look(&data.store),
        }
    }

    fn is_busy(&self, data: &Data) -> bool {
        self.log.is_looking(&data.store)
    }

    fn waiting(&self, data: &Data) -> u64 {
        self.log.waiting(&data.store)
    }

    fn counts(&self) -> bool {
        true
    }

    fn script(&self) -> Option<ScriptId> {
        self.pinned
    }

    fn settle(&mut self, data: &Data, _area: Rect) {
        let traces = self.pinned.and_then(|script| data.document(script)).map(|d| d.traces.clone());
        self.log.set_traces(traces, &data.store);
    }
}
