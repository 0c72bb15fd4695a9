//! `lockstat`: threads get locks of the kernel, give them back, and wait for them.
//!
//! How long a thread waited is told when the wait is over, by the kernel's own tracepoints of contention (from 5.19 on),
//! each of which begins or ends a wait of one thread for one lock. Getting and giving back is told by functions that run a
//! million times a second: who names them asks for that.

use super::{Begin, Field, Given, Row, Source, field};

const MUTEX: (&str, &str) = ("struct mutex *", "the mutex");
const SPINLOCK: (&str, &str) = ("spinlock_t *", "the lock");
const SEMAPHORE: (&str, &str) = ("struct rw_semaphore *", "the lock");
const RWLOCK: (&str, &str) = ("struct rwlock *", "the lock");
const WAITED: (&str, &str) = ("uint64_t", "how long it waited, ns");
const SPUN: (&str, &str) = ("uint64_t", "how long it spun, ns");
const KIND: (&str, &str) = ("int", "0 where it writes, 1 where it reads");

const FIELDS: &[Field] = &[field("lock", 0, "")];
const WAIT_FIELDS: &[Field] = &[field("lock", 0, ""), field("ns", 1, "")];
const KIND_FIELDS: &[Field] = &[field("lock", 0, ""), field("kind", 1, "")];
const WAIT_KIND_FIELDS: &[Field] = &[field("lock", 0, ""), field("ns", 1, ""), field("kind", 2, "")];

/// A row.
macro_rules! row {
    ($name:literal, $about:literal, $arguments:expr, $fields:ident, $places:expr) => {
        Row {
            provider: "lockstat",
            name: $name,
            about: $about,
            arguments: &$arguments,
            fields: $fields,
            places: $places,
        }
    };
}

/// At functions' entries or returns, by trampolines; `args.NAME` is the lock.
macro_rules! function {
    ($ty:literal, $lock:literal, $($point:literal),*) => {
        &[$(&[Source { point: $point, when: "", given: &[Given::Plain($ty, concat!("(unsigned long)args.", $lock))] }]),*]
    };
}

/// The same of locks of readers and writers: 1 reads, 0 writes. They are of the type that the reference has for all of them.
macro_rules! of_readers_and_writers {
    ($($point:literal $lock:literal $kind:literal),*) => {
        &[$(&[Source {
            point: $point,
            when: "",
            given: &[
                Given::Plain("struct rwlock *", concat!("(unsigned long)args.", $lock)),
                Given::Plain("int", $kind),
            ],
        }]),*]
    };
}

/// A begin of a wait, by the kernel's flags of it: 1 spins, 2 reads, 4 writes, 16 has a part on each CPU, 32 is a mutex.
const fn begin(when: &'static str) -> Begin {
    Begin { point: "rawtracepoint:contention_begin", when, key: "(unsigned long)args.lock" }
}

static SPINS_FOR_MUTEX: Begin = begin("(args.flags & 33) == 33");
static SLEEPS_FOR_MUTEX: Begin = begin("(args.flags & 33) == 32");
static SPINS: Begin = begin("(args.flags & 39) == 1");
static SLEEPS_TO_READ: Begin = begin("(args.flags & 23) == 2");
static SLEEPS_TO_WRITE: Begin = begin("(args.flags & 23) == 4");
static SPINS_TO_READ: Begin = begin("(args.flags & 23) == 3");
static SPINS_TO_WRITE: Begin = begin("(args.flags & 23) == 5");

/// The end of a wait.
macro_rules! end {
    ($ty:literal, $begin:ident $(, $kind:literal)?) => {
        &[Source {
            point: "rawtracepoint:contention_end",
            when: "",
            given: &[
                Given::Plain($ty, "(unsigned long)args.lock"),
                Given::Since(&$begin),
                $(Given::Plain("int", $kind),)?
            ],
        }]
    };
}

/// A wait of one form that goes on in another: a thread that spun goes to sleep, or wakes and spins.
macro_rules! goes_on {
    ($begin:ident, $when:literal) => {
        &[Source {
            point: "rawtracepoint:contention_begin",
            when: $when,
            given: &[Given::Plain("struct mutex *", "(unsigned long)args.lock"), Given::Since(&$begin)],
        }]
    };
}

const SPIN_LOCKS: &[&[Source]] = function!(
    "spinlock_t *",
    "lock",
    "fexit:vmlinux:_raw_spin_lock",
    "fexit:vmlinux:_raw_spin_lock_bh",
    "fexit:vmlinux:_raw_spin_lock_irq",
    "fexit:vmlinux:_raw_spin_lock_irqsave"
);
const SPIN_UNLOCKS: &[&[Source]] = function!(
    "spinlock_t *",
    "lock",
    "fentry:vmlinux:_raw_spin_unlock",
    "fentry:vmlinux:_raw_spin_unlock_bh",
    "fentry:vmlinux:_raw_spin_unlock_irq",
    "fentry:vmlinux:_raw_spin_unlock_irqrestore"
);

pub(super) const ROWS: &[Row] = &[
    row!(
        "adaptive-acquire",
        "A thread has got a mutex.",
        [MUTEX],
        FIELDS,
        function!("struct mutex *", "lock", "fexit:vmlinux:mutex_lock")
    ),
    row!(
        "adaptive-release",
        "A thread gives a mutex back.",
        [MUTEX],
        FIELDS,
        function!("struct mutex *", "lock", "fentry:vmlinux:mutex_unlock")
    ),
    Row {
        provider: "lockstat",
        name: "adaptive-acquire-error",
        about: "A thread gives up waiting for a mutex, as a signal came.",
        arguments: &[MUTEX, ("int", "the error, negative")],
        fields: &[field("lock", 0, ""), field("error", 1, "")],
        places: &[&[Source {
            point: "rawtracepoint:contention_end",
            when: "args.ret < 0",
            given: &[
                Given::Plain("struct mutex *", "(unsigned long)args.lock"),
                Given::Plain("int", "args.ret"),
                Given::Since(&SLEEPS_FOR_MUTEX),
            ],
        }]],
    },
    row!(
        "adaptive-block",
        "A thread has slept for a mutex: until it got it, gave up, or spun for it.",
        [MUTEX, WAITED],
        WAIT_FIELDS,
        &[end!("struct mutex *", SLEEPS_FOR_MUTEX), goes_on!(SLEEPS_FOR_MUTEX, "(args.flags & 33) == 33")]
    ),
    row!(
        "adaptive-spin",
        "A thread has spun for a mutex: until it got it, or went to sleep.",
        [MUTEX, SPUN],
        WAIT_FIELDS,
        &[end!("struct mutex *", SPINS_FOR_MUTEX), goes_on!(SPINS_FOR_MUTEX, "(args.flags & 33) == 32")]
    ),
    row!("spin-acquire", "A processor has got a spinning lock.", [SPINLOCK], FIELDS, SPIN_LOCKS),
    row!("spin-release", "A processor gives a spinning lock back.", [SPINLOCK], FIELDS, SPIN_UNLOCKS),
    row!(
        "spin-spin",
        "A processor has spun for a lock.",
        [SPINLOCK, SPUN],
        WAIT_FIELDS,
        &[end!("spinlock_t *", SPINS)]
    ),
    row!(
        "rw-acquire",
        "A thread has got a lock of readers and writers: one on which threads sleep (args[0] is a struct rw_semaphore), or spin.",
        [RWLOCK, KIND],
        KIND_FIELDS,
        of_readers_and_writers!(
            "fexit:vmlinux:down_read" "sem" "1",
            "fexit:vmlinux:down_write" "sem" "0",
            "fexit:vmlinux:_raw_read_lock" "lock" "1",
            "fexit:vmlinux:_raw_read_lock_bh" "lock" "1",
            "fexit:vmlinux:_raw_read_lock_irq" "lock" "1",
            "fexit:vmlinux:_raw_read_lock_irqsave" "lock" "1",
            "fexit:vmlinux:_raw_write_lock" "lock" "0",
            "fexit:vmlinux:_raw_write_lock_bh" "lock" "0",
            "fexit:vmlinux:_raw_write_lock_irq" "lock" "0",
            "fexit:vmlinux:_raw_write_lock_irqsave" "lock" "0"
        )
    ),
    row!(
        "rw-release",
        "A thread gives a lock of readers and writers back.",
        [RWLOCK, KIND],
        KIND_FIELDS,
        of_readers_and_writers!(
            "fentry:vmlinux:up_read" "sem" "1",
            "fentry:vmlinux:up_write" "sem" "0",
            "fentry:vmlinux:_raw_read_unlock" "lock" "1",
            "fentry:vmlinux:_raw_read_unlock_bh" "lock" "1",
            "fentry:vmlinux:_raw_read_unlock_irq" "lock" "1",
            "fentry:vmlinux:_raw_read_unlock_irqrestore" "lock" "1",
            "fentry:vmlinux:_raw_write_unlock" "lock" "0",
            "fentry:vmlinux:_raw_write_unlock_bh" "lock" "0",
            "fentry:vmlinux:_raw_write_unlock_irq" "lock" "0",
            "fentry:vmlinux:_raw_write_unlock_irqrestore" "lock" "0"
        )
    ),
    row!(
        "rw-block",
        "A thread has slept for a lock of readers and writers.",
        [SEMAPHORE, WAITED, KIND],
        WAIT_KIND_FIELDS,
        &[end!("struct rw_semaphore *", SLEEPS_TO_READ, "1"), end!("struct rw_semaphore *", SLEEPS_TO_WRITE, "0"),]
    ),
    row!(
        "rw-spin",
        "A processor has spun for a lock of readers and writers.",
        [RWLOCK, SPUN, KIND],
        WAIT_KIND_FIELDS,
        &[end!("struct rwlock *", SPINS_TO_READ, "1"), end!("struct rwlock *", SPINS_TO_WRITE, "0")]
    ),
];
