//! What rtla's own tests ask of `rtla timerlat` and `rtla osnoise`, asked of `probescope latency`: options, exit codes,
//! lines that have to be there and lines that must not. Each case runs with our programs and, where the kernel has its
//! tracers, with those.

use std::path::PathBuf;
use std::process::Command;

use probescope::kernel::Kernel;
use probescope::tracer::latency::tracefs;
use regex::RegexBuilder;

use super::{kernel, text};

/// Which backends a case is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Both,
    Bpf,
    Tracefs,
}

use On::{Both, Bpf, Tracefs};

/// The options as a shell has them (`$OWN` is the process itself, as its actions see it), the exit code, and patterns
/// of lines: one that has to be there, one that must not; empty is none.
type Case = (On, &'static str, i32, &'static str, &'static str);

/// Prints the policy, the CPUs and the number of the measuring threads, whoever has them.
const THREADS: &str = r#"for t in /proc/$PPID/task/* /proc/[0-9]*; do c=$(cat $t/comm 2>/dev/null) || continue; case $c in timerlat/*) set -- $(cut -d' ' -f40,41 $t/stat); echo "workload policy $2 priority $1 cpus $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' $t/status)";; esac; done"#;

/// Prints the map that the action of the fixture writes.
const SEEN: &str = r"$OWN maps $($OWN maps | sed -n 's/^ *\([0-9]*\) .*action_seen.*/\1/p')";

const CASES: &[Case] = &[
    // Stacks and analysis.
    (Both, "timerlat top -s 3 -T 10 -t -q", 2, "analyzing it", ""),
    (Both, "timerlat top -i 2 -c 0 -n -q -d 30s", 2, r"Timer Latency \(ns\)", ""),
    (Both, "timerlat hist -a 5", 2, "analyzing it", ""),
    (Both, "timerlat top -a 5 --dump-tasks -q", 2, "Printing CPU tasks", ""),
    (Both, "timerlat top --aa-only 5", 2, "analyzing it", "Timer Latency"),
    (Both, "timerlat top --aa-only 2000000 -d 1s", 0, "^  Max latency was", "Timer Latency"),
    (Both, "timerlat hist -s 3 -T 10 -t --no-aa", 2, "", "analyzing it"),
    // Threads: policy 1 is SCHED_FIFO.
    (
        Bpf,
        "timerlat hist -P F:1 -c 0 -d 30s -T 1 --on-threshold shell,command=\"$THREADS\"",
        2,
        "^workload policy 1 priority 1 ",
        "",
    ),
    (
        Both,
        "timerlat hist -c 0 -d 30s -T 1 --on-threshold shell,command=\"$THREADS\"",
        2,
        "^workload .*cpus 0$",
        "cpus [^0]",
    ),
    (
        Both,
        "timerlat hist -H 0 -d 30s -T 1 --on-threshold shell,command='taskset -c -p $PPID'",
        2,
        "affinity list: 0$",
        "",
    ),
    // Histograms.
    (Both, "timerlat hist -b 1 -d 1s", 0, "^# RTLA timerlat histogram$", ""),
    (Both, "timerlat hist -E 10 -d 1s", 0, "^over:", ""),
    (Both, "timerlat hist -E 1 -d 1s", 1, "Entries must be > 10 and < 10000000$", ""),
    (Both, "timerlat hist --no-header -d 1s", 0, "^count:", "RTLA timerlat histogram"),
    (Both, "timerlat hist --with-zeros -b 100000 -E 21 -d 1s", 0, r"^2000000\s+0\s+", ""),
    (Both, "timerlat hist --no-index --with-zeros -d 1s", 0, "", "^count:"),
    (Both, "timerlat hist --no-summary -d 1s", 0, "", "^ALL:"),
    (Both, "timerlat hist --no-irq -d 1s", 0, "Thr-", "IRQ-"),
    (Both, "timerlat hist --no-irq --no-thread -d 1s", 1, "leave no column", "ALL"),
    (Both, "timerlat hist --no-thread -d 1s", 0, "IRQ-", "Thr-"),
    // Actions.
    (Both, "timerlat hist -T 2 -t", 2, "^  Saving trace to timerlat_trace.txt$", ""),
    (Both, "timerlat top -q -T 2 -t custom.txt", 2, "^  Saving trace to custom.txt$", ""),
    (Both, "timerlat hist -T 2 --on-threshold trace,file=custom.txt", 2, "^  Saving trace to custom.txt$", ""),
    (
        Both,
        "timerlat hist -T 2 --on-threshold shell,command='printf 1' --on-threshold shell,command='echo 2'",
        2,
        "^12$",
        "",
    ),
    (
        Both,
        "timerlat hist -T 2 --on-threshold shell,command='printf 1; false' --on-threshold shell,command='printf 2'",
        2,
        "^1# RTLA timerlat histogram$",
        "",
    ),
    (
        Both,
        "timerlat top -T 2 --on-threshold shell,command='printf abc; false' --on-threshold shell,command='echo defgh'",
        2,
        "^abc",
        "defgh$",
    ),
    (
        Both,
        "timerlat top -q -T 2 -d 3s --on-threshold shell,command='echo TestOutput' --on-threshold continue",
        0,
        "^TestOutput$",
        "",
    ),
    (
        Both,
        "timerlat hist -T 2 --on-threshold shell,command='if [ -f a ]; then echo 2; exit 1; else printf 1; touch a; fi' --on-threshold continue",
        2,
        "^12$",
        "^2$",
    ),
    (Both, "timerlat top -q -d 1s --on-end trace", 0, "^  Saving trace to timerlat_trace.txt$", ""),
    (Tracefs, "timerlat hist -T 2 --bpf-action action.o", 1, "BPF actions are not supported in tracefs-only mode", ""),
    (Bpf, "timerlat hist -T 2 --bpf-action $ACTION --on-threshold shell,command=\"$SEEN\"", 2, r"\.count = [1-9]", ""),
    (Bpf, "timerlat hist -T 2 --bpf-action /nowhere/action.o", 1, "/nowhere/action.o: No such file", ""),
    // osnoise.
    (Both, "osnoise top -P F:1 -c 0 -r 900000 -d 2s -q", 0, "Operating System Noise", ""),
    (Both, "osnoise top -s 30 -T 1 -q", 2, "osnoise hit stop tracing", ""),
    (Both, "osnoise hist -s 1 -T 1 -t", 2, "^  Saving trace to osnoise_trace.txt$", ""),
    (Both, "osnoise hist -P F:1 -c 0 -r 900000 -d 2s -b 10 -E 25", 0, "^count:", ""),
    (Bpf, "timerlat --no-such-option", 1, "no-such-option", ""),
];

/// A folder of its own for what a case writes.
struct Folder(PathBuf);

impl Folder {
    fn new(number: usize) -> Self {
        let path = std::env::temp_dir().join(format!("probescope-rtla-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What is wrong with how a case came out.
fn wrong(number: usize, (_, words, code, with, without): &Case, backend: &str) -> Option<String> {
    let folder = Folder::new(number);
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("exec {} latency {words} --backend {backend} 2>&1", env!("CARGO_BIN_EXE_probescope")))
        .env("THREADS", THREADS)
        .env("ACTION", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/latency/action.bpf.o"))
        .env("SEEN", SEEN)
        .env("OWN", env!("CARGO_BIN_EXE_probescope"))
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let said = text(&output);
    let has = |pattern: &str| RegexBuilder::new(pattern).multi_line(true).build().unwrap().is_match(&said);
    let right =
        output.status.code() == Some(*code) && (with.is_empty() || has(with)) && (without.is_empty() || !has(without));
    (!right).then(|| format!("{words} --backend {backend}: exit {:?}\n{said}", output.status.code()))
}

#[test]
fn options_and_exit_codes_are_rtlas() {
    let Some((kernel, _alone)) = kernel() else { return };
    let backends = backends(&kernel);
    let of = |(number, case): (usize, &'static Case)| {
        let chosen = backends.iter().filter(|backend| match case.0 {
            Both => true,
            Bpf => **backend == "bpf",
            Tracefs => **backend == "tracefs",
        });
        chosen.filter_map(|backend| wrong(number, case, backend)).collect::<Vec<_>>()
    };
    let wrong: Vec<String> = CASES.iter().enumerate().flat_map(of).collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), CASES.len(), wrong.join("\n\n"));
}

fn backends(kernel: &Kernel) -> Vec<&'static str> {
    let has_tracer = tracefs::available(kernel, "timerlat").is_ok();
    ["bpf", "tracefs"].into_iter().filter(|backend| *backend == "bpf" || has_tracer).collect()
}

#[test]
fn what_needs_the_kernels_tracers_is_refused_with_the_reason() {
    let Some((kernel, _alone)) = kernel() else { return };
    if tracefs::available(&kernel, "timerlat").is_ok() {
        return;
    }
    for (words, why) in [
        ("hwnoise -c 0 -T 1 -d 1s -q", "CONFIG_OSNOISE_TRACER"),
        ("timerlat top -k -d 1s", "CONFIG_TIMERLAT_TRACER"),
        ("osnoise top --backend tracefs -d 1s", "CONFIG_OSNOISE_TRACER"),
        ("timerlat top -P d:100us:1ms -c 0 -d 1s", "root domain"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let output = super::probescope(&words);
        assert!(output.status.code() == Some(1) && text(&output).contains(why), "{words:?}: {}", text(&output));
    }
}
