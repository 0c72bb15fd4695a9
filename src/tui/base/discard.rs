//! Readings that nobody shows any more: large ones are freed beside the user interface, which has keys to answer.

use std::sync::Arc;

use crate::model::snapshot::MapSnapshot;
use crate::thread::{self, Rights};

/// Rows whose memory is given back in well under a millisecond.
const FEW_ROWS: usize = 5_000;

/// Lets a reading go.
pub fn discard(reading: Arc<[MapSnapshot]>) {
    let rows: usize = reading.iter().map(|map| map.rows.len()).sum();
    if rows > FEW_ROWS {
        // Where no thread can be had, what it was to drop is dropped here.
        let _ = thread::spawn("psc-discard", Rights::Nothing, move || drop(reading));
    }
}
