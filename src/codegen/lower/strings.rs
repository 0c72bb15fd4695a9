//! Comparing and searching strings and other values in memory.

pub mod search;
pub mod symbolic_number;

use std::borrow::Cow;

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::Type;
use crate::model::bytes::bytes_of;

use crate::codegen::lower::addr::{Addr, Base, chunks};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::loops::cost::UNROLLED_WORDS;
use crate::codegen::lower::loops::strategy::IterationMechanism;
use crate::codegen::lower::place::Place;
use crate::codegen::lower::value::Tail;

/// Bytes compared without a branch between them.
const CHUNK: u32 = 32;

/// The constant string behind an expression, casts to other strings looked through.
pub fn constant_text(e: &Expr) -> Option<Cow<'_, [u8]>> {
    match (&e.kind, &e.ty) {
        (ExprKind::Str(text), _) => Some(bytes_of(text)),
        (ExprKind::Cast(a), Type::Str { size }) => {
            let text = constant_text(a)?;
            let room = size.saturating_sub(1) as usize;
            Some(if text.len() > room { Cow::Owned(text[..room].to_vec()) } else { text })
        }
        _ => None,
    }
}

impl<'a> Lowerer<'_, 'a> {
    /// Branches on whether two values in memory are equal.
    pub fn memory_equal(
        &mut self,
        a: &'a Expr,
        b: &'a Expr,
        same: BlockId,
        other: BlockId,
    ) -> Result<(), CodegenError> {
        if matches!(a.ty, Type::Str { .. }) {
            if let Some(text) = constant_text(b) {
                return self.equals_constant(a, &text, None, same, other);
            }
            if let Some(text) = constant_text(a) {
                return self.equals_constant(b, &text, None, same, other);
            }
        }
        let left = self.stable_memory(a, b)?;
        let right = self.memory(b)?;
        let (have, want) = (self.size(&a.ty), self.size(&b.ty));
        let common = have.min(want);
        let text = |ty: &Type| matches!(ty, Type::Str { .. });
        self.bytes_equal(left, right, common, other, text(&a.ty) && text(&b.ty))?;
        // The longer one may go on where the shorter one ends.
        if have == want {
            self.function.builder.jump(same);
        } else {
            let longer = if have > want { left } else { right };
            let byte = self.load(longer.at(common), 1, false);
            self.function.builder.branch(Cond::Eq, byte, 0, same, other);
        }
        Ok(())
    }

    /// A value's memory; helpers called for `next` don't change it.
    fn stable_memory(&mut self, e: &'a Expr, next: &Expr) -> Result<Addr, CodegenError> {
        let _ = next;
        self.memory(e)
    }

    /// Compares a string with a constant: by words, up to and with the terminator (or `limit` bytes).
    fn equals_constant(
        &mut self,
        e: &'a Expr,
        text: &[u8],
        limit: Option<u32>,
        same: BlockId,
        other: BlockId,
    ) -> Result<(), CodegenError> {
        let size = self.size(&e.ty);
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
            self.function.builder.jump(other);
            return Ok(());
        }
        let operand_without_scalar_id = bytes.len() as u32;
        let addr = match self.beginning_of_str(e, operand_without_scalar_id)? {
            Some(addr) => addr,
            None => self.readable(e)?,
        };
        for (at, size) in chunks(operand_without_scalar_id, [addr.offset, 0]) {
            let mut word = [0_u8; 8];
            word[..size as usize].copy_from_slice(&bytes[at as usize..(at + size) as usize]);
            let value = u64::from_le_bytes(word) as i64;
            let loaded = self.load(addr.at(at), size, false);
            let constant: Operand =
                if i32::try_from(value).is_ok() { value.into() } else { self.function.builder.imm(value).into() };
            self.function.builder.require(Cond::Eq, loaded, constant, other);
        }
        self.function.builder.jump(same);
        Ok(())
    }

    /// Goes on when `bytes` bytes are equal, else jumps to `other`. Of a `text`, nothing behind its end
    /// is compared.
    fn bytes_equal(&mut self, a: Addr, b: Addr, bytes: u32, other: BlockId, text: bool) -> Result<(), CodegenError> {
        let (a, b) = self.in_few_words(a, b, bytes);
        let pieces = chunks(bytes, [a.offset, b.offset]);
        if pieces.len() as u32 <= UNROLLED_WORDS {
            for (at, size) in pieces {
                let (x, y) = (self.load(a.at(at), size, false), self.load(b.at(at), size, false));
                self.function.builder.require(Cond::Eq, x, y, other);
            }
            return Ok(());
        }
        let chunks_ = bytes / CHUNK;
        let (left, right) = (self.pointer(a), self.pointer(b));
        let done = self.function.builder.new_block();
        // What is compared mostly ends or differs in its first bytes.
        let last = self.chunk_equal(left, right, other);
        if text {
            self.unless_ended(last, done);
        }
        match IterationMechanism::of(self.object.facts) {
            IterationMechanism::Iterator => self.chunks_by_iterator(left, right, chunks_, other, done, text),
            IterationMechanism::Callback => self.chunks_by_callback(left, right, chunks_, other, done, text),
            IterationMechanism::Counting => self.chunks_by_counting(left, right, chunks_, other, done, text),
        }
        let tail = chunks_ * CHUNK;
        for (at, size) in chunks(bytes - tail, [a.offset + tail as i32, b.offset + tail as i32]) {
            let (x, y) = (self.load(a.at(tail + at), size, false), self.load(b.at(tail + at), size, false));
            self.function.builder.require(Cond::Eq, x, y, other);
        }
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(())
    }

    /// Two values of so many bytes where they are, or where their words are aligned when it would take many
    /// comparisons otherwise.
    fn in_few_words(&mut self, a: Addr, b: Addr, bytes: u32) -> (Addr, Addr) {
        if chunks(bytes, [a.offset, b.offset]).len() as u32 <= UNROLLED_WORDS {
            return (a, b);
        }
        (self.aligned(a, bytes), self.aligned(b, bytes))
    }

    /// Goes on when the chunks at two addresses are equal; the chunk's last word.
    fn chunk_equal(&mut self, left: Vreg, right: Vreg, other: BlockId) -> Vreg {
        let mut difference = None;
        let mut last = left;
        for at in (0..CHUNK as i32).step_by(8) {
            let (x, y) = (
                self.load(Addr::new(Base::Reg(left), at), 8, false),
                self.load(Addr::new(Base::Reg(right), at), 8, false),
            );
            let bits = self.function.builder.alu(Alu::Xor, x, y);
            difference = Some(match difference {
                Some(before) => self.function.builder.alu(Alu::Or, before, bits),
                None => bits,
            });
            last = x;
        }
        if let Some(difference) = difference {
            self.function.builder.require(Cond::Eq, difference, 0, other);
        }
        last
    }

    /// Goes on unless a text ended at or before this word: nothing but zeros follows its end.
    pub fn unless_ended(&mut self, word: Vreg, done: BlockId) {
        let byte = self.function.builder.shr(word, 56);
        self.function.builder.require(Cond::Ne, byte, 0, done);
    }

    /// The chunks after the first by the kernel's numeric iterator, whose body the verifier follows
    /// twice at most: counted loops are followed to their end, on every path that leads to them.
    fn chunks_by_iterator(&mut self, left: Vreg, right: Vreg, chunks: u32, other: BlockId, done: BlockId, text: bool) {
        let slot = self.open_numbers(1.into(), i64::from(chunks).into());
        let (head, out) = (self.function.builder.new_block(), self.function.builder.new_block());
        let (differ, ended) = (self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.jump(head);
        self.function.builder.switch_to(head);
        let index = self.next_below(slot, chunks, out);
        let offset = self.function.builder.mul(index, i64::from(CHUNK));
        let (x, y) = (self.function.builder.add(left, offset), self.function.builder.add(right, offset));
        let last = self.chunk_equal(x, y, differ);
        if text {
            self.unless_ended(last, ended);
        }
        self.function.builder.jump(head);
        for (from, to) in [(differ, other), (ended, done)] {
            self.function.builder.switch_to(from);
            self.close_numbers(slot);
            self.function.builder.jump(to);
        }
        self.function.builder.switch_to(out);
        self.close_numbers(slot);
    }

    /// The same by `bpf_loop`, on kernels without the iterator.
    fn chunks_by_callback(&mut self, left: Vreg, right: Vreg, chunks: u32, other: BlockId, done: BlockId, text: bool) {
        const DIFFERENT: i64 = 1;
        const ENDED: i64 = 2;
        let found = self.iterations_of_callback(chunks - 1, 0, &[left, right], |l, index, pointers, result| {
            // The first chunk is compared already.
            let offset = l.function.builder.mul(index, i64::from(CHUNK));
            let offset = l.function.builder.add(offset, i64::from(CHUNK));
            let (x, y) = (l.function.builder.add(pointers[0], offset), l.function.builder.add(pointers[1], offset));
            let (differ, ended) = (l.function.builder.new_block(), l.function.builder.new_block());
            let last = l.chunk_equal(x, y, differ);
            if text {
                l.unless_ended(last, ended);
            }
            l.function.builder.ret(0);
            for (block, what) in [(differ, DIFFERENT), (ended, ENDED)] {
                l.function.builder.switch_to(block);
                l.store(result, 8, what);
                l.function.builder.ret(1);
            }
        });
        self.function.builder.require(Cond::Ne, found, DIFFERENT, other);
        if text {
            self.function.builder.require(Cond::Ne, found, ENDED, done);
        }
    }

    /// The same on kernels that have neither.
    fn chunks_by_counting(&mut self, left: Vreg, right: Vreg, chunks: u32, other: BlockId, done: BlockId, text: bool) {
        let offset = self.function.builder.imm(i64::from(CHUNK));
        let (head, body, out) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.jump(head);
        self.function.builder.switch_to(head);
        self.function.builder.branch(Cond::Lt, offset, i64::from(chunks * CHUNK), body, out);
        self.function.builder.switch_to(body);
        let (x, y) = (self.function.builder.add(left, offset), self.function.builder.add(right, offset));
        let last = self.chunk_equal(x, y, other);
        self.function.builder.alu_into(offset, Alu::Add, Width::W64, offset, i64::from(CHUNK));
        if text {
            self.unless_ended(last, done);
        }
        self.function.builder.jump(head);
        self.function.builder.switch_to(out);
    }

    /// 0 when the first `n` bytes (up to a terminator) are equal, else 1.
    pub fn compare_prefix(&mut self, a: &'a Expr, b: &'a Expr, n: u32) -> Result<Operand, CodegenError> {
        let (same, other, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        let mark = self.mark();
        let constant = constant_text(b).map(|t| (a, t)).or_else(|| constant_text(a).map(|t| (b, t)));
        if n == 0 {
            self.function.builder.jump(same);
        } else if let Some((e, text)) = constant {
            self.equals_constant(e, &text, Some(n), same, other)?;
        } else {
            let (left, right) = (self.memory(a)?, self.memory(b)?);
            let common = n.min(self.size(&a.ty)).min(self.size(&b.ty));
            self.bytes_equal(left, right, common, other, false)?;
            self.function.builder.jump(same);
        }
        self.release(mark);
        let result = self.function.builder.new_vreg();
        self.function.builder.switch_to(same);
        self.function.builder.copy_into(result, 0);
        self.function.builder.jump(done);
        self.function.builder.switch_to(other);
        self.function.builder.copy_into(result, 1);
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(result.into())
    }

    /// Length of a string without its terminator: the helper that copies strings counts.
    pub fn string_length(&mut self, e: &'a Expr) -> Result<Vreg, CodegenError> {
        if let Some(text) = constant_text(e) {
            let length = text.iter().position(|b| *b == 0).unwrap_or(text.len());
            return Ok(self.function.builder.imm(length as i64));
        }
        let mark = self.mark();
        // One more than it has: an array of characters may be full, and the helper ends what it copies.
        let size = self.size(&e.ty).max(1) + 1;
        let src = self.memory(e)?;
        let temp = self.temp_scratch(size);
        let with_end =
            self.read_string(Place::Memory(src), temp, size, i64::from(size).into(), Tail::Loose, false, e.span)?;
        self.release(mark);
        let length = self.function.builder.new_vreg();
        self.function.builder.copy_into(length, 0);
        self.when(Cond::SGt, with_end.into(), 0.into(), |l| {
            let without = l.function.builder.sub(with_end, 1);
            l.function.builder.copy_into(length, without);
            Ok(())
        })?;
        Ok(length)
    }

    /// 0 when `n` bytes are equal, else -1 or 1 as the first byte that differs is less or more.
    pub fn compare_memory(&mut self, a: &'a Expr, b: &'a Expr, n: u32, span: Span) -> Result<Operand, CodegenError> {
        let (other, done) = (self.function.builder.new_block(), self.function.builder.new_block());
        let mark = self.mark();
        let (left, right) = (self.bytes_of(a, n, span)?, self.bytes_of(b, n, span)?);
        let result = self.function.builder.imm(0);
        let words = (self.function.builder.imm(0), self.function.builder.imm(0));
        self.first_difference(left, right, n, words, other);
        self.function.builder.jump(done);
        self.release(mark);
        self.function.builder.switch_to(other);
        // The first byte in memory becomes the highest.
        let (x, y) = (self.function.builder.bswap(words.0, 64), self.function.builder.bswap(words.1, 64));
        let more = self.function.builder.compare(Cond::Gt, x, y);
        let twice = self.function.builder.shl(more, 1);
        self.function.builder.alu_into(result, Alu::Sub, Width::W64, twice, 1);
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(result.into())
    }

    /// Goes on when `bytes` bytes are equal; else jumps to `other` with the first words that differ.
    fn first_difference(&mut self, a: Addr, b: Addr, bytes: u32, words: (Vreg, Vreg), other: BlockId) {
        let (a, b) = self.in_few_words(a, b, bytes);
        let pieces = chunks(bytes, [a.offset, b.offset]);
        let straight = pieces.len() as u32 <= UNROLLED_WORDS;
        let looped = if straight { 0 } else { bytes / 8 * 8 };
        if looped > 0 {
            let (left, right) = (self.pointer(a), self.pointer(b));
            let offset = self.function.builder.imm(0);
            let (head, body, done) = (
                self.function.builder.new_block(),
                self.function.builder.new_block(),
                self.function.builder.new_block(),
            );
            self.function.builder.jump(head);
            self.function.builder.switch_to(head);
            self.function.builder.branch(Cond::Lt, offset, i64::from(looped), body, done);
            self.function.builder.switch_to(body);
            let (at_left, at_right) =
                (self.function.builder.add(left, offset), self.function.builder.add(right, offset));
            let x = self.load(Addr::new(Base::Reg(at_left), 0), 8, false);
            let y = self.load(Addr::new(Base::Reg(at_right), 0), 8, false);
            self.function.builder.copy_into(words.0, x);
            self.function.builder.copy_into(words.1, y);
            self.function.builder.alu_into(offset, Alu::Add, Width::W64, offset, 8);
            self.function.builder.branch(Cond::Eq, x, y, head, other);
            self.function.builder.switch_to(done);
        }
        let offsets = [a.offset + looped as i32, b.offset + looped as i32];
        for (at, size) in chunks(bytes - looped, offsets) {
            let (x, y) = (self.load(a.at(looped + at), size, false), self.load(b.at(looped + at), size, false));
            self.function.builder.copy_into(words.0, x);
            self.function.builder.copy_into(words.1, y);
            self.function.builder.require(Cond::Eq, x, y, other);
        }
    }

    /// `n` bytes behind a pointer or of a value, in temporary memory.
    fn bytes_of(&mut self, e: &'a Expr, n: u32, span: Span) -> Result<Addr, CodegenError> {
        let place = if matches!(e.ty, Type::Ptr { .. }) { self.pointee(e)? } else { self.place(e)? };
        let have = if matches!(e.ty, Type::Ptr { .. }) { n } else { n.min(self.size(&e.ty)) };
        if let (Place::Memory(addr), true) = (place, have == n) {
            return Ok(addr);
        }
        let temp = self.temp(n);
        self.read_place(place, temp, have, span)?;
        if n > have {
            self.zero(temp.at(have), n - have);
        }
        Ok(temp)
    }
}
