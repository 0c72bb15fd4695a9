//! Where stacks end.

use super::value::{Frame, Stack};

/// Functions that programs and threads begin in: nobody has called them.
const FIRST: [&str; 13] = [
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
    "__clone",
    "__clone3",
    "clone",
    "clone3",
    "start_thread",
    "thread_start",
    "runtime.goexit",
    "runtime.mstart",
    "runtime.rt0_go",
    "_dl_start",
];

/// Kernel addresses have this bit.
const KERNEL: u64 = 1 << 63;

impl Stack {
    /// Whether the outermost frame of a program's stack is none that a program or thread begins in: the function was
    /// built without a frame pointer, so that its caller is not known, or the stack is deeper than what was asked for.
    #[must_use]
    pub fn breaks_off(&self) -> bool {
        let Some(last) = self.frames.last().filter(|f| f.address < KERNEL) else { return false };
        match &last.symbol {
            Some(name) => !is_first(name),
            // An address in no file is no caller. In a file without names it may be any function.
            None => last.object.is_none() || self.frames.iter().any(is_named),
        }
    }
}

fn is_named(frame: &Frame) -> bool {
    frame.symbol.is_some()
}

fn is_first(name: &str) -> bool {
    let bare = name.split(['@', '(']).next().unwrap_or(name);
    // `__libc_start_main_impl`, `clone3.constprop.0`, `runtime.goexit.abi0`.
    FIRST
        .iter()
        .any(|first| bare.strip_prefix(first).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_that_begins_nowhere_breaks_off() {
        let frame = |name: &str| Frame {
            address: 0x40_0000,
            symbol: Some(name).filter(|n| !n.is_empty()).map(Into::into),
            offset: 0,
            object: Some("/bin/x".into()).filter(|_| !name.is_empty()),
            inlined: false,
        };
        let breaks = |names: &[&str]| {
            Stack { frames: names.iter().map(|n| frame(n)).collect(), ..Stack::default() }.breaks_off()
        };
        assert!(!breaks(&["work", "main", "__libc_start_call_main", "__libc_start_main_impl", "_start"]));
        assert!(
            !breaks(&["f", "start_thread", "__clone3"])
                && !breaks(&["main.main", "runtime.goexit.abi0"])
                && !breaks(&[])
        );
        assert!(breaks(&["read", ""]) && breaks(&["read", "helper"]));
        let kernel = Frame { address: u64::MAX, ..frame("vfs_read") };
        assert!(!Stack { frames: [kernel].into(), ..Stack::default() }.breaks_off());
    }
}
