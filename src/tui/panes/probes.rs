//! What each probe does, costs and loses.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::stats::ProbeStats;
use crate::output::export::table::Table as Rows;
use crate::session::update::ScriptId;
use crate::tui::base::action::{Action, Pick, Table};
use crate::tui::base::arrange::MinSize;
use crate::tui::base::key::Scope;
use crate::tui::base::kind::Kind;
use crate::tui::base::tree::Axis;
use crate::tui::data::Data;
use crate::tui::data::document::Document;
use crate::tui::pane::{Context, Pane, Registered, Shown, Turn};
use crate::tui::widgets::columns;
use crate::tui::widgets::rows::by;

pub mod draw;
pub(crate) mod keys;

/// The name of this kind.
pub const KIND: Kind = Kind("probes");

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "Probes",
    about: "How often each probe fires, what it costs and what is lost",
    by_default: true,
    commands: keys::BINDINGS,
    make: |_| Box::new(ProbesPane::default()),
    follow: None,
};

/// A view of the probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbesPane {
    /// Selected row.
    pub selected: usize,
    /// Index in [`columns::PROBES`].
    pub sort: usize,
    /// Largest first.
    pub descending: bool,
    /// Stays with this script.
    pinned: Option<ScriptId>,
}

impl Default for ProbesPane {
    fn default() -> Self {
        Self { selected: 0, sort: 0, descending: true, pinned: None }
    }
}

impl ProbesPane {
    fn document<'a>(&self, data: &'a Data) -> &'a Document {
        data.document_of(self.pinned)
    }

    fn sort_by(&mut self, column: usize, same_turns: bool) {
        self.descending = if same_turns && self.sort == column { !self.descending } else { column != 0 };
        self.sort = column;
    }
}

impl Pane for ProbesPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, data: &Data) -> String {
        crate::tui::pane::pinned_title(PANE.title, self.pinned, data)
    }

    fn count(&self, data: &Data) -> usize {
        self.document(data).trace.stats.as_ref().map_or(0, |s| s.probes.len())
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 4), good: (54, 6) }
    }

    fn wanted(&self, data: &Data, axis: Axis, of: u16) -> Option<u16> {
        let stats = self.document(data).trace.stats.as_ref();
        let rows = stats.map_or(1, |s| s.probes.len() + s.losses.len() + usize::from(!s.losses.is_empty()));
        let rows = u16::try_from(rows + 3).unwrap_or(u16::MAX);
        (axis == Axis::Down).then(|| rows.clamp(4, (of / 3).max(4)))
    }

    fn is_filled(&self, data: &Data) -> bool {
        self.document(data).trace.stats.is_some()
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(self, ctx, buf, area);
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, area: Rect) {
        let rows = self.count(turn);
        match action {
            Action::Go(go) => {
                let by = by(*go, crate::tui::widgets::rows::page(area) as isize);
                self.selected = self.selected.saturating_add_signed(by).min(rows.saturating_sub(1));
            }
            Action::Table(Table::Sort) => self.sort_by((self.sort + 1) % columns::PROBES.len(), false),
            Action::Pin => self.pinned = crate::tui::pane::turned(self.pinned, turn),
            Action::Table(Table::Reverse) => self.descending = !self.descending,
            Action::Pick(Pick::Row { row, .. }, _) => self.selected = *row,
            Action::Pick(Pick::Heading { column, .. }, _) => self.sort_by(*column, true),
            _ => {}
        }
    }

    fn commands(&self, _data: &Data) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn shown(&self, data: &Data) -> Shown {
        let document = self.document(data);
        let Some(stats) = &document.trace.stats else { return Shown::Picture };
        let columns = vec!["probe", "attached", "runs", "runs_per_s", "ns_per_run", "cpu_percent", "missed"];
        let row = |(i, probe): (usize, &ProbeStats)| {
            let rate = document.trace.probe_rate(i);
            vec![
                draw::named(document, i).as_ref().into(),
                probe.attached.into(),
                probe.runs.into(),
                rate.map(|r| r.per_second).into(),
                rate.map(|r| r.ns_per_run).into(),
                rate.map(|r| r.cpu_percent).into(),
                probe.misses.into(),
            ]
        };
        Shown::Table(Rows { columns, rows: stats.probes.iter().enumerate().map(row).collect() })
    }

    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        draw::spot_at(self, ctx, area, (at.x, at.y))
    }

    fn counts(&self) -> bool {
        true
    }

    fn script(&self) -> Option<ScriptId> {
        self.pinned
    }
}
