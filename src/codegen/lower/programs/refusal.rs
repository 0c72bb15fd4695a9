//! Firings that don't concern the script.

use crate::codegen::builder::flow;
use crate::codegen::ir::{Cond, Size};

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::{FunctionState, Lowerer};
use crate::codegen::lower::layout::SHARED;
use crate::codegen::lower::object::EXITING;

/// Events after `exit()`, and those that come while probes are being detached, change nothing
/// that the end probes and the closing print of the maps show.
pub fn refuse_after_exit(l: &mut Lowerer<'_, '_>) {
    let section = l.object.section(SHARED);
    let at = l.function.builder.address(section.at(EXITING));
    let exiting = l.function.builder.load(at, 0, Size::B8);
    refuse_unless_equal(&mut l.function, exiting, 0);
}

/// After its last object an iterator runs the program once more, without one (`bpf_iter_run_prog` from
/// the walk's `stop`): the object is the second member of every context, behind `meta`.
pub fn refuse_end_of_walk(f: &mut FunctionState) {
    let context = f.context();
    let object = memory::load(&mut f.builder, Addr::new(Base::Reg(context), 8), 8, false);
    let refused = refused(f);
    flow::require(&mut f.builder, Cond::Ne, object, 0, refused);
}

/// Where firings go that don't concern the script.
pub fn refused(f: &mut FunctionState) -> crate::codegen::ir::BlockId {
    let b = &mut f.builder;
    *f.refused.get_or_insert_with(|| b.new_block())
}

pub fn refuse_unless_equal(f: &mut FunctionState, value: crate::codegen::ir::Vreg, wanted: i64) {
    let refused = refused(f);
    flow::require(&mut f.builder, Cond::Eq, value, wanted, refused);
}
