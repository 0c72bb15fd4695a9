//! Constants that the reference's libraries define by inlines.

/// The value of a name that D's libraries define.
pub fn constant(name: &str) -> Option<i64> {
    let own = CONSTANTS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let own = own.or_else(|| super::registers::register(name));
    own.or_else(|| super::builtins::fault(name)).or_else(|| crate::lang::constants::find(name))
}

const CONSTANTS: &[(&str, i64)] = &[
    // io.d
    ("B_READ", 0x40),
    ("B_WRITE", 0x100),
    ("B_ASYNC", 0x400),
    ("B_PHYS", 0x20),
    ("B_PAGEIO", 0x10),
    ("B_BUSY", 1),
    ("B_DONE", 2),
    ("B_ERROR", 4),
    // procfs.d
    ("SSLEEP", 1),
    ("SRUN", 2),
    ("SZOMB", 3),
    ("SSTOP", 4),
    ("SIDL", 5),
    ("SONPROC", 6),
    ("SWAIT", 7),
    ("CLD_EXITED", 1),
    ("CLD_KILLED", 2),
    ("CLD_DUMPED", 3),
    // lockstat.d
    ("RW_WRITER", 0),
    ("RW_READER", 1),
];
