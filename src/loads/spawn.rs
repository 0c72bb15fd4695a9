//! A storm of short processes and threads.

use std::process::Command;

use super::{Load, LoadError, Plan, Truth, children, name_thread};

pub const LOAD: Load = Load {
    name: "spawn",
    about: "Starts processes that end at once, programs that are not there, and threads.",
    truth: &[
        ("execs", "children that became another program"),
        ("failed_execs", "children that could not: there is no such program"),
        ("exit_0", "children that ended with 0"),
        ("exit_3", "children that ended with 3"),
        ("threads", "threads named spawned that began and ended"),
    ],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let mut random = plan.random();
    let (wanted, threads) = (random.between(6, 12), random.between(10, 30));
    let (mut execs, mut failed, mut codes) = (0_u64, 0_u64, [0_u64; 2]);
    for _ in 0..wanted {
        if !plan.has_time() {
            break;
        }
        let bad = random.between(0, 1) == 1;
        let status = children::end(children::start(plan, &["exit", if bad { "3" } else { "0" }])?)?;
        execs += 1;
        match status.code() {
            Some(0) => codes[0] += 1,
            Some(3) => codes[1] += 1,
            _ => {}
        }
    }
    for _ in 0..random.between(3, 9) {
        failed += u64::from(Command::new("/nosuch/probescope-load").spawn().is_err());
    }
    for _ in 0..threads {
        let _ = std::thread::spawn(|| name_thread("spawned")).join();
    }
    Ok(Truth::new()
        .with("execs", execs)
        .with("failed_execs", failed)
        .with("exit_0", codes[0])
        .with("exit_3", codes[1])
        .with("threads", threads))
}
