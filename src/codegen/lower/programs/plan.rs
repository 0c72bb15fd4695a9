//! Which programs a probe becomes: their kinds, sections and targets.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::programs::multi::{MULTI_FROM, Plan};
use crate::codegen::lower::programs::{dispatch, raw, records, session, trampolines};
use crate::kernel::target::TargetFacts;
use crate::lang::typed::Probe;
use crate::model::target::Target;

/// The kind of program that a target runs.
pub const fn kind_of(target: &Target) -> ProgramKind {
    match target {
        Target::Begin | Target::End | Target::SelfSignal(_) | Target::Test(_) | Target::Bench(_) => {
            ProgramKind::TestRun
        }
        Target::Interval { .. } | Target::Profile { .. } | Target::PerfEvent { .. } | Target::Watchpoint { .. } => {
            ProgramKind::PerfEvent
        }
        Target::Tracepoint { .. } => ProgramKind::Tracepoint,
        Target::RawTracepoint { .. } => ProgramKind::RawTracepoint,
        Target::Kprobe { .. } => ProgramKind::Kprobe,
        Target::Fentry { exit: false, .. } => ProgramKind::Fentry,
        Target::Fentry { exit: true, .. } => ProgramKind::Fexit,
        Target::Uprobe { .. } | Target::Usdt { .. } => ProgramKind::Uprobe,
        Target::Iter { .. } => ProgramKind::Iter,
    }
}

/// ELF section by libbpf's conventions (`section_defs` in libbpf.c).
fn section_of(target: &Target) -> String {
    match target {
        Target::Tracepoint { category, event } => format!("tracepoint/{category}/{event}"),
        Target::RawTracepoint { event, .. } => format!("tp_btf/{event}"),
        Target::Kprobe { function, ret, offset, .. } => {
            let kind = if *ret { "kretprobe" } else { "kprobe" };
            match (function.is_empty(), offset) {
                (true, _) => kind.to_owned(),
                (false, 0) => format!("{kind}/{function}"),
                (false, offset) => format!("{kind}/{function}+{offset}"),
            }
        }
        Target::Fentry { function, exit, .. } => format!("{}/{function}", if *exit { "fexit" } else { "fentry" }),
        Target::Uprobe { ret: true, .. } => "uretprobe".to_owned(),
        Target::Uprobe { .. } | Target::Usdt { .. } => "uprobe".to_owned(),
        Target::Iter { kind, .. } => format!("iter/{kind}"),
        Target::Begin | Target::End | Target::SelfSignal(_) | Target::Test(_) | Target::Bench(_) => "raw_tp".to_owned(),
        Target::Interval { .. } | Target::Profile { .. } | Target::PerfEvent { .. } | Target::Watchpoint { .. } => {
            "perf_event".to_owned()
        }
    }
}

/// Section of programs whose raw tracepoints are named when they are attached.
const RAW: &str = "raw_tp";

/// Section of a program with several targets: the engine says where it goes.
fn shared_section(kind: ProgramKind, target: &Target) -> String {
    match (kind, target) {
        (ProgramKind::RawTracepoint, Target::Tracepoint { .. }) => RAW.to_owned(),
        (ProgramKind::Tracepoint, _) => "tracepoint".to_owned(),
        (_, Target::Kprobe { ret, .. }) => if *ret { "kretprobe" } else { "kprobe" }.to_owned(),
        _ => section_of(target),
    }
}

/// What targets of one program must have in common beside its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Apart {
    ret: bool,
    /// How much of its record the body reads.
    record_end: Option<u32>,
}

/// Splits a probe's targets into programs: one for all targets of a kind, where the kernel lets one
/// program be attached many times and the body does not differ.
pub fn plan(probe: &Probe, object: &ObjectBuilder<'_>) -> Vec<Plan> {
    let facts = object.facts;
    let mut plans: Vec<(Plan, Apart)> = Vec::new();
    let raw = object.prefers_raw && raw::needs_no_record(probe);
    let groups = dispatch::groups(probe, object.cost_context());
    let shared = trampolines::shared(probe, facts);
    if let Some(plan) = trampolines::plan(probe, &shared) {
        plans.push((plan, Apart::default()));
    }
    for targets in &groups {
        let section = dispatch::section(&probe.targets[targets[0] as usize]);
        plans.push((Plan { kind: ProgramKind::SyscallDispatch, section, targets: targets.clone() }, Apart::default()));
    }
    let asked = records::asked(probe);
    for (index, target) in probe.targets.iter().enumerate() {
        let number = index as u32;
        if shared.contains(&number) || groups.iter().any(|g| g.binary_search(&number).is_ok()) {
            continue;
        }
        let raw = raw && raw::has_raw(target);
        let kind = if raw { ProgramKind::RawTracepoint } else { kind_of(target) };
        let cookies = || facts.features().attach_cookie && (!raw || raw::has_cookies(facts));
        // A trampoline program is bound to its function when it is loaded; the operands of a USDT
        // site are part of the code; without cookies a program knows its one target only.
        let alone = matches!(kind, ProgramKind::RawTracepoint | ProgramKind::Fentry | ProgramKind::Fexit) && !raw
            || matches!(target, Target::Usdt { .. } | Target::Iter { .. })
            || (probe.needs_probe_id && (!cookies() || kind == ProgramKind::TestRun));
        let ret = matches!(target, Target::Kprobe { ret: true, .. } | Target::Uprobe { ret: true, .. });
        let apart = Apart { ret, record_end: records::read_end(target, asked, facts).filter(|_| !raw) };
        let same =
            plans.iter_mut().find(|(p, a)| !alone && p.kind == kind && *a == apart && (!raw || p.section == RAW));
        if let Some((plan, _)) = same {
            plan.targets.push(number);
            plan.section = shared_section(kind, target);
        } else {
            let section = if raw { shared_section(kind, target) } else { section_of(target) };
            plans.push((Plan { kind, section, targets: vec![number] }, apart));
        }
    }
    plans.into_iter().map(|(plan, apart)| as_multi(plan, apart.ret, probe, object)).collect()
}

/// One link for many functions (`kprobe.multi`, `uprobe.multi`), as wildcards give: attaching them one
/// by one takes the kernel milliseconds each.
fn as_multi(plan: Plan, ret: bool, probe: &Probe, object: &ObjectBuilder<'_>) -> Plan {
    let facts = object.facts;
    let plain = |i: &u32| match &probe.targets[*i as usize] {
        Target::Kprobe { module, offset: 0, .. } => matches!(&**module, "" | "vmlinux"),
        _ => false,
    };
    // Asked for where it matters only: what the kernel has is in its types, which take their time.
    let alone = || facts.features().uprobe_multi_alone && !facts.for_other_loaders;
    let user = |i: &u32| match &probe.targets[*i as usize] {
        Target::Uprobe { .. } => true,
        Target::Usdt { .. } => alone(),
        _ => false,
    };
    let many = || plan.targets.len() > 1 || object.many_uprobes || alone();
    let many = plan.kind == ProgramKind::Uprobe && plan.targets.iter().all(user) && many();
    let counts_threads = || facts.filter_pid.is_none() || facts.features().uprobe_multi_threads;
    if many && facts.features().uprobe_multi && counts_threads() {
        let section = if ret { "uretprobe.multi" } else { "uprobe.multi" };
        return Plan { kind: ProgramKind::UprobeMulti, section: section.to_owned(), ..plan };
    }
    // A kretprobe of its own has places for ten pending calls (`maxactive`), such a link has as many as there are.
    // Of the two, one runs before the other, whichever comes first in the script.
    let reached = || object.program.probes.iter().filter(|other| returns_too(other, probe)).all(session::reaches);
    let places = || facts.features().kprobe_session.is_some() && !facts.features().session_loses_entries;
    let lossless = ret && places() && reached();
    let is_profitable = plan.targets.len() >= MULTI_FROM || lossless;
    let many = plan.kind == ProgramKind::Kprobe && is_profitable && plan.targets.iter().all(plain);
    if !many || !facts.features().kprobe_multi {
        return plan;
    }
    let section = if ret { "kretprobe.multi" } else { "kprobe.multi" };
    Plan { kind: ProgramKind::KprobeMulti, section: section.to_owned(), ..plan }
}

/// Whether a probe is at the return of a function at whose return the other one is. Those on many functions don't matter.
fn returns_too(probe: &Probe, other: &Probe) -> bool {
    let few = |probe: &Probe| probe.targets.len() < MULTI_FROM;
    let shared = |target: &Target| matches!(target, Target::Kprobe { ret: true, .. }) && other.targets.contains(target);
    few(probe) && few(other) && probe.targets.iter().any(shared) || std::ptr::eq(probe, other)
}

/// Whether the kernel runs the program first that was attached last, of those on one place.
pub fn newest_first(plan: &Plan, probe: &Probe, facts: &TargetFacts) -> bool {
    let is_return = matches!(&probe.targets[plan.targets[0] as usize], Target::Kprobe { ret: true, .. });
    match plan.kind {
        ProgramKind::Kprobe => !is_return,
        ProgramKind::KprobeMulti => !is_return || facts.features().newest_return_first,
        ProgramKind::KprobeSession
        | ProgramKind::Uprobe
        | ProgramKind::UprobeMulti
        | ProgramKind::Fentry
        | ProgramKind::Fexit
        | ProgramKind::FentryMulti
        | ProgramKind::FexitMulti
        | ProgramKind::Iter => true,
        ProgramKind::TestRun
        | ProgramKind::Tracepoint
        | ProgramKind::RawTracepoint
        | ProgramKind::SyscallDispatch
        | ProgramKind::PerfEvent => false,
    }
}
