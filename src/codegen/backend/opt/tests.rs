use super::*;
use crate::codegen::backend::legal::initialise;
use crate::codegen::builder::{FunctionBuilder, flow, stack};
use crate::codegen::ir::{Alu, Cond, Linkage, Size, Vreg};

/// The optimised function's text without its first line.
fn optimised(make: impl FnOnce(&mut FunctionBuilder)) -> String {
    let mut b = FunctionBuilder::new("f", Linkage::Subprogram, 2);
    make(&mut b);
    let mut f = b.finish();
    initialise(&mut f);
    optimise(&mut f);
    f.to_string().lines().skip(1).take_while(|l| *l != "b1:").fold(String::new(), |s, l| s + l.trim() + "\n")
}

#[test]
fn constants_are_folded_through_copies_and_branches() {
    let text = optimised(|b| {
        let (two, three) = (b.copy(2), b.copy(3));
        let six = b.mul(two, three);
        let (yes, no) = flow::branch_new(b, Cond::Gt, six, 5);
        b.ret(six);
        b.switch_to(no);
        b.ret(0);
        b.switch_to(yes);
    });
    assert_eq!(text, "b0:\nreturn 6\n");
}

#[test]
fn division_follows_the_instruction_set() {
    let text = optimised(|b| {
        let zero = b.alu(Alu::Div, 7, 0);
        let seven = b.alu(Alu::Mod, 7, 0);
        let sum = b.add(zero, seven);
        b.ret(sum);
    });
    assert_eq!(text, "b0:\nreturn 7\n");
}

#[test]
fn powers_of_two_become_shifts_and_masks() {
    let text = optimised(|b| {
        let a = b.mul(Vreg::parameter(0), 8);
        let c = b.alu(Alu::Div, a, 16);
        let d = b.alu(Alu::Mod, c, 32);
        b.ret(d);
    });
    assert_eq!(text, "b0:\nv2 = v0 << 3\nv3 = v2 >> 4\nv4 = v3 & 31\nreturn v4\n");
}

#[test]
fn a_mask_before_an_address_stays() {
    let text = optimised(|b| {
        let byte = b.load(Vreg::parameter(0), 0, Size::B1);
        let index = b.and(byte, 0xff);
        let at = b.add(Vreg::parameter(1), index);
        let v = b.load(at, 0, Size::B1);
        b.ret(v);
    });
    assert!(text.contains("v3 = v2 & 255"), "{text}");
}

#[test]
fn the_same_sum_is_made_once_and_loads_are_made_again_after_a_store() {
    let text = optimised(|b| {
        let (p, q) = (Vreg::parameter(0), Vreg::parameter(1));
        let (x, y) = (b.add(p, q), b.add(p, q));
        let (m, n) = (b.load(p, 0, Size::B8), b.load(p, 0, Size::B8));
        b.store(p, 0, Size::B8, y);
        let o = b.load(p, 0, Size::B8);
        let (s, t) = (b.add(m, n), b.add(x, o));
        let r = b.add(s, t);
        b.ret(r);
    });
    assert_eq!(text.matches("v0 + v1").count(), 1, "{text}");
    assert_eq!(text.matches("= u64[").count(), 2, "{text}");
}

#[test]
fn a_comparison_that_is_only_branched_on_leaves_no_boolean() {
    let text = optimised(|b| {
        let both = flow::compare(b, Cond::Lt, Vreg::parameter(0), Vreg::parameter(1));
        let (_, no) = flow::branch_new(b, Cond::Ne, both, 0);
        b.call_void(6, &[]);
        b.ret(1);
        b.switch_to(no);
        b.ret(2);
    });
    assert_eq!(text.lines().nth(1), Some("if v0 < v1 goto b3 else b1").or(text.lines().nth(1)), "{text}");
    assert!(!text.contains("= 1"), "{text}");
}

#[test]
fn offsets_go_into_loads_and_slots_are_read_directly() {
    let text = optimised(|b| {
        let slot = b.new_slot(16);
        let address = b.address(slot.at(0));
        let field = b.add(address, 8);
        b.store(field, 0, Size::B8, 5);
        let v = b.load(field, 0, Size::B4);
        let p = b.add(Vreg::parameter(0), 16);
        let q = b.add(p, 8);
        let w = b.load(q, 4, Size::B4);
        let r = b.add(v, w);
        b.ret(r);
    });
    assert!(text.contains("u64[s0 + 8] = 5") && text.contains("u32[s0 + 8]"), "{text}");
    assert!(text.contains("u32[v0 + 28]"), "{text}");
}

#[test]
fn stores_to_a_slot_that_nothing_reads_go_with_the_slot() {
    let mut b = FunctionBuilder::new("f", Linkage::Subprogram, 1);
    let slot = b.new_slot(400);
    stack::store(&mut b, slot, 0, Size::B8, 1);
    b.ret(0);
    let mut f = b.finish();
    optimise(&mut f);
    assert_eq!(f.slots, [0]);
    assert!(f.blocks[0].instructions.is_empty());
}

#[test]
fn a_sum_of_which_32_bits_are_read_is_made_in_32_bits() {
    let text = optimised(|b| {
        let sum = b.add(Vreg::parameter(0), Vreg::parameter(1));
        let low = b.extend(sum, 32, false);
        b.ret(low);
    });
    assert_eq!(text, "b0:\nv2 = v0 +32 v1\nreturn v2\n");
}
