//! A session owns its tracers and drives them: the only room that the faces talk to.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use crate as session;

use probescope_codegen as codegen;
use probescope_doors::{regular, thread};
use probescope_engine as engine;
use probescope_kernel as kernel;
use probescope_lang as lang;
use probescope_model as model;
use probescope_probe as probe;
use probescope_store as store;
use probescope_tracer as tracer;

pub mod count;
mod driver;
mod feed;
pub mod front;
pub mod headless;
pub mod hits;
pub mod live;
pub mod recorded;
pub mod rerun;
pub mod scopes;
pub mod testing;
pub mod trial;
pub mod update;

pub use live::{Session, SessionHandle, SessionOptions};
