//! The README's tour, word by word: what it says to press is pressed, and what it says to see is waited for.
//! The keys and words come from the README itself, in its order: a step that is added, left out or changed there
//! fails here until it is taken, too.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::skip;
use crate::tmux::{PATIENCE, Terminal, cannot_trace, has_tmux};

/// Pause between two looks at the screen.
const LOOK: Duration = Duration::from_millis(200);

/// What the tour marks: **keys** in bold, `words` as code, and blocks of code.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Marked {
    Key(String),
    Code(String),
    Block(String),
}

/// The tour's marks that are still to come.
struct Tour {
    marks: VecDeque<Marked>,
    terminal: Terminal,
}

/// The steps of the section, without what follows them.
fn steps() -> String {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let from = readme.find("## Five minutes").expect("the README has a tour") + "## Five minutes".len();
    let section = &readme[from..from + readme[from..].find("\n## ").unwrap()];
    let is_step =
        |line: &&str| line.starts_with(' ') || line.is_empty() || line.starts_with(|c: char| c.is_ascii_digit());
    section.lines().take_while(is_step).collect::<Vec<_>>().join("\n")
}

fn marks(text: &str) -> VecDeque<Marked> {
    let mut found = VecDeque::new();
    let mut rest = text;
    while let Some(at) = rest.find(['*', '`']) {
        rest = &rest[at..];
        let (fence, make): (&str, fn(String) -> Marked) = if rest.starts_with("```") {
            ("```", |block| {
                Marked::Block(block.lines().map(|l| l.strip_prefix("   ").unwrap_or(l)).collect::<Vec<_>>().join("\n"))
            })
        } else if rest.starts_with("**") {
            ("**", Marked::Key)
        } else if rest.starts_with('`') {
            ("`", Marked::Code)
        } else {
            rest = &rest[1..];
            continue;
        };
        let body = &rest[fence.len()..];
        let end = body.find(fence).unwrap_or_else(|| panic!("{fence} is not closed: {body}"));
        found.push_back(make(body[..end].to_owned()));
        rest = &body[end + fence.len()..];
    }
    found
}

/// A key as tmux names it.
fn tmux_key(name: &str) -> String {
    let (prefix, base) = match name.split_once('-') {
        Some(("Ctrl", base)) => ("C-", base.to_ascii_lowercase()),
        Some(("Alt", base)) => ("M-", base.to_ascii_lowercase()),
        _ => ("", name.to_owned()),
    };
    let base = match &*base {
        "Esc" => "Escape",
        "→" => "Right",
        other => other,
    };
    format!("{prefix}{base}")
}

impl Tour {
    fn next(&mut self) -> Marked {
        self.marks.pop_front().expect("the README's tour ends before this test does")
    }

    /// Presses the next key, which must be this one.
    fn press(&mut self, key: &str) {
        self.told(key);
        self.terminal.keys(&[&tmux_key(key)]);
    }

    /// The next key, which must be this one, is only told of here.
    fn told(&mut self, key: &str) {
        assert_eq!(self.next(), Marked::Key(key.to_owned()), "the README says it otherwise");
    }

    /// The next word of code, which must be this one.
    fn code(&mut self, word: &str) {
        assert_eq!(self.next(), Marked::Code(word.to_owned()), "the README says it otherwise");
    }

    /// The next block of code.
    fn block(&mut self) -> String {
        match self.next() {
            Marked::Block(text) => text.trim().to_owned(),
            other => panic!("the README has {other:?} where a block of code was"),
        }
    }

    /// Waits until the screen satisfies a condition. It is looked at seldom: each look opens files, which are traced.
    fn sees(&self, what: &str, condition: impl Fn(&str) -> bool) {
        let start = Instant::now();
        loop {
            // There is always something to see.
            let _ = std::fs::read("/etc/hostname");
            let screen = self.terminal.screen();
            if condition(&screen) {
                return;
            }
            assert!(start.elapsed() < 4 * PATIENCE, "never saw {what}; the screen shows:\n{screen}");
            std::thread::sleep(LOOK);
        }
    }

    fn sees_text(&self, text: &str) {
        self.sees(text, |screen| screen.contains(text));
    }

    fn sees_no_more(&self, text: &str) {
        self.sees(&format!("no {text}"), |screen| !screen.contains(text));
    }

    fn paste(&self, text: &str) {
        assert!(self.terminal.tmux(&["set-buffer", text]).status.success());
        assert!(self.terminal.tmux(&["paste-buffer", "-p", "-t", "t"]).status.success());
    }
}

/// A time of the day to the second at least: `12:30:05.`.
fn has_clock(screen: &str) -> bool {
    let bytes = screen.as_bytes();
    bytes.windows(9).any(|w| {
        w[2] == b':' && w[5] == b':' && w[8] == b'.' && [0, 1, 3, 4, 6, 7].iter().all(|i| w[*i].is_ascii_digit())
    })
}

/// The line of keys.
fn footer(screen: &str) -> &str {
    screen.trim_end().lines().last().unwrap_or("")
}

#[test]
fn marks_are_found_in_their_order() {
    let found = marks("1. `a b`. Press **Ctrl-S**\n\n   ```\n   x\n     y\n   ```\n5 * 3");
    let expected = [Marked::Code("a b".into()), Marked::Key("Ctrl-S".into()), Marked::Block("\nx\n  y\n".into())];
    assert_eq!(Vec::from(found), expected);
    assert_eq!((tmux_key("Ctrl-S"), tmux_key("Alt-5"), tmux_key("Esc")), ("C-s".into(), "M-5".into(), "Escape".into()));
}

#[test]
fn the_readme_s_tour_goes_as_it_is_told() {
    if !has_tmux() {
        return;
    }
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    let mut tour = Tour { marks: marks(&steps()), terminal: Terminal::open("tour", (160, 45), "") };
    finds_a_probe(&mut tour);
    filters_events(&mut tour);
    changes_the_script(&mut tour);
    looks_at_maps_and_leaves(&mut tour);
    tour.terminal.again("");
    tour.sees_text("type / to choose a probe");
    draws_flames(&mut tour);
    arranges_panes(&mut tour);
    looks_before_it_attaches(&mut tour);
    measures_latency(&mut tour);
    keeps_a_budget(&mut tour);
    assert_eq!(tour.marks, [], "the README's tour goes on where this test ends");
}

/// Steps 1 and 2.
fn finds_a_probe(tour: &mut Tour) {
    tour.code("sudo make run");
    tour.sees_text("type / to choose a probe");
    tour.press("/");
    tour.sees_text("attach here ─");
    tour.code("openat");
    tour.terminal.type_text("openat");
    tour.code("tracepoint:syscalls:sys_enter_openat");
    tour.sees("the probe ranked first with its fields and their types", |s| {
        s.contains("› tracepoint:syscalls:sys_enter_openat ")
            && s.contains("args.filename")
            && s.contains("const char *")
    });
    tour.press("Enter");
    tour.sees_text("printf(\"%");
    let script = tour.block();
    tour.terminal.keys(&["C-a"]);
    tour.paste(&script);
    tour.sees("the script of the tour alone", |s| s.contains("@opens[comm] = count();") && !s.contains("pid"));
}

/// Step 3.
fn filters_events(tour: &mut Tour) {
    tour.press("Ctrl-S");
    tour.sees("how long it took, and how many instructions", |s| {
        s.contains("attached 1 probe") && (s.contains("instructions") || s.contains("insns"))
    });
    tour.code("@opens");
    tour.sees("times, probes and output, and the live table", |s| {
        ["time  probe", "output", "sys_enter_openat", "@opens "].iter().all(|word| s.contains(word))
    });
    tour.code("interval");
    tour.code("print");
    tour.press("Esc");
    tour.sees("the keys of the events", |s| footer(s).contains("F follow"));
    tour.press("f");
    tour.code("comm ~ \"a\"");
    tour.terminal.type_text("comm ~ \"a\"");
    tour.sees("the filter", |s| s.contains("filter comm ~ \"a\"") && s.contains(" of "));
    tour.press("Enter");
    tour.press("T");
    tour.sees("times of the day", has_clock);
    tour.press("o");
    tour.sees_text("without probescope's own");
    tour.press("Enter");
    tour.sees_text("s after the trace began");
    tour.press("Esc");
    tour.sees_no_more("s after the trace began");
    tour.press("Tab");
    tour.sees("another pane of output", |s| !footer(s).contains("F follow") && footer(s).contains("Tab pane"));
    tour.press("Esc");
    tour.sees("the keys of the script", |s| !footer(s).contains("Tab pane"));
}

/// Step 4.
fn changes_the_script(tour: &mut Tour) {
    let clause = "tracepoint:syscalls:sys_enter_openat { @flags = hist(args.flags); }";
    tour.code(clause);
    tour.terminal.keys(&["C-End", "Enter"]);
    tour.paste(clause);
    tour.press("Ctrl-S");
    tour.sees("the new program", |s| s.contains("attached 2 probes") && s.contains("@flags "));
    tour.code("}");
    tour.terminal.type_text("}");
    tour.press("Ctrl-S");
    tour.sees("the error, while the trace goes on", |s| s.contains("last good trace") && s.contains("[P0"));
    tour.press("Ctrl-Z");
    tour.sees_no_more("[P0");
}

/// Step 5.
fn looks_at_maps_and_leaves(tour: &mut Tour) {
    tour.press("Esc");
    tour.sees("the keys of the output", |s| footer(s).contains("Tab pane"));
    tour.press("Space");
    tour.sees_text("views paused");
    tour.press("Space");
    tour.sees_no_more("views paused");
    tour.press("Alt-3");
    tour.press("→");
    tour.sees_text("›@opens ");
    tour.press("s");
    tour.sees("another order", |s| s.contains("↑key") || s.contains("↓/s") || s.contains("↓key"));
    tour.press("Enter");
    tour.sees("the row opened", |s| s.contains("│ ") && s.contains(" → "));
    tour.press("?");
    tour.sees_text("Fill the screen with this pane");
    tour.press("Esc");
    tour.sees_no_more("Fill the screen with this pane");
    tour.press("Ctrl-K");
    tour.sees_text("Commands and scripts");
    tour.press("Esc");
    tour.sees_no_more("Commands and scripts");
    tour.press("x");
    tour.sees_text("Stop the trace?");
    tour.press("y");
    tour.sees_text("■ ended");
    tour.press("F11");
    tour.sees_text("The mouse belongs to the terminal");
    tour.press("Ctrl-Q");
    tour.sees_text("has unsaved changes");
    tour.press("s");
    tour.told("d");
    tour.sees_text("exit code 0");
}

/// Step 6.
fn draws_flames(tour: &mut Tour) {
    tour.press("Ctrl-K");
    tour.sees_text("Commands and scripts");
    tour.code("flame");
    tour.terminal.type_text("flame");
    tour.sees("a preset", |s| s.to_lowercase().contains("flame graph"));
    tour.terminal.keys(&["Enter"]);
    tour.sees_text("attached");
    tour.press("Alt-5");
    tour.sees("frames", |s| s.contains("Flame") && s.contains("all"));
    tour.press("f");
    tour.terminal.type_text("e");
    tour.sees_text("search e");
    tour.terminal.keys(&["Enter"]);
    for key in ["Enter", "i", "v", "h", "o", "b"] {
        tour.press(key);
    }
    tour.sees_text("baseline");
    tour.press("Alt-6");
    tour.sees_text("Over time");
    tour.press("Alt-E");
    tour.sees_text("Commands and scripts");
    tour.terminal.keys(&["Escape"]);
}

/// Step 7.
fn arranges_panes(tour: &mut Tour) {
    tour.press("Alt-W");
    tour.sees_text("Arrange the panes");
    tour.terminal.keys(&["Escape"]);
    tour.press("Alt-O");
    tour.sees_text("Open a script in a tab");
    tour.terminal.keys(&["Escape"]);
}

/// Step 8. X-rays and members of structs have tests of their own: what they need is not on every kernel.
fn looks_before_it_attaches(tour: &mut Tour) {
    tour.told("Alt-R");
    tour.terminal.keys(&["C-p"]);
    tour.sees_text("attach here ─");
    tour.terminal.type_text("sys_enter_openat");
    tour.sees_text("Fires when a program calls openat(2)");
    tour.press("Alt-H");
    tour.sees_text("fired within the second");
    tour.told("Alt-S");
    tour.code("lens(pointer)");
    tour.terminal.keys(&["Escape"]);
    tour.sees_no_more("attach here ─");
}

/// Step 9.
fn measures_latency(tour: &mut Tour) {
    tour.press("Alt-7");
    tour.sees_text("passive BPF");
    for key in ["o", "i"] {
        tour.press(key);
        tour.sees("what it loads", |s| s.contains("y yes"));
        tour.terminal.keys(&["n"]);
        tour.sees("no question", |s| !s.contains("y yes"));
    }
    tour.press("1");
    tour.press("7");
    tour.told("t");
    tour.told("Enter");
    tour.press("Alt-8");
    tour.sees("programs of the system", |s| s.contains("ns/run") || s.contains("programs"));
}

/// Step 10.
fn keeps_a_budget(tour: &mut Tour) {
    tour.press("Alt-Q");
    tour.sees_text("of the CPUs' time");
    tour.press("Alt-X");
    tour.sees_text("■ ended");
    tour.terminal.keys(&["C-q"]);
    tour.sees("the end, or a question about the script", |s| s.contains("exit code 0") || s.contains("unsaved"));
    tour.terminal.keys(&["d"]);
    tour.sees_text("exit code 0");
}
