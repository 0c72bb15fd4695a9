//! BPF programs and maps of the whole system: what the kernel tells of programs that this test has loaded.
//!
//! Needs root; without it every test says so and passes.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::root;
use crate::skip::skip;
use crate::tmux::cannot_trace;
use probescope::engine::inventory::{InventoryReader, contents, listing};
use probescope::kernel::{Kernel, Roots};
use probescope::model::bpf::{BpfProgram, Inventory};

/// A trace in a process of its own, ended when dropped.
struct Traced(Child);

impl Traced {
    fn run(script: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probescope"));
        Self(command.args(["run", "-e", script]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn reader() -> Option<InventoryReader> {
    if root::missing() {
        return None;
    }
    if let Some(reason) = cannot_trace() {
        skip(reason);
        return None;
    }
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    Some(InventoryReader::new(kernel).unwrap())
}

/// Reads until a process has attached and run a program, and gives the reading before, too.
fn until_it_runs(reader: &mut InventoryReader, pid: u32) -> (Inventory, Inventory, BpfProgram) {
    let start = Instant::now();
    let mut before = reader.read().unwrap();
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = reader.read().unwrap();
        let holds = |p: &&BpfProgram| p.holders.iter().any(|h| h.pid == pid);
        let runs = |p: &&BpfProgram| now.rate(&before, p.id).is_some_and(|r| r.events_per_second > 0.0);
        let found = now.programs.iter().filter(holds).find(runs).cloned();
        if let Some(program) = found {
            return (before, now, program);
        }
        assert!(start.elapsed() < Duration::from_secs(60), "its program never ran: {:?}", now.programs);
        before = now;
    }
}

#[test]
fn a_program_is_listed_with_its_holder_its_place_its_runs_and_its_lines() {
    let Some(mut reader) = reader() else { return };
    let traced = Traced::run("tracepoint:raw_syscalls:sys_enter { @calls[tid] = nsecs; }");
    let pid = traced.0.id();
    let (_, now, program) = until_it_runs(&mut reader, pid);
    assert_eq!(now.uncounted, None, "runs are counted while the reader lives");
    assert!(program.attached.iter().any(|place| place.contains("sys_enter")), "{program:?}");
    // Other readers hold it while they look at it.
    assert!(program.holders.iter().any(|h| h.pid == pid && &*h.comm == "probescope"), "{program:?}");
    let map = now.maps.iter().find(|m| program.maps.contains(&m.id) && m.name.contains("calls")).unwrap();
    assert_eq!((&*map.kind, map.key_bytes, map.value_bytes), ("hash", 8, 8));
    let entries = contents(map.id).unwrap();
    assert!(!entries.entries.is_empty());
    assert!(entries.entries.iter().all(|e| entries.key_text(e).parse::<u64>().is_ok()), "{entries:?}");
    let lines = listing(program.id).unwrap();
    assert!(lines.iter().any(|l| l.starts_with(';') && l.contains("@calls[tid] = nsecs")), "{lines:?}");
    assert!(lines.iter().any(|l| l.ends_with("exit")), "{lines:?}");
    assert!(lines.iter().any(|l| l.contains(" %") && l.contains("@calls[tid] = nsecs")), "no cost a line: {lines:?}");
    drop(traced);
    assert!(contents(u32::MAX).is_err() && listing(u32::MAX).is_err(), "what is gone is an error");
}

#[test]
fn programs_and_maps_are_listed_as_json() {
    if reader().is_none() {
        return;
    }
    let traced = Traced::run("tracepoint:raw_syscalls:sys_enter { @calls[tid] = nsecs; }");
    let mut reader = reader().unwrap();
    let (_, _, program) = until_it_runs(&mut reader, traced.0.id());
    let listed = |arguments: &[&str]| -> serde_json::Value {
        let output = Command::new(env!("CARGO_BIN_EXE_probescope")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let programs = listed(&["programs", "--json", "--interval", "0.5"]);
    let own = programs.as_array().unwrap().iter().find(|p| p["id"] == program.id).unwrap();
    assert!(own["events_per_second"].as_f64().unwrap() > 0.0, "{own}");
    let maps = listed(&["maps", "--json"]);
    let of_it = |m: &&serde_json::Value| own["maps"].as_array().unwrap().contains(&m["id"]);
    assert!(maps.as_array().unwrap().iter().filter(of_it).count() > 0);
}
