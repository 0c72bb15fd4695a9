//! What processes, threads, processors and blocks of data look like to scripts.

use super::{Member, View};

pub(super) const fn m(
    name: &'static str,
    ty: &'static str,
    texts: &'static [&'static str],
    about: &'static str,
) -> Member {
    Member { name, ty, texts, about }
}

/// A process, by any of its threads.
pub(super) static PSINFO: View = View { name: "psinfo_t", root: "task_struct", members: &[PSINFO_MEMBERS] };

const PSINFO_MEMBERS: &[Member] = &[
    m("pr_pid", "int", &["R->tgid"], "the process"),
    m("pr_ppid", "int", &["R->real_parent->tgid"], "its parent"),
    m("pr_pgid", "int", &["R->signal->pids[2]->numbers[0].nr"], "its process group"),
    m("pr_sid", "int", &["R->signal->pids[3]->numbers[0].nr"], "its session"),
    m("pr_uid", "uint_t", &["R->cred->uid.val"], "its real user"),
    m("pr_euid", "uint_t", &["R->cred->euid.val"], "its effective user"),
    m("pr_gid", "uint_t", &["R->cred->gid.val"], "its real group"),
    m("pr_egid", "uint_t", &["R->cred->egid.val"], "its effective group"),
    m("pr_addr", "uintptr_t", &["(unsigned long)R"], "the kernel's task"),
    m("pr_fname", "string", &["R->comm"], "its name"),
    m(
        "pr_psargs",
        "string",
        &[
            "(unsigned long)R == (unsigned long)curtask && R->mm != 0 ? cmdline(R->mm->arg_start, R->mm->arg_end - R->mm->arg_start) : R->comm",
        ],
        "the first 79 bytes of its arguments where it is the process that runs, else its name",
    ),
    m("pr_nlwp", "int", &["R->signal->nr_threads"], "how many threads it has"),
    m("pr_dmodel", "int", &["2"], "2: 64 bits"),
    m("pr_taskid", "int", &["0"], "no such thing here"),
    m("pr_projid", "int", &["0"], "no such thing here"),
    m("pr_poolid", "int", &["0"], "no such thing here"),
    m("pr_zoneid", "int", &["0"], "no such thing here"),
];

/// A thread.
pub(super) static LWPSINFO: View = View { name: "lwpsinfo_t", root: "task_struct", members: &[LWPSINFO_MEMBERS] };

const LWPSINFO_MEMBERS: &[Member] = &[
    m("pr_lwpid", "int", &["R->pid"], "the thread"),
    m("pr_addr", "uintptr_t", &["(unsigned long)R"], "the kernel's task"),
    m("pr_pri", "int", &["R->prio"], "its priority in the kernel's numbers: less is more urgent"),
    m("pr_name", "string", &["R->comm"], "its name"),
    m(
        "pr_clname",
        "string",
        &[
            "R->policy == 0 ? \"TS\" : R->policy == 1 ? \"FF\" : R->policy == 2 ? \"RR\" : R->policy == 3 ? \"B\" : R->policy == 5 ? \"IDL\" : R->policy == 6 ? \"DLN\" : \"?\"",
        ],
        "its class, by the words of ps: TS, FF, RR, B, IDL, DLN",
    ),
    m(
        "pr_state",
        "int",
        &[
            "(R->exit_state & 0x30) ? 3 : (R->__state & 3) ? 1 : (R->__state & 0xc) ? 4 : 2",
            "(R->exit_state & 0x30) ? 3 : (R->state & 3) ? 1 : (R->state & 0xc) ? 4 : 2",
        ],
        "1 sleeps, 2 can run, 3 is dead, 4 is stopped",
    ),
    m(
        "pr_sname",
        "char",
        &[
            "(R->exit_state & 0x30) ? 90 : (R->__state & 3) ? 83 : (R->__state & 0xc) ? 84 : 82",
            "(R->exit_state & 0x30) ? 90 : (R->state & 3) ? 83 : (R->state & 0xc) ? 84 : 82",
        ],
        "the state as a letter: S, R, Z or T",
    ),
    m("pr_onpro", "int", &["R->thread_info.cpu", "R->cpu", "R->recent_used_cpu"], "the processor that it ran on last"),
    m("pr_stype", "int", &["0"], "no such thing here"),
    m("pr_wchan", "uintptr_t", &["0"], "no such thing here"),
    m("pr_flag", "int", &["(R->__state & 0xc) ? 4 : 0", "(R->state & 0xc) ? 4 : 0"], "4 where it is stopped, else 0"),
];

/// The processor that runs the probe.
pub(super) static CPUINFO: View = View { name: "cpuinfo_t", root: "task_struct", members: &[CPUINFO_MEMBERS] };

const CPUINFO_MEMBERS: &[Member] = &[
    m("cpu_id", "int", &["cpu"], "the processor"),
    m("cpu_pset", "int", &["0"], "no such thing here"),
    m("cpu_chip", "int", &["0"], "no such thing here"),
    m("cpu_lgrp", "int", &["0"], "no such thing here"),
];

/// The processor of a run queue.
pub(super) static RUN_QUEUE: View = View { name: "cpuinfo_t", root: "rq", members: &[RUN_QUEUE_MEMBERS] };

const RUN_QUEUE_MEMBERS: &[Member] = &[
    m("cpu_id", "int", &["R->cpu"], "the processor"),
    m("cpu_pset", "int", &["0"], "no such thing here"),
    m("cpu_chip", "int", &["0"], "no such thing here"),
    m("cpu_lgrp", "int", &["0"], "no such thing here"),
];
