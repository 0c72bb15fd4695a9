//! `sysinfo`, `vminfo` and `mib`: counters of another system, by what counts up here. `arg0` is by how much.

use super::{Field, Given, Row, Source};

/// What a counter goes up by.
pub(super) const ARGUMENT: &[(&str, &str)] = &[("uint64_t", "by how much the counter goes up")];
pub(super) const FIELDS: &[Field] = &[Field { name: "by", argument: 0, member: "" }];
pub(super) const ONE: &[Given] = &[Given::Plain("uint64_t", "1")];

/// One more at each of some places.
macro_rules! one_at {
    ($($point:literal),*) => {
        &[$(&[Source { point: $point, when: "", given: ONE }]),*]
    };
}

/// As many as a system call returns.
macro_rules! returned {
    ($($point:literal),*) => {
        &[$(&[Source { point: $point, when: "args.ret > 0", given: &[Given::Plain("uint64_t", "args.ret")] }]),*]
    };
}

/// A row of a counter.
macro_rules! row {
    ($provider:literal, $name:literal, $about:literal, $places:expr) => {
        Row { provider: $provider, name: $name, about: $about, arguments: ARGUMENT, fields: FIELDS, places: $places }
    };
}

/// Pages of 4096 bytes that a request moves.
const PAGES: &[Given] = &[Given::Plain("uint64_t", "args.rq->__data_len / 4096")];

/// Bytes of a packet.
const PACKET: &[Given] = &[Given::Plain("uint64_t", "args.skb->len")];
/// Places in the stream of a connection's bytes, which are numbered by 32 bits and begin anew behind the last number: where
/// a segment that has come begins and ends, and where the next one is expected to begin.
macro_rules! begin {
    () => {
        "((struct tcp_skb_cb *)args.skb->cb)->seq"
    };
}
macro_rules! end {
    () => {
        "((struct tcp_skb_cb *)args.skb->cb)->end_seq"
    };
}
macro_rules! next {
    () => {
        "((struct tcp_sock *)args.sk)->rcv_nxt"
    };
}
/// Bytes of a connection in a segment that has come.
const SEGMENT: &[Given] = &[Given::Plain("uint64_t", concat!("(", end!(), " - ", begin!(), ") & 0xffffffff"))];
/// Bytes that a process sent or received.
const LENGTH: &[Given] = &[Given::Plain("uint64_t", "args.ret")];

pub(super) const ROWS: &[Row] = &[
    row!(
        "sysinfo",
        "sysread",
        "A process asks to read.",
        one_at!(
            "tracepoint:syscalls:sys_enter_read",
            "tracepoint:syscalls:sys_enter_readv",
            "tracepoint:syscalls:sys_enter_pread64",
            "tracepoint:syscalls:sys_enter_preadv"
        )
    ),
    row!(
        "sysinfo",
        "syswrite",
        "A process asks to write.",
        one_at!(
            "tracepoint:syscalls:sys_enter_write",
            "tracepoint:syscalls:sys_enter_writev",
            "tracepoint:syscalls:sys_enter_pwrite64",
            "tracepoint:syscalls:sys_enter_pwritev"
        )
    ),
    row!(
        "sysinfo",
        "readch",
        "A process has read so many bytes.",
        returned!(
            "tracepoint:syscalls:sys_exit_read",
            "tracepoint:syscalls:sys_exit_readv",
            "tracepoint:syscalls:sys_exit_pread64",
            "tracepoint:syscalls:sys_exit_preadv"
        )
    ),
    row!(
        "sysinfo",
        "writech",
        "A process has written so many bytes.",
        returned!(
            "tracepoint:syscalls:sys_exit_write",
            "tracepoint:syscalls:sys_exit_writev",
            "tracepoint:syscalls:sys_exit_pwrite64",
            "tracepoint:syscalls:sys_exit_pwritev"
        )
    ),
    row!(
        "sysinfo",
        "sysfork",
        "A process makes another.",
        &[&[Source {
            point: "rawtracepoint:sched_process_fork",
            when: "args.child->pid == args.child->tgid",
            given: ONE
        }]]
    ),
    row!(
        "sysinfo",
        "nthreads",
        "A thread is made.",
        &[&[Source {
            point: "rawtracepoint:sched_process_fork",
            when: "args.child->pid != args.child->tgid",
            given: ONE
        }]]
    ),
    row!("sysinfo", "sysvfork", "A process asks for a child by vfork.", one_at!("tracepoint:syscalls:sys_enter_vfork")),
    Row {
        provider: "sysinfo",
        name: "xcalls",
        about: "A processor interrupts others.",
        arguments: ARGUMENT,
        fields: FIELDS,
        // Before 6.4 it is told where the interrupt is taken.
        places: &[
            &[
                Source { point: "rawtracepoint:ipi_send_cpu", when: "", given: ONE },
                Source { point: "rawtracepoint:call_function_single_entry", when: "", given: ONE },
            ],
            &[
                Source { point: "rawtracepoint:ipi_send_cpumask", when: "", given: ONE },
                Source { point: "rawtracepoint:call_function_entry", when: "", given: ONE },
            ],
        ],
    },
    row!("sysinfo", "sysexec", "A process runs a program.", one_at!("rawtracepoint:sched_process_exec")),
    row!("sysinfo", "pswitch", "A processor goes from one thread to another.", one_at!("rawtracepoint:sched_switch")),
    row!(
        "sysinfo",
        "inv_swtch",
        "A thread that can run on has to leave its processor.",
        // A thread that is interrupted in its own code leaves at the way back there: that is no preemption to the kernel.
        &[&[
            Source {
                point: "rawtracepoint:sched_switch",
                when: "args.prev->pid != 0 && (args.preempt || args.prev_state == 0)",
                given: ONE
            },
            Source {
                point: "rawtracepoint:sched_switch",
                when: "args.prev->pid != 0 && (args.preempt || args.prev->__state == 0)",
                given: ONE
            },
            Source {
                point: "rawtracepoint:sched_switch",
                when: "args.prev->pid != 0 && (args.preempt || args.prev->state == 0)",
                given: ONE
            },
        ]]
    ),
    row!(
        "sysinfo",
        "idlethread",
        "A processor has nothing to run.",
        &[&[Source { point: "rawtracepoint:sched_switch", when: "args.next->pid == 0", given: ONE }]]
    ),
    row!("sysinfo", "mutex_adenters", "A thread waits for a lock.", one_at!("rawtracepoint:contention_begin")),
    row!(
        "vminfo",
        "as_fault",
        "A process touches a page that is not mapped.",
        one_at!("rawtracepoint:page_fault_user")
    ),
    row!(
        "vminfo",
        "kernel_asflt",
        "The kernel touches a page that is not mapped.",
        one_at!("rawtracepoint:page_fault_kernel")
    ),
    row!(
        "vminfo",
        "pgin",
        "A device is asked for pages.",
        &[&[Source {
            point: "rawtracepoint:block_rq_issue",
            when: "args.rq->__data_len > 0 && (args.rq->cmd_flags & 0xff) == 0",
            given: ONE
        }]]
    ),
    row!(
        "vminfo",
        "pgpgin",
        "A device is asked for so many pages.",
        &[&[Source {
            point: "rawtracepoint:block_rq_issue",
            when: "args.rq->__data_len > 0 && (args.rq->cmd_flags & 0xff) == 0",
            given: PAGES
        }]]
    ),
    row!(
        "vminfo",
        "pgout",
        "Pages go to a device.",
        &[&[Source {
            point: "rawtracepoint:block_rq_issue",
            when: "args.rq->__data_len > 0 && (args.rq->cmd_flags & 0xff) == 1",
            given: ONE
        }]]
    ),
    row!(
        "vminfo",
        "pgpgout",
        "So many pages go to a device.",
        &[&[Source {
            point: "rawtracepoint:block_rq_issue",
            when: "args.rq->__data_len > 0 && (args.rq->cmd_flags & 0xff) == 1",
            given: PAGES
        }]]
    ),
    row!(
        "mib",
        "tcpActiveOpens",
        "A process asks another for a connection.",
        &[&[Source { point: "rawtracepoint:inet_sock_set_state", when: "args.newstate == 2", given: ONE }]]
    ),
    row!(
        "mib",
        "tcpPassiveOpens",
        "Another has made a connection to a process.",
        &[&[Source {
            point: "rawtracepoint:inet_sock_set_state",
            when: "args.oldstate == 3 && args.newstate == 1",
            given: ONE
        }]]
    ),
    row!(
        "mib",
        "tcpOutDataBytes",
        "A process gives so many bytes to a connection.",
        &[&[
            Source {
                point: "rawtracepoint:sock_send_length",
                when: "args.sk->sk_protocol == 6 && args.ret > 0",
                given: LENGTH
            },
            Source { point: "fentry:vmlinux:tcp_sendmsg", when: "", given: &[Given::Plain("uint64_t", "args.size")] }
        ]]
    ),
    row!(
        "mib",
        "tcpInDataInorderBytes",
        "A process takes so many bytes from a connection.",
        &[&[
            Source {
                point: "rawtracepoint:sock_recv_length",
                // Who only looks (MSG_PEEK) takes nothing.
                when: "args.sk->sk_protocol == 6 && args.ret > 0 && (args.flags & 2) == 0",
                given: LENGTH
            },
            Source {
                point: "fentry:vmlinux:tcp_cleanup_rbuf",
                when: "args.copied > 0",
                given: &[Given::Plain("uint64_t", "args.copied")]
            }
        ]]
    ),
    row!(
        "mib",
        "tcpInDataUnorderBytes",
        "So many bytes come before others of the connection.",
        &[&[Source {
            point: "rawtracepoint:tcp_probe",
            when: concat!(
                "((",
                begin!(),
                " - ",
                next!(),
                " - 1) & 0xffffffff) < 0x7fffffff && ",
                end!(),
                " != ",
                begin!()
            ),
            given: SEGMENT
        }]]
    ),
    row!(
        "mib",
        "tcpInDataDupBytes",
        "So many bytes come a second time.",
        &[&[Source {
            point: "rawtracepoint:tcp_probe",
            when: concat!("((", next!(), " - ", end!(), ") & 0xffffffff) < 0x80000000 && ", end!(), " != ", begin!()),
            given: SEGMENT
        }]]
    ),
    row!(
        "mib",
        "tcpRetransBytes",
        "So many bytes are sent again.",
        &[&[Source { point: "rawtracepoint:tcp_retransmit_skb", when: "", given: PACKET }]]
    ),
    row!("mib", "tcpRetransSegs", "A segment is sent again.", one_at!("rawtracepoint:tcp_retransmit_skb")),
    row!("mib", "tcpOutRsts", "A connection is refused or broken off.", one_at!("rawtracepoint:tcp_send_reset")),
    row!(
        "mib",
        "tcpEstabResets",
        "The other side breaks a connection off.",
        // In ESTABLISHED and CLOSE_WAIT: one that never stood is refused.
        &[&[Source {
            point: "rawtracepoint:tcp_receive_reset",
            when: "args.sk->__sk_common.skc_state == 1 || args.sk->__sk_common.skc_state == 8",
            given: ONE
        }]]
    ),
];
