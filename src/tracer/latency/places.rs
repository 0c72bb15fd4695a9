//! Where measuring threads may run, and what holds CPUs awake.

use std::fs::File;
use std::io::Write as _;

use super::{LatencyError, Mode, Options, Policy};
use crate::kernel::Kernel;

/// Refuses CPUs that are not online, and what would leave nothing for the rest of the system.
///
/// # Errors
/// In plain words.
pub fn check(options: &Options, kernel: &Kernel) -> Result<(), LatencyError> {
    let online = kernel.online_cpus();
    if let Some(cpu) = options.cpus.iter().find(|cpu| !online.as_slice().contains(cpu)) {
        let told = online.as_slice().iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        return Err(LatencyError::Options(format!("CPU {cpu} is not online; these are: {told}")));
    }
    if options.mode != Mode::Passive && options.cpus.is_empty() {
        return Err(LatencyError::Options("no CPU to measure".to_owned()));
    }
    let spins = options.mode == Mode::Osnoise && options.policy != Policy::Other;
    if spins && online.len() == 1 && options.runtime_ns * 20 > options.period_ns * 19 {
        return Err(LatencyError::Options(
            "a real-time thread that spins over 95 % of the only CPU would freeze this machine; use --runtime"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Holds CPUs from idle states that take longer to leave, for as long as it lives.
///
/// # Errors
/// When the kernel has no such file or does not let it be written.
pub fn hold_dma_latency(us: u32) -> Result<File, LatencyError> {
    const PATH: &str = "/dev/cpu_dma_latency";
    let failed = |source| LatencyError::File { operation: "hold", path: PATH.to_owned(), source };
    let mut file = File::options().write(true).open(PATH).map_err(failed)?;
    file.write_all(&us.cast_signed().to_ne_bytes()).map_err(failed)?;
    Ok(file)
}
