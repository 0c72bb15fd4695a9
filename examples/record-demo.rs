//! Writes `src/tui/demo/recording.jsonl` anew: the scripts beside it run on this kernel, a small
//! workload under user 1000 gives them something to see, and what the session told is kept, thinned.
//! Run as root: `cargo run --release --example record-demo -- src/tui/demo [SESSION...]`; with names,
//! only those sessions are recorded anew.
#![allow(clippy::unwrap_used, reason = "a program for developers fails by panicking")]

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use probescope::kernel::{Kernel, Roots};
use probescope::model::event::Chunk;
use probescope::session::front::{self, FrontSettings};
use probescope::session::update::{ScriptId, TraceId, Update};
use probescope::session::{Session, SessionHandle, SessionOptions};
use probescope::tui::catalogue::Catalogue;
use probescope::tui::demo::{Browsed, Recorded};
use probescope::tui::finder::Finder as _;

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
    out: std::fs::File,
}

impl Recorder {
    /// Runs a script for some seconds and keeps what was told.
    fn session(&mut self, name: &str, seconds: u64, workers: usize, pause: &str) {
        let text = std::fs::read_to_string(self.folder.join(format!("{name}.bt"))).unwrap();
        self.trace = TraceId(self.trace.0 + 1);
        self.handle.submit(ScriptId(1), self.trace, text);
        let workers = work(workers, pause);
        let until = Instant::now() + Duration::from_secs(seconds);
        let (mut kept, mut lines, mut last_maps, mut last_stats) = (Vec::new(), 0, 0, 0);
        while let Ok(update) = self.updates.recv_timeout(until.saturating_duration_since(Instant::now())) {
            match update {
                Update::Lines { trace, chunk } if lines < LINES => {
                    let taken: Vec<_> = chunk.lines.iter().take(LINES - lines).cloned().collect();
                    lines += taken.len();
                    let chunk = Arc::new(Chunk { lines: taken, ..Chunk::clone(&chunk) });
                    kept.push(Update::Lines { trace, chunk });
                }
                Update::Lines { .. } | Update::Notice { .. } | Update::Ended { .. } => {}
                Update::Maps { trace, maps } => {
                    let at = maps.first().map_or(0, |m| m.at_ns);
                    if at >= last_maps + EVERY_NS {
                        last_maps = at;
                        kept.push(Update::Maps { trace, maps });
                    }
                }
                Update::Stats { trace, stats } => {
                    if stats.at_ns >= last_stats + EVERY_NS {
                        last_stats = stats.at_ns;
                        kept.push(Update::Stats { trace, stats });
                    }
                }
                Update::Failed { trace, diagnostic, raw_log } => {
                    let log: Vec<&str> = raw_log.lines().collect();
                    let raw_log = log[log.len().saturating_sub(LOG_LINES)..].join("\n").into();
                    kept.push(Update::Failed { trace, diagnostic, raw_log });
                }
                other => kept.push(other),
            }
            let refused = |u: &Update| matches!(u, Update::Failed { .. } | Update::Compiled { figures: None, .. });
            if kept.last().is_some_and(refused) {
                break;
            }
        }
        end(workers);
        println!("{name}: {} updates, {lines} lines", kept.len());
        for update in kept {
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
    };
    let (handle, updates) = Session::spawn(options).unwrap();
    let path = Path::new(&folder).join("recording.jsonl");
    let names: Vec<String> = std::env::args().skip(2).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let mut out = std::fs::File::create(&path).unwrap();
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
}
