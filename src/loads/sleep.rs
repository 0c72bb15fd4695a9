//! A thread that sleeps most of its time.

use std::time::{Duration, Instant};

use super::{Load, LoadError, Plan, Truth};

pub const LOAD: Load = Load {
    name: "sleep",
    about: "Sleeps a known number of times.",
    truth: &[
        ("sleeps", "calls of clock_nanosleep"),
        ("asked_ns", "time asked for, together"),
        ("slept_ns", "time that they took, measured around each"),
    ],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let mut random = plan.random();
    let (mut sleeps, mut asked, mut slept) = (0_u64, Duration::ZERO, Duration::ZERO);
    let wanted = random.between(20, 40);
    while sleeps < wanted && plan.has_time() {
        let time = Duration::from_millis(random.between(5, 20));
        let began = Instant::now();
        std::thread::sleep(time);
        slept += began.elapsed();
        asked += time;
        sleeps += 1;
    }
    Ok(Truth::new()
        .with("sleeps", sleeps)
        .with("asked_ns", asked.as_nanos() as u64)
        .with("slept_ns", slept.as_nanos() as u64))
}
