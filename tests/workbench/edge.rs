//! The workbench at the edge: terminals of sizes that none has, terminals that stop reading, signals while it is busy.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::raw::{Folder, Raw};

/// Far over the second that an end may take: only a hang gets here, on a busy machine, too.
const AT_LONGEST: Duration = Duration::from_secs(20);
/// Most memory that a screen of any size may take, in MiB.
const MOST_MEMORY: u64 = 500;

fn opened(name: &str, reads: bool) -> (Folder, Raw) {
    let folder = Folder::new(name);
    let terminal = Raw::start(&["a.bt"], &folder.0, reads);
    if reads {
        terminal.wait("the screen", |said| said.contains("type / to choose a probe"));
    }
    (folder, terminal)
}

fn ends(mut terminal: Raw, codes: &[i32]) {
    let began = Instant::now();
    let status = terminal.end();
    assert!(status.code().is_some_and(|code| codes.contains(&code)), "{status}: {}", terminal.said().escape_debug());
    assert!(began.elapsed() < AT_LONGEST);
}

#[test]
fn no_size_that_a_terminal_claims_takes_much_memory() {
    let (_folder, terminal) = opened("huge", true);
    for size in [(65535, 65535), (1, 65535), (65535, 1), (0, 0), (3000, 2000), (100, 30)] {
        terminal.resize(size.0, size.1);
        std::thread::sleep(Duration::from_millis(300));
    }
    terminal.resize(65535, 65535);
    std::thread::sleep(Duration::from_millis(500));
    let resident = terminal.resident();
    assert!(resident < MOST_MEMORY, "{resident} MiB");
    terminal.signal(Signal::TERM);
    ends(terminal, &[143]);
}

#[test]
fn a_storm_of_sizes_is_survived() {
    let (_folder, terminal) = opened("storm", true);
    for n in 0..2000_u16 {
        terminal.resize(20 + n * 7 % 300, 5 + n * 13 % 90);
    }
    terminal.resize(100, 30);
    // The library that reads keys may miss one that comes in the middle of a resize: the next one brings both.
    let began = Instant::now();
    while !terminal.said().contains("unsaved") {
        assert!(began.elapsed() < AT_LONGEST, "nothing that is typed arrives: {}", terminal.said().escape_debug());
        terminal.keys("x");
        std::thread::sleep(Duration::from_millis(300));
    }
    assert!(terminal.resident() < MOST_MEMORY);
    terminal.signal(Signal::TERM);
    ends(terminal, &[143]);
}

#[test]
fn a_terminal_that_reads_nothing_keeps_nobody() {
    // What is written to a terminal that is gone fails, which may be seen first.
    let ways: [(Option<Signal>, &[i32]); 3] =
        [(Some(Signal::TERM), &[143]), (Some(Signal::HUP), &[129]), (None, &[1, 129])];
    for (signal, codes) in ways {
        let (_folder, mut terminal) = opened("stuck", false);
        // The first screens fill what the kernel holds for a terminal, and the workbench waits to write.
        let wait = Instant::now();
        let waits = |terminal: &Raw| {
            let channel = std::fs::read_to_string(format!("/proc/{}/wchan", terminal.id())).unwrap_or_default();
            channel.contains("n_tty_write") || channel.contains("wait_woken")
        };
        let mut columns = 90;
        while !waits(&terminal) && wait.elapsed() < Duration::from_secs(10) {
            columns = if columns == 90 { 160 } else { 90 };
            terminal.resize(columns, 50);
            std::thread::sleep(Duration::from_millis(50));
        }
        match signal {
            Some(signal) => terminal.signal(signal),
            None => terminal.hang_up(),
        }
        ends(terminal, codes);
    }
}

#[test]
fn a_loop_that_does_not_answer_is_ended_and_the_text_kept() {
    if !cfg!(debug_assertions) {
        return;
    }
    let folder = Folder::new("busy");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_probescope"));
    command.arg("a.bt").current_dir(&folder.0).env("HOME", &folder.0).env("PROBESCOPE_FAULTS", "busy");
    let terminal = Raw::start_command(command, true);
    terminal.wait("the screen", |said| said.contains("type / to choose a probe"));
    terminal.keys("BEGIN { exit(); }");
    terminal.wait("what is typed", |said| said.contains("unsaved"));
    // It computes for ever from here on.
    terminal.signal(Signal::USR2);
    std::thread::sleep(Duration::from_millis(300));
    terminal.signal(Signal::TERM);
    let mut terminal = terminal;
    assert_eq!(terminal.end().code(), Some(143));
    assert!(terminal.said().contains("\x1b[?1049l"), "the terminal is given back");
    let terminal = Raw::start(&["a.bt"], &folder.0, true);
    terminal.wait("the text of before", |said| said.contains("Unsaved text found"));
}
