//! What panes and layers are put together from.

pub mod columns;
pub mod frame;
pub(crate) mod rows;
