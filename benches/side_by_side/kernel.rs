//! Kernel time per firing, by the kernel's own statistics, net of an empty program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, ObjectBuilder};

use super::rows::{ROWS, Row};
use super::tool::{Running, Tool, median};

const CALLS: &str = "400000";
const CYCLES: usize = 3;
/// Below this the statistics tell nothing: a program's run is timed by two reads of a clock of whole nanoseconds.
const LEAST_NS: f64 = 0.1;
/// Two programs below this are told apart by no ratio: runs of the same program differ by that much.
const RESOLUTION_NS: f64 = 2.0;

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

/// Programs of one script, by the kernel's ids.
pub type Ids = BTreeSet<u32>;

fn ids() -> Ids {
    programs().into_iter().map(|p| p.0).collect()
}

/// Something attached that ends when it is dropped.
pub enum Attached {
    Tool(Option<Running>),
    Object { _links: Vec<Link> },
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Self::Tool(running) = self
            && let Some(running) = running.take()
        {
            let _ = running.stop();
        }
    }
}

pub fn attach_tool(tool: &Tool, script: &str) -> Option<(Attached, Ids)> {
    let before = ids();
    let running = Attached::Tool(Some(tool.start(script)?));
    // `ready` comes before the other probes are attached: wait until a run is counted.
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        run_workload("2000");
        if programs().iter().any(|p| !before.contains(&p.0) && p.1 >= 1000) {
            return Some((running, ids().difference(&before).copied().collect()));
        }
        if Instant::now() > deadline {
            return None;
        }
    }
}

fn attach_c(name: &str) -> Option<(Attached, Ids)> {
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
    let added = ids().difference(&before).copied().collect();
    (!links.is_empty()).then_some((Attached::Object { _links: links }, added))
}

/// ns a firing of each program that fires with the workload's call.
pub fn run_times() -> BTreeMap<u32, f64> {
    let calls: f64 = CALLS.parse().unwrap_or(1.0);
    run_workload("20000");
    let start = programs();
    run_workload(CALLS);
    let mut times = BTreeMap::new();
    for (id, runs, ns) in programs() {
        let (runs0, ns0) = start.iter().find(|p| p.0 == id).map_or((0, 0), |p| (p.1, p.2));
        let runs = (runs - runs0) as f64;
        if runs > calls / 2.0 {
            times.insert(id, (ns - ns0) as f64 / runs);
        }
    }
    times
}

fn show(value: Option<f64>) -> String {
    value.map_or_else(|| "      -".into(), |v| format!("{v:7.1}"))
}

fn ratio(a: Option<f64>, b: Option<f64>) -> String {
    match (a, b) {
        (Some(a), Some(b)) if a < RESOLUTION_NS && b < RESOLUTION_NS => format!("  <{RESOLUTION_NS:.0} ns"),
        (Some(a), Some(b)) if b > 0.0 => format!("{:7.2}", a / b),
        _ => "      -".into(),
    }
}

/// What each contender's programs take beyond the empty program `floor`, ns a call, in one run of the workload.
///
/// All are attached at once: what the machine does to one, it does to all. Who is attached first runs first in each
/// firing, so `turn` changes it.
fn measure_once(row: &Row, tools: [Option<&Tool>; 2], floor: u32, turn: usize) -> [Option<f64>; 3] {
    let mut attached = [const { None }; 3];
    for place in 0..attached.len() {
        let who = (place + turn) % attached.len();
        attached[who] = match tools.get(who) {
            Some(tool) => tool.and_then(|t| attach_tool(t, row.script)),
            None => row.c.and_then(attach_c),
        };
    }
    let times = run_times();
    let Some(empty) = times.get(&floor) else { return [None; 3] };
    attached.each_ref().map(|contender| {
        let (_, ids) = contender.as_ref()?;
        let own: Vec<f64> = ids.iter().filter_map(|id| times.get(id)).map(|ns| ns - empty).collect();
        (!own.is_empty()).then(|| own.iter().sum())
    })
}

/// Net ns of ours, the peer's and C's: the median of cycles in which each was attached first, second and third once.
/// The first one finds the caches colder, by 100 ns where the stack is walked.
fn measure_row(row: &Row, tools: [Option<&Tool>; 2], floor: u32) -> [Option<f64>; 3] {
    let cycles: Vec<_> = (0..CYCLES).map(|_| [0, 1, 2].map(|turn| measure_once(row, tools, floor, turn))).collect();
    std::array::from_fn(|who| {
        let mean = |turns: &[[Option<f64>; 3]; 3]| Some((turns[0][who]? + turns[1][who]? + turns[2][who]?) / 3.0);
        let values: Vec<f64> = cycles.iter().filter_map(mean).collect();
        (!values.is_empty()).then(|| median(values).max(LEAST_NS))
    })
}

/// Prints the whole table.
pub fn table(ours: &Tool, peer: Option<&Tool>) {
    println!(
        "\nkernel ns per firing, net of an empty program (median of {CYCLES} cycles of three rounds of {CALLS} calls)"
    );
    // Held by a descriptor, they end with this process however it ends.
    let _statistics = match probescope::engine::enable_run_statistics() {
        Ok(held) => held,
        Err(e) => return println!("  left out: the kernel's run-time statistics can't be turned on: {e}"),
    };
    let Some((_empty, floor)) = attach_c("empty") else {
        return println!("  left out: clang is needed for the empty program that is subtracted");
    };
    let Some(floor) = floor.first().copied() else { return };
    println!(
        "  all attached at once; an empty program beside them reads {:.1} ns",
        run_times().get(&floor).unwrap_or(&0.0)
    );
    println!("  {:>7} {:>7} {:>7} {:>7} {:>7}", "ours", "peer", "C", "/peer", "/C");
    let mut logs = Vec::new();
    for row in ROWS {
        let Row { script, .. } = row;
        let [mine, theirs, hand] = measure_row(row, [Some(ours), peer], floor);
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
