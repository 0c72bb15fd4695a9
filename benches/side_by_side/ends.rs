//! From Ctrl-C to the prompt, and until the kernel has detached everything, beside a bare program that detaches as much.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long each runs before it is ended.
const RUNS: Duration = Duration::from_secs(2);
/// A second Ctrl-C comes after so long: closer ones are one request.
const SECOND: Duration = Duration::from_millis(400);

/// What is ended: a name, the command's words, and the bare program's word where it has the same links.
const ROWS: [(&str, &[&str], Option<&str>); 5] = [
    (
        "360 tracepoints with kstack",
        &["run", "-e", "tracepoint:syscalls:sys_exit_* { @[kstack(2)] = count(); }"],
        Some("tracepoints"),
    ),
    ("user functions of libc", &["run", "--budget", "5%", "-e", "uprobe:libc:* { @[func] = count(); }"], None),
    (
        "4,000 keys printed each ms",
        &["run", "-e", "BEGIN { for ($i : 0..4000) { @[$i] = $i; } } interval:ms:1 { print(@); }"],
        None,
    ),
    ("X-ray of everything", &["xray", "*"], Some("functions")),
    (
        "kprobe:* with kstack, 2 %",
        &["run", "--budget", "2%", "-e", "kprobe:* { @[kstack] = count(); }"],
        Some("functions"),
    ),
];

/// What the bare program says: attach points, links, ms.
fn bare(program: &Path, word: &str) -> Option<(u64, u64, f64)> {
    let said = Command::new(program).arg(word).stderr(Stdio::null()).output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let mut numbers = said.split_whitespace();
    let (points, links, ms) = (numbers.next()?, numbers.next()?, numbers.next()?);
    Some((points.parse().ok()?, links.parse().ok().filter(|links| *links > 0)?, ms.parse().ok()?))
}

fn compiled() -> Option<PathBuf> {
    let program = std::env::temp_dir().join(format!("probescope-detach-{}", std::process::id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/c/detach.c");
    Command::new("cc").args(["-O2", "-o"]).arg(&program).arg(source).status().ok()?.success().then_some(program)
}

/// Starts a command and waits until it is attached.
fn attached(words: &[&str]) -> Option<Child> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_probescope"))
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut errors = BufReader::new(child.stderr.take()?).lines();
    let attached = errors.by_ref().map_while(Result::ok).any(|line| line.starts_with("Attached "));
    // Read to its end, so that nobody waits for room.
    std::thread::spawn(move || errors.for_each(drop));
    if attached {
        return Some(child);
    }
    let _ = child.wait();
    None
}

/// Whether a process that detaches for one that has ended is there.
fn detaches() -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    processes
        .flatten()
        .any(|p| std::fs::read_to_string(p.path().join("comm")).is_ok_and(|comm| comm.trim() == "psc-detach"))
}

/// Ends a command: ms to its end, and until all is detached.
fn end(mut child: Child, twice: bool) -> Option<(f64, f64)> {
    std::thread::sleep(RUNS);
    let pid = Pid::from_child(&child);
    let mut began = Instant::now();
    kill_process(pid, Signal::INT).ok()?;
    if twice {
        std::thread::sleep(SECOND);
        began = Instant::now();
        let _ = kill_process(pid, Signal::INT);
    }
    child.wait().ok()?;
    let prompt = began.elapsed();
    while detaches() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    Some((prompt.as_secs_f64() * 1e3, began.elapsed().as_secs_f64() * 1e3))
}

/// Prints the table.
pub fn table() {
    println!("ends: from Ctrl-C to the prompt (1000 ms wanted natively), and until the kernel has detached all");
    let program = compiled();
    for (name, words, peer) in ROWS {
        let Some((prompt, all)) = attached(words).and_then(|child| end(child, false)) else {
            println!("  {name}: can't be had here");
            continue;
        };
        let second = attached(words).and_then(|child| end(child, true)).map_or(f64::NAN, |(prompt, _)| prompt);
        print!("  {name}: prompt {prompt:.0} ms, detached {all:.0} ms; a second Ctrl-C: {second:.0} ms");
        match program.as_deref().zip(peer).and_then(|(program, word)| bare(program, word)) {
            Some((points, links, ms)) => println!(
                "; bare C, {points} points by {links} links: {ms:.0} ms, prompt/bare {:.2}, detached/bare {:.2} (1.5 wanted)",
                prompt / ms,
                all / ms
            ),
            None => println!(),
        }
    }
    if let Some(program) = program {
        let _ = std::fs::remove_file(program);
    }
}
