//! Probes: attach-point syntax ([`point`]), patterns to concrete targets ([`expand`]), the catalogue
//! of everything that can be probed, fuzzy search over it, and what each probe offers to a script.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use crate as probe;

use probescope_binary as binary;
use probescope_doors::thread;
use probescope_kernel as kernel;
use probescope_model as model;

pub mod catalogue;
pub mod defined;
pub mod describe;
pub mod expand;
pub mod find;
pub mod glob;
pub mod lens;
pub mod listing;
pub mod loaded;
pub mod name;
pub mod perf;
pub mod point;
pub mod providers;
pub mod rate;
pub mod renamed;
pub mod search;
pub mod signature;
pub mod subject;
pub mod suggest;
pub mod user;
pub mod xray;

pub use name::target_name;
