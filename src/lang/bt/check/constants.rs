//! Constants that C headers give by `#define`, which BTF does not have and which older scripts took
//! from headers. Values are of the kernel's user interface, the same on x86-64 and arm64 unless
//! noted (`include/uapi/asm-generic`, `include/linux/socket.h`, `include/linux/sched.h`).

/// The value of a well-known constant. The script's own definitions and the kernel's enums come first.
pub fn find(name: &str) -> Option<i64> {
    CONSTANTS.iter().find(|c| c.0 == name).map(|c| c.1)
}

#[rustfmt::skip]
const CONSTANTS: &[(&str, i64)] = &[
    ("AF_UNSPEC", 0), ("AF_UNIX", 1), ("AF_LOCAL", 1), ("AF_INET", 2), ("AF_INET6", 10), ("AF_NETLINK", 16),
    ("AF_PACKET", 17), ("AF_VSOCK", 40), ("AF_XDP", 44),
    ("IPPROTO_IP", 0), ("IPPROTO_ICMP", 1), ("IPPROTO_TCP", 6), ("IPPROTO_UDP", 17), ("IPPROTO_IPV6", 41),
    ("IPPROTO_ICMPV6", 58), ("IPPROTO_SCTP", 132),
    ("SOCK_STREAM", 1), ("SOCK_DGRAM", 2), ("SOCK_RAW", 3), ("SOCK_SEQPACKET", 5), ("SOCK_NONBLOCK", 0o4000),
    ("SOCK_CLOEXEC", 0o2_000_000),
    ("TASK_RUNNING", 0), ("TASK_INTERRUPTIBLE", 1), ("TASK_UNINTERRUPTIBLE", 2), ("__TASK_STOPPED", 4),
    ("__TASK_TRACED", 8), ("EXIT_DEAD", 16), ("EXIT_ZOMBIE", 32), ("TASK_PARKED", 64), ("TASK_DEAD", 128),
    ("O_RDONLY", 0), ("O_WRONLY", 1), ("O_RDWR", 2), ("O_CREAT", 0o100), ("O_EXCL", 0o200), ("O_TRUNC", 0o1000),
    ("O_APPEND", 0o2000), ("O_NONBLOCK", 0o4000), ("O_CLOEXEC", 0o2_000_000),
    ("S_IFMT", 0o170_000), ("S_IFSOCK", 0o140_000), ("S_IFLNK", 0o120_000), ("S_IFREG", 0o100_000),
    ("S_IFBLK", 0o60_000), ("S_IFDIR", 0o40_000), ("S_IFCHR", 0o20_000), ("S_IFIFO", 0o10_000),
    ("PROT_READ", 1), ("PROT_WRITE", 2), ("PROT_EXEC", 4), ("MAP_SHARED", 1), ("MAP_PRIVATE", 2), ("MAP_FIXED", 16),
    ("MAP_ANONYMOUS", 32),
    ("SIGHUP", 1), ("SIGINT", 2), ("SIGQUIT", 3), ("SIGILL", 4), ("SIGTRAP", 5), ("SIGABRT", 6), ("SIGBUS", 7),
    ("SIGFPE", 8), ("SIGKILL", 9), ("SIGUSR1", 10), ("SIGSEGV", 11), ("SIGUSR2", 12), ("SIGPIPE", 13),
    ("SIGALRM", 14), ("SIGTERM", 15), ("SIGCHLD", 17), ("SIGCONT", 18), ("SIGSTOP", 19),
    ("EPERM", 1), ("ENOENT", 2), ("ESRCH", 3), ("EINTR", 4), ("EIO", 5), ("EBADF", 9), ("ECHILD", 10), ("EAGAIN", 11),
    ("ENOMEM", 12), ("EACCES", 13), ("EFAULT", 14), ("EBUSY", 16), ("EEXIST", 17), ("ENOTDIR", 20), ("EISDIR", 21),
    ("EINVAL", 22), ("EMFILE", 24), ("ENOSPC", 28), ("EPIPE", 32), ("ENOSYS", 38), ("ETIMEDOUT", 110),
    ("ECONNREFUSED", 111), ("EINPROGRESS", 115),
    ("CLONE_VM", 0x100), ("CLONE_FS", 0x200), ("CLONE_FILES", 0x400), ("CLONE_THREAD", 0x1_0000),
    ("CLONE_NEWNS", 0x2_0000), ("CLONE_NEWCGROUP", 0x200_0000), ("CLONE_NEWUTS", 0x400_0000),
    ("CLONE_NEWIPC", 0x800_0000), ("CLONE_NEWUSER", 0x1000_0000), ("CLONE_NEWPID", 0x2000_0000),
    ("CLONE_NEWNET", 0x4000_0000),
    ("NULL", 0), ("PATH_MAX", 4096), ("TASK_COMM_LEN", 16),
    ("INT_MAX", i32::MAX as i64), ("INT_MIN", i32::MIN as i64), ("UINT_MAX", u32::MAX as i64),
    ("LONG_MAX", i64::MAX), ("LONG_MIN", i64::MIN),
    ("INT8_MIN", i8::MIN as i64), ("INT8_MAX", i8::MAX as i64), ("UINT8_MAX", u8::MAX as i64),
    ("INT16_MIN", i16::MIN as i64), ("INT16_MAX", i16::MAX as i64), ("UINT16_MAX", u16::MAX as i64),
    ("INT32_MIN", i32::MIN as i64), ("INT32_MAX", i32::MAX as i64), ("UINT32_MAX", u32::MAX as i64),
    ("INT64_MIN", i64::MIN), ("INT64_MAX", i64::MAX),
];
