//! The state of one BPF function: its code so far, the values of its entry, its slots.

use std::collections::HashMap;

use crate::codegen::builder::FunctionBuilder;
use crate::codegen::ir::{BlockId, FuncId, Linkage, Slot, Vreg};
use crate::lang::source::Span;

use crate::codegen::lower::addr::Addr;
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::programs::firing::{Brake, Budget};

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
    /// Temporary slots in use, with their sizes.
    temps: Vec<(Slot, u32)>,
    /// Those that were given back, by size.
    free_slots: HashMap<u32, Vec<Slot>>,
    /// Slots of the kernel's iterators whose loops have ended.
    free_iterators: Vec<Slot>,
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
    pub(super) temps: usize,
    pub(super) scratch: u32,
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
            free_iterators: Vec::new(),
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
        self.placed(|f| &mut f.pid_tgid, load_pid_tgid)
    }

    /// `bpf_get_current_uid_gid()`.
    pub fn uid_gid(&mut self) -> Vreg {
        self.placed(|f| &mut f.uid_gid, load_uid_gid)
    }

    /// `bpf_get_current_task_btf()`.
    pub fn task(&mut self) -> Vreg {
        self.placed(|f| &mut f.task, load_task)
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

    /// How many temporary slots are in use.
    pub const fn temp_slots(&self) -> usize {
        self.temps.len()
    }

    /// Gives temporary slots back until so many are in use.
    pub fn release_temp_slots(&mut self, kept: usize) {
        while self.temps.len() > kept {
            if let Some((slot, size)) = self.temps.pop() {
                self.free_slots.entry(size).or_default().push(slot);
            }
        }
    }

    /// A slot for an iterator of the kernel (`struct bpf_iter_num`, 8 bytes). It is no temporary one: the verifier
    /// tracks the iterator in it until it is destroyed.
    pub fn iterator_slot(&mut self) -> Slot {
        self.free_iterators.pop().unwrap_or_else(|| self.builder.new_slot(8))
    }

    /// Gives it back: from here on no path has the iterator any more.
    pub fn release_iterator_slot(&mut self, slot: Slot) {
        self.free_iterators.push(slot);
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

/// `bpf_get_current_pid_tgid()`, if the function asks for it.
pub fn load_pid_tgid(f: &mut FunctionState) {
    load(f, f.pid_tgid, h::GET_CURRENT_PID_TGID);
}

/// `bpf_get_current_uid_gid()`, if the function asks for it.
pub fn load_uid_gid(f: &mut FunctionState) {
    load(f, f.uid_gid, h::GET_CURRENT_UID_GID);
}

/// `bpf_get_current_task_btf()`, if the function asks for it.
pub fn load_task(f: &mut FunctionState) {
    load(f, f.task, h::GET_CURRENT_TASK_BTF);
}

fn load(f: &mut FunctionState, cached: Cached, helper: u32) {
    if let Some(dst) = cached.vreg {
        let value = f.builder.call(helper, &[]);
        f.builder.copy_into(dst, value);
    }
}
