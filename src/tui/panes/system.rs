//! BPF programs and maps of the whole system: what they cost, who holds them, what is in them.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::output::export::table::Table;
use crate::tui::base::action::{Action, Pick};
use crate::tui::base::arrange::MinSize;
use crate::tui::base::key::Scope;
use crate::tui::base::kind::Kind;
use crate::tui::data::Data;
use crate::tui::pane::{Context, Pane, Registered, Shown, Turn};

mod draw;
pub(crate) mod keys;
mod rows;
pub(crate) mod update;

/// The name of this kind.
pub const KIND: Kind = Kind("system");

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "BPF of the system",
    about: "All BPF programs and maps: their cost, who holds them, instructions, contents",
    by_default: false,
    commands: keys::BINDINGS,
    make: |_| Box::new(SystemPane::default()),
    follow: Some(update::follow),
};

/// What is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// All programs.
    #[default]
    Programs,
    /// All maps.
    Maps,
    /// The instructions of a program, by its id.
    Code(u32),
    /// The entries of a map, by its id.
    Entries(u32),
}

/// A view of them.
#[derive(Clone, Debug)]
pub struct SystemPane {
    /// What is shown.
    pub view: View,
    /// Where this view was opened from, and the row there.
    came_from: Option<(View, usize)>,
    /// The row under the cursor.
    pub selected: usize,
    /// The column that rows are sorted by, for programs and for maps.
    sort: [usize; 2],
    descending: [bool; 2],
}

impl Default for SystemPane {
    fn default() -> Self {
        // Programs: what costs most; maps: what takes most memory.
        Self { view: View::Programs, came_from: None, selected: 0, sort: [3, 6], descending: [true, true] }
    }
}

impl SystemPane {
    /// Which of the two orders holds.
    const fn order(&self) -> usize {
        matches!(self.view, View::Maps) as usize
    }
}

impl Pane for SystemPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, _data: &Data) -> String {
        match self.view {
            View::Programs => "BPF programs".to_owned(),
            View::Maps => "BPF maps".to_owned(),
            View::Code(id) => format!("Program {id}"),
            View::Entries(id) => format!("Map {id}"),
        }
    }

    fn count(&self, data: &Data) -> usize {
        rows::count(self, data)
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (30, 5), good: (70, 10) }
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(self, ctx, buf, area);
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, area: Rect) {
        update::act(self, action, turn, area);
    }

    fn commands(&self, _data: &Data) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn shown(&self, data: &Data) -> Shown {
        let columns = rows::columns(self.view).iter().map(|c| c.title).collect();
        let cells = rows::rows(self, data).into_iter().map(|row| row.cells.into_iter().map(Into::into).collect());
        Shown::Table(Table { columns, rows: cells.collect() })
    }

    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        draw::spot_at(self, ctx, area, at)
    }

    fn settle(&mut self, data: &Data, _area: Rect) {
        self.selected = self.selected.min(rows::count(self, data).saturating_sub(1));
    }
}
