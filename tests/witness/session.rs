//! Asks a question: the load is run under a trace, and what both say is compared.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::answer::{Seen, counters};
use super::counters::{frame, read_all};
use super::row::{Claim, Mode, Row, Subject};

/// A hard cap for what hangs; nothing is timed.
const CAP: Duration = Duration::from_secs(120);

/// The program under test.
pub fn program() -> String {
    std::env::var(super::support::run::PROGRAM).unwrap_or_else(|_| env!("CARGO_BIN_EXE_probescope").to_owned())
}

/// Asks, and compares.
pub fn ask(row: &Row, mode: Mode) -> Result<(), String> {
    let folder = Folder::new()?;
    let seen = match (row.subject, mode) {
        (Subject::Command(_), _) => command(row)?,
        _ if row.is_by_pid || matches!(mode, Mode::Pid | Mode::Ended) => beside(row, mode, &folder)?,
        _ => by_command(row, mode, &folder)?,
    };
    let failures: Vec<String> = row.claims.iter().filter_map(|claim| seen.check(claim).err()).collect();
    // Right, or said: who leaves something out says so.
    let is_said =
        seen.code == Some(3) || ["lost", "full", "throttled", "missed"].iter().any(|w| seen.stderr.contains(w));
    if failures.is_empty() || (mode.may_lack() && is_said) {
        return Ok(());
    }
    let rest = format!("the load: {}\ninner: {:?}\nouter: {:?}", seen.load_text.trim_end(), seen.inner, seen.outer);
    let said: Vec<&str> = seen.lines.iter().take(40).map(String::as_str).collect();
    let stderr = seen.stderr.trim_end();
    Err(format!(
        "{}\n{rest}\nmaps: {:.3000?}\n{}\nstandard error ({:?}):\n{stderr}",
        failures.join("\n"),
        seen.maps,
        said.join("\n"),
        seen.code
    ))
}

/// A folder of the question's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("probescope-witness-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn names(row: &Row) -> Vec<String> {
    let texts = row.claims.iter().flat_map(|claim| match claim {
        Claim::Equal(_, truth) => vec![*truth],
        Claim::Within(_, low, high) => vec![*low, *high],
        Claim::By(_) => vec![],
    });
    let mut names: Vec<String> = texts.flat_map(counters).collect();
    names.sort();
    names.dedup();
    names
}

/// The load's command: a load of our own, or the shell's.
fn load_words(row: &Row) -> Vec<String> {
    let text = row.load.replace("@PROGRAM@", &program());
    let text = text.replace("@SELF@", &std::env::current_exe().unwrap_or_default().display().to_string());
    if let Some(shell) = text.strip_prefix("$ ") {
        return ["sh", "-c", shell].map(str::to_owned).to_vec();
    }
    let words = text.split(' ').map(str::to_owned);
    [program(), "load".to_owned(), "--json".to_owned(), "--seed".to_owned(), "7".to_owned()]
        .into_iter()
        .chain(words)
        .collect()
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|w| format!("'{}'", w.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ")
}

/// What names the script: a file of the repository, a copy with something else in it, or text.
fn script(row: &Row, folder: &Folder) -> Result<Vec<String>, String> {
    let bundled = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name).with_extension("bt");
    let own = std::env::current_exe().unwrap_or_default().display().to_string();
    Ok(match row.subject {
        Subject::Script(name) => vec![bundled(name).display().to_string()],
        Subject::Replaced(name, replaced) => {
            let mut text = fs::read_to_string(bundled(name)).map_err(|e| format!("{name}: {e}"))?;
            for (from, to) in replaced {
                if !text.contains(from) {
                    return Err(format!("{name} has no `{from}`"));
                }
                text = text.replace(from, &to.replace("@PROGRAM@", &program()).replace("@SELF@", &own));
            }
            let path = folder.0.join(name).with_extension("bt");
            fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
            vec![path.display().to_string()]
        }
        Subject::Probe(_, text) => vec!["-e".to_owned(), text.replace("@PROGRAM@", &program()).replace("@SELF@", &own)],
        Subject::Command(name) => return Err(format!("{name} is no script")),
    })
}

/// `probescope run -f json -o OUT`.
fn run(mode: Mode, out: &Path) -> Command {
    let mut command = Command::new(program());
    command.args(["run", "-f", "json", "-o"]).arg(out);
    match mode {
        Mode::Budget => drop(command.args(["--budget", "5%"])),
        Mode::FewKeys => drop(command.args(["--config", "max_map_keys=2"])),
        Mode::SmallBuffer => drop(command.args(["--config", "perf_rb_pages=1"])),
        Mode::Plain | Mode::Pid | Mode::Ended => {}
    }
    command
}

fn options(row: &Row) -> Vec<String> {
    if row.options.is_empty() {
        Vec::new()
    } else {
        std::iter::once("--").chain(row.options.iter().copied()).map(str::to_owned).collect()
    }
}

fn by_command(row: &Row, mode: Mode, folder: &Folder) -> Result<Seen, String> {
    let (out, names) = (folder.0.join("out"), names(row));
    let framed = frame(&names, &load_words(row));
    let before = read_all(&names);
    let mut command = run(mode, &out);
    command.args(["-c", &quoted(&framed)]).args(script(row, folder)?).args(options(row));
    let (stdout, stderr, code) = finish(start(command)?)?;
    let after = read_all(&names);
    let mut seen = Seen { stderr, code, ..Seen::default() };
    let told: Value = serde_json::from_str(&stdout).map_err(|e| format!("the load: {e}: {stdout}\n{}", seen.stderr))?;
    for name in &names {
        seen.inner.insert(name.clone(), told["inner"][name].as_f64().unwrap_or(0.0));
        seen.outer.insert(name.clone(), after[name] - before[name]);
    }
    seen.truth = told["truth"].clone();
    told["text"].as_str().unwrap_or_default().clone_into(&mut seen.load_text);
    let text = fs::read_to_string(&out).map_err(|e| format!("{}: {e}\n{}", out.display(), seen.stderr))?;
    seen.read(&text)?;
    Ok(seen)
}

/// The load runs beside the trace, which may be limited to it and goes on when it has ended.
fn beside(row: &Row, mode: Mode, folder: &Folder) -> Result<Seen, String> {
    let out = folder.0.join("out");
    let words = load_words(row);
    let mut load = Command::new(&words[0]);
    load.args(&words[1..]).arg("--wait");
    let mut load = start(load)?;
    let mut command = run(mode, &out);
    if mode != Mode::Ended {
        command.args(["-p", &load.id().to_string()]);
    }
    command.args(script(row, folder)?).args(options(row));
    let trace = start(command)?;
    wait_for("the trace to attach", || fs::read_to_string(&out).is_ok_and(|text| text.contains("attached_probes")))?;
    let stdin = load.stdin.as_mut().ok_or("the load has no standard input")?;
    stdin.write_all(b"\n").map_err(|e| format!("the load: {e}"))?;
    let (load_text, load_errors, load_code) = finish(load)?;
    if load_code != Some(0) {
        return Err(format!("the load ended with {load_code:?}: {load_errors}"));
    }
    // The end of the process ends the trace; one that goes on is asked to end.
    if let Some(pid) = rustix::process::Pid::from_raw(trace.id().cast_signed()) {
        std::thread::sleep(Duration::from_millis(100));
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    }
    let (_, stderr, code) = finish(trace)?;
    let mut seen = Seen { stderr, code, ..Seen::default() };
    seen.truth = serde_json::from_str(&load_text).map_err(|e| format!("the load: {e}: {load_text}"))?;
    seen.load_text = load_text;
    seen.read(&fs::read_to_string(&out).map_err(|e| format!("{}: {e}", out.display()))?)?;
    Ok(seen)
}

/// A command of ours: its words with `@PID@` for the load's process and `@LOAD@` for its command; JSON on standard output.
fn command(row: &Row) -> Result<Seen, String> {
    let load = load_words(row);
    let needs_pid = row.options.iter().any(|w| w.contains("@PID@"));
    let running = if needs_pid {
        let mut command = Command::new(&load[0]);
        command.args(&load[1..]);
        Some(start(command)?)
    } else {
        None
    };
    let pid = running.as_ref().map(Child::id).unwrap_or_default().to_string();
    let frame = frame(&[], &load);
    let own = std::env::current_exe().unwrap_or_default().display().to_string();
    let put_in = |word: &str| {
        let word = word.replace("@PID@", &pid).replace("@LOAD@", &quoted(&frame));
        word.replace("@SELF@", &own).replace("@PROGRAM@", &program())
    };
    let mut command = Command::new(program());
    command.args(row.options.iter().map(|w| put_in(w)));
    let (stdout, stderr, code) = finish(start(command)?)?;
    let mut seen = Seen { stderr, code, ..Seen::default() };
    if let Some(running) = running {
        let (text, ..) = finish(running)?;
        seen.truth = serde_json::from_str(&text).unwrap_or_default();
        seen.load_text = text;
    }
    for value in serde_json::Deserializer::from_str(&stdout).into_iter::<Value>() {
        let Ok(value) = value else { break };
        if value.get("inner").is_some() {
            seen.truth = value["truth"].clone();
            value["text"].as_str().unwrap_or_default().clone_into(&mut seen.load_text);
        } else {
            seen.value = value;
        }
    }
    seen.lines = stdout.lines().map(str::to_owned).collect();
    Ok(seen)
}

fn start(mut command: Command) -> Result<Child, String> {
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    spawned.map_err(|e| format!("{}: {e}", command.get_program().to_string_lossy()))
}

/// What it printed and said, and its exit code.
fn finish(mut child: Child) -> Result<(String, String, Option<i32>), String> {
    fn drain(from: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut from) = from {
                let _ = from.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    }
    let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
    drop(child.stdin.take());
    let mut status = None;
    let ended = wait_for("a process to end", || {
        status = child.try_wait().ok().flatten();
        status.is_some()
    });
    if ended.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    ended.map_err(|why| format!("{why}: {stderr}"))?;
    Ok((stdout, stderr, status.and_then(|s| s.code())))
}

pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), String> {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > CAP {
            return Err(format!("waited {} s for {what}", CAP.as_secs()));
        }
        // Its being so is the condition; this only paces the look.
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
