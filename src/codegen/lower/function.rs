//! One function under construction: cached values of its entry, working memory, its ends.
//!
//! A program's blocks are: the entry (context, values that the predicate needs), the predicate, the
//! prologue (bases of per-CPU memory), the body, the end. The entry and the prologue are written
//! last, in [`crate::codegen::lower::programs::entry`], when it is known what the body used and how large the regions are.

pub mod state;

use crate::codegen::artifact::ProgramKind;
use crate::codegen::builder::atomic;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, Operand, Size, Slot};
use crate::lang::source::Span;
use crate::lang::typed::Probe;
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::layout::LOSSES;
use crate::codegen::lower::maps::map_value_cache;
use crate::codegen::lower::object::{self, ObjectBuilder};
use crate::codegen::lower::programs::firing::{Brake, Firing};
use crate::codegen::lower::variables::Variables;

pub use state::{
    Cached, Draft, FRAME_CONTEXT, FRAME_LOCALS, FRAME_RETURNED, FRAME_SCRATCH, FUNCTION_RETURNED, FunctionState,
    InlineReturn, LITTLE_STACK_LIMIT, LoopTargets, Mark, ON_STACK_LIMIT, Role,
};

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
    /// The name's number for each cookie of the link, where that is not the number itself: a session's link has the
    /// entries' numbers, at the returns, too.
    pub cookies: Vec<(u32, u32)>,
    pub kind: ProgramKind,
    /// Variables of the probe or of the function being inlined.
    pub variables: Variables<'a>,
    /// Whether the verifier explores iterations of a loop in this program.
    pub has_explored_loop: bool,
    pub inline: Vec<InlineReturn>,
    /// Next free byte of working memory.
    pub scratch_next: u32,
    /// Numeric iterators of the loops that code is in.
    pub iterators: Vec<Slot>,
    /// How many callbacks of loops code is in.
    pub callbacks: u32,
    /// Functions being inlined, against recursion.
    pub inlining: Vec<u32>,
    /// What a program that dispatches system calls knows of its firing.
    pub firing: Option<Firing>,
    /// What keeps its loops from taking a CPU away.
    pub brake: Option<Brake>,
    /// Whether the program reads the current task, once asked for.
    pub reads_task: Option<bool>,
    /// Map elements that need no second lookup.
    pub known: map_value_cache::Known<'a>,
}

impl<'a> Lowerer<'_, 'a> {
    /// What is in use now.
    pub fn mark(&self) -> Mark {
        Mark { temps: self.function.temp_slots(), scratch: self.scratch_next }
    }

    /// Gives back temporary memory taken since the mark.
    pub fn release(&mut self, mark: Mark) {
        self.function.release_temp_slots(mark.temps);
        self.scratch_next = mark.scratch;
    }

    /// Working memory of `size` bytes, aligned to 8; given back by [`Self::release`].
    pub fn scratch_bytes(&mut self, size: u32) -> u32 {
        let first = object::first_free_in(self.object, self.function.region);
        let region = &mut self.object.regions[self.function.region];
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

    pub fn count_loss(&mut self, cause: LossCause, action: Option<crate::lang::typed::ActionId>, span: Span) {
        let site = self.object.site(cause, action, self.probe_index, span);
        let section = self.object.section(LOSSES);
        let address = self.function.builder.address(section.at(site * 8));
        atomic::add(&mut self.function.builder, address, 0, Size::B8, 1);
    }

    /// Runs `body` (which counts, repairs, ...) only when the comparison holds, then goes on.
    pub fn when(
        &mut self,
        cond: Cond,
        a: Operand,
        b: Operand,
        body: impl FnOnce(&mut Self) -> Result<(), CodegenError>,
    ) -> Result<(), CodegenError> {
        let [then, done] = self.function.builder.new_blocks();
        self.function.builder.branch(cond, a, b, then, done);
        self.function.builder.switch_to(then);
        body(self)?;
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(())
    }

    /// An error: the front end broke the rules of the typed program.
    pub fn internal<T>(&self, span: Span, detail: &str) -> Result<T, CodegenError> {
        Err(CodegenError::internal(span, &probe_name(self), detail))
    }

    /// Hands the finished function over; its entry is written at the end.
    pub fn hand_over(u: &mut ObjectBuilder<'a>, state: FunctionState, probe: u32, span: Span) {
        u.drafts.push(Draft { state, probe, span });
    }
}

fn probe_name(l: &Lowerer<'_, '_>) -> String {
    let index = l.probe.names.first().copied().unwrap_or(0) as usize;
    l.object.program.probe_names.get(index).map_or_else(|| "probe".to_owned(), ToString::to_string)
}
