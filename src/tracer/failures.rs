//! "Why did it fail?": the functions that a failing system call ran through, down to the one where the error came from.
//!
//! An ordinary script does the tracing. It notes the chosen system calls and, inside of them, every call and return of
//! the functions that handle the objects of system calls and may return an error ([`script`]). What it reports is put
//! together to trees by [`assemble`], with the parameters' names and types from BTF ([`shapes`]).

pub mod assemble;
mod few;
pub mod shapes;

use std::fmt::Write as _;

use crate::kernel::syscalls::{self, Machine};
use crate::kernel::{Absence, Feature, Kernel};

/// Structs that system calls on files hand from function to function.
const FILES: &str = "inode|dentry|file|path|nameidata|filename|super_block|kiocb|iattr|vfsmount|mount|linux_binprm|\
                     fs_context|open_flags|files_struct|fd";
/// Those of sockets.
const SOCKETS: &str = "socket|sock|msghdr|sockaddr";
/// Those of processes, memory and System V objects.
const TASKS: &str = "task_struct|cred|pid|kernel_siginfo|rlimit|mm_struct|vm_area_struct|kern_ipc_perm|ipc_namespace|\
                     user_namespace";
/// Functions that take none of these.
const NAMED: &[&str] = &[
    "do_*",
    "ksys_*",
    "__do_sys_*",
    "__sys_*",
    "vfs_*",
    "security_*",
    "cap_*",
    "*alloc_fd",
    "get_unused_fd_flags",
    "getname*",
    "user_path_at*",
    "mnt_want_write*",
    "may_*",
    "should_fail*",
];
/// System calls that handle sockets only.
const SOCKET_CALLS: &[&str] = &[
    "accept",
    "accept4",
    "bind",
    "connect",
    "getpeername",
    "getsockname",
    "getsockopt",
    "listen",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    "socket",
    "socketpair",
];

/// Objects whose names are read where a function is given one, each by what it takes and how its name is reached from
/// argument N.
const NAMES: &[(&str, &[usize], &str)] = &[
    ("filename", &[0, 1], "((struct filename *)argN)->name"),
    ("dentry", &[0, 1, 2], "((struct dentry *)argN)->d_name.name"),
    ("path", &[0, 1], "((struct path *)argN)->dentry->d_name.name"),
    ("file", &[0, 1], "((struct file *)argN)->f_path.dentry->d_name.name"),
    ("linux_binprm", &[0], "((struct linux_binprm *)argN)->filename"),
];

/// Whose system calls, and which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// One process.
    pub pid: Option<u32>,
    /// The command that is started, with what it starts in turn.
    pub of_command: bool,
    /// Threads of this name.
    pub comm: Option<String>,
    /// One call, by its name.
    pub syscall: Option<String>,
    /// A process that is never traced: the tracer itself.
    pub except: u32,
}

/// A script and what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its text.
    pub script: String,
    /// What this kernel does not let it see, and why.
    pub limits: Vec<String>,
}

/// Why the question can't be asked here.
#[derive(Debug, thiserror::Error)]
pub enum FailuresError {
    /// The kernel lacks what it needs.
    #[error("{absence}; {remedy}", remedy = .0.remedy, absence = .0)]
    Absent(#[from] Absence),
    /// No such system call.
    #[error("`{0}` is no system call of this machine")]
    NoSuchCall(String),
    /// A name that can't stand in a script.
    #[error("`{0}` is no name of a thread: at most 15 characters, and none of \" and \\")]
    NoName(String),
}

/// The script that answers a question on this kernel.
///
/// # Errors
/// When the kernel has no probes on functions, or the question makes no sense.
pub fn script(question: &Question, kernel: &Kernel) -> Result<Asked, FailuresError> {
    let features = kernel.features();
    features.require(Feature::Kprobe)?;
    kernel.btf()?;
    let mut limits = Vec::new();
    let many = features.has(Feature::KprobeMulti);
    let points = if many {
        if !kernel.version().at_least(6, 3) {
            limits.push(
                "functions of modules are not traced: Linux before 6.3 takes them into no link to many functions"
                    .to_owned(),
            );
        }
        patterns(question.syscall.as_deref())
    } else {
        let points = few::points(kernel);
        let why = features.require(Feature::KprobeMulti).err().map_or_else(String::new, |absence| absence.to_string());
        limits.push(format!("{} chosen functions are traced, not all that fit: {why}", points.len()));
        points
    };
    let mut text = head(question, &limits);
    if !many {
        // Attached one by one, some are refused: a copy that was compiled without tracing, say.
        text += "config = {\n    missing_probes = \"warn\";\n}\n\n";
    }
    if question.of_command {
        text += "begin\n{\n    @of[cpid] = 1;\n}\n\n";
        text += "tracepoint:sched:sched_process_fork\n/@of[pid]/\n{\n    @of[(uint32)args.child_pid] = 1;\n}\n\n";
    }
    let _ = writeln!(text, "tracepoint:raw_syscalls:sys_enter\n/{}/", condition(question)?);
    text += ENTER;
    add_clause(&mut text, "kprobe", &points, CALL);
    if many {
        for (tag, places, access) in NAMES {
            for place in *places {
                add_name(&mut text, tag, *place, access);
            }
        }
    }
    add_clause(&mut text, "kretprobe", &points, RETURN);
    text += LEAVE;
    Ok(Asked { script: text, limits })
}

const ENTER: &str = r#"{
    @in[tid] = 1;
    printf("enter %d %d %s %d %lx %lx %lx %lx %lx %lx %s %s\n", tid, pid, comm, args.id, args.args[0], args.args[1],
        args.args[2], args.args[3], args.args[4], args.args[5], str(uptr(args.args[0]), 128), str(uptr(args.args[1]), 128));
}
"#;
const CALL: &str = r#"    printf("call %d %s %lx %lx %lx %lx %lx %lx\n", tid, func, arg0, arg1, arg2, arg3, arg4, arg5);
"#;
const RETURN: &str = r#"    printf("return %d %s %lx\n", tid, func, retval);
"#;
const LEAVE: &str = r#"
tracepoint:raw_syscalls:sys_exit
/@in[tid]/
{
    printf("leave %d %ld\n", tid, args.ret);
    delete(@in, tid);
}

tracepoint:sched:sched_process_exit
/@in[tid]/
{
    delete(@in, tid);
}

end
{
    clear(@in);
}
"#;

fn head(question: &Question, limits: &[String]) -> String {
    let mut text = String::from(
        "// why-failed: Which function of the kernel a system call's error came from.\n//\n// Shows: \
         Inside the chosen system calls every function that fits is noted, with arguments and result.\n//   In \
         parentheses stand the structs one of which a function takes, `->errno` leaves those that may fail.\n// Needs: \
         probes on functions, BTF, tracepoints raw_syscalls and sched.\n",
    );
    for limit in limits {
        let _ = writeln!(text, "// Limit: {limit}.");
    }
    if question.of_command {
        text += "//\n// Traced are the command and what it starts.\n";
    }
    text.push('\n');
    text
}

fn condition(question: &Question) -> Result<String, FailuresError> {
    let mut all = Vec::new();
    match question.pid {
        Some(pid) => all.push(format!("pid == {pid}")),
        None if question.of_command => all.push("@of[pid]".to_owned()),
        None => all.push(format!("pid != {}", question.except)),
    }
    if let Some(comm) = &question.comm {
        if comm.is_empty() || comm.len() > 15 || comm.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) {
            return Err(FailuresError::NoName(comm.clone()));
        }
        all.push(format!("comm == \"{comm}\""));
    }
    if let Some(name) = &question.syscall {
        let number = syscalls::number(Machine::HOST, name).ok_or_else(|| FailuresError::NoSuchCall(name.clone()))?;
        all.push(format!("args.id == {number}"));
    }
    Ok(all.join(" && "))
}

fn patterns(syscall: Option<&str>) -> Vec<String> {
    let sockets = syscall.is_some_and(|name| SOCKET_CALLS.contains(&name));
    let mut points = if sockets {
        vec![format!("*({SOCKETS}|file)->errno")]
    } else {
        vec![format!("*({FILES}|{SOCKETS}|{TASKS})->errno")]
    };
    points.extend(
        NAMED.iter().map(|name| if name.contains('*') { format!("{name}->errno") } else { (*name).to_owned() }),
    );
    points
}

fn add_clause(text: &mut String, provider: &str, points: &[String], body: &str) {
    let list: Vec<String> = points.iter().map(|point| format!("{provider}:{point}")).collect();
    let _ = writeln!(text, "\n{}\n/@in[tid]/\n{{\n{body}}}", list.join(",\n"));
}

fn add_name(text: &mut String, tag: &str, place: usize, access: &str) {
    let value = access.replace('N', &place.to_string());
    let body = format!("    printf(\"name %d %s {place} %s\\n\", tid, func, str({value}, 64));\n");
    add_clause(text, "kprobe", &[format!("*({tag}@{place})->errno")], &body);
}
