//! A measurement of a machine that is not there, for benches: the reader is the real one, and what the programs and the
//! measuring threads of the machine would write is written by [`Machine::cycle`].

use std::io;
use std::sync::Arc;

use super::BpfMeasurement;
use crate::engine::latency::layout::{Table, slot};
use crate::engine::latency::{Memory, Meter};
use crate::kernel::Kernel;
use crate::tracer::latency::Options;
use crate::tracer::latency::threads::{Shared, Thread};

/// The CPUs of the machine.
pub struct Machine {
    memory: Arc<Memory>,
    threads: Vec<Arc<Shared>>,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("cpus", &self.threads.len()).finish_non_exhaustive()
    }
}

impl Machine {
    /// One cycle of a measuring thread that sleeps, on each CPU: three latencies, an interrupt, a softirq, two threads
    /// of the many there are, and the timer.
    pub fn cycle(&self, number: u64) {
        for (cpu, shared) in self.threads.iter().enumerate() {
            let late = 20_000 + (number * 7919 + cpu as u64 * 104_729) % 60_000;
            let side = shared.pair.side();
            side.first.record(late);
            side.thread.record(late + 9_000);
            side.user.record(late + 12_000);
            let cpu = cpu as u32;
            let counters = self.memory.slot(cpu);
            for (member, by) in [(slot::N_IRQ, 1), (slot::T_IRQ, 2_000), (slot::N_THR, 2), (slot::T_THR, 50_000)] {
                counters.set(member, counters.get(member) + by);
            }
            self.memory.simulate_run(cpu, Table::Vector, 0, 2_000 + late % 1_000);
            self.memory.simulate_run(cpu, Table::Softirq, (number % 4) as usize + 1, 1_500);
            self.memory.simulate_run(cpu, Table::Thread, 1 + (number * 31 % 200) as usize, 25_000);
            self.memory.simulate_run(cpu, Table::Thread, 1 + (number * 17 % 200) as usize, 25_000);
            self.memory.simulate_run(cpu, Table::Timer, 1, late);
        }
    }
}

impl BpfMeasurement {
    /// A machine of so many CPUs, and the measurement of it.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn simulated(kernel: &Arc<Kernel>, cpus: u32, options: Options) -> io::Result<(Self, Machine)> {
        let memory = Arc::new(Memory::simulated(cpus as usize)?);
        let measured: Vec<u32> = (0..cpus).collect();
        let threads: Vec<Thread> = measured.iter().map(|cpu| Thread::simulated(&options, *cpu)).collect();
        let machine = Machine {
            memory: Arc::clone(&memory),
            threads: threads.iter().map(|thread| Arc::clone(&thread.shared)).collect(),
        };
        let options = Options { cpus: measured.clone(), ..options };
        super::prepare(&memory, &options, &measured);
        let cpus = super::at_first(kernel, &memory, &measured);
        Ok((Self::begin(kernel, options, (Meter::simulated(memory), threads), cpus, None), machine))
    }
}
