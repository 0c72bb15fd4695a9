//! What runs traces and shows them: the engine, the screens, and the program itself in a terminal.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod abuse;
mod d_programs;
mod documents;
mod doors;
mod edge;
mod endings;
mod engine;
mod faces;
mod go;
mod hostile;
mod language_server;
mod layouts;
mod lens;
mod lessons;
mod objects;
mod pressing;
mod questions;
mod raw;
mod recordings;
mod recovery;
mod rerun;
#[path = "../support/root.rs"]
mod root;
mod screens;
mod session;
#[path = "../support/skip.rs"]
mod skip;
mod surroundings;
mod system;
mod terminal;
mod terminal_panes;
mod time;
mod times;
mod tmux;
mod tour;
mod typing;
mod xray;
