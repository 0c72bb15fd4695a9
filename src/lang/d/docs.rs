//! What functions and built-in variables of the language are, in a line each: for completion, hints and help.

/// A function or variable.
#[derive(Clone, Copy, Debug)]
pub struct Doc {
    pub name: &'static str,
    /// As it is written, with its parameters.
    pub form: &'static str,
    pub text: &'static str,
}

const fn d(name: &'static str, form: &'static str, text: &'static str) -> Doc {
    Doc { name, form, text }
}

/// Functions, by name.
pub const FUNCTIONS: &[Doc] = &[
    d("alloca", "void *alloca(size_t size)", "Memory that lasts until the clause ends."),
    d("avg", "@ = avg(scalar)", "The mean of the values."),
    d("basename", "string basename(string path)", "What stands behind the last `/`."),
    d("bcopy", "void bcopy(void *from, void *to, size_t size)", "Copies memory; the target is of alloca( )."),
    d("clear", "clear(@a)", "Sets all values of an aggregation to 0 and keeps the keys."),
    d("commit", "commit(int id)", "Prints what was recorded in a speculation."),
    d("copyin", "void *copyin(uintptr_t from, size_t size)", "Bytes of the process, as memory of the clause."),
    d("copyinstr", "string copyinstr(uintptr_t from[, size_t most])", "Text of the process."),
    d("copyinto", "void copyinto(uintptr_t from, size_t size, void *to)", "Copies bytes of the process to memory."),
    d("count", "@ = count()", "How often."),
    d("denormalize", "denormalize(@a)", "Takes a normalize( ) back."),
    d("dirname", "string dirname(string path)", "What stands before the last `/`."),
    d("discard", "discard(int id)", "Drops what was recorded in a speculation."),
    d("exit", "exit(int status)", "Ends the trace with an exit code."),
    d("func", "func(uintptr_t address)", "The function of the kernel at an address."),
    d("getmajor", "int getmajor(dev_t)", "The major number of a device."),
    d("getminor", "int getminor(dev_t)", "The minor number of a device."),
    d("htonl", "uint32_t htonl(uint32_t)", "From the order of bytes here to that of the network."),
    d("htonll", "uint64_t htonll(uint64_t)", "From the order of bytes here to that of the network."),
    d("htons", "uint16_t htons(uint16_t)", "From the order of bytes here to that of the network."),
    d("index", "int index(string text, string part[, int from])", "Where a part begins, or -1."),
    d("inet_ntoa", "string inet_ntoa(ipaddr_t *)", "An IPv4 address as text."),
    d("inet_ntoa6", "string inet_ntoa6(in6_addr_t *)", "An IPv6 address as text."),
    d("inet_ntop", "string inet_ntop(int family, void *)", "An address as text."),
    d(
        "jstack",
        "jstack([int frames[, int bytes]])",
        "The stack of the process; functions of a language's machine by /tmp/perf-PID.map.",
    ),
    d(
        "llquantize",
        "@ = llquantize(n, factor, low, high, steps[, weight])",
        "Distribution by magnitudes, each in steps.",
    ),
    d("lltostr", "string lltostr(int64_t[, int base])", "A number as text."),
    d("lquantize", "@ = lquantize(n, low, high[, step[, weight]])", "Distribution in equal steps."),
    d("max", "@ = max(scalar)", "The largest value."),
    d("min", "@ = min(scalar)", "The smallest value."),
    d("mod", "mod(uintptr_t address)", "The kernel module at an address."),
    d("normalize", "normalize(@a, uint64_t by)", "Divides the values when they are printed."),
    d("ntohl", "uint32_t ntohl(uint32_t)", "From the order of bytes of the network to that here."),
    d("ntohll", "uint64_t ntohll(uint64_t)", "From the order of bytes of the network to that here."),
    d("ntohs", "uint16_t ntohs(uint16_t)", "From the order of bytes of the network to that here."),
    d("printa", "printa([string format,] @a[, @b ...])", "Prints aggregations now: a row a key, `%@d` for values."),
    d("printf", "printf(string format, ...)", "Prints by a format."),
    d("progenyof", "int progenyof(pid_t)", "Whether the process, or one that it descends from, is the given one."),
    d("quantize", "@ = quantize(n[, weight])", "Distribution by powers of two."),
    d("raise", "raise(int signal)", "Sends the process a signal (needs -w)."),
    d("rand", "int rand()", "A random number."),
    d("rindex", "int rindex(string text, string part[, int from])", "Where a part begins last, or -1."),
    d("speculate", "speculate(int id)", "What the clause records goes into a speculation."),
    d("speculation", "int speculation()", "A new speculation's number; 0 when all are in use."),
    d("stack", "stack([int frames])", "The stack of the kernel."),
    d("stddev", "@ = stddev(scalar)", "The standard deviation."),
    d("stop", "stop()", "Stops the process until it is sent SIGCONT (needs -w)."),
    d("strchr", "string strchr(string text, char c)", "The text from the first such character on."),
    d("strjoin", "string strjoin(string a, string b)", "One text behind the other."),
    d("strlen", "size_t strlen(string)", "Bytes of a text."),
    d("strrchr", "string strrchr(string text, char c)", "The text from the last such character on."),
    d("strstr", "string strstr(string text, string part)", "The text from a part on."),
    d("strtok", "string strtok(string text, string separators)", "The next piece between separators."),
    d("substr", "string substr(string text, int from[, int length])", "A part of a text; from its end when negative."),
    d("sum", "@ = sum(scalar)", "The total."),
    d("sym", "sym(uintptr_t address)", "The symbol of the kernel at an address."),
    d("system", "system(string format, ...)", "Runs a command (needs -w)."),
    d("trace", "trace(value)", "Prints a value."),
    d("tracemem", "tracemem(address, size_t bytes[, size_t used])", "Prints memory as bytes."),
    d("trunc", "trunc(@a[, int keep])", "Removes keys: all, or all but the largest (negative: smallest)."),
    d("ufunc", "ufunc(uintptr_t address)", "The function of the process at an address."),
    d("ustack", "ustack([int frames[, int bytes]])", "The stack of the process."),
    d("usym", "usym(uintptr_t address)", "The symbol of the process at an address."),
];

/// Built-in variables, by name.
pub const VARIABLES: &[Doc] = &[
    d("arg0", "int64_t arg0 ... arg9", "The probe's arguments as numbers."),
    d("args", "args[n]", "The probe's arguments with their types."),
    d("cpu", "processorid_t cpu", "The processor."),
    d("curpsinfo", "psinfo_t *curpsinfo", "The process that runs."),
    d("curthread", "struct task_struct *curthread", "The thread that runs."),
    d("errno", "int errno", "The error of a system call at its return, or 0."),
    d("execname", "string execname", "The name of the process."),
    d("gid", "gid_t gid", "The real group."),
    d("id", "uint_t id", "The probe's number."),
    d("pid", "pid_t pid", "The process."),
    d("ppid", "pid_t ppid", "The parent process."),
    d("probefunc", "string probefunc", "The function in the probe's name."),
    d("probemod", "string probemod", "The module in the probe's name."),
    d("probename", "string probename", "The last field of the probe's name."),
    d("probeprov", "string probeprov", "The provider in the probe's name."),
    d("self", "self->name", "A variable of the thread; 0 until it is set, gone when set to 0."),
    d("this", "this->name", "A variable of the clauses of one firing."),
    d("tid", "id_t tid", "The thread."),
    d("timestamp", "uint64_t timestamp", "Nanoseconds of a clock that only goes forward."),
    d("uid", "uid_t uid", "The real user."),
    d("walltimestamp", "int64_t walltimestamp", "Nanoseconds since 1970 began, UTC."),
];

/// Probes that need nothing of the kernel.
pub const PROBES: &[Doc] = &[
    d("BEGIN", "dtrace:::BEGIN", "Before all others."),
    d("END", "dtrace:::END", "After all others."),
    d("ERROR", "dtrace:::ERROR", "When a clause fails: arg4 is the kind of the fault, arg5 the address."),
    d("tick-1s", "profile:::tick-1s", "On one processor, as often: ns, us, ms, s, m, h, d or hz."),
    d("profile-997hz", "profile:::profile-997hz", "On each processor, as often."),
    d("syscall:::entry", "syscall::NAME:entry", "When a system call begins: arg0 and on, args[0] and on."),
    d("syscall:::return", "syscall::NAME:return", "When a system call ends: arg0 is its result, errno the error."),
];

/// The function or variable of a name.
pub fn of(name: &str) -> Option<&'static Doc> {
    FUNCTIONS.iter().chain(VARIABLES).find(|doc| doc.name == name)
}

#[cfg(test)]
mod tests {
    use super::{FUNCTIONS, VARIABLES};
    use crate::lang::d::check::builtins::is_builtin;
    use crate::lang::d::check::prototypes::is_function;

    #[test]
    fn what_is_told_of_is_known() {
        assert!(FUNCTIONS.iter().all(|doc| is_function(doc.name)));
        assert!(VARIABLES.iter().all(|doc| is_builtin(doc.name)));
        assert!(FUNCTIONS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
