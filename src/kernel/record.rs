//! Records of events, read by the `format` files that describe them. The formats are believed in nothing: a field that
//! lies outside of its record is missing, and said to be.

mod print;
mod shape;
#[cfg(test)]
mod tests;

pub use print::{Printed, Symbols};
pub use shape::{FieldShape, Raw, RecordShape, ShapeKind};
