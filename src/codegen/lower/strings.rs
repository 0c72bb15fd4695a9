//! Comparing and searching strings and other values in memory.

pub mod search;
pub mod source;
pub mod symbolic_number;
pub mod text;
pub mod words;

use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::Expr;
use crate::lang::types::Type;

use crate::codegen::lower::addr::{Addr, Base, chunks, memory};
use crate::codegen::lower::function::{FunctionState, Lowerer};
use crate::codegen::lower::loops::cost::UNROLLED_WORDS;
use crate::codegen::lower::loops::iterator;
use crate::codegen::lower::loops::strategy::IterationMechanism;
use crate::codegen::lower::place::{Place, read};
use crate::codegen::lower::strings::text::constant_text;
use crate::codegen::lower::value::canonical::Tail;
use crate::codegen::lower::{numbers, trusted};

/// Bytes compared without a branch between them.
const CHUNK: u32 = 32;

/// Branches on whether two values in memory are equal.
pub fn equal<'a>(
    l: &mut Lowerer<'_, 'a>,
    a: &'a Expr,
    b: &'a Expr,
    same: BlockId,
    other: BlockId,
) -> Result<(), CodegenError> {
    if matches!(a.ty, Type::Str { .. }) {
        if let Some(text) = constant_text(b) {
            return equals_constant(l, a, &text, None, same, other);
        }
        if let Some(text) = constant_text(a) {
            return equals_constant(l, b, &text, None, same, other);
        }
    }
    let left = stable_memory(l, a, b)?;
    let right = l.memory(b)?;
    let (have, want) = (l.object.size(&a.ty), l.object.size(&b.ty));
    let common = have.min(want);
    let text = |ty: &Type| matches!(ty, Type::Str { .. });
    bytes_equal(l, left, right, common, other, text(&a.ty) && text(&b.ty))?;
    // The longer one may go on where the shorter one ends.
    if have == want {
        l.function.builder.jump(same);
    } else {
        let longer = if have > want { left } else { right };
        let byte = memory::load(&mut l.function.builder, longer.at(common), 1, false);
        l.function.builder.branch(Cond::Eq, byte, 0, same, other);
    }
    Ok(())
}

/// A value's memory; helpers called for `next` don't change it.
fn stable_memory<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr, next: &Expr) -> Result<Addr, CodegenError> {
    let _ = next;
    l.memory(e)
}

/// Compares a string with a constant: by words, up to and with the terminator (or `limit` bytes).
fn equals_constant<'a>(
    l: &mut Lowerer<'_, 'a>,
    e: &'a Expr,
    text: &[u8],
    limit: Option<u32>,
    same: BlockId,
    other: BlockId,
) -> Result<(), CodegenError> {
    let size = l.object.size(&e.ty);
    let mut bytes = text.to_vec();
    bytes.push(0);
    if let Some(limit) = limit {
        bytes.truncate(limit as usize);
    }
    let zero_at = bytes.iter().position(|b| *b == 0);
    if let Some(end) = zero_at {
        bytes.truncate(end + 1);
    }
    let fits = bytes.len() as u32 <= size;
    if !fits {
        // A longer text than the string can hold.
        l.function.builder.jump(other);
        return Ok(());
    }
    let compared = bytes.len() as u32;
    let addr = match source::beginning(l, e, compared)? {
        Some(addr) => addr,
        None => trusted::readable(l, e)?,
    };
    let b = &mut l.function.builder;
    for (at, size) in chunks(compared, [addr.offset, 0]) {
        let mut word = [0_u8; 8];
        word[..size as usize].copy_from_slice(&bytes[at as usize..(at + size) as usize]);
        let value = u64::from_le_bytes(word) as i64;
        let loaded = memory::load(b, addr.at(at), size, false);
        let constant: Operand = if i32::try_from(value).is_ok() { value.into() } else { b.copy(value).into() };
        flow::require(b, Cond::Eq, loaded, constant, other);
    }
    b.jump(same);
    Ok(())
}

/// Goes on when `bytes` bytes are equal, else jumps to `other`. Of a `text`, nothing behind its end
/// is compared.
fn bytes_equal(
    l: &mut Lowerer<'_, '_>,
    a: Addr,
    b: Addr,
    bytes: u32,
    other: BlockId,
    text: bool,
) -> Result<(), CodegenError> {
    let (a, b) = in_few_words(l, a, b, bytes);
    let pieces = chunks(bytes, [a.offset, b.offset]);
    if pieces.len() as u32 <= UNROLLED_WORDS {
        for (at, size) in pieces {
            let (x, y) = (
                memory::load(&mut l.function.builder, a.at(at), size, false),
                memory::load(&mut l.function.builder, b.at(at), size, false),
            );
            flow::require(&mut l.function.builder, Cond::Eq, x, y, other);
        }
        return Ok(());
    }
    let (left, right) = (memory::pointer(&mut l.function.builder, a), memory::pointer(&mut l.function.builder, b));
    let done = l.function.builder.new_block();
    let compared = Compared { left, right, chunks: bytes / CHUNK, other, done, is_text: text };
    // What is compared mostly ends or differs in its first bytes.
    let last = chunk_equal(&mut l.function.builder, left, right, other);
    if text {
        numbers::unless_ended(&mut l.function.builder, last, done);
    }
    match IterationMechanism::of(l.object.facts) {
        IterationMechanism::Iterator => chunks_by_iterator(&mut l.function, compared),
        IterationMechanism::Callback => chunks_by_callback(l, compared),
        IterationMechanism::Counting => chunks_by_counting(&mut l.function.builder, compared),
    }
    let tail = compared.chunks * CHUNK;
    for (at, size) in chunks(bytes - tail, [a.offset + tail as i32, b.offset + tail as i32]) {
        let (x, y) = (
            memory::load(&mut l.function.builder, a.at(tail + at), size, false),
            memory::load(&mut l.function.builder, b.at(tail + at), size, false),
        );
        flow::require(&mut l.function.builder, Cond::Eq, x, y, other);
    }
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    Ok(())
}

/// Two values of so many bytes where they are, or where their words are aligned when it would take many
/// comparisons otherwise.
fn in_few_words(l: &mut Lowerer<'_, '_>, a: Addr, b: Addr, bytes: u32) -> (Addr, Addr) {
    if chunks(bytes, [a.offset, b.offset]).len() as u32 <= UNROLLED_WORDS {
        return (a, b);
    }
    (memory::aligned(l, a, bytes), memory::aligned(l, b, bytes))
}

/// Goes on when the chunks at two addresses are equal; the chunk's last word.
fn chunk_equal(b: &mut FunctionBuilder, left: Vreg, right: Vreg, other: BlockId) -> Vreg {
    let mut difference = None;
    let mut last = left;
    for at in (0..CHUNK as i32).step_by(8) {
        let (x, y) = (
            memory::load(b, Addr::new(Base::Reg(left), at), 8, false),
            memory::load(b, Addr::new(Base::Reg(right), at), 8, false),
        );
        let bits = b.alu(Alu::Xor, x, y);
        difference = Some(match difference {
            Some(before) => b.alu(Alu::Or, before, bits),
            None => bits,
        });
        last = x;
    }
    if let Some(difference) = difference {
        flow::require(b, Cond::Eq, difference, 0, other);
    }
    last
}

/// Two values that are compared chunk by chunk.
#[derive(Clone, Copy)]
struct Compared {
    left: Vreg,
    right: Vreg,
    chunks: u32,
    /// Where it goes on when they differ, and when both end before their last byte.
    other: BlockId,
    done: BlockId,
    /// They are texts, which end with their terminator.
    is_text: bool,
}

impl Compared {
    /// Compares the chunks at an offset.
    fn chunk_at(self, b: &mut FunctionBuilder, offset: Vreg, differ: BlockId, ended: BlockId) {
        let (x, y) = (b.add(self.left, offset), b.add(self.right, offset));
        let last = chunk_equal(b, x, y, differ);
        if self.is_text {
            numbers::unless_ended(b, last, ended);
        }
    }
}

/// The chunks after the first by the kernel's numeric iterator, whose body the verifier follows
/// twice at most: counted loops are followed to their end, on every path that leads to them.
fn chunks_by_iterator(f: &mut FunctionState, compared: Compared) {
    let slot = iterator::open_numbers(f, 1.into(), i64::from(compared.chunks).into());
    let b = &mut f.builder;
    let [head, out] = b.new_blocks();
    let [differ, ended] = b.new_blocks();
    b.jump(head);
    b.switch_to(head);
    let index = iterator::next_below(b, slot, compared.chunks, out);
    let offset = b.mul(index, i64::from(CHUNK));
    compared.chunk_at(b, offset, differ, ended);
    b.jump(head);
    for (from, to) in [(differ, compared.other), (ended, compared.done)] {
        b.switch_to(from);
        iterator::close_numbers(b, slot);
        b.jump(to);
    }
    b.switch_to(out);
    iterator::end_numbers(f, slot);
}

/// The same by `bpf_loop`, on kernels without the iterator.
fn chunks_by_callback(l: &mut Lowerer<'_, '_>, compared: Compared) {
    const DIFFERENT: i64 = 1;
    const ENDED: i64 = 2;
    let Compared { left, right, chunks, .. } = compared;
    let found = iterator::iterations_of_callback(l, chunks - 1, 0, &[left, right], |l, index, pointers, result| {
        let b = &mut l.function.builder;
        // The first chunk is compared already.
        let offset = b.mul(index, i64::from(CHUNK));
        let offset = b.add(offset, i64::from(CHUNK));
        let (x, y) = (b.add(pointers[0], offset), b.add(pointers[1], offset));
        let [differ, ended] = b.new_blocks();
        let last = chunk_equal(b, x, y, differ);
        if compared.is_text {
            numbers::unless_ended(b, last, ended);
        }
        b.ret(0);
        for (block, what) in [(differ, DIFFERENT), (ended, ENDED)] {
            b.switch_to(block);
            memory::store(b, result, 8, what);
            b.ret(1);
        }
    });
    flow::require(&mut l.function.builder, Cond::Ne, found, DIFFERENT, compared.other);
    if compared.is_text {
        flow::require(&mut l.function.builder, Cond::Ne, found, ENDED, compared.done);
    }
}

/// The same on kernels that have neither.
fn chunks_by_counting(b: &mut FunctionBuilder, compared: Compared) {
    let Compared { left, right, .. } = compared;
    let offset = b.copy(i64::from(CHUNK));
    let [head, body, out] = b.new_blocks();
    b.jump(head);
    b.switch_to(head);
    b.branch(Cond::Lt, offset, i64::from(compared.chunks * CHUNK), body, out);
    b.switch_to(body);
    let (x, y) = (b.add(left, offset), b.add(right, offset));
    let last = chunk_equal(b, x, y, compared.other);
    b.alu_into(offset, Alu::Add, Width::W64, offset, i64::from(CHUNK));
    if compared.is_text {
        numbers::unless_ended(b, last, compared.done);
    }
    b.jump(head);
    b.switch_to(out);
}

/// 0 when the first `n` bytes (up to a terminator) are equal, else 1.
pub fn compare_prefix<'a>(l: &mut Lowerer<'_, 'a>, a: &'a Expr, b: &'a Expr, n: u32) -> Result<Operand, CodegenError> {
    let [same, other, done] = l.function.builder.new_blocks();
    let mark = l.mark();
    let constant = constant_text(b).map(|t| (a, t)).or_else(|| constant_text(a).map(|t| (b, t)));
    if n == 0 {
        l.function.builder.jump(same);
    } else if let Some((e, text)) = constant {
        equals_constant(l, e, &text, Some(n), same, other)?;
    } else {
        let (left, right) = (l.memory(a)?, l.memory(b)?);
        let common = n.min(l.object.size(&a.ty)).min(l.object.size(&b.ty));
        bytes_equal(l, left, right, common, other, false)?;
        l.function.builder.jump(same);
    }
    l.release(mark);
    let result = l.function.builder.new_vreg();
    l.function.builder.switch_to(same);
    l.function.builder.copy_into(result, 0);
    l.function.builder.jump(done);
    l.function.builder.switch_to(other);
    l.function.builder.copy_into(result, 1);
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    Ok(result.into())
}

/// Length of a string without its terminator: the helper that copies strings counts.
pub fn length<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr) -> Result<Vreg, CodegenError> {
    if let Some(text) = constant_text(e) {
        let length = text.iter().position(|b| *b == 0).unwrap_or(text.len());
        return Ok(l.function.builder.copy(length as i64));
    }
    let mark = l.mark();
    // One more than it has: an array of characters may be full, and the helper ends what it copies.
    let size = l.object.size(&e.ty).max(1) + 1;
    let src = l.memory(e)?;
    let temp = l.temp_scratch(size);
    let with_end = read::string(l, Place::Memory(src), temp, size, i64::from(size).into(), Tail::Loose, false, e.span)?;
    l.release(mark);
    let length = l.function.builder.new_vreg();
    l.function.builder.copy_into(length, 0);
    flow::when(&mut l.function.builder, Cond::SGt, with_end, 0, |b| {
        let without = b.sub(with_end, 1);
        b.copy_into(length, without);
    });
    Ok(length)
}

/// 0 when `n` bytes are equal, else -1 or 1 as the first byte that differs is less or more.
pub fn compare_memory<'a>(
    l: &mut Lowerer<'_, 'a>,
    a: &'a Expr,
    b: &'a Expr,
    n: u32,
    span: Span,
) -> Result<Operand, CodegenError> {
    let [other, done] = l.function.builder.new_blocks();
    let mark = l.mark();
    let (left, right) = (bytes_behind(l, a, n, span)?, bytes_behind(l, b, n, span)?);
    let result = l.function.builder.copy(0);
    let words = (l.function.builder.copy(0), l.function.builder.copy(0));
    first_difference(l, left, right, n, words, other);
    l.function.builder.jump(done);
    l.release(mark);
    l.function.builder.switch_to(other);
    // The first byte in memory becomes the highest.
    let (x, y) = (l.function.builder.bswap(words.0, 64), l.function.builder.bswap(words.1, 64));
    let more = flow::compare(&mut l.function.builder, Cond::Gt, x, y);
    let twice = l.function.builder.shl(more, 1);
    l.function.builder.alu_into(result, Alu::Sub, Width::W64, twice, 1);
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    Ok(result.into())
}

/// Goes on when `bytes` bytes are equal; else jumps to `other` with the first words that differ.
fn first_difference(l: &mut Lowerer<'_, '_>, a: Addr, b: Addr, bytes: u32, words: (Vreg, Vreg), other: BlockId) {
    let (a, b) = in_few_words(l, a, b, bytes);
    let pieces = chunks(bytes, [a.offset, b.offset]);
    let straight = pieces.len() as u32 <= UNROLLED_WORDS;
    let looped = if straight { 0 } else { bytes / 8 * 8 };
    if looped > 0 {
        let (left, right) = (memory::pointer(&mut l.function.builder, a), memory::pointer(&mut l.function.builder, b));
        let offset = l.function.builder.copy(0);
        let [head, body, done] = l.function.builder.new_blocks();
        l.function.builder.jump(head);
        l.function.builder.switch_to(head);
        l.function.builder.branch(Cond::Lt, offset, i64::from(looped), body, done);
        l.function.builder.switch_to(body);
        let (at_left, at_right) = (l.function.builder.add(left, offset), l.function.builder.add(right, offset));
        let x = memory::load(&mut l.function.builder, Addr::new(Base::Reg(at_left), 0), 8, false);
        let y = memory::load(&mut l.function.builder, Addr::new(Base::Reg(at_right), 0), 8, false);
        l.function.builder.copy_into(words.0, x);
        l.function.builder.copy_into(words.1, y);
        l.function.builder.alu_into(offset, Alu::Add, Width::W64, offset, 8);
        l.function.builder.branch(Cond::Eq, x, y, head, other);
        l.function.builder.switch_to(done);
    }
    let offsets = [a.offset + looped as i32, b.offset + looped as i32];
    for (at, size) in chunks(bytes - looped, offsets) {
        let (x, y) = (
            memory::load(&mut l.function.builder, a.at(looped + at), size, false),
            memory::load(&mut l.function.builder, b.at(looped + at), size, false),
        );
        l.function.builder.copy_into(words.0, x);
        l.function.builder.copy_into(words.1, y);
        flow::require(&mut l.function.builder, Cond::Eq, x, y, other);
    }
}

/// `n` bytes behind a pointer or of a value, in temporary memory.
fn bytes_behind<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr, n: u32, span: Span) -> Result<Addr, CodegenError> {
    let place = if matches!(e.ty, Type::Ptr { .. }) { l.pointee(e)? } else { l.place(e)? };
    let have = if matches!(e.ty, Type::Ptr { .. }) { n } else { n.min(l.object.size(&e.ty)) };
    if let (Place::Memory(addr), true) = (place, have == n) {
        return Ok(addr);
    }
    let temp = l.temp(n);
    read::copy(l, place, temp, have, span)?;
    if n > have {
        memory::zero(&mut l.function.builder, temp.at(have), n - have);
    }
    Ok(temp)
}
