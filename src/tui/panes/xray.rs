//! An X-ray: a row for each function, joined from the maps of its script.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use keys::Intent;

use super::rows::{by, page};
use super::{Context, Kind, Pane, Registered};
use crate::model::snapshot::MapSnapshot;
use crate::model::xray::{XrayOrder, XrayRow, is_xray, middle, rows, word_text};
use crate::output::export::table::Table as Rows;
use crate::session::update::ScriptId;
use crate::tui::action::{Action, Pick, Table};
use crate::tui::document::Document;
use crate::tui::effect::Effect;
use crate::tui::export::Shown;
use crate::tui::keys::Scope;
use crate::tui::layout::arrange::MinSize;
use crate::tui::state::State;

mod draw;
pub(crate) mod keys;
pub(crate) mod open;

/// The name of this kind.
pub const KIND: Kind = Kind("xray");

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "X-ray",
    about: "Every function of a pattern: calls, latency, last arguments and result",
    by_default: false,
    commands: keys::BINDINGS,
    make: |_| Box::new(XrayPane::default()),
};

/// What rows can be sorted by, in the order of the columns.
const ORDERS: [XrayOrder; 5] = [XrayOrder::Function, XrayOrder::Calls, XrayOrder::P50, XrayOrder::P99, XrayOrder::Max];

/// A view of an X-ray.
#[derive(Clone, Debug, Default)]
pub struct XrayPane {
    /// Selected row.
    selected: usize,
    /// What it is sorted by.
    order: XrayOrder,
    /// Smallest first.
    reversed: bool,
    /// The rows of that reading.
    rows: Vec<XrayRow>,
    /// The reading that is shown.
    reading: Option<Arc<[MapSnapshot]>>,
    /// Stays with this script.
    pinned: Option<ScriptId>,
}

impl XrayPane {
    fn document<'a>(&self, state: &'a State) -> &'a Document {
        self.pinned.and_then(|script| state.document(script)).unwrap_or(&state.document)
    }

    fn sort_by(&mut self, order: XrayOrder) {
        self.reversed = self.order == order && !self.reversed;
        self.order = order;
        self.list();
    }

    /// Lists the reading anew; the cursor stays on its function.
    fn list(&mut self) {
        let at = self.rows.get(self.selected).map(|row| row.function.clone());
        self.rows = self.reading.as_deref().map_or_else(Vec::new, |maps| rows(maps, self.order));
        if self.reversed {
            self.rows.reverse();
        }
        // At the top it stays there, whichever function comes to it.
        let again = at.filter(|_| self.selected > 0).and_then(|f| self.rows.iter().position(|row| row.function == f));
        self.selected = again.unwrap_or(self.selected).min(self.rows.len().saturating_sub(1));
    }
}

impl Pane for XrayPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, state: &State) -> String {
        super::pinned_title(PANE.title, self.pinned, state)
    }

    fn count(&self, _state: &State) -> usize {
        self.rows.len()
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 4), good: (70, 10) }
    }

    fn is_filled(&self, _state: &State) -> bool {
        !self.rows.is_empty()
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(self, ctx, buf, area);
    }

    fn act(&mut self, action: &Action, state: &mut State, area: Rect) -> Vec<Effect> {
        match action {
            Action::Go(go) => {
                let by = by(*go, page(area) as isize);
                self.selected = self.selected.saturating_add_signed(by).min(self.rows.len().saturating_sub(1));
            }
            Action::Table(Table::Sort) => {
                let at = ORDERS.iter().position(|order| *order == self.order).unwrap_or(0);
                self.sort_by(ORDERS[(at + 1) % ORDERS.len()]);
            }
            Action::Table(Table::Reverse) => self.sort_by(self.order),
            Action::Pin => self.pinned = super::turned(self.pinned, state),
            Action::Pick(Pick::Row { row, .. }, _) => self.selected = *row,
            Action::Pick(Pick::Heading { column, .. }, _) => {
                if let Some(order) = ORDERS.get(*column) {
                    self.sort_by(*order);
                }
            }
            action if Intent::of(action) == Some(Intent::CopyFunction) => {
                let text = self.rows.get(self.selected).map(|row| row.function.clone());
                return super::rows::copy(state, text);
            }
            _ => {}
        }
        Vec::new()
    }

    fn commands(&self, _state: &State) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn shown(&self, _state: &State) -> Shown {
        let columns = vec!["function", "calls", "timed", "p50_ns", "p99_ns", "max_ns", "result", "arguments"];
        let row = |row: &XrayRow| {
            vec![
                row.function.as_str().into(),
                row.calls.into(),
                row.timed.into(),
                row.p50_ns.map(middle).into(),
                row.p99_ns.map(middle).into(),
                row.max_ns.into(),
                row.result.map(word_text).unwrap_or_default().into(),
                row.arguments_text().into(),
            ]
        };
        Shown::Table(Rows { columns, rows: self.rows.iter().map(row).collect() })
    }

    fn hit(&self, _ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        draw::spot_at(self, area, at)
    }

    fn counts(&self) -> bool {
        true
    }

    fn script(&self) -> Option<ScriptId> {
        self.pinned
    }

    fn settle(&mut self, state: &State, _area: Rect) {
        let reading = self.document(state).maps.reading().filter(|maps| is_xray(maps)).cloned();
        let same = match (&reading, &self.reading) {
            (Some(new), Some(old)) => Arc::ptr_eq(new, old),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.reading = reading;
            self.list();
        }
    }
}
