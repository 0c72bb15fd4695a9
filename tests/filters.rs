//! `-p`: what is said of a process with it is what an unlimited trace says of that process.
//!
//! A load waits for a line, does a number of things that is known, and ends. Both traces see the same run of it.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(missing_docs, reason = "a test")]

#[path = "support/skip.rs"]
mod skip;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const LOAD: &str = r#"
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int there[2], back[2];
__attribute__((noinline)) void step(int i) { __asm__ volatile("" : : "r"(i) : "memory"); }
static void wait_for_line(void) { char c; while (read(0, &c, 1) == 1 && c != '\n') {} }

static void *answer(void *unused) {
    char c;
    while (read(there[0], &c, 1) == 1) write(back[1], &c, 1);
    return unused;
}
static void *nap(void *unused) { usleep(2000); return unused; }
static void *go_on(void *unused) {
    wait_for_line();
    for (int i = 0; i < 60; i++) { step(i); usleep(1000); }
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (!strcmp(argv[1], "headless")) {
        pthread_create(&thread, 0, go_on, 0);
        pthread_exit(0);
    }
    if (!strcmp(argv[1], "loses-its-head")) {
        wait_for_line();
        pthread_create(&thread, 0, go_on, 0);
        pthread_exit(0);
    }
    if (!strcmp(argv[1], "make")) {
        wait_for_line();
        for (int i = 0; i < 5; i++) { pthread_create(&thread, 0, nap, 0); pthread_join(thread, 0); }
    }
    if (!strcmp(argv[1], "sleep")) {
        wait_for_line();
        for (int i = 0; i < 20; i++) poll(0, 0, 15);
    }
    if (!strcmp(argv[1], "wake")) {
        pipe(there); pipe(back);
        pthread_create(&thread, 0, answer, 0);
        wait_for_line();
        for (char i = 0; i < 50; i++) { char c; write(there[1], &i, 1); read(back[0], &c, 1); }
        close(there[1]);
        pthread_join(thread, 0);
    }
    return 0;
}
"#;

/// The load, built for one test; none where nothing can be traced, or no compiler is there.
fn load(name: &str) -> Option<PathBuf> {
    if !rustix::process::geteuid().is_root() || !Path::new("/sys/kernel/btf/vmlinux").exists() {
        skip::skip("root and BTF are needed");
        return None;
    }
    let folder = std::env::temp_dir().join(format!("probescope-filters-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("load.c"), LOAD).unwrap();
    let load = folder.join("load");
    let made = Command::new("cc").args(["-O1", "-w", "-pthread", "-o"]).arg(&load).arg(folder.join("load.c")).status();
    if made.is_ok_and(|status| status.success()) {
        return Some(load);
    }
    skip::skip("cc is needed");
    None
}

/// A trace that has said that it is attached.
fn trace(words: &[String]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probescope"));
    command.arg("run").args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Byte by byte: what stands behind is read at the end.
    let (mut said, mut byte) = (Vec::new(), [0]);
    let stderr = child.stderr.as_mut().unwrap();
    while !String::from_utf8_lossy(&said).contains("Attached ") {
        assert!(stderr.read(&mut byte).unwrap() == 1, "{words:?}: {}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
    child
}

/// What a trace printed and said, and its exit code.
struct Told {
    text: String,
    said: String,
    code: Option<i32>,
}

fn told(child: Child) -> Told {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Told { text: text(&output.stdout), said: text(&output.stderr), code: output.status.code() }
}

fn main_thread_has_ended(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ")
}

/// What traces tell of one run of a load; `PID` in their words is its number.
fn run(load: &Path, words: &[&str], traces: &[&[&str]]) -> Vec<Told> {
    let mut child = Command::new(load).args(words).stdin(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    while words[0] == "headless" && !main_thread_has_ended(pid) {
        std::thread::yield_now();
    }
    let own = |trace: &&[&str]| trace.iter().map(|word| word.replace("PID", &pid.to_string())).collect::<Vec<_>>();
    let traces: Vec<Child> = traces.iter().map(|words| trace(&own(words))).collect();
    if words[0] == "loses-its-head" {
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        while !main_thread_has_ended(pid) {
            std::thread::yield_now();
        }
        // The tracer looks four times a second; a loaded machine gets its time.
        std::thread::sleep(Duration::from_secs(2));
    }
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child.wait().unwrap();
    traces.into_iter().map(told).collect()
}

/// With `-p`, and without it under a condition of its own, which ends with the process, too.
fn agree(load: &Path, words: &[&str], limited: &str, unlimited: &str) -> String {
    let unlimited = format!("{unlimited} tracepoint:sched:sched_process_free /args.pid == PID/ {{ exit(); }}");
    let found = run(load, words, &[&["-p", "PID", "-e", limited], &["-e", &unlimited]]);
    assert_eq!(found[0].text, found[1].text, "{limited}\n{}\n{unlimited}\n{}", found[0].said, found[1].said);
    assert!(!found[0].text.is_empty(), "{limited}: {}", found[0].said);
    found[0].text.clone()
}

#[test]
fn an_event_is_about_the_thread_that_it_names() {
    let Some(load) = load("named") else { return };
    // The woken, whoever wakes it: one thread, so that its number is the process's.
    let woken = "tracepoint:sched:sched_waking /args.pid == PID/ { @ = count(); }";
    agree(&load, &["sleep"], "tracepoint:sched:sched_waking { @ = count(); }", woken);
    // Who leaves and who comes, each counted for itself.
    let both =
        "tracepoint:sched:sched_switch { @left[args.prev_comm] = count(); $n = args.next_comm; @came[$n] = count(); }";
    let apart = "tracepoint:sched:sched_switch /args.prev_pid == PID/ { @left[args.prev_comm] = count(); } \
                 tracepoint:sched:sched_switch /args.next_pid == PID/ { @came[args.next_comm] = count(); }";
    let text = agree(&load, &["sleep"], both, apart);
    assert!(text.contains("@left[load]") && text.contains("@came[load]"), "{text}");
    // All its threads, by numbers and by what the kernel knows of each; the semantic probe means the same.
    let raw = "rawtracepoint:sched_wakeup /args.p->tgid == PID/ { @ = count(); }";
    agree(&load, &["wake"], "tracepoint:sched:sched_wakeup { @ = count(); }", raw);
    agree(&load, &["wake"], "sched:wakeup { @ = count(); }", raw);
    // A thread that comes while it is traced, of the process, and its maker.
    let made = "rawtracepoint:sched_process_fork /args.parent->tgid == PID/ { @[args.child->comm] = count(); }";
    agree(&load, &["make"], "rawtracepoint:sched_process_fork { @[args.child->comm] = count(); }", made);
    let woken = "rawtracepoint:sched_waking /args.p->tgid == PID/ { @ = count(); }";
    agree(&load, &["make"], "tracepoint:sched:sched_waking { @ = count(); }", woken);
}

#[test]
fn time_off_the_processor_is_that_of_the_process() {
    let Some(load) = load("offcpu") else { return };
    let found = run(&load, &["sleep"], &[&["-p", "PID", "offcputime"], &["offcputime", "--", "-p", "PID"]]);
    for Told { text, said, code } in &found {
        let sums = text.lines().filter_map(|line| line.strip_prefix("]: ")?.parse::<u64>().ok());
        // 20 sleeps of 15 ms.
        assert!(sums.sum::<u64>() >= 300_000, "{text}{said}");
        let others = text.lines().filter(|line| line.starts_with("@us[") && !line.starts_with("@us[load,"));
        assert_eq!((others.count(), *code), (0, Some(0)), "{text}");
    }
}

#[test]
fn a_process_goes_on_without_its_first_thread() {
    let Some(load) = load("headless") else { return };
    let script = format!("uprobe:{}:step {{ @ = count(); }}", load.display());
    let found = run(&load, &["headless"], &[&["-p", "PID", "-e", &script]]);
    assert_eq!((&*found[0].text, found[0].code), ("@: 60", Some(0)), "{}", found[0].said);
    // It ends while it is traced: that is said, and the trace goes on.
    let found = run(&load, &["loses-its-head"], &[&["-p", "PID", "-e", &script]]);
    assert_eq!((&*found[0].text, found[0].code), ("@: 60", Some(3)), "{}", found[0].said);
    assert!(found[0].said.contains("first thread has ended"), "{}", found[0].said);
}

fn refused(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_probescope")).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
    said
}

#[test]
fn what_is_about_nobody_is_refused_with_what_to_do_instead() {
    for script in ["softirqs", "hardirqs", "wakeups", "netbytes"] {
        let said = refused(&["check", script, "--", "-p", "1"]);
        let absent = ["no such", "tracefs", "does not exist"].iter().any(|why| said.contains(why));
        assert!(
            absent || said.contains("`-p` can't limit this probe") && said.contains("= help: "),
            "{script}: {said}"
        );
    }
}

#[test]
fn options_that_a_script_has_not_are_refused_with_those_that_it_has() {
    let said = refused(&["run", "offcputime", "--", "-z", "3"]);
    assert!(said.contains("unexpected program command line options: -z") && said.contains("-p PID"), "{said}");
    let said = refused(&["run", "opensnoop", "--", "-q"]);
    assert!(said.contains("options: -q") && said.contains("-n: -x") && said.contains("-p PID"), "{said}");
    let output =
        Command::new(env!("CARGO_BIN_EXE_probescope")).args(["run", "syserrors", "--", "-h"]).output().unwrap();
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(help.starts_with("syserrors: ") && help.contains("-p PID: ") && output.status.success(), "{help}");
}
