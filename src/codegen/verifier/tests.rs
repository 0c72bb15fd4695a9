//! What the pass makes of marks and purposes, in a loop and without one.

use super::open_loops::{DESTROY, NEXT};
use super::{Context, normalise};
use crate::codegen::builder::{FunctionBuilder, purpose};
use crate::codegen::ir::{
    Address, Cond, Fact, Function, Inst, Isa, Linkage, Mark, Operand, Place, Point, Purpose, SectionId, Size, Slot,
    Storage, Terminator, Vreg,
};

const CONTEXT: Context = Context {
    isa: Isa { cpu_v4: true, circled_callbacks: false, callback_verified_once: false },
    unknown_zero: Some((SectionId(0), 40)),
};

fn dead(slot: Slot, point: Point) -> Mark {
    Mark { point, fact: Fact::Dead, storage: vec![Storage { place: Place::Stack(slot, 0), bytes: 16 }] }
}

/// A function whose body compares a copy of its parameter and ends a slot of two words; in an iterator's loop or alone.
fn function(in_loop: bool) -> Function {
    let mut b = FunctionBuilder::new("f", Linkage::Subprogram, 1);
    b.function_mut().has_explored_loop = in_loop;
    let (iterator, words) = (b.new_slot(8), b.new_slot(16));
    let [head, body, done] = [(); 3].map(|()| b.new_block());
    b.jump(if in_loop { head } else { body });
    b.switch_to(head);
    let at = b.address(iterator.at(0));
    let number = b.call(NEXT, &[at.into()]);
    b.branch(Cond::Ne, number, 0, body, done);
    b.switch_to(body);
    purpose::mark(&mut b, dead(words, Point::End));
    let compared = purpose::copy_for(&mut b, Purpose::Compared, Vreg::parameter(0));
    b.branch(Cond::Ne, compared, 0, if in_loop { head } else { done }, done);
    b.switch_to(done);
    if in_loop {
        let at = b.address(iterator.at(0));
        b.call_void(DESTROY, &[at.into()]);
    }
    purpose::mark(&mut b, dead(words, Point::End));
    let joined = purpose::copy_for(&mut b, Purpose::Joined, Vreg::parameter(0));
    b.ret(joined);
    let mut function = b.finish();
    normalise(&mut function, CONTEXT);
    function
}

fn code(function: &Function, block: usize) -> Vec<&Inst> {
    function.blocks[block].instructions.iter().map(|(inst, _)| inst).collect()
}

fn zeros(function: &Function, block: usize) -> usize {
    let zero = |inst: &&Inst| matches!(inst, Inst::SlotStore { size: Size::B8, src: Operand::Imm(0), .. });
    code(function, block).into_iter().filter(zero).count()
}

#[test]
fn without_a_loop_nothing_is_left_of_it() {
    let function = function(false);
    assert!(code(&function, 2).is_empty() && code(&function, 3).is_empty(), "{function}");
    let parameter = Operand::Reg(Vreg(0));
    assert!(matches!(function.blocks[2].terminator, Terminator::Branch { a, .. } if Operand::Reg(a) == parameter));
    assert_eq!(function.blocks[3].terminator, Terminator::Return(parameter));
}

#[test]
fn in_a_loop_copies_are_not_linked_and_dead_words_are_zero() {
    let function = function(true);
    assert_eq!(zeros(&function, 2), 2, "{function}");
    assert!(code(&function, 2).iter().any(|inst| matches!(inst, Inst::Unlinked { .. })), "{function}");
    // Behind the loop nothing is compared exactly any more, but the paths that joined had numbers of their own.
    assert_eq!(zeros(&function, 3), 0, "{function}");
    assert!(
        code(&function, 3).iter().any(|inst| matches!(inst, Inst::Address { of: Address::Global(_, 40), .. })),
        "{function}"
    );
}

/// A loop's body that is a callback, with a number that varies at its start.
fn callback(callback_verified_once: bool) -> Function {
    let mut b = FunctionBuilder::new("f", Linkage::Subprogram, 2);
    b.function_mut().is_loop_body = true;
    b.function_mut().has_explored_loop = true;
    let storage = vec![Storage { place: Place::Memory(Vreg::parameter(1), 24), bytes: 8 }];
    purpose::mark(&mut b, Mark { point: Point::CallbackStart, fact: Fact::Varies, storage });
    let slot = b.new_slot(16);
    purpose::mark(&mut b, dead(slot, Point::End));
    b.ret(0);
    let mut function = b.finish();
    normalise(&mut function, Context { isa: Isa { callback_verified_once, ..CONTEXT.isa }, ..CONTEXT });
    function
}

#[test]
fn a_callback_is_explored_where_the_kernel_does_so() {
    let explored = callback(false);
    let stores = |inst: &&Inst| matches!(inst, Inst::Store { offset: 24, src: Operand::Reg(_), .. });
    assert_eq!(code(&explored, 0).into_iter().filter(stores).count(), 1, "{explored}");
    assert_eq!(zeros(&explored, 0), 2, "{explored}");
    assert!(code(&callback(true), 0).is_empty());
}
