//! Parameters of the kernel's functions and tracepoints: their types, and where a context has them.

use super::checker::Checker;
use super::code::builtin;
use crate::lang::facts::table::TypeTable;
use crate::lang::facts::{CParam, CTypeId};
use crate::lang::source::Span;
use crate::lang::typed::{Builtin, Expr};
use crate::lang::types::{AddressSpace, Type};

pub fn type_of(types: &mut TypeTable<'_>, ty: Option<CTypeId>) -> Type {
    match ty.map(|id| types.import(id, AddressSpace::Kernel)) {
        None | Some(Type::Void) => Type::U64,
        Some(ty) => ty,
    }
}

/// An argument in the words of a trampoline's or raw tracepoint's context.
pub fn slot(c: &mut Checker<'_>, parameters: &[CParam], name: &str, span: Span) -> Option<Expr> {
    let mut slot = 0;
    for parameter in parameters {
        let ty = type_of(&mut c.types, parameter.ty);
        if *parameter.name == *name {
            return Some(builtin(Builtin::CtxField(slot * 8), ty, span));
        }
        slot += c.size_of(&ty).max(1).div_ceil(8);
    }
    None
}
