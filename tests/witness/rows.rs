//! All cases.

#[path = "rows/commands.rs"]
mod commands;
#[path = "rows/files.rs"]
mod files;
#[path = "rows/network.rs"]
mod network;
#[path = "rows/probes.rs"]
mod probes;
#[path = "rows/processes.rs"]
mod processes;
#[path = "rows/scheduler.rs"]
mod scheduler;

use super::row::Row;

/// All rows, in the order of the table.
pub fn all() -> impl Iterator<Item = &'static Row> {
    [files::ROWS, network::ROWS, processes::ROWS, scheduler::ROWS, probes::ROWS, commands::ROWS].into_iter().flatten()
}
