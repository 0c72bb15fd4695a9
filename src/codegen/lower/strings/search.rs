//! Searching strings in strings.

use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::Expr;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::loops::iterator;
use crate::codegen::lower::loops::strategy::IterationMechanism;
use crate::codegen::lower::marks;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::strings::text::constant_text;

/// Positions of a searched string in one iteration.
const SEARCH_BLOCK: u32 = 16;

/// Most bytes of a searched string where the verifier follows the search byte by byte.
const SEARCHED: u32 = 2048;

/// Most bytes of one where iterations of the kernel's own go through it.
const SEARCHED_IN_LOOP: u32 = 1 << 16;

/// What `strstr` gives without a match: `-ENOENT`, as the kernel's own string function.
const NOT_FOUND: i64 = -2;

/// Most words compared in a search for a string that is not constant, for the same reason.
const SEARCHED_WORDS: u32 = 1 << 15;

/// Most words of such a string where the verifier follows few positions: it explores all at each of these.
const WANTED_WORDS: u32 = 512;

/// Words of a string that are compared without a branch before all others are.
const WORDS_AT_ONCE: u32 = 4;

/// Whether the verifier follows a search for one block of positions, or two, and not for all of them.
fn searches_in_loop(object: &ObjectBuilder<'_>) -> bool {
    IterationMechanism::of(object.facts) != IterationMechanism::Counting
}

/// Index of `needle` in `haystack`, or [`NOT_FOUND`].
pub fn index_of<'a>(
    l: &mut Lowerer<'_, 'a>,
    haystack: &'a Expr,
    needle: &'a Expr,
    span: Span,
) -> Result<Vreg, CodegenError> {
    let size = l.object.size(&haystack.ty);
    let most = if searches_in_loop(l.object) { SEARCHED_IN_LOOP } else { SEARCHED };
    if size > most {
        return Err(CodegenError::TooLarge {
            span,
            what: "the string to search, in bytes,".into(),
            size: size.into(),
            limit: most.into(),
            hint: Some("give str() a shorter length".into()),
        });
    }
    let Some(text) = constant_text(needle) else {
        return search_variable(l, haystack, needle, span);
    };
    let bytes: Vec<u8> = text.iter().copied().take_while(|b| *b != 0).collect();
    let result = l.function.builder.copy(if bytes.is_empty() { 0 } else { NOT_FOUND });
    if bytes.is_empty() || bytes.len() as u32 >= size {
        return Ok(result);
    }
    let base = searched_copy(l, haystack, size, bytes.len() as u32 + SEARCH_BLOCK)?;
    first_match(l, base, size - bytes.len() as u32, result, None, |l, at, _| {
        difference(&mut l.function.builder, at, &bytes)
    });
    Ok(result)
}

/// Puts the first of so many positions that does not differ into `result`; the search ends with the
/// string. Positions are tried in blocks, each an iteration of the kernel's iterator or of `bpf_loop` where
/// there is one: the verifier follows one or two blocks then, not all. `wanted` is handed to
/// `difference`, as it is where the code runs.
fn first_match(
    l: &mut Lowerer<'_, '_>,
    base: Vreg,
    positions: u32,
    result: Vreg,
    wanted: Option<Vreg>,
    difference: impl FnOnce(&mut Lowerer<'_, '_>, Vreg, Vreg) -> Vreg,
) {
    let wanted = wanted.unwrap_or(base);
    let mechanism = IterationMechanism::of(l.object.facts);
    if mechanism == IterationMechanism::Callback {
        return first_match_by_callback(l, base, positions, result, wanted, difference);
    }
    let blocks = positions.div_ceil(SEARCH_BLOCK);
    let b = &mut l.function.builder;
    let [head, body, next, found, out, done] = b.new_blocks();
    let (start, offset) = (b.copy(0), b.copy(0));
    let by_iterator = mechanism == IterationMechanism::Iterator;
    let end = i64::from(blocks).into();
    let iterator = by_iterator.then(|| iterator::open_numbers(&mut l.function, 0.into(), end));
    let b = &mut l.function.builder;
    b.jump(head);
    b.switch_to(head);
    let most = match iterator {
        Some(slot) => {
            let index = iterator::next_below(b, slot, blocks, out);
            b.alu_into(start, Alu::Mul, Width::W64, index, i64::from(SEARCH_BLOCK));
            b.copy_into(offset, 0);
            SEARCH_BLOCK
        }
        None => blocks * SEARCH_BLOCK,
    };
    let first = b.add(base, start);
    b.jump(body);
    b.switch_to(body);
    let at = b.add(first, offset);
    let differs = difference(l, at, wanted);
    let b = &mut l.function.builder;
    b.branch(Cond::Eq, differs, 0, found, next);
    b.switch_to(next);
    let byte = memory::load(b, Addr::new(Base::Reg(at), 0), 1, false);
    b.alu_into(offset, Alu::Add, Width::W64, offset, 1);
    flow::require(b, Cond::Ne, byte, 0, out);
    b.branch(Cond::Lt, offset, i64::from(most), body, if iterator.is_some() { head } else { out });
    b.switch_to(found);
    let place = b.add(start, offset);
    // As below: each place, at least in its block, is a constant to the verifier.
    let place = marks::hidden(l.object, &mut l.function.builder, place);
    let b = &mut l.function.builder;
    b.copy_into(result, place);
    b.jump(out);
    b.switch_to(out);
    if let Some(slot) = iterator {
        iterator::end_numbers(&mut l.function, slot);
    }
    let b = &mut l.function.builder;
    b.jump(done);
    b.switch_to(done);
}

fn first_match_by_callback(
    l: &mut Lowerer<'_, '_>,
    base: Vreg,
    positions: u32,
    result: Vreg,
    wanted: Vreg,
    difference: impl FnOnce(&mut Lowerer<'_, '_>, Vreg, Vreg) -> Vreg,
) {
    let blocks = positions.div_ceil(SEARCH_BLOCK);
    let found = iterator::iterations_of_callback(l, blocks, NOT_FOUND, &[base, wanted], |l, index, pointers, place| {
        let b = &mut l.function.builder;
        let start = b.mul(index, i64::from(SEARCH_BLOCK));
        let first = b.add(pointers[0], start);
        let offset = b.copy(0);
        let [body, next, on] = b.new_blocks();
        let [found, ended] = b.new_blocks();
        b.jump(body);
        b.switch_to(body);
        let at = b.add(first, offset);
        let differs = difference(l, at, pointers[1]);
        let b = &mut l.function.builder;
        b.branch(Cond::Eq, differs, 0, found, next);
        b.switch_to(next);
        let byte = memory::load(b, Addr::new(Base::Reg(at), 0), 1, false);
        b.alu_into(offset, Alu::Add, Width::W64, offset, 1);
        flow::require(b, Cond::Ne, byte, 0, ended);
        b.branch(Cond::Lt, offset, i64::from(SEARCH_BLOCK), body, on);
        b.switch_to(on);
        b.ret(0);
        b.switch_to(found);
        let index = b.add(start, offset);
        // The verifier would go on with each place that it knows by itself: where a later callback makes all
        // that it knows count (`mark_all_scalars_precise`), two searches are followed on 17 paths each.
        let index = marks::hidden(l.object, &mut l.function.builder, index);
        let b = &mut l.function.builder;
        memory::store(b, place, 8, index);
        b.ret(1);
        b.switch_to(ended);
        b.ret(1);
    });
    l.function.builder.copy_into(result, found);
}

/// The haystack in working memory (which takes variable and unaligned offsets), followed by zeros.
fn searched_copy<'a>(l: &mut Lowerer<'_, 'a>, haystack: &'a Expr, size: u32, extra: u32) -> Result<Vreg, CodegenError> {
    let src = l.memory(haystack)?;
    let copy = l.temp_scratch(size + extra);
    let b = &mut l.function.builder;
    memory::copy(b, copy, src, size);
    memory::zero(b, copy.at(size), extra);
    Ok(memory::pointer(b, copy))
}

/// All differing bits of the bytes at `at` and a constant: no branch inside, so that the verifier
/// sees one decision for each position.
fn difference(b: &mut FunctionBuilder, at: Vreg, bytes: &[u8]) -> Vreg {
    let mut all: Option<Vreg> = None;
    let mut start = 0;
    while start < bytes.len() {
        let left = bytes.len() - start;
        let size = [8, 4, 2, 1].into_iter().find(|s| *s <= left).unwrap_or(1);
        let mut word = [0_u8; 8];
        word[..size].copy_from_slice(&bytes[start..start + size]);
        let value = u64::from_le_bytes(word) as i64;
        let loaded = memory::load(b, Addr::new(Base::Reg(at), start as i32), size as u32, false);
        let constant: Operand = if i32::try_from(value).is_ok() { value.into() } else { b.copy(value).into() };
        let bits = b.alu(Alu::Xor, loaded, constant);
        all = Some(match all {
            Some(before) => b.alu(Alu::Or, before, bits),
            None => bits,
        });
        start += size;
    }
    all.unwrap_or_else(|| b.copy(0))
}

/// Both strings variable. The needle is zero-padded, so a mask of its bytes that are not zero says
/// what must match: each position is compared by whole words without a branch, which keeps the
/// verifier to one decision a position. Where it follows few positions it may be two: most differ in the
/// first words already.
fn search_variable<'a>(
    l: &mut Lowerer<'_, 'a>,
    haystack: &'a Expr,
    needle: &'a Expr,
    span: Span,
) -> Result<Vreg, CodegenError> {
    let (size, words) = (l.object.size(&haystack.ty), l.object.size(&needle.ty).div_ceil(8));
    let in_loop = searches_in_loop(l.object);
    let (compared, most) = if in_loop { (words, WANTED_WORDS) } else { (size.saturating_mul(words), SEARCHED_WORDS) };
    if compared > most {
        return Err(CodegenError::TooLarge {
            span,
            what: "the search for a string that is not constant, in words to compare,".into(),
            size: compared.into(),
            limit: most.into(),
            hint: Some("search for a constant, or give str() a shorter length".into()),
        });
    }
    let base = searched_copy(l, haystack, size, words * 8 + SEARCH_BLOCK)?;
    let wanted = needle_masks(l, needle, words)?;
    let wanted = memory::pointer(&mut l.function.builder, wanted);
    let result = l.function.builder.copy(NOT_FOUND);
    first_match(l, base, size, result, Some(wanted), |l, at, wanted| {
        let b = &mut l.function.builder;
        let difference = b.copy(0);
        let first = if in_loop { words.min(WORDS_AT_ONCE) } else { words };
        masked_difference(b, at, wanted, 0..first, difference);
        if first < words {
            let [rest, done] = b.new_blocks();
            b.branch(Cond::Eq, difference, 0, rest, done);
            b.switch_to(rest);
            masked_difference(b, at, wanted, first..words, difference);
            b.jump(done);
            b.switch_to(done);
        }
        difference
    });
    Ok(result)
}

/// Adds to `difference` the bits in which some words at `at` differ from those that are wanted there.
fn masked_difference(b: &mut FunctionBuilder, at: Vreg, wanted: Vreg, words: std::ops::Range<u32>, difference: Vreg) {
    let wanted = Addr::new(Base::Reg(wanted), 0);
    for word in words {
        let have = memory::load(b, Addr::new(Base::Reg(at), word as i32 * 8), 8, false);
        let want = memory::load(b, wanted.at(word * 16), 8, false);
        let mask = memory::load(b, wanted.at(word * 16 + 8), 8, false);
        let bits = b.alu(Alu::Xor, have, want);
        let bits = b.and(bits, mask);
        b.alu_into(difference, Alu::Or, Width::W64, difference, bits);
    }
}

/// Words of the needle, each followed by the mask of its bytes that are not zero.
fn needle_masks<'a>(l: &mut Lowerer<'_, 'a>, needle: &'a Expr, words: u32) -> Result<Addr, CodegenError> {
    const LOW: i64 = 0x7f7f_7f7f_7f7f_7f7f;
    let src = l.memory(needle)?;
    let size = l.object.size(&needle.ty);
    let padded = l.temp_scratch(words * 8);
    memory::copy(&mut l.function.builder, padded, src, size);
    memory::zero(&mut l.function.builder, padded.at(size), words * 8 - size);
    let masks = l.temp_scratch(words * 16);
    let b = &mut l.function.builder;
    for word in 0..words {
        let bytes = memory::load(b, padded.at(word * 8), 8, false);
        // The top bit of each byte that is not zero, then all bits of it.
        let low = b.and(bytes, LOW);
        let carried = b.add(low, LOW);
        let any = b.alu(Alu::Or, carried, bytes);
        let top = b.and(any, !LOW);
        let ones = b.shr(top, 7);
        let mask = b.mul(ones, 0xff);
        memory::store(b, masks.at(word * 16), 8, bytes);
        memory::store(b, masks.at(word * 16 + 8), 8, mask);
    }
    Ok(masks)
}
