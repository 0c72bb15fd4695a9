//! Stacks of a map as a flame graph: which paths of calls the values belong to.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::flame::{FlameTree, NodeId, ROOT};
use crate::output::export::table::Table;
use crate::session::update::{ScriptId, TraceId};
use crate::tui::base::action::{Action, Pick};
use crate::tui::base::arrange::MinSize;
use crate::tui::base::key::Scope;
use crate::tui::base::kind::Kind;
use crate::tui::data::Data;
use crate::tui::data::document::Document;
use crate::tui::pane::{Context, News, Pane, Registered, Shown, Turn};

pub mod draw;
pub mod feed;
pub(crate) mod keys;
pub mod place;
pub mod search;
pub(crate) mod update;

use feed::Feed;
use search::Search;

/// The name of this kind.
pub const KIND: Kind = Kind("flame");

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "Flame graph",
    about: "Stacks of a map as a flame graph, live: zoom, search, compare",
    by_default: false,
    commands: keys::BINDINGS,
    make: |_| Box::new(FlamePane::default()),
    follow: None,
};

/// A view of a map's stacks.
#[derive(Debug, Default)]
pub struct FlamePane {
    /// Stays with this script.
    pinned: Option<ScriptId>,
    /// The tree and what it is made of.
    pub feed: Feed,
    /// What is looked for.
    pub search: Search,
    /// The frame that fills the width.
    pub zoom: NodeId,
    /// The frame that is told of.
    pub selected: NodeId,
    /// The root is at the bottom.
    pub upright: bool,
    /// Frames that are called by one are in the order of their names, not of their values.
    pub by_name: bool,
    /// Levels above the first one that is shown.
    pub top: usize,
}

impl FlamePane {
    fn document<'a>(&self, data: &'a Data) -> &'a Document {
        data.document_of(self.pinned)
    }
}

/// Frames of the table: those of the largest values.
const MOST_FRAMES: usize = 100_000;

/// The frames by their value, with the calls that lead to them.
fn table(tree: &FlameTree) -> Vec<Vec<serde_json::Value>> {
    let mut nodes: Vec<NodeId> = (1..tree.len() as NodeId).filter(|n| tree.total(*n) > 0).collect();
    nodes.sort_unstable_by_key(|n| (std::cmp::Reverse(tree.total(*n)), *n));
    nodes.truncate(MOST_FRAMES);
    let path = |n: NodeId| tree.path(n).iter().map(|name| &*name.text).collect::<Vec<_>>().join(";");
    nodes.into_iter().map(|n| vec![path(n).into(), tree.total(n).into(), tree.own(n).into()]).collect()
}

impl Pane for FlamePane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, data: &Data) -> String {
        crate::tui::pane::pinned_title(PANE.title, self.pinned, data)
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 5), good: (60, 10) }
    }

    fn is_filled(&self, data: &Data) -> bool {
        feed::maps(self.document(data)).next().is_some()
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(self, ctx, buf, area);
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, area: Rect) {
        if *action == Action::Pin {
            self.pinned = crate::tui::pane::turned(self.pinned, turn);
            return;
        }
        update::act(self, turn, action, area);
    }

    fn commands(&self, _data: &Data) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn takes_filter(&self) -> bool {
        true
    }

    fn stacks(&self, trace: TraceId) -> Option<(Arc<str>, Arc<FlameTree>)> {
        let tree = self.feed.shared().filter(|tree| !tree.is_empty())?;
        self.feed.reading().filter(|reading| reading.trace == trace)?;
        Some((self.feed.map.clone().unwrap_or_else(|| "@".into()), tree))
    }

    fn shown(&self, _data: &Data) -> Shown {
        let Some(tree) = self.feed.tree() else { return Shown::Picture };
        Shown::Table(Table { columns: vec!["stack", "value", "itself"], rows: table(tree) })
    }

    fn hit(&self, _ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        let cell = place::at(self, draw::body(area), at)?;
        Some(Pick::Row { table: cell.depth, row: cell.node as usize })
    }

    fn hear(&mut self, news: News, _data: &Data) {
        if news == News::GoOn && self.feed.go_on() {
            self.search.look(&self.feed);
        }
    }

    fn is_busy(&self, _data: &Data) -> bool {
        self.feed.is_busy()
    }

    fn counts(&self) -> bool {
        true
    }

    fn script(&self) -> Option<ScriptId> {
        self.pinned
    }

    fn settle(&mut self, data: &Data, area: Rect) {
        if self.feed.settle(self.document(data)) {
            // Another tree: its frames have other numbers.
            (self.zoom, self.selected, self.top) = (ROOT, ROOT, 0);
            self.search.forget();
        }
        self.search.look(&self.feed);
        place::into_sight(self, draw::body(area));
    }
}
