//! The face with a screen.
//!
//! [`state::State`] holds everything that is shown; [`keys`] turns key presses into
//! [`action::Action`]s; [`update`] applies actions and messages to the state and returns
//! [`effect::Effect`]s; [`draw`] paints the state and changes nothing; [`run`] owns the
//! terminal and carries the effects out.
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

pub mod action;
pub mod cast;
pub mod catalogue;
pub mod columns;
pub mod command;
pub mod demo;
pub mod discard;
pub mod document;
pub mod draw;
pub mod effect;
pub mod export;
pub mod files;
pub mod finder;
pub mod input;
pub mod inspector;
pub mod intents;
pub mod journal;
mod keyboard;
pub mod keys;
pub mod kind;
pub mod layout;
pub mod layouts;
pub mod mouse;
pub mod own;
pub mod paint;
pub mod palette;
pub mod panes;
pub mod presets;
pub mod recording;
pub mod recovery;
pub mod replay;
pub mod rerun;
pub mod run;
pub mod screen;
pub mod state;
pub mod svg;
pub mod syntax;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod time;
mod tmtheme;
pub mod trace;
pub mod update;
pub mod used;
mod watch;
pub mod workspace;
