//! One function under construction: cached values of its entry, working memory, its ends.
//!
//! A program's blocks are: the entry (context, values that the predicate needs), the predicate, the
//! prologue (bases of per-CPU memory), the body, the end. The entry and the prologue are written
//! last, in [`crate::codegen::lower::programs::entry`], when it is known what the body used and how large the regions are.

use std::collections::HashMap;

use crate::codegen::artifact::ProgramKind;
use crate::codegen::builder::FunctionBuilder;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BlockId, Cond, FuncId, Linkage, Operand, Size, Slot, Vreg};
use crate::codegen::lower::maps::map_value_cache;
use crate::codegen::lower::programs::brake::Brake;
use crate::codegen::lower::programs::budget::Budget;
use crate::codegen::lower::programs::dispatch;
use crate::codegen::lower::scopes::Scopes;
use crate::lang::source::Span;
use crate::lang::typed::{Local, Probe, fault_code};
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::layout::LOSSES;
use crate::codegen::lower::object::{GUARD_BYTES, Guard, ObjectBuilder};
use crate::codegen::lower::programs::entry;

/// Values over this many bytes don't live on the BPF stack.
pub const ON_STACK_LIMIT: u32 = 32;
/// The same for a script whose values take more stack than there is.
pub const LITTLE_STACK_LIMIT: u32 = 8;

/// Offsets in the frame that callbacks of loops receive.
pub const FRAME_CONTEXT: i32 = 0;
/// The base of the working memory.
pub const FRAME_SCRATCH: i32 = 8;
/// Not 0 when the callback asked the whole probe to end.
pub const FRAME_RETURNED: i32 = 16;
/// The value of [`FRAME_RETURNED`] when only the function that the loop is in shall end.
pub const FUNCTION_RETURNED: i64 = 2;
/// First byte for captured variables.
pub const FRAME_LOCALS: u32 = 24;

/// A value computed once at the start of a function, if anything asks for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cached {
    /// Its register, once asked for.
    pub vreg: Option<Vreg>,
    /// Asked for before the prologue.
    pub early: bool,
    /// Computed where it was first asked for, which all later code comes after.
    pub placed: bool,
}

/// Where a local variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalHome {
    /// In a register.
    Reg(Vreg),
    /// In a stack slot.
    Slot(Slot),
    /// In working memory, at this offset.
    Scratch(u32),
    /// In the frame shared with loop callbacks, at this offset.
    Frame(u32),
}

/// What kind of function it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A BPF program.
    Program,
    /// A loop's callback, whose frame pointer is this parameter.
    Callback(Vreg),
}

/// Targets of `break` and `continue`.
#[derive(Clone, Copy, Debug)]
pub struct LoopTargets {
    pub on_break: BlockId,
    pub on_continue: BlockId,
}

/// Where `return` of an inlined function goes.
#[derive(Clone, Debug)]
pub struct InlineReturn {
    pub done: BlockId,
    pub result: Option<Vreg>,
    pub memory: Option<(Addr, crate::lang::types::Type)>,
    /// Iterators open outside of the function.
    pub iterators: usize,
    /// How many callbacks the function itself is in.
    pub callbacks: u32,
    /// Where a callback of the function's loops leaves its result: in the frame when it fits a register,
    /// else in working memory.
    pub kept: Option<u32>,
}

/// State of one BPF function.
pub struct FunctionState {
    pub builder: FunctionBuilder,
    pub id: FuncId,
    pub role: Role,
    /// Where the prologue goes.
    pub prologue: BlockId,
    /// The common end, which releases the working memory.
    pub exit: BlockId,
    /// Where a false predicate goes.
    pub refused: Option<BlockId>,
    /// True once the prologue's place is passed.
    pub after_prologue: bool,
    /// The first block after the prologue.
    pub body: Option<BlockId>,
    pub cpu: Cached,
    pub pid_tgid: Cached,
    pub uid_gid: Cached,
    /// The current task, as a pointer that the verifier knows.
    pub task: Cached,
    pub percpu: Cached,
    pub scratch: Cached,
    /// The context pointer, in callbacks.
    pub context: Cached,
    pub region: usize,
    pub frame: Option<Slot>,
    /// What its firings' time is added to.
    pub brake: Option<Brake>,
    /// What says whether a firing may run.
    pub budget: Option<Budget>,
    pub loops: Vec<LoopTargets>,
    temps: Vec<(Slot, u32)>,
    free_slots: HashMap<u32, Vec<Slot>>,
    /// All slots that [`Self::temp_slot`] gave out, one after the other.
    given: Vec<(Slot, u32)>,
    /// Those that no statement has ended for since.
    used: Vec<(Slot, u32)>,
}

/// A function whose entry is still to be written.
pub struct Draft {
    pub state: FunctionState,
    /// For the counter of nested firings.
    pub probe: u32,
    pub span: Span,
}

/// Marks what temporary memory is in use.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    temps: usize,
    scratch: u32,
}

/// Lowers one program (and the callbacks of its loops).
pub struct Lowerer<'u, 'a> {
    pub object: &'u mut ObjectBuilder<'a>,
    pub function: FunctionState,
    /// Index in the typed program.
    pub probe_index: u32,
    pub probe: &'a Probe,
    /// The first target that this program runs for; its own when there is one only.
    pub target: usize,
    /// True when the program runs for one target only.
    pub single: bool,
    pub kind: ProgramKind,
    /// Locals of the probe or of the function being inlined.
    pub locals: &'a [Local],
    pub homes: Vec<LocalHome>,
    /// Where variables begin and end.
    pub scopes: Scopes,
    /// Whether the verifier explores iterations of a loop in this program.
    pub has_explored_loop: bool,
    pub inline: Vec<InlineReturn>,
    /// Next free byte of working memory.
    pub scratch_next: u32,
    /// Bytes of frame used.
    pub frame_next: u32,
    /// Numeric iterators of the loops that code is in.
    pub iterators: Vec<Slot>,
    /// How many callbacks of loops code is in.
    pub callbacks: u32,
    /// Functions being inlined, against recursion.
    pub inlining: Vec<u32>,
    /// What a program that dispatches system calls knows of its firing.
    pub firing: Option<dispatch::Firing>,
    /// What keeps its loops from taking a CPU away.
    pub brake: Option<Brake>,
    /// Whether the program reads the current task, once asked for.
    pub reads_task: Option<bool>,
    /// Map elements that need no second lookup.
    pub known: map_value_cache::Known<'a>,
}

impl FunctionState {
    /// A function with an entry, a prologue and an end.
    pub fn new(id: FuncId, name: &str, linkage: Linkage, parameters: u32, role: Role, region: usize) -> Self {
        let mut b = FunctionBuilder::new(name, linkage, parameters);
        let prologue = b.new_block();
        let exit = b.new_block();
        let first = b.new_block();
        b.switch_to(first);
        Self {
            builder: b,
            id,
            role,
            prologue,
            exit,
            refused: None,
            after_prologue: false,
            body: None,
            cpu: Cached::default(),
            pid_tgid: Cached::default(),
            uid_gid: Cached::default(),
            task: Cached::default(),
            percpu: Cached::default(),
            scratch: Cached::default(),
            context: Cached::default(),
            region,
            frame: None,
            brake: None,
            budget: None,
            loops: Vec::new(),
            temps: Vec::new(),
            free_slots: HashMap::new(),
            given: Vec::new(),
            used: Vec::new(),
        }
    }

    fn cached(b: &mut FunctionBuilder, value: &mut Cached, after: bool) -> Vreg {
        value.early |= !after;
        *value.vreg.get_or_insert_with(|| b.new_vreg())
    }

    /// The CPU's number.
    pub fn cpu(&mut self) -> Vreg {
        Self::cached(&mut self.builder, &mut self.cpu, self.after_prologue)
    }

    /// `bpf_get_current_pid_tgid()`.
    pub fn pid_tgid(&mut self) -> Vreg {
        self.placed(|f| &mut f.pid_tgid, entry::load_pid_tgid)
    }

    /// `bpf_get_current_uid_gid()`.
    pub fn uid_gid(&mut self) -> Vreg {
        self.placed(|f| &mut f.uid_gid, entry::load_uid_gid)
    }

    /// `bpf_get_current_task_btf()`.
    pub fn task(&mut self) -> Vreg {
        self.placed(|f| &mut f.task, entry::load_task)
    }

    /// A helper's result that is the same all through a firing. Asked for in the body's first block, it is
    /// called there: the processor waits at a clock's reading for all that was begun before it, so what need
    /// not come first comes later.
    fn placed(&mut self, of: fn(&mut Self) -> &mut Cached, call: fn(&mut Self)) -> Vreg {
        if let Some(vreg) = of(self).vreg {
            return vreg;
        }
        let vreg = self.builder.new_vreg();
        let first_block = self.after_prologue && self.body == Some(self.builder.current());
        *of(self) = Cached { vreg: Some(vreg), early: !self.after_prologue, placed: first_block };
        if first_block {
            call(self);
        }
        vreg
    }

    /// Address of this CPU's scalar aggregations.
    pub fn percpu(&mut self) -> Vreg {
        self.cpu();
        Self::cached(&mut self.builder, &mut self.percpu, self.after_prologue)
    }

    /// Address of this firing's working memory.
    pub fn scratch(&mut self) -> Vreg {
        if self.role == Role::Program {
            self.cpu();
        }
        Self::cached(&mut self.builder, &mut self.scratch, self.after_prologue)
    }

    /// The program's context.
    pub fn context(&mut self) -> Vreg {
        match self.role {
            Role::Program => Vreg(0),
            Role::Callback(_) => Self::cached(&mut self.builder, &mut self.context, self.after_prologue),
        }
    }

    /// Whether it has the frame that callbacks share with their program.
    pub const fn has_frame(&self) -> bool {
        matches!(self.role, Role::Callback(_)) || self.frame.is_some()
    }

    /// A stack slot that is given back at the end of the statement.
    pub fn temp_slot(&mut self, size: u32) -> Slot {
        let size = size.next_multiple_of(8).max(8);
        let slot = match self.free_slots.get_mut(&size).and_then(Vec::pop) {
            Some(slot) => slot,
            None => self.builder.new_slot(size),
        };
        self.temps.push((slot, size));
        self.given.push((slot, size));
        self.used.push((slot, size));
        slot
    }

    /// How many slots were given out that no statement has ended for.
    pub const fn used(&self) -> usize {
        self.used.len()
    }

    /// Takes out those of them, since there were this many, that were given back, each once.
    pub fn take_used(&mut self, from: usize) -> Vec<(Slot, u32)> {
        let (kept, mut back): (Vec<_>, Vec<_>) =
            self.used.split_off(from.min(self.used.len())).into_iter().partition(|slot| self.temps.contains(slot));
        self.used.extend(kept);
        back.sort_unstable_by_key(|(slot, _)| slot.0);
        back.dedup();
        back
    }

    /// How many temporary slots were given out so far.
    pub const fn given(&self) -> usize {
        self.given.len()
    }

    /// The slots given out since there were this many, and given back, with their sizes.
    pub fn given_back_since(&self, given: usize) -> Vec<(Slot, u32)> {
        let mut found = self.given[given..].to_vec();
        found.sort_unstable_by_key(|(slot, _)| slot.0);
        found.dedup();
        found.retain(|slot| !self.temps.contains(slot));
        found
    }
}

impl<'a> Lowerer<'_, 'a> {
    /// What is in use now.
    pub fn mark(&self) -> Mark {
        Mark { temps: self.function.temps.len(), scratch: self.scratch_next }
    }

    /// Gives back temporary memory taken since the mark.
    pub fn release(&mut self, mark: Mark) {
        while self.function.temps.len() > mark.temps {
            if let Some((slot, size)) = self.function.temps.pop() {
                self.function.free_slots.entry(size).or_default().push(slot);
            }
        }
        self.scratch_next = mark.scratch;
    }

    /// Working memory of `size` bytes, aligned to 8; given back by [`Self::release`].
    pub fn scratch_bytes(&mut self, size: u32) -> u32 {
        let region = &mut self.object.regions[self.function.region];
        let first = if region.guard == Guard::None { 0 } else { GUARD_BYTES };
        let at = self.scratch_next.max(first).saturating_add(7) & !7;
        self.scratch_next = at.saturating_add(size);
        region.bytes = region.bytes.max(self.scratch_next);
        if size > self.object.largest.1 {
            self.object.largest = (self.function.builder.span(), size);
        }
        at
    }

    /// Temporary memory for a value of `size` bytes: on the stack when small.
    pub fn temp(&mut self, size: u32) -> Addr {
        if size <= self.object.on_stack_limit {
            return Addr::new(Base::Slot(self.function.temp_slot(size)), 0);
        }
        self.temp_scratch(size)
    }

    /// Whether there may be stack for values over [`ON_STACK_LIMIT`]: not where it is scarce, nor in the iterations
    /// of an iterator, which are the same to the verifier only once the stack is.
    pub const fn roomy(&self) -> bool {
        self.object.on_stack_limit >= ON_STACK_LIMIT && self.iterators.is_empty()
    }

    /// Temporary working memory, never on the stack.
    pub fn temp_scratch(&mut self, size: u32) -> Addr {
        let at = self.scratch_bytes(size);
        Addr::new(Base::Reg(self.function.scratch()), at as i32)
    }

    /// Counts a loss.
    pub fn count_loss(&mut self, cause: LossCause, action: Option<crate::lang::typed::ActionId>, span: Span) {
        let site = self.object.site(cause, action, self.probe_index, span);
        let section = self.object.section(LOSSES);
        let address = self.function.builder.global_addr(section, site * 8);
        self.function.builder.atomic_add(address, 0, Size::B8, 1);
    }

    /// Counts a failure, and sends it where the reader wants it among the reports: what failed is a helper (by its
    /// number) with what it returned, or the script itself.
    pub fn failed(&mut self, cause: LossCause, helper: Option<(u32, Operand)>, span: Span) {
        if self.leave_by_fault(cause, span) {
            return;
        }
        self.count_loss(cause, None, span);
        if self.object.facts.sent.includes(cause) {
            let site = self.object.site(cause, None, self.probe_index, span);
            self.send_failure(site, helper, span);
        }
    }

    /// Leaves the innermost loop of a program that notes its faults; false of others.
    fn leave_by_fault(&mut self, cause: LossCause, span: Span) -> bool {
        fault_code(cause).is_some_and(|code| self.leave_by(code, span))
    }

    /// The same by a fault's number.
    pub fn leave_by(&mut self, code: i64, span: Span) -> bool {
        let Some(local) = self.probe.fault.filter(|_| self.inline.is_empty()) else { return false };
        let Some(targets) = self.function.loops.last().copied() else { return false };
        self.write_local(local, (code | i64::from(span.start) << 8).into());
        self.function.builder.jump(targets.on_break);
        let unreached = self.function.builder.new_block();
        self.function.builder.switch_to(unreached);
        true
    }

    /// Runs `body` (which counts, repairs, ...) only when the comparison holds, then goes on.
    pub fn when(
        &mut self,
        cond: Cond,
        a: Operand,
        b: Operand,
        body: impl FnOnce(&mut Self) -> Result<(), CodegenError>,
    ) -> Result<(), CodegenError> {
        let (then, done) = (self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.branch(cond, a, b, then, done);
        self.function.builder.switch_to(then);
        body(self)?;
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(())
    }

    /// An error: this construct is not to be had.
    pub fn unsupported<T>(&self, span: Span, what: &str, needs: &str) -> Result<T, CodegenError> {
        Err(CodegenError::unsupported(span, what, needs))
    }

    /// An error: the front end broke the rules of the typed program.
    pub fn internal<T>(&self, span: Span, detail: &str) -> Result<T, CodegenError> {
        Err(CodegenError::internal(span, &self.probe_name(), detail))
    }

    fn probe_name(&self) -> String {
        let index = self.probe.names.first().copied().unwrap_or(0) as usize;
        self.object.program.probe_names.get(index).map_or_else(|| "probe".to_owned(), ToString::to_string)
    }

    /// Hands the finished function over; its entry is written at the end.
    pub fn hand_over(u: &mut ObjectBuilder<'a>, state: FunctionState, probe: u32, span: Span) {
        u.drafts.push(Draft { state, probe, span });
    }
}

impl FunctionState {
    /// Ends the part before the prologue and goes on after it.
    pub fn begin_body(&mut self) {
        let prologue = self.prologue;
        self.builder.jump(prologue);
        let body = self.builder.new_block();
        self.builder.switch_to(body);
        self.after_prologue = true;
        self.body = Some(body);
    }
}
