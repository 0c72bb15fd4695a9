//! A system call that failed, with the calls of the kernel's functions below it.

use std::sync::Arc;

use serde::Serialize;

/// Largest error number (`MAX_ERRNO`).
pub const MAX_ERRNO: i64 = 4095;

/// What a function of the kernel returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// An error number, as a number or as an `ERR_PTR`.
    Errno(u16),
    /// A null pointer.
    Null,
    /// Any other number.
    Number(i64),
    /// A pointer.
    Pointer(u64),
    /// Its return was not seen.
    Unseen,
}

/// A parameter and what was given for it, ready to be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Argument {
    /// The parameter's name; empty where the kernel tells none.
    pub name: Arc<str>,
    /// The value.
    pub value: String,
}

/// A call of one of the kernel's functions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The function.
    pub function: Arc<str>,
    /// What it was given, where that was seen.
    pub arguments: Vec<Argument>,
    /// What it returned.
    pub outcome: Outcome,
    /// It was given the error that it returned, as an `ERR_PTR`: the error is older than the call.
    pub was_given_error: bool,
    /// How long it took, with what it called, ns.
    pub duration_ns: Option<u64>,
    /// What it called in turn, in order.
    pub calls: Vec<Self>,
}

/// A system call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// When it returned, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The thread's name.
    pub comm: Arc<str>,
    /// The call.
    pub syscall: Arc<str>,
    /// What it was given.
    pub arguments: Vec<Argument>,
    /// The error number.
    pub errno: u16,
    /// How long it took, ns.
    pub duration_ns: u64,
    /// The functions that it called, in order.
    pub calls: Vec<Call>,
    /// Calls or returns were not seen: the tree may have gaps.
    pub incomplete: bool,
}

impl Failure {
    /// The calls that handed the error up, outermost first; the last one is where it came from.
    ///
    /// A function mostly returns the error of what it called last, so of the calls that failed in the same way the last
    /// counts: what it tried before, as a walk along a path without locks does, was given up. A null pointer hands an
    /// error on when something below it failed so.
    #[must_use]
    pub fn chain(&self) -> Vec<&Call> {
        let mut chain = Vec::new();
        let mut calls = &self.calls;
        while let Some(call) = calls.iter().rev().find(|call| call.hands_up(self.errno)) {
            chain.push(call);
            calls = &call.calls;
        }
        chain
    }
}

impl Call {
    fn hands_up(&self, errno: u16) -> bool {
        if self.was_given_error {
            return false;
        }
        match self.outcome {
            Outcome::Errno(own) => own == errno,
            // Without its return, or with a null pointer, what is below tells.
            Outcome::Null | Outcome::Unseen => self.calls.iter().any(|call| call.hands_up(errno)),
            Outcome::Number(_) | Outcome::Pointer(_) => false,
        }
    }

    /// The error of another kind that a call below it ended with last, if there is one: what it made its own of.
    #[must_use]
    pub fn last_error_below(&self) -> Option<&Self> {
        self.calls.iter().rev().find(|call| matches!(call.outcome, Outcome::Errno(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(function: &str, outcome: Outcome, calls: Vec<Call>) -> Call {
        Call {
            function: function.into(),
            arguments: Vec::new(),
            outcome,
            was_given_error: false,
            duration_ns: Some(1),
            calls,
        }
    }

    fn failure(errno: u16, calls: Vec<Call>) -> Failure {
        let (comm, syscall) = ("cat".into(), "openat".into());
        let arguments = Vec::new();
        Failure { at_ns: 9, pid: 1, tid: 1, comm, syscall, arguments, errno, duration_ns: 9, calls, incomplete: false }
    }

    #[test]
    fn the_last_call_that_failed_so_counts_and_null_pointers_hand_errors_on() {
        let first = call("path_openat", Outcome::Errno(10), vec![call("lookup_fast", Outcome::Errno(13), Vec::new())]);
        let deepest = call("generic_permission", Outcome::Errno(13), Vec::new());
        let unrelated = call("dput", Outcome::Number(0), Vec::new());
        let second = call("path_openat", Outcome::Errno(13), vec![deepest, unrelated]);
        let open = failure(13, vec![call("do_filp_open", Outcome::Errno(13), vec![first, second])]);
        let names = |failure: &Failure| failure.chain().iter().map(|c| c.function.to_string()).collect::<Vec<_>>();
        assert_eq!(names(&open), ["do_filp_open", "path_openat", "generic_permission"]);

        let injected = call("should_failslab", Outcome::Errno(12), Vec::new());
        let null = call("kmem_cache_alloc", Outcome::Null, vec![injected]);
        let other_null = call("get_cached_acl", Outcome::Null, Vec::new());
        assert_eq!(names(&failure(12, vec![null, other_null])), ["kmem_cache_alloc", "should_failslab"]);
        assert!(names(&failure(5, vec![call("f", Outcome::Number(-1), Vec::new())])).is_empty());

        let origin = call("step_into", Outcome::Errno(2), Vec::new());
        let mut passed_on = call("link_path_walk", Outcome::Errno(2), Vec::new());
        passed_on.was_given_error = true;
        assert_eq!(names(&failure(2, vec![origin, passed_on])), ["step_into"]);
    }
}
