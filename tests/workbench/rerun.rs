//! "What if": a recorded script is changed in the workbench and run on what was recorded.

use std::process::Command;

use crate::skip;
use crate::tmux::{Terminal, cannot_trace, has_tmux};

const RECORDED: &str = "tracepoint:syscalls:sys_enter_write /comm == \"dd\" && args.fd == 1/ \
     { printf(\"%s %d\\n\", comm, args.count); }";
const WORK: &str = "sh -c 'for n in 1 20 20 300; do dd if=/dev/zero of=/dev/null bs=$n count=5; done'";

#[test]
fn a_changed_script_runs_on_the_recording() {
    if !has_tmux() {
        return;
    }
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    let terminal = Terminal::open("what-if", (140, 40), "--version");
    terminal.wait_for("exit code 0");
    let file = terminal.file("dd.psrec").display().to_string();
    let arguments = ["run", "-q", "-c", WORK, "--record", &file, "-e", RECORDED];
    let run = Command::new(env!("CARGO_BIN_EXE_probescope")).args(arguments).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));

    terminal.again(&format!("replay {file}"));
    terminal.wait_for("recording held");
    terminal.keys(&["M-1", "C-End", "Left", "Left"]);
    terminal.type_text(" @sizes[args.count] = count(); ");
    terminal.keys(&["C-s"]);
    let screen = terminal.wait("the map that was not recorded", |s| s.contains("20 recorded firings"));
    assert!(screen.contains("@sizes") && screen.contains("dd 300"), "{screen}");

    terminal.type_text(" @[tid] = count(); ");
    terminal.keys(&["C-s"]);
    terminal.wait("what was not recorded", |s| s.contains("`tid` was not recorded"));

    terminal.keys(&["C-a"]);
    terminal.type_text(RECORDED);
    terminal.keys(&["C-s"]);
    terminal.wait("the recording itself", |s| s.contains("as it was recorded") && !s.contains("@sizes"));

    terminal.keys(&["M-2"]);
    terminal.type_text("@");
    terminal.wait_for("Go to");
    terminal.type_text("noon");
    terminal.keys(&["Enter"]);
    terminal.wait_for("A moment is");
    terminal.type_text("@");
    terminal.wait_for("Go to");
    terminal.type_text("1h");
    terminal.keys(&["Enter"]);
    terminal.wait_for("its last moment");
    terminal.keys(&["C-q"]);
    terminal.wait("the end, or the question about the text", |s| s.contains("exit code 0") || s.contains("unsaved"));
}
