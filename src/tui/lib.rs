//! The face with a screen, in floors; a floor imports only from those above it in this list.
//!
//! [`base`]: actions, keys, themes, text, paint. [`data`]: what panes read, and what is asked of the outside.
//! [`pane`]: what a pane and a layer are, and what they may ask for. [`widgets`]: what panes are put together from.
//! [`panes`] and [`layers`]: a folder each, none knows another. [`desk`]: the state, the registry of panes, and how asks
//! change the state. [`run`]: the terminal, and effects carried out.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use crate as tui;

use probescope_doors::{disk, regular, stdio, thread};
use probescope_engine as engine;
use probescope_kernel as kernel;
use probescope_lang as lang;
use probescope_library as library;
use probescope_model as model;
use probescope_output as output;
use probescope_probe as probe;
use probescope_session as session;
use probescope_store as store;
use probescope_tracer as tracer;

pub mod base;
pub mod cast;
pub mod data;
pub mod demo;
pub mod desk;
pub mod layers;
pub mod pane;
pub mod panes;
pub mod run;
pub mod widgets;
