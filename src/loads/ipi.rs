//! Interrupts from one CPU to the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::thread::{MembarrierCommand, membarrier};

use super::{Load, LoadError, Plan, Truth, children, name_thread, proc};

pub const LOAD: Load = Load {
    name: "ipi",
    about: "Interrupts its own busy threads on other CPUs by membarrier.",
    truth: &[
        ("cpus", "CPUs with a busy thread, the caller's own not counted"),
        ("membarriers", "calls of membarrier: at most an interrupt for each of these CPUs"),
        (
            "call_interrupts",
            "the kernel's count of function call interrupts meanwhile, of all CPUs (/proc/interrupts: CAL)",
        ),
    ],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let wanted = plan.random().between(300, 900);
    let failed = LoadError::at("order memory by", "membarrier");
    membarrier(MembarrierCommand::RegisterPrivateExpedited).map_err(|e| failed(e.into()))?;
    let cpus = proc::cpus();
    let (own, others) = cpus.split_first().map_or((0, &[][..]), |(own, others)| (*own, &others[..others.len().min(8)]));
    proc::pin(own)?;
    let over = Arc::new(AtomicBool::new(false));
    let busy = others.iter().map(|cpu| {
        let (over, cpu) = (Arc::clone(&over), *cpu);
        std::thread::spawn(move || {
            name_thread("ipi-target");
            let _ = proc::pin(cpu);
            while !over.load(Ordering::Relaxed) {
                children::spin(Duration::from_millis(1));
            }
        })
    });
    let busy: Vec<_> = busy.collect();
    let before = proc::interrupts("CAL");
    let mut calls = 0_u64;
    let mut result = Ok(());
    while calls < wanted && plan.has_time() && result.is_ok() {
        result = membarrier(MembarrierCommand::PrivateExpedited);
        calls += 1;
        // Others get their turn on a CPU that is wanted: who does not run is not interrupted.
        std::thread::sleep(Duration::from_micros(50));
    }
    over.store(true, Ordering::Relaxed);
    for thread in busy {
        let _ = thread.join();
    }
    result.map_err(|e| failed(e.into()))?;
    Ok(Truth::new()
        .with("cpus", others.len())
        .with("membarriers", calls)
        .with("call_interrupts", proc::interrupts("CAL") - before))
}
