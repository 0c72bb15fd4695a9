//! Panes in a real terminal: arranged, in tabs, and the one that measures latency.

use crate::skip;
use crate::tmux::{Terminal, cannot_trace, has_tmux};

/// Titles of the frames on the screen, and the columns and rows of their corners.
fn frames(screen: &str) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    for (y, line) in screen.lines().enumerate() {
        for (x, _) in line.chars().enumerate().filter(|(_, c)| *c == '╭') {
            let title: String = line.chars().skip(x + 2).take_while(|c| *c != '─').collect();
            found.push((x, y, title.split_whitespace().next().unwrap_or_default().to_owned()));
        }
    }
    found
}

#[test]
fn panes_are_arranged_and_the_arrangement_comes_back() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("panes", (140, 40), "a.bt");
    let screen = terminal.wait_for("type / to choose a probe");
    let corner = |screen: &str, title: &str| frames(screen).into_iter().find(|(.., t)| t == title);
    assert!(corner(&screen, "Maps").is_none(), "{screen}");
    // Split: the maps below the events.
    terminal.keys(&["M-2", "M-w"]);
    terminal.wait_for("Arrange the panes");
    terminal.keys(&["s"]);
    terminal.wait_for("New pane");
    terminal.keys(&["j", "Enter"]);
    let screen = terminal.wait("maps below the events", |s| corner(s, "Maps").is_some());
    let (x, y, _) = corner(&screen, "Maps").unwrap();
    // Resized by keys, and by mouse: the border at its upper edge goes down by four.
    terminal.keys(&["M-w", "-", "-", "Escape"]);
    terminal.wait("two rows less, twice", |s| corner(s, "Maps").is_some_and(|(_, now, _)| now == y + 4));
    let y = y + 4;
    let sgr = |button: u8, x: usize, y: usize, end: char| format!("\x1b[<{button};{};{}{end}", x + 1, y + 1);
    let drag = sgr(0, x + 30, y, 'M') + &sgr(32, x + 30, y - 4, 'M') + &sgr(0, x + 30, y - 4, 'm');
    terminal.type_text(&drag);
    terminal.wait("the border moved", |s| corner(s, "Maps").is_some_and(|(_, now, _)| now == y - 4));
    // Zoomed, and back.
    terminal.keys(&["z"]);
    terminal.wait("the maps alone", |s| frames(s).len() == 1);
    terminal.keys(&["z"]);
    terminal.wait("all again", |s| frames(s).len() > 2);
    // Saved by name, then one pane closed: the last arrangement is the one that comes back.
    terminal.keys(&["M-w", "W"]);
    terminal.wait_for("Save the layout as");
    terminal.type_text("mine");
    terminal.keys(&["Enter"]);
    terminal.wait_for("The layout is saved");
    assert!(terminal.file(".config/probescope/layouts/mine.toml").exists());
    let saved = frames(&terminal.screen());
    terminal.keys(&["M-2", "M-w", "c"]);
    let screen = terminal.wait("no events", |s| corner(s, "Events").is_none());
    let last = frames(&screen);
    terminal.keys(&["C-q"]);
    terminal.wait_for("exit code 0");
    terminal.again("a.bt");
    let screen = terminal.wait_for("type / to choose a probe");
    assert_eq!(frames(&screen), last, "{screen}");
    terminal.keys(&["M-w", "O"]);
    terminal.wait_for("Layouts");
    terminal.keys(&["Enter"]);
    terminal.wait("the saved layout", |s| frames(s) == saved);

    // A file of the last use that cannot be read is told of and put aside, not lost.
    terminal.keys(&["C-q"]);
    terminal.wait_for("exit code 0");
    let last = terminal.file(".local/state/probescope/layout.toml");
    std::fs::write(&last, "version = 1\n[layout]\ntabs = [\"script\", \"lost\"]\n").unwrap();
    terminal.again("a.bt");
    terminal.wait_for("there is no pane `lost`");
    terminal.keys(&["M-w", "v"]);
    terminal.wait_for("New pane");
    terminal.keys(&["Enter"]);
    terminal.wait("the layout kept", |_| std::fs::read_to_string(&last).is_ok_and(|t| t.contains("across")));
    let aside = std::fs::read_to_string(last.with_file_name("layout.broken.toml")).unwrap();
    assert!(aside.contains("lost"), "{aside}");
}

#[test]
fn two_scripts_are_traced_at_once_in_two_tabs() {
    if !has_tmux() {
        return;
    }
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    let terminal = Terminal::open("tabs", (140, 40), "one.bt");
    terminal.wait_for("type / to choose a probe");
    terminal.type_text("tracepoint:sched:sched_switch { @ones = count(); }");
    terminal.keys(&["C-s"]);
    terminal.wait("the first trace", |s| s.contains("● running") && s.contains("@ones "));
    terminal.keys(&["M-o"]);
    terminal.wait_for("Open a script in a tab");
    terminal.type_text("two.bt");
    terminal.keys(&["Enter"]);
    terminal.wait_for(" one.bt  two.bt ");
    terminal.type_text("tracepoint:raw_syscalls:sys_enter { @twos = count(); }");
    terminal.keys(&["C-s"]);
    terminal.wait("both traces", |s| s.contains("running · 1 more") && s.contains("@twos ") && !s.contains("@ones "));
    terminal.keys(&["M-p"]);
    terminal.wait("the first one's maps", |s| s.contains("@ones ") && !s.contains("@twos "));
    terminal.keys(&["F8"]);
    terminal.wait_for("■ ended");
    terminal.keys(&["M-n"]);
    terminal.wait("the second one goes on", |s| s.contains("● running") && !s.contains("more") && s.contains("@twos "));
    terminal.type_text(" // not saved");
    terminal.keys(&["M-w", "c"]);
    terminal.wait_for("Close two.bt?");
    terminal.keys(&["y"]);
    terminal.wait("the first one alone", |s| s.contains("╭ Script ") && s.contains("@ones "));
    terminal.keys(&["C-q"]);
    terminal.wait_for("exit code 0");
}

#[test]
fn the_latency_pane_measures_and_takes_the_worst_apart() {
    if !has_tmux() {
        return;
    }
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    let terminal = Terminal::open("latency", (120, 40), "");
    terminal.wait_for("nothing runs");
    // Without any load, as soon as the pane is there.
    terminal.keys(&["M-7"]);
    let screen = terminal.wait("a passive measurement", |s| s.contains("passive BPF") && s.contains("p99.9"));
    assert!(screen.contains("1 CPUs") && screen.contains("6 episodes"), "{screen}");
    // Threads only after their load was told.
    terminal.keys(&["i"]);
    let asked = terminal.wait_for("wake-ups a second each");
    assert!(asked.contains("SCHED_FIFO"), "{asked}");
    terminal.keys(&["y"]);
    terminal.wait("threads that sleep", |s| s.contains("timerlat BPF") && s.contains("Thr cur"));
    // Any latency at all is an episode then.
    terminal.keys(&["n"]);
    for _ in 0..9 {
        terminal.keys(&["["]);
    }
    terminal.wait_for("thread 1.0 µs");
    terminal.keys(&["6"]);
    terminal.wait("a latency over the threshold", |s| s.contains("mostly") && s.contains(" thread "));
    terminal.keys(&["Enter"]);
    let report = terminal.wait_for("hit stop tracing, analyzing it");
    assert!(report.contains("Thread latency:") || report.contains("IRQ handler delay"), "{report}");
    terminal.keys(&["x"]);
    terminal.wait_for("■ timerlat");
    terminal.keys(&["C-q"]);
    terminal.wait_for("exit code 0");
}

#[test]
fn a_terminal_that_refuses_a_copy_leaves_it_to_the_editor() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("copies", (120, 30), "a.bt");
    terminal.wait_for("type / to choose a probe");
    terminal.type_text("BEGIN");
    terminal.keys(&["S-Home"]);
    let buffer = || String::from_utf8_lossy(&terminal.tmux(&["show-buffer"]).stdout).into_owned();
    let copies = |taken: &str| {
        assert!(terminal.tmux(&["set-option", "-s", "set-clipboard", taken]).status.success());
        terminal.keys(&["C-c"]);
        terminal.wait_for("sent to the terminal's clipboard");
    };
    copies("off");
    // What comes after it shows that the terminal has read and dropped it.
    terminal.keys(&["End", "C-v"]);
    terminal.wait_for("BEGINBEGIN");
    assert_eq!(buffer(), "");
    terminal.keys(&["S-Home"]);
    copies("on");
    terminal.wait("the terminal's copy", |_| buffer() == "BEGINBEGIN");
}

#[test]
fn what_the_command_writes_has_a_pane_of_its_own() {
    if !has_tmux() {
        return;
    }
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    let arguments = "-c 'sh -c \"seq 7; printf oops >&2; exit 3\"' -e 'profile:hz:9 { @[comm] = count(); }'";
    let terminal = Terminal::open("command", (120, 36), arguments);
    terminal.wait_for("profile:hz:9");
    terminal.keys(&["C-s"]);
    let screen = terminal.wait("the output and the end", |s| s.contains("oops") && s.contains("exit code 3"));
    let (x, y, _) = frames(&screen).into_iter().find(|(.., title)| title == "Command").unwrap();
    let inside: Vec<String> = screen.lines().skip(y + 1).map(|line| line.chars().skip(x + 1).collect()).collect();
    assert!(inside.iter().any(|line| line.starts_with(" 7 ")), "{screen}");
    assert!(screen.lines().next().unwrap().contains("probescope"), "nothing was written over the screen: {screen}");
    // Names of files are completed where one is typed, and a popup lets the workbench be left.
    std::fs::write(terminal.file("only-one-of-this-name.bt"), "BEGIN { exit(); }").unwrap();
    terminal.keys(&["M-o"]);
    terminal.type_text("only-o");
    terminal.keys(&["Tab"]);
    terminal.wait_for("only-one-of-this-name.bt");
    terminal.keys(&["C-q"]);
    terminal.wait("asked, or left", |s| s.contains("exit code 0") || s.contains("unsaved"));
}
