//! Runs one test as `runtest.sh` does and compares what it prints.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use regex::Regex;

use super::case::Case;

/// `timeout` exits with this when time is over.
const TIMED_OUT: i32 = 124;
const TIMEOUT_S: u32 = 41;
/// Flags to GCC that make its messages those that the suite expects.
const CPP: &str = "-fno-diagnostics-show-caret -fdiagnostics-color=never -fno-diagnostics-show-option -fno-show-column";

static POINTER: LazyLock<Regex> = LazyLock::new(|| Regex::new("0x[0-9a-f][0-9a-f]*").unwrap());
/// Where the reference names an instruction, the program's line is told here.
static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"at BPF pc (\d+|NNN)|in \S+ at line \d+|at line \d+").unwrap());
static DEBUG: LazyLock<Regex> = LazyLock::new(|| Regex::new("^[a-z_]+ DEBUG [0-9]+: ").unwrap());

pub enum Outcome {
    Passed,
    Skipped(String),
    Failed { why: String, shown: String },
}

/// Builds the workloads that are no scripts and not built yet.
pub fn build_triggers(suite: &Path) {
    let folder = suite.join("test/triggers");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let source = entry.unwrap().path();
        let program = source.with_extension("");
        let name = program.file_name().unwrap().to_string_lossy().into_owned();
        let is_plain = !["libproc", "usdt", "visible"].iter().any(|p| name.starts_with(p));
        if source.extension().is_none_or(|e| e != "c") || program.exists() || !is_plain {
            continue;
        }
        let mut compiler = Command::new("gcc");
        compiler.args(["-std=gnu99", "-D_GNU_SOURCE", "-g", "-w", "-fopenmp", "-pthread", "-fno-inline"]);
        compiler.args(["-fno-optimize-sibling-calls", "-o"]).arg(&program).arg(&source).args(["-lm", "-lrt"]);
        let _ = compiler.stderr(Stdio::null()).status();
    }
}

/// What the test printed, and how it ended.
struct Told {
    exit: i32,
    output: String,
    errors: String,
}

pub fn run(case: &Case, dtrace: &Path, folder: &Path) -> Outcome {
    if case.has("skip") {
        return Outcome::Skipped("skip".to_owned());
    }
    if let Some(why) = expected_to_fail(case) {
        return Outcome::Skipped(why);
    }
    let trigger = match trigger(case) {
        Ok(trigger) => trigger,
        Err(why) => return Outcome::Skipped(why),
    };
    let again = case.options("reinvoke-failure").first().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut outcome = judged(case, &told(case, dtrace, folder, &trigger));
    for _ in 0..again {
        if matches!(outcome, Outcome::Passed) {
            break;
        }
        outcome = judged(case, &told(case, dtrace, folder, &trigger));
    }
    outcome
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.permissions().mode() & 0o111 != 0)
}

/// The reason why the suite itself does not count on this test.
fn expected_to_fail(case: &Case) -> Option<String> {
    if case.has("xfail") && !case.has("no-xfail") {
        return Some("xfail".to_owned());
    }
    if case.options("tags").iter().any(|tags| tags.contains("unstable")) {
        return Some("unstable".to_owned());
    }
    let own = [case.beside("x86_64.x"), case.beside("x")].into_iter().find(|p| p.exists());
    let above = case.folders().map(|folder| folder.join("test.x")).filter(|p| p.exists());
    for path in own.into_iter().chain(above) {
        if !is_executable(&path) {
            return Some("xfail".to_owned());
        }
        let status = Command::new(&path).current_dir(&case.suite).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !status.is_ok_and(|s| s.success()) {
            return Some(format!("{} says so", path.file_name().unwrap().to_string_lossy()));
        }
    }
    None
}

enum Trigger {
    /// Not run, only compiled.
    CompileOnly,
    None,
    Command(String),
}

fn trigger(case: &Case) -> Result<Trigger, String> {
    if is_executable(&case.beside("t")) {
        return Ok(Trigger::Command(case.beside("t").display().to_string()));
    }
    match case.options("trigger").first().map(String::as_str) {
        Some("none") => Ok(Trigger::None),
        Some(command) => {
            let program = command.split(' ').next().unwrap_or("");
            if is_executable(&case.suite.join("test/triggers").join(program)) {
                Ok(Trigger::Command(format!("test/triggers/{command}")))
            } else {
                Err(format!("no trigger {program}"))
            }
        }
        None if ["tst.", "err.", "drp."].iter().any(|p| case.file_name().starts_with(p)) => Ok(Trigger::None),
        None => Ok(Trigger::CompileOnly),
    }
}

fn flags(case: &Case, trigger: &Trigger) -> Vec<String> {
    let suite = case.suite.display();
    let mut flags = Vec::new();
    for path in ["include", "uts/common", "build", "libdtrace"] {
        flags.push(format!("-I{suite}/{path}"));
    }
    flags.push("-DARCH_x86_64".to_owned());
    if case.file_name().starts_with("err.D_") {
        flags.push("-xerrtags".to_owned());
    } else if case.file_name().starts_with("drp.") {
        flags.push("-xdroptags".to_owned());
    }
    if matches!(trigger, Trigger::CompileOnly) {
        flags.push("-e".to_owned());
    }
    flags
}

fn told(case: &Case, dtrace: &Path, folder: &Path, trigger: &Trigger) -> Told {
    let timeout = case.options("timeout").first().and_then(|t| t.parse().ok()).unwrap_or(0).max(TIMEOUT_S);
    // Words of the options are expanded and split by the shell, as the suite has it.
    let mut command = Command::new("bash");
    command.args(["-c", "eval \"v=\\\"$1\\\"\"; shift; set -f; exec \"${@:1:N}\" $v \"${@:N+1}\"", "suite"]);
    command.arg(case.options("runtest-opts").into_iter().filter(|o| !o.is_empty()).collect::<Vec<_>>().join(" "));
    let mut words = vec!["timeout".to_owned(), "--signal=TERM".to_owned(), "--kill-after=5".to_owned()];
    words.push(timeout.to_string());
    let interpreter = case.first_line().split(' ').next() == Some("#!dtrace");
    let copy = folder.join("interpreter.d");
    if interpreter {
        let text = case.text().replacen("#!dtrace ", &format!("#!{} ", dtrace.display()), 1);
        std::fs::write(&copy, text).unwrap();
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).unwrap();
        words.push(copy.display().to_string());
        words.extend(flags(case, trigger));
    } else {
        words.push(dtrace.display().to_string());
        words.extend(flags(case, trigger));
        words.push("-s".to_owned());
        words.push(format!("test/unittest/{}", case.name));
    }
    command.env("N", words.len().to_string());
    command.args(&words);
    let mut beside = None;
    if let Trigger::Command(trigger) = trigger {
        match case.options("trigger-timing").first().map_or("synchro", String::as_str) {
            "synchro" => {
                command.args(["-c", trigger]);
            }
            timing => {
                let delay = if timing == "before" { "0" } else { timing.parse::<u32>().map_or("1", |_| timing) };
                let started = start(&format!("sleep {delay}; exec {trigger}"), &case.suite);
                command.env("_pid", started.id().to_string());
                beside = Some(started);
            }
        }
    }
    command.env("_DTRACE_TESTING", "t").env("LANGUAGE", "C").env("LC_ALL", "C").env("DTRACE_OPT_CPPARGS", CPP);
    command.env("dt_flags", "").env("_test", format!("test/unittest/{}", case.name)).env("dtrace", dtrace);
    let output = command.current_dir(&case.suite).stdin(Stdio::null()).output().unwrap();
    if let Some(mut beside) = beside {
        let _ = beside.kill();
        let _ = beside.wait();
    }
    let restored = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.replace(&copy.display().to_string(), &format!("test/unittest/{}", case.name))
    };
    Told {
        exit: output.status.code().unwrap_or(TIMED_OUT),
        output: restored(&output.stdout),
        errors: restored(&output.stderr),
    }
}

fn start(command: &str, folder: &Path) -> Child {
    // What runs in a shell's background would pass on that it ignores SIGINT; bash asks for the window's size after
    // each command, which a test that waits for the trigger's own calls takes for one.
    let mut shell = Command::new("env");
    shell
        .args(["--default-signal=INT,QUIT", "sh", "-c", command])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    shell.process_group(0).spawn().unwrap()
}

fn judged(case: &Case, told: &Told) -> Outcome {
    let errors: String = told.errors.lines().filter(|l| !DEBUG.is_match(l)).map(|l| format!("{l}\n")).collect();
    let mut output = told.output.clone();
    if !errors.is_empty() {
        output.push_str("-- @@stderr --\n");
        output.push_str(&errors);
    }
    let output = filtered(case, output);
    let expected = [case.beside("x86_64.r"), case.beside("r")].into_iter().find(|p| p.exists());
    let expected = expected.map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned());
    let failed = |why: String| Outcome::Failed {
        why,
        shown: format!("exit {}\n{output}\n== expected\n{}", told.exit, expected.as_deref().unwrap_or("(nothing)")),
    };
    let name = case.file_name();
    let is_error = name.starts_with("err.");
    let tag = ["err.D_", "drp."].iter().any(|p| name.starts_with(p)).then(|| name.split('.').nth(1).unwrap_or(""));
    if let Some(tag) = tag
        && !errors.contains(&format!("[{tag}]"))
    {
        return failed(format!("expected tag {tag}"));
    }
    // A message that the reference gives a name to may have other words.
    if name.starts_with("err.D_") {
        return if told.exit == 1 { Outcome::Passed } else { failed(format!("exit {}", told.exit)) };
    }
    if let Some(expected) = &expected
        && normal(case, expected) != normal(case, &output)
    {
        return failed("expected results differ".to_owned());
    }
    match told.exit {
        TIMED_OUT if case.has("timeout-success") => Outcome::Passed,
        TIMED_OUT => failed("timed out".to_owned()),
        67 => Outcome::Skipped("test says so".to_owned()),
        exit if exit == i32::from(is_error) => Outcome::Passed,
        exit => failed(format!("exit {exit}")),
    }
}

/// Through the test's own filter, if it has one.
fn filtered(case: &Case, output: String) -> String {
    let filter: PathBuf = case.beside("r.p");
    if !is_executable(&filter) {
        return output;
    }
    // Filters are written for GNU's awk; others do as well.
    let is_awk = std::fs::read(&filter).is_ok_and(|text| text.starts_with(b"#!/usr/bin/gawk -f"));
    let mut command = Command::new(if is_awk { Path::new("awk") } else { &filter });
    if is_awk {
        command.arg("-f").arg(&filter);
    }
    command.current_dir(&case.suite).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return output };
    let mut input = child.stdin.take().unwrap();
    let text = output.clone();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut input, text.as_bytes()));
    let filtered = child.wait_with_output().unwrap();
    let _ = writer.join();
    if filtered.status.success() { String::from_utf8_lossy(&filtered.stdout).into_owned() } else { output }
}

fn normal(case: &Case, text: &str) -> Vec<String> {
    let text = PLACE.replace_all(text, "at PLACE");
    let mut lines: Vec<String> = text.lines().map(|line| POINTER.replace_all(line, "{ptr}").into_owned()).collect();
    if !case.has("nosort") {
        lines.sort();
    }
    lines
}
