//! An X-ray: a row for each function, joined from the maps of its script.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use keys::Intent;

use crate::model::snapshot::MapSnapshot;
use crate::model::xray::{XrayOrder, XrayRow, is_xray, middle, rows, word_text};
use crate::output::export::table::Table as Rows;
use crate::session::update::ScriptId;
use crate::tui::base::action::{Action, Pick, Table};
use crate::tui::base::arrange::MinSize;
use crate::tui::base::key::Scope;
use crate::tui::base::kind::Kind;
use crate::tui::data::Data;
use crate::tui::data::document::Document;
use crate::tui::pane::{Context, Pane, Registered, Shown, Turn};
use crate::tui::widgets::rows::{by, page};

mod draw;
pub(crate) mod keys;

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
    follow: None,
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
    fn document<'a>(&self, data: &'a Data) -> &'a Document {
        data.document_of(self.pinned)
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

    fn title(&self, data: &Data) -> String {
        crate::tui::pane::pinned_title(PANE.title, self.pinned, data)
    }

    fn count(&self, _data: &Data) -> usize {
        self.rows.len()
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 4), good: (70, 10) }
    }

    fn is_filled(&self, _data: &Data) -> bool {
        !self.rows.is_empty()
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(self, ctx, buf, area);
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, area: Rect) {
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
            Action::Pin => self.pinned = crate::tui::pane::turned(self.pinned, turn),
            Action::Pick(Pick::Row { row, .. }, _) => self.selected = *row,
            Action::Pick(Pick::Heading { column, .. }, _) => {
                if let Some(order) = ORDERS.get(*column) {
                    self.sort_by(*order);
                }
            }
            action if Intent::of(action) == Some(Intent::CopyFunction) => {
                let text = self.rows.get(self.selected).map(|row| row.function.clone());
                crate::tui::widgets::rows::copy(turn, text);
            }
            _ => {}
        }
    }

    fn commands(&self, _data: &Data) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn shown(&self, _data: &Data) -> Shown {
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

    fn settle(&mut self, data: &Data, _area: Rect) {
        let reading = self.document(data).maps.reading().filter(|maps| is_xray(maps)).cloned();
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
