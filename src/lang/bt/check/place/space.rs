//! Which memory places lie in and addresses point to: the kernel's, a process's, the context's.

use crate::lang::bt::ast;
use crate::lang::facts::table::TypeTable;
use crate::lang::typed::{Builtin, Expr, ExprKind};
use crate::lang::types::{AddressSpace, Type};

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::pointer;

/// `args`, or `args()`.
pub fn is_args(e: &ast::Expr) -> bool {
    match &e.kind {
        ast::ExprKind::Ident(name) => &**name == "args",
        ast::ExprKind::Call(name, args) => &*name.text == "args" && args.is_empty(),
        ast::ExprKind::Unary(ast::UnaryOp::Deref, inner) => is_args(inner),
        _ => false,
    }
}

/// The memory that a place lies in; none for values that are in no such memory.
pub fn space_of(e: &Expr) -> Option<AddressSpace> {
    match &e.kind {
        ExprKind::Deref(p) => match &p.ty {
            Type::Ptr { space, .. } => Some(*space),
            _ => None,
        },
        ExprKind::Field { base, .. } => space_of(base),
        ExprKind::Index { base, .. } => space_of_base(base),
        ExprKind::Builtin(Builtin::CtxField(_) | Builtin::DataLoc(_)) => Some(AddressSpace::Context),
        _ => None,
    }
}

pub fn space_of_base(base: &Expr) -> Option<AddressSpace> {
    match &base.ty {
        Type::Ptr { space, .. } => Some(*space),
        _ => space_of(base),
    }
}

/// True for expressions that name memory.
pub fn is_place(e: &Expr) -> bool {
    space_of(e).is_some()
}

/// Pointers read out of user memory point into user memory, and those out of either into either.
pub fn inherit_space(ty: Type, space: Option<AddressSpace>) -> Type {
    match (ty, space) {
        (Type::Ptr { to, .. }, Some(AddressSpace::User)) => Type::Ptr { to, space: AddressSpace::User },
        (Type::Ptr { to, space: AddressSpace::Kernel }, Some(AddressSpace::Either)) => {
            Type::Ptr { to, space: AddressSpace::Either }
        }
        (ty, _) => ty,
    }
}

/// The memory that an address of this type points to: one without a type is as all of this probe are.
pub fn of_address(c: &Checker<'_>, ty: &Type) -> AddressSpace {
    match ty {
        Type::Ptr { space, .. } => *space,
        _ => default_space(c),
    }
}

/// The memory that untyped addresses of this probe point to.
pub fn default_space(c: &Checker<'_>) -> AddressSpace {
    c.frame.kind.space_of_integers()
}

/// `struct X *` in kernel memory, or `void *` where the kernel's types are not known.
pub fn kernel_pointer(types: &mut TypeTable<'_>, name: &str, space: AddressSpace) -> Type {
    let to = types.of_kernel(name).unwrap_or(Type::Void);
    pointer(to, space)
}
