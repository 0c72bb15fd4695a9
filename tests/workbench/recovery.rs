//! Text that was typed and not saved: what becomes of it when workbenches are killed, and when nothing can be written.

use std::path::Path;
use std::process::Command;

use crate::tmux::{Terminal, has_tmux};

/// The unsaved texts on disk.
fn kept(terminal: &Terminal) -> Vec<String> {
    let folder = terminal.file(".local/state/probescope/unsaved");
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = folders.flat_map(|f| std::fs::read_dir(f.path()).into_iter().flatten().flatten());
    files.filter_map(|f| std::fs::read_to_string(f.path()).ok()).filter(|t| !t.is_empty()).collect()
}

#[test]
fn texts_of_two_workbenches_without_a_file_both_come_back() {
    if !has_tmux() {
        return;
    }
    let (first, second) = (Terminal::open("recover-1", (100, 30), ""), Terminal::open("recover-2", (100, 30), ""));
    let same_home = format!("env HOME={} {}", first.folder.display(), env!("CARGO_BIN_EXE_probescope"));
    first.wait_for("type / to choose a probe");
    first.type_text("BEGIN { exit(); } // one");
    first.wait("the copy of the text", |_| kept(&first).iter().any(|t| t.contains("one")));
    second.run(&same_home);
    let screen = second.wait_for("type / to choose a probe");
    assert!(!screen.contains("Unsaved text found"), "the first one lives:\n{screen}");
    second.type_text("END { } // two");
    second.wait("both copies", |_| kept(&first).len() == 2);
    for terminal in [&first, &second] {
        let process = terminal.child();
        assert!(Command::new("kill").args(["-KILL", &process]).status().unwrap().success());
        terminal.wait("its end", |_| !Path::new("/proc").join(&process).exists());
    }
    second.run(&same_home);
    second.wait("both texts", |s| s.contains("Unsaved text found") && s.contains("1 more of earlier runs"));
    second.keys(&["Escape"]);
    second.wait_for("// two");
    second.keys(&["M-n"]);
    second.wait_for("// one");
}

#[test]
fn without_a_place_for_it_no_copy_is_promised() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("recover-nowhere", (140, 30), "none.bt");
    terminal.wait_for("type / to choose a probe");
    terminal.keys(&["C-q"]);
    terminal.wait_for("exit code 0");
    // A file is where the folder would be, and root's other place is out of reach as well.
    let state = terminal.file("state");
    std::fs::write(&state, "").unwrap();
    let nowhere = "unshare --user --map-user=1000 env -u XDG_RUNTIME_DIR";
    let workbench = format!("{nowhere} XDG_STATE_HOME={} {}", state.display(), env!("CARGO_BIN_EXE_probescope"));
    terminal.run(&format!("{workbench} /nowhere/none.bt"));
    terminal.wait_for("type / to choose a probe");
    terminal.type_text("BEGIN { exit(); }");
    terminal.wait_for("would be lost in a crash");
    terminal.keys(&["C-s"]);
    let screen = terminal.wait_for("cannot save");
    assert!(screen.contains("and no copy can be kept") && !screen.contains("a copy is kept"), "{screen}");
    terminal.keys(&["C-q", "d"]);
    terminal.wait_for("the unsaved text of none.bt is lost");
}
