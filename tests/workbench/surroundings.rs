//! The workbench in unusual surroundings: terminals that nobody knows, locales without UTF-8, a full disk.

use std::process::Command;

use crate::skip;
use crate::tmux::{Terminal, cannot_trace, has_tmux};

#[test]
fn a_terminal_that_nobody_knows_is_one_with_the_usual_sequences() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("unknown-terminal", (100, 24), "--version");
    terminal.wait_for("exit code 0");
    for setting in ["TERM=no-such-terminal", "TERM=", "env -u TERM"] {
        terminal.run(&format!("{setting} {}", env!("CARGO_BIN_EXE_probescope")));
        let screen = terminal.wait_for("type / to choose a probe");
        assert!(screen.contains("Script") && screen.contains("Events"), "{setting}: {screen}");
        terminal.keys(&["C-q"]);
        terminal.wait_for("exit code 0");
    }
}

#[test]
fn without_utf_8_everything_drawn_is_ascii() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("ascii", (100, 30), "--version");
    terminal.wait_for("exit code 0");
    terminal.run(&format!("LC_ALL=C {} -e 'begin {{ @h = hist(9); @s[1] = 2; }}'", env!("CARGO_BIN_EXE_probescope")));
    let screen = terminal.wait_for("begin");
    assert!(screen.is_ascii() && screen.contains("+ Script ---"), "{screen}");
    terminal.keys(&["F1"]);
    let screen = terminal.wait_for("Esc back");
    assert!(screen.is_ascii(), "{screen}");
}

#[test]
fn a_full_disk_is_said_before_anything_is_lost() {
    if !has_tmux() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return skip::skip("needs root: a small file system is mounted");
    }
    let terminal = Terminal::open("full-disk", (120, 24), "--version");
    terminal.wait_for("exit code 0");
    let disk = terminal.file("disk");
    std::fs::create_dir(&disk).unwrap();
    // In a mount namespace of its own: nothing is left where this test is killed.
    let shell = format!(
        "mount -t tmpfs -o size=32k tmpfs {0} && dd if=/dev/zero of={0}/fill 2>/dev/null; \
         exec env -u XDG_RUNTIME_DIR XDG_STATE_HOME={0} {1} {0}/full.bt",
        disk.display(),
        env!("CARGO_BIN_EXE_probescope"),
    );
    terminal.run(&format!("unshare --mount sh -c '{shell}'"));
    terminal.wait_for("type / to choose a probe");
    terminal.type_text("BEGIN { exit(); }");
    terminal.wait_for("would be lost in a crash");
    terminal.keys(&["C-s"]);
    let screen = terminal.wait_for("cannot save");
    assert!(screen.contains("No space left") && !screen.contains("a copy is kept"), "{screen}");
    terminal.keys(&["C-q", "d"]);
    terminal.wait_for("the unsaved text of full.bt is lost");
}

#[test]
fn a_recording_from_the_first_trace_on_and_counts_before_it() {
    if !has_tmux() {
        return;
    }
    if let Some(why) = cannot_trace() {
        return skip::skip(why);
    }
    let script =
        "-e 'tracepoint:sched:sched_switch { @ = count(); } interval:ms:200 { printf(\"recorded %d\\n\", 1); }'";
    let terminal = Terminal::open("record", (140, 30), &format!("--record all.psrec --count-first {script}"));
    terminal.wait_for("sched_switch");
    terminal.keys(&["C-s"]);
    terminal.wait_for("in one second, without their predicates");
    terminal.wait_for("recorded 1");
    // The run has saved the text: nothing is asked.
    terminal.keys(&["C-q"]);
    terminal.wait_for("to all.psrec");
    terminal.run(&format!("{} replay -f text all.psrec", env!("CARGO_BIN_EXE_probescope")));
    terminal.wait_for("recorded 1");
    // A file that can't be made is refused before the screen is taken.
    terminal.run(&format!("{} --record /nowhere/all.psrec", env!("CARGO_BIN_EXE_probescope")));
    terminal.wait_for("cannot create /nowhere/all.psrec");
}

#[test]
fn the_last_reading_of_a_recording_is_of_its_last_event() {
    if !has_tmux() {
        return;
    }
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    // It fires until the workbench is left, which is when the last events come.
    let script = "-e 'profile:hz:499 { @n = count(); printf(\"fired %d\\n\", 1); }'";
    let terminal = Terminal::open("record-last", (140, 30), &format!("--budget none --record last.psrec {script}"));
    terminal.wait_for("Ctrl-S to run the script");
    terminal.keys(&["C-s"]);
    terminal.wait_for("fired 1");
    terminal.keys(&["C-q"]);
    terminal.wait_for("to last.psrec");
    terminal.wait_for("exit code 0");
    let file = terminal.file("last.psrec").display().to_string();
    let export = |form: &str| {
        let made = Command::new(env!("CARGO_BIN_EXE_probescope")).args(["export", "-f", form, &file]).output().unwrap();
        String::from_utf8(made.stdout).unwrap()
    };
    let events = export("events-csv").lines().filter(|line| line.contains(",event,")).count();
    let maps = export("csv");
    let counted = maps.lines().find_map(|line| line.strip_prefix("@n,,,")).and_then(|n| n.parse::<usize>().ok());
    assert!(events > 0);
    assert_eq!(counted, Some(events), "{maps}");
}
