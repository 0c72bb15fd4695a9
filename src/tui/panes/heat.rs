//! Maps over time: when which values or which keys came, as a map of heat or as lines.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::output::export::table::Table;
use crate::session::update::ScriptId;
use crate::tui::base::action::{Action, Pick};
use crate::tui::base::arrange::MinSize;
use crate::tui::base::key::Scope;
use crate::tui::base::kind::Kind;
use crate::tui::data::Data;
use crate::tui::data::document::Document;
use crate::tui::pane::{Context, News, Pane, Registered, Shown, Turn};

pub mod draw;
pub mod feed;
pub mod grid;
pub(crate) mod keys;
mod side;
#[cfg(test)]
mod tests;
pub(crate) mod update;

use feed::{Feed, Scale};
use grid::{Distribution, Grid, RowOf, View};

/// The name of this kind.
pub const KIND: Kind = Kind("heat");

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "Over time",
    about: "A map over time: histograms as time and value, others as time and key",
    by_default: false,
    commands: keys::BINDINGS,
    make: |_| Box::new(HeatPane::default()),
    follow: None,
};

/// What is laid over the distribution at the cursor.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// When, and of which key.
    pub title: String,
    /// How often each bucket was met then.
    pub distribution: Distribution,
}

/// A view of one map over time.
#[derive(Debug, Default)]
pub struct HeatPane {
    /// Stays with this script.
    pinned: Option<ScriptId>,
    /// Its samples.
    pub feed: Feed,
    /// Histograms: of this key only.
    pub key: Option<u16>,
    /// The time of the cursor; the newest column without one, ns of `CLOCK_MONOTONIC`.
    pub at_ns: Option<u64>,
    /// The row of the cursor.
    pub row: usize,
    /// The time that is shown, ns; all without one.
    pub span_ns: Option<u64>,
    /// Kept to compare with.
    pub baseline: Option<Baseline>,
    /// Keys as lines rather than as rows of heat.
    pub lines: bool,
}

impl HeatPane {
    fn document<'a>(&self, data: &'a Data) -> &'a Document {
        data.document_of(self.pinned)
    }

    /// What is shown of the samples in so much room: the end, or around the cursor.
    #[must_use]
    pub fn view(&self, room: (usize, usize)) -> View {
        let samples = self.feed.samples();
        let last = samples.last().map_or(0, |s| s.at_ns);
        // What the first sample holds came before it, nobody knows when: it has a column like the others.
        let step = match samples {
            [first, .., newest] => (newest.at_ns - first.at_ns) / (samples.len() as u64 - 1),
            _ => 1,
        };
        let first = samples.first().map_or(0, |s| s.at_ns).saturating_sub(step.max(1));
        let span = self.span_ns.map_or(last - first, |span| span.min(last - first));
        let to_ns = self.at_ns.map_or(last, |at| at.saturating_add(span / 2).clamp(first + span, last));
        View { from_ns: to_ns - span, to_ns, key: self.key, room }
    }

    /// The picture in so much room.
    #[must_use]
    pub fn grid(&self, room: (usize, usize)) -> Grid {
        grid::grid(&self.feed, &self.view(room))
    }

    /// The name of a row.
    #[must_use]
    pub fn label(&self, row: &RowOf) -> String {
        use crate::tui::base::text::{edge, neutralise};
        let scale = self.feed.scale().unwrap_or(Scale::Keys);
        match row {
            RowOf::Key(key) => self
                .feed
                .keys()
                .get(usize::from(*key))
                .map_or_else(String::new, |k| neutralise(&one_line(k)).into_owned()),
            RowOf::Buckets(range) => match (scale.bounds(range.start).0, scale.bounds(range.start).1) {
                (Some(least), _) => edge(least),
                (None, Some(end)) => format!("<{}", edge(end)),
                (None, None) => String::new(),
            },
        }
    }

    /// Cells as rows of a table.
    fn table(&self) -> Table {
        let grid = self.grid((2048, feed::MOST_KEYS));
        let scale = self.feed.scale().unwrap_or(Scale::Keys);
        let mut rows = Vec::new();
        for (cells, times) in grid.cells.iter().zip(grid.times.windows(2)) {
            for (value, row) in cells.iter().zip(&grid.rows).filter(|(value, _)| **value > 0.0) {
                let (from, to) = match row {
                    RowOf::Buckets(range) => (scale.bounds(range.start).0, scale.bounds(range.end - 1).1),
                    RowOf::Key(_) => (None, None),
                };
                let key = if let RowOf::Key(_) = row { self.label(row) } else { String::new() };
                rows.push(vec![times[0].into(), times[1].into(), key.into(), from.into(), to.into(), (*value).into()]);
            }
        }
        Table { columns: vec!["from_ns", "to_ns", "key", "least", "below", "value"], rows }
    }
}

/// A key in one line: a stack's frames stand side by side, the innermost first.
fn one_line(key: &str) -> String {
    if !key.contains('\n') {
        return key.to_owned();
    }
    let frames: Vec<&str> = key.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    frames.join(" ").replace("[ ", "[").replace(" ]", "]").replace(" ,", ",")
}

impl Pane for HeatPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, data: &Data) -> String {
        crate::tui::pane::pinned_title(PANE.title, self.pinned, data)
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (30, 6), good: (80, 12) }
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

    fn shown(&self, _data: &Data) -> Shown {
        if self.feed.samples().is_empty() { Shown::Picture } else { Shown::Table(self.table()) }
    }

    fn hit(&self, _ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        let places = draw::Places::of(self, area);
        if !places.cells.contains(at) {
            return None;
        }
        Some(Pick::Row { table: usize::from(at.x - places.cells.x), row: usize::from(at.y - places.cells.y) })
    }

    fn hear(&mut self, news: News, data: &Data) {
        if news == News::GoOn && self.feed.is_behind() {
            self.feed.go_on(&data.store);
        }
    }

    fn is_busy(&self, _data: &Data) -> bool {
        self.feed.is_behind()
    }

    fn counts(&self) -> bool {
        true
    }

    fn script(&self) -> Option<ScriptId> {
        self.pinned
    }

    fn settle(&mut self, data: &Data, _area: Rect) {
        if self.feed.settle(self.document(data)) {
            (self.key, self.at_ns, self.row, self.baseline) = (None, None, 0, None);
        }
        self.feed.follow(&data.store, self.document(data));
    }
}
