//! Where measuring threads may run, and what holds CPUs awake.

use std::fs::File;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use super::{LatencyError, Mode, Options, Policy};
use crate::disk;
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
    let everywhere = online.as_slice().iter().all(|cpu| options.cpus.contains(cpu));
    if spins && everywhere && options.runtime_ns.saturating_mul(20) > options.period_ns.saturating_mul(19) {
        let whole = if online.len() == 1 { "the only CPU" } else { "every CPU" };
        return Err(LatencyError::Options(format!(
            "real-time threads that spin over 95 % of {whole} would freeze this machine; use --runtime, or leave a CPU out"
        )));
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
    let mut file = disk::setting(Path::new(PATH)).map_err(failed)?;
    file.write_all(&us.cast_signed().to_ne_bytes()).map_err(failed)?;
    Ok(file)
}

/// The file that moves processes to a control group: of version 2 where it is mounted, else of the cpu controller of
/// version 1, as rtla does.
///
/// # Errors
/// When no control groups are mounted, or the name leads out of them.
pub fn cgroup_file(kernel: &Kernel, group: &str) -> Result<PathBuf, LatencyError> {
    let mounts = kernel.proc_text("self/mounts").unwrap_or_default();
    let row = |wanted: fn(&[&str]) -> bool| {
        let mut rows = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        rows.find(|row| row.len() > 3 && wanted(row)).map(|row| PathBuf::from(row[1]))
    };
    let mount = row(|row| row[2] == "cgroup2")
        .or_else(|| row(|row| row[2] == "cgroup" && row[3].split(',').any(|option| option == "cpu")));
    let Some(mount) = mount else { return Err(LatencyError::Options("no control groups are mounted".to_owned())) };
    let inside = Path::new(group);
    if inside.components().any(|part| part == Component::ParentDir) {
        return Err(LatencyError::Options(format!("`{group}` is no control group")));
    }
    Ok(mount.join(inside.strip_prefix("/").unwrap_or(inside)).join("cgroup.procs"))
}

/// The same of the group that this process is in.
///
/// # Errors
/// As [`cgroup_file`].
pub fn own_cgroup_file(kernel: &Kernel) -> Result<PathBuf, LatencyError> {
    let text = kernel.proc_text("self/cgroup").unwrap_or_default();
    let of = |line: &str| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        (number == "0" || controllers.split(',').any(|c| c == "cpu")).then(|| path.to_owned())
    };
    cgroup_file(kernel, &text.lines().find_map(of).unwrap_or_else(|| "/".to_owned()))
}
