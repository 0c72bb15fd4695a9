//! Generated abuse of the real program in a terminal: command lines, scripts, recordings, configurations, themes,
//! layouts, binaries, and what a terminal sends. Whatever comes: no crash, no hang, no control that is not ours, bounded
//! memory.
//!
//! `PROBESCOPE_ABUSE=10000` makes so many inputs, `PROBESCOPE_ABUSE_SEED=7` other ones, `PROBESCOPE_ABUSE_JOBS=4` so many at
//! once. A failure names its seed: the same number makes the same input again.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

#[path = "../compiler/generated_scripts/random.rs"]
mod random;

use random::Random;
use rustix::process::Signal;

use crate::raw::{Folder, Raw};

/// Inputs of the ordinary tests.
const INPUTS: u64 = 48;
/// Far over what any input may take: only a hang gets here.
const HANG: Duration = Duration::from_secs(60);
/// Most memory of one run, in MiB.
const MOST_MEMORY: u64 = 500;

/// Words that hurt.
const WORDS: &[&str] = &[
    "\x1b]0;owned\x07",
    "\x1b[2J",
    "\u{9b}31m",
    "\u{202e}",
    "\0",
    "\n",
    "%s%n",
    "'",
    "\"",
    "{",
    "}",
    "((((((((",
    "/../../..",
    "99999999999999999999",
    "-1",
    "0x",
    "@",
    "$",
    "*",
    "=",
    "--",
    "-",
    "é",
    "\u{feff}",
    "\u{10ffff}",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// Files below a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_file());
    found.sort();
    found
}

fn any_of(folder: &str, random: &mut Random) -> Vec<u8> {
    let found = files(&root().join(folder));
    std::fs::read(&found[random.below(found.len())]).unwrap()
}

/// A few changes, each of bytes, words, or a repetition.
fn mutate(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(5) {
        let at = random.below(bytes.len() + 1);
        let length = random.below(64).min(bytes.len() - at);
        match random.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let copy = bytes[at..at + length].to_vec();
                let times = 1 + random.below(200);
                bytes.splice(at..at, copy.repeat(times));
            }
            3 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            4 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            _ => drop(bytes.splice(at..at, WORDS[random.below(WORDS.len())].bytes())),
        }
    }
    bytes
}

/// One way to hurt.
#[derive(Clone, Copy, Debug)]
enum Kind {
    CommandLine,
    Script,
    D,
    Recording,
    Configuration,
    Theme,
    Layout,
    Binary,
    Keys,
}

const KINDS: [Kind; 9] = [
    Kind::CommandLine,
    Kind::Script,
    Kind::D,
    Kind::Recording,
    Kind::Configuration,
    Kind::Theme,
    Kind::Layout,
    Kind::Binary,
    Kind::Keys,
];

/// What is run: its words, or the workbench with what is typed.
enum Run {
    Words(Vec<Vec<u8>>),
    Workbench(Vec<Vec<u8>>),
}

fn words(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// Prepares the folder for one input, and says what is run there.
fn prepare(kind: Kind, folder: &Path, random: &mut Random) -> Run {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    match kind {
        Kind::CommandLine => {
            let line = mutate(any_of("fuzz/corpus/command_line", random), random);
            // A NUL ends a word before the program sees it.
            let line: Vec<u8> = line.into_iter().filter(|byte| *byte != 0).collect();
            Run::Words(line.split(|byte| *byte == b'\n').take(60).map(<[u8]>::to_vec).collect())
        }
        Kind::Script => {
            let from = ["tests/scripts/control", "tests/scripts/strings", "fuzz/corpus/check", "scripts"];
            write("a.bt", &mutate(any_of(from[random.below(from.len())], random), random));
            Run::Words(words(&[random.pick(&["check", "fmt"]), "a.bt"]))
        }
        Kind::D => {
            write("a.d", &mutate(any_of("fuzz/corpus/d_parser", random), random));
            Run::Words(words([&["dtrace", "-e", "-s", "a.d"][..], &["check", "a.d"]][random.below(2)]))
        }
        Kind::Recording => {
            write("a.psrec", &mutate(any_of("fuzz/corpus/recording", random), random));
            let runs: [&[&str]; 4] = [
                &["replay", "a.psrec", "-f", "text"],
                &["record", "info", "a.psrec"],
                &["export", "a.psrec", "-f", "events-json"],
                &["export", "a.psrec", "-f", "markdown"],
            ];
            Run::Words(words(runs[random.below(4)]))
        }
        Kind::Configuration => {
            write("a.toml", &mutate(any_of("fuzz/corpus/user_files", random), random));
            Run::Words(words(&["--config-file", "a.toml", "config", "check"]))
        }
        Kind::Theme => {
            let name = random.pick(&["a.toml", "a.tmTheme"]);
            write(name, &mutate(any_of("themes", random), random));
            Run::Workbench(words(&["--theme", name]))
        }
        Kind::Layout => {
            write(".local/state/probescope/layout.toml", &mutate(any_of("fuzz/corpus/user_files", random), random));
            write(".config/probescope/layouts/a.toml", &mutate(any_of("fuzz/corpus/user_files", random), random));
            Run::Workbench(words(&["a.bt"]))
        }
        Kind::Binary => {
            write("a.so", &mutate(any_of("fuzz/corpus/elf_binary", random), random));
            Run::Words(words(&["list", random.pick(&["uprobe:./a.so:*", "usdt:./a.so:*", "uprobe:./a.so:a*b"])]))
        }
        Kind::Keys => Run::Workbench(words(&["-e", "BEGIN { printf(\"x\\n\"); }"])),
    }
}

fn command(arguments: &[Vec<u8>], folder: &Path) -> Command {
    use std::os::unix::ffi::OsStrExt as _;
    let mut command = Command::new(env!("CARGO_BIN_EXE_probescope"));
    command.args(arguments.iter().map(|word| std::ffi::OsStr::from_bytes(word)));
    command.current_dir(folder).env("HOME", folder).env("EDITOR", "true").env("RUST_BACKTRACE", "0");
    for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] {
        command.env_remove(name);
    }
    command
}

/// What terminals send, and what nobody would.
fn type_anything(terminal: &Raw, random: &mut Random) {
    const SENT: &[&str] = &[
        "\x1b[A",
        "\x1b[200~pasted\x1b[2J\x1b[201~",
        "\x1b[<0;10;10M",
        "\x1b[<0;99999;99999M",
        "\x1b[99999999999999999999u",
        "\x1bO",
        "\x1b[?1;2c",
        "\x1b]11;rgb:0000/0000/0000\x07",
        "\x1bP1$r0m\x1b\\",
        "\x1b[I",
        "/",
        "openat",
        "\r",
        "\t",
        "\x1b",
        "?",
        "\x0b",
        "\x17",
        "\x08",
        "\x1a",
        "x",
        "\x1b1",
        "\x1b2",
        "\x1b5",
        "\x1b7",
    ];
    for _ in 0..random.below(40) {
        if random.below(6) == 0 {
            terminal.resize(random.below(65536) as u16, random.below(65536) as u16);
        } else {
            terminal.keys(SENT[random.below(SENT.len())]);
        }
    }
}

/// Runs one input to its end; tells what was wrong.
fn abuse(seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let kind = KINDS[(seed % KINDS.len() as u64) as usize];
    let folder = Folder::new(&format!("abuse-{seed}"));
    let run = prepare(kind, &folder.0, &mut random);
    let (arguments, interactive) = match &run {
        Run::Words(words) => (words, false),
        Run::Workbench(words) => (words, true),
    };
    let mut terminal = Raw::start_command(command(arguments, &folder.0), true);
    let failed =
        |terminal: &Raw, what: &str| Err(format!("seed {seed}, {kind:?}: {what}: {}", terminal.said().escape_debug()));
    let (began, mut most, mut asked) = (Instant::now(), 0, None);
    if interactive {
        // It is there, or has refused.
        while !terminal.said().contains("\x1b[?1049h") && !terminal.is_over() && began.elapsed() < HANG {
            std::thread::sleep(Duration::from_millis(5));
        }
        type_anything(&terminal, &mut random);
        std::thread::sleep(Duration::from_millis(100));
    }
    loop {
        most = most.max(terminal.resident());
        if terminal.is_over() {
            break;
        }
        // What traces or waits for keys is ended as a user would.
        let patience = Duration::from_secs(if interactive { 0 } else { 5 });
        if asked.is_none() && began.elapsed() > patience {
            terminal.signal(Signal::TERM);
            asked = Some(Instant::now());
        }
        // Who gets no CPU hangs by nobody's fault of ours.
        if began.elapsed() > HANG && began.elapsed() > HANG + terminal.starved() * 2 {
            return failed(&terminal, "it hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let status = terminal.end();
    let code = status.code();
    if code.is_none() && asked.is_none() || code == Some(101) || terminal.said().contains("panicked") {
        return failed(&terminal, &format!("it crashed ({status})"));
    }
    if most > MOST_MEMORY {
        return failed(&terminal, &format!("it took {most} MiB"));
    }
    let said = terminal.said();
    if said.contains("\x1b]0;owned") || said.contains('\u{9b}') || said.contains('\u{202e}') {
        return failed(&terminal, "it passed a control on");
    }
    // A command line may come to open the workbench, or a live table in rtla's colours: these draw.
    let draws = interactive || said.contains("\x1b[?1049h") || said.contains("\x1b[2;37;40m");
    if !draws && !crate::doors::controls(&said).is_empty() {
        return failed(&terminal, &format!("it passed {:?} on", crate::doors::controls(&said)));
    }
    Ok(())
}

#[test]
fn abuse_of_every_kind_is_survived() {
    let (inputs, first) = (number("PROBESCOPE_ABUSE", INPUTS), number("PROBESCOPE_ABUSE_SEED", 1) * 1_000_000);
    let next = std::sync::atomic::AtomicU64::new(first);
    let failures = std::sync::Mutex::new(Vec::new());
    // Most of the time is waiting: for a screen, for an end.
    let work = || {
        loop {
            let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if seed >= first + inputs || failures.lock().unwrap().len() >= 10 {
                return;
            }
            if let Err(why) = abuse(seed) {
                failures.lock().unwrap().push(why);
            }
        }
    };
    std::thread::scope(|scope| (0..number("PROBESCOPE_ABUSE_JOBS", 1)).for_each(|_| drop(scope.spawn(work))));
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
