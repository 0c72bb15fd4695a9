//! `sched`: which thread has a processor, which waits for one, and which gives it up.

use super::views::{LWPSINFO, PSINFO, RUN_QUEUE};
use super::{Field, Given, Row, Source, field};

const THREAD: &[(&str, &str)] = &[("lwpsinfo_t *", "the thread"), ("psinfo_t *", "its process")];
const THREAD_FIELDS: &[Field] =
    &[field("tid", 0, "pr_lwpid"), field("pid", 1, "pr_pid"), field("comm", 0, "pr_name"), field("prio", 0, "pr_pri")];
const QUEUE_FIELDS: &[Field] = &[
    field("tid", 0, "pr_lwpid"),
    field("pid", 1, "pr_pid"),
    field("comm", 0, "pr_name"),
    field("prio", 0, "pr_pri"),
    field("cpu", 2, "cpu_id"),
    Field { name: "flags", argument: 3, member: "" },
];

const CURRENT: &[Given] = &[Given::Object(&LWPSINFO, "curtask"), Given::Object(&PSINFO, "curtask")];
const NEXT: &[Given] = &[Given::Object(&LWPSINFO, "args.next"), Given::Object(&PSINFO, "args.next")];
const PREVIOUS: &[Given] = &[Given::Object(&LWPSINFO, "args.prev"), Given::Object(&PSINFO, "args.prev")];
const QUEUED: &[Given] = &[
    Given::Object(&LWPSINFO, "args.p"),
    Given::Object(&PSINFO, "args.p"),
    Given::Object(&RUN_QUEUE, "args.rq"),
    Given::Plain("int", "args.flags"),
];

/// A function of each class of threads, by a trampoline or a breakpoint.
macro_rules! queue {
    ($($class:literal),*) => {
        &[$(&[
            Source { point: concat!("fentry:vmlinux:", $class), when: "", given: QUEUED },
            Source { point: concat!("kprobe:", $class), when: "", given: QUEUED },
        ]),*]
    };
}

/// What a function without arguments of use tells: by a trampoline or a breakpoint.
macro_rules! at {
    ($($point:literal),*) => {
        &[$(Source { point: $point, when: "", given: CURRENT }),*]
    };
}

pub(super) const ROWS: &[Row] = &[
    Row {
        provider: "sched",
        name: "enqueue",
        about: "A thread that can run begins to wait for a processor.",
        arguments: &[("lwpsinfo_t *", "the thread"), ("psinfo_t *", "its process"), ("cpuinfo_t *", "the processor")],
        fields: QUEUE_FIELDS,
        places: queue!("enqueue_task_fair", "enqueue_task_rt", "enqueue_task_dl", "enqueue_task_scx"),
    },
    Row {
        provider: "sched",
        name: "dequeue",
        about: "A thread no longer waits for a processor.",
        arguments: &[
            ("lwpsinfo_t *", "the thread"),
            ("psinfo_t *", "its process"),
            ("cpuinfo_t *", "the processor"),
            ("int", "the kernel's flags: 1 when it goes to sleep"),
        ],
        fields: QUEUE_FIELDS,
        places: queue!("dequeue_task_fair", "dequeue_task_rt", "dequeue_task_dl", "dequeue_task_scx"),
    },
    Row {
        provider: "sched",
        name: "off-cpu",
        about: "The thread that runs is about to leave its processor to another.",
        arguments: &[("lwpsinfo_t *", "the thread that comes"), ("psinfo_t *", "its process")],
        fields: THREAD_FIELDS,
        places: &[&[Source { point: "rawtracepoint:sched_switch", when: "", given: NEXT }]],
    },
    Row {
        provider: "sched",
        name: "on-cpu",
        about: "A thread has got a processor, and is the one that runs.",
        arguments: &[],
        fields: THREAD_FIELDS,
        places: &[at![
            "fexit:vmlinux:finish_task_switch",
            "kretprobe:finish_task_switch",
            "kretprobe:finish_task_switch.isra.0",
            "fexit:vmlinux:finish_task_switch.isra.0"
        ]],
    },
    Row {
        provider: "sched",
        name: "sleep",
        about: "The thread that runs leaves its processor to wait for something.",
        arguments: &[],
        fields: THREAD_FIELDS,
        places: &[&[
            Source {
                point: "rawtracepoint:sched_switch",
                when: "!args.preempt && args.prev_state != 0",
                given: PREVIOUS,
            },
            Source {
                point: "rawtracepoint:sched_switch",
                when: "!args.preempt && args.prev->__state != 0",
                given: PREVIOUS,
            },
            Source {
                point: "rawtracepoint:sched_switch",
                when: "!args.preempt && args.prev->state != 0",
                given: PREVIOUS,
            },
        ]],
    },
    Row {
        provider: "sched",
        name: "preempt",
        about: "The thread that runs could go on and must leave its processor to another.",
        arguments: &[],
        fields: THREAD_FIELDS,
        places: &[&[
            Source {
                point: "rawtracepoint:sched_switch",
                when: "args.prev->pid != 0 && (args.preempt || args.prev_state == 0)",
                given: PREVIOUS,
            },
            Source {
                point: "rawtracepoint:sched_switch",
                when: "args.prev->pid != 0 && (args.preempt || args.prev->__state == 0)",
                given: PREVIOUS,
            },
            Source {
                point: "rawtracepoint:sched_switch",
                when: "args.prev->pid != 0 && (args.preempt || args.prev->state == 0)",
                given: PREVIOUS,
            },
        ]],
    },
    Row {
        provider: "sched",
        name: "remain-cpu",
        about: "The scheduler has looked for another thread, and the one that runs goes on.",
        arguments: &[],
        fields: THREAD_FIELDS,
        places: &[&[Source { point: "rawtracepoint:sched_exit_tp", when: "!args.is_switch", given: CURRENT }]],
    },
    Row {
        provider: "sched",
        name: "surrender",
        about: "The thread that runs asks that others get its processor (sched_yield).",
        arguments: THREAD,
        fields: THREAD_FIELDS,
        places: &[at!["tracepoint:syscalls:sys_enter_sched_yield"]],
    },
    Row {
        provider: "sched",
        name: "tick",
        about: "The clock of a processor strikes while the thread runs.",
        arguments: THREAD,
        fields: THREAD_FIELDS,
        places: &[at![
            "fentry:vmlinux:sched_tick",
            "kprobe:sched_tick",
            "fentry:vmlinux:scheduler_tick",
            "kprobe:scheduler_tick"
        ]],
    },
    Row {
        provider: "sched",
        name: "wakeup",
        about: "The thread that runs, or an interrupt, wakes another.",
        arguments: &[("lwpsinfo_t *", "the thread that is woken"), ("psinfo_t *", "its process")],
        fields: THREAD_FIELDS,
        places: &[&[Source {
            point: "rawtracepoint:sched_wakeup",
            when: "",
            given: &[Given::Object(&LWPSINFO, "args.p"), Given::Object(&PSINFO, "args.p")],
        }]],
    },
    Row {
        provider: "sched",
        name: "change-pri",
        about: "A thread's priority is about to change, as one with a higher waits for its lock.",
        arguments: &[("lwpsinfo_t *", "the thread"), ("psinfo_t *", "its process"), ("int", "the new priority")],
        fields: &[
            field("tid", 0, "pr_lwpid"),
            field("pid", 1, "pr_pid"),
            field("comm", 0, "pr_name"),
            field("prio", 0, "pr_pri"),
            Field { name: "to", argument: 2, member: "" },
        ],
        places: &[&[Source {
            point: "rawtracepoint:sched_pi_setprio",
            when: "",
            given: &[
                Given::Object(&LWPSINFO, "args.tsk"),
                Given::Object(&PSINFO, "args.tsk"),
                Given::Plain("int", "args.pi_task ? args.pi_task->prio : args.tsk->normal_prio"),
            ],
        }]],
    },
];
