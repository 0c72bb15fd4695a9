//! More busy threads than a CPU has room for.

use std::time::Duration;

use super::{Load, LoadError, Plan, Truth, children, name_thread, proc};

pub const LOAD: Load = Load {
    name: "runqueue",
    about: "Busy threads named queue-runner share one CPU for a second.",
    truth: &[
        ("cpu", "the CPU"),
        ("threads", "busy threads on it"),
        ("run_ns", "their time on it, together, as the kernel counts it (schedstat)"),
        ("wait_ns", "their time in its queue, together, as the kernel counts it (schedstat)"),
        ("slices", "times that one of them got the CPU (schedstat)"),
        ("preemptions", "times that one of them had to leave it (status: nonvoluntary_ctxt_switches)"),
    ],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let cpu = proc::cpus().last().copied().unwrap_or(0);
    let threads = plan.random().between(3, 4);
    let time = plan.bounded(Duration::from_secs(1));
    let runners = (0..threads).map(|_| {
        std::thread::spawn(move || {
            name_thread("queue-runner");
            proc::pin(cpu)?;
            children::spin(time);
            let [run, wait, slices] = proc::schedstat(proc::thread_id())?;
            Ok::<_, LoadError>([run, wait, slices, proc::switches(proc::thread_id())?.1])
        })
    });
    let runners: Vec<_> = runners.collect();
    let mut sums = [0; 4];
    for runner in runners {
        let lost = || LoadError::Absent { what: "a thread", reason: "it panicked".to_owned() };
        let stat = runner.join().map_err(|_| lost())??;
        sums.iter_mut().zip(stat).for_each(|(sum, n)| *sum += n);
    }
    Ok(Truth::new()
        .with("cpu", cpu)
        .with("threads", threads)
        .with("run_ns", sums[0])
        .with("wait_ns", sums[1])
        .with("slices", sums[2])
        .with("preemptions", sums[3]))
}
