//! `lockstat`: threads get locks of the kernel, give them back, and wait for them.
//!
//! Waiting is told by the kernel's own tracepoints of contention (from 5.19 on), getting and giving back by functions that
//! run a million times a second: who names them asks for that.

use super::{Field, Given, Row, Source};

const LOCK: &[(&str, &str)] = &[("uintptr_t", "the lock's address")];
const FIELDS: &[Field] = &[Field { name: "lock", argument: 0, member: "" }];
const OF_FUNCTION: &[Given] = &[Given::Plain("uintptr_t", "(unsigned long)args.lock")];
const OF_SEMAPHORE: &[Given] = &[Given::Plain("uintptr_t", "(unsigned long)args.sem")];

/// A row whose argument is a lock.
macro_rules! row {
    ($name:literal, $about:literal, $places:expr) => {
        Row { provider: "lockstat", name: $name, about: $about, arguments: LOCK, fields: FIELDS, places: $places }
    };
}

/// At a function's entry or return, by a trampoline.
macro_rules! function {
    ($given:ident, $($point:literal),*) => {
        &[$(&[Source { point: $point, when: "", given: $given }]),*]
    };
}

/// Where a wait begins, by the kernel's flags of it: 1 spins, 2 reads, 4 writes, 32 is a mutex.
macro_rules! waits {
    ($when:literal) => {
        &[&[Source { point: "rawtracepoint:contention_begin", when: $when, given: OF_FUNCTION }]]
    };
}

pub(super) const ROWS: &[Row] = &[
    row!("adaptive-acquire", "A thread has got a mutex.", function!(OF_FUNCTION, "fexit:vmlinux:mutex_lock")),
    row!("adaptive-release", "A thread gives a mutex back.", function!(OF_FUNCTION, "fentry:vmlinux:mutex_unlock")),
    Row {
        provider: "lockstat",
        name: "adaptive-acquire-error",
        about: "A thread gives up waiting for a lock.",
        arguments: &[("uintptr_t", "the lock's address"), ("int", "the error, negative")],
        fields: &[Field { name: "lock", argument: 0, member: "" }, Field { name: "error", argument: 1, member: "" }],
        places: &[&[Source {
            point: "rawtracepoint:contention_end",
            when: "args.ret < 0",
            given: &[Given::Plain("uintptr_t", "(unsigned long)args.lock"), Given::Plain("int", "args.ret")],
        }]],
    },
    row!("adaptive-block", "A thread begins to wait for a mutex.", waits!("(args.flags & 33) == 32")),
    row!("adaptive-spin", "A thread begins to spin for a mutex.", waits!("(args.flags & 33) == 33")),
    row!("spin-spin", "A processor begins to spin for a lock.", waits!("(args.flags & 39) == 1")),
    row!("rw-block", "A thread begins to wait for a lock of readers and writers.", waits!("(args.flags & 6) != 0")),
    row!(
        "rw-acquire",
        "A thread has got a lock of readers and writers.",
        function!(OF_SEMAPHORE, "fexit:vmlinux:down_read", "fexit:vmlinux:down_write")
    ),
    row!(
        "rw-release",
        "A thread gives a lock of readers and writers back.",
        function!(OF_SEMAPHORE, "fentry:vmlinux:up_read", "fentry:vmlinux:up_write")
    ),
];
