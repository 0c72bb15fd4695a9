//! Whole-process figures: start, burst, wildcards, compilation.

use std::process::Command;
use std::time::{Duration, Instant};

use super::kernel::run_workload;
use super::tool::{Tool, median};

fn line(what: &str, ours: f64, theirs: Option<f64>, unit: &str) {
    match theirs {
        Some(t) => println!("  {what}: ours {ours:.1} {unit}, peer {t:.1} {unit}, ratio {:.3}", ours / t),
        None => println!("  {what}: ours {ours:.1} {unit}"),
    }
}

fn millis(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

/// `BEGIN { exit(); }`, alternately.
pub fn startup(ours: &Tool, peer: Option<&Tool>) {
    println!("\nwhole process, BEGIN {{ exit(); }} (median of 9)");
    let script = "BEGIN { exit(); }";
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        mine.push(millis(ours.whole(script).0));
        if let Some(peer) = peer {
            theirs.push(millis(peer.whole(script).0));
        }
    }
    line("wall time", median(mine), (!theirs.is_empty()).then(|| median(theirs)), "ms");
}

/// A million events at full speed from one CPU: how many lines come out.
pub fn burst(ours: &Tool, peer: Option<&Tool>) {
    println!("\nburst of 1,000,000 printf events from one CPU: lines that came out");
    let script = "tracepoint:syscalls:sys_enter_getppid { printf(\"%d %s %d\\n\", pid, comm, nsecs); }";
    let once = |tool: &Tool| {
        let running = tool.start(script)?;
        std::thread::sleep(Duration::from_secs(1));
        let start = Instant::now();
        run_workload("1000000");
        let produced = start.elapsed();
        let (lines, ending, _) = running.stop();
        Some((lines, produced, ending))
    };
    let report = |name: &str, tool: &Tool| match once(tool) {
        Some((lines, produced, ending)) => println!(
            "  {name}: {lines} lines; produced in {:.0} ms, all out {:.0} ms after",
            millis(produced),
            millis(ending)
        ),
        None => println!("  {name}: did not start"),
    };
    report("ours", ours);
    if let Some(peer) = peer {
        report("peer", peer);
    }
}

/// Attach and detach every system call's entry.
pub fn wildcard(ours: &Tool, peer: Option<&Tool>) {
    println!("\nattach and detach tracepoint:syscalls:sys_enter_* (whole process)");
    let script = "tracepoint:syscalls:sys_enter_* { @[probe] = count(); } interval:ms:50 { exit(); }";
    let mine = millis(ours.whole(script).0);
    line("wall time", mine, peer.map(|p| millis(p.whole(script).0)), "ms");
}

/// `check` of the largest bundled scripts, whole process.
pub fn compile(ours: &Tool) {
    println!("\ncompile to an object, whole process (median of 9)");
    let _ = ours;
    for name in ["hello", "tcplife", "offcputime"] {
        let path = format!("{}/scripts/{name}.bt", env!("CARGO_MANIFEST_DIR"));
        let times = (0..9)
            .map(|_| {
                let start = Instant::now();
                let _ =
                    Command::new(env!("CARGO_BIN_EXE_probescope")).args(["compile", &path, "-o", "/dev/null"]).output();
                millis(start.elapsed())
            })
            .collect();
        println!("  {name}.bt: {:.1} ms", median(times));
    }
}
