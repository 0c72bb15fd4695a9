//! D programs in the workbench, the real binary in a real terminal on the running kernel: the ending of the file's
//! name tells the language, from colours to the trace.

use std::process::Command;

use crate::skip;
use crate::tmux::{Terminal, cannot_trace, has_tmux};

/// Counts and tells who opens files.
const OPENS: &str = "\
/* who opens what */
syscall::openat:entry
{
	@opens[execname] = count();
	printf(\"%s opens %s\", execname, copyinstr(arg1));
}

syscall::openat:entry
{
	self->since = timestamp;
}

syscall::openat:return
/self->since/
{
	@ns[\"openat\"] = quantize(timestamp - self->since);
	self->since = 0;
}
";

#[test]
fn a_d_file_is_traced_as_d() {
    if !has_tmux() {
        return;
    }
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    let terminal = Terminal::open("d-file", (150, 42), "opens.d");
    std::fs::write(terminal.file("opens.d"), OPENS).unwrap();
    terminal.again("opens.d");
    terminal.wait_for("who opens what");
    terminal.keys(&["C-s"]);
    terminal.wait("the running trace", |s| s.contains("running") && s.contains("attached 2 probes"));
    let mark = terminal.file("a-file-to-open");
    std::fs::write(&mark, "x").unwrap();
    terminal.wait("aggregations as maps, and records as events", |s| {
        let _ = Command::new("cat").arg(&mark).output();
        s.contains("@opens") && s.contains("@ns") && s.contains("opens /")
    });

    // What is wrong is told by the reference's name for it, while the trace goes on.
    terminal.keys(&["C-End"]);
    terminal.type_text("BEGIN { trace(nonsense); }");
    terminal.wait("the error's name", |s| s.contains("D_IDENT_UNDEF"));
    terminal.keys(&["C-s"]);
    terminal.wait_for("last good trace");
    terminal.wait("the text as it was", |s| {
        if s.contains("BEGIN") {
            terminal.keys(&["C-z"]);
        }
        !s.contains("BEGIN") && !s.contains("D_IDENT_UNDEF")
    });
    terminal.keys(&["C-s"]);
    terminal.wait_for("● running");

    terminal.keys(&["F8"]);
    terminal.wait_for("ended");
    terminal.keys(&["C-q"]);
    terminal.wait_for("exit code 0");
}

#[test]
fn words_of_d_are_completed() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("d-words", (120, 30), "words.d");
    terminal.wait_for("type / to choose a probe");
    terminal.type_text("syscall::read:entry { @[execname] = quan");
    terminal.keys(&["Tab"]);
    terminal.wait_for("quantize");
    terminal.keys(&["C-q"]);
}
