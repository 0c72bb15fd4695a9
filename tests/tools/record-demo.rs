//! Writes `src/tui/demo/recording.jsonl.lz4` anew: the scripts beside it run on this kernel, a small
//! workload under user 1000 gives them something to see, and what the session told is kept, thinned.
//! Run as root: `cargo run --release --example record-demo -- src/tui/demo [SESSION...]`; with names,
//! only those sessions are recorded anew.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a program for developers fails by panicking")]

use std::fmt::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use probescope::kernel::{Kernel, Roots};
use probescope::lang::source::SourceText;
use probescope::session::front::{self, FrontSettings};
use probescope::session::update::{ScriptId, TraceId, Update};
use probescope::session::{Session, SessionHandle, SessionOptions};
use probescope::store::{Chunk, History as _, Payload, Row, Store};
use probescope::tui::demo::told::{Line, Lines, Origin, Told};
use probescope::tui::demo::{Browsed, Recorded, packed, unpacked};
use probescope::tui::run::catalogue::Catalogue;
use probescope::tui::run::finder::Finder as _;

/// Maps and counters are kept this often.
const EVERY_NS: u64 = 1_000_000_000;
/// Lines kept of one session.
const LINES: usize = 1500;
/// Hits kept of one search.
const HITS: usize = 40;
/// Lines kept of the verifier's log, from its end.
const LOG_LINES: usize = 120;

/// What user 1000 does: ordinary small programs, and some that wait.
const WORK: &[&str] = &[
    "ls -lR /usr/share/doc",
    "find /usr/include -name '*.h' -newer /etc/passwd",
    "grep -r pthread_mutex /usr/include",
    "python3 -c 'import json, email, http.client, ssl'",
    "perl -e 'use POSIX; print POSIX::floor(2.5)'",
    "tar cf - /usr/share/perl | wc -c",
    "sort /usr/share/dict/words /etc/services",
    "sleep 0.2",
    "cat /etc/os-release /etc/hosts",
    "git --version",
];

/// Runs the work over and over until it is ended.
fn work(workers: usize, pause: &str) -> Vec<Child> {
    let worker = |nth: usize| {
        let mut commands: Vec<&str> = WORK.to_vec();
        commands.rotate_left(nth * 3 % WORK.len());
        let script = format!("while :; do {}; sleep {pause}; done", commands.join("; "));
        Command::new("/bin/bash")
            .args(["-c", &script])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", "/home/ada")
            .current_dir("/")
            .uid(1000)
            .gid(1000)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    (0..workers).map(worker).collect()
}

fn end(workers: Vec<Child>) {
    for mut worker in workers {
        let group = format!("-{}", worker.id());
        Command::new("kill").args(["-KILL", "--", &group]).status().unwrap();
        worker.wait().unwrap();
    }
}

struct Recorder {
    handle: SessionHandle,
    updates: Receiver<Update>,
    trace: TraceId,
    folder: PathBuf,
    out: String,
}

/// What is kept of one session, thinned.
#[derive(Default)]
struct Kept {
    told: Vec<Told>,
    lines: usize,
    last_maps: u64,
    last_stats: u64,
    history: Store,
    origin: Origin,
}

impl Kept {
    fn take(&mut self, update: Update) {
        match update {
            Update::Compiled { diagnostics, figures, .. } => self.told.push(Told::Compiled { diagnostics, figures }),
            Update::Attached { probes, elapsed_ns, .. } => self.told.push(Told::Attached { probes, elapsed_ns }),
            Update::Failed { diagnostic, raw_log, .. } => {
                let log: Vec<&str> = raw_log.lines().collect();
                let raw_log = log[log.len().saturating_sub(LOG_LINES)..].join("\n").into();
                self.told.push(Told::Failed { diagnostic, raw_log });
            }
            Update::Trace(info) => {
                let offset_ns = i64::from(info.utc_offset_s) * 1_000_000_000;
                self.origin = Origin {
                    began_ns: info.began_ns,
                    local_minus_monotonic_ns: info.wall_minus_monotonic_ns + offset_ns,
                    probes: info.actions.iter().map(|action| Arc::clone(&action.probe)).collect(),
                };
                self.history.declare(info);
            }
            Update::Append(chunk) => self.chunk(&chunk),
            Update::Checked { .. } | Update::Ended { .. } | Update::Notice { .. } | Update::Command { .. } => {}
        }
    }

    fn chunk(&mut self, chunk: &Arc<Chunk>) {
        let first = self.history.lines().end;
        self.history.append(Arc::clone(chunk));
        let rows = (first..self.history.lines().end).take(LINES - self.lines).filter_map(|n| self.history.line_at(n));
        let line = |row: Row| {
            let text = String::from_utf8_lossy(&row.text).as_ref().into();
            Line { at_ns: row.at_ns, action: row.action.unwrap_or(u32::MAX), text }
        };
        let lines: Vec<Line> = rows.map(line).collect();
        self.lines += lines.len();
        if !lines.is_empty() {
            self.told.push(Told::Lines(Lines { lines, origin: self.origin.clone() }));
        }
        for entry in (0..chunk.len()).filter_map(|index| chunk.entry(index)) {
            match entry.payload {
                Payload::Maps(maps) if entry.at_ns >= self.last_maps + EVERY_NS => {
                    self.last_maps = entry.at_ns;
                    self.told.push(Told::Maps(maps));
                }
                Payload::Stats(stats) if entry.at_ns >= self.last_stats + EVERY_NS => {
                    self.last_stats = entry.at_ns;
                    self.told.push(Told::Stats(stats));
                }
                _ => {}
            }
        }
    }
}

impl Recorder {
    /// Runs a script for some seconds and keeps what was told.
    fn session(&mut self, name: &str, seconds: u64, workers: usize, pause: &str) {
        let text = std::fs::read_to_string(self.folder.join(format!("{name}.bt"))).unwrap();
        self.trace = TraceId(self.trace.0 + 1);
        self.handle.submit(ScriptId(1), self.trace, SourceText::new("demo.bt", &text));
        let workers = work(workers, pause);
        let until = Instant::now() + Duration::from_secs(seconds);
        let mut kept = Kept::default();
        while let Ok(update) = self.updates.recv_timeout(until.saturating_duration_since(Instant::now())) {
            kept.take(update);
            let refused = |told: &Told| matches!(told, Told::Failed { .. } | Told::Compiled { figures: None, .. });
            if kept.told.last().is_some_and(refused) {
                break;
            }
        }
        end(workers);
        println!("{name}: {} updates, {} lines", kept.told.len(), kept.lines);
        for update in kept.told {
            self.write(&Recorded { session: name.into(), update: Some(update), ..Recorded::default() });
        }
        self.handle.stop(self.trace);
        while let Ok(update) = self.updates.recv_timeout(Duration::from_secs(2)) {
            if matches!(update, Update::Ended { .. }) {
                break;
            }
        }
    }

    /// Searches the probes and describes two of them, one that this kernel can't attach.
    fn browse(&mut self, kernel: &Arc<Kernel>, query: &str) {
        let mut catalogue = Catalogue::spawn(Arc::clone(kernel)).unwrap();
        let mut found = catalogue.search(query);
        while !found.complete {
            std::thread::sleep(Duration::from_millis(100));
            found = catalogue.search(query);
        }
        found.hits.truncate(HITS);
        let absent = found.hits.iter().find(|h| h.absent.is_some()).map(|h| Arc::clone(&h.name));
        let first = found.hits.first().map(|h| Arc::clone(&h.name));
        let details = first.iter().chain(&absent).map(|name| catalogue.describe(name)).collect();
        println!("{query}: {} of {} probes", found.matched, found.total);
        self.write(&Recorded {
            session: query.into(),
            browsed: Some(Browsed { found, details }),
            ..Recorded::default()
        });
    }

    fn write(&mut self, recorded: &Recorded) {
        writeln!(self.out, "{}", serde_json::to_string(recorded).unwrap()).unwrap();
    }
}

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "src/tui/demo".into()));
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    let options = SessionOptions {
        kernel: Arc::clone(&kernel),
        compiler: front::compiler(FrontSettings::new(Arc::clone(&kernel))),
        pid: None,
        command: None,
        measure: true,
        budget: None,
        count_first: false,
    };
    let (handle, updates) = Session::spawn(options).unwrap();
    let path = Path::new(&folder).join("recording.jsonl.lz4");
    let names: Vec<String> = std::env::args().skip(2).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let before = unpacked(&std::fs::read(&path).unwrap_or_default());
    let mut out = String::new();
    let session = |line: &str| serde_json::from_str::<Recorded>(line).map_or_else(|_| "".into(), |r| r.session);
    for line in before.lines().filter(|l| !wanted(&session(l))) {
        writeln!(out, "{line}").unwrap();
    }
    let mut recorder = Recorder { handle, updates, trace: TraceId::SESSION, folder, out };
    if wanted("openat") {
        recorder.browse(&kernel, "openat");
    }
    for (name, seconds, workers, pause) in [
        ("openat", 22, 2, "0.3"),
        ("stacks", 12, 4, "0.1"),
        ("burst", 6, 4, "0"),
        ("refused", 120, 0, "1"),
        ("wrong", 5, 0, "1"),
    ] {
        if wanted(name) {
            recorder.session(name, seconds, workers, pause);
        }
    }
    std::fs::write(&path, packed(&recorder.out)).unwrap();
}
