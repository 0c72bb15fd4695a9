//! Live maps: tables with bars, histograms, stacks.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::session::update::ScriptId;
use crate::tui::base::action::{Action, Pick};
use crate::tui::base::arrange::MinSize;
use crate::tui::base::key::Scope;
use crate::tui::base::kind::Kind;
use crate::tui::base::tree::Axis;
use crate::tui::data::Data;
use crate::tui::data::document::Document;
use crate::tui::pane::{Ask, Context, Pane, Registered, Shown, Turn};
use crate::tui::widgets::rows::page;

mod buckets;
pub mod draw;
mod histogram;
pub(crate) mod keys;
pub(crate) mod update;

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
    follow: None,
};

/// A view of a script's maps.
#[derive(Clone, Copy, Debug, Default)]
pub struct MapsPane {
    /// Stays with this script.
    pinned: Option<ScriptId>,
}

impl MapsPane {
    fn document<'a>(&self, data: &'a Data) -> &'a Document {
        data.document_of(self.pinned)
    }
}

impl Pane for MapsPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, data: &Data) -> String {
        let title = crate::tui::pane::pinned_title(PANE.title, self.pinned, data);
        // What the events leave out is counted in the kernel, before anybody looks.
        if data.hides_own { format!("{title}, own events counted too") } else { title }
    }

    fn count(&self, data: &Data) -> usize {
        self.document(data).maps.views.len()
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 4), good: (54, 6) }
    }

    fn wanted(&self, data: &Data, axis: Axis, of: u16) -> Option<u16> {
        let rows = u16::try_from(draw::wanted(self.document(data)) + 2).unwrap_or(u16::MAX);
        (axis == Axis::Down).then(|| rows.clamp(5, (of * 7 / 10).max(5)))
    }

    fn is_filled(&self, data: &Data) -> bool {
        !self.document(data).maps.views.is_empty()
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(ctx, buf, area);
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, area: Rect) {
        if *action == Action::Pin {
            self.pinned = crate::tui::pane::turned(self.pinned, turn);
            return;
        }
        let script = self.document(turn).id;
        turn.ask(Ask::Maps(script, action.clone(), page(area)));
    }

    fn commands(&self, _data: &Data) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn takes_filter(&self) -> bool {
        true
    }

    fn shown(&self, data: &Data) -> Shown {
        let document = self.document(data);
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
