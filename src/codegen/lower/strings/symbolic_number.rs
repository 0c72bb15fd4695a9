//! Words: numbers that stand for a text which is known when the script is compiled. Where a script
//! works on the text, it is taken from a table of constants.

use crate::codegen::builder::{flow, purpose};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Cond, Operand};
use crate::kernel::syscalls;
use crate::kernel::syscalls::Machine;
use crate::lang::typed::Expr;
use crate::lang::types::Type;
use crate::model::words;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::CONSTANTS;
use crate::codegen::lower::numbers;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::value::canonical;
use crate::codegen::lower::value::canonical::Tail;

/// Error numbers end at 133, signals at 64, system calls below 500.
const NUMBERS: u64 = 512;

/// The text of a number that is in no table.
const UNKNOWN: u64 = i32::MAX as u64;

/// Writes the text of a value of a type of words.
pub fn store_text<'a>(
    l: &mut Lowerer<'_, 'a>,
    word: &'a Expr,
    dst: Addr,
    ty: &Type,
    tail: Tail,
) -> Result<(), CodegenError> {
    let size = l.object.size(ty);
    let value = match l.scalar(word)? {
        Operand::Imm(number) => {
            let text = text_of(l.object, &word.ty, number as u64);
            canonical::write_string(&mut l.function.builder, dst, &text, size, tail);
            return Ok(());
        }
        Operand::Reg(value) => value,
    };
    let (first, table) = words_of(l, &word.ty);
    let stride = table.iter().map(|text| text.len() as u32 + 1).max().unwrap_or(1).next_multiple_of(8);
    let stride = stride.min(size.max(1));
    let mut bytes = Vec::with_capacity(table.len() * stride as usize);
    for text in &table {
        let mut entry = text.as_bytes().to_vec();
        entry.truncate(stride as usize - 1);
        entry.resize(stride as usize, 0);
        bytes.extend_from_slice(&entry);
    }
    let last = table.len() as i64 - 1;
    let entries = table.len().next_power_of_two();
    bytes.resize(entries * stride as usize, 0);
    let b = &mut l.function.builder;
    let index = b.sub(value, first as i64);
    let index = if word.ty == Type::Strerror { b.extend(index, 32, true) } else { purpose::copy_to_bound(b, index) };
    if word.ty == Type::Strerror {
        // The kernel's functions give errors as negative numbers.
        flow::when(&mut l.function.builder, Cond::SLt, index, 0, |b| {
            let positive = b.neg(index);
            b.copy_into(index, positive);
        });
    }
    // Also what lies below the first, as a large unsigned number.
    numbers::at_most(&mut l.function.builder, index, last);
    // No change; a verifier that keeps no bounds of spilled numbers sees them here.
    let index = l.function.builder.and(index, entries as i64 - 1);
    let at = l.object.constant(&bytes);
    let section = l.object.section(CONSTANTS);
    let b = &mut l.function.builder;
    let start = b.address(section.at(at));
    let offset = b.mul(index, i64::from(stride));
    let entry = b.add(start, offset);
    memory::copy(b, dst, Addr::new(Base::Reg(entry), 0), stride);
    if size > stride && tail == Tail::Zeroed {
        memory::zero(b, dst.at(stride), size - stride);
    }
    Ok(())
}

/// The first number of a table and its texts, that of unknown numbers last.
fn words_of(l: &Lowerer<'_, '_>, ty: &Type) -> (u64, Vec<String>) {
    let (first, end) = match ty {
        Type::ProbeName | Type::FuncName => {
            let functions = *ty == Type::FuncName;
            let number = |n: &u32| if functions { l.object.function_id(*n) } else { *n };
            let names: Vec<u32> = l.probe.names.iter().map(number).collect();
            let first = names.iter().min().copied().unwrap_or(0);
            (u64::from(first), names.iter().max().map_or(0, |last| u64::from(*last) + 1))
        }
        _ => (0, NUMBERS),
    };
    let mut table: Vec<String> = (first..end).map(|number| text_of(l.object, ty, number)).collect();
    let unknown = text_of(l.object, ty, UNKNOWN);
    while table.last() == Some(&unknown) {
        table.pop();
    }
    table.push(unknown);
    (first, table)
}

fn text_of(object: &ObjectBuilder<'_>, ty: &Type, number: u64) -> String {
    let name = || {
        let index = usize::try_from(number).ok();
        index.and_then(|i| object.program.probe_names.get(i)).map_or("", |name| &**name)
    };
    match ty {
        Type::Strerror => words::kernel_error_text(number).to_string(),
        Type::SignalName => words::signal_name(number).unwrap_or("N/A").to_owned(),
        Type::SyscallName => syscalls::name(Machine::HOST, number).unwrap_or("Unknown syscall").to_owned(),
        Type::FuncName => crate::lang::typed::function_of(name()).to_owned(),
        _ => name().to_owned(),
    }
}
