//! Latency and noise of the CPUs: how late timers and threads are, what takes CPUs away, and the worst cases taken apart.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::latency::{Episode, NoiseClass, Totals};
use crate::tui::base::action::{Action, Pick};
use crate::tui::base::arrange::MinSize;
use crate::tui::base::key::Scope;
use crate::tui::base::kind::Kind;
use crate::tui::data::Data;
use crate::tui::data::effect::Message;
use crate::tui::pane::{Context, Pane, Registered, Turn};

pub mod draw;
mod episodes;
mod figures;
mod heat;
pub(crate) mod keys;
mod lengths;
pub(crate) mod meter;
mod moment;
mod sources;
mod table;
mod task;
mod timeline;
pub(crate) mod update;

/// The name of this kind.
pub const KIND: Kind = Kind("latency");

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "Latency",
    about: "How late timers and threads are on each CPU, and what keeps them",
    by_default: false,
    commands: keys::BINDINGS,
    make: |_| Box::new(LatencyPane::default()),
    follow: Some(meter::follow),
};

/// What is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// A row a CPU.
    #[default]
    Cpus,
    /// CPU by time.
    Heat,
    /// Latency by time.
    Lengths,
    /// Histograms.
    Histograms,
    /// Sources of noise.
    Sources,
    /// The worst latencies.
    Episodes,
    /// Where the time of chosen threads goes.
    Task,
}

impl View {
    /// In the order of their keys.
    pub const ALL: [Self; 7] =
        [Self::Cpus, Self::Heat, Self::Lengths, Self::Histograms, Self::Sources, Self::Episodes, Self::Task];

    /// As shown.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Cpus => "CPUs",
            Self::Heat => "heat",
            Self::Lengths => "by time",
            Self::Histograms => "histograms",
            Self::Sources => "sources",
            Self::Episodes => "episodes",
            Self::Task => "task",
        }
    }
}

/// What histograms stand over one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compare {
    /// Of the interrupt, the thread, and back in user space.
    #[default]
    Kinds,
    /// The chosen CPU and the next one.
    Cpus,
    /// Now, and the baseline.
    Baseline,
}

/// A row of the sources that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    class: Option<NoiseClass>,
    /// A source of it; all of the class where there is none.
    source: Option<String>,
}

/// Figures of one column of a map.
#[derive(Clone, Debug, PartialEq)]
struct Drilled {
    cpu: u32,
    from_ns: u64,
    to_ns: u64,
    totals: Totals,
}

/// A view of what was measured.
#[derive(Clone, Debug, Default)]
pub struct LatencyPane {
    /// What is shown.
    pub view: View,
    /// What was shown before something was opened.
    came_from: Option<View>,
    /// The chosen CPU, by its place in the table.
    row: usize,
    /// All CPUs together, where only one could be shown.
    all: bool,
    /// Sorted by this column, by its title; by number where there is none.
    sort: Option<&'static str>,
    ascending: bool,
    /// What the rows of the table are.
    fold: table::Fold,
    /// Which of [`heat::STEPS_NS`] a column of the maps is wide.
    step: heat::Step,
    /// The end of the maps.
    end_ns: u64,
    by_source: bool,
    compare: Compare,
    tail: bool,
    /// The row under the cursor among the sources, and what is open there.
    source: usize,
    opened: Vec<Opened>,
    drilled: Option<Drilled>,
    /// The row under the cursor among the episodes, and the one that is open.
    episode: usize,
    shown: Option<Arc<Episode>>,
    scroll: usize,
    /// Which threshold the keys change.
    threshold: usize,
    /// It is being asked whom to watch.
    asks_whom: bool,
}

impl Pane for LatencyPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, _data: &Data) -> String {
        PANE.title.to_owned()
    }

    fn count(&self, data: &Data) -> usize {
        moment::Shown::of(data).map_or(0, |shown| shown.episodes().count())
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (30, 6), good: (70, 12) }
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        draw::draw(self, ctx, buf, area);
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, area: Rect) {
        update::act(self, action, turn, area);
    }

    fn answered(&mut self, message: &Message, turn: &mut Turn<&Data>) {
        update::told(self, turn, message);
    }

    fn commands(&self, _data: &Data) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        draw::spot_at(self, ctx, area, at)
    }

    fn settle(&mut self, data: &Data, area: Rect) {
        heat::settle(self, data, area);
    }
}
