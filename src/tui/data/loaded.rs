//! What was read of the system so far.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::inventory::Contents;
use crate::model::bpf::{Inventory, ProgramRate};
use crate::tui::data::inspect::Inspected;

/// The newest readings.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// A pane wants to know.
    pub is_watched: bool,
    /// Why nothing can be read.
    pub refused: Option<String>,
    /// The newest reading.
    pub now: Option<Arc<Inventory>>,
    /// The one before, which rates are taken from.
    before: Option<Arc<Inventory>>,
    /// Hits of probes in a second, as they were counted last.
    pub hits: HashMap<Arc<str>, u64>,
    /// The map that was opened last.
    pub contents: Option<(u32, Result<Arc<Contents>, String>)>,
    /// The program that was opened last.
    pub code: Option<(u32, Result<Arc<Vec<String>>, String>)>,
}

impl Loaded {
    /// Takes an answer in.
    pub fn take(&mut self, answer: Inspected) {
        match answer {
            Inspected::Inventory(Ok(inventory)) => {
                self.before = self.now.replace(inventory);
                self.refused = None;
            }
            Inspected::Inventory(Err(reason)) => self.refused = Some(reason),
            Inspected::Hits(Ok(counts)) => self.hits.extend(counts),
            Inspected::Hits(Err(_)) | Inspected::Scopes(_) => {}
            Inspected::Map(id, contents) => self.contents = Some((id, contents)),
            Inspected::Code(id, lines) => self.code = Some((id, lines)),
        }
    }

    /// Nobody looks any more.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// What a program does now; `None` where its runs are not counted, or not yet.
    #[must_use]
    pub fn rate(&self, id: u32) -> Option<ProgramRate> {
        let (now, before) = (self.now.as_ref()?, self.before.as_ref()?);
        now.rate(before, id).filter(|_| now.uncounted.is_none())
    }
}
