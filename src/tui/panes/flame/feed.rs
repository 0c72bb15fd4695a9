//! How readings of a map become a tree: a slice at a time, so that keys are answered while a large one is taken in.

use std::sync::Arc;

use crate::model::flame::{Compare, FlameTree, Shape, has_stacks, only_grows};
use crate::model::snapshot::MapSnapshot;
use crate::session::update::TraceId;
use crate::tui::base::discard;
use crate::tui::data::document::Document;

/// Frames that are looked at before keys are answered again, a few ms.
const SLICE: usize = 40_000;
/// Nodes that are added up before keys are answered again.
const NODES: usize = 400_000;
/// Nodes from which on those that no stack ends at any more are let go.
const MANY_NODES: usize = 200_000;

/// A reading of all maps of a trace.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Whose.
    pub trace: TraceId,
    /// All maps.
    pub maps: Arc<[MapSnapshot]>,
}

impl Reading {
    /// What is shown of a script now.
    #[must_use]
    pub fn of(document: &Document) -> Option<Self> {
        let maps = document.maps.reading()?;
        Some(Self { trace: document.trace.id, maps: Arc::clone(maps) })
    }

    /// One of its maps.
    #[must_use]
    pub fn map(&self, name: &str) -> Option<&MapSnapshot> {
        self.maps.iter().find(|m| &*m.name == name)
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.maps, &other.maps) && self.trace == other.trace
    }
}

/// The maps of a script that have stacks.
pub fn maps(document: &Document) -> impl Iterator<Item = &MapSnapshot> {
    document.maps.reading().into_iter().flat_map(|maps| maps.iter()).filter(|map| has_stacks(map))
}

/// A reading that is being taken in.
#[derive(Clone, Debug)]
struct Work {
    reading: Reading,
    compare: Compare,
    /// Rows of the reading, then of the baseline, that were taken.
    taken: usize,
}

/// A tree and what it is made of.
#[derive(Debug, Default)]
pub struct Feed {
    tree: Option<Arc<FlameTree>>,
    /// How stacks become paths.
    pub shape: Shape,
    /// The map that is shown; chosen by the user or the first one that has stacks.
    pub map: Option<Arc<str>>,
    /// What is compared with.
    pub baseline: Option<Reading>,
    /// The last reading that was taken in, and with what it was compared.
    shown: Option<(Reading, Compare)>,
    work: Option<Work>,
    readings: u64,
    /// Everything is to be taken in anew.
    stale: bool,
}

impl Feed {
    /// The tree.
    #[must_use]
    pub fn tree(&self) -> Option<&FlameTree> {
        self.tree.as_deref()
    }

    /// The tree, for another thread.
    #[must_use]
    pub fn shared(&self) -> Option<Arc<FlameTree>> {
        self.tree.clone()
    }

    /// How many readings were taken in.
    #[must_use]
    pub const fn readings(&self) -> u64 {
        self.readings
    }

    /// The reading that is shown.
    #[must_use]
    pub fn reading(&self) -> Option<&Reading> {
        self.shown.as_ref().map(|(reading, _)| reading)
    }

    /// With what it is compared.
    #[must_use]
    pub fn compare(&self) -> Compare {
        self.shown.as_ref().map_or(Compare::Nothing, |(_, compare)| *compare)
    }

    /// Whether a reading is being taken in.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.work.is_some()
    }

    /// Part of the reading that was taken in so far, of 1.
    #[must_use]
    pub fn progress(&self) -> f64 {
        let Some(work) = &self.work else { return 1.0 };
        let rows = work.reading.map(self.map.as_deref().unwrap_or("")).map_or(0, |m| m.rows.len());
        work.taken as f64 / rows.max(1) as f64
    }

    /// Changes how stacks become paths.
    pub fn set_shape(&mut self, shape: Shape) {
        self.stale |= shape != self.shape;
        self.shape = shape;
    }

    /// Keeps a reading to compare with, or compares no more.
    pub fn set_baseline(&mut self, baseline: Option<Reading>) {
        self.baseline = baseline;
        self.shown = None;
    }

    /// Begins with what is shown of a script now; true when the tree is another one.
    pub fn settle(&mut self, document: &Document) -> bool {
        let offered = |name: &str| maps(document).any(|m| &*m.name == name);
        if !self.map.as_deref().is_some_and(offered)
            && let Some(first) = maps(document).next()
        {
            self.stale |= self.map.is_some();
            self.map = Some(Arc::clone(&first.name));
        }
        let Some(reading) = Reading::of(document).filter(|r| self.map.as_deref().is_some_and(|m| r.map(m).is_some()))
        else {
            return false;
        };
        let anew = self.stale || self.tree.is_none();
        if anew {
            self.tree = Some(Arc::new(FlameTree::new(self.shape.clone())));
            (self.stale, self.work, self.shown) = (false, None, None);
        }
        let is_shown = self.shown.as_ref().is_some_and(|(shown, _)| shown.is(&reading));
        if !is_shown && self.work.is_none() {
            self.begin(reading);
            self.go_on();
        }
        anew
    }

    fn begin(&mut self, reading: Reading) {
        let Some(tree) = self.tree.as_mut().map(Arc::make_mut) else { return };
        if tree.len() > MANY_NODES && tree.live() * tree.deepest().clamp(1, 64) < tree.len() / 4 {
            self.stale = true;
        }
        tree.begin();
        let compare = match (&self.baseline, self.map.as_deref().and_then(|m| reading.map(m))) {
            (Some(base), Some(map)) => {
                let before = base.map(&map.name).is_some_and(|b| b.at_ns <= map.at_ns);
                if base.trace == reading.trace && only_grows(map.kind) && before {
                    Compare::Growth
                } else {
                    Compare::Shares
                }
            }
            _ => Compare::Nothing,
        };
        self.work = Some(Work { reading, compare, taken: 0 });
    }

    /// Takes the next slice in; true when the reading is complete and shown.
    pub fn go_on(&mut self) -> bool {
        let (Some(work), Some(tree)) = (&mut self.work, self.tree.as_mut().map(Arc::make_mut)) else {
            return false;
        };
        let name = self.map.as_deref().unwrap_or("");
        let rows = work.reading.map(name).map_or(&[][..], |m| &m.rows);
        let base = self.baseline.as_ref().filter(|_| work.compare != Compare::Nothing);
        let base = base.and_then(|b| b.map(name)).map_or(&[][..], |m| &m.rows);
        if work.taken < rows.len() {
            work.taken += tree.take(&rows[work.taken..], SLICE);
        }
        if let Some(taken) = work.taken.checked_sub(rows.len()) {
            work.taken += tree.take_baseline(&base[taken.min(base.len())..], SLICE);
        }
        if work.taken < rows.len() + base.len() || !tree.finish_some(work.compare, NODES) {
            return false;
        }
        self.readings += 1;
        let before = std::mem::replace(&mut self.shown, self.work.take().map(|work| (work.reading, work.compare)));
        if let Some((reading, _)) = before {
            discard::discard(reading.maps);
        }
        true
    }

    /// Shows another map.
    pub fn show(&mut self, map: Arc<str>) {
        self.stale |= self.map.as_ref() != Some(&map);
        self.map = Some(map);
    }
}
