//! What is run in a guest, and how its results come back: the guest writes one line a test, which
//! the host turns into tests of its own.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Outcomes;
use crate::fetch::Bootable;
use crate::guest;
use crate::support;
use crate::support::run::{Outcome, Subject, run as run_case};

/// First word of this binary's command line in a guest.
pub const IN_GUEST: &str = "--in-guest";
/// Test targets and those of their tests that run in every kernel: what reads or loads something.
const TARGETS: [(&str, &str); 2] =
    [(COMPILER, "lowering:: lowering_scripts:: codegen_kernel:: generated_scripts::"), (LIBRARY, "kernel:: engine::")];
/// What a run without a filter leaves out unless `PROBESCOPE_WHOLE_GUESTS` is set, since another kernel shows the same: the compiler's
/// tests in the kernels between the oldest and the newest, and in the kernel with every tracer, whose release is Debian's 6.12, all
/// cases but those about what only it was built with.
const THIN: [(&str, &str); 3] = [("6.1", ""), ("6.12", ""), ("tracing", "functions/override latency/")];

/// The words of the cases that a kernel runs, by the table above; `None` where it runs everything.
fn thin(kernel: &str, filter: &str) -> Option<&'static str> {
    if !filter.is_empty() || std::env::var_os("PROBESCOPE_WHOLE_GUESTS").is_some() {
        return None;
    }
    THIN.into_iter().find(|(name, _)| *name == kernel).map(|(_, cases)| cases)
}

/// Run when `PROBESCOPE_LATENCY_IN_GUESTS` is set: what emulated processors measure of themselves differs from run to run.
const MEASURED: (&str, &str) = ("latency", "ftrace:: injected:: left:: monitored:: stops:: tracers:: waits::");

/// Run where the filter names it (`6.12/witness`): what this kernel says of loads with known answers.
const WITNESSED: (&str, &str) = ("witness", "witness/");

/// The targets of this run: where the filter names one (`6.1/latency`), that one and nothing else.
fn targets(filter: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let measured = std::env::var_os("PROBESCOPE_LATENCY_IN_GUESTS").map(|_| MEASURED);
    let named = only(filter);
    let witnessed = (named == Some(WITNESSED.0)).then_some(WITNESSED);
    let all = TARGETS.into_iter().chain(measured).chain(witnessed);
    all.filter(move |(name, _)| named.is_none_or(|named| named == *name))
}

/// The target that a filter names; folders of script cases may have the same name.
fn only(filter: &str) -> Option<&'static str> {
    if filter.contains("scripts/") {
        return None;
    }
    let named = |name: &&str| filter.split('/').any(|part| part == *name);
    TARGETS.into_iter().chain([MEASURED, WITNESSED]).map(|(name, _)| name).find(named)
}

const LIBRARY: &str = "probescope";
const COMPILER: &str = "compiler";
/// Emulated cores are many times slower than real ones: a cap against hanging, nothing is timed.
const CASE_CAP: Duration = Duration::from_secs(180);
/// `PROBESCOPE_GUEST_SECONDS` is another one, for runs that are long on purpose.
const GUEST_CAP: Duration = Duration::from_secs(1500);
/// Starts a line of results; the text after it is a record of fields with `\u{1f}` between them.
const MARK: &str = "\u{1e}result\u{1f}";
/// Starts a line that names the test binary whose lines follow.
const TARGET: &str = "== target ";
/// Starts a line that names a test of the target that could not run, and why.
const SKIP: &str = "== skipped ";
/// Names the file of skipped tests to a test binary (`tests/support/skip.rs`).
const SKIP_FILE: &str = "PROBESCOPE_SKIPPED";
/// Starts a line with the guest's uptime after a test binary.
const TIME: &str = "== uptime ";

/// Programs that cases are about, compiled by the host; its files are the guests' files, but for /tmp.
const COMPILED: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/compiled");
/// Names of this binary and of the program under test in a guest.
const OWN: &str = "kernels";
const SUBJECT: &str = "probescope";

/// A test binary with the words that choose its tests.
#[derive(Clone, Debug)]
pub struct Binary {
    name: String,
    path: PathBuf,
    filters: &'static str,
}

/// What the guests run: copies of the binaries, so that a build meanwhile changes nothing under a
/// guest, without the debug information that would only be carried through its file system.
#[derive(Debug)]
pub struct Programs {
    folder: PathBuf,
    files: Vec<PathBuf>,
    tests: Vec<Binary>,
}

impl Programs {
    /// Copies this binary, the program under test and the test binaries.
    pub fn stage(filter: &str) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("probescope-guests-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        compile_all(&support::cases()?);
        let mut staged = Self { folder, files: Vec::new(), tests: binaries(filter)? };
        let own = std::env::current_exe().map_err(|e| format!("the path of this binary: {e}"))?;
        let built = std::env::var_os("PROBESCOPE_GUEST_PROGRAM").map(PathBuf::from).filter(|p| p.is_file());
        let subject = built.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_probescope")));
        let sources = [(OWN, own), (SUBJECT, subject)];
        let tests: Vec<_> = staged.tests.iter().map(|t| (t.file_name(), t.path.clone())).collect();
        for (name, from) in sources.into_iter().map(|(n, p)| (n.to_owned(), p)).chain(tests) {
            let to = staged.folder.join(name);
            let strip = Command::new("strip").arg("-g").arg("-o").arg(&to).arg(&from).stderr(Stdio::null()).status();
            if !strip.is_ok_and(|s| s.success()) {
                fs::copy(&from, &to).map_err(|e| format!("{}: {e}", from.display()))?;
            }
            staged.files.push(to);
        }
        Ok(staged)
    }
}

/// Compiles what the cases want; what can't be compiled is left to the cases to tell.
fn compile_all(cases: &[support::case::Case]) {
    let wanted: BTreeSet<&[String]> = cases.iter().map(|c| &c.compile[..]).collect();
    for (file, flags) in wanted.into_iter().filter_map(<[String]>::split_first) {
        let _ = support::run::compile(file, flags, Path::new(COMPILED));
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Binary {
    fn file_name(&self) -> String {
        format!("test-{}", self.name)
    }
}

/// The test binaries as Cargo has them already: those that talk to a kernel.
fn binaries(filter: &str) -> Result<Vec<Binary>, String> {
    let mut cargo = Command::new(option_env!("CARGO").unwrap_or("cargo"));
    cargo.args(["test", "--no-run", "--locked", "--message-format=json", "--profile", &profile()]);
    cargo.args(targets(filter).any(|(t, _)| t == LIBRARY).then_some("--lib"));
    cargo.args(targets(filter).filter(|(t, _)| *t != LIBRARY).flat_map(|(t, _)| ["--test", t]));
    let out = cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map_err(|e| format!("cargo: {e}"))?;
    let text = String::from_utf8_lossy(&out.stdout);
    let binaries: Vec<Binary> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| {
            // The program itself is among the messages, too.
            let path = message["profile"]["test"].as_bool()?.then(|| message["executable"].as_str()).flatten()?;
            let target = message["target"]["name"].as_str()?;
            let (name, filters) = targets(filter).find(|(name, _)| *name == target)?;
            Some(Binary { name: name.to_owned(), path: PathBuf::from(path), filters })
        })
        .collect();
    if binaries.is_empty() { Err("cargo names no test binary".into()) } else { Ok(binaries) }
}

/// The profile that this binary was built with, by its place in Cargo's target folder
/// (`FOLDER/PROFILE/deps/NAME`, where the profile `dev` is called `debug`).
fn profile() -> String {
    let own = std::env::current_exe().unwrap_or_default();
    let folder = own.ancestors().nth(2).and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    if folder == "debug" { "dev".to_owned() } else { folder.into_owned() }
}

/// Boots one kernel and brings its results back.
pub fn run(name: &str, kernel: &Bootable, programs: &Programs, filter: Option<&str>) -> Outcomes {
    let boot = |outcome| (format!("{name}/boot"), outcome);
    let filter = filter.map_or("", |f| f.strip_prefix(name).map_or(f, |rest| rest.trim_start_matches('/')));
    let thin = thin(name, filter);
    let mut script = String::from("cp -r /run/results/bin /run/bin && cd /tmp\n");
    let generated = std::env::var("PROBESCOPE_GENERATED").ok().and_then(|n| n.parse::<u32>().ok()).unwrap_or(6);
    let _ = writeln!(
        script,
        "export {}=/run/bin/{SUBJECT} PROPTEST_CASES=16 PROBESCOPE_GENERATED={generated}",
        support::run::PROGRAM
    );
    let _ = writeln!(script, "export PROBESCOPE_MONITOR=/run/results/{}", guest::MONITOR);
    if let Ok(peer) = std::env::var("PROBESCOPE_PEER") {
        let _ = writeln!(script, "export PROBESCOPE_PEER='{peer}'");
    }
    let _ = writeln!(script, "export {}='{COMPILED}'", support::run::COMPILED);
    // A script of its own takes the place of the tests: its lines are read as theirs.
    let own_script = std::env::var("PROBESCOPE_GUEST_SCRIPT").ok();
    if let Some(path) = &own_script {
        let _ = writeln!(script, "echo '{TARGET}long'\n/bin/sh '{path}'");
    } else if only(filter).is_none() {
        let _ = writeln!(script, "/run/bin/{OWN} {IN_GUEST} '{}'", thin.unwrap_or(filter));
    }
    let tests = programs.tests.iter().filter(|_| own_script.is_none() && !filter.starts_with("scripts"));
    let tests = tests.filter(|test| thin.is_none() || test.name != COMPILER);
    for test in tests {
        let _ = writeln!(script, "echo '{TARGET}{}'", test.name);
        let _ = writeln!(script, "rm -f /run/skipped; export {SKIP_FILE}=/run/skipped");
        let _ = writeln!(script, "/run/bin/{} {} --test-threads=2", test.file_name(), test.filters);
        let _ = writeln!(script, "[ ! -f /run/skipped ] || sed 's/^/{SKIP}/' /run/skipped");
        let _ = writeln!(script, "echo \"{TIME}$(cut -d' ' -f1 /proc/uptime)\"");
    }
    let folder = std::env::temp_dir().join(format!("probescope-guest-{}-{name}", std::process::id()));
    let seconds = std::env::var("PROBESCOPE_GUEST_SECONDS").ok().and_then(|s| s.parse().ok());
    let cap = seconds.map_or(GUEST_CAP, Duration::from_secs);
    let boots = || guest::run(kernel, &script, &programs.files, &folder, cap);
    // One panic may be the emulator's, two are somebody's fault.
    let result = match boots() {
        Ok(report) if report.exit.is_none() && report.console.contains("Kernel panic") => {
            eprintln!("kernel {name}: it panicked and is booted once more:\n{}", guest::tail(&report.console));
            boots()
        }
        result => result,
    };
    let report = match result {
        Ok(report) => report,
        Err(why) => return vec![boot(Outcome::Failed(why))],
    };
    let _ = fs::remove_dir_all(&folder);
    eprintln!("kernel {name}: {} s", report.took.as_secs());
    for line in report.output.lines().filter(|l| l.starts_with(TIME)) {
        eprintln!("kernel {name}: {line}");
    }
    let mut outcomes = vec![boot(match report.exit {
        Some(_) => Outcome::Passed,
        None => Outcome::Failed(format!(
            "the guest ended early or was ended after {} s; console:\n{}\noutput:\n{}",
            report.took.as_secs(),
            guest::tail(&report.console),
            guest::tail(&report.output)
        )),
    })];
    if report.console.contains("Kernel panic") || report.console.contains("BUG:") {
        let why = format!("the kernel complained:\n{}", guest::tail(&report.console));
        outcomes.push((format!("{name}/console"), Outcome::Failed(why)));
    }
    outcomes.extend(parse(name, &report.output));
    outcomes
}

/// Results of the script cases and lines of Rust's own test harness.
fn parse(name: &str, output: &str) -> Outcomes {
    let mut outcomes = Vec::new();
    let mut target = "";
    for line in output.lines() {
        if let Some(name) = line.strip_prefix(TARGET) {
            target = name;
        } else if let Some(record) = line.strip_prefix(MARK) {
            let mut fields = record.split('\u{1f}');
            let case = fields.next().unwrap_or("");
            let kind = fields.next().unwrap_or("");
            let text = fields.next().unwrap_or("").replace('\u{1d}', "\n");
            let outcome = match kind {
                "passed" => Outcome::Passed,
                "skipped" => Outcome::Skipped(text),
                _ => Outcome::Failed(text),
            };
            outcomes.push((format!("{name}/scripts/{case}"), outcome));
        } else if let Some((test, why)) = line.strip_prefix(SKIP).and_then(|l| l.split_once(": ")) {
            let full = format!("{name}/{target}/{test}");
            // A test may say so several times, and one that failed has failed.
            let passed =
                outcomes.iter_mut().find(|(n, o): &&mut (String, Outcome)| *n == full && *o == Outcome::Passed);
            if let Some((_, outcome)) = passed {
                *outcome = Outcome::Skipped(why.to_owned());
            }
        } else if let Some((test, result)) = line.strip_prefix("test ").and_then(|l| l.split_once(" ... ")) {
            let outcome = match result {
                "ok" => Outcome::Passed,
                other => match other.strip_prefix("ignored") {
                    Some(reason) => Outcome::Skipped(reason.trim_start_matches([',', ' ']).to_owned()),
                    None => Outcome::Failed(failure(test, output)),
                },
            };
            outcomes.push((format!("{name}/{target}/{}", test.trim_end()), outcome));
        }
    }
    outcomes
}

/// What a harness printed for a failed test: Rust's own, or that of cases as data.
fn failure(test: &str, output: &str) -> String {
    let test = test.trim_end();
    let starts = [format!("---- {test} stdout ----\n"), format!("---- {test} ----\n")];
    let Some((_, after)) = starts.iter().find_map(|start| output.split_once(start)) else { return "no message".into() };
    after.split("\n---- ").next().unwrap_or("").split("\nfailures:\n").next().unwrap_or("").to_owned()
}

/// In the guest: runs the cases and writes their results.
pub fn in_guest(filter: Option<&str>) {
    let cases = match support::cases() {
        Ok(cases) => cases,
        Err(why) => return report("load", &Outcome::Failed(why)),
    };
    let subject = Subject::from_environment();
    // Words, as Rust's own harness takes them: any of them chooses a case.
    let words: Vec<&str> = filter.unwrap_or("").split(' ').map(|w| w.trim_start_matches("scripts/")).collect();
    for case in cases.iter().filter(|case| words.iter().any(|word| case.name.contains(word))) {
        report(&case.name, &run_case(&subject, case, CASE_CAP));
    }
    support::run::clean();
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    println!("{TIME}{}", uptime.split(' ').next().unwrap_or(""));
}

fn report(name: &str, outcome: &Outcome) {
    let (kind, text) = match outcome {
        Outcome::Passed => ("passed", ""),
        Outcome::Skipped(why) => ("skipped", why.as_str()),
        Outcome::Failed(why) => ("failed", why.as_str()),
    };
    println!("{MARK}{name}\u{1f}{kind}\u{1f}{}", text.replace('\n', "\u{1d}"));
}
