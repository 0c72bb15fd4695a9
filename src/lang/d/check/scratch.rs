//! Scratch memory: what `alloca` and `copyin` hand out, and what copies bytes into it.
//!
//! Each program has an array of bytes for it, of which a clause gets pieces in turn and gives all back at its end. Pointers
//! into it are addresses like others: reading through them needs nothing of its own, and what is written through a pointer
//! goes to the array by the pointer's distance from its begin, checked when it runs.

use std::sync::Arc;

use super::checker::Checker;
use super::code::{
    BYTE, CHAR, add, address_of, and, binary, block, byte_pointer, call, cast, copy_into, effect, int, less, or, plus,
    pointer, read_as, set, statement, sub, within,
};
use super::frame::{Frame, Scratch};
use super::prototypes;
use super::value::{Target, Value, address_of_chars, decay, error_value, word};
use crate::lang::codes::d as tags;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, Intrinsic, Statement, StatementKind};
use crate::lang::types::{AddressSpace, Type};

/// Before the first piece lies what no pointer may reach.
const BOTTOM: i64 = 8;

/// Faults by their numbers.
pub const INVALID_ADDRESS: i64 = 1;
pub const ILLEGAL: i64 = 3;
pub const NO_SCRATCH: i64 = 5;
pub const INVALID_SIZE: i64 = 10;

/// The program's scratch memory.
fn scratch(c: &mut Checker<'_>) -> Scratch {
    c.uses_scratch = true;
    if let Some(known) = c.frame.scratch {
        return known;
    }
    let half = (c.options.scratchsize + BOTTOM as u32).next_power_of_two().max(64);
    let bytes = c.local("%scratch", Type::Array { of: Arc::new(BYTE), len: half * 2 });
    let top = c.local("%top", Type::U64);
    let scratch = Scratch { bytes, len: half * 2, top };
    c.frame.scratch = Some(scratch);
    scratch
}

/// Gives back what the last clause had.
pub fn reset_scratch(frame: &Frame, span: Span) -> Option<Statement> {
    let scratch = frame.scratch?;
    Some(set(scratch.top, int(BOTTOM, Type::U64, span)))
}

fn begin_of(scratch: Scratch, span: Span) -> Expr {
    let bytes = read_as(scratch.bytes, Type::Array { of: Arc::new(BYTE), len: scratch.len }, span);
    cast(address_of(bytes), &Type::U64)
}

fn top(scratch: Scratch, span: Span) -> Expr {
    read_as(scratch.top, Type::U64, span)
}

/// Leaves the clause by a fault where the condition holds.
pub fn fault_if(condition: Expr, code: i64, span: Span) -> Statement {
    let fault = Block::new(vec![statement(StatementKind::Fault(code), span)]);
    statement(StatementKind::If(condition, fault, Block::default()), span)
}

/// `alloca(size)`: its address.
pub fn alloca(c: &mut Checker<'_>, size: Value, span: Span) -> Value {
    let most = c.options.scratchsize;
    if let Some(given) = size.e.as_int().filter(|n| *n > u64::from(most)) {
        let message = format!("alloca({given}) size larger than scratchsize {most}");
        return c.wrong(tags::D_ALLOCA_SIZE, span, message);
    }
    let mut out = Vec::new();
    let at = piece(c, cast(word(size.e), &Type::U64), span, &mut out);
    let to = Arc::new(Type::Void);
    Value::new(block(out, cast(at, &Type::Ptr { to, space: AddressSpace::Kernel })))
}

/// A piece of scratch memory: its address.
fn piece(c: &mut Checker<'_>, size: Expr, span: Span, out: &mut Vec<Statement>) -> Expr {
    let scratch = scratch(c);
    let limit = i64::from(c.options.scratchsize) + BOTTOM;
    let size = c.kept(size, out);
    let top = || top(scratch, span);
    let left = sub(int(limit, Type::U64, span), top());
    let place = size.span;
    out.push(fault_if(binary(BinaryOp::Gt, size.clone(), left), NO_SCRATCH, place));
    let at = add(begin_of(scratch, span), top());
    let at = c.kept(at, out);
    let end = add(top(), size);
    let rounded = plus(end, 7);
    let rounded = binary(BinaryOp::BitAnd, rounded, int(!7, Type::U64, span));
    out.push(set(scratch.top, rounded));
    at
}

/// How far an address is from the memory's begin, as what is checked to be in what was handed out.
fn checked_offset(
    c: &mut Checker<'_>,
    address: Expr,
    size: Expr,
    code: i64,
    span: Span,
    out: &mut Vec<Statement>,
) -> Expr {
    let scratch = scratch(c);
    let offset = sub(address, begin_of(scratch, span));
    let offset = c.kept(offset, out);
    let half = int(i64::from(c.options.scratchsize) + BOTTOM, Type::U64, span);
    let before = less(offset.clone(), int(BOTTOM, Type::U64, span));
    let behind = binary(BinaryOp::Gt, offset.clone(), half);
    out.push(fault_if(Expr { span, ..or(before, behind) }, INVALID_ADDRESS, span));
    let end = add(offset.clone(), size);
    out.push(fault_if(binary(BinaryOp::Gt, end, top(scratch, span)), code, offset.span));
    offset
}

/// What a pointer points to, as what can be written.
pub fn writable(c: &mut Checker<'_>, pointer: Expr, to: &Type, span: Span) -> Target {
    let scratch = scratch(c);
    let mut out = Vec::new();
    let address = cast(c.checked_pointer(pointer), &Type::U64);
    let size = int(i64::from(c.size_of(to).max(1)), Type::U64, span);
    let offset = checked_offset(c, address, size, INVALID_ADDRESS, span, &mut out);
    let offset = block(out, offset);
    Target::Part(within(scratch.bytes, offset, to.clone()))
}

/// Whether what is read through a pointer of scratch memory was handed out: pointers elsewhere are left alone.
pub fn fault_of_scratch(c: &mut Checker<'_>, address: &Expr, size: u32, span: Span) -> Option<Vec<Statement>> {
    if !c.uses_scratch || c.frame.fault.is_none() {
        return None;
    }
    let scratch = scratch(c);
    let mut out = Vec::new();
    let offset = sub(cast(address.clone(), &Type::U64), begin_of(scratch, span));
    let offset = c.kept(offset, &mut out);
    let end_of_ours = int(i64::from(c.options.scratchsize) + BOTTOM + 64, Type::U64, span);
    let ours = less(offset.clone(), end_of_ours);
    let before = less(offset.clone(), int(BOTTOM, Type::U64, span));
    let end = plus(offset, i64::from(size));
    let behind = binary(BinaryOp::Gt, end, top(scratch, span));
    let wrong = and(ours, Expr { span, ..or(before, behind) });
    out.push(fault_if(Expr { span, ..wrong }, INVALID_ADDRESS, span));
    Some(out)
}

/// Copies bytes to an address in scratch memory.
fn copy_to(c: &mut Checker<'_>, from: Expr, to: Expr, size: Expr, span: Span, out: &mut Vec<Statement>) {
    let scratch = scratch(c);
    let limit = int(i64::from(c.options.scratchsize), Type::U64, span);
    let place = size.span;
    out.push(fault_if(binary(BinaryOp::Gt, size.clone(), limit), INVALID_SIZE, place));
    let to = c.kept(to, out);
    note_address(&c.frame, &to, span, out);
    let offset = checked_offset(c, to, size.clone(), INVALID_SIZE, span, out);
    let from = c.kept(from, out);
    note_address(&c.frame, &cast(from.clone(), &Type::U64), span, out);
    out.push(copy_into(scratch.bytes, offset, from, size, span));
}

/// Keeps an address aside, for what a fault tells.
fn note_address(frame: &Frame, address: &Expr, span: Span, out: &mut Vec<Statement>) {
    if let Some((_, local)) = frame.fault {
        out.push(Statement { span, ..set(local, address.clone()) });
    }
}

/// `copyin(address, size)`: the address of the copy.
pub fn copyin(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let size = cast(word(arguments.remove(1).e), &Type::U64);
    let most = c.options.scratchsize;
    if let Some(given) = size.as_int().filter(|n| *n > u64::from(most)) {
        let message = format!("copyin( ) size {given} larger than scratchsize {most}");
        return c.wrong(tags::D_ALLOCA_SIZE, span, message);
    }
    let mut out = Vec::new();
    let from = cast(word(arguments.remove(0).e), &pointer(CHAR, AddressSpace::User));
    let size = c.kept(size, &mut out);
    let at = piece(c, size.clone(), span, &mut out);
    copy_to(c, from, at.clone(), size, span, &mut out);
    let to = Arc::new(Type::Void);
    Value::new(block(out, cast(at, &Type::Ptr { to, space: AddressSpace::Kernel })))
}

/// `copyinto(address, size, to)` and `bcopy(from, to, size)`.
fn copy_bytes(c: &mut Checker<'_>, from: Expr, to: Expr, size: Expr, span: Span) -> Value {
    let mut out = Vec::new();
    let size = c.kept(cast(word(size), &Type::U64), &mut out);
    copy_to(c, from, to, size, span, &mut out);
    Value::new(block(out, Expr::new(ExprKind::Int(0), Type::Void, span)))
}

/// `copyinto(address, size, to)`.
pub fn copyinto(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let mut out = Vec::new();
    in_order(c, &mut arguments, &mut out);
    let Some(to) = address_in_scratch(c, "copyinto", 3, arguments.remove(2)) else {
        return error_value(span);
    };
    let size = arguments.remove(1).e;
    let from = cast(word(arguments.remove(0).e), &pointer(CHAR, AddressSpace::User));
    let copied = copy_bytes(c, from, to, size, span);
    Value::new(block(out, copied.e))
}

/// Numbers and addresses that are arguments, in the order in which they stand.
fn in_order(c: &mut Checker<'_>, arguments: &mut [Value], out: &mut Vec<Statement>) {
    for argument in arguments.iter_mut().filter(|a| super::value::is_scalar(a.ty())) {
        let kept = c.kept(argument.e.clone(), out);
        *argument = Value { constant: argument.constant, ..Value::new(kept) };
    }
}

/// `bcopy(from, to, size)`.
pub fn bcopy(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let mut out = Vec::new();
    in_order(c, &mut arguments, &mut out);
    let size = arguments.remove(2).e;
    let Some(to) = address_in_scratch(c, "bcopy", 2, arguments.remove(1)) else {
        return error_value(span);
    };
    let from = arguments.remove(0);
    let from = address_of_bytes(c, from, &mut out);
    let copied = copy_bytes(c, cast(from, &byte_pointer()), to, size, span);
    Value::new(block(out, copied.e))
}

/// The address of a pointer's, an array's or a text's bytes.
pub fn address_of_bytes(c: &mut Checker<'_>, value: Value, out: &mut Vec<Statement>) -> Expr {
    let span = value.span();
    if let Some(address) = address_of_chars(&value) {
        return cast(address, &Type::U64);
    }
    match value.ty().clone() {
        Type::Str { .. } => {
            let text = c.text(value.e);
            let ty = text.ty.clone();
            let local = c.local("%bytes", ty.clone());
            out.push(set(local, text));
            cast(address_of(read_as(local, ty, span)), &Type::U64)
        }
        Type::Array { .. } => {
            let pointer = decay(value);
            cast(pointer, &Type::U64)
        }
        _ => cast(word(value.e), &Type::U64),
    }
}

/// An address that bytes can be copied to.
fn address_in_scratch(c: &mut Checker<'_>, function: &str, number: usize, value: Value) -> Option<Expr> {
    if matches!(value.ty(), Type::Ptr { .. }) {
        return Some(cast(value.e, &Type::U64));
    }
    prototypes::mismatch(c, &format!("{function}( )"), number, "alloca *", &value, value.span());
    None
}

/// `copyout(from, address, size)` and `copyoutstr(text, address, size)`.
pub fn copyout(c: &mut Checker<'_>, text: bool, mut arguments: Vec<Value>, span: Span) -> Option<Vec<Statement>> {
    let size = arguments.remove(2).e;
    let Some(bytes) = size.as_int() else {
        c.unsupported(span, "a copy to a process of a size that is not constant");
        return None;
    };
    let mut out = Vec::new();
    let to = cast(word(arguments.remove(1).e), &pointer(CHAR, AddressSpace::User));
    let mut from = arguments.remove(0);
    if text {
        from = Value::new(c.text(from.e));
    }
    let from = address_of_bytes(c, from, &mut out);
    let from = cast(from, &byte_pointer());
    let limit = if text { bytes.min(u64::from(c.options.strsize) + 1) } else { bytes };
    let size = int(limit as i64, Type::U64, span);
    let write = call(Intrinsic::WriteUser, vec![to, from, size], Type::I64, span);
    out.push(effect(write));
    Some(out)
}
