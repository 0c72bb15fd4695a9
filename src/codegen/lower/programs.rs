//! Probes to BPF programs: which kinds, sections and names; predicate, body and process filter.

pub mod brake;
mod branchless;
pub mod budget;
pub mod dispatch;
pub mod entry;
pub mod exclusion;
pub mod firing;
pub mod inline;
pub mod multi;
pub mod plan;
pub mod raw;
pub mod session;
pub mod trampolines;

use std::sync::Arc;

use crate::codegen::artifact::{ProgramKind, ProgramSpec};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, FuncId, Linkage, Size};
use crate::codegen::lower::loops::explored::has_explored_loop;
use crate::codegen::lower::maps::map_value_cache;
use crate::codegen::lower::scopes::Scopes;
use crate::kernel::target::TargetFacts;
use crate::lang::typed::{BinaryOp, Block, Builtin, Expr, ExprKind, LocalId, Probe, Program, Statement, StatementKind};
use crate::model::target::{Rate, Target};
use crate::probe::name::target_name;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::{FRAME_LOCALS, FunctionState, LocalHome, Lowerer, Role};
use crate::codegen::lower::layout::SHARED;
use crate::codegen::lower::loops::choice::is_callback;
use crate::codegen::lower::object::{EXITING, Guard, LimitSections, ObjectBuilder, Region};
use crate::codegen::lower::programs::exclusion::{Exclusion, exclusion};
use crate::codegen::lower::walk;

use plan::{newest_first, plan};

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
pub fn find_contention(unit: &mut ObjectBuilder<'_>) {
    let program = unit.program;
    let mut users: Vec<Vec<(Exclusion, usize)>> = vec![Vec::new(); program.maps.len()];
    let mut number = 0;
    for probe in &program.probes {
        let mut maps = Vec::new();
        note_updates(&probe.body, program, &mut maps, 0);
        for plan in plan(probe, unit) {
            let class = exclusion(plan.kind, unit.facts);
            number += 1;
            // Members of the shared class count as one user.
            let user = (class, if class == Exclusion::Shared { 0 } else { number });
            for map in &maps {
                let users = &mut users[*map as usize];
                if class != Exclusion::Alone && !users.contains(&user) {
                    users.push(user);
                }
            }
        }
    }
    for (contended, users) in unit.contended.iter_mut().zip(users) {
        let alone = |u: &(Exclusion, usize)| matches!(u.0, Exclusion::Preempted | Exclusion::Nests);
        *contended = users.len() > 1 || users.iter().any(alone);
    }
}

fn note_updates(block: &Block, program: &Program, maps: &mut Vec<u32>, depth: u32) {
    let mut calls = Vec::new();
    let mut found = Vec::new();
    walk::each(
        block,
        &mut |s| {
            if let StatementKind::Aggregate { map, .. } = &s.kind {
                found.push(map.0);
            }
        },
        &mut |e| match &e.kind {
            ExprKind::MapStep { map, .. } => calls.push(Err(map.0)),
            ExprKind::CallUser(id, _) => calls.push(Ok(id.0)),
            _ => {}
        },
    );
    maps.extend(found);
    for call in calls {
        match call {
            Err(map) => maps.push(map),
            Ok(function) if depth < 32 => {
                if let Some(f) = program.functions.get(function as usize) {
                    note_updates(&f.body, program, maps, depth + 1);
                }
            }
            Ok(_) => {}
        }
    }
}

/// Lowers all programs of a probe.
pub fn lower_probe<'a>(unit: &mut ObjectBuilder<'a>, index: u32, probe: &'a Probe) -> Result<(), CodegenError> {
    for plan in plan(probe, unit) {
        let name = program_name(unit.programs.len(), &probe.targets[plan.targets[0] as usize]);
        let single = plan.targets.len() == 1;
        unit.programs.push(ProgramSpec {
            name: Arc::from(name.as_str()),
            section: Arc::from(plan.section.as_str()),
            probe: index,
            on_return: None,
            targets: plan.targets.clone(),
            kind: plan.kind,
            instructions: 0,
            lines: Vec::new(),
            needs_cookie: probe.needs_probe_id && !single && plan.kind != ProgramKind::SyscallDispatch,
            newest_first: newest_first(&plan, probe, unit.facts),
        });
        let linkage = Linkage::Program { kind: plan.kind, section: plan.section };
        lower_function(unit, (index, probe), plan.kind, &plan.targets, &name, linkage)?;
    }
    Ok(())
}

/// What brakes and the budget take.
pub fn limit_sections(unit: &ObjectBuilder<'_>) -> LimitSections {
    LimitSections {
        brake_bytes: unit.brakes.len() as u32 * brake::stride(unit),
        budget_bytes: budget::section_bytes(unit),
        sites: budget::sites(unit),
    }
}

/// Lowers one probe for some of its targets: to a program, or to a part of one.
pub fn lower_function<'a>(
    unit: &mut ObjectBuilder<'a>,
    (index, probe): (u32, &'a Probe),
    kind: ProgramKind,
    targets: &[u32],
    name: &str,
    linkage: Linkage,
) -> Result<FuncId, CodegenError> {
    let region = region_for(unit, kind);
    let id = unit.reserve_function();
    let mut state = FunctionState::new(id, name, linkage, 1, Role::Program, region);
    let has_explored_loop = has_explored_loop(unit.scale(), &probe.body);
    state.builder.explores_loop(has_explored_loop);
    let mut lowerer = Lowerer {
        object: unit,
        function: state,
        probe_index: index,
        probe,
        target: targets[0] as usize,
        single: targets.len() == 1,
        kind,
        locals: &probe.locals,
        homes: Vec::new(),
        scopes: Scopes::default(),
        has_explored_loop,
        inline: Vec::new(),
        scratch_next: 0,
        frame_next: FRAME_LOCALS,
        iterators: Vec::new(),
        callbacks: 0,
        inlining: Vec::new(),
        firing: None,
        brake: None,
        reads_task: None,
        known: map_value_cache::Known::default(),
    };
    lowerer.program(targets)?;
    let Lowerer { function, .. } = lowerer;
    Lowerer::hand_over(unit, function, index, probe.span);
    Ok(id)
}

/// Whether a predicate may be asked after `exit()`, too: it changes nothing, and nothing in it can fail and
/// be counted. The events that it refuses, which are the most frequent ones, then pass one test less.
fn leaves_no_trace(predicate: &Expr, facts: &TargetFacts) -> bool {
    let mut plain = walk::is_pure(predicate);
    walk::each_in(predicate, &mut |_| (), &mut |e| {
        plain &= matches!(
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
            || matches!(&e.kind, ExprKind::Builtin(Builtin::CtxField(_)) if e.ty.fits_register());
    });
    plain
}

/// Working memory for a program of this kind.
fn region_for(unit: &mut ObjectBuilder<'_>, kind: ProgramKind) -> usize {
    let guard = match exclusion(kind, unit.facts) {
        Exclusion::Alone | Exclusion::Shared => return 0,
        Exclusion::Own => Guard::None,
        Exclusion::Nests => Guard::Word,
        Exclusion::Preempted if unit.facts.atomics => Guard::Claim,
        Exclusion::Preempted => Guard::Word,
    };
    // Preemptible programs share one region: its slots are claimed, whoever comes.
    if guard == Guard::Claim
        && let Some(i) = unit.regions.iter().position(|r| r.guard == Guard::Claim)
    {
        return i;
    }
    unit.regions.push(Region { guard, bytes: 0 });
    unit.regions.len() - 1
}

impl<'a> Lowerer<'_, 'a> {
    fn program(&mut self, targets: &[u32]) -> Result<(), CodegenError> {
        let probe = self.probe;
        self.function.builder.set_span(probe.head);
        self.place_locals(&probe.body, probe.predicate.as_ref());
        self.plan_brake();
        self.warn_hot_loops(targets);
        if self.kind == ProgramKind::SyscallDispatch {
            self.dispatch(targets);
        }
        // An iterator goes on to its end, whatever the program does at an object: `exit()` ends the trace after it.
        let stops = !matches!(self.kind, ProgramKind::TestRun | ProgramKind::Iter);
        if self.kind == ProgramKind::Iter {
            self.refuse_end_of_walk();
        }
        let late = probe.predicate.as_ref().is_some_and(|p| leaves_no_trace(p, self.object.facts));
        if stops && !late {
            self.refuse_after_exit();
            self.refuse_when_braked();
        }
        if let Some(pid) = self.object.facts.filter_pid.filter(|_| self.filters_processes()) {
            let process = self.pid(true);
            self.refuse_unless_equal(process, i64::from(pid));
        }
        let before_predicate = probe.predicate.is_some() && !late;
        if before_predicate {
            budget::begin_firing(self, true);
        }
        if let Some(predicate) = &probe.predicate {
            let (body, refused) = (self.function.builder.new_block(), self.refused());
            let mark = self.mark();
            self.initialise_for_predicate();
            self.begin_steps(true);
            self.known.note_predicate(predicate);
            self.condition(predicate, body, refused)?;
            self.release(mark);
            self.function.builder.switch_to(body);
        }
        if stops && late {
            self.refuse_after_exit();
            self.refuse_when_braked();
        }
        self.function.begin_body();
        self.begin_steps(false);
        if !before_predicate {
            budget::begin_firing(self, false);
        }
        self.initialise_locals(&probe.body, 0);
        self.block(&probe.body)?;
        self.leave();
        Ok(())
    }

    /// Whether `-p` limits this kind of probe here; user probes are limited where they attach.
    fn filters_processes(&self) -> bool {
        !matches!(
            self.probe.targets[self.target],
            Target::Begin
                | Target::End
                | Target::SelfSignal(_)
                | Target::Test(_)
                | Target::Bench(_)
                | Target::Interval { .. }
                | Target::Uprobe { .. }
                | Target::Usdt { .. }
                | Target::Iter { .. }
        )
    }

    /// Events after `exit()`, and those that come while probes are being detached, change nothing
    /// that the end probes and the closing print of the maps show.
    fn refuse_after_exit(&mut self) {
        let section = self.object.section(SHARED);
        let at = self.function.builder.global_addr(section, EXITING);
        let exiting = self.function.builder.load(at, 0, Size::B8);
        self.refuse_unless_equal(exiting, 0);
    }

    /// After its last object an iterator runs the program once more, without one (`bpf_iter_run_prog` from
    /// the walk's `stop`): the object is the second member of every context, behind `meta`.
    fn refuse_end_of_walk(&mut self) {
        let context = self.function.context();
        let object = self.load(Addr::new(Base::Reg(context), 8), 8, false);
        let refused = self.refused();
        self.function.builder.require(Cond::Ne, object, 0, refused);
    }

    /// Where firings go that don't concern the script.
    pub fn refused(&mut self) -> crate::codegen::ir::BlockId {
        let b = &mut self.function.builder;
        *self.function.refused.get_or_insert_with(|| b.new_block())
    }

    fn refuse_unless_equal(&mut self, value: crate::codegen::ir::Vreg, wanted: i64) {
        let refused = self.refused();
        self.function.builder.require(Cond::Eq, value, wanted, refused);
    }

    /// Predicates may hold block expressions with variables of their own.
    fn initialise_for_predicate(&mut self) {
        if let Some(predicate) = &self.probe.predicate {
            let mut mentioned = Vec::new();
            walk::each_in(predicate, &mut |_| (), &mut |e| {
                if let ExprKind::Local(id) = &e.kind {
                    mentioned.push(*id);
                }
            });
            for id in mentioned {
                if self.locals[id.0 as usize].ty.fits_register() {
                    self.write_local(id, 0.into());
                }
            }
        }
    }

    /// Gives every local its home.
    pub fn place_locals(&mut self, body: &'a Block, predicate: Option<&'a Expr>) {
        let captured = self.captured(body, predicate);
        let addressed = walk::addressed(body, predicate);
        self.homes = Vec::with_capacity(self.locals.len());
        for (index, local) in self.locals.iter().enumerate() {
            let size = self.size(&local.ty);
            let id = LocalId(index as u32);
            let home = if addressed.contains(&id) {
                // Pointers to the stack can't leave the program; working memory is kernel memory.
                LocalHome::Scratch(self.scratch_bytes(size))
            } else if captured.contains(&id) && size <= self.object.on_stack_limit {
                let at = self.frame_next.next_multiple_of(8);
                self.frame_next = at + size.next_multiple_of(8).max(8);
                LocalHome::Frame(at)
            } else if local.ty.fits_register() {
                LocalHome::Reg(self.function.builder.new_vreg())
            } else if size <= self.object.on_stack_limit {
                LocalHome::Slot(self.function.builder.new_slot(size.next_multiple_of(8).max(8)))
            } else {
                LocalHome::Scratch(self.scratch_bytes(size))
            };
            self.homes.push(home);
        }
        if !self.locals.is_empty() {
            let on_stack =
                |id: LocalId| matches!(self.homes.get(id.0 as usize), Some(LocalHome::Slot(_) | LocalHome::Frame(_)));
            self.scopes = Scopes::of(body, on_stack);
        }
    }

    /// Locals that loop callbacks of this body use.
    fn captured(&self, body: &'a Block, predicate: Option<&'a Expr>) -> Vec<LocalId> {
        let mut captured = Vec::new();
        let scale = self.object.scale();
        let mut visit = |before: &'a [Statement], s: &'a Statement| {
            if !is_callback(scale, before, s) {
                return;
            }
            if let StatementKind::ForMap { local, .. } | StatementKind::ForRange { local, .. } = &s.kind {
                captured.push(*local);
            }
            let (exprs, blocks) = walk::statement_parts(s);
            if let StatementKind::While(..) = &s.kind {
                captured.extend(exprs.into_iter().flat_map(walk::locals_in));
            }
            captured.extend(blocks.into_iter().flat_map(walk::locals_of));
        };
        walk::each_placed(body, &mut visit);
        if let Some(predicate) = predicate {
            walk::each_placed_in(predicate, &mut visit);
        }
        captured
    }
}
