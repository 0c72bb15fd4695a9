//! Probes to BPF programs: which kinds, sections and names; predicate, body and process filter.

pub mod brake;
pub mod branchless;
pub mod budget;
pub mod dispatch;
pub mod entry;
pub mod exclusion;
pub mod firing;
pub mod inline;
pub mod locals;
pub mod multi;
pub mod plan;
pub mod raw;
pub mod records;
pub mod refusal;
pub mod session;
pub mod trampolines;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::codegen::artifact::{ProgramKind, ProgramSpec};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{FuncId, Linkage};
use crate::kernel::target::TargetFacts;
use crate::lang::typed::walk::Node;
use crate::lang::typed::{BinaryOp, Block, Builtin, Expr, ExprKind, MapId, Probe};
use crate::model::target::{Rate, Target};
use crate::probe::name::target_name;

use crate::codegen::lower::builtin::task;
use crate::codegen::lower::function::{FunctionState, Lowerer, Role};
use crate::codegen::lower::loops::explored::has_explored_loop;
use crate::codegen::lower::loops::hot_loop_lint;
use crate::codegen::lower::maps::map_value_cache;
use crate::codegen::lower::object::{Guard, LimitSections, ObjectBuilder, Region};
use crate::codegen::lower::programs::exclusion::{Exclusion, exclusion};
use crate::codegen::lower::programs::plan::{newest_first, plan};
use crate::codegen::lower::variables::Variables;

/// Longest name of a program's function; the kernel takes 127 bytes (`KSYM_NAME_LEN` before Linux 6.1).
const LONGEST_NAME: usize = 96;

/// `tracepoint_syscalls_sys_enter_open_1`: a C identifier with the number of the program, from 1, as bpftrace names
/// its programs. It is what `fentry:bpf:NAME` of another trace finds; tools show the first 15 bytes.
pub fn program_name(number: usize, target: &Target) -> String {
    // Timers go by microseconds there, whatever unit the script has.
    let probe = match target {
        Target::Interval { period_ns } => format!("interval:us:{}", period_ns / 1000),
        Target::Profile { rate: Rate::PeriodNs(ns) } => format!("profile:us:{}", ns / 1000),
        other => target_name(other),
    };
    let mut name: String = probe.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    name.truncate(LONGEST_NAME);
    format!("{name}_{}", number + 1)
}

/// Marks the maps whose per-CPU values programs update that can interrupt each other.
pub fn find_contention(object: &mut ObjectBuilder<'_>) {
    let program = object.program;
    let mut users: Vec<Vec<(Exclusion, usize)>> = vec![Vec::new(); program.maps.len()];
    let mut number = 0;
    for probe in &program.probes {
        let bodies = program.bodies_called(&probe.body);
        let maps: BTreeSet<MapId> = bodies.into_iter().flat_map(Block::nodes).filter_map(Node::added_to).collect();
        for plan in plan(probe, object) {
            let class = exclusion(plan.kind, object.facts);
            number += 1;
            // Members of the shared class count as one user.
            let user = (class, if class == Exclusion::Shared { 0 } else { number });
            for map in &maps {
                let users = &mut users[map.0 as usize];
                if class != Exclusion::Alone && !users.contains(&user) {
                    users.push(user);
                }
            }
        }
    }
    for (contended, users) in object.contended.iter_mut().zip(users) {
        let alone = |u: &(Exclusion, usize)| matches!(u.0, Exclusion::Preempted | Exclusion::Nests);
        *contended = users.len() > 1 || users.iter().any(alone);
    }
}

/// Lowers all programs of a probe.
pub fn lower_probe<'a>(object: &mut ObjectBuilder<'a>, index: u32, probe: &'a Probe) -> Result<(), CodegenError> {
    for plan in plan(probe, object) {
        let name = program_name(object.programs.len(), &probe.targets[plan.targets[0] as usize]);
        let single = plan.targets.len() == 1;
        object.programs.push(ProgramSpec {
            name: Arc::from(name.as_str()),
            section: Arc::from(plan.section.as_str()),
            probe: index,
            on_return: None,
            targets: plan.targets.clone(),
            kind: plan.kind,
            instructions: 0,
            lines: Vec::new(),
            needs_cookie: probe.needs_probe_id && !single && plan.kind != ProgramKind::SyscallDispatch,
            newest_first: newest_first(&plan, probe, object.facts),
        });
        let linkage = Linkage::Program { kind: plan.kind, section: plan.section };
        lower_function(object, (index, probe), plan.kind, &plan.targets, &name, (linkage, Vec::new()))?;
    }
    Ok(())
}

/// What brakes and the budget take.
pub fn limit_sections(object: &ObjectBuilder<'_>) -> LimitSections {
    LimitSections {
        brake_bytes: object.brakes.len() as u32 * brake::stride(object),
        budget_bytes: budget::section_bytes(object),
        sites: budget::sites(object),
    }
}

/// Lowers one probe for some of its targets: to a program, or to a part of one.
pub fn lower_function<'a>(
    object: &mut ObjectBuilder<'a>,
    (index, probe): (u32, &'a Probe),
    kind: ProgramKind,
    targets: &[u32],
    name: &str,
    (linkage, cookies): (Linkage, Vec<(u32, u32)>),
) -> Result<FuncId, CodegenError> {
    let region = region_for(object, kind);
    let id = object.reserve_function();
    let mut state = FunctionState::new(id, name, linkage, 1, Role::Program, region);
    let has_explored_loop = has_explored_loop(object.cost_context(), &probe.body);
    state.builder.function_mut().has_explored_loop = has_explored_loop;
    let mut lowerer = Lowerer {
        object,
        function: state,
        probe_index: index,
        probe,
        target: targets[0] as usize,
        single: targets.len() == 1,
        cookies,
        kind,
        variables: Variables::new(&probe.locals),
        has_explored_loop,
        inline: Vec::new(),
        scratch_next: 0,
        iterators: Vec::new(),
        callbacks: 0,
        inlining: Vec::new(),
        firing: None,
        brake: None,
        reads_task: None,
        known: map_value_cache::Known::default(),
    };
    lower_program(&mut lowerer, targets)?;
    let Lowerer { function, .. } = lowerer;
    Lowerer::hand_over(object, function, index, probe.span);
    Ok(id)
}

/// Whether a predicate may be asked after `exit()`, too: it changes nothing, and nothing in it can fail and
/// be counted. The events that it refuses, which are the most frequent ones, then pass one test less.
fn leaves_no_trace(predicate: &Expr, facts: &TargetFacts) -> bool {
    let is_plain = |e: &Expr| {
        matches!(
            &e.kind,
            ExprKind::Int(_)
                | ExprKind::Str(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary(
                    BinaryOp::Eq
                        | BinaryOp::Ne
                        | BinaryOp::Lt
                        | BinaryOp::Le
                        | BinaryOp::Gt
                        | BinaryOp::Ge
                        | BinaryOp::BitAnd,
                    ..
                )
                | ExprKind::And(..)
                | ExprKind::Or(..)
                | ExprKind::Cast(_)
                | ExprKind::Builtin(
                    Builtin::Pid | Builtin::Tid | Builtin::Uid | Builtin::Gid | Builtin::Cpu | Builtin::Comm
                )
        ) || matches!(&e.kind, ExprKind::Builtin(Builtin::ChildPid) if facts.budget)
            || matches!(&e.kind, ExprKind::Builtin(Builtin::CtxField(_)) if e.ty.fits_register())
    };
    predicate.is_pure() && predicate.all_exprs().all(is_plain)
}

/// Working memory for a program of this kind.
fn region_for(object: &mut ObjectBuilder<'_>, kind: ProgramKind) -> usize {
    let guard = match exclusion(kind, object.facts) {
        Exclusion::Alone | Exclusion::Shared => return 0,
        Exclusion::Own => Guard::None,
        Exclusion::Nests => Guard::Word,
        Exclusion::Preempted if object.facts.atomics => Guard::Claim,
        Exclusion::Preempted => Guard::Word,
    };
    // Preemptible programs share one region: its slots are claimed, whoever comes.
    if guard == Guard::Claim
        && let Some(i) = object.regions.iter().position(|r| r.guard == Guard::Claim)
    {
        return i;
    }
    object.regions.push(Region { guard, bytes: 0 });
    object.regions.len() - 1
}

fn lower_program(l: &mut Lowerer<'_, '_>, targets: &[u32]) -> Result<(), CodegenError> {
    let probe = l.probe;
    l.function.builder.set_span(probe.head);
    locals::place_locals(l, &probe.body, probe.predicate.as_ref());
    brake::plan(l);
    hot_loop_lint::warn_hot_loops(l, targets);
    if l.kind == ProgramKind::SyscallDispatch {
        dispatch::begin(l, targets);
    }
    // An iterator goes on to its end, whatever the program does at an object: `exit()` ends the trace after it.
    let stops = !matches!(l.kind, ProgramKind::TestRun | ProgramKind::Iter);
    if l.kind == ProgramKind::Iter {
        refusal::refuse_end_of_walk(&mut l.function);
    }
    let late = probe.predicate.as_ref().is_some_and(|p| leaves_no_trace(p, l.object.facts));
    if stops && !late {
        refusal::refuse_after_exit(l);
        brake::refuse_when_braked(l);
    }
    if let Some(pid) = l.object.facts.filter_pid.filter(|_| filters_processes(l)) {
        let process = task::pid(l, true);
        refusal::refuse_unless_equal(&mut l.function, process, i64::from(pid));
    }
    let before_predicate = probe.predicate.is_some() && !late;
    if before_predicate {
        budget::begin_firing(l, true);
    }
    if let Some(predicate) = &probe.predicate {
        let (body, refused) = (l.function.builder.new_block(), brake::refused_by_predicate(l));
        let mark = l.mark();
        locals::initialise_for_predicate(l);
        l.known.note_predicate(predicate);
        l.condition(predicate, body, refused)?;
        l.release(mark);
        l.function.builder.switch_to(body);
    }
    if stops && late {
        refusal::refuse_after_exit(l);
        brake::refuse_when_braked(l);
    }
    l.function.begin_body();
    if !before_predicate {
        budget::begin_firing(l, false);
    }
    locals::initialise_locals(l, &probe.body, 0);
    l.block(&probe.body)?;
    l.leave();
    Ok(())
}

/// Whether `-p` limits this kind of probe here. User probes are limited where they attach as well, as long as the process's
/// first thread lives.
fn filters_processes(l: &Lowerer<'_, '_>) -> bool {
    let target = &l.probe.targets[l.target];
    !l.probe.limited && !target.is_fired_by_tracer()
}
