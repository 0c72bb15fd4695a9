//! Side-by-side runs against other tools, each figure beside the peer's from the same run.
//!
//! `cargo bench --bench side_by_side [-- PART...]`; parts: compile, save, startup, screen, flood, kernel, guards, burst,
//! wildcard, ends.
//! The peer is `bpftrace` in PATH, or the command in `PROBESCOPE_PEER` (for one in a chroot:
//! `PROBESCOPE_PEER="chroot /opt/sid bpftrace"`). Hand-written C is compiled by clang where there is one.
//! Needs root and a kernel with BPF; machines are noisy, so only ratios within one run mean anything.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(missing_docs, reason = "a program, not a library")]

#[path = "support/allocator.rs"]
mod allocator;

#[path = "side_by_side/ends.rs"]
mod ends;
#[path = "side_by_side/flood.rs"]
mod flood;
#[path = "side_by_side/guards.rs"]
mod guards;
#[path = "side_by_side/kernel.rs"]
mod kernel;
#[path = "side_by_side/rows.rs"]
mod rows;
#[path = "side_by_side/screen.rs"]
mod screen;
#[path = "side_by_side/session.rs"]
mod session;
#[path = "side_by_side/terminal.rs"]
mod terminal;
#[path = "side_by_side/tool.rs"]
mod tool;
#[path = "side_by_side/whole.rs"]
mod whole;

use tool::Tool;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    if words.first().is_some_and(|w| w == "workload") {
        kernel::workload(&words[1..]);
        return;
    }
    let wanted = |part: &str| words.is_empty() || words.iter().any(|w| w == part);
    let ours = Tool::probescope();
    let peer = Tool::peer();
    println!("probescope: {}", ours.describe());
    println!("peer:       {}", peer.as_ref().map_or_else(|| "none found".into(), Tool::describe));
    if wanted("compile") {
        session::compile();
        whole::compile(&ours);
    }
    if wanted("save") {
        session::save();
    }
    if wanted("startup") {
        whole::startup(&ours, peer.as_ref());
    }
    if wanted("screen") {
        screen::workbench();
    }
    if wanted("flood") {
        flood::workbench();
    }
    if wanted("kernel") {
        kernel::table(&ours, peer.as_ref());
    }
    if wanted("guards") {
        guards::table();
    }
    if wanted("burst") {
        whole::burst(&ours, peer.as_ref());
    }
    if wanted("ends") {
        ends::table();
    }
    if wanted("wildcard") {
        whole::wildcard(&ours, peer.as_ref());
    }
}
