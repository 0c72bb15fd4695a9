//! Whom an event is about: the one table by which every filter by process (`-p`, scopes) decides.
//!
//! A probe that stands in no row is about the thread that runs there: system calls, functions, samples, faults. A row
//! names another thread by the probe's arguments, or says that the kernel tells of nobody. Of a probe at several rows
//! the first one counts. Rows of semantic probes speak of the semantic probe's own arguments.

use super::glob::Glob;
use crate::model::target::Target;

/// Whom the events of a probe are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The thread that runs.
    Running,
    /// Another one, whatever runs.
    Other(Named),
    /// The thread that runs, and another one.
    Both {
        /// The other one.
        other: Named,
        /// Members of `args` that tell of the thread that runs.
        own: &'static [&'static str],
        /// Members of `args` that tell of the other one.
        others: &'static [&'static str],
    },
    /// Who asked for a request of a block device, which is remembered by device and sector.
    Requester,
    /// The process that has a socket, which is remembered by the socket's address: the expression of that.
    Owner(&'static str),
    /// Nobody that the kernel tells of.
    Nobody {
        /// Why.
        why: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
}

/// How arguments name a thread: an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The number of the thread, in the first PID namespace.
    Thread(&'static str),
    /// The number of its process, in the first PID namespace.
    Process(&'static str),
}

/// A row of the table.
struct Row {
    /// Full names of probes; `*` stands for any text.
    probes: &'static [&'static str],
    subject: Subject,
}

const fn row(probes: &'static [&'static str], subject: Subject) -> Row {
    Row { probes, subject }
}

const fn thread(text: &'static str) -> Subject {
    Subject::Other(Named::Thread(text))
}

const fn process(text: &'static str) -> Subject {
    Subject::Other(Named::Process(text))
}

const INTERRUPT: Subject = Subject::Nobody {
    why: "an interrupt, a softirq or a timer belongs to no process: it only hits the one that runs",
    instead: "run the script without the limit; `probescope latency task -p PID` tells what interrupts take from a process",
};
const CPU: Subject = Subject::Nobody {
    why: "it is about a processor, and the thread that runs has no part in it",
    instead: "run the script without the limit; sched:sched_switch tells when a process has a processor",
};
const PACKET: Subject = Subject::Nobody {
    why: "packets pass in whatever process is interrupted, before a socket is looked for",
    instead: "trace where the process sends and receives: rawtracepoint:sock_send_length and sock_recv_length, or the \
              system calls of sockets",
};
const REQUEST: Subject = Subject::Nobody {
    why: "a request is done in whatever process is interrupted",
    instead: "use io:done or tracepoint:block:block_rq_complete, which remember who asked for the request",
};
const SOCKET: Subject = Subject::Nobody {
    why: "it happens in whatever process is interrupted",
    instead: "use the tracepoint of the same name: tracepoint:sock:inet_sock_set_state, tracepoint:tcp:...",
};

const TABLE: &[Row] = &[
    // The scheduler: the thread that leaves is the one that still runs.
    row(
        &["tracepoint:sched:sched_switch"],
        Subject::Both {
            other: Named::Thread("args.next_pid"),
            own: &["prev_pid", "prev_comm", "prev_prio", "prev_state"],
            others: &["next_pid", "next_comm", "next_prio"],
        },
    ),
    row(
        &["rawtracepoint:sched_switch"],
        Subject::Both {
            other: Named::Process("args.next->tgid"),
            own: &["prev", "prev_state", "preempt"],
            others: &["next"],
        },
    ),
    row(
        &[
            "tracepoint:sched:sched_waking",
            "tracepoint:sched:sched_wakeup",
            "tracepoint:sched:sched_wakeup_new",
            "tracepoint:sched:sched_migrate_task",
            "tracepoint:sched:sched_stat_*",
            "tracepoint:sched:sched_pi_setprio",
            "tracepoint:sched:sched_process_free",
            "tracepoint:sched:sched_process_hang",
            "tracepoint:sched:sched_wait_task",
            "tracepoint:sched:sched_move_numa",
            "tracepoint:task:task_rename",
            "tracepoint:oom:*",
            "tracepoint:timer:itimer_expire",
            "tracepoint:cgroup:cgroup_attach_task",
            "tracepoint:cgroup:cgroup_transfer_tasks",
        ],
        thread("args.pid"),
    ),
    row(
        &[
            "rawtracepoint:sched_waking",
            "rawtracepoint:sched_wakeup",
            "rawtracepoint:sched_wakeup_new",
            "rawtracepoint:sched_migrate_task",
            "rawtracepoint:sched_process_free",
        ],
        process("args.p->tgid"),
    ),
    row(&["rawtracepoint:sched_pi_setprio", "rawtracepoint:sched_stat_*"], process("args.tsk->tgid")),
    row(&["rawtracepoint:task_rename"], process("args.task->tgid")),
    row(
        &["tracepoint:sched:sched_process_fork"],
        Subject::Both {
            other: Named::Thread("args.child_pid"),
            own: &["parent_pid", "parent_comm"],
            others: &["child_pid", "child_comm"],
        },
    ),
    row(
        &["rawtracepoint:sched_process_fork"],
        Subject::Both { other: Named::Process("args.child->tgid"), own: &["parent"], others: &["child"] },
    ),
    row(
        &["tracepoint:task:task_newtask"],
        Subject::Both {
            other: Named::Thread("args.pid"),
            own: &["clone_flags"],
            others: &["pid", "comm", "oom_score_adj"],
        },
    ),
    row(
        &["rawtracepoint:task_newtask"],
        Subject::Both { other: Named::Process("args.task->tgid"), own: &["clone_flags"], others: &["task"] },
    ),
    // A signal is about who sends it and who gets it.
    row(
        &["tracepoint:signal:signal_generate"],
        Subject::Both { other: Named::Thread("args.pid"), own: &[], others: &["pid", "comm"] },
    ),
    row(
        &["rawtracepoint:signal_generate"],
        Subject::Both { other: Named::Process("args.task->tgid"), own: &[], others: &["task"] },
    ),
    // Semantic probes.
    row(
        &["sched:enqueue", "sched:dequeue", "sched:wakeup", "sched:change-pri", "sched:sleep", "sched:preempt"],
        process("args.pid"),
    ),
    row(
        &["proc:create"],
        Subject::Both { other: Named::Process("args.pid"), own: &["ppid"], others: &["pid", "comm"] },
    ),
    row(
        &["proc:lwp-create"],
        Subject::Both { other: Named::Process("args.pid"), own: &[], others: &["pid", "tid", "comm"] },
    ),
    row(
        &["proc:signal-send", "proc:signal-discard"],
        Subject::Both { other: Named::Process("args.pid"), own: &[], others: &["pid", "tid", "comm"] },
    ),
    row(&["io:done", "tracepoint:block:block_rq_complete", "tracepoint:block:block_rq_error"], Subject::Requester),
    row(
        &["rawtracepoint:block_rq_complete", "rawtracepoint:block_rq_error", "rawtracepoint:block_bio_complete"],
        REQUEST,
    ),
    row(&["tracepoint:block:block_bio_complete"], REQUEST),
    row(
        &[
            "tracepoint:sock:inet_sock_set_state",
            "tracepoint:sock:sock_rcvqueue_full",
            "tracepoint:tcp:tcp_retransmit_skb",
            "tracepoint:tcp:tcp_receive_reset",
            "tracepoint:tcp:tcp_send_reset",
            "tracepoint:tcp:tcp_destroy_sock",
            "tracepoint:tcp:tcp_rcv_space_adjust",
            "tracepoint:tcp:tcp_cong_state_set",
        ],
        Subject::Owner("args.skaddr"),
    ),
    row(&["tcp:state-change", "tcp:connect-*", "tcp:accept-established"], Subject::Owner("args.socket")),
    row(
        &[
            "tracepoint:sock:inet_sk_error_report",
            "rawtracepoint:inet_sock_set_state",
            "rawtracepoint:tcp_*",
            "tracepoint:tcp:*",
            "tracepoint:udp:*",
        ],
        SOCKET,
    ),
    row(
        &[
            "ip:*",
            "tcp:*",
            "udp:*",
            "mib:udp*",
            "mib:icmp*",
            "mib:tcpInDataUnorderBytes",
            "mib:tcpInDataDupBytes",
            "mib:tcpRetrans*",
            "mib:tcpOutRsts",
            "mib:tcpEstabResets",
            "mib:tcpPassiveOpens",
            "tracepoint:net:netif_*",
            "tracepoint:net:napi_*",
            "tracepoint:net:net_dev_*",
            "tracepoint:qdisc:*",
            "tracepoint:skb:kfree_skb",
            "tracepoint:skb:consume_skb",
            "rawtracepoint:netif_*",
            "rawtracepoint:net_dev_*",
            "rawtracepoint:kfree_skb",
            "rawtracepoint:consume_skb",
        ],
        PACKET,
    ),
    row(
        &[
            "tracepoint:irq:*",
            "tracepoint:irq_vectors:*",
            "tracepoint:nmi:*",
            "tracepoint:napi:*",
            "tracepoint:timer:*_expire_*",
            "tracepoint:timer:tick_stop",
            "tracepoint:ipi:ipi_entry",
            "tracepoint:ipi:ipi_exit",
            "rawtracepoint:irq_handler_*",
            "rawtracepoint:softirq_*",
            "rawtracepoint:tasklet_*",
            "rawtracepoint:napi_poll",
            "rawtracepoint:hrtimer_expire_*",
            "rawtracepoint:timer_expire_*",
            "rawtracepoint:nmi_handler",
        ],
        INTERRUPT,
    ),
    row(
        &[
            "tracepoint:power:cpu_idle*",
            "tracepoint:power:cpu_frequency*",
            "tracepoint:cpuhp:*",
            "tracepoint:mce:*",
            "tracepoint:thermal*",
            "rawtracepoint:cpu_idle",
            "rawtracepoint:cpu_frequency",
            "sysinfo:idlethread",
        ],
        CPU,
    ),
    row(&["iter:task", "iter:task_file", "iter:task_vma"], process("ctx.task->tgid")),
    row(
        &["iter:*"],
        Subject::Nobody {
            why: "it walks objects of the kernel, which belong to no process",
            instead: "run the script without the limit",
        },
    ),
];

/// Whom the events of a probe are about, by its full name: `tracepoint:sched:sched_waking`, `io:done`.
#[must_use]
pub fn of(name: &str) -> Subject {
    let found = TABLE.iter().find(|row| row.probes.iter().any(|probe| Glob::new(probe).matches(name)));
    found.map_or(Subject::Running, |row| row.subject)
}

/// The name by which the table knows a target; none where its kind always is about the thread that runs.
#[must_use]
pub fn name(target: &Target) -> Option<String> {
    match target {
        Target::Tracepoint { category, event } => Some(format!("tracepoint:{category}:{event}")),
        Target::RawTracepoint { event, .. } => Some(format!("rawtracepoint:{event}")),
        Target::Iter { kind } => Some(format!("iter:{kind}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::point;
    use crate::probe::providers::rows;

    #[test]
    fn rows_name_probes_that_there_are() {
        for probe in TABLE.iter().flat_map(|row| row.probes) {
            let semantic = rows().any(|row| Glob::new(probe).matches(&row.point()));
            assert!(semantic || point::parse(probe).is_ok(), "{probe}");
        }
    }

    #[test]
    fn members_that_rows_of_semantic_probes_name_are_theirs() {
        for row in rows() {
            let texts = match of(&row.point()) {
                Subject::Other(Named::Process(text)) | Subject::Owner(text) => vec![text.trim_start_matches("args.")],
                Subject::Both { own, others, .. } => own.iter().chain(others).copied().collect(),
                Subject::Requester => vec!["dev", "sector"],
                _ => Vec::new(),
            };
            for text in texts {
                assert!(row.fields.iter().any(|field| field.name == text), "{} {text}", row.point());
            }
        }
    }

    #[test]
    fn events_are_about_whom_they_name() {
        assert_eq!(of("tracepoint:syscalls:sys_enter_read"), Subject::Running);
        assert_eq!(of("tracepoint:sched:sched_waking"), thread("args.pid"));
        assert_eq!(of("tracepoint:irq:softirq_entry"), INTERRUPT);
        assert_eq!(of("tcp:connect-request"), Subject::Owner("args.socket"));
        assert_eq!(of("tcp:receive"), PACKET);
    }
}
