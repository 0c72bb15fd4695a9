//! The kernel's own tracing: what it tells is what happened, and what it changes is as before once it has ended, however it
//! did.

use std::process::{Child, Command, Output, Stdio};

use probescope::kernel::Kernel;

use super::left::{await_change, changes, state};
use super::{kernel, skip, text};

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_probescope")).arg("ftrace").args(words).output().unwrap()
}

fn start(words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probescope"));
    command.arg("ftrace").args(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn has(kernel: &Kernel, file: &str, word: &str) -> bool {
    let path = kernel.tracefs().map(|tracefs| tracefs.join(file)).unwrap_or_default();
    std::fs::read_to_string(path).is_ok_and(|text| text.split_whitespace().any(|found| found == word))
}

/// Ways to trace, of those that this kernel has.
fn traces(kernel: &Kernel) -> Vec<Vec<&'static str>> {
    let mut all = vec![
        vec![
            "events",
            "-e",
            "sched:sched_switch",
            "--filter",
            "prev_pid > 0",
            "--trigger",
            "traceoff if prev_pid == 1",
            "-k",
        ],
        vec!["record", "-e", "sched", "-o", "/dev/null"],
    ];
    if has(kernel, "available_tracers", "function_graph") {
        all.push(vec!["graph", "vfs_read", "--depth", "3"]);
        all.push(vec!["graph", "vfs_*", "--only", "--args"]);
    }
    if has(kernel, "README", "hist") {
        all.push(vec!["hist", "--preset", "wakeup-latency"]);
    }
    if kernel.tracefs().is_ok_and(|tracefs| tracefs.join("kprobe_events").exists()) {
        all.push(vec!["events", "-D", "p vfs_read", "-D", "r vfs_read ret=$retval"]);
    }
    all
}

#[test]
fn a_trace_that_ends_leaves_all_as_it_was() {
    let Some((kernel, _alone)) = kernel() else { return };
    for words in traces(&kernel) {
        let before = state(&kernel);
        let mut child = start(&words);
        await_change(&kernel, &before, &mut child);
        // Until it has set up everything.
        std::thread::sleep(std::time::Duration::from_millis(300));
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let status = child.wait().unwrap();
        assert!(matches!(status.code(), Some(0 | 3)), "{words:?}: {status}");
        assert_eq!(changes(&before, &state(&kernel)), Vec::<String>::new(), "{words:?}");
    }
}

#[test]
fn what_a_killed_trace_changed_is_restored_by_the_next_start() {
    let Some((kernel, _alone)) = kernel() else { return };
    // Killed at once, and once it runs.
    for wait in [0, 20, 400] {
        for words in traces(&kernel) {
            let before = state(&kernel);
            let mut child = start(&words);
            await_change(&kernel, &before, &mut child);
            std::thread::sleep(std::time::Duration::from_millis(wait));
            child.kill().unwrap();
            child.wait().unwrap();
            let next = run(&["events", "--list", "sched:sched_switch"]);
            assert!(next.status.success(), "{}", text(&next));
            assert_eq!(changes(&before, &state(&kernel)), Vec::<String>::new(), "{words:?}: {}", text(&next));
        }
    }
}

#[test]
fn a_commands_calls_are_told_one_by_one() {
    let Some((kernel, _alone)) = kernel() else { return };
    if kernel.tracepoint("syscalls", "sys_enter_getppid").is_err() {
        skip::skip("no events of system calls");
        return;
    }
    let script = "import os\nfor n in range(5000): os.getppid()";
    let told = run(&["events", "-e", "syscalls:sys_enter_getppid", "-f", "json", "--", "python3", "-c", script]);
    assert!(told.status.success(), "{}", text(&told));
    let lines = String::from_utf8_lossy(&told.stdout);
    let events: Vec<serde_json::Value> =
        lines.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut calls: Vec<&serde_json::Value> =
        events.iter().filter(|event| event["data"]["event"] == "syscalls:sys_enter_getppid").collect();
    // `python3` may be a script whose shell becomes the interpreter, after some such calls of its own.
    let last = calls.last().map(|call| call["data"]["pid"].clone());
    calls.retain(|call| Some(&call["data"]["pid"]) == last.as_ref());
    assert!((5000..5020).contains(&calls.len()), "{} calls", calls.len());
    let times: Vec<u64> = calls.iter().map(|call| call["data"]["time_ns"].as_u64().unwrap()).collect();
    assert!(times.is_sorted(), "they come in the order of time");
}

#[test]
fn what_the_kernel_refuses_is_shown_at_its_column_and_nothing_is_left() {
    let Some((kernel, _alone)) = kernel() else { return };
    let before = state(&kernel);
    let refused = run(&["events", "-e", "sched:sched_switch", "--filter", "prev_pid > 0 && nowhere == 2", "-d", "1s"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].contains("the filter of sched:sched_switch"), "{said}");
    let column = lines[1].find("nowhere").unwrap();
    let caret = lines[2].find('^').unwrap();
    // Kernels put it at the field's begin, behind it, or behind the blank that follows.
    assert!((column..=column + "nowhere ".len()).contains(&caret), "{said}");
    assert_eq!(changes(&before, &state(&kernel)), Vec::<String>::new());
}
