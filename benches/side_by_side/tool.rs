//! The tools that are compared: how each is started and stopped.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A tracer that runs bpftrace scripts.
pub struct Tool {
    words: Vec<String>,
    run: Vec<String>,
}

/// A tracer at work.
pub struct Running {
    child: Child,
    output: std::thread::JoinHandle<usize>,
}

impl Tool {
    /// The binary built with this bench.
    pub fn probescope() -> Self {
        Self { words: vec![env!("CARGO_BIN_EXE_probescope").into()], run: vec!["run".into()] }
    }

    /// The same with further options of `run`.
    pub fn probescope_with(options: &[&str]) -> Self {
        let run = ["run"].iter().chain(options).map(|&word| word.to_owned()).collect();
        Self { run, ..Self::probescope() }
    }

    /// bpftrace, where there is one.
    pub fn peer() -> Option<Self> {
        let words: Vec<String> = match std::env::var("PROBESCOPE_PEER") {
            Ok(command) => command.split_whitespace().map(str::to_owned).collect(),
            Err(_) => vec!["bpftrace".into()],
        };
        let found = Command::new(words.first()?).args(&words[1..]).arg("--version").output().ok()?.status.success();
        found.then_some(Self { words, run: Vec::new() })
    }

    /// Command and version.
    pub fn describe(&self) -> String {
        let version = Command::new(&self.words[0]).args(&self.words[1..]).arg("--version").output();
        let version = version.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default();
        format!("{} ({version})", self.words.join(" "))
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(&self.run).args(["-e", script]);
        command
    }

    /// Runs a script that ends by itself; its wall time and what it wrote.
    pub fn whole(&self, script: &str) -> (Duration, String) {
        let start = Instant::now();
        let output = self.command(script).stderr(Stdio::null()).output();
        (start.elapsed(), output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default())
    }

    /// Starts a script and waits until its BEGIN probe has printed `ready`, or fails after 60 s.
    pub fn start(&self, script: &str) -> Option<Running> {
        let script = format!("BEGIN {{ printf(\"ready\\n\"); }} {script}");
        let mut child = self.command(&script).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut lines = BufReader::new(child.stdout.take()?);
        let mut first = String::new();
        while lines.read_line(&mut first).ok()? > 0 && !first.contains("ready") {
            first.clear();
        }
        let output = std::thread::spawn(move || count_lines(&mut lines));
        Some(Running { child, output })
    }
}

fn count_lines(from: &mut impl Read) -> usize {
    let mut buffer = vec![0; 1 << 20];
    let mut lines = 0;
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        lines += memchr::memchr_iter(b'\n', &buffer[..n]).count();
    }
    lines
}

impl Running {
    /// Interrupts it and waits; how many further lines it printed and how long it took to end.
    pub fn stop(mut self) -> (usize, Duration, Option<ExitStatus>) {
        let start = Instant::now();
        // Under chroot(8) the process is the tracer itself, so its id is the one to signal.
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let status = self.child.wait().ok();
        let elapsed = start.elapsed();
        (self.output.join().unwrap_or(0), elapsed, status)
    }
}

/// The middle one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
