//! `proc`: processes and threads begin, run programs, get signals and end.

use super::views::{LWPSINFO, PSINFO};
use super::{Field, Given, Row, Source, field};

const fn plain(name: &'static str, argument: usize) -> Field {
    Field { name, argument, member: "" }
}

const LWP: (&str, &str) = ("lwpsinfo_t *", "the thread");
const PS: (&str, &str) = ("psinfo_t *", "the process");

const CHILD_RETURNS: &[&[Source]] = &[
    &[Source { point: "tracepoint:syscalls:sys_exit_clone", when: "args.ret == 0 && pid == tid", given: SELF }],
    &[Source { point: "tracepoint:syscalls:sys_exit_clone3", when: "args.ret == 0 && pid == tid", given: SELF }],
    &[Source { point: "tracepoint:syscalls:sys_exit_fork", when: "args.ret == 0 && pid == tid", given: SELF }],
    &[Source { point: "tracepoint:syscalls:sys_exit_vfork", when: "args.ret == 0 && pid == tid", given: SELF }],
];

const THREAD_RETURNS: &[&[Source]] = &[
    &[Source { point: "tracepoint:syscalls:sys_exit_clone", when: "args.ret == 0", given: SELF }],
    &[Source { point: "tracepoint:syscalls:sys_exit_clone3", when: "args.ret == 0", given: SELF }],
    &[Source { point: "tracepoint:syscalls:sys_exit_fork", when: "args.ret == 0", given: SELF }],
    &[Source { point: "tracepoint:syscalls:sys_exit_vfork", when: "args.ret == 0", given: SELF }],
];

const SELF: &[Given] = &[Given::Object(&LWPSINFO, "curtask"), Given::Object(&PSINFO, "curtask")];
const CHILD: &[Given] = &[Given::Object(&LWPSINFO, "args.child"), Given::Object(&PSINFO, "args.child")];
const SIGNALLED: &[Given] =
    &[Given::Object(&LWPSINFO, "args.task"), Given::Object(&PSINFO, "args.task"), Given::Plain("int", "args.sig")];
const SIGNAL_FIELDS: &[Field] =
    &[plain("signal", 2), field("pid", 1, "pr_pid"), field("tid", 0, "pr_lwpid"), field("comm", 1, "pr_fname")];

/// How a process ended: CLD_EXITED, CLD_KILLED or CLD_DUMPED.
const ENDED: &str = "(args.p->exit_code & 0x7f) == 0 ? 1 : (args.p->exit_code & 0x80) ? 3 : 2";
const EXIT: &[Given] = &[
    Given::Plain("int", ENDED),
    Given::Object(&PSINFO, "args.p"),
    Given::Plain("int", "(args.p->exit_code >> 8) & 0xff"),
    Given::Plain("int", "args.p->exit_code & 0x7f"),
    Given::Object(&LWPSINFO, "args.p"),
];

pub(super) const ROWS: &[Row] = &[
    Row {
        provider: "proc",
        name: "create",
        about: "A process is made by another, which is the one that runs.",
        arguments: &[("psinfo_t *", "the new process")],
        fields: &[field("pid", 0, "pr_pid"), field("comm", 0, "pr_fname"), field("ppid", 0, "pr_ppid")],
        places: &[&[Source {
            point: "rawtracepoint:sched_process_fork",
            when: "args.child->pid == args.child->tgid",
            given: &[Given::Object(&PSINFO, "args.child")],
        }]],
    },
    Row {
        provider: "proc",
        name: "lwp-create",
        about: "A thread is made by another, which is the one that runs; the first of a process, too.",
        arguments: &[("lwpsinfo_t *", "the new thread"), ("psinfo_t *", "its process")],
        fields: &[field("tid", 0, "pr_lwpid"), field("pid", 1, "pr_pid"), field("comm", 0, "pr_name")],
        places: &[&[Source { point: "rawtracepoint:sched_process_fork", when: "", given: CHILD }]],
    },
    Row {
        provider: "proc",
        name: "start",
        about: "A new process begins to run, and is the one that runs.",
        arguments: &[],
        fields: &[field("pid", 1, "pr_pid"), field("ppid", 1, "pr_ppid"), field("comm", 1, "pr_fname")],
        places: CHILD_RETURNS,
    },
    Row {
        provider: "proc",
        name: "lwp-start",
        about: "A new thread begins to run, and is the one that runs.",
        arguments: &[],
        fields: &[field("tid", 0, "pr_lwpid"), field("pid", 1, "pr_pid"), field("comm", 0, "pr_name")],
        places: THREAD_RETURNS,
    },
    Row {
        provider: "proc",
        name: "exec",
        about: "A process asks for another program to run in its place.",
        arguments: &[("string", "the program's path as it was given")],
        fields: &[plain("path", 0)],
        places: &[
            &[Source {
                point: "tracepoint:syscalls:sys_enter_execve",
                when: "",
                given: &[Given::Plain("string", "str(args.filename)")],
            }],
            &[Source {
                point: "tracepoint:syscalls:sys_enter_execveat",
                when: "",
                given: &[Given::Plain("string", "str(args.filename)")],
            }],
        ],
    },
    Row {
        provider: "proc",
        name: "exec-success",
        about: "The new program is in place and about to run.",
        arguments: &[],
        fields: &[
            plain("path", 0),
            field("pid", 1, "pr_pid"),
            field("ppid", 1, "pr_ppid"),
            field("comm", 1, "pr_fname"),
            field("uid", 1, "pr_uid"),
        ],
        places: &[&[Source {
            point: "rawtracepoint:sched_process_exec",
            when: "",
            given: &[Given::Plain("string", "str(args.bprm->filename)"), Given::Object(&PSINFO, "args.p")],
        }]],
    },
    Row {
        provider: "proc",
        name: "exec-failure",
        about: "The new program can't be run; the old one goes on.",
        arguments: &[("int", "the error's number")],
        fields: &[plain("error", 0)],
        places: &[
            &[Source {
                point: "tracepoint:syscalls:sys_exit_execve",
                when: "args.ret < 0",
                given: &[Given::Plain("int", "0 - args.ret")],
            }],
            &[Source {
                point: "tracepoint:syscalls:sys_exit_execveat",
                when: "args.ret < 0",
                given: &[Given::Plain("int", "0 - args.ret")],
            }],
        ],
    },
    Row {
        provider: "proc",
        name: "exit",
        about: "A process ends: the last of its threads does.",
        arguments: &[("int", "1 by itself, 2 by a signal, 3 by a signal that left a core dump")],
        fields: &[
            plain("reason", 0),
            plain("code", 2),
            plain("signal", 3),
            field("pid", 1, "pr_pid"),
            field("ppid", 1, "pr_ppid"),
            field("comm", 1, "pr_fname"),
        ],
        places: &[&[
            Source { point: "rawtracepoint:sched_process_exit", when: "args.group_dead", given: EXIT },
            Source {
                point: "rawtracepoint:sched_process_exit",
                when: "args.p->signal->live.counter == 0",
                given: EXIT,
            },
        ]],
    },
    Row {
        provider: "proc",
        name: "lwp-exit",
        about: "A thread ends; the last of a process, too.",
        arguments: &[],
        fields: &[field("tid", 4, "pr_lwpid"), field("pid", 1, "pr_pid"), field("comm", 4, "pr_name")],
        places: &[&[Source { point: "rawtracepoint:sched_process_exit", when: "", given: EXIT }]],
    },
    Row {
        provider: "proc",
        name: "signal-send",
        about: "A signal is sent by what runs to a thread or a process.",
        arguments: &[("lwpsinfo_t *", "the thread that gets it"), ("psinfo_t *", "its process"), ("int", "the signal")],
        fields: SIGNAL_FIELDS,
        places: &[&[Source { point: "rawtracepoint:signal_generate", when: "args.result == 0", given: SIGNALLED }]],
    },
    Row {
        provider: "proc",
        name: "signal-discard",
        about: "A signal is dropped, as the process ignores it.",
        arguments: &[LWP, PS, ("int", "the signal")],
        fields: SIGNAL_FIELDS,
        places: &[&[Source { point: "rawtracepoint:signal_generate", when: "args.result == 1", given: SIGNALLED }]],
    },
    Row {
        provider: "proc",
        name: "signal-handle",
        about: "A thread takes a signal that was sent to it.",
        arguments: &[("int", "the signal"), ("siginfo_t *", "what came with it"), ("uintptr_t", "the handler")],
        fields: &[plain("signal", 0), plain("info", 1), plain("handler", 2)],
        places: &[&[Source {
            point: "rawtracepoint:signal_deliver",
            when: "",
            // A signal that ends the whole process reaches its threads as SIGKILL.
            given: &[
                Given::Plain(
                    "int",
                    "args.sig == 9 && curtask->signal->group_exit_code != 0 ? curtask->signal->group_exit_code & 0x7f : \
                     args.sig",
                ),
                Given::Plain("siginfo_t *", "(unsigned long)args.info"),
                Given::Plain("uintptr_t", "(unsigned long)args.ka->sa.sa_handler"),
            ],
        }]],
    },
    Row {
        provider: "proc",
        name: "signal-clear",
        about: "A thread has waited for a signal and got it.",
        arguments: &[("int", "the signal")],
        fields: &[plain("signal", 0)],
        places: &[&[Source {
            point: "tracepoint:syscalls:sys_exit_rt_sigtimedwait",
            when: "args.ret > 0",
            given: &[Given::Plain("int", "args.ret")],
        }]],
    },
];
