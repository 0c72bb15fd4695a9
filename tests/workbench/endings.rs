//! How the real program ends when it is told to: by signals, at any moment, with and without a
//! command of its own. Nothing may outlive it, and nothing may be printed that is not meant.

use crate::skip;

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for one condition: far over what is ever needed, so that only a hang ends here.
const PATIENCE: Duration = Duration::from_secs(30);

/// A script that ends by itself only when its command does.
const SCRIPT: &str = "interval:s:100 { } END { printf(\"the end\\n\"); }";

fn may_trace() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let capabilities = status.lines().find_map(|l| l.strip_prefix("CapEff:")).unwrap_or("0").trim();
    let capabilities = u64::from_str_radix(capabilities, 16).unwrap_or(0);
    let may = capabilities >> 21 & 1 == 1 || (capabilities >> 38 & 3) == 3;
    if !may {
        skip::skip("no CAP_BPF and CAP_PERFMON");
    }
    may
}

/// Starts `probescope run` with a command that would run for a long time. `seconds` also tells the
/// test's commands apart.
fn start(seconds: u32) -> Child {
    Command::new(env!("CARGO_BIN_EXE_probescope"))
        .args(["run", "-e", SCRIPT, "-c", &format!("sleep {seconds}")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Whether a process with these arguments runs.
fn runs(seconds: u32) -> bool {
    let wanted = format!("sleep\0{seconds}\0");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|p| std::fs::read(p.path().join("cmdline")).ok()).any(|c| c == wanted.as_bytes())
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "never saw {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Everything on standard error; ends only when nobody holds it open any more.
fn errors(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_command_never_outlives_a_kill_at_any_moment() {
    if !may_trace() {
        return;
    }
    for (nth, delay_ms) in [0, 2, 5, 10, 20, 40, 80, 160, 320].into_iter().enumerate() {
        let seconds = 100_000 + nth as u32;
        let mut child = start(seconds);
        std::thread::sleep(Duration::from_millis(delay_ms));
        send(&child, "-KILL");
        assert!(!child.wait().unwrap().success());
        let errors = errors(&mut child);
        assert!(errors.is_empty() || errors == "Attached 2 probes\n", "after {delay_ms} ms: {errors}");
        wait_until("the command's end", || !runs(seconds));
    }
}

#[test]
fn a_running_command_ends_with_the_trace() {
    if !may_trace() {
        return;
    }
    for (seconds, signal, code) in [(110_000, "-INT", Some(0)), (110_001, "-TERM", Some(0)), (110_002, "-KILL", None)] {
        let mut child = start(seconds);
        wait_until("the command", || runs(seconds));
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), code, "{signal}");
        wait_until("the command's end", || !runs(seconds));
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said.contains("the end"), code.is_some(), "{signal}: {said}");
    }
}

#[test]
fn a_signal_that_comes_twice_in_a_moment_is_one_request() {
    if !may_trace() {
        return;
    }
    let script =
        "BEGIN { printf(\"hi\\n\"); } interval:s:100 { } END { system(\"sleep 0.6\"); printf(\"the end\\n\"); }";
    let mut child = Command::new(env!("CARGO_BIN_EXE_probescope"))
        .args(["run", "--unsafe", "-e", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 3];
    child.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
    // As `timeout -s INT` sends it.
    let pid = rustix::process::Pid::from_child(&child);
    for _ in 0..2 {
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut rest = String::new();
    child.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(rest.trim(), "the end");
}

#[test]
fn commands_that_still_wait_are_left_out() {
    if !may_trace() {
        return;
    }
    let marks = std::env::temp_dir().join(format!("probescope-commands-{}", std::process::id()));
    let script = format!(
        "interval:ms:1 {{ system(\"echo >> {0}; sleep 0.2\"); }} END {{ printf(\"the end\\n\"); system(\"echo the last\"); }}",
        marks.display()
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_probescope"))
        .args(["run", "--unsafe", "-e", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // When the third runs, hundreds wait.
    wait_until("three commands", || std::fs::read(&marks).is_ok_and(|m| m.len() >= 3));
    send(&child, "-INT");
    assert!(child.wait().unwrap().success());
    let run = std::fs::read(&marks).unwrap().len();
    let _ = std::fs::remove_file(&marks);
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said.trim(), "the end\nthe last");
    let errors = errors(&mut child);
    let told = errors.lines().find_map(|l| l.split_once(" commands of system() not run")).unwrap().0;
    let left_out: usize = told.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(left_out > 100 && run < 100, "{run} run, {left_out} left out");
}

/// Both streams of a script, written to one file.
fn streams_together(flags: &[&str], script: &str) -> String {
    let path = std::env::temp_dir().join(format!("probescope-streams-{}-{}", std::process::id(), flags.len()));
    let file = std::fs::File::create(&path).unwrap();
    let ended = Command::new(env!("CARGO_BIN_EXE_probescope"))
        .args(["run", "-q"])
        .args(flags)
        .args(["-e", script])
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .status()
        .unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let _ = std::fs::remove_file(&path);
    assert!(ended.success(), "{text}");
    text
}

#[test]
fn messages_come_after_what_was_printed_before_them() {
    if !may_trace() {
        return;
    }
    let script =
        "begin { printf(\"a\\n\"); errorf(\"b\"); printf(\"c\\n\"); cat(\"/nowhere\"); printf(\"e\\n\"); exit(); }";
    for flags in [&[][..], &["-B", "full"]] {
        let text = streams_together(flags, script);
        let order: Vec<&str> =
            text.lines().filter(|l| !l.is_empty()).map(|l| l.rsplit(": ").next().unwrap_or(l)).collect();
        let cat = "failed to open file '/nowhere' (No such file or directory)";
        assert_eq!(order, ["a", "b", "c", cat, "e"], "{text}");
    }
}

/// How many lines a command printed while a script ran.
fn lines_of_a_command(script: &str) -> usize {
    let ended = Command::new(env!("CARGO_BIN_EXE_probescope"))
        .args(["run", "-q", "-e", script, "-c", "seq 20000"])
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{script}: {}", String::from_utf8_lossy(&ended.stderr));
    let is_number = |line: &&[u8]| !line.is_empty() && line.iter().all(u8::is_ascii_digit);
    ended.stdout.split(|b| *b == b'\n').filter(is_number).count()
}

#[test]
fn a_command_is_waited_for_where_nothing_else_is() {
    if !may_trace() {
        return;
    }
    for script in ["BEGIN { }", "END { print(\"ended\"); }", "BEGIN { print(\"begun\"); } END { }"] {
        assert_eq!(lines_of_a_command(script), 20_000, "{script}");
    }
    // It never begins where the trace is over before.
    assert_eq!(lines_of_a_command("BEGIN { exit(); }"), 0);
    assert_eq!(lines_of_a_command("BEGIN { exit(); } interval:s:100 { }"), 0);
}
