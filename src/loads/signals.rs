//! Signals between processes, ignored and deadly ones.

use std::os::unix::process::ExitStatusExt as _;

use rustix::process::{Pid, Signal, getpid, kill_process};

use super::{Load, LoadError, Plan, Truth, children};

pub const LOAD: Load = Load {
    name: "signals",
    about: "Sends signals that are ignored to itself, and SIGTERM to children.",
    truth: &[
        ("ignored", "SIGWINCH to itself, which nobody waits for"),
        ("terminated", "SIGTERM to children, which died of it"),
        ("child_ends", "SIGCHLD from the kernel for them"),
    ],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let mut random = plan.random();
    let (wanted, children) = (random.between(5, 25), random.between(2, 5));
    let failed = LoadError::at("send a signal to", "a process");
    let mut ignored = 0_u64;
    while ignored < wanted && plan.has_time() {
        kill_process(getpid(), Signal::WINCH).map_err(|e| failed(e.into()))?;
        ignored += 1;
    }
    let (mut sent, mut ended) = (0_u64, 0_u64);
    for _ in 0..children {
        // Without an end of its own: it waits for its standard input.
        let mut child = children::start(plan, &["wait"])?;
        if let Some(pid) = Pid::from_raw(child.id().cast_signed()) {
            kill_process(pid, Signal::TERM).map_err(|e| failed(e.into()))?;
            sent += 1;
        }
        let status = child.wait().map_err(LoadError::at("wait for", "a child"))?;
        ended += u64::from(status.signal() == Some(libc::SIGTERM));
    }
    Ok(Truth::new().with("ignored", ignored).with("terminated", sent).with("child_ends", ended))
}
