//! Probes as `dtrace -l` shows them: each with its number, and with `-v` its arguments' types and how much programs may
//! rely on what its provider tells, in the reference's words.

use std::fmt::Write as _;
use std::sync::Arc;

use super::ast::ItemKind;
use super::check::other_calls;
use super::lexer::Macros;
use super::parser::{ParseOptions, parse_with};
use super::patterns::fits;
use crate::lang::facts::{CType, CTypeId, Facts};
use crate::lang::typed::Program;
use crate::probe::providers;

/// The head of the table.
#[must_use]
pub fn head() -> String {
    line("ID", ["PROVIDER", "MODULE", "FUNCTION", "NAME"])
}

fn line(id: &str, [provider, module, function, name]: [&str; 4]) -> String {
    format!("{id:>5} {provider:>10} {module:>17} {function:>33} {name}\n")
}

fn fields(name: &str) -> [&str; 4] {
    let mut fields = name.splitn(4, ':');
    [(); 4].map(|()| fields.next().unwrap_or(""))
}

/// The probes of a program, by their numbers, which are those that they have in its records.
#[must_use]
pub fn probes(program: &Program, verbose: bool, facts: &dyn Facts) -> String {
    let mut out = String::new();
    for (id, name) in program.probe_ids.iter().zip(&program.probe_names) {
        out.push_str(&line(&id.to_string(), fields(name)));
        if verbose {
            out.push_str(&about(name, facts));
        }
    }
    out
}

/// The semantic probes that descriptions of a text name and this kernel can't have, each with the reason.
#[must_use]
pub fn absent(text: &str, macros: &Macros, facts: &dyn Facts) -> String {
    let options = ParseOptions { macros, is_type: &|_| false, of_command_line: true };
    let script = parse_with(text, &options).script;
    let clauses = script.items.iter().filter_map(|i| if let ItemKind::Clause(c) = &i.kind { Some(c) } else { None });
    let specs: Vec<Arc<str>> = clauses.flat_map(|c| c.probes.iter().map(|p| Arc::from(&*p.text))).collect();
    let mut out = String::new();
    for row in providers::rows().filter(|row| specs.iter().any(|spec| names(spec, row))) {
        if let Some(Err(refusal)) = facts.semantic(&row.point()) {
            let name = format!("{} ({})", row.name, refusal.message);
            out.push_str(&line("-", [row.provider, "vmlinux", "", &name]));
        }
    }
    out
}

/// Whether a description names a row; its fields are filled from the right.
fn names(spec: &str, row: &providers::Row) -> bool {
    let mut given: Vec<&str> = spec.split(':').collect();
    given.reverse();
    let own = [row.name, "", "vmlinux", row.provider];
    given.len() <= own.len() && given.iter().zip(own).all(|(field, own)| field.is_empty() || fits(field, own))
}

/// How much a program may rely on a name, on what it means, and where.
type Stability = [&'static str; 3];

const EVOLVING: Stability = ["Evolving", "Evolving", "ISA"];
const COMMON: Stability = ["Evolving", "Evolving", "Common"];
const STABLE: Stability = ["Stable", "Stable", "Common"];
const PRIVATE: Stability = ["Private", "Private", "Unknown"];
const PRIVATE_ISA: Stability = ["Private", "Private", "ISA"];

/// What the reference says of a provider's probe names and arguments.
fn stability(provider: &str) -> [Stability; 2] {
    match provider {
        "dtrace" => [STABLE, STABLE],
        "profile" => [COMMON, COMMON],
        "syscall" | "fbt" | "rawfbt" => [PRIVATE_ISA, PRIVATE_ISA],
        "sdt" | "rawtp" => [PRIVATE, PRIVATE_ISA],
        _ => [PRIVATE, EVOLVING],
    }
}

fn about(name: &str, facts: &dyn Facts) -> String {
    let [provider, ..] = fields(name);
    let mut out = String::new();
    for (title, [names, data, class]) in ["Probe Description", "Argument"].iter().zip(stability(provider)) {
        let _ = write!(
            out,
            "\n\t{title} Attributes\n\t\tIdentifier Names: {names}\n\t\tData Semantics:   {data}\n\t\tDependency Class: {class}\n"
        );
    }
    out.push_str("\n\tArgument Types\n");
    let types = arguments(name, facts);
    for (number, ty) in types.iter().enumerate() {
        let _ = writeln!(out, "\t\targs[{number}]: {ty}");
    }
    if types.is_empty() {
        out.push_str("\t\tNone\n");
    }
    out.push('\n');
    out
}

/// The types of `args[0]` and on, by a probe's name.
#[must_use]
pub fn arguments(probe: &str, facts: &dyn Facts) -> Vec<String> {
    let [provider, module, function, name] = fields(probe);
    if let Some(row) = providers::row(&format!("{provider}:{name}")) {
        return row.arguments.iter().map(|(ty, _)| (*ty).to_owned()).collect();
    }
    match provider {
        "syscall" => of_system_call(function, name == "entry", facts),
        "sdt" => {
            let fields = facts.tracepoint(module, name).unwrap_or_default();
            let array = |n: Option<u32>| n.map_or_else(String::new, |n| format!(" [{n}]"));
            fields.iter().map(|f| format!("{}{}", f.c_type, array(f.array))).collect()
        }
        "rawtp" => {
            let prototype = facts.raw_tracepoint("", name).unwrap_or_default();
            prototype.parameters.iter().map(|p| c_text(p.ty, facts)).collect()
        }
        "fbt" => {
            let Some(prototype) = facts.prototype(module, function) else { return Vec::new() };
            match name {
                "entry" => prototype.parameters.iter().map(|p| c_text(p.ty, facts)).collect(),
                _ => prototype.result.map_or_else(Vec::new, |ty| vec!["int".to_owned(), c_text(Some(ty), facts)]),
            }
        }
        _ => Vec::new(),
    }
}

/// Of a system call, or of the first one that another system's name stands for.
fn of_system_call(name: &str, entry: bool, facts: &dyn Facts) -> Vec<String> {
    let event = if entry { "sys_enter" } else { "sys_exit" };
    // Before the arguments stand the call's number, and what all tracepoints have.
    let fields = |call: &str| -> Option<Vec<String>> {
        let fields = facts.tracepoint("syscalls", &format!("{event}_{call}")).ok()?;
        Some(fields.iter().filter(|f| f.offset >= 16).map(|f| f.c_type.to_string()).collect())
    };
    let of_another = |call: &other_calls::Call| {
        let own = fields(call.call)?;
        let argument = |n| own.get(usize::from(call.argument(n)?)).cloned();
        Some(if entry { (0..6).filter_map(argument).collect() } else { own })
    };
    let known = fields(name).or_else(|| other_calls::of_name(name, facts).find_map(of_another));
    known.unwrap_or_default()
}

/// A type of the kernel in C's words.
fn c_text(ty: Option<CTypeId>, facts: &dyn Facts) -> String {
    let Some(id) = ty else { return "void".to_owned() };
    let tagged = |word: &str, name: &str| if name.is_empty() { word.to_owned() } else { format!("{word} {name}") };
    match facts.c_type(id) {
        CType::Void => "void".to_owned(),
        CType::Int { boolean: true, .. } => "_Bool".to_owned(),
        CType::Int { size: 1, text: true, .. } => "char".to_owned(),
        CType::Int { size, signed, .. } => format!("{}int{}_t", if signed { "" } else { "u" }, u32::from(size) * 8),
        CType::Float => "double".to_owned(),
        CType::Enum { name, .. } => tagged("enum", &name),
        CType::Pointer { to, .. } => format!("{} *", c_text(to, facts)),
        CType::Array { of, len } => format!("{} [{len}]", c_text(Some(of), facts)),
        CType::Struct { name, union, .. } => tagged(if union { "union" } else { "struct" }, &name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::facts::NoFacts;

    /// What the reference's own tests of listings (`tst.lv-*`) and its documentation have, but for what is told in docs/d.md.
    const ARGUMENTS: &[(&str, &str)] = &[
        ("io:vmlinux::start", "bufinfo_t *, devinfo_t *, fileinfo_t *"),
        ("io:vmlinux::done", "bufinfo_t *, devinfo_t *, fileinfo_t *"),
        ("io:vmlinux::wait-start", "bufinfo_t *, devinfo_t *, fileinfo_t *"),
        ("io:vmlinux::wait-done", "bufinfo_t *, devinfo_t *, fileinfo_t *"),
        ("ip:vmlinux::receive", "pktinfo_t *, csinfo_t *, ipinfo_t *, ifinfo_t *, ipv4info_t *, ipv6info_t *"),
        ("ip:vmlinux::send", "pktinfo_t *, csinfo_t *, ipinfo_t *, ifinfo_t *, ipv4info_t *, ipv6info_t *"),
        ("lockstat:vmlinux::adaptive-acquire", "struct mutex *"),
        ("lockstat:vmlinux::adaptive-acquire-error", "struct mutex *, int"),
        ("lockstat:vmlinux::adaptive-block", "struct mutex *, uint64_t"),
        ("lockstat:vmlinux::adaptive-release", "struct mutex *"),
        ("lockstat:vmlinux::adaptive-spin", "struct mutex *, uint64_t"),
        ("lockstat:vmlinux::rw-acquire", "struct rwlock *, int"),
        ("lockstat:vmlinux::rw-release", "struct rwlock *, int"),
        ("lockstat:vmlinux::rw-spin", "struct rwlock *, uint64_t, int"),
        ("lockstat:vmlinux::spin-acquire", "spinlock_t *"),
        ("lockstat:vmlinux::spin-release", "spinlock_t *"),
        ("lockstat:vmlinux::spin-spin", "spinlock_t *, uint64_t"),
        ("proc:vmlinux::create", "psinfo_t *"),
        ("proc:vmlinux::exec", "string"),
        ("proc:vmlinux::exec-failure", "int"),
        ("proc:vmlinux::exec-success", ""),
        ("proc:vmlinux::exit", "int"),
        ("proc:vmlinux::lwp-create", "lwpsinfo_t *, psinfo_t *"),
        ("proc:vmlinux::lwp-exit", ""),
        ("proc:vmlinux::lwp-start", ""),
        ("proc:vmlinux::signal-clear", "int"),
        ("proc:vmlinux::signal-discard", "lwpsinfo_t *, psinfo_t *, int"),
        ("proc:vmlinux::signal-handle", "int, siginfo_t *, uintptr_t"),
        ("proc:vmlinux::signal-send", "lwpsinfo_t *, psinfo_t *, int"),
        ("proc:vmlinux::start", ""),
        ("sched:vmlinux::change-pri", "lwpsinfo_t *, psinfo_t *, int"),
        ("sched:vmlinux::dequeue", "lwpsinfo_t *, psinfo_t *, cpuinfo_t *, int"),
        ("sched:vmlinux::enqueue", "lwpsinfo_t *, psinfo_t *, cpuinfo_t *"),
        ("sched:vmlinux::off-cpu", "lwpsinfo_t *, psinfo_t *"),
        ("sched:vmlinux::on-cpu", ""),
        ("sched:vmlinux::surrender", "lwpsinfo_t *, psinfo_t *"),
        ("sched:vmlinux::tick", "lwpsinfo_t *, psinfo_t *"),
        ("sched:vmlinux::wakeup", "lwpsinfo_t *, psinfo_t *"),
        ("tcp:vmlinux::accept-established", TCP),
        ("tcp:vmlinux::accept-refused", TCP),
        ("tcp:vmlinux::connect-established", TCP),
        ("tcp:vmlinux::connect-refused", TCP),
        ("tcp:vmlinux::connect-request", TCP),
        ("tcp:vmlinux::receive", TCP),
        ("tcp:vmlinux::send", TCP),
        ("tcp:vmlinux::state-change", "void, csinfo_t *, void, tcpsinfo_t *, void, tcplsinfo_t *"),
        ("udp:vmlinux::receive", "pktinfo_t *, csinfo_t *, ipinfo_t *, udpsinfo_t *, udpinfo_t *"),
        ("udp:vmlinux::send", "pktinfo_t *, csinfo_t *, ipinfo_t *, udpsinfo_t *, udpinfo_t *"),
        ("dtrace:::BEGIN", ""),
        ("profile:::tick-1sec", ""),
    ];
    const TCP: &str = "pktinfo_t *, csinfo_t *, ipinfo_t *, tcpsinfo_t *, tcpinfo_t *, void";

    #[test]
    fn arguments_are_those_of_the_reference() {
        for (probe, types) in ARGUMENTS {
            assert_eq!(arguments(probe, &NoFacts).join(", "), *types, "{probe}");
        }
    }

    #[test]
    fn every_probe_of_the_documented_providers_is_among_them() {
        // What this program has besides: sleeping and the scheduler's decisions, which the reference only declares.
        const BESIDES: &[&str] = &["sched:sleep", "sched:preempt", "sched:remain-cpu", "lockstat:rw-block"];
        for row in providers::rows().filter(|row| !matches!(row.provider, "sysinfo" | "vminfo" | "mib")) {
            let known = ARGUMENTS.iter().any(|(probe, _)| {
                let [provider, _, _, name] = fields(probe);
                provider == row.provider && name == row.name
            });
            assert!(known || BESIDES.contains(&&*row.point()), "{}", row.point());
        }
    }

    #[test]
    fn descriptions_name_rows_from_the_right() {
        let row = providers::row("io:start").unwrap();
        for spec in ["io:::", "io:::start", "start", ":::", "io*:::st*", "vmlinux::start", "io:vmlinux::"] {
            assert!(names(spec, row), "{spec}");
        }
        for spec in ["io:::done", "ip:::", "vmlinux:start:", "a:b:c:d:e"] {
            assert!(!names(spec, row), "{spec}");
        }
    }
}
