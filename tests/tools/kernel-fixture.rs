//! Writes `tests/fixtures/kernel` anew from the running kernel: a few event formats and the BTF of
//! what tests need. Run as root: `cargo run --example kernel-fixture -- tests/fixtures/kernel`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use probescope::kernel::btf::subset::{Wanted, subset};
use probescope::kernel::{Kernel, Roots};

const EVENTS: &[(&str, &str)] = &[
    ("syscalls", "sys_enter_openat"),
    ("syscalls", "sys_exit_openat"),
    ("syscalls", "sys_enter_execve"),
    ("syscalls", "sys_enter_getppid"),
    ("raw_syscalls", "sys_enter"),
    ("raw_syscalls", "sys_exit"),
    ("sched", "sched_switch"),
    ("sched", "sched_wakeup"),
    ("sched", "sched_process_exec"),
    ("block", "block_rq_issue"),
    ("block", "block_rq_complete"),
    ("signal", "signal_generate"),
    ("kmem", "kmalloc"),
];

const WANTED: Wanted<'_> = Wanted {
    structs: &[
        "task_struct",
        "file",
        "path",
        "dentry",
        "qstr",
        "inode",
        "sock",
        "sock_common",
        "pid",
        "nsproxy",
        "cred",
        "mm_struct",
        "linux_binprm",
        "list_head",
        "pt_regs",
        "bpf_iter__task",
        "bpf_iter__task_file",
        "bpf_iter__task_vma",
        "bpf_perf_event_data",
        "request",
        "vm_area_struct",
    ],
    enums: &["bpf_func_id", "bpf_map_type", "bpf_attach_type", "bpf_stats_type", "pid_type"],
    typedefs: &[
        "pid_t",
        "size_t",
        "u8",
        "u16",
        "u32",
        "u64",
        "s32",
        "s64",
        "umode_t",
        "dev_t",
        "sector_t",
        "uid_t",
        "gid_t",
        "bool",
        "__u32",
        "__u64",
        "__s32",
        "btf_trace_sched_switch",
        "btf_trace_sched_wakeup",
        "btf_trace_sys_enter",
        "btf_trace_sys_exit",
    ],
    functions: &[
        "vfs_read",
        "vfs_write",
        "vfs_open",
        "do_sys_openat2",
        "tcp_sendmsg",
        "tcp_connect",
        "wake_up_new_task",
        "__probestub_sched_switch",
        "__probestub_sched_wakeup",
        "__probestub_sys_enter",
        "__probestub_sys_exit",
        "bpf_iter_num_new",
    ],
    enumerators: &["TCP_ESTABLISHED", "SKB_DROP_REASON_NO_SOCKET"],
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::args().nth(1).ok_or("name the folder to write")?);
    let kernel = Kernel::new(Roots::running());
    let events = out.join("sys/kernel/tracing/events");
    for (category, event) in EVENTS {
        let from = kernel.tracefs()?.join("events").join(category).join(event).join("format");
        let Ok(text) = std::fs::read_to_string(&from) else { continue };
        let folder = events.join(category).join(event);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("format"), text)?;
    }
    let btf = out.join("sys/kernel/btf");
    std::fs::create_dir_all(&btf)?;
    let bytes = subset(kernel.btf()?, &WANTED);
    println!("{} bytes of BTF", bytes.len());
    std::fs::write(btf.join("vmlinux"), bytes)?;
    let listed: String = EVENTS.iter().map(|(c, e)| format!("{c}:{e}\n")).collect();
    std::fs::write(out.join("sys/kernel/tracing/available_events"), listed)?;
    Ok(())
}
