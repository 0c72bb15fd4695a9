//! System management interrupts: the firmware has the CPU, and no tracepoint tells of it. Intel's processors count them
//! in a register, which the kernel's `msr` module lets root read.
//!
//! To read another CPU's register the kernel interrupts that CPU: so it is done before and after a measurement only.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Where the registers of each CPU are.
pub const REGISTERS: &str = "/dev/cpu";
/// `MSR_SMI_COUNT`.
const COUNT: u64 = 0x34;

/// How many each CPU had when measuring began.
#[derive(Debug, Default)]
pub struct Smis(Vec<(u32, File, u32)>);

impl Smis {
    /// Of CPUs whose registers can be read.
    #[must_use]
    pub fn start(registers: &Path, cpus: &[u32]) -> Self {
        let of = |cpu: &u32| {
            let file = File::open(registers.join(format!("{cpu}/msr"))).ok()?;
            let count = read(&file)?;
            Some((*cpu, file, count))
        };
        Self(cpus.iter().filter_map(of).collect())
    }

    /// Whether any can be counted.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        !self.0.is_empty()
    }

    /// The CPUs that had some since, in words.
    #[must_use]
    pub fn since(&self) -> Option<String> {
        let had = |(cpu, file, before): &(u32, File, u32)| {
            let more = read(file)?.wrapping_sub(*before);
            (more > 0).then(|| format!("CPU {cpu}: {more}"))
        };
        let told: Vec<String> = self.0.iter().filter_map(had).collect();
        (!told.is_empty()).then(|| {
            format!(
                "the firmware interrupted while this was measured (SMI), which is noise of the hardware: {}",
                told.join(", ")
            )
        })
    }
}

fn read(file: &File) -> Option<u32> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, COUNT).ok()?;
    // The register has 32 bits.
    Some(u64::from_le_bytes(bytes) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_firmware_took_is_told_by_cpu() {
        let root = std::env::temp_dir().join(format!("probescope-smi-{}", std::process::id()));
        let set = |cpu: u32, count: u32| {
            std::fs::create_dir_all(root.join(cpu.to_string())).unwrap();
            let mut registers = vec![0_u8; COUNT as usize];
            registers.extend(u64::from(count).to_le_bytes());
            std::fs::write(root.join(format!("{cpu}/msr")), registers).unwrap();
        };
        set(0, 7);
        set(1, u32::MAX);
        // Too short, as a register that the processor lacks: an error.
        std::fs::create_dir_all(root.join("2")).unwrap();
        std::fs::write(root.join("2/msr"), [0; 8]).unwrap();
        let smis = Smis::start(&root, &[0, 1, 2, 3]);
        assert!(smis.is_counted() && smis.since().is_none());
        set(1, 1);
        let told = smis.since().unwrap();
        assert!(told.ends_with(": CPU 1: 2"), "{told}");
        assert!(!Smis::start(&root, &[2, 3]).is_counted());
        std::fs::remove_dir_all(root).unwrap();
    }
}
