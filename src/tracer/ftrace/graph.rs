//! Function graphs: calls of kernel functions as trees, with what each took, from the entries and returns that the
//! function_graph tracer records.

mod calls;
mod keep;
mod setup;

pub use calls::{Call, Counted, Function, Root, Trees};
pub use keep::{GraphKeeper, info};
pub use setup::{GraphOptions, start};
