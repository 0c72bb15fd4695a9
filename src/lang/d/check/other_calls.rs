//! System calls by the names that other systems have for them, and by those that libraries have and the kernel has not.
//!
//! A name that this kernel has is its own call and nothing else (`open`). Another one stands for what programs call today
//! where they mean it: `open64` is `open`, and `openat` with the arguments behind its directory.

use crate::lang::facts::Facts;

/// A call of Linux that another name stands for.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    pub name: &'static str,
    /// As its tracepoints have it.
    pub call: &'static str,
    /// Which of its arguments are the other's, in order; none named: all, as they are.
    pub arguments: &'static [u8],
    /// What its flags must be.
    flags: Option<Flags>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Flags {
    argument: u8,
    mask: u32,
    set: u32,
}

const AT_SYMLINK_NOFOLLOW: u32 = 0x100;
const AT_REMOVEDIR: u32 = 0x200;
const AT_EMPTY_PATH: u32 = 0x1000;

/// Flags by which calls of one number are `stat`, `lstat` and `fstat`.
const fn of_file(argument: u8, set: u32) -> Option<Flags> {
    // A descriptor alone is told of whether links are followed or not.
    let mask = if set == AT_EMPTY_PATH { AT_EMPTY_PATH } else { AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH };
    Some(Flags { argument, mask, set })
}

const fn removes(set: u32) -> Option<Flags> {
    Some(Flags { argument: 2, mask: AT_REMOVEDIR, set })
}

const fn same(name: &'static str, call: &'static str) -> Call {
    Call { name, call, arguments: &[], flags: None }
}

const fn moved(name: &'static str, call: &'static str, arguments: &'static [u8]) -> Call {
    Call { name, call, arguments, flags: None }
}

const fn flagged(name: &'static str, call: &'static str, arguments: &'static [u8], flags: Option<Flags>) -> Call {
    Call { name, call, arguments, flags }
}

const CALLS: &[Call] = &[
    same("open64", "open"),
    moved("open64", "openat", &[1, 2, 3]),
    same("creat64", "creat"),
    same("stat", "newstat"),
    flagged("stat", "newfstatat", &[1, 2], of_file(3, 0)),
    flagged("stat", "statx", &[1, 4], of_file(2, 0)),
    same("lstat", "newlstat"),
    flagged("lstat", "newfstatat", &[1, 2], of_file(3, AT_SYMLINK_NOFOLLOW)),
    flagged("lstat", "statx", &[1, 4], of_file(2, AT_SYMLINK_NOFOLLOW)),
    same("fstat", "newfstat"),
    flagged("fstat", "newfstatat", &[0, 2], of_file(3, AT_EMPTY_PATH)),
    flagged("fstat", "statx", &[0, 4], of_file(2, AT_EMPTY_PATH)),
    same("fstatat", "newfstatat"),
    same("fstatat64", "newfstatat"),
    same("uname", "newuname"),
    same("pread", "pread64"),
    same("pwrite", "pwrite64"),
    same("exec", "execve"),
    same("exece", "execve"),
    same("recv", "recvfrom"),
    same("send", "sendto"),
    same("rexit", "exit_group"),
    same("forksys", "fork"),
    // Calls that arm64 never had.
    moved("open", "openat", &[1, 2, 3]),
    moved("access", "faccessat", &[1, 2]),
    moved("chmod", "fchmodat", &[1, 2]),
    moved("chown", "fchownat", &[1, 2, 3]),
    moved("link", "linkat", &[1, 3]),
    moved("mkdir", "mkdirat", &[1, 2]),
    moved("readlink", "readlinkat", &[1, 2, 3]),
    moved("rename", "renameat", &[1, 3]),
    moved("rename", "renameat2", &[1, 3]),
    flagged("rmdir", "unlinkat", &[1], removes(AT_REMOVEDIR)),
    moved("symlink", "symlinkat", &[0, 2]),
    flagged("unlink", "unlinkat", &[1], removes(0)),
];

/// Where the arguments of a system call are in `uregs[ ]` while it returns.
const REGISTERS: [u8; 6] = if cfg!(target_arch = "x86_64") { [14, 13, 12, 7, 9, 8] } else { [0, 1, 2, 3, 4, 5] };

impl Call {
    /// Every argument is the call's own.
    pub const fn is_plain(&self) -> bool {
        self.arguments.is_empty()
    }

    /// The call's argument that is the other's `number`th.
    pub fn argument(&self, number: u8) -> Option<u8> {
        if self.is_plain() { Some(number) } else { self.arguments.get(usize::from(number)).copied() }
    }

    /// When a call of Linux is one of the other name, in D, by the words that it was called with.
    pub fn condition(&self, returns: bool) -> Option<String> {
        let Flags { argument, mask, set } = self.flags?;
        Some(if returns {
            format!("(uregs[{}] & {mask}) == {set}", REGISTERS[usize::from(argument)])
        } else {
            format!("(arg{argument} & {mask}) == {set}")
        })
    }
}

/// Calls that a name stands for which this kernel has no call of.
pub fn of_name(name: &str, facts: &dyn Facts) -> impl Iterator<Item = &'static Call> {
    let name = match name {
        "stat64" => "stat",
        "lstat64" => "lstat",
        "fstat64" => "fstat",
        other => other,
    };
    let name = CALLS.iter().find(|call| call.name == name).map(|call| call.name);
    // With what a call was made is read from its registers when it returns.
    let tells_registers = facts.enumerator("BPF_FUNC_task_pt_regs").is_some();
    CALLS.iter().filter(move |call| Some(call.name) == name && (call.flags.is_none() || tells_registers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_counted_from_the_path_on() {
        let call = |name, linux| CALLS.iter().find(|c| c.name == name && c.call == linux).unwrap();
        let openat = call("open64", "openat");
        assert_eq!([0, 1, 2, 3].map(|n| openat.argument(n)), [Some(1), Some(2), Some(3), None]);
        assert_eq!(call("open64", "open").argument(5), Some(5));
        assert_eq!(call("fstat", "statx").argument(1), Some(4));
    }

    #[test]
    fn one_call_has_one_name_by_its_flags() {
        for flags in [0, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, 0x800] {
            for linux in ["newfstatat", "statx", "unlinkat"] {
                let of_flags = CALLS.iter().filter(|call| call.call == linux).filter_map(|call| call.flags);
                let fitting = of_flags.filter(|f| flags & f.mask == f.set).count();
                assert_eq!(fitting, 1, "{linux} {flags:#x}");
            }
        }
    }
}
