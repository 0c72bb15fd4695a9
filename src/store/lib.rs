//! The history of a session: typed entries in time order, bounded and indexed, the same in memory and on disk.
//!
//! The session's thread encodes what tracers say with a [`ChunkBuilder`]. A [`Chunk`] is immutable and shared: the
//! [`Store`] of a face keeps it within a byte budget, and a recorder writes it to a file. Panes and printers read
//! through [`History`], which is the same for both, and draw at a [`Cursor`].
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use crate as store;

use probescope_doors::{disk, thread};
use probescope_lang as lang;
use probescope_model as model;

mod annotated;
mod breaks;
mod builder;
mod chunk;
mod codec;
mod entry;
pub mod file;
mod history;
mod index;
mod layout;
mod memory;
mod merge;
mod origin;
mod row;
#[cfg(test)]
mod tests;
mod text;
mod trace_info;

pub use builder::ChunkBuilder;
pub use chunk::{Chunk, EntryRef, Head};
pub use entry::{Cursor, Entry, Lifecycle, Payload, PayloadKind, TraceId};
pub use history::{Direction, Held, History, Stop};
pub use index::{Bucket, Index, Segment, Summary, TraceCount};
pub use memory::{DEFAULT_BUDGET, Store};
pub use merge::woven;
pub use origin::{Clause, Given, Origin, TracepointFields};
pub use row::Row;
pub use text::write_text;
pub use trace_info::{ActionInfo, ActionKind, Column, ColumnKind, MapInfo, TraceInfo, TraceKind};
