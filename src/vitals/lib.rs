//! "What is wrong here?": rates and times of the usual causes, from one cheap program, with what is unusual marked.
//!
//! [`SCRIPT`] is the program; its maps are read each second and given to a [`Meter`], which tells for each [`Vital`] what
//! happened in that second, and whether it is unusual against the minutes before or bad by itself. Rows are data: a new
//! one is a clause of the script and a row of [`VITALS`]. Nothing here traces or prints.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use probescope_model as model;

pub mod groups;
pub mod meter;
pub mod rows;

pub use meter::{Meter, Reading, Second, Unusual};
pub use rows::{Form, VITALS, Vital};

/// The program whose maps are read.
pub const SCRIPT: &str = include_str!("vitals.bt");
