//! The probe browser: results at the left, the selected probe at the right.

pub mod draw;
pub(crate) mod heat;
pub(crate) mod keys;
pub(crate) mod kinds;
pub mod questions;
pub(crate) mod scope;
pub(crate) mod several;
pub mod state;
mod update;
mod xray;

pub use state::Browser;
