//! Probes that most kernels have, and what scripts may read there.

/// Probes with the same context.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    pub points: &'static [&'static str],
    pub integers: &'static [&'static str],
    pub strings: &'static [&'static str],
    /// Pointers to text.
    pub pointers: &'static [&'static str],
    /// Lists of texts, for `join()`.
    pub lists: &'static [&'static str],
}

/// What every probe offers.
pub const ANYWHERE: Probe = Probe {
    points: &[],
    integers: &[
        "pid",
        "tid",
        "uid",
        "gid",
        "cpu",
        "nsecs",
        "elapsed",
        "rand",
        "ncpus",
        "jiffies",
        "cgroup",
        "numaid",
        "ppid",
        "curtask.pid",
        "curtask.real_parent.tgid",
        "curtask.flags",
        "curtask.mm.total_vm",
        "nsecs(boot)",
        "nsecs(monotonic)",
        "sizeof(struct task_struct)",
    ],
    strings: &["comm", "curtask.comm", "curtask.real_parent.comm", "pcomm", "comm"],
    pointers: &[],
    lists: &[],
};

pub const PROBES: &[Probe] = &[
    Probe {
        points: &["begin", "end", "interval:s:1", "self:signal:SIGUSR1"],
        integers: &[],
        strings: &[],
        pointers: &[],
        lists: &[],
    },
    Probe {
        points: &["tracepoint:syscalls:sys_enter_openat"],
        integers: &["args.dfd", "args.flags", "args.mode", "args.__syscall_nr"],
        strings: &["str(args.filename)", "str(args.filename, 20)"],
        pointers: &["args.filename", "uptr(args.filename)"],
        lists: &[],
    },
    Probe {
        points: &[
            "tracepoint:syscalls:sys_exit_read",
            "tracepoint:syscalls:sys_exit_read,tracepoint:syscalls:sys_exit_write",
            "tracepoint:syscalls:sys_exit_*at",
        ],
        integers: &["args.ret"],
        strings: &[],
        pointers: &["args.ret"],
        lists: &[],
    },
    Probe {
        points: &["tracepoint:raw_syscalls:sys_enter"],
        integers: &["args.id", "args.args[0]", "args.args[5]", "args.args[1]"],
        strings: &[],
        pointers: &["args.args[1]", "args.args[0]"],
        lists: &[],
    },
    Probe {
        points: &["tracepoint:sched:sched_switch"],
        integers: &["args.prev_pid", "args.prev_prio", "args.prev_state", "args.next_pid", "args.next_prio"],
        strings: &["args.prev_comm", "args.next_comm"],
        pointers: &[],
        lists: &[],
    },
    Probe {
        points: &["tracepoint:sched:sched_process_exec"],
        integers: &["args.pid", "args.old_pid"],
        strings: &["args.filename", "str(args.filename)"],
        pointers: &[],
        lists: &[],
    },
    Probe {
        points: &["rawtracepoint:sched_switch"],
        integers: &["args.prev.pid", "args.next.prio", "args.prev.mm.total_vm", "arg0", "arg1", "args.next.flags"],
        strings: &["args.prev.comm", "args.next.comm", "args.next.real_parent.comm"],
        pointers: &["args.prev.comm", "arg1"],
        lists: &[],
    },
    Probe {
        points: &["kprobe:vfs_read", "kprobe:vfs_read,kprobe:vfs_write", "kprobe:vfs_*"],
        integers: &["arg0", "arg1", "arg2", "((struct file *)arg0).f_flags", "reg(\"ip\")", "arg7"],
        strings: &["str(arg1)", "str(((struct file *)arg0).f_path.dentry.d_name.name)"],
        pointers: &["arg1", "((struct file *)arg0).f_path.dentry.d_name.name"],
        lists: &[],
    },
    Probe {
        points: &["kretprobe:vfs_read", "kretprobe:vfs_*"],
        integers: &["retval"],
        strings: &[],
        pointers: &["retval"],
        lists: &[],
    },
    Probe {
        points: &["fentry:vfs_read"],
        integers: &["args.count", "args.file.f_flags", "args.file.f_inode.i_ino"],
        strings: &["str(args.buf)", "str(args.file.f_path.dentry.d_name.name)"],
        pointers: &["args.buf"],
        lists: &[],
    },
    Probe {
        points: &["fexit:vfs_read"],
        integers: &["retval", "args.count", "args.file.f_mode"],
        strings: &[],
        pointers: &["args.buf"],
        lists: &[],
    },
    Probe {
        points: &["uprobe:/lib/x86_64-linux-gnu/libc.so.6:malloc", "uprobe:libc:puts"],
        integers: &["arg0", "arg1", "reg(\"sp\")", "*(uint64*)uptr(reg(\"sp\"))"],
        strings: &["str(arg0)"],
        pointers: &["arg0", "uptr(arg1)"],
        lists: &[],
    },
    Probe {
        points: &["uretprobe:/lib/x86_64-linux-gnu/libc.so.6:malloc"],
        integers: &["retval"],
        strings: &[],
        pointers: &["retval"],
        lists: &[],
    },
    Probe {
        points: &["profile:hz:99", "software:page-faults:100"],
        integers: &["reg(\"ip\")", "usermode"],
        strings: &[],
        pointers: &["reg(\"ip\")"],
        lists: &[],
    },
    Probe {
        points: &["tracepoint:syscalls:sys_enter_execve"],
        integers: &["args.__syscall_nr"],
        strings: &["str(args.filename)", "str(args.argv[0])"],
        pointers: &["args.filename", "args.argv[1]"],
        lists: &["args.argv"],
    },
    Probe {
        points: &["rawtracepoint:sys_enter"],
        integers: &["arg0", "arg1", "args.id", "args.regs.di"],
        strings: &["str(args.regs.si)"],
        pointers: &["arg1"],
        lists: &[],
    },
    Probe {
        points: &["iter:task", "iter:task_file"],
        integers: &["ctx.task.pid", "ctx.task.flags", "ctx.meta.seq_num"],
        strings: &["ctx.task.comm"],
        pointers: &[],
        lists: &[],
    },
    Probe {
        points: &["usdt:libc:setjmp", "usdt:libc:memory_sbrk_more"],
        integers: &["arg0", "arg1"],
        strings: &["str(arg0)"],
        pointers: &["arg0"],
        lists: &[],
    },
];
