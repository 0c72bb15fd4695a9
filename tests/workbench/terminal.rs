//! The real binary in a real terminal (tmux): first light, end to end, on the running kernel. Waits
//! on what the screen shows, never on time alone.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::skip;
use crate::tmux::{PATIENCE, Terminal, cannot_trace, has_tmux};

/// The tallest number before a word on the screen: `1,234 lines` gives 1234.
fn number_before(screen: &str, word: &str) -> Option<u64> {
    let at = screen.find(word)?;
    let digits: String =
        screen[..at].trim_end().chars().rev().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
    digits.chars().rev().filter(char::is_ascii_digit).collect::<String>().parse().ok()
}

#[test]
fn first_light() {
    if !has_tmux() {
        return;
    }
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    let terminal = Terminal::open("first-light", (140, 40), "first.bt");
    terminal.wait_for("type / to choose a probe");
    terminal.type_text("/");
    terminal.wait_for("attach here ─");
    terminal.type_text("openat");
    let screen = terminal.wait("the probe ranked first with its fields", |s| {
        s.contains("› tracepoint:syscalls:sys_enter_openat ") && s.contains("args.filename")
    });
    assert!(screen.contains("Enter inserts"), "{screen}");
    terminal.keys(&["Enter"]);
    terminal.wait_for("printf(\"%");

    terminal.type_text("@opens[comm] = count(); @sizes = hist(args.flags); ");
    terminal.keys(&["C-s"]);
    // A busy machine has so much to tell that the words are short.
    let figures = |s: &str| s.contains("attached 1 probe") && (s.contains("instructions") || s.contains("insns"));
    let screen = terminal.wait("the figures", figures);
    assert!(screen.contains("running") && !screen.contains("unsaved"), "{screen}");
    let script = std::fs::read_to_string(terminal.file("first.bt")).unwrap();
    assert!(script.contains("@opens[comm] = count()"), "{script}");

    let mark = terminal.file("a-file-to-open");
    std::fs::write(&mark, "x").unwrap();
    let name = mark.display().to_string();
    // Others open files, too: the filter finds ours in the table.
    terminal.keys(&["M-2"]);
    terminal.type_text("fa-file-to-open");
    terminal.wait("an event of this process", |s| {
        let _ = std::fs::read(&mark);
        s.contains(&name[..name.len().min(24)]) && s.contains("sys_enter_openat  terminal::first")
    });
    terminal.keys(&["C-u", "Enter", "M-1"]);
    terminal.wait("maps, rates and costs", |s| {
        let _ = std::fs::read(&mark);
        s.contains("@opens")
            && s.contains("@sizes")
            && (s.contains("events/s") || s.contains("/s │"))
            && s.contains("/event")
    });
    assert!(terminal.screen().contains("lost "), "losses are told, even when there are none");

    terminal.keys(&["F6"]);
    terminal.wait_for("views paused");
    let paused = number_before(&terminal.screen(), " lines").unwrap();
    terminal.wait("lines that wait", |s| {
        let _ = std::fs::read(&mark);
        number_before(s, " waiting").is_some_and(|n| n > 0)
    });
    assert_eq!(number_before(&terminal.screen(), " lines"), Some(paused));
    terminal.keys(&["F6"]);
    terminal.wait("more lines", |s| number_before(s, " lines").is_some_and(|n| n > paused));

    terminal.type_text("@broken = ");
    terminal.keys(&["C-s"]);
    terminal.wait("the error, while the trace goes on", |s| s.contains("last good trace") && s.contains("error"));
    terminal.keys(&["C-w", "C-w", "C-w", "C-s"]);
    terminal.wait("the mended script", |s| s.contains("● running") && !s.contains("error"));

    terminal.keys(&["F8"]);
    terminal.wait_for("ended");
    terminal.keys(&["C-q"]);
    terminal.wait_for("exit code 0");
}

#[test]
fn a_terminal_of_any_size_is_survived() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("sizes", (80, 24), "");
    terminal.wait_for("Trace the running kernel");
    for (width, height, sign) in
        [("20", "5", "untitled"), ("8", "2", "too"), ("60", "15", "Script"), ("120", "34", "Events")]
    {
        terminal.tmux(&["resize-window", "-t", "t", "-x", width, "-y", height]);
        terminal.wait_for(sign);
    }
    terminal.keys(&["C-q"]);
    terminal.wait_for("exit code 0");
}

#[test]
fn unsaved_text_survives_a_signal_and_comes_back() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("signal", (100, 30), "kept.bt");
    terminal.wait_for("type / to choose a probe");
    terminal.type_text("BEGIN { exit(); }");
    terminal.wait_for("unsaved");
    assert!(Command::new("kill").args(["-TERM", &terminal.child()]).status().unwrap().success());
    terminal.wait_for("exit code 143");
    assert!(!terminal.file("kept.bt").exists(), "only a save writes the script's file");
    terminal.again("kept.bt");
    terminal.wait_for("Unsaved text found");
    terminal.keys(&["Escape"]);
    terminal.wait_for("BEGIN { exit(); }");
}

#[test]
fn the_terminal_is_given_back_whatever_ends_it() {
    if !has_tmux() {
        return;
    }
    // What is open when the end comes, and how it comes.
    for (nth, (open, signal)) in
        [("", "-TERM"), ("/", "-HUP"), ("\u{b}", "-INT"), ("x", "-TERM"), ("", "-QUIT-KEY")].into_iter().enumerate()
    {
        let terminal = Terminal::open(&format!("back-{nth}"), (100, 30), "");
        terminal.wait_for("type / to choose a probe");
        assert_eq!(terminal.told(FLAGS), "1 1 0", "taken over");
        terminal.type_text(open);
        let sign = match open {
            "/" => "attach here ─",
            "\u{b}" => "Commands and scripts",
            "x" => "unsaved",
            _ => "Script",
        };
        terminal.wait_for(sign);
        if signal == "-QUIT-KEY" {
            terminal.keys(&["C-q"]);
        } else {
            assert!(Command::new("kill").args([signal, &terminal.child()]).status().unwrap().success());
        }
        terminal.wait_for("exit code");
        assert_eq!(terminal.told(FLAGS), "0 0 1", "{open:?} {signal}");
        let tty = std::fs::File::open(terminal.told("#{pane_tty}")).unwrap();
        let modes = Command::new("stty").arg("-a").stdin(tty).output().unwrap();
        let modes = String::from_utf8_lossy(&modes.stdout).into_owned();
        let set = |mode| modes.split([' ', ';', '\n']).any(|m| m == mode);
        assert!(set("icanon") && set("echo") && set("isig"), "{modes}");
    }
}

/// What the terminal is told to be like: alternate screen, mouse, cursor.
const FLAGS: &str = "#{alternate_on} #{mouse_any_flag} #{cursor_flag}";

#[test]
fn a_fault_of_the_program_gives_the_terminal_back_and_keeps_the_text() {
    if !has_tmux() {
        return;
    }
    if !cfg!(debug_assertions) {
        skip::skip("only debug builds fail on demand");
        return;
    }
    let terminal = Terminal::open("fault", (100, 30), "nothing.bt");
    terminal.wait_for("type / to choose a probe");
    terminal.run(&format!("PROBESCOPE_FAULTS=1 RUST_BACKTRACE=0 {} kept.bt", env!("CARGO_BIN_EXE_probescope")));
    terminal.wait_for("type / to choose a probe");
    let traces = cannot_trace().is_none();
    terminal.type_text("tracepoint:sched:sched_switch { @ = count(); }");
    if traces {
        terminal.keys(&["C-s"]);
        terminal.wait_for("attached 1 probe");
    }
    terminal.type_text(" // not saved");
    terminal.wait_for("unsaved");
    let process = terminal.child();
    assert!(Command::new("kill").args(["-USR2", &process]).status().unwrap().success());
    let screen = terminal.wait_for("exit code 101");
    assert!(screen.contains("the script is kept in") && screen.contains("on purpose"), "{screen}");
    assert_eq!(terminal.told(FLAGS), "0 0 1", "{screen}");
    assert!(!Path::new("/proc").join(&process).exists(), "what it attached went with it");
    terminal.again("kept.bt");
    terminal.wait_for("Unsaved text found");
    terminal.keys(&["Escape"]);
    terminal.wait_for("// not saved");
}

#[test]
fn stopped_it_lends_the_terminal_and_continued_it_takes_it_again() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("stopped", (100, 30), "a.bt");
    terminal.wait_for("type / to choose a probe");
    let process = terminal.child();
    let state = || std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    for signal in ["-TSTP", "-STOP"] {
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
        terminal.wait("its stop", |_| state().contains(") T "));
        let lent = terminal.told(FLAGS);
        assert!(signal == "-STOP" || lent == "0 0 1", "{lent}");
        // A shell sets the terminal to what it likes.
        let tty = std::fs::File::open(terminal.told("#{pane_tty}")).unwrap();
        assert!(Command::new("stty").arg("sane").stdin(tty).status().unwrap().success());
        assert!(Command::new("kill").args(["-CONT", &process]).status().unwrap().success());
        terminal.wait_for("type / to choose a probe");
        terminal.wait("the terminal taken", |_| terminal.told(FLAGS) == "1 1 0");
    }
    terminal.type_text("BEGIN");
    terminal.wait_for("1  BEGIN");
}

#[test]
fn what_another_program_wrote_meanwhile_is_not_written_over_unasked() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("changed", (100, 30), "a.bt");
    terminal.wait_for("type / to choose a probe");
    terminal.type_text("BEGIN { exit(); }");
    // A script that is still empty would take the other program's text.
    terminal.wait_for("BEGIN { exit(); }");
    let file = terminal.file("a.bt");
    std::fs::write(&file, "// of another editor\n").unwrap();
    terminal.keys(&["C-s"]);
    terminal.wait_for("a.bt was changed by another program");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "// of another editor\n");
    terminal.keys(&["C-s"]);
    terminal.wait("the text in the file", |_| std::fs::read_to_string(&file).is_ok_and(|t| t == "BEGIN { exit(); }"));
    terminal.wait("the mark gone", |screen| !screen.contains("unsaved"));
    // What is typed goes on while another program writes, and its text can be had.
    terminal.type_text("x");
    std::fs::write(&file, "BEGIN { printf(\"theirs\"); }\n").unwrap();
    terminal.wait_for("changed by another program, and here too");
    terminal.type_text("yz");
    terminal.wait_for("BEGIN { exit(); }xyz");
    terminal.keys(&["C-k"]);
    terminal.wait_for("Commands and scripts");
    terminal.type_text("reload the text");
    terminal.keys(&["Enter"]);
    terminal.wait_for("theirs");
    terminal.keys(&["C-z"]);
    terminal.wait_for("BEGIN { exit(); }xyz");
}

#[test]
fn a_full_disk_leaves_the_script_as_it_was() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("full", (100, 30), "nothing.bt");
    terminal.wait_for("type / to choose a probe");
    let folder = terminal.file("small");
    std::fs::create_dir(&folder).unwrap();
    // A page of script, and another file in all the pages that are left.
    let prepare = format!(
        "cd {} && mount -t tmpfs -o size=64k none . && cd . && cd {0} && printf '//%4094s' x > a.bt && \
         {{ cat /dev/zero > rest 2>/dev/null; exec {} a.bt; }}",
        folder.display(),
        env!("CARGO_BIN_EXE_probescope"),
    );
    if !Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|s| s.success()) {
        skip::skip("no rights to mount a file system");
        return;
    }
    terminal.run(&format!("unshare -m sh -c \"{prepare}\""));
    terminal.wait_for("a.bt");
    terminal.type_text("x");
    terminal.wait_for("unsaved");
    let inside = Path::new("/proc").join(terminal.child()).join("root").join(folder.strip_prefix("/").unwrap());
    terminal.keys(&["C-s"]);
    terminal.wait_for("No space left");
    assert_eq!(std::fs::read(inside.join("a.bt")).unwrap().len(), 4096, "the text before is all there");
    std::fs::remove_file(inside.join("rest")).unwrap();
    terminal.keys(&["C-s"]);
    terminal.wait("the mark gone", |screen| !screen.contains("unsaved"));
    assert_eq!(std::fs::read(inside.join("a.bt")).unwrap().len(), 4097);
}

#[test]
fn unsaved_text_survives_a_kill() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("kill", (100, 30), "kept.bt");
    terminal.wait_for("type / to choose a probe");
    terminal.type_text("BEGIN { exit(); }");
    let folder = terminal.file(".local/state/probescope/unsaved");
    terminal.wait("the copy of the text", |_| {
        let folders = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let files = folders.flat_map(|f| std::fs::read_dir(f.path()).into_iter().flatten().flatten());
        files.filter_map(|f| std::fs::read_to_string(f.path()).ok()).any(|t| t.contains("BEGIN { exit(); }"))
    });
    let process = terminal.child();
    assert!(Command::new("kill").args(["-KILL", &process]).status().unwrap().success());
    terminal.wait("its end", |_| !Path::new("/proc").join(&process).exists());
    terminal.again("kept.bt");
    terminal.wait_for("Unsaved text found");
    terminal.keys(&["Escape"]);
    terminal.wait("the script alone", |s| !s.contains("Unsaved text found"));
    terminal.keys(&["C-z"]);
    terminal.wait_for("type / to choose a probe");
}

#[test]
fn the_workbench_ends_with_its_terminal() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("closed", (100, 30), "closed.bt");
    terminal.wait_for("type / to choose a probe");
    let process = Path::new("/proc").join(terminal.child());
    let _ = terminal.tmux(&["kill-server"]);
    let start = Instant::now();
    while process.exists() {
        assert!(start.elapsed() < PATIENCE, "it goes on without a terminal");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn control_characters_of_traced_programs_never_reach_the_terminal() {
    if !has_tmux() {
        return;
    }
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    let script = "tracepoint:syscalls:sys_enter_openat { $f = str(args.filename); if (strcontains($f, \"evil\")) { \
                  printf(\"%s\\n\", $f); @files[$f] = count(); @last = $f; } }";
    let evil = "/nowhere/evil\x1b]0;owned\x07\x1b[2J\x1b[31m\u{9b}31m\u{202e}x\r";
    let terminal = Terminal::open("control", (140, 40), "evil.bt");
    terminal.wait_for("type / to choose a probe");
    std::fs::write(terminal.file("evil.bt"), script).unwrap();
    terminal.keys(&["C-q"]);
    terminal.wait_for("exit code 0");
    terminal.again("evil.bt");
    terminal.wait_for("tracepoint:syscalls");
    terminal.keys(&["C-s"]);
    terminal.wait("lines and keys made safe", |s| {
        let _ = std::fs::File::open(evil);
        s.contains("@files") && s.contains("@last") && s.matches("evil␛]0;owned␇␛[2J␛[31m").count() >= 3
    });
    assert_ne!(terminal.told("#{pane_title}"), "owned");
    terminal.keys(&["C-q"]);
    terminal.wait_for("exit code 0");

    // The same on a terminal without the workbench.
    terminal.run(&format!("{} run evil.bt", env!("CARGO_BIN_EXE_probescope")));
    terminal.wait("escapes written out", |s| {
        let _ = std::fs::File::open(evil);
        s.contains("evil\\x1b]0;owned\\x07\\x1b[2J")
    });
    assert!(Command::new("kill").args(["-INT", &terminal.child()]).status().unwrap().success());
    let screen = terminal.wait_for("exit code 0");
    assert!(screen.contains("@files[/nowhere/evil\\x1b]0;owned"), "{screen}");
    assert_ne!(terminal.told("#{pane_title}"), "owned");
}

#[test]
fn without_a_terminal_the_reason_is_told() {
    let out = Command::new(env!("CARGO_BIN_EXE_probescope")).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(out.stdout.is_empty());
    assert!(String::from_utf8_lossy(&out.stderr).contains("needs a terminal"), "{out:?}");
}

#[test]
fn a_terminal_that_cannot_place_its_cursor_is_refused() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("dumb", (90, 20), "--version");
    terminal.wait_for("exit code 0");
    let run = format!("TERM=dumb {}; echo \"exit code $?\"; read -r _", env!("CARGO_BIN_EXE_probescope"));
    terminal.tmux(&["respawn-pane", "-k", "-t", "t", "sh", "-c", &run]);
    let screen = terminal.wait_for("exit code 1");
    assert!(screen.contains("TERM=dumb") && screen.contains("probescope run"), "{screen}");
}

#[test]
fn a_file_that_is_not_text_is_left_alone() {
    if !has_tmux() {
        return;
    }
    let terminal = Terminal::open("binary", (90, 20), "--version");
    terminal.wait_for("exit code 0");
    let bytes = b"BEGIN {}\n\xff\xfe";
    std::fs::write(terminal.file("odd.bt"), bytes).unwrap();
    let run = format!("{} odd.bt; echo \"exit code $?\"; read -r _", env!("CARGO_BIN_EXE_probescope"));
    terminal.tmux(&["respawn-pane", "-k", "-t", "t", "-c", &terminal.folder.display().to_string(), "sh", "-c", &run]);
    let screen = terminal.wait_for("exit code 1");
    assert!(screen.contains("UTF-8"), "{screen}");
    assert_eq!(std::fs::read(terminal.file("odd.bt")).unwrap(), bytes);
}
