//! `cmdline()`: words that each end with a NUL become text with spaces between them.

use crate::codegen::builder::flow;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, WORDS_BYTES as BYTES};
use crate::lang::types::{AddressSpace, Type};

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::numbers;
use crate::codegen::lower::place::{Place, read};
use crate::codegen::lower::value::canonical::Tail;

/// In each byte the bits below its highest one.
const LOW_BITS: i64 = 0x7f7f_7f7f_7f7f_7f7f;

/// Reads as much as has room, the last byte of which becomes the end of the text.
pub fn store<'a>(
    l: &mut Lowerer<'_, 'a>,
    address: &'a Expr,
    length: &'a Expr,
    dst: Addr,
    ty: &Type,
    tail: Tail,
    span: Span,
) -> Result<(), CodegenError> {
    let base = l.scalar(address)?;
    let length = l.scalar(length)?;
    let b = &mut l.function.builder;
    let length = numbers::copy_at_most(b, length, i64::from(BYTES));
    let text = l.temp_scratch(BYTES + 8);
    memory::zero(&mut l.function.builder, text, BYTES + 8);
    read::sized(l, Place::Remote { base, offset: 0, space: AddressSpace::User }, text, length.into(), span)?;
    let b = &mut l.function.builder;
    // What could not be read is zeros.
    let first = memory::load(b, text, 1, false);
    flow::when(b, Cond::Eq, first, 0, |b| b.copy_into(length, 0));
    for at in (0..BYTES).step_by(8) {
        let word = memory::load(b, text.at(at), 8, false);
        // The highest bit of each byte that is zero, which becomes a space by two shifts to the right.
        let low = b.and(word, LOW_BITS);
        let carried = b.add(low, LOW_BITS);
        let other = b.alu(Alu::Or, carried, word);
        let filled = b.alu(Alu::Or, other, LOW_BITS);
        let zero = b.alu(Alu::Xor, filled, -1);
        let spaces = b.shr(zero, 2);
        let spaced = b.alu(Alu::Or, word, spaces);
        memory::store(b, text.at(at), 8, spaced);
    }
    // The last word ends the text: nothing follows the space that its NUL has become.
    flow::when(b, Cond::Ne, length, 0, |b| {
        let last = b.sub(length, 1);
        b.copy_into(length, last);
    });
    numbers::at_most(b, length, i64::from(BYTES) - 1);
    let start = memory::pointer(b, text);
    let end = b.add(start, length);
    memory::store(b, Addr::new(Base::Reg(end), 0), 1, 0);
    let limit = i64::from(BYTES.min(l.object.size(ty)));
    read::string(l, Place::Memory(text), dst, l.object.size(ty), limit.into(), tail, false, span)?;
    Ok(())
}
