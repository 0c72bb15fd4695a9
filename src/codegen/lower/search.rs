//! Searching strings in strings.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::Expr;

use super::addr::{Addr, Base};
use super::func::Lowerer;
use super::numbers::Walking;
use super::strings::constant_text;

/// Positions of a searched string in one round.
const SEARCH_BLOCK: u32 = 16;

/// Most bytes of a searched string where the verifier follows the search byte by byte.
const SEARCHED: u32 = 2048;

/// Most bytes of one where rounds of the kernel's own go through it.
const SEARCHED_IN_ROUNDS: u32 = 1 << 16;

/// What `strstr` gives without a match: `-ENOENT`, as the kernel's own string function.
const NOT_FOUND: i64 = -2;

/// Most words compared in a search for a string that is not constant, for the same reason.
const SEARCHED_WORDS: u32 = 1 << 15;

/// Most words of such a string where the verifier follows few positions: it walks through all at each of these.
const WANTED_WORDS: u32 = 512;

/// Words of a string that are compared without a branch before all others are.
const WORDS_AT_ONCE: u32 = 4;

impl<'a> Lowerer<'_, 'a> {
    /// Whether the verifier follows a search for one block of positions, or two, and not for all of them.
    fn searches_in_rounds(&self) -> bool {
        Walking::of(self.u.facts) != Walking::Counting
    }

    /// Index of `needle` in `haystack`, or [`NOT_FOUND`].
    pub fn search(&mut self, haystack: &'a Expr, needle: &'a Expr, span: Span) -> Result<Vreg, CodegenError> {
        let size = self.size(&haystack.ty);
        let most = if self.searches_in_rounds() { SEARCHED_IN_ROUNDS } else { SEARCHED };
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
            return self.search_variable(haystack, needle, span);
        };
        let bytes: Vec<u8> = text.iter().copied().take_while(|b| *b != 0).collect();
        let result = self.f.b.imm(if bytes.is_empty() { 0 } else { NOT_FOUND });
        if bytes.is_empty() || bytes.len() as u32 >= size {
            return Ok(result);
        }
        let base = self.searched_copy(haystack, size, bytes.len() as u32 + SEARCH_BLOCK)?;
        self.first_match(base, size - bytes.len() as u32, result, None, |l, at, _| l.difference(at, &bytes));
        Ok(result)
    }

    /// Puts the first of so many positions that does not differ into `result`; the search ends with the
    /// string. Positions are tried in blocks, each a round of the kernel's iterator or of `bpf_loop` where
    /// there is one: the verifier follows one or two blocks then, not all. `wanted` is handed to
    /// `difference`, as it is where the code runs.
    fn first_match(
        &mut self,
        base: Vreg,
        positions: u32,
        result: Vreg,
        wanted: Option<Vreg>,
        difference: impl FnOnce(&mut Self, Vreg, Vreg) -> Vreg,
    ) {
        let wanted = wanted.unwrap_or(base);
        let walking = Walking::of(self.u.facts);
        if walking == Walking::Callback {
            return self.first_match_by_callback(base, positions, result, wanted, difference);
        }
        let blocks = positions.div_ceil(SEARCH_BLOCK);
        let (head, body, next) = (self.f.b.new_block(), self.f.b.new_block(), self.f.b.new_block());
        let (found, out, done) = (self.f.b.new_block(), self.f.b.new_block(), self.f.b.new_block());
        let (start, offset) = (self.f.b.imm(0), self.f.b.imm(0));
        let by_iterator = walking == Walking::Iterator;
        let iterator = by_iterator.then(|| self.open_numbers(0.into(), i64::from(blocks).into()));
        self.f.b.jump(head);
        self.f.b.switch_to(head);
        let most = match iterator {
            Some(slot) => {
                let index = self.next_below(slot, blocks, out);
                self.f.b.alu_into(start, Alu::Mul, Width::W64, index, i64::from(SEARCH_BLOCK));
                self.f.b.copy_into(offset, 0);
                SEARCH_BLOCK
            }
            None => blocks * SEARCH_BLOCK,
        };
        let first = self.f.b.add(base, start);
        self.f.b.jump(body);
        self.f.b.switch_to(body);
        let at = self.f.b.add(first, offset);
        let differs = difference(self, at, wanted);
        self.f.b.branch(Cond::Eq, differs, 0, found, next);
        self.f.b.switch_to(next);
        let byte = self.load(Addr::new(Base::Reg(at), 0), 1, false);
        self.f.b.alu_into(offset, Alu::Add, Width::W64, offset, 1);
        self.f.b.require(Cond::Ne, byte, 0, out);
        self.f.b.branch(Cond::Lt, offset, i64::from(most), body, if iterator.is_some() { head } else { out });
        self.f.b.switch_to(found);
        let place = self.f.b.add(start, offset);
        // As below: each place, at least in its block, is a constant to the verifier.
        let unknown = self.unknown_zero();
        let place = self.f.b.add(place, unknown);
        self.f.b.copy_into(result, place);
        self.f.b.jump(out);
        self.f.b.switch_to(out);
        if let Some(slot) = iterator {
            self.close_numbers(slot);
        }
        self.f.b.jump(done);
        self.f.b.switch_to(done);
    }

    fn first_match_by_callback(
        &mut self,
        base: Vreg,
        positions: u32,
        result: Vreg,
        wanted: Vreg,
        difference: impl FnOnce(&mut Self, Vreg, Vreg) -> Vreg,
    ) {
        let blocks = positions.div_ceil(SEARCH_BLOCK);
        let found = self.rounds_of_callback(blocks, NOT_FOUND, &[base, wanted], |l, index, pointers, place| {
            let start = l.f.b.mul(index, i64::from(SEARCH_BLOCK));
            let first = l.f.b.add(pointers[0], start);
            let offset = l.f.b.imm(0);
            let (body, next, on) = (l.f.b.new_block(), l.f.b.new_block(), l.f.b.new_block());
            let (found, ended) = (l.f.b.new_block(), l.f.b.new_block());
            l.f.b.jump(body);
            l.f.b.switch_to(body);
            let at = l.f.b.add(first, offset);
            let differs = difference(l, at, pointers[1]);
            l.f.b.branch(Cond::Eq, differs, 0, found, next);
            l.f.b.switch_to(next);
            let byte = l.load(Addr::new(Base::Reg(at), 0), 1, false);
            l.f.b.alu_into(offset, Alu::Add, Width::W64, offset, 1);
            l.f.b.require(Cond::Ne, byte, 0, ended);
            l.f.b.branch(Cond::Lt, offset, i64::from(SEARCH_BLOCK), body, on);
            l.f.b.switch_to(on);
            l.f.b.ret(0);
            l.f.b.switch_to(found);
            let index = l.f.b.add(start, offset);
            // The verifier would go on with each place that it knows by itself: where a later callback makes all
            // that it knows count (`mark_all_scalars_precise`), two searches are followed on 17 ways each.
            let unknown = l.unknown_zero();
            let index = l.f.b.add(index, unknown);
            l.store(place, 8, index);
            l.f.b.ret(1);
            l.f.b.switch_to(ended);
            l.f.b.ret(1);
        });
        self.f.b.copy_into(result, found);
    }

    /// The haystack in working memory (which takes variable and unaligned offsets), followed by zeros.
    fn searched_copy(&mut self, haystack: &'a Expr, size: u32, extra: u32) -> Result<Vreg, CodegenError> {
        let src = self.memory(haystack)?;
        let copy = self.temp_scratch(size + extra);
        self.copy(copy, src, size);
        self.zero(copy.at(size), extra);
        Ok(self.pointer(copy))
    }

    /// All differing bits of the bytes at `at` and a constant: no branch inside, so that the verifier
    /// sees one decision for each position.
    fn difference(&mut self, at: Vreg, bytes: &[u8]) -> Vreg {
        let mut all: Option<Vreg> = None;
        let mut start = 0;
        while start < bytes.len() {
            let left = bytes.len() - start;
            let size = [8, 4, 2, 1].into_iter().find(|s| *s <= left).unwrap_or(1);
            let mut word = [0_u8; 8];
            word[..size].copy_from_slice(&bytes[start..start + size]);
            let value = u64::from_le_bytes(word) as i64;
            let loaded = self.load(Addr::new(Base::Reg(at), start as i32), size as u32, false);
            let constant: Operand =
                if i32::try_from(value).is_ok() { value.into() } else { self.f.b.imm(value).into() };
            let bits = self.f.b.alu(Alu::Xor, loaded, constant);
            all = Some(match all {
                Some(before) => self.f.b.alu(Alu::Or, before, bits),
                None => bits,
            });
            start += size;
        }
        all.unwrap_or_else(|| self.f.b.imm(0))
    }

    /// Both strings variable. The needle is zero-padded, so a mask of its bytes that are not zero says
    /// what must match: each position is compared by whole words without a branch, which keeps the
    /// verifier to one decision a position. Where it follows few positions it may be two: most differ in the
    /// first words already.
    fn search_variable(&mut self, haystack: &'a Expr, needle: &'a Expr, span: Span) -> Result<Vreg, CodegenError> {
        let (size, words) = (self.size(&haystack.ty), self.size(&needle.ty).div_ceil(8));
        let in_rounds = self.searches_in_rounds();
        let (compared, most) =
            if in_rounds { (words, WANTED_WORDS) } else { (size.saturating_mul(words), SEARCHED_WORDS) };
        if compared > most {
            return Err(CodegenError::TooLarge {
                span,
                what: "the search for a string that is not constant, in words to compare,".into(),
                size: compared.into(),
                limit: most.into(),
                hint: Some("search for a constant, or give str() a shorter length".into()),
            });
        }
        let base = self.searched_copy(haystack, size, words * 8 + SEARCH_BLOCK)?;
        let wanted = self.needle_masks(needle, words)?;
        let wanted = self.pointer(wanted);
        let result = self.f.b.imm(NOT_FOUND);
        self.first_match(base, size, result, Some(wanted), |l, at, wanted| {
            let difference = l.f.b.imm(0);
            let first = if in_rounds { words.min(WORDS_AT_ONCE) } else { words };
            l.masked_difference(at, wanted, 0..first, difference);
            if first < words {
                let (rest, done) = (l.f.b.new_block(), l.f.b.new_block());
                l.f.b.branch(Cond::Eq, difference, 0, rest, done);
                l.f.b.switch_to(rest);
                l.masked_difference(at, wanted, first..words, difference);
                l.f.b.jump(done);
                l.f.b.switch_to(done);
            }
            difference
        });
        Ok(result)
    }

    /// Adds to `difference` the bits in which some words at `at` differ from those that are wanted there.
    fn masked_difference(&mut self, at: Vreg, wanted: Vreg, words: std::ops::Range<u32>, difference: Vreg) {
        let wanted = Addr::new(Base::Reg(wanted), 0);
        for word in words {
            let have = self.load(Addr::new(Base::Reg(at), word as i32 * 8), 8, false);
            let want = self.load(wanted.at(word * 16), 8, false);
            let mask = self.load(wanted.at(word * 16 + 8), 8, false);
            let bits = self.f.b.alu(Alu::Xor, have, want);
            let bits = self.f.b.and(bits, mask);
            self.f.b.alu_into(difference, Alu::Or, Width::W64, difference, bits);
        }
    }

    /// Words of the needle, each followed by the mask of its bytes that are not zero.
    fn needle_masks(&mut self, needle: &'a Expr, words: u32) -> Result<Addr, CodegenError> {
        const LOW: i64 = 0x7f7f_7f7f_7f7f_7f7f;
        let src = self.memory(needle)?;
        let size = self.size(&needle.ty);
        let padded = self.temp_scratch(words * 8);
        self.copy(padded, src, size);
        self.zero(padded.at(size), words * 8 - size);
        let masks = self.temp_scratch(words * 16);
        for word in 0..words {
            let bytes = self.load(padded.at(word * 8), 8, false);
            // The top bit of each byte that is not zero, then all bits of it.
            let low = self.f.b.and(bytes, LOW);
            let carried = self.f.b.add(low, LOW);
            let any = self.f.b.alu(Alu::Or, carried, bytes);
            let top = self.f.b.and(any, !LOW);
            let ones = self.f.b.shr(top, 7);
            let mask = self.f.b.mul(ones, 0xff);
            self.store(masks.at(word * 16), 8, bytes);
            self.store(masks.at(word * 16 + 8), 8, mask);
        }
        Ok(masks)
    }
}
