//! Searching strings in strings.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::Expr;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::loops::strategy::IterationMechanism;
use crate::codegen::lower::strings::constant_text;

/// Positions of a searched string in one iteration.
const SEARCH_BLOCK: u32 = 16;

/// Most bytes of a searched string where the verifier follows the search byte by byte.
const SEARCHED: u32 = 2048;

/// Most bytes of one where iterations of the kernel's own go through it.
const SEARCHED_IN_ROUNDS: u32 = 1 << 16;

/// What `strstr` gives without a match: `-ENOENT`, as the kernel's own string function.
const NOT_FOUND: i64 = -2;

/// Most words compared in a search for a string that is not constant, for the same reason.
const SEARCHED_WORDS: u32 = 1 << 15;

/// Most words of such a string where the verifier follows few positions: it explores all at each of these.
const WANTED_WORDS: u32 = 512;

/// Words of a string that are compared without a branch before all others are.
const WORDS_AT_ONCE: u32 = 4;

impl<'a> Lowerer<'_, 'a> {
    /// Whether the verifier follows a search for one block of positions, or two, and not for all of them.
    fn searches_in_loop(&self) -> bool {
        IterationMechanism::of(self.object.facts) != IterationMechanism::Counting
    }

    /// Index of `needle` in `haystack`, or [`NOT_FOUND`].
    pub fn search(&mut self, haystack: &'a Expr, needle: &'a Expr, span: Span) -> Result<Vreg, CodegenError> {
        let size = self.size(&haystack.ty);
        let most = if self.searches_in_loop() { SEARCHED_IN_ROUNDS } else { SEARCHED };
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
        let result = self.function.builder.imm(if bytes.is_empty() { 0 } else { NOT_FOUND });
        if bytes.is_empty() || bytes.len() as u32 >= size {
            return Ok(result);
        }
        let base = self.searched_copy(haystack, size, bytes.len() as u32 + SEARCH_BLOCK)?;
        self.first_match(base, size - bytes.len() as u32, result, None, |l, at, _| l.difference(at, &bytes));
        Ok(result)
    }

    /// Puts the first of so many positions that does not differ into `result`; the search ends with the
    /// string. Positions are tried in blocks, each an iteration of the kernel's iterator or of `bpf_loop` where
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
        let walking = IterationMechanism::of(self.object.facts);
        if walking == IterationMechanism::Callback {
            return self.first_match_by_callback(base, positions, result, wanted, difference);
        }
        let blocks = positions.div_ceil(SEARCH_BLOCK);
        let (head, body, next) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        let (found, out, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        let (start, offset) = (self.function.builder.imm(0), self.function.builder.imm(0));
        let by_iterator = walking == IterationMechanism::Iterator;
        let iterator = by_iterator.then(|| self.open_numbers(0.into(), i64::from(blocks).into()));
        self.function.builder.jump(head);
        self.function.builder.switch_to(head);
        let most = match iterator {
            Some(slot) => {
                let index = self.next_below(slot, blocks, out);
                self.function.builder.alu_into(start, Alu::Mul, Width::W64, index, i64::from(SEARCH_BLOCK));
                self.function.builder.copy_into(offset, 0);
                SEARCH_BLOCK
            }
            None => blocks * SEARCH_BLOCK,
        };
        let first = self.function.builder.add(base, start);
        self.function.builder.jump(body);
        self.function.builder.switch_to(body);
        let at = self.function.builder.add(first, offset);
        let differs = difference(self, at, wanted);
        self.function.builder.branch(Cond::Eq, differs, 0, found, next);
        self.function.builder.switch_to(next);
        let byte = self.load(Addr::new(Base::Reg(at), 0), 1, false);
        self.function.builder.alu_into(offset, Alu::Add, Width::W64, offset, 1);
        self.function.builder.require(Cond::Ne, byte, 0, out);
        self.function.builder.branch(
            Cond::Lt,
            offset,
            i64::from(most),
            body,
            if iterator.is_some() { head } else { out },
        );
        self.function.builder.switch_to(found);
        let place = self.function.builder.add(start, offset);
        // As below: each place, at least in its block, is a constant to the verifier.
        let place = self.hidden(place);
        self.function.builder.copy_into(result, place);
        self.function.builder.jump(out);
        self.function.builder.switch_to(out);
        if let Some(slot) = iterator {
            self.close_numbers(slot);
        }
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
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
        let found = self.iterations_of_callback(blocks, NOT_FOUND, &[base, wanted], |l, index, pointers, place| {
            let start = l.function.builder.mul(index, i64::from(SEARCH_BLOCK));
            let first = l.function.builder.add(pointers[0], start);
            let offset = l.function.builder.imm(0);
            let (body, next, on) =
                (l.function.builder.new_block(), l.function.builder.new_block(), l.function.builder.new_block());
            let (found, ended) = (l.function.builder.new_block(), l.function.builder.new_block());
            l.function.builder.jump(body);
            l.function.builder.switch_to(body);
            let at = l.function.builder.add(first, offset);
            let differs = difference(l, at, pointers[1]);
            l.function.builder.branch(Cond::Eq, differs, 0, found, next);
            l.function.builder.switch_to(next);
            let byte = l.load(Addr::new(Base::Reg(at), 0), 1, false);
            l.function.builder.alu_into(offset, Alu::Add, Width::W64, offset, 1);
            l.function.builder.require(Cond::Ne, byte, 0, ended);
            l.function.builder.branch(Cond::Lt, offset, i64::from(SEARCH_BLOCK), body, on);
            l.function.builder.switch_to(on);
            l.function.builder.ret(0);
            l.function.builder.switch_to(found);
            let index = l.function.builder.add(start, offset);
            // The verifier would go on with each place that it knows by itself: where a later callback makes all
            // that it knows count (`mark_all_scalars_precise`), two searches are followed on 17 paths each.
            let index = l.hidden(index);
            l.store(place, 8, index);
            l.function.builder.ret(1);
            l.function.builder.switch_to(ended);
            l.function.builder.ret(1);
        });
        self.function.builder.copy_into(result, found);
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
                if i32::try_from(value).is_ok() { value.into() } else { self.function.builder.imm(value).into() };
            let bits = self.function.builder.alu(Alu::Xor, loaded, constant);
            all = Some(match all {
                Some(before) => self.function.builder.alu(Alu::Or, before, bits),
                None => bits,
            });
            start += size;
        }
        all.unwrap_or_else(|| self.function.builder.imm(0))
    }

    /// Both strings variable. The needle is zero-padded, so a mask of its bytes that are not zero says
    /// what must match: each position is compared by whole words without a branch, which keeps the
    /// verifier to one decision a position. Where it follows few positions it may be two: most differ in the
    /// first words already.
    fn search_variable(&mut self, haystack: &'a Expr, needle: &'a Expr, span: Span) -> Result<Vreg, CodegenError> {
        let (size, words) = (self.size(&haystack.ty), self.size(&needle.ty).div_ceil(8));
        let in_loop = self.searches_in_loop();
        let (operand_without_scalar_id, most) =
            if in_loop { (words, WANTED_WORDS) } else { (size.saturating_mul(words), SEARCHED_WORDS) };
        if operand_without_scalar_id > most {
            return Err(CodegenError::TooLarge {
                span,
                what: "the search for a string that is not constant, in words to compare,".into(),
                size: operand_without_scalar_id.into(),
                limit: most.into(),
                hint: Some("search for a constant, or give str() a shorter length".into()),
            });
        }
        let base = self.searched_copy(haystack, size, words * 8 + SEARCH_BLOCK)?;
        let wanted = self.needle_masks(needle, words)?;
        let wanted = self.pointer(wanted);
        let result = self.function.builder.imm(NOT_FOUND);
        self.first_match(base, size, result, Some(wanted), |l, at, wanted| {
            let difference = l.function.builder.imm(0);
            let first = if in_loop { words.min(WORDS_AT_ONCE) } else { words };
            l.masked_difference(at, wanted, 0..first, difference);
            if first < words {
                let (rest, done) = (l.function.builder.new_block(), l.function.builder.new_block());
                l.function.builder.branch(Cond::Eq, difference, 0, rest, done);
                l.function.builder.switch_to(rest);
                l.masked_difference(at, wanted, first..words, difference);
                l.function.builder.jump(done);
                l.function.builder.switch_to(done);
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
            let bits = self.function.builder.alu(Alu::Xor, have, want);
            let bits = self.function.builder.and(bits, mask);
            self.function.builder.alu_into(difference, Alu::Or, Width::W64, difference, bits);
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
            let low = self.function.builder.and(bytes, LOW);
            let carried = self.function.builder.add(low, LOW);
            let any = self.function.builder.alu(Alu::Or, carried, bytes);
            let top = self.function.builder.and(any, !LOW);
            let ones = self.function.builder.shr(top, 7);
            let mask = self.function.builder.mul(ones, 0xff);
            self.store(masks.at(word * 16), 8, bytes);
            self.store(masks.at(word * 16 + 8), 8, mask);
        }
        Ok(masks)
    }
}
