//! Scratch memory: what `alloca` and `copyin` hand out, and what copies bytes into it.
//!
//! Each program has an array of bytes for it, of which a clause gets pieces in turn and gives all back at its end. Pointers
//! into it are addresses like others: reading through them needs nothing of its own, and what is written through a pointer
//! goes to the array by the pointer's distance from its begin, checked when it runs.

use super::frame::{Frame, Scratch};
use std::sync::Arc;

use super::checker::Checker;
use super::value::{Target, Value, block, cast, decay, error_value, int, statement, word};
use crate::lang::codes::d as tags;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, Intrinsic, Statement, StatementKind};
use crate::lang::types::{AddressSpace, Type};

/// Before the first piece lies what no pointer may reach.
const BOTTOM: i64 = 8;

const BYTE: Type = Type::Int { size: 1, signed: false };

/// Faults by their numbers.
pub const INVALID_ADDRESS: i64 = 1;
pub const ILLEGAL: i64 = 3;
pub const NO_SCRATCH: i64 = 5;
pub const INVALID_SIZE: i64 = 10;

fn binary(op: BinaryOp, a: Expr, b: Expr, ty: Type) -> Expr {
    let span = a.span;
    Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
}

fn byte_pointer(space: AddressSpace) -> Type {
    Type::Ptr { to: Arc::new(Type::Int { size: 1, signed: true }), space }
}

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
    Some(statement(StatementKind::SetLocal(scratch.top, int(BOTTOM, Type::U64, span)), span))
}

fn begin_of(scratch: Scratch, span: Span) -> Expr {
    let bytes = Expr::new(ExprKind::Local(scratch.bytes), Type::Array { of: Arc::new(BYTE), len: scratch.len }, span);
    let address = Expr::new(ExprKind::AddressOf(Box::new(bytes)), byte_pointer(AddressSpace::Kernel), span);
    cast(address, &Type::U64)
}

fn top(scratch: Scratch, span: Span) -> Expr {
    Expr::new(ExprKind::Local(scratch.top), Type::U64, span)
}

/// Leaves the clause by a fault where the condition holds.
pub fn fault_if(condition: Expr, code: i64) -> Statement {
    let span = condition.span;
    let fault = Block::new(vec![statement(StatementKind::Fault(code), span)]);
    statement(StatementKind::If(condition, fault, Block::default()), span)
}

/// `alloca(size)`: its address.
pub fn alloca(c: &mut Checker<'_>, size: Value, span: Span) -> Value {
    let most = c.options.scratchsize;
    if let Some(given) = size.e.as_int().filter(|n| *n > u64::from(most)) {
        let message = format!("alloca({given}) size larger than scratchsize {most}");
        c.error(tags::D_ALLOCA_SIZE, span, message);
        return error_value(span);
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
    let (statements, size) = c.kept(size);
    out.extend(statements);
    let top = || top(scratch, span);
    let left = binary(BinaryOp::Sub, int(limit, Type::U64, span), top(), Type::U64);
    out.push(fault_if(binary(BinaryOp::Gt, size.clone(), left, Type::Bool), NO_SCRATCH));
    let at = binary(BinaryOp::Add, begin_of(scratch, span), top(), Type::U64);
    let (statements, at) = c.kept(at);
    out.extend(statements);
    let end = binary(BinaryOp::Add, top(), size, Type::U64);
    let rounded = binary(BinaryOp::Add, end, int(7, Type::U64, span), Type::U64);
    let rounded = binary(BinaryOp::BitAnd, rounded, int(!7, Type::U64, span), Type::U64);
    out.push(statement(StatementKind::SetLocal(scratch.top, rounded), span));
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
    let offset = binary(BinaryOp::Sub, address, begin_of(scratch, span), Type::U64);
    let (statements, offset) = c.kept(offset);
    out.extend(statements);
    let half = int(i64::from(c.options.scratchsize) + BOTTOM, Type::U64, span);
    let before = binary(BinaryOp::Lt, offset.clone(), int(BOTTOM, Type::U64, span), Type::Bool);
    let behind = binary(BinaryOp::Gt, offset.clone(), half, Type::Bool);
    let outside = Expr::new(ExprKind::Or(Box::new(before), Box::new(behind)), Type::Bool, span);
    out.push(fault_if(outside, INVALID_ADDRESS));
    let end = binary(BinaryOp::Add, offset.clone(), size, Type::U64);
    out.push(fault_if(binary(BinaryOp::Gt, end, top(scratch, span), Type::Bool), code));
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
    let within = ExprKind::Within { local: scratch.bytes, offset: Box::new(offset) };
    Target::Part(Expr::new(within, to.clone(), span))
}

/// Whether what is read through a pointer of scratch memory was handed out: pointers elsewhere are left alone.
pub fn fault_of_scratch(c: &mut Checker<'_>, address: &Expr, size: u32, span: Span) -> Option<Vec<Statement>> {
    if !c.uses_scratch || c.frame.fault.is_none() {
        return None;
    }
    let scratch = scratch(c);
    let mut out = Vec::new();
    let offset = binary(BinaryOp::Sub, cast(address.clone(), &Type::U64), begin_of(scratch, span), Type::U64);
    let (statements, offset) = c.kept(offset);
    out.extend(statements);
    let within = int(i64::from(c.options.scratchsize) + BOTTOM + 64, Type::U64, span);
    let ours = binary(BinaryOp::Lt, offset.clone(), within, Type::Bool);
    let before = binary(BinaryOp::Lt, offset.clone(), int(BOTTOM, Type::U64, span), Type::Bool);
    let end = binary(BinaryOp::Add, offset, int(i64::from(size), Type::U64, span), Type::U64);
    let behind = binary(BinaryOp::Gt, end, top(scratch, span), Type::Bool);
    let wrong = Expr::new(ExprKind::Or(Box::new(before), Box::new(behind)), Type::Bool, span);
    let wrong = Expr::new(ExprKind::And(Box::new(ours), Box::new(wrong)), Type::Bool, span);
    out.push(fault_if(wrong, INVALID_ADDRESS));
    Some(out)
}

/// Copies bytes to an address in scratch memory.
fn copy_to(c: &mut Checker<'_>, from: Expr, to: Expr, size: Expr, span: Span, out: &mut Vec<Statement>) {
    let scratch = scratch(c);
    let limit = int(i64::from(c.options.scratchsize), Type::U64, span);
    out.push(fault_if(binary(BinaryOp::Gt, size.clone(), limit, Type::Bool), INVALID_SIZE));
    let (statements, to) = c.kept(to);
    out.extend(statements);
    note_address(&c.frame, &to, span, out);
    let offset = checked_offset(c, to, size.clone(), INVALID_SIZE, span, out);
    let place = ExprKind::Within { local: scratch.bytes, offset: Box::new(offset) };
    let place = Expr::new(place, BYTE, span);
    let (statements, from) = c.kept(from);
    out.extend(statements);
    note_address(&c.frame, &cast(from.clone(), &Type::U64), span, out);
    let copy = Expr::new(ExprKind::Call(Intrinsic::ReadInto, vec![place, from, size]), Type::I64, span);
    out.push(statement(StatementKind::Expr(copy), span));
}

/// Keeps an address aside, for what a fault tells.
fn note_address(frame: &Frame, address: &Expr, span: Span, out: &mut Vec<Statement>) {
    if let Some((_, local)) = frame.fault {
        out.push(statement(StatementKind::SetLocal(local, address.clone()), span));
    }
}

/// `copyin(address, size)`: the address of the copy.
pub fn copyin(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let size = cast(word(arguments.remove(1).e), &Type::U64);
    let most = c.options.scratchsize;
    if let Some(given) = size.as_int().filter(|n| *n > u64::from(most)) {
        let message = format!("copyin( ) size {given} larger than scratchsize {most}");
        c.error(tags::D_ALLOCA_SIZE, span, message);
        return error_value(span);
    }
    let mut out = Vec::new();
    let from = cast(word(arguments.remove(0).e), &byte_pointer(AddressSpace::User));
    let (statements, size) = c.kept(size);
    out.extend(statements);
    let at = piece(c, size.clone(), span, &mut out);
    copy_to(c, from, at.clone(), size, span, &mut out);
    let to = Arc::new(Type::Void);
    Value::new(block(out, cast(at, &Type::Ptr { to, space: AddressSpace::Kernel })))
}

/// `copyinto(address, size, to)` and `bcopy(from, to, size)`.
fn copy_bytes(c: &mut Checker<'_>, from: Expr, to: Expr, size: Expr, span: Span) -> Value {
    let mut out = Vec::new();
    let (statements, size) = c.kept(cast(word(size), &Type::U64));
    out.extend(statements);
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
    let from = cast(word(arguments.remove(0).e), &byte_pointer(AddressSpace::User));
    let copied = copy_bytes(c, from, to, size, span);
    Value::new(block(out, copied.e))
}

/// Numbers and addresses that are arguments, in the order in which they stand.
fn in_order(c: &mut Checker<'_>, arguments: &mut [Value], out: &mut Vec<Statement>) {
    for argument in arguments.iter_mut().filter(|a| super::value::is_scalar(a.ty())) {
        let (statements, kept) = c.kept(argument.e.clone());
        out.extend(statements);
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
    let copied = copy_bytes(c, cast(from, &byte_pointer(AddressSpace::Kernel)), to, size, span);
    Value::new(block(out, copied.e))
}

/// The address of a pointer's, an array's or a text's bytes.
pub fn address_of_bytes(c: &mut Checker<'_>, value: Value, out: &mut Vec<Statement>) -> Expr {
    let span = value.span();
    match value.ty().clone() {
        Type::Str { .. } => {
            let text = c.text(value.e);
            let ty = text.ty.clone();
            let local = c.local("%bytes", ty.clone());
            out.push(statement(StatementKind::SetLocal(local, text), span));
            let place = Expr::new(ExprKind::Local(local), ty, span);
            let address = ExprKind::AddressOf(Box::new(place));
            cast(Expr::new(address, byte_pointer(AddressSpace::Kernel), span), &Type::U64)
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
    let text = c.type_text(value.ty());
    let message = format!(
        "{function}( ) argument #{number} is incompatible with prototype:\n\tprototype: alloca *\n\t argument: {text}"
    );
    c.error(tags::D_PROTO_ARG, value.span(), message);
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
    let to = cast(word(arguments.remove(1).e), &byte_pointer(AddressSpace::User));
    let mut from = arguments.remove(0);
    if text {
        from = Value::new(c.text(from.e));
    }
    let from = address_of_bytes(c, from, &mut out);
    let from = cast(from, &byte_pointer(AddressSpace::Kernel));
    let limit = if text { bytes.min(u64::from(c.options.strsize) + 1) } else { bytes };
    let size = int(limit as i64, Type::U64, span);
    let write = Expr::new(ExprKind::Call(Intrinsic::WriteUser, vec![to, from, size]), Type::I64, span);
    out.push(statement(StatementKind::Expr(write), span));
    Some(out)
}
