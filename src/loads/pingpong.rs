//! Two threads that wake each other.

use std::fs::File;
use std::io::{Read as _, Write as _};

use super::{Load, LoadError, Plan, Truth, name_thread, proc};

pub const LOAD: Load = Load {
    name: "pingpong",
    about: "Two threads, ping and pong, on one CPU wake each other through pipes.",
    truth: &[
        ("rounds", "bytes sent there and back"),
        ("ping_switches", "times that ping left the CPU of its own will (/proc), in these rounds"),
        ("pong_switches", "times that pong did"),
    ],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let rounds = plan.random().between(200, 500);
    let cpu = proc::cpus().last().copied().unwrap_or(0);
    let no_pipe = LoadError::at("make", "a pipe");
    let pipe = || rustix::pipe::pipe().map(|(r, w)| (File::from(r), File::from(w))).map_err(|e| no_pipe(e.into()));
    let ((from_ping, to_pong), (from_pong, to_ping)) = (pipe()?, pipe()?);
    let pong = std::thread::spawn(move || play("pong", cpu, from_ping, to_ping, rounds, false));
    let ping = std::thread::spawn(move || play("ping", cpu, from_pong, to_pong, rounds, true));
    let lost = || LoadError::Absent { what: "a thread", reason: "it panicked".to_owned() };
    let ping = ping.join().map_err(|_| lost())??;
    let pong = pong.join().map_err(|_| lost())??;
    Ok(Truth::new().with("rounds", rounds).with("ping_switches", ping).with("pong_switches", pong))
}

fn play(name: &str, cpu: usize, mut from: File, mut to: File, rounds: u64, first: bool) -> Result<u64, LoadError> {
    name_thread(name);
    proc::pin(cpu)?;
    let before = proc::switches(proc::thread_id())?.0;
    let failed = LoadError::at("use", "a pipe");
    for _ in 0..rounds {
        if first {
            to.write_all(&[1]).map_err(&failed)?;
        }
        from.read_exact(&mut [0; 1]).map_err(&failed)?;
        if !first {
            to.write_all(&[1]).map_err(&failed)?;
        }
    }
    Ok(proc::switches(proc::thread_id())?.0 - before)
}
