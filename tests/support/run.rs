//! Runs one case with the program under test and compares.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::case::{Case, difference};
use super::needs;

/// Names another path of the program under test than the one that Cargo built it at.
pub const PROGRAM: &str = "PROBESCOPE_UNDER_TEST";

/// How a case came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Skipped(String),
    Failed(String),
}

/// The program under test: ours, or a peer that the expectations are checked against.
#[derive(Clone, Debug)]
pub struct Subject {
    words: Vec<String>,
    /// It is a peer, not our program.
    peer: bool,
}

impl Subject {
    /// `PROBESCOPE_PEER` (`bpftrace`, `chroot DIR bpftrace`) or the program that Cargo built.
    pub fn from_environment() -> Self {
        if let Ok(peer) = std::env::var("PROBESCOPE_PEER") {
            Self { words: peer.split_whitespace().map(str::to_owned).collect(), peer: true }
        } else {
            let built = std::env::var(PROGRAM).unwrap_or_else(|_| env!("CARGO_BIN_EXE_probescope").to_owned());
            Self { words: vec![built, "run".to_owned()], peer: false }
        }
    }

    fn command(&self, case: &Case) -> Command {
        let mut command = Command::new(&self.words[0]);
        if case.as_dtrace {
            command.arg0("dtrace");
        } else if case.as_bpftrace && !self.peer {
            // Its name is all that decides.
            command.arg0("bpftrace");
        } else if let Some(word) = &case.subcommand {
            command.arg(word);
        } else {
            command.args(&self.words[1..]);
        }
        command
    }
}

/// Runs a case; it is ended after `cap`.
pub fn run(subject: &Subject, case: &Case, cap: Duration) -> Outcome {
    match needs::unmet(&case.needs) {
        Ok(None) => {}
        Ok(Some(reason)) => return Outcome::Skipped(reason),
        Err(why) => return Outcome::Failed(why),
    }
    match attempt(subject, case, cap) {
        Ok(()) => Outcome::Passed,
        Err(why) => Outcome::Failed(why),
    }
}

fn attempt(subject: &Subject, case: &Case, cap: Duration) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let paths = Paths { own: own.clone(), compiled: compiled(&case.compile)? };
    let script = Script::new(case, &paths)?;
    let mut command = subject.command(case);
    command.args(case.flags.iter().map(|f| paths.put_in(f)));
    if !case.workload.is_empty() {
        command.arg("-c").arg(format!("{} workload {}", own.display(), case.workload.join(" ")));
    }
    if let Some(text) = &case.command {
        command.arg("-c").arg(paths.put_in(text));
    }
    if case.as_dtrace {
        command.arg("-s");
    }
    if case.subcommand.is_none() {
        command.arg(if case.stdin { Path::new("-") } else { &script.path });
    }
    command.args(&case.args);
    command.stdin(if case.stdin { Stdio::piped() } else { Stdio::null() });
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{}: {e}", subject.words.join(" ")))?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(case.text.as_bytes());
    }
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break Some(status);
        }
        if started.elapsed() > cap {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        // Its exit is the condition; this only paces the look.
        std::thread::sleep(Duration::from_millis(5));
    };
    let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    let told = || format!("standard error:\n{}", stderr.trim_end());
    let Some(status) = status else {
        return Err(format!("still running after {} s, ended; got:\n{stdout}\n{}", cap.as_secs(), told()));
    };
    if let Some(why) = difference(case, &stdout) {
        return Err(format!("{why}\n{}", told()));
    }
    let is_partial = case.exit == 0 && status.code() == Some(3) && is_partial_by(case, &stderr);
    if status.code() != Some(case.exit) && !is_partial {
        return Err(format!("{status}, expected exit code {}\n{}", case.exit, told()));
    }
    if let Some(unwanted) = case.no_stderr.iter().find(|text| stderr.contains(text.as_str())) {
        return Err(format!("standard error has `{unwanted}`\n{}", told()));
    }
    match case.stderr.iter().find(|want| !stderr.contains(want.as_str())) {
        Some(want) => Err(format!("standard error lacks `{want}`\n{}", told())),
        None => Ok(()),
    }
}

/// What a kernel skips because other programs run on the CPU depends on what else the machine does: the exit code says so,
/// and the case is about something else. What the case expects of some kernels is told by it.
fn is_partial_by(case: &Case, stderr: &str) -> bool {
    let by_load = stderr.contains("warning: nested firing skipped: ");
    by_load || case.partial.as_ref().is_some_and(|text| stderr.contains(text.as_str()))
}

fn drain(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// What stands for the names between `@` in a case.
struct Paths {
    own: PathBuf,
    compiled: Option<PathBuf>,
}

impl Paths {
    fn put_in(&self, text: &str) -> String {
        let text = text.replace("@SELF@", &self.own.display().to_string());
        match &self.compiled {
            Some(path) => text.replace("@COMPILED@", &path.display().to_string()),
            None => text,
        }
    }
}

/// Compiles a file of `tests/fixtures/c` with the flags after it, once for all cases that want the same.
fn compiled(words: &[String]) -> Result<Option<PathBuf>, String> {
    static DONE: Mutex<BTreeMap<String, Result<PathBuf, String>>> = Mutex::new(BTreeMap::new());
    let Some((file, flags)) = words.split_first() else { return Ok(None) };
    let mut done = DONE.lock().map_err(|e| e.to_string())?;
    let result = done.entry(words.join(" ")).or_insert_with(|| match ready_made(words) {
        Some(program) => Ok(program),
        None => compile(file, flags, &workshop()),
    });
    let program = result.clone()?;
    drop(done);
    own_copy(&program).map(Some)
}

/// A file of the case's own: probes are on files, and a case would count the calls of others that run
/// the same one.
fn own_copy(program: &Path) -> Result<PathBuf, String> {
    static COPIES: AtomicUsize = AtomicUsize::new(0);
    let number = COPIES.fetch_add(1, Ordering::Relaxed);
    let folder = workshop().join(format!("case-{number}"));
    let copy = folder.join(program.file_name().unwrap_or_default());
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    fs::copy(program, &copy).map_err(|e| format!("{}: {e}", copy.display()))?;
    Ok(copy)
}

/// Names the folder of programs that were compiled before: guests are slow, and the host has a compiler.
pub const COMPILED: &str = "PROBESCOPE_COMPILED";

fn ready_made(words: &[String]) -> Option<PathBuf> {
    let program = Path::new(&std::env::var_os(COMPILED)?).join(slug(words)).join(stem(words.first()?));
    program.is_file().then_some(program)
}

fn stem(file: &str) -> &str {
    file.split('.').next().unwrap_or(file)
}

/// A folder's name for a command.
fn slug(words: &[String]) -> String {
    words.join(" ").replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// Compiles a file of `tests/fixtures/c` into a folder of its own below `under`.
pub fn compile(file: &str, flags: &[String], under: &Path) -> Result<PathBuf, String> {
    let words: Vec<String> = std::iter::once(file.to_owned()).chain(flags.iter().cloned()).collect();
    let folder = under.join(slug(&words));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/c").join(file);
    fs::copy(&source, folder.join(file)).map_err(|e| format!("{}: {e}", source.display()))?;
    let program = stem(file);
    // In its own folder: split debug information is left beside it.
    let out = Command::new("cc").current_dir(&folder).args(["-o", program, file]).args(flags).output();
    let out = out.map_err(|e| format!("cc: {e}"))?;
    if out.status.success() { Ok(folder.join(program)) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned()) }
}

fn workshop() -> PathBuf {
    std::env::temp_dir().join(format!("probescope-compiled-{}", std::process::id()))
}

/// Removes what was compiled for cases.
pub fn clean() {
    let _ = fs::remove_dir_all(workshop());
}

/// The script's file: its own, or a copy with the names between `@` replaced.
struct Script {
    path: PathBuf,
    copied: bool,
}

impl Script {
    fn new(case: &Case, paths: &Paths) -> Result<Self, String> {
        if !case.text.contains("@SELF@") && !case.text.contains("@COMPILED@") {
            return Ok(Self { path: case.path.clone(), copied: false });
        }
        let name = format!("probescope-case-{}-{}.bt", std::process::id(), case.name.replace('/', "-"));
        let path = std::env::temp_dir().join(name);
        fs::write(&path, paths.put_in(&case.text)).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self { path, copied: true })
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if self.copied {
            let _ = fs::remove_file(&self.path);
        }
    }
}
