//! The first thread of a traced process holds its user probes: once it has ended, the kernel takes them for nobody's, though
//! other threads of the process go on.

use std::collections::HashSet;

use super::{Place, attach_users};
use crate::engine::{EngineError, Trace};

impl Trace {
    /// Attaches user probes anew, for a process whose first thread has ended; how many there are.
    ///
    /// # Errors
    /// When the kernel refuses one.
    pub fn attach_users(&mut self, place: &Place) -> Result<usize, EngineError> {
        let anew = attach_users(&self.program, &self.artifact, &self.object, place)?;
        let programs: HashSet<usize> = anew.iter().map(|link| link.program).collect();
        self.links.retain(|link| !programs.contains(&link.program));
        let count = anew.len();
        self.links.extend(anew);
        Ok(count)
    }
}
