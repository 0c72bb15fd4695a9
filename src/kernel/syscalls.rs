//! System calls: numbers and names of 64-bit calls, and the names that their tracepoints have.

mod tables;

/// Machines whose numbers are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86-64.
    X86_64,
    /// 64-bit ARM.
    Arm64,
}

impl Machine {
    /// The machine that this program was built for.
    pub const HOST: Self = if cfg!(target_arch = "x86_64") { Self::X86_64 } else { Self::Arm64 };

    /// The calls that this machine numbers in its own way.
    const fn table(self) -> &'static [(u16, &'static str)] {
        match self {
            Self::X86_64 => tables::x86_64::CALLS,
            Self::Arm64 => tables::arm64::CALLS,
        }
    }
}

/// Tracepoints are named after the kernel's functions, which differ from the call's name here
/// (`arch/x86/entry/syscalls/syscall_64.tbl`, third column).
const EVENT_NAMES: &[(&str, &str)] = &[
    ("newstat", "stat"),
    ("newfstat", "fstat"),
    ("newlstat", "lstat"),
    ("newuname", "uname"),
    ("sendfile64", "sendfile"),
    ("umount", "umount2"),
    ("fadvise64_64", "fadvise64"),
];

/// Name of a call, as in `man 2`.
#[must_use]
pub fn name(machine: Machine, number: u64) -> Option<&'static str> {
    [machine.table(), tables::SHARED].into_iter().find_map(|table| {
        let at = table.binary_search_by_key(&number, |(n, _)| u64::from(*n)).ok()?;
        table.get(at).map(|(_, name)| *name)
    })
}

/// Number of a call by its name.
#[must_use]
pub fn number(machine: Machine, name: &str) -> Option<u16> {
    all(machine).find(|(_, n)| *n == name).map(|(number, _)| number)
}

/// Number of the call that the tracepoints `sys_enter_NAME` and `sys_exit_NAME` belong to.
#[must_use]
pub fn number_of_event(machine: Machine, event: &str) -> Option<u16> {
    let suffix = event.strip_prefix("sys_enter_").or_else(|| event.strip_prefix("sys_exit_"))?;
    let call = EVENT_NAMES.iter().find(|(e, _)| *e == suffix).map_or(suffix, |(_, call)| call);
    number(machine, call)
}

/// All calls of a machine: number and name, ascending by number.
pub fn all(machine: Machine) -> impl Iterator<Item = (u16, &'static str)> {
    machine.table().iter().chain(tables::SHARED).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_both_machines() {
        assert_eq!(number(Machine::X86_64, "openat"), Some(257));
        assert_eq!(number(Machine::Arm64, "openat"), Some(56));
        assert_eq!(name(Machine::X86_64, 39), Some("getpid"));
        assert_eq!(name(Machine::Arm64, 172), Some("getpid"));
        assert_eq!(name(Machine::X86_64, 100_000), None);
        assert_eq!(number_of_event(Machine::X86_64, "sys_exit_newfstat"), Some(5));
    }

    #[test]
    fn tables_are_sorted() {
        for machine in [Machine::X86_64, Machine::Arm64] {
            assert!(all(machine).is_sorted_by(|(a, _), (b, _)| a < b));
            assert_eq!(number(machine, "statmount"), Some(457));
            assert_eq!(name(machine, 437), Some("openat2"));
        }
    }
}
