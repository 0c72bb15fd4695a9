//! Probes: attach-point syntax ([`point`]), patterns to concrete targets ([`expand`]), the catalogue
//! of everything that can be probed, fuzzy search over it, and what each probe offers to a script.

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
pub(crate) mod suggest;
pub mod user;
pub mod xray;

pub use name::target_name;
