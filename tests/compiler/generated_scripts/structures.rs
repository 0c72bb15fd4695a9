//! Structures of the kernel that all kernels have alike, and what scripts may read of them. `¤` stands
//! for the pointer, `§` for a number.

/// A structure of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Structure {
    pub name: &'static str,
    pub integers: &'static [&'static str],
    pub strings: &'static [&'static str],
    /// Pointers to other structures, by their place in [`STRUCTURES`].
    pub links: &'static [(&'static str, usize)],
}

pub const TASK: usize = 0;
pub const FILE: usize = 1;
pub const DENTRY: usize = 2;
pub const INODE: usize = 3;
pub const SOCK: usize = 4;
pub const BUFFER: usize = 5;
pub const MEMORY: usize = 6;

pub const STRUCTURES: &[Structure] = &[
    Structure {
        name: "task_struct",
        integers: &[
            "¤.pid",
            "¤.tgid",
            "¤.flags",
            "¤.prio",
            "¤.policy",
            "¤.exit_code",
            "¤.in_execve",
            "¤.sched_reset_on_fork",
            "¤.nvcsw",
            "¤.start_time",
            "¤.se.vruntime",
            "¤.se.sum_exec_runtime",
            "¤.cpus_mask.bits[0]",
            "¤.thread.tls_array[0].limit0",
            "¤.thread.tls_array[§ & 1].base1",
            "¤.signal.rlim[3].rlim_cur",
            "¤.signal.rlim[§ & 7].rlim_max",
            "¤.nsproxy.pid_ns_for_children.level",
            "¤.cred.euid.val",
            "¤.mm.total_vm",
            "¤.mm.mm_users.counter",
            "¤.mm.saved_auxv[3]",
            "¤.mm.saved_auxv[§ & 7]",
            "¤.fs.umask",
            "¤.files.fdt.max_fds",
            "¤.comm[0]",
            "¤.comm[§ & 7]",
            "¤.thread_pid.numbers[0].nr",
            "¤.pending.signal.sig[0]",
            "¤.sighand.action[§ & 31].sa.sa_flags",
            "(int64)¤.real_parent",
            "¤.sas_ss_size",
        ],
        strings: &[
            "¤.comm",
            "¤.group_leader.comm",
            "¤.nsproxy.uts_ns.name.nodename",
            "str(¤.nsproxy.uts_ns.name.release)",
            "str(¤.mm.exe_file.f_path.dentry.d_name.name)",
            "str(¤.files.fdt.fd[1].f_path.dentry.d_name.name, 20)",
            "str(¤.files.fdt.fd[§ & 3].f_path.dentry.d_name.name)",
            "str(¤.fs.pwd.dentry.d_name.name)",
            "str(¤.comm, 4)",
        ],
        links: &[
            ("¤.real_parent", TASK),
            ("¤.group_leader", TASK),
            ("¤.parent", TASK),
            ("¤.mm", MEMORY),
            ("¤.mm.exe_file", FILE),
            ("¤.files.fdt.fd[0]", FILE),
            ("¤.files.fdt.fd[§ & 3]", FILE),
            ("¤.fs.pwd.dentry", DENTRY),
        ],
    },
    Structure {
        name: "file",
        integers: &[
            "¤.f_flags",
            "¤.f_mode",
            "¤.f_pos",
            "¤.f_inode.i_ino",
            "¤.f_inode.i_mode",
            "¤.f_inode.i_size",
            "¤.f_path.dentry.d_name.len",
            "¤.f_path.mnt.mnt_flags",
            "¤.f_inode.i_sb.s_dev",
            "(uint64)¤.f_op",
        ],
        strings: &[
            "str(¤.f_path.dentry.d_name.name)",
            "str(¤.f_path.dentry.d_parent.d_name.name, 12)",
            "str(¤.f_inode.i_sb.s_type.name)",
            "¤.f_inode.i_sb.s_id",
        ],
        links: &[("¤.f_path.dentry", DENTRY), ("¤.f_inode", INODE)],
    },
    Structure {
        name: "dentry",
        integers: &["¤.d_flags", "¤.d_name.len", "¤.d_name.hash", "¤.d_inode.i_ino", "¤.d_sb.s_dev"],
        strings: &["str(¤.d_name.name)", "str(¤.d_name.name, ¤.d_name.len)", "¤.d_sb.s_id"],
        links: &[("¤.d_parent", DENTRY), ("¤.d_inode", INODE)],
    },
    Structure {
        name: "inode",
        integers: &["¤.i_ino", "¤.i_mode", "¤.i_size", "¤.i_uid.val", "¤.i_nlink", "¤.i_rdev", "¤.i_sb.s_blocksize"],
        strings: &["¤.i_sb.s_id", "str(¤.i_sb.s_type.name)"],
        links: &[],
    },
    Structure {
        name: "sock",
        integers: &[
            "¤.__sk_common.skc_family",
            "¤.__sk_common.skc_dport",
            "bswap(¤.__sk_common.skc_dport)",
            "¤.__sk_common.skc_num",
            "¤.__sk_common.skc_daddr",
            "¤.__sk_common.skc_state",
            "¤.__sk_common.skc_reuse",
            "¤.__sk_common.skc_ipv6only",
            "¤.__sk_common.skc_v6_daddr.in6_u.u6_addr8[3]",
            "¤.__sk_common.skc_v6_daddr.in6_u.u6_addr32[§ & 3]",
            "¤.sk_protocol",
            "¤.sk_type",
            "¤.sk_sndbuf",
            "¤.sk_userlocks",
            "¤.sk_wmem_queued",
            "((struct inet_sock *)¤).inet_sport",
            "((struct tcp_sock *)¤).snd_cwnd",
        ],
        strings: &["str(¤.__sk_common.skc_prot.name)", "¤.__sk_common.skc_prot.name"],
        links: &[],
    },
    Structure {
        name: "sk_buff",
        integers: &[
            "¤.len",
            "¤.data_len",
            "¤.cloned",
            "¤.pkt_type",
            "¤.ip_summed",
            "¤.protocol",
            "¤.network_header",
            "¤.mark",
            "¤.cb[3]",
            "¤.cb[§ & 15]",
            "¤.dev.ifindex",
            "¤.dev.mtu",
            "((struct iphdr *)(¤.head + ¤.network_header)).ttl",
            "((struct iphdr *)(¤.head + ¤.network_header)).ihl",
            "((struct iphdr *)(¤.head + ¤.network_header)).saddr",
        ],
        strings: &["¤.dev.name", "str(¤.dev.name)"],
        links: &[("¤.sk", SOCK)],
    },
    Structure {
        name: "mm_struct",
        integers: &["¤.total_vm", "¤.start_code", "¤.map_count", "¤.mm_users.counter", "¤.saved_auxv[§ & 31]"],
        strings: &["str(uptr(¤.arg_start))", "str(uptr(¤.env_start), 30)"],
        links: &[("¤.exe_file", FILE)],
    },
];
