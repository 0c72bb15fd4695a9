//! Commands that answer a question of their own.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::answer::Seen;
use crate::row::Claim::By;
use crate::row::{Row, Subject};

pub const ROWS: &[Row] = &[
    Row::new(
        Subject::Command("xray"),
        "$ @SELF@ workload step 500",
        "the program: 500 calls",
        &[By(|seen| {
            let rows = seen.value.as_array().cloned().unwrap_or_default();
            let row =
                rows.iter().find(|r| r.to_string().contains("probescope_workload_step")).ok_or("it has no row")?;
            let number = |name: &str| row[name].as_f64().ok_or_else(|| format!("no {name}: {row}"));
            if (number("calls")? - 500.0).abs() > 0.5 {
                return Err(format!("500 calls were made: {row}"));
            }
            // Percentiles are the bucket that they lie in.
            let from = |name: &str| row[name]["from"].as_f64().ok_or_else(|| format!("no {name}: {row}"));
            let (p50, p99, max) = (from("p50_ns")?, from("p99_ns")?, number("max_ns")?);
            if p50 <= p99 && p99 <= max { Ok(()) } else { Err(format!("p50 {p50}, p99 {p99}, max {max}")) }
        })],
    )
    .options(&["xray", "uprobe:@SELF@:probescope_workload_step", "--json", "--budget", "50%", "-c", "@LOAD@"]),
    Row::new(
        Subject::Command("why-failed"),
        "errors",
        "the load's own counts",
        &[By(|seen| {
            let failures = seen
                .lines
                .iter()
                .filter(|l| l.contains("\"syscall\":\"mkdir\"") && l.starts_with('{') && !l.contains("\"inner\""))
                .count();
            let truth = seen.truth("mkdir.EEXIST")?;
            if (failures as f64 - truth).abs() < 0.5 {
                Ok(())
            } else {
                Err(format!("{failures} failures, {truth} were made"))
            }
        })],
    )
    .options(&["why-failed", "--json", "-n", "mkdir", "-e", "EEXIST", "-c", "@LOAD@"])
    .needs_also(&["kprobe", "btf"]),
    Row::new(
        Subject::Command("follow"),
        "$ cat /etc/passwd >/dev/null",
        "the program: it opens, reads and closes this file",
        &[By(|seen| {
            for function in ["do_dentry_open", "vfs_read", "__fput"] {
                if !seen.lines.iter().any(|line| line.contains(function)) {
                    return Err(format!("{function} is not told in {} lines", seen.lines.len()));
                }
            }
            Ok(())
        })],
    )
    .options(&[
        "follow",
        "file",
        "--json",
        "--filter",
        "str($o->f_path.dentry->d_name.name) == \"passwd\"",
        "-c",
        "@LOAD@",
    ])
    .needs_also(&["kprobe", "btf"]),
    Row::new(
        Subject::Command("latency task"),
        "$ exec sleep 8",
        "the program: it sleeps all the time",
        &[By(|seen| shares(seen, |parts, wall| parts[SLEEPING] > 0.97 * wall))],
    )
    .options(&["latency", "task", "-p", "@PID@", "-d", "1s", "--json"]),
    Row::new(
        Subject::Command("latency task"),
        "$ exec /usr/bin/python3 -c 'import time\nend = time.time() + 8\nwhile time.time() < end: pass'",
        "the program: it never sleeps",
        &[By(|seen| {
            shares(seen, |parts, wall| {
                parts[SLEEPING] < 0.01 * wall && parts[RUNNING] > 0.0 && parts[RUNNING] + parts[PREEMPTED] > 0.9 * wall
            })
        })],
    )
    .bound("How much of the time it runs is the machine's matter: it runs, or others run in its place.")
    .options(&["latency", "task", "-p", "@PID@", "-d", "1s", "--json"]),
    Row::new(Subject::Command("latency osnoise"), "", "rtla; injected noise; the kernel's tracer, side by side", &[])
        .elsewhere("tests/latency/injected.rs", "fn each_timer_of_a_thread_is_a_timer_and_a_run"),
    Row::new(Subject::Command("latency timerlat"), "", "the kernel's tracer, side by side; cyclictest", &[])
        .elsewhere("tests/latency/tracers.rs", "fn the_timers_of_timerlat_are_as_late_for_our_programs_as_for_itself"),
    Row::new(Subject::Command("latency hwnoise"), "", "a machine that its monitor pauses", &[])
        .elsewhere("tests/latency/monitored.rs", "fn a_paused_machine_is_noise_of_the_hardware"),
    Row::new(Subject::Command("latency selftest"), "", "it compares itself what it made with what it measured", &[])
        .elsewhere("src/cli/latency/selftest.rs", "fn "),
    Row::new(
        Subject::Command("programs"),
        "$ true",
        "bpftool prog show",
        &[By(|seen| listed(seen, "programs", &["prog", "show"]))],
    )
    .options(&["programs", "--json", "-i", "0.1"])
    .bound("Others come and go: what bpftool lists before and after.")
    .needs_also(&["tool:bpftool"]),
    Row::new(
        Subject::Command("maps"),
        "$ true",
        "bpftool map show",
        &[By(|seen| listed(seen, "maps", &["map", "show"]))],
    )
    .options(&["maps", "--json"])
    .bound("Others come and go: what bpftool lists before and after.")
    .needs_also(&["tool:bpftool"]),
];

/// The place of sleeping among the parts of a thread's time.
const SLEEPING: usize = 4;
/// Of running, and of waiting while others run.
const RUNNING: usize = 1;
const PREEMPTED: usize = 9;

/// The parts of a thread's time add up to its time, and are as they should.
fn shares(seen: &Seen, fits: fn(&[f64], f64) -> bool) -> Result<(), String> {
    let thread = &seen.value["threads"][0];
    let parts: Vec<f64> = thread["parts"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    let wall = thread["wall_ns"].as_f64().ok_or_else(|| format!("no thread: {}", seen.value))?;
    if (parts.iter().sum::<f64>() - wall).abs() > 1.0 {
        return Err(format!("the parts are no whole: {thread}"));
    }
    if fits(&parts, wall) { Ok(()) } else { Err(format!("{thread}")) }
}

/// A trace runs meanwhile: its programs and maps are listed by both.
fn listed(_: &Seen, command: &str, theirs: &[&str]) -> Result<(), String> {
    let trace = "interval:s:100 { @witness = count(); @keys[pid] = count(); }";
    let mut trace = Command::new(crate::session::program())
        .args(["run", "-q", "-e", trace])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let answer = crate::session::wait_for("the trace's maps", || {
        ids("bpftool", &["-j", "map", "show"]).is_ok_and(|ids| !ids.is_empty())
    })
    .and_then(|()| {
        std::thread::sleep(std::time::Duration::from_millis(300));
        let theirs: Vec<&str> = std::iter::once("-j").chain(theirs.iter().copied()).collect();
        let before = ids("bpftool", &theirs)?;
        let ours = ids(&crate::session::program(), &[command, "--json"])?;
        let after = ids("bpftool", &theirs)?;
        let lacking: Vec<u64> = before.intersection(&after).filter(|id| !ours.contains(id)).copied().collect();
        let too_many: Vec<u64> = ours
            .iter()
            .filter(|id| {
                after.iter().max().is_some_and(|last| *id <= last) && !before.contains(id) && !after.contains(id)
            })
            .copied()
            .collect();
        if lacking.is_empty() && too_many.is_empty() && !before.is_empty() {
            Ok(())
        } else {
            Err(format!("not listed: {lacking:?}; listed alone: {too_many:?}; bpftool before: {before:?}"))
        }
    });
    let _ = trace.kill();
    let _ = trace.wait();
    answer
}

fn ids(program: &str, words: &[&str]) -> Result<BTreeSet<u64>, String> {
    let output = Command::new(program).args(words).output().map_err(|e| format!("{program}: {e}"))?;
    let value: Value = serde_json::from_slice(&output.stdout).map_err(|e| format!("{program}: {e}"))?;
    Ok(value.as_array().into_iter().flatten().filter_map(|row| row["id"].as_u64()).collect())
}
