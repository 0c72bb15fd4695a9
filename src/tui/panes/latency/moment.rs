//! What of a measurement is shown at the moment of the views.

use std::sync::Arc;

use super::LatencyPane;
use crate::model::latency::{CpuSample, CpuTotal, Episode, MeterInfo, Mode, Totals};
use crate::store::{Cursor, History as _, Store, TraceInfo};
use crate::tui::data::Data;
use crate::tui::data::latency::{Cell, Run};

/// A measurement at a moment.
pub struct Shown<'a> {
    /// What was measured, and where.
    pub info: &'a Arc<TraceInfo>,
    /// The same, in full.
    pub meter: Option<&'a MeterInfo>,
    /// Since its start, until the moment.
    pub totals: &'a Totals,
    /// The moment.
    pub at_ns: u64,
    pub(super) run: &'a Run,
}

impl<'a> Shown<'a> {
    /// Of what the views show now.
    pub fn of(data: &'a Data) -> Option<Self> {
        let (info, run) = data.latency.shown(&data.store, data.moment.cursor)?;
        let at_ns = match data.moment.cursor {
            Cursor::Live => run.cells.back().map_or_else(|| data.store.time_at(Cursor::Live), |cell| cell.ended_ns),
            held @ Cursor::At { .. } => data.store.time_at(held),
        };
        let totals = data.latency.totals(info.id, run);
        Some(Self { info, meter: info.meter.as_deref(), totals, at_ns, run })
    }

    /// What is measured.
    pub fn mode(&self) -> Mode {
        self.meter.map_or(Mode::Passive, |meter| meter.mode)
    }

    /// The names of the latencies that there are.
    pub const fn kinds(&self, mode: Mode) -> &'static [&'static str] {
        match mode {
            Mode::Timerlat => &["IRQ", "Thread", "User"],
            Mode::Osnoise => &["Gap"],
            Mode::Passive => &["Timer"],
        }
    }

    /// Which of the kinds stands for all where only one is drawn: the thread's, where there is a thread that sleeps.
    pub fn headline(&self) -> usize {
        usize::from(self.mode() == Mode::Timerlat)
    }

    /// The intervals until the moment.
    pub fn cells(&self) -> impl DoubleEndedIterator<Item = &'a Cell> {
        let at_ns = self.at_ns;
        self.run.cells.iter().filter(move |cell| cell.ended_ns <= at_ns)
    }

    /// All intervals in a stretch of time, those after the moment, too.
    pub fn cells_in(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = &'a Cell> {
        let first = self.run.cells.partition_point(|cell| cell.ended_ns <= from_ns);
        self.run.cells.range(first..).take_while(move |cell| cell.ended_ns <= to_ns)
    }

    /// The intervals that a column of a map shows: those that ended in it, or, where they are longer than it, those that
    /// cover it.
    pub fn cells_of(&self, from_ns: u64, to_ns: u64) -> Vec<&'a Cell> {
        let ended: Vec<&Cell> = self.cells_in(from_ns, to_ns).collect();
        if !ended.is_empty() {
            return ended;
        }
        let later = self.run.cells.partition_point(|cell| cell.ended_ns <= to_ns);
        let next = self.run.cells.range(later..).take(self.totals.cpus.len());
        next.filter(|cell| cell.began_ns < to_ns).collect()
    }

    /// Shows the samples of a stretch of time, whatever the moment.
    pub fn samples(&self, store: &Store, from_ns: u64, to_ns: u64, each: impl FnMut(&CpuSample)) {
        self.run.samples(store, self.info.id, from_ns, to_ns, each);
    }

    /// The end of what was measured.
    pub fn end_ns(&self) -> u64 {
        self.run.cells.back().map_or(0, |cell| cell.ended_ns)
    }

    /// The episodes until the moment.
    pub fn episodes(&self) -> impl Iterator<Item = &'a Arc<Episode>> {
        let at_ns = self.at_ns;
        self.run.episodes.iter().take_while(move |episode| episode.ended_ns <= at_ns)
    }

    /// The same in a stretch of time, whatever the moment.
    pub fn episodes_in(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = &'a Arc<Episode>> {
        let inside = move |e: &&Arc<Episode>| e.ended_ns > from_ns && e.began_ns <= to_ns;
        self.run.episodes.iter().filter(inside)
    }

    /// The CPUs, in the order of the pane's table.
    pub fn cpus(&self, pane: &LatencyPane) -> Vec<u32> {
        super::table::order(pane, self)
    }

    /// The chosen CPU.
    pub fn cpu(&self, pane: &LatencyPane) -> Option<u32> {
        let cpus = self.cpus(pane);
        cpus.get(pane.row.min(cpus.len().saturating_sub(1))).copied()
    }

    /// The figures of some CPUs: of the chosen one, or of all.
    pub fn chosen(&self, pane: &LatencyPane) -> Vec<(u32, &'a CpuTotal)> {
        let one = self.cpu(pane).filter(|_| !pane.all);
        self.totals.cpus.iter().filter(|(cpu, _)| one.is_none_or(|one| **cpu == one)).map(|(c, t)| (*c, t)).collect()
    }
}
