//! Builtin variables.

use super::{Builtin, Place};

/// Builtin variables.
#[rustfmt::skip]
pub const VARIABLES: &[Builtin] = &[
    Builtin { name: "pid", signature: "pid: uint32", place: Place::Kernel, doc: "Process id of what runs on this CPU, as this program's pid namespace sees it." },
    Builtin { name: "tid", signature: "tid: uint32", place: Place::Kernel, doc: "Thread id of what runs on this CPU." },
    Builtin { name: "uid", signature: "uid: uint32", place: Place::Kernel, doc: "User id of the current process." },
    Builtin { name: "gid", signature: "gid: uint32", place: Place::Kernel, doc: "Group id of the current process." },
    Builtin { name: "username", signature: "username: username_t", place: Place::User, doc: "Name of the current process's user, looked up when the event is shown." },
    Builtin { name: "comm", signature: "comm: string[16]", place: Place::Kernel, doc: "Name of the current thread, at most 15 characters." },
    Builtin { name: "pcomm", signature: "pcomm: string[16]", place: Place::Kernel, doc: "Name of the current process's parent." },
    Builtin { name: "ppid", signature: "ppid: uint32", place: Place::Kernel, doc: "Process id of the parent." },
    Builtin { name: "leader_comm", signature: "leader_comm: string[16]", place: Place::Kernel, doc: "Name of the thread group's leader, which is the process's own name." },
    Builtin { name: "leader_tid", signature: "leader_tid: uint32", place: Place::Kernel, doc: "Thread id of the thread group's leader." },
    Builtin { name: "curtask", signature: "curtask: struct task_struct *", place: Place::Kernel, doc: "The kernel's record of the current thread; follow its fields with a dot." },
    Builtin { name: "cpu", signature: "cpu: uint32", place: Place::Kernel, doc: "Number of the CPU this runs on." },
    Builtin { name: "ncpus", signature: "ncpus: uint32", place: Place::Compile, doc: "How many CPUs the machine has." },
    Builtin { name: "numaid", signature: "numaid: uint32", place: Place::Kernel, doc: "NUMA node of this CPU." },
    Builtin { name: "cgroup", signature: "cgroup: uint64", place: Place::Kernel, doc: "Id of the current process's cgroup; cgroup_path() turns it into a path." },
    Builtin { name: "nsecs", signature: "nsecs: uint64", place: Place::Kernel, doc: "Nanoseconds since boot, time asleep included; nsecs(mode) chooses another clock." },
    Builtin { name: "elapsed", signature: "elapsed: uint64", place: Place::Kernel, doc: "Nanoseconds since the script started." },
    Builtin { name: "latency", signature: "latency: uint64", place: Place::Kernel, doc: "Nanoseconds from a function's or system call's entry to this return, exact under recursion; entries before the trace began are left out." },
    Builtin { name: "jiffies", signature: "jiffies: uint64", place: Place::Kernel, doc: "The kernel's tick counter." },
    Builtin { name: "rand", signature: "rand: uint32", place: Place::Kernel, doc: "A random number." },
    Builtin { name: "usermode", signature: "usermode: uint8", place: Place::Kernel, doc: "1 when the CPU was running user code at this event, 0 in the kernel." },
    Builtin { name: "cpid", signature: "cpid: uint32", place: Place::Compile, doc: "Process id of the command started with -c." },
    Builtin { name: "has_cpid", signature: "has_cpid: bool", place: Place::Compile, doc: "Whether a command was started with -c." },
    Builtin { name: "func", signature: "func: string", place: Place::User, doc: "Name of the traced function." },
    Builtin { name: "probe", signature: "probe: string", place: Place::Compile, doc: "Full name of the probe that fired, wildcards resolved." },
    Builtin { name: "probetype", signature: "probetype: string", place: Place::Compile, doc: "Kind of the probe, such as kprobe." },
    Builtin { name: "retval", signature: "retval", place: Place::Kernel, doc: "What the function returned; in kretprobe, uretprobe and fexit." },
    Builtin { name: "args", signature: "args", place: Place::Kernel, doc: "All arguments of the probe by name: write args.field." },
    Builtin { name: "ctx", signature: "ctx", place: Place::Kernel, doc: "The raw context the kernel hands to the program, for experts." },
    Builtin { name: "argN", signature: "argN: uint64", place: Place::Kernel, doc: "Argument N of the traced function, counted from 0, as a plain integer." },
    Builtin { name: "kstack", signature: "kstack: kstack_t", place: Place::Kernel, doc: "The kernel's call stack; kstack(mode, depth) chooses its form." },
    Builtin { name: "ustack", signature: "ustack: ustack_t", place: Place::Kernel, doc: "The process's own call stack; ustack(mode, depth) chooses its form." },
    Builtin { name: "config", signature: "config", place: Place::Compile, doc: "The script's settings." },
];
