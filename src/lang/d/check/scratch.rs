//! Scratch memory: what `alloca` and `copyin` hand out, and what copies bytes into it.
//!
//! Each program has an array of bytes for it, of which a clause gets pieces in turn and gives all back at its end. Pointers
//! into it are addresses like others: reading through them needs nothing of its own, and what is written through a pointer
//! goes to the array by the pointer's distance from its begin, checked when it runs.

use std::sync::Arc;

use super::value::{Target, Value, block, cast, int};
use super::{Checker, statement};
use crate::lang::codes::d as tags;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, Intrinsic, LocalId, Statement, StatementKind};
use crate::lang::types::{AddressSpace, Type};

/// Before the first piece lies what no pointer may reach.
const BOTTOM: i64 = 8;

const BYTE: Type = Type::Int { size: 1, signed: false };

/// Faults by their numbers.
pub const INVALID_ADDRESS: i64 = 1;
pub const ILLEGAL: i64 = 3;
pub const NO_SCRATCH: i64 = 5;
pub const INVALID_SIZE: i64 = 10;

/// Scratch memory of a program.
#[derive(Clone, Copy, Debug)]
pub struct Scratch {
    /// An array of bytes.
    bytes: LocalId,
    len: u32,
    /// Where the next piece begins.
    top: LocalId,
}

fn binary(op: BinaryOp, a: Expr, b: Expr, ty: Type) -> Expr {
    let span = a.span;
    Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
}

fn byte_pointer(space: AddressSpace) -> Type {
    Type::Ptr { to: Arc::new(Type::Int { size: 1, signed: true }), space }
}

impl Checker<'_> {
    /// The program's scratch memory.
    fn scratch(&mut self) -> Scratch {
        self.uses_scratch = true;
        if let Some(known) = self.frame.scratch {
            return known;
        }
        let half = (self.options.scratchsize + BOTTOM as u32).next_power_of_two().max(64);
        let bytes = self.local("%scratch", Type::Array { of: Arc::new(BYTE), len: half * 2 });
        let top = self.local("%top", Type::U64);
        let scratch = Scratch { bytes, len: half * 2, top };
        self.frame.scratch = Some(scratch);
        scratch
    }

    /// Gives back what the last clause had.
    pub fn reset_scratch(&self, span: Span) -> Option<Statement> {
        let scratch = self.frame.scratch?;
        Some(statement(StatementKind::SetLocal(scratch.top, int(BOTTOM, Type::U64, span)), span))
    }

    fn begin_of(scratch: Scratch, span: Span) -> Expr {
        let bytes =
            Expr::new(ExprKind::Local(scratch.bytes), Type::Array { of: Arc::new(BYTE), len: scratch.len }, span);
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
    pub fn alloca(&mut self, size: Value, span: Span) -> Value {
        let most = self.options.scratchsize;
        if let Some(given) = size.e.as_int().filter(|n| *n > u64::from(most)) {
            let message = format!("alloca({given}) size larger than scratchsize {most}");
            self.error(tags::D_ALLOCA_SIZE, span, message);
            return Self::error_value(span);
        }
        let mut out = Vec::new();
        let at = self.piece(cast(self.word(size.e), &Type::U64), span, &mut out);
        let to = Arc::new(Type::Void);
        Value::new(block(out, cast(at, &Type::Ptr { to, space: AddressSpace::Kernel })))
    }

    /// A piece of scratch memory: its address.
    fn piece(&mut self, size: Expr, span: Span, out: &mut Vec<Statement>) -> Expr {
        let scratch = self.scratch();
        let limit = i64::from(self.options.scratchsize) + BOTTOM;
        let (statements, size) = self.kept(size);
        out.extend(statements);
        let top = || Self::top(scratch, span);
        let left = binary(BinaryOp::Sub, int(limit, Type::U64, span), top(), Type::U64);
        out.push(Self::fault_if(binary(BinaryOp::Gt, size.clone(), left, Type::Bool), NO_SCRATCH));
        let at = binary(BinaryOp::Add, Self::begin_of(scratch, span), top(), Type::U64);
        let (statements, at) = self.kept(at);
        out.extend(statements);
        let end = binary(BinaryOp::Add, top(), size, Type::U64);
        let rounded = binary(BinaryOp::Add, end, int(7, Type::U64, span), Type::U64);
        let rounded = binary(BinaryOp::BitAnd, rounded, int(!7, Type::U64, span), Type::U64);
        out.push(statement(StatementKind::SetLocal(scratch.top, rounded), span));
        at
    }

    /// How far an address is from the memory's begin, as what is checked to be in what was handed out.
    fn checked_offset(&mut self, address: Expr, size: Expr, code: i64, span: Span, out: &mut Vec<Statement>) -> Expr {
        let scratch = self.scratch();
        let offset = binary(BinaryOp::Sub, address, Self::begin_of(scratch, span), Type::U64);
        let (statements, offset) = self.kept(offset);
        out.extend(statements);
        let half = int(i64::from(self.options.scratchsize) + BOTTOM, Type::U64, span);
        let before = binary(BinaryOp::Lt, offset.clone(), int(BOTTOM, Type::U64, span), Type::Bool);
        let behind = binary(BinaryOp::Gt, offset.clone(), half, Type::Bool);
        let outside = Expr::new(ExprKind::Or(Box::new(before), Box::new(behind)), Type::Bool, span);
        out.push(Self::fault_if(outside, INVALID_ADDRESS));
        let end = binary(BinaryOp::Add, offset.clone(), size, Type::U64);
        out.push(Self::fault_if(binary(BinaryOp::Gt, end, Self::top(scratch, span), Type::Bool), code));
        offset
    }

    /// What a pointer points to, as what can be written.
    pub fn writable(&mut self, pointer: Expr, to: &Type, span: Span) -> Target {
        let scratch = self.scratch();
        let mut out = Vec::new();
        let address = cast(self.checked_pointer(pointer), &Type::U64);
        let size = int(i64::from(self.size_of(to).max(1)), Type::U64, span);
        let offset = self.checked_offset(address, size, INVALID_ADDRESS, span, &mut out);
        let offset = block(out, offset);
        let within = ExprKind::Within { local: scratch.bytes, offset: Box::new(offset) };
        Target::Part(Expr::new(within, to.clone(), span))
    }

    /// Whether what is read through a pointer of scratch memory was handed out: pointers elsewhere are left alone.
    pub fn fault_of_scratch(&mut self, address: &Expr, size: u32, span: Span) -> Option<Vec<Statement>> {
        if !self.uses_scratch || self.frame.fault.is_none() {
            return None;
        }
        let scratch = self.scratch();
        let mut out = Vec::new();
        let offset = binary(BinaryOp::Sub, cast(address.clone(), &Type::U64), Self::begin_of(scratch, span), Type::U64);
        let (statements, offset) = self.kept(offset);
        out.extend(statements);
        let within = int(i64::from(self.options.scratchsize) + BOTTOM + 64, Type::U64, span);
        let ours = binary(BinaryOp::Lt, offset.clone(), within, Type::Bool);
        let before = binary(BinaryOp::Lt, offset.clone(), int(BOTTOM, Type::U64, span), Type::Bool);
        let end = binary(BinaryOp::Add, offset, int(i64::from(size), Type::U64, span), Type::U64);
        let behind = binary(BinaryOp::Gt, end, Self::top(scratch, span), Type::Bool);
        let wrong = Expr::new(ExprKind::Or(Box::new(before), Box::new(behind)), Type::Bool, span);
        let wrong = Expr::new(ExprKind::And(Box::new(ours), Box::new(wrong)), Type::Bool, span);
        out.push(Self::fault_if(wrong, INVALID_ADDRESS));
        Some(out)
    }

    /// Copies bytes to an address in scratch memory.
    fn copy_to(&mut self, from: Expr, to: Expr, size: Expr, span: Span, out: &mut Vec<Statement>) {
        let scratch = self.scratch();
        let limit = int(i64::from(self.options.scratchsize), Type::U64, span);
        out.push(Self::fault_if(binary(BinaryOp::Gt, size.clone(), limit, Type::Bool), INVALID_SIZE));
        let (statements, to) = self.kept(to);
        out.extend(statements);
        self.note_address(&to, span, out);
        let offset = self.checked_offset(to, size.clone(), INVALID_SIZE, span, out);
        let place = ExprKind::Within { local: scratch.bytes, offset: Box::new(offset) };
        let place = Expr::new(place, BYTE, span);
        let (statements, from) = self.kept(from);
        out.extend(statements);
        self.note_address(&cast(from.clone(), &Type::U64), span, out);
        let copy = Expr::new(ExprKind::Call(Intrinsic::ReadInto, vec![place, from, size]), Type::I64, span);
        out.push(statement(StatementKind::Expr(copy), span));
    }

    /// Keeps an address aside, for what a fault tells.
    fn note_address(&self, address: &Expr, span: Span, out: &mut Vec<Statement>) {
        if let Some((_, local)) = self.frame.fault {
            out.push(statement(StatementKind::SetLocal(local, address.clone()), span));
        }
    }

    /// `copyin(address, size)`: the address of the copy.
    pub fn copyin(&mut self, mut arguments: Vec<Value>, span: Span) -> Value {
        let size = cast(self.word(arguments.remove(1).e), &Type::U64);
        let most = self.options.scratchsize;
        if let Some(given) = size.as_int().filter(|n| *n > u64::from(most)) {
            let message = format!("copyin( ) size {given} larger than scratchsize {most}");
            self.error(tags::D_ALLOCA_SIZE, span, message);
            return Self::error_value(span);
        }
        let mut out = Vec::new();
        let from = cast(self.word(arguments.remove(0).e), &byte_pointer(AddressSpace::User));
        let (statements, size) = self.kept(size);
        out.extend(statements);
        let at = self.piece(size.clone(), span, &mut out);
        self.copy_to(from, at.clone(), size, span, &mut out);
        let to = Arc::new(Type::Void);
        Value::new(block(out, cast(at, &Type::Ptr { to, space: AddressSpace::Kernel })))
    }

    /// `copyinto(address, size, to)` and `bcopy(from, to, size)`.
    pub fn copy_bytes(&mut self, from: Expr, to: Expr, size: Expr, span: Span) -> Value {
        let mut out = Vec::new();
        let (statements, size) = self.kept(cast(self.word(size), &Type::U64));
        out.extend(statements);
        self.copy_to(from, to, size, span, &mut out);
        Value::new(block(out, Expr::new(ExprKind::Int(0), Type::Void, span)))
    }

    /// `copyinto(address, size, to)`.
    pub fn copyinto(&mut self, mut arguments: Vec<Value>, span: Span) -> Value {
        let mut out = Vec::new();
        self.in_order(&mut arguments, &mut out);
        let Some(to) = self.address_in_scratch("copyinto", 3, arguments.remove(2)) else {
            return Self::error_value(span);
        };
        let size = arguments.remove(1).e;
        let from = cast(self.word(arguments.remove(0).e), &byte_pointer(AddressSpace::User));
        let copied = self.copy_bytes(from, to, size, span);
        Value::new(block(out, copied.e))
    }

    /// Numbers and addresses that are arguments, in the order in which they stand.
    fn in_order(&mut self, arguments: &mut [Value], out: &mut Vec<Statement>) {
        for argument in arguments.iter_mut().filter(|a| super::value::is_scalar(a.ty())) {
            let (statements, kept) = self.kept(argument.e.clone());
            out.extend(statements);
            *argument = Value { constant: argument.constant, ..Value::new(kept) };
        }
    }

    /// `bcopy(from, to, size)`.
    pub fn bcopy(&mut self, mut arguments: Vec<Value>, span: Span) -> Value {
        let mut out = Vec::new();
        self.in_order(&mut arguments, &mut out);
        let size = arguments.remove(2).e;
        let Some(to) = self.address_in_scratch("bcopy", 2, arguments.remove(1)) else {
            return Self::error_value(span);
        };
        let from = arguments.remove(0);
        let from = self.address_of_bytes(from, &mut out);
        let copied = self.copy_bytes(cast(from, &byte_pointer(AddressSpace::Kernel)), to, size, span);
        Value::new(block(out, copied.e))
    }

    /// The address of a pointer's, an array's or a text's bytes.
    pub fn address_of_bytes(&mut self, value: Value, out: &mut Vec<Statement>) -> Expr {
        let span = value.span();
        match value.ty().clone() {
            Type::Str { .. } => {
                let text = self.text(value.e);
                let ty = text.ty.clone();
                let local = self.local("%bytes", ty.clone());
                out.push(statement(StatementKind::SetLocal(local, text), span));
                let place = Expr::new(ExprKind::Local(local), ty, span);
                let address = ExprKind::AddressOf(Box::new(place));
                cast(Expr::new(address, byte_pointer(AddressSpace::Kernel), span), &Type::U64)
            }
            Type::Array { .. } => {
                let pointer = self.decay(value);
                cast(pointer, &Type::U64)
            }
            _ => cast(self.word(value.e), &Type::U64),
        }
    }

    /// An address that bytes can be copied to.
    fn address_in_scratch(&mut self, function: &str, number: usize, value: Value) -> Option<Expr> {
        if matches!(value.ty(), Type::Ptr { .. }) {
            return Some(cast(value.e, &Type::U64));
        }
        let text = self.type_text(value.ty());
        let message = format!(
            "{function}( ) argument #{number} is incompatible with prototype:\n\tprototype: alloca *\n\t argument: {text}"
        );
        self.error(tags::D_PROTO_ARG, value.span(), message);
        None
    }

    /// `copyout(from, address, size)` and `copyoutstr(text, address, size)`.
    pub fn copyout(&mut self, text: bool, mut arguments: Vec<Value>, span: Span) -> Option<Vec<Statement>> {
        let size = arguments.remove(2).e;
        let Some(bytes) = size.as_int() else {
            self.unsupported(span, "a copy to a process of a size that is not constant");
            return None;
        };
        let mut out = Vec::new();
        let to = cast(self.word(arguments.remove(1).e), &byte_pointer(AddressSpace::User));
        let mut from = arguments.remove(0);
        if text {
            from = Value::new(self.text(from.e));
        }
        let from = self.address_of_bytes(from, &mut out);
        let from = cast(from, &byte_pointer(AddressSpace::Kernel));
        let limit = if text { bytes.min(u64::from(self.options.strsize) + 1) } else { bytes };
        let size = int(limit as i64, Type::U64, span);
        let write = Expr::new(ExprKind::Call(Intrinsic::WriteUser, vec![to, from, size]), Type::I64, span);
        out.push(statement(StatementKind::Expr(write), span));
        Some(out)
    }
}
