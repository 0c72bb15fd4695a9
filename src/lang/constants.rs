//! Constants that C headers give by `#define`, which BTF does not have and which older scripts took
//! from headers. Each group names the header of the kernel's sources that has the values.

use crate::kernel::syscalls::{self, Machine};

/// The value of a well-known constant. The script's own definitions and the kernel's enums come first.
pub fn find(name: &str) -> Option<i64> {
    let listed = CONSTANTS.iter().find(|c| c.0 == name).map(|c| c.1);
    listed.or_else(|| page(name)).or_else(|| system_call(name))
}

/// The name of an error number.
pub fn errno(number: u16) -> Option<&'static str> {
    let first = CONSTANTS.iter().position(|(name, _)| *name == "EPERM")?;
    let names = CONSTANTS.iter().skip(first).take_while(|(name, _)| name.starts_with('E') || *name == "MAX_ERRNO");
    names.into_iter().find(|(name, value)| name.starts_with('E') && *value == i64::from(number)).map(|(name, _)| *name)
}

/// Sizes of pages, which only some machines choose when their kernel is built.
fn page(name: &str) -> Option<i64> {
    let shift = matches!(Machine::HOST, Machine::X86_64).then_some(12)?;
    match name {
        "PAGE_SHIFT" => Some(shift),
        "PAGE_SIZE" => Some(1 << shift),
        "PAGE_MASK" => Some(-1 << shift),
        _ => None,
    }
}

/// `__NR_futex` and `SYS_futex`: numbers of system calls, which `asm/unistd.h` gives.
fn system_call(name: &str) -> Option<i64> {
    let call = name.strip_prefix("__NR_").or_else(|| name.strip_prefix("SYS_"))?;
    syscalls::number(Machine::HOST, call).map(i64::from)
}

/// A few flags of files have other bits on ARM (`arch/arm64/include/uapi/asm/fcntl.h`).
const ARM: bool = matches!(Machine::HOST, Machine::Arm64);

#[rustfmt::skip]
const CONSTANTS: &[(&str, i64)] = &[
    // include/uapi/linux/if_arp.h
    ("ARPHRD_ETHER", 1), ("ARPHRD_INFINIBAND", 32),
    // include/linux/socket.h
    ("AF_UNSPEC", 0), ("AF_UNIX", 1), ("AF_INET", 2), ("AF_AX25", 3), ("AF_IPX", 4), ("AF_APPLETALK", 5),
    ("AF_NETROM", 6), ("AF_BRIDGE", 7), ("AF_ATMPVC", 8), ("AF_X25", 9), ("AF_INET6", 10), ("AF_ROSE", 11),
    ("AF_DECnet", 12), ("AF_NETBEUI", 13), ("AF_SECURITY", 14), ("AF_KEY", 15), ("AF_NETLINK", 16),
    ("AF_PACKET", 17), ("AF_ASH", 18), ("AF_ECONET", 19), ("AF_ATMSVC", 20), ("AF_RDS", 21), ("AF_SNA", 22),
    ("AF_IRDA", 23), ("AF_PPPOX", 24), ("AF_WANPIPE", 25), ("AF_LLC", 26), ("AF_IB", 27), ("AF_MPLS", 28),
    ("AF_CAN", 29), ("AF_TIPC", 30), ("AF_BLUETOOTH", 31), ("AF_IUCV", 32), ("AF_RXRPC", 33), ("AF_ISDN", 34),
    ("AF_PHONET", 35), ("AF_IEEE802154", 36), ("AF_CAIF", 37), ("AF_ALG", 38), ("AF_NFC", 39), ("AF_VSOCK", 40),
    ("AF_KCM", 41), ("AF_QIPCRTR", 42), ("AF_SMC", 43), ("AF_XDP", 44), ("AF_MCTP", 45), ("AF_LOCAL", 1),
    ("AF_ROUTE", 16), ("PF_UNSPEC", 0), ("PF_UNIX", 1), ("PF_INET", 2), ("PF_AX25", 3), ("PF_IPX", 4),
    ("PF_APPLETALK", 5), ("PF_NETROM", 6), ("PF_BRIDGE", 7), ("PF_ATMPVC", 8), ("PF_X25", 9), ("PF_INET6", 10),
    ("PF_ROSE", 11), ("PF_DECnet", 12), ("PF_NETBEUI", 13), ("PF_SECURITY", 14), ("PF_NETLINK", 16),
    ("PF_PACKET", 17), ("PF_ASH", 18), ("PF_ECONET", 19), ("PF_ATMSVC", 20), ("PF_RDS", 21), ("PF_SNA", 22),
    ("PF_IRDA", 23), ("PF_PPPOX", 24), ("PF_WANPIPE", 25), ("PF_LLC", 26), ("PF_IB", 27), ("PF_MPLS", 28),
    ("PF_CAN", 29), ("PF_TIPC", 30), ("PF_BLUETOOTH", 31), ("PF_IUCV", 32), ("PF_RXRPC", 33), ("PF_ISDN", 34),
    ("PF_PHONET", 35), ("PF_IEEE802154", 36), ("PF_CAIF", 37), ("PF_ALG", 38), ("PF_NFC", 39), ("PF_VSOCK", 40),
    ("PF_KCM", 41), ("PF_QIPCRTR", 42), ("PF_SMC", 43), ("PF_XDP", 44), ("PF_MCTP", 45), ("PF_LOCAL", 1),
    ("PF_ROUTE", 16),
    // include/uapi/linux/in.h, in6.h
    ("IPPROTO_IP", 0), ("IPPROTO_ICMP", 1), ("IPPROTO_IGMP", 2), ("IPPROTO_IPIP", 4), ("IPPROTO_TCP", 6),
    ("IPPROTO_EGP", 8), ("IPPROTO_PUP", 12), ("IPPROTO_UDP", 17), ("IPPROTO_IDP", 22), ("IPPROTO_TP", 29),
    ("IPPROTO_DCCP", 33), ("IPPROTO_IPV6", 41), ("IPPROTO_ROUTING", 43), ("IPPROTO_FRAGMENT", 44),
    ("IPPROTO_RSVP", 46), ("IPPROTO_GRE", 47), ("IPPROTO_ESP", 50), ("IPPROTO_AH", 51), ("IPPROTO_ICMPV6", 58),
    ("IPPROTO_NONE", 59), ("IPPROTO_DSTOPTS", 60), ("IPPROTO_MTP", 92), ("IPPROTO_BEETPH", 94),
    ("IPPROTO_ENCAP", 98), ("IPPROTO_PIM", 103), ("IPPROTO_COMP", 108), ("IPPROTO_L2TP", 115),
    ("IPPROTO_SCTP", 132), ("IPPROTO_MH", 135), ("IPPROTO_UDPLITE", 136), ("IPPROTO_MPLS", 137),
    ("IPPROTO_ETHERNET", 143), ("IPPROTO_RAW", 255), ("IPPROTO_MPTCP", 262), ("IPPROTO_HOPOPTS", 0),
    ("INADDR_ANY", 0), ("INADDR_BROADCAST", 0xffff_ffff), ("INADDR_LOOPBACK", 0x7f00_0001),
    // include/linux/net.h, include/uapi/asm-generic/socket.h
    ("SOCK_STREAM", 1), ("SOCK_DGRAM", 2), ("SOCK_RAW", 3), ("SOCK_RDM", 4), ("SOCK_SEQPACKET", 5),
    ("SOCK_DCCP", 6), ("SOCK_PACKET", 10), ("SOCK_NONBLOCK", 0o4000), ("SOCK_CLOEXEC", 0o2_000_000),
    ("SOL_IP", 0), ("SOL_SOCKET", 1), ("SOL_TCP", 6), ("SOL_UDP", 17), ("SOL_IPV6", 41), ("SO_DEBUG", 1),
    ("SO_REUSEADDR", 2), ("SO_TYPE", 3), ("SO_ERROR", 4), ("SO_DONTROUTE", 5), ("SO_BROADCAST", 6),
    ("SO_SNDBUF", 7), ("SO_RCVBUF", 8), ("SO_KEEPALIVE", 9), ("SO_OOBINLINE", 10), ("SO_PRIORITY", 12),
    ("SO_LINGER", 13), ("SO_REUSEPORT", 15), ("MSG_OOB", 1), ("MSG_PEEK", 2), ("MSG_DONTROUTE", 4),
    ("MSG_CTRUNC", 8), ("MSG_TRUNC", 0x20), ("MSG_DONTWAIT", 0x40), ("MSG_EOR", 0x80), ("MSG_WAITALL", 0x100),
    ("MSG_NOSIGNAL", 0x4000), ("MSG_MORE", 0x8000), ("MSG_ZEROCOPY", 0x400_0000), ("MSG_FASTOPEN", 0x2000_0000),
    ("SHUT_RD", 0), ("SHUT_WR", 1), ("SHUT_RDWR", 2), ("INET_ADDRSTRLEN", 16), ("INET6_ADDRSTRLEN", 48),
    // include/uapi/linux/if_ether.h, if.h, if_packet.h
    ("ETH_P_LOOP", 0x60), ("ETH_P_IP", 0x800), ("ETH_P_X25", 0x805), ("ETH_P_ARP", 0x806),
    ("ETH_P_RARP", 0x8035), ("ETH_P_ATALK", 0x809b), ("ETH_P_AARP", 0x80f3), ("ETH_P_8021Q", 0x8100),
    ("ETH_P_IPX", 0x8137), ("ETH_P_IPV6", 0x86dd), ("ETH_P_PAUSE", 0x8808), ("ETH_P_SLOW", 0x8809),
    ("ETH_P_MPLS_UC", 0x8847), ("ETH_P_MPLS_MC", 0x8848), ("ETH_P_PPP_DISC", 0x8863), ("ETH_P_PPP_SES", 0x8864),
    ("ETH_P_PAE", 0x888e), ("ETH_P_8021AD", 0x88a8), ("ETH_P_LLDP", 0x88cc), ("ETH_P_1588", 0x88f7),
    ("ETH_P_FCOE", 0x8906), ("ETH_P_IBOE", 0x8915), ("ETH_P_ALL", 3), ("ETH_ALEN", 6), ("ETH_HLEN", 14),
    ("ETH_ZLEN", 60), ("ETH_DATA_LEN", 1500), ("ETH_FRAME_LEN", 1514), ("IFNAMSIZ", 16), ("PACKET_HOST", 0),
    ("PACKET_BROADCAST", 1), ("PACKET_MULTICAST", 2), ("PACKET_OTHERHOST", 3), ("PACKET_OUTGOING", 4),
    ("PACKET_LOOPBACK", 5),
    // include/uapi/linux/icmp.h, icmpv6.h, include/net/ndisc.h
    ("ICMP_ECHOREPLY", 0), ("ICMP_DEST_UNREACH", 3), ("ICMP_SOURCE_QUENCH", 4), ("ICMP_REDIRECT", 5),
    ("ICMP_ECHO", 8), ("ICMP_TIME_EXCEEDED", 11), ("ICMP_PARAMETERPROB", 12), ("ICMP_TIMESTAMP", 13),
    ("ICMP_TIMESTAMPREPLY", 14), ("ICMP_INFO_REQUEST", 15), ("ICMP_INFO_REPLY", 16), ("ICMP_ADDRESS", 17),
    ("ICMP_ADDRESSREPLY", 18), ("ICMP_NET_UNREACH", 0), ("ICMP_HOST_UNREACH", 1), ("ICMP_PROT_UNREACH", 2),
    ("ICMP_PORT_UNREACH", 3), ("ICMP_FRAG_NEEDED", 4), ("ICMP_SR_FAILED", 5), ("ICMPV6_DEST_UNREACH", 1),
    ("ICMPV6_PKT_TOOBIG", 2), ("ICMPV6_TIME_EXCEED", 3), ("ICMPV6_PARAMPROB", 4), ("ICMPV6_ECHO_REQUEST", 128),
    ("ICMPV6_ECHO_REPLY", 129), ("NDISC_ROUTER_SOLICITATION", 133), ("NDISC_ROUTER_ADVERTISEMENT", 134),
    ("NDISC_NEIGHBOUR_SOLICITATION", 135), ("NDISC_NEIGHBOUR_ADVERTISEMENT", 136), ("NDISC_REDIRECT", 137),
    // include/net/tcp.h, include/uapi/linux/tcp.h
    ("TCPHDR_FIN", 0x01), ("TCPHDR_SYN", 0x02), ("TCPHDR_RST", 0x04), ("TCPHDR_PSH", 0x08),
    ("TCPHDR_ACK", 0x10), ("TCPHDR_URG", 0x20), ("TCPHDR_ECE", 0x40), ("TCPHDR_CWR", 0x80),
    ("TCP_NAGLE_OFF", 1), ("TCP_NAGLE_CORK", 2), ("TCP_NAGLE_PUSH", 4), ("TCP_NODELAY", 1), ("TCP_MAXSEG", 2),
    ("TCP_CORK", 3), ("TCP_KEEPIDLE", 4), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 6), ("TCP_SYNCNT", 7),
    ("TCP_LINGER2", 8), ("TCP_DEFER_ACCEPT", 9), ("TCP_WINDOW_CLAMP", 10), ("TCP_INFO", 11),
    ("TCP_QUICKACK", 12), ("TCP_CONGESTION", 13), ("TCP_USER_TIMEOUT", 18), ("TCP_FASTOPEN", 23),
    // include/uapi/linux/netfilter.h
    ("NF_DROP", 0), ("NF_ACCEPT", 1), ("NF_STOLEN", 2), ("NF_QUEUE", 3), ("NF_REPEAT", 4), ("NF_STOP", 5),
    // include/linux/sched.h: states and flags of tasks
    ("TASK_RUNNING", 0), ("TASK_INTERRUPTIBLE", 1), ("TASK_UNINTERRUPTIBLE", 2), ("__TASK_STOPPED", 4),
    ("__TASK_TRACED", 8), ("EXIT_DEAD", 16), ("EXIT_ZOMBIE", 32), ("TASK_PARKED", 64), ("TASK_DEAD", 128),
    ("TASK_WAKEKILL", 0x100), ("TASK_WAKING", 0x200), ("TASK_NOLOAD", 0x400), ("TASK_NEW", 0x800),
    ("TASK_KILLABLE", 0x102), ("TASK_STOPPED", 0x104), ("TASK_TRACED", 0x108), ("TASK_IDLE", 0x402),
    ("PF_IDLE", 2), ("PF_EXITING", 4), ("PF_IO_WORKER", 0x10), ("PF_WQ_WORKER", 0x20), ("PF_FORKNOEXEC", 0x40),
    ("PF_SUPERPRIV", 0x100), ("PF_DUMPCORE", 0x200), ("PF_SIGNALED", 0x400), ("PF_MEMALLOC", 0x800),
    ("PF_NOFREEZE", 0x8000), ("PF_KSWAPD", 0x2_0000), ("PF_KTHREAD", 0x20_0000), ("PF_RANDOMIZE", 0x40_0000),
    ("SCHED_NORMAL", 0), ("SCHED_FIFO", 1), ("SCHED_RR", 2), ("SCHED_BATCH", 3), ("SCHED_IDLE", 5),
    ("SCHED_DEADLINE", 6), ("SCHED_EXT", 7), ("MAX_RT_PRIO", 100), ("MAX_PRIO", 140), ("DEFAULT_PRIO", 120),
    // include/uapi/asm-generic/fcntl.h, include/uapi/linux/fcntl.h
    ("O_ACCMODE", 3), ("O_RDONLY", 0), ("O_WRONLY", 1), ("O_RDWR", 2), ("O_CREAT", 0o100), ("O_EXCL", 0o200),
    ("O_NOCTTY", 0o400), ("O_TRUNC", 0o1000), ("O_APPEND", 0o2000), ("O_NONBLOCK", 0o4000),
    ("O_NDELAY", 0o4000), ("O_DSYNC", 0o10_000), ("FASYNC", 0o20_000),
    ("O_DIRECTORY", if ARM { 0o40_000 } else { 0o200_000 }),
    ("O_NOFOLLOW", if ARM { 0o100_000 } else { 0o400_000 }),
    ("O_DIRECT", if ARM { 0o200_000 } else { 0o40_000 }),
    ("O_LARGEFILE", if ARM { 0o400_000 } else { 0o100_000 }), ("O_NOATIME", 0o1_000_000),
    ("O_CLOEXEC", 0o2_000_000), ("O_SYNC", 0o4_010_000), ("O_PATH", 0o10_000_000),
    ("O_TMPFILE", if ARM { 0o20_040_000 } else { 0o20_200_000 }), ("F_DUPFD", 0), ("F_GETFD", 1),
    ("F_SETFD", 2), ("F_GETFL", 3), ("F_SETFL", 4), ("F_GETLK", 5), ("F_SETLK", 6), ("F_SETLKW", 7),
    ("F_RDLCK", 0), ("F_WRLCK", 1), ("F_UNLCK", 2), ("FD_CLOEXEC", 1), ("AT_FDCWD", -100),
    ("AT_SYMLINK_NOFOLLOW", 0x100), ("AT_REMOVEDIR", 0x200), ("AT_SYMLINK_FOLLOW", 0x400),
    ("AT_NO_AUTOMOUNT", 0x800), ("AT_EMPTY_PATH", 0x1000), ("LOCK_SH", 1), ("LOCK_EX", 2), ("LOCK_NB", 4),
    ("LOCK_UN", 8), ("FMODE_READ", 1), ("FMODE_WRITE", 2),
    // include/uapi/linux/stat.h, fs.h, mount.h
    ("S_IFMT", 0o170_000), ("S_IFSOCK", 0o140_000), ("S_IFLNK", 0o120_000), ("S_IFREG", 0o100_000),
    ("S_IFBLK", 0o60_000), ("S_IFDIR", 0o40_000), ("S_IFCHR", 0o20_000), ("S_IFIFO", 0o10_000),
    ("S_ISUID", 0o4000), ("S_ISGID", 0o2000), ("S_ISVTX", 0o1000), ("S_IRWXU", 0o700), ("S_IRUSR", 0o400),
    ("S_IWUSR", 0o200), ("S_IXUSR", 0o100), ("S_IRWXG", 0o70), ("S_IRGRP", 0o40), ("S_IWGRP", 0o20),
    ("S_IXGRP", 0o10), ("S_IRWXO", 7), ("S_IROTH", 4), ("S_IWOTH", 2), ("S_IXOTH", 1), ("SEEK_SET", 0),
    ("SEEK_CUR", 1), ("SEEK_END", 2), ("SEEK_DATA", 3), ("SEEK_HOLE", 4), ("MAY_EXEC", 1), ("MAY_WRITE", 2),
    ("MAY_READ", 4), ("MAY_APPEND", 8), ("MAY_ACCESS", 0x10), ("MAY_OPEN", 0x20), ("MS_RDONLY", 1),
    ("MS_NOSUID", 2), ("MS_NODEV", 4), ("MS_NOEXEC", 8), ("MS_REMOUNT", 32), ("MS_BIND", 4096),
    ("MS_MOVE", 8192), ("MS_REC", 16384), ("MNT_FORCE", 1), ("MNT_DETACH", 2),
    // include/uapi/asm-generic/mman.h, mman-common.h, include/linux/mm.h
    ("PROT_NONE", 0), ("PROT_READ", 1), ("PROT_WRITE", 2), ("PROT_EXEC", 4), ("MAP_SHARED", 1),
    ("MAP_PRIVATE", 2), ("MAP_SHARED_VALIDATE", 3), ("MAP_TYPE", 15), ("MAP_FIXED", 16), ("MAP_ANONYMOUS", 32),
    ("MAP_ANON", 32), ("MAP_GROWSDOWN", 0x100), ("MAP_DENYWRITE", 0x800), ("MAP_EXECUTABLE", 0x1000),
    ("MAP_LOCKED", 0x2000), ("MAP_NORESERVE", 0x4000), ("MAP_POPULATE", 0x8000), ("MAP_NONBLOCK", 0x1_0000),
    ("MAP_STACK", 0x2_0000), ("MAP_HUGETLB", 0x4_0000), ("MAP_SYNC", 0x8_0000),
    ("MAP_FIXED_NOREPLACE", 0x10_0000), ("MADV_NORMAL", 0), ("MADV_RANDOM", 1), ("MADV_SEQUENTIAL", 2),
    ("MADV_WILLNEED", 3), ("MADV_DONTNEED", 4), ("MADV_FREE", 8), ("MADV_HUGEPAGE", 14),
    ("MADV_NOHUGEPAGE", 15), ("MADV_COLD", 20), ("MADV_PAGEOUT", 21), ("VM_READ", 1), ("VM_WRITE", 2),
    ("VM_EXEC", 4), ("VM_SHARED", 8),
    // include/uapi/asm-generic/signal.h, siginfo.h
    ("SIGHUP", 1), ("SIGINT", 2), ("SIGQUIT", 3), ("SIGILL", 4), ("SIGTRAP", 5), ("SIGABRT", 6), ("SIGIOT", 6),
    ("SIGBUS", 7), ("SIGFPE", 8), ("SIGKILL", 9), ("SIGUSR1", 10), ("SIGSEGV", 11), ("SIGUSR2", 12),
    ("SIGPIPE", 13), ("SIGALRM", 14), ("SIGTERM", 15), ("SIGSTKFLT", 16), ("SIGCHLD", 17), ("SIGCONT", 18),
    ("SIGSTOP", 19), ("SIGTSTP", 20), ("SIGTTIN", 21), ("SIGTTOU", 22), ("SIGURG", 23), ("SIGXCPU", 24),
    ("SIGXFSZ", 25), ("SIGVTALRM", 26), ("SIGPROF", 27), ("SIGWINCH", 28), ("SIGIO", 29), ("SIGPOLL", 29),
    ("SIGPWR", 30), ("SIGSYS", 31), ("SIGRTMIN", 32), ("SI_USER", 0), ("SI_KERNEL", 0x80), ("SI_QUEUE", -1),
    ("SI_TIMER", -2), ("SI_TKILL", -6), ("SIG_BLOCK", 0), ("SIG_UNBLOCK", 1), ("SIG_SETMASK", 2),
    // include/uapi/asm-generic/errno-base.h, errno.h, include/linux/errno.h
    ("EPERM", 1), ("ENOENT", 2), ("ESRCH", 3), ("EINTR", 4), ("EIO", 5), ("ENXIO", 6), ("E2BIG", 7),
    ("ENOEXEC", 8), ("EBADF", 9), ("ECHILD", 10), ("EAGAIN", 11), ("EWOULDBLOCK", 11), ("ENOMEM", 12),
    ("EACCES", 13), ("EFAULT", 14), ("ENOTBLK", 15), ("EBUSY", 16), ("EEXIST", 17), ("EXDEV", 18),
    ("ENODEV", 19), ("ENOTDIR", 20), ("EISDIR", 21), ("EINVAL", 22), ("ENFILE", 23), ("EMFILE", 24),
    ("ENOTTY", 25), ("ETXTBSY", 26), ("EFBIG", 27), ("ENOSPC", 28), ("ESPIPE", 29), ("EROFS", 30),
    ("EMLINK", 31), ("EPIPE", 32), ("EDOM", 33), ("ERANGE", 34), ("EDEADLK", 35), ("EDEADLOCK", 35),
    ("ENAMETOOLONG", 36), ("ENOLCK", 37), ("ENOSYS", 38), ("ENOTEMPTY", 39), ("ELOOP", 40), ("ENOMSG", 42),
    ("EIDRM", 43), ("ECHRNG", 44), ("EL2NSYNC", 45), ("EL3HLT", 46), ("EL3RST", 47), ("ELNRNG", 48),
    ("EUNATCH", 49), ("ENOCSI", 50), ("EL2HLT", 51), ("EBADE", 52), ("EBADR", 53), ("EXFULL", 54),
    ("ENOANO", 55), ("EBADRQC", 56), ("EBADSLT", 57), ("EBFONT", 59), ("ENOSTR", 60), ("ENODATA", 61),
    ("ETIME", 62), ("ENOSR", 63), ("ENONET", 64), ("ENOPKG", 65), ("EREMOTE", 66), ("ENOLINK", 67),
    ("EADV", 68), ("ESRMNT", 69), ("ECOMM", 70), ("EPROTO", 71), ("EMULTIHOP", 72), ("EDOTDOT", 73),
    ("EBADMSG", 74), ("EOVERFLOW", 75), ("ENOTUNIQ", 76), ("EBADFD", 77), ("EREMCHG", 78), ("ELIBACC", 79),
    ("ELIBBAD", 80), ("ELIBSCN", 81), ("ELIBMAX", 82), ("ELIBEXEC", 83), ("EILSEQ", 84), ("ERESTART", 85),
    ("ESTRPIPE", 86), ("EUSERS", 87), ("ENOTSOCK", 88), ("EDESTADDRREQ", 89), ("EMSGSIZE", 90),
    ("EPROTOTYPE", 91), ("ENOPROTOOPT", 92), ("EPROTONOSUPPORT", 93), ("ESOCKTNOSUPPORT", 94),
    ("EOPNOTSUPP", 95), ("ENOTSUP", 95), ("EPFNOSUPPORT", 96), ("EAFNOSUPPORT", 97), ("EADDRINUSE", 98),
    ("EADDRNOTAVAIL", 99), ("ENETDOWN", 100), ("ENETUNREACH", 101), ("ENETRESET", 102), ("ECONNABORTED", 103),
    ("ECONNRESET", 104), ("ENOBUFS", 105), ("EISCONN", 106), ("ENOTCONN", 107), ("ESHUTDOWN", 108),
    ("ETOOMANYREFS", 109), ("ETIMEDOUT", 110), ("ECONNREFUSED", 111), ("EHOSTDOWN", 112), ("EHOSTUNREACH", 113),
    ("EALREADY", 114), ("EINPROGRESS", 115), ("ESTALE", 116), ("EUCLEAN", 117), ("ENOTNAM", 118),
    ("ENAVAIL", 119), ("EISNAM", 120), ("EREMOTEIO", 121), ("EDQUOT", 122), ("ENOMEDIUM", 123),
    ("EMEDIUMTYPE", 124), ("ECANCELED", 125), ("ENOKEY", 126), ("EKEYEXPIRED", 127), ("EKEYREVOKED", 128),
    ("EKEYREJECTED", 129), ("EOWNERDEAD", 130), ("ENOTRECOVERABLE", 131), ("ERFKILL", 132), ("EHWPOISON", 133),
    ("MAX_ERRNO", 4095), ("ERESTARTSYS", 512), ("ERESTARTNOINTR", 513), ("ERESTARTNOHAND", 514),
    ("ENOIOCTLCMD", 515), ("ERESTART_RESTARTBLOCK", 516), ("EPROBE_DEFER", 517), ("ENOTSUPP", 524),
    // include/uapi/linux/sched.h
    ("CLONE_VM", 0x100), ("CLONE_FS", 0x200), ("CLONE_FILES", 0x400), ("CLONE_SIGHAND", 0x800),
    ("CLONE_PIDFD", 0x1000), ("CLONE_PTRACE", 0x2000), ("CLONE_VFORK", 0x4000), ("CLONE_PARENT", 0x8000),
    ("CLONE_THREAD", 0x1_0000), ("CLONE_NEWNS", 0x2_0000), ("CLONE_SYSVSEM", 0x4_0000),
    ("CLONE_SETTLS", 0x8_0000), ("CLONE_PARENT_SETTID", 0x10_0000), ("CLONE_CHILD_CLEARTID", 0x20_0000),
    ("CLONE_UNTRACED", 0x80_0000), ("CLONE_CHILD_SETTID", 0x100_0000), ("CLONE_NEWCGROUP", 0x200_0000),
    ("CLONE_NEWUTS", 0x400_0000), ("CLONE_NEWIPC", 0x800_0000), ("CLONE_NEWUSER", 0x1000_0000),
    ("CLONE_NEWPID", 0x2000_0000), ("CLONE_NEWNET", 0x4000_0000), ("CLONE_IO", 0x8000_0000),
    // include/uapi/linux/capability.h
    ("CAP_CHOWN", 0), ("CAP_DAC_OVERRIDE", 1), ("CAP_DAC_READ_SEARCH", 2), ("CAP_FOWNER", 3), ("CAP_FSETID", 4),
    ("CAP_KILL", 5), ("CAP_SETGID", 6), ("CAP_SETUID", 7), ("CAP_SETPCAP", 8), ("CAP_LINUX_IMMUTABLE", 9),
    ("CAP_NET_BIND_SERVICE", 10), ("CAP_NET_BROADCAST", 11), ("CAP_NET_ADMIN", 12), ("CAP_NET_RAW", 13),
    ("CAP_IPC_LOCK", 14), ("CAP_IPC_OWNER", 15), ("CAP_SYS_MODULE", 16), ("CAP_SYS_RAWIO", 17),
    ("CAP_SYS_CHROOT", 18), ("CAP_SYS_PTRACE", 19), ("CAP_SYS_PACCT", 20), ("CAP_SYS_ADMIN", 21),
    ("CAP_SYS_BOOT", 22), ("CAP_SYS_NICE", 23), ("CAP_SYS_RESOURCE", 24), ("CAP_SYS_TIME", 25),
    ("CAP_SYS_TTY_CONFIG", 26), ("CAP_MKNOD", 27), ("CAP_LEASE", 28), ("CAP_AUDIT_WRITE", 29),
    ("CAP_AUDIT_CONTROL", 30), ("CAP_SETFCAP", 31), ("CAP_MAC_OVERRIDE", 32), ("CAP_MAC_ADMIN", 33),
    ("CAP_SYSLOG", 34), ("CAP_WAKE_ALARM", 35), ("CAP_BLOCK_SUSPEND", 36), ("CAP_AUDIT_READ", 37),
    ("CAP_PERFMON", 38), ("CAP_BPF", 39), ("CAP_CHECKPOINT_RESTORE", 40),
    // include/uapi/linux/futex.h, ptrace.h, eventpoll.h, asm-generic/poll.h
    ("FUTEX_WAIT", 0), ("FUTEX_WAKE", 1), ("FUTEX_FD", 2), ("FUTEX_REQUEUE", 3), ("FUTEX_CMP_REQUEUE", 4),
    ("FUTEX_WAKE_OP", 5), ("FUTEX_LOCK_PI", 6), ("FUTEX_UNLOCK_PI", 7), ("FUTEX_TRYLOCK_PI", 8),
    ("FUTEX_WAIT_BITSET", 9), ("FUTEX_WAKE_BITSET", 10), ("FUTEX_WAIT_REQUEUE_PI", 11),
    ("FUTEX_CMP_REQUEUE_PI", 12), ("FUTEX_LOCK_PI2", 13), ("FUTEX_PRIVATE_FLAG", 128),
    ("FUTEX_CLOCK_REALTIME", 256), ("FUTEX_CMD_MASK", -385), ("PTRACE_TRACEME", 0), ("PTRACE_PEEKTEXT", 1),
    ("PTRACE_PEEKDATA", 2), ("PTRACE_PEEKUSR", 3), ("PTRACE_POKETEXT", 4), ("PTRACE_POKEDATA", 5),
    ("PTRACE_POKEUSR", 6), ("PTRACE_CONT", 7), ("PTRACE_KILL", 8), ("PTRACE_SINGLESTEP", 9),
    ("PTRACE_ATTACH", 16), ("PTRACE_DETACH", 17), ("PTRACE_SYSCALL", 24), ("PTRACE_SETOPTIONS", 0x4200),
    ("PTRACE_SEIZE", 0x4206), ("PTRACE_INTERRUPT", 0x4207), ("POLLIN", 1), ("POLLPRI", 2), ("POLLOUT", 4),
    ("POLLERR", 8), ("POLLHUP", 16), ("POLLNVAL", 32), ("EPOLLIN", 1), ("EPOLLPRI", 2), ("EPOLLOUT", 4),
    ("EPOLLERR", 8), ("EPOLLHUP", 16), ("EPOLLRDHUP", 0x2000), ("EPOLLONESHOT", 1 << 30), ("EPOLLET", 1 << 31),
    ("EPOLL_CTL_ADD", 1), ("EPOLL_CTL_DEL", 2), ("EPOLL_CTL_MOD", 3),
    // include/uapi/linux/magic.h
    ("EXT4_SUPER_MAGIC", 0xef53), ("XFS_SUPER_MAGIC", 0x5846_5342), ("BTRFS_SUPER_MAGIC", 0x9123_683e),
    ("TMPFS_MAGIC", 0x102_1994), ("RAMFS_MAGIC", 0x8584_58f6), ("OVERLAYFS_SUPER_MAGIC", 0x794c_7630),
    ("NFS_SUPER_MAGIC", 0x6969), ("FUSE_SUPER_MAGIC", 0x6573_5546), ("F2FS_SUPER_MAGIC", 0xf2f5_2010),
    ("SQUASHFS_MAGIC", 0x7371_7368), ("ISOFS_SUPER_MAGIC", 0x9660), ("MSDOS_SUPER_MAGIC", 0x4d44),
    ("PROC_SUPER_MAGIC", 0x9fa0), ("SYSFS_MAGIC", 0x6265_6572), ("DEBUGFS_MAGIC", 0x6462_6720),
    ("TRACEFS_MAGIC", 0x7472_6163), ("CGROUP_SUPER_MAGIC", 0x27_e0eb), ("CGROUP2_SUPER_MAGIC", 0x6367_7270),
    ("SOCKFS_MAGIC", 0x534f_434b), ("PIPEFS_MAGIC", 0x5049_5045), ("DEVPTS_SUPER_MAGIC", 0x1cd1),
    ("HUGETLBFS_MAGIC", 0x9584_58f6), ("BPF_FS_MAGIC", 0xcafe_4a11), ("NSFS_MAGIC", 0x6e73_6673),
    ("V9FS_MAGIC", 0x102_1997),
    // include/uapi/asm-generic/resource.h
    ("RLIMIT_CPU", 0), ("RLIMIT_FSIZE", 1), ("RLIMIT_DATA", 2), ("RLIMIT_STACK", 3), ("RLIMIT_CORE", 4),
    ("RLIMIT_RSS", 5), ("RLIMIT_NPROC", 6), ("RLIMIT_NOFILE", 7), ("RLIMIT_MEMLOCK", 8), ("RLIMIT_AS", 9),
    ("RLIMIT_LOCKS", 10), ("RLIMIT_SIGPENDING", 11), ("RLIMIT_MSGQUEUE", 12), ("RLIMIT_NICE", 13),
    ("RLIMIT_RTPRIO", 14), ("RLIMIT_RTTIME", 15),
    // include/uapi/linux/prctl.h
    ("PR_SET_PDEATHSIG", 1), ("PR_SET_DUMPABLE", 4), ("PR_SET_NAME", 15), ("PR_GET_NAME", 16), ("PR_SET_SECCOMP", 22),
    ("PR_CAPBSET_DROP", 24), ("PR_SET_NO_NEW_PRIVS", 38), ("PR_SET_MM", 35), ("PR_SET_CHILD_SUBREAPER", 36),
    ("PR_SET_VMA", 1_398_164_801),
    // include/uapi/linux/if_arp.h
    ("ARPHRD_LOOPBACK", 772), ("ARPHRD_PPP", 512), ("ARPHRD_TUNNEL", 768),
    ("ARPHRD_IEEE80211", 801), ("ARPHRD_NONE", 65534),
    // include/uapi/linux/netlink.h
    ("NETLINK_ROUTE", 0), ("NETLINK_SOCK_DIAG", 4), ("NETLINK_NFLOG", 5), ("NETLINK_XFRM", 6), ("NETLINK_AUDIT", 9),
    ("NETLINK_CONNECTOR", 11), ("NETLINK_NETFILTER", 12), ("NETLINK_KOBJECT_UEVENT", 15), ("NETLINK_GENERIC", 16),
    // include/uapi/linux/fs.h
    ("RENAME_NOREPLACE", 1), ("RENAME_EXCHANGE", 2), ("RENAME_WHITEOUT", 4),
    // include/uapi/linux/falloc.h
    ("FALLOC_FL_KEEP_SIZE", 1), ("FALLOC_FL_PUNCH_HOLE", 2), ("FALLOC_FL_COLLAPSE_RANGE", 8),
    ("FALLOC_FL_ZERO_RANGE", 16), ("FALLOC_FL_INSERT_RANGE", 32),
    // include/uapi/linux/ipc.h
    ("IPC_CREAT", 512), ("IPC_EXCL", 1024), ("IPC_NOWAIT", 2048), ("IPC_RMID", 0), ("IPC_SET", 1), ("IPC_STAT", 2),
    // include/uapi/linux/inotify.h
    ("IN_ACCESS", 1), ("IN_MODIFY", 2), ("IN_ATTRIB", 4), ("IN_CLOSE_WRITE", 8), ("IN_CLOSE_NOWRITE", 16),
    ("IN_OPEN", 32), ("IN_MOVED_FROM", 64), ("IN_MOVED_TO", 128), ("IN_CREATE", 256), ("IN_DELETE", 512),
    ("IN_DELETE_SELF", 1024), ("IN_MOVE_SELF", 2048),
    // include/uapi/asm-generic/ioctls.h
    ("TCGETS", 0x5401), ("TCSETS", 0x5402), ("TIOCGWINSZ", 0x5413), ("TIOCSWINSZ", 0x5414), ("TIOCSTI", 0x5412),
    ("TIOCGPGRP", 0x540f), ("TIOCSPGRP", 0x5410), ("FIONREAD", 0x541b), ("FIONBIO", 0x5421),
    // include/linux/fs_types.h
    ("DT_UNKNOWN", 0), ("DT_FIFO", 1), ("DT_CHR", 2), ("DT_DIR", 4), ("DT_BLK", 6), ("DT_REG", 8), ("DT_LNK", 10),
    ("DT_SOCK", 12),
    // include/linux/eventfd.h
    ("EFD_SEMAPHORE", 1), ("EFD_CLOEXEC", 524_288), ("EFD_NONBLOCK", 2048),
    // include/linux/blk_types.h, include/linux/kdev_t.h, include/linux/kernel.h
    ("SECTOR_SHIFT", 9), ("SECTOR_SIZE", 512), ("MINORBITS", 20), ("MINORMASK", 0xf_ffff), ("READ", 0), ("WRITE", 1),
    // include/vdso/time64.h, include/vdso/limits.h, include/uapi/linux/limits.h, C
    ("MSEC_PER_SEC", 1000), ("USEC_PER_MSEC", 1000), ("NSEC_PER_USEC", 1000), ("NSEC_PER_MSEC", 1_000_000),
    ("USEC_PER_SEC", 1_000_000), ("NSEC_PER_SEC", 1_000_000_000), ("NULL", 0), ("NAME_MAX", 255),
    ("PATH_MAX", 4096), ("TASK_COMM_LEN", 16), ("CHAR_BIT", 8), ("CLOCK_REALTIME", 0), ("CLOCK_MONOTONIC", 1),
    ("CLOCK_BOOTTIME", 7), ("STDIN_FILENO", 0), ("STDOUT_FILENO", 1), ("STDERR_FILENO", 2),
    ("INT_MAX", i32::MAX as i64), ("INT_MIN", i32::MIN as i64), ("UINT_MAX", u32::MAX as i64),
    ("LONG_MAX", i64::MAX), ("LONG_MIN", i64::MIN),
    ("INT8_MIN", i8::MIN as i64), ("INT8_MAX", i8::MAX as i64), ("UINT8_MAX", u8::MAX as i64),
    ("INT16_MIN", i16::MIN as i64), ("INT16_MAX", i16::MAX as i64), ("UINT16_MAX", u16::MAX as i64),
    ("INT32_MIN", i32::MIN as i64), ("INT32_MAX", i32::MAX as i64), ("UINT32_MAX", u32::MAX as i64),
    ("INT64_MIN", i64::MIN), ("INT64_MAX", i64::MAX),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn each_name_has_one_value() {
        let mut seen = HashMap::new();
        for (name, value) in CONSTANTS {
            assert_eq!(seen.insert(*name, *value), None, "{name}");
        }
    }

    #[test]
    fn values_are_those_of_the_c_library() {
        let values = [
            ("EPROTO", libc::EPROTO),
            ("EAFNOSUPPORT", libc::EAFNOSUPPORT),
            ("EWOULDBLOCK", libc::EWOULDBLOCK),
            ("O_DIRECT", libc::O_DIRECT),
            ("O_DIRECTORY", libc::O_DIRECTORY),
            ("O_NOFOLLOW", libc::O_NOFOLLOW),
            ("O_TMPFILE", libc::O_TMPFILE),
            ("O_SYNC", libc::O_SYNC),
            ("O_PATH", libc::O_PATH),
            ("O_NOATIME", libc::O_NOATIME),
            ("AF_VSOCK", libc::AF_VSOCK),
            ("AF_XDP", libc::AF_XDP),
            ("AF_BLUETOOTH", libc::AF_BLUETOOTH),
            ("ETH_P_IPV6", libc::ETH_P_IPV6),
            ("ETH_P_LLDP", 0x88cc),
            ("SIGSTKFLT", libc::SIGSTKFLT),
            ("SIGSYS", libc::SIGSYS),
            ("CLONE_NEWUSER", libc::CLONE_NEWUSER),
            ("MAP_HUGETLB", libc::MAP_HUGETLB),
            ("MAP_FIXED_NOREPLACE", libc::MAP_FIXED_NOREPLACE),
            ("MADV_PAGEOUT", libc::MADV_PAGEOUT),
            ("FUTEX_WAIT_BITSET", libc::FUTEX_WAIT_BITSET),
            ("EPOLLONESHOT", libc::EPOLLONESHOT),
            ("IPPROTO_MPTCP", libc::IPPROTO_MPTCP),
            ("AT_EMPTY_PATH", libc::AT_EMPTY_PATH),
            ("SO_REUSEPORT", libc::SO_REUSEPORT),
            ("MSG_NOSIGNAL", libc::MSG_NOSIGNAL),
            ("PR_SET_NAME", libc::PR_SET_NAME),
            ("IPC_CREAT", libc::IPC_CREAT),
            ("DT_DIR", i32::from(libc::DT_DIR)),
            ("EFD_NONBLOCK", libc::EFD_NONBLOCK),
            ("FALLOC_FL_KEEP_SIZE", libc::FALLOC_FL_KEEP_SIZE),
        ];
        for (name, value) in values {
            assert_eq!(find(name), Some(i64::from(value)), "{name}");
        }
        assert_eq!(find("__NR_futex"), Some(libc::SYS_futex));
        assert_eq!(find("SYS_openat"), Some(libc::SYS_openat));
        assert_eq!(find("CAP_BPF"), Some(39));
        assert_eq!(find("__NR_nothing"), None);
        assert_eq!(find("RLIMIT_NOFILE"), Some(i64::from(libc::RLIMIT_NOFILE)));
        assert_eq!(find("IN_MODIFY"), Some(i64::from(libc::IN_MODIFY)));
        assert_eq!(find("PAGE_SIZE").is_some(), cfg!(target_arch = "x86_64"));
    }
}
