//! Children of loads: this same program, asked for one small thing by `load --child`.

use std::hint::black_box;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{LoadError, Plan};

/// What a child does: `exit CODE` at once, `spin MILLISECONDS`, or `wait` until its standard input ends.
pub fn be_child(words: &[String]) -> u8 {
    let number = words.get(1).and_then(|w| w.parse::<u64>().ok()).unwrap_or(0);
    match words.first().map(String::as_str) {
        Some("exit") => number as u8,
        Some("spin") => {
            // A line says that it may begin.
            let _ = std::io::stdin().read(&mut [0; 1]);
            spin(Duration::from_millis(number));
            0
        }
        Some("wait") => u8::from(std::io::stdin().read_to_end(&mut Vec::new()).is_err()),
        _ => 64,
    }
}

/// Keeps a CPU busy.
pub fn spin(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        black_box((0..1000_u64).fold(0, |sum, n| black_box(sum + n)));
    }
}

/// Starts a child; its standard input is a pipe.
pub fn start(plan: &Plan, words: &[&str]) -> Result<Child, LoadError> {
    Command::new(&plan.program)
        .args(["load", "--child"])
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(LoadError::at("start", plan.program.display()))
}

/// Waits for a child.
pub fn end(mut child: Child) -> Result<std::process::ExitStatus, LoadError> {
    drop(child.stdin.take());
    child.wait().map_err(LoadError::at("wait for", "a child"))
}
