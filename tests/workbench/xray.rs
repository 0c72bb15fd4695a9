//! X-rays of functions, and hits of probes that are counted before anything is attached for real.
//!
//! Needs root; without it every test says so and passes.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::root;
use crate::skip::skip;
use crate::tmux::cannot_trace;
use probescope::kernel::{Kernel, Roots};
use probescope::session::hits;

fn can_trace() -> bool {
    if root::missing() {
        return false;
    }
    if let Some(reason) = cannot_trace() {
        skip(reason);
        return false;
    }
    true
}

#[test]
fn every_function_of_a_pattern_has_a_row() {
    if !can_trace() {
        return;
    }
    let xray = |arguments: &[&str]| {
        let command = ["xray", "uprobe:libc:str*", "-c", "ls -d /proc/no-such-file", "--budget", "50%"];
        let output = Command::new(env!("CARGO_BIN_EXE_probescope")).args(command).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let rows: serde_json::Value = serde_json::from_str(&xray(&["--json", "--sort", "calls"])).unwrap();
    let rows = rows.as_array().unwrap();
    assert!(!rows.is_empty());
    let calls: Vec<u64> = rows.iter().map(|row| row["calls"].as_u64().unwrap()).collect();
    assert!(calls.is_sorted_by(|a, b| a >= b), "{calls:?}");
    for row in rows {
        assert!(row["function"].as_str().unwrap().starts_with("str"), "{row}");
        assert!(row["timed"].as_u64() <= row["calls"].as_u64(), "{row}");
        assert!(row["max_ns"].is_null() || row["max_ns"].as_u64() >= row["p50_ns"]["from"].as_u64(), "{row}");
    }
    assert!(xray(&["--script"]).contains("uretprobe:libc:str*\n{\n    @ns[func] = hist(latency, 3);"));
}

#[test]
fn hits_are_counted_beforehand() {
    if !can_trace() {
        return;
    }
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    let probes = ["tracepoint:sched:sched_switch", "tracepoint:syscalls:sys_enter_reboot"].map(Arc::from);
    let counts = hits::count(&probes, Duration::from_millis(300), &kernel).unwrap();
    assert!(counts[0] > 0 && counts[1] == 0, "{counts:?}");
    let refused = hits::count(&["tracepoint:no:such".into()], Duration::from_millis(10), &kernel);
    assert!(refused.is_err_and(|e| e.to_string().contains("can't be counted")));
}
