//! Kernel time per firing, by the kernel's own statistics, net of an empty program.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use libbpf_rs::ObjectBuilder;
use libbpf_rs::query::ProgInfoIter;

use super::rows::{ROWS, Row};
use super::tool::Tool;

const CALLS: &str = "400000";
const ROUNDS: usize = 5;

/// `workload N`: getppid(2) N times.
pub fn workload(words: &[String]) {
    let calls: u64 = words.first().and_then(|w| w.parse().ok()).unwrap_or(1000);
    let mut sum = 0_u64;
    for _ in 0..calls {
        sum = sum.wrapping_add(u64::from(std::os::unix::process::parent_id()));
    }
    std::hint::black_box(sum);
}

/// Runs this binary's workload in a process of its own.
pub fn run_workload(calls: &str) {
    let me = std::env::current_exe().expect("own path");
    let _ = Command::new(me).args(["workload", calls]).stdout(Stdio::null()).status();
}

fn programs() -> Vec<(u32, u64, u64)> {
    ProgInfoIter::default().map(|p| (p.id, p.run_cnt, p.run_time_ns)).collect()
}

/// ns per workload call, summed over the programs that are not in `before`.
fn measure(before: &BTreeSet<u32>) -> Option<f64> {
    let calls: f64 = CALLS.parse().ok()?;
    let sample = || -> Vec<_> { programs().into_iter().filter(|p| !before.contains(&p.0)).collect() };
    run_workload("20000");
    let start = sample();
    run_workload(CALLS);
    let mut total = 0.0;
    for (id, runs, ns) in sample() {
        let (runs0, ns0) = start.iter().find(|p| p.0 == id).map_or((0, 0), |p| (p.1, p.2));
        let runs = (runs - runs0) as f64;
        if runs > calls / 2.0 {
            total += (ns - ns0) as f64 / runs;
        }
    }
    (total > 0.0).then_some(total)
}

fn ids() -> BTreeSet<u32> {
    programs().into_iter().map(|p| p.0).collect()
}

fn of_tool(tool: &Tool, script: &str) -> Option<f64> {
    let before = ids();
    let running = tool.start(script)?;
    // `ready` comes before the other probes are attached: wait until a run is counted.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        run_workload("2000");
        if programs().iter().any(|p| !before.contains(&p.0) && p.1 >= 1000) {
            break;
        }
        if std::time::Instant::now() > deadline {
            let _ = running.stop();
            return None;
        }
    }
    let result = measure(&before);
    let _ = running.stop();
    result
}

fn of_c(name: &str) -> Option<f64> {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("benches/c/{name}.bpf.c"));
    let object = std::env::temp_dir().join(format!("probescope-yardstick-{}-{name}.o", std::process::id()));
    let built = Command::new("clang")
        .args(["-O2", "-g", "-target", "bpf", "-c"])
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .stderr(Stdio::null())
        .status()
        .ok()?
        .success();
    let bytes = std::fs::read(&object).ok();
    let _ = std::fs::remove_file(&object);
    let bytes = bytes.filter(|_| built)?;
    let before = ids();
    let object = ObjectBuilder::default().open_memory(&bytes).ok()?.load().ok()?;
    let links: Vec<_> = object.progs_mut().filter_map(|p| p.attach().ok()).collect();
    if links.is_empty() {
        return None;
    }
    measure(&before)
}

fn show(value: Option<f64>) -> String {
    value.map_or_else(|| "      -".into(), |v| format!("{v:7.1}"))
}

fn ratio(a: Option<f64>, b: Option<f64>) -> String {
    match (a, b) {
        (Some(a), Some(b)) if b > 0.0 => format!("{:7.2}", a / b),
        _ => "      -".into(),
    }
}

/// The lower of two measurements.
fn lower(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).min_by(f64::total_cmp)
}

/// Best ns of ours, the peer's and C's. They take turns, so that a busy moment of the machine hits all.
fn measure_row(row: &Row, ours: &Tool, peer: Option<&Tool>) -> [Option<f64>; 3] {
    let mut best = [None; 3];
    for _ in 0..ROUNDS {
        let now = [of_tool(ours, row.script), peer.and_then(|p| of_tool(p, row.script)), row.c.and_then(of_c)];
        best = std::array::from_fn(|i| lower(best[i], now[i]));
    }
    best
}

/// Prints the whole table.
pub fn table(ours: &Tool, peer: Option<&Tool>) {
    println!("\nkernel ns per firing, net of an empty program (best of {ROUNDS} rounds of {CALLS} calls)");
    // Held by a descriptor, they end with this process however it ends.
    let _statistics = match probescope::engine::enable_run_statistics() {
        Ok(held) => held,
        Err(e) => return println!("  left out: the kernel's run-time statistics can't be turned on: {e}"),
    };
    let nothing = Row { script: "tracepoint:syscalls:sys_enter_getppid { }", c: None };
    let [empty, ..] = measure_row(&nothing, ours, None);
    let empty = empty.unwrap_or(0.0);
    println!("  an empty program reads {empty:.1} ns, subtracted once for each program of a script below");
    println!("  {:>7} {:>7} {:>7} {:>7} {:>7}", "ours", "peer", "C", "/peer", "/C");
    let mut logs = Vec::new();
    for row in ROWS {
        let Row { script, .. } = row;
        let programs = script.matches("tracepoint:").count() as f64;
        let net = |v: f64| (v - programs * empty).max(0.1);
        let [mine, theirs, hand] = measure_row(row, ours, peer).map(|v| v.map(net));
        if let (Some(m), Some(t)) = (mine, theirs) {
            logs.push((m / t).ln());
        }
        println!(
            "  {} {} {} {} {}  {script}",
            show(mine),
            show(theirs),
            show(hand),
            ratio(mine, theirs),
            ratio(mine, hand)
        );
    }
    if !logs.is_empty() {
        let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        println!("  geometric mean of ours / peer over {} scripts: {mean:.2}", logs.len());
    }
}
