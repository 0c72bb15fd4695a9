//! `typeinfo`: a type as a record of its number and names, which are known before the script runs.

use crate::lang::bt::ast;
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::string;
use crate::lang::bt::check::type_text::aggregation_text;
use crate::lang::bt::check::{setting, type_text, typename};

/// `(btf_id = 0, base_type = "int", full_type = "uint64")` of a type or of an expression's type.
pub fn type_info(c: &mut Checker<'_>, what: &ast::TypeOrExpr, span: Span) -> Expr {
    setting::refuse_unstable(c, "typeinfo", span);
    let ty = match what {
        ast::TypeOrExpr::Type(name) => typename::type_name(c, name),
        ast::TypeOrExpr::Expr(e) => typename::smallest_type(c, e),
    };
    if matches!(ty, Type::Error) {
        return Checker::error_value(span);
    }
    let id = Expr::new(ExprKind::Int(0), Type::U64, span);
    let (base, full) = (string(&base_text(&ty).into(), span), string(&type_text::full(&c.types, &ty).into(), span));
    let fields = [("btf_id", &id), ("base_type", &base), ("full_type", &full)];
    let ty = Type::Record(fields.iter().map(|(name, e)| ((*name).into(), e.ty.clone())).collect());
    Expr::new(ExprKind::Tuple(vec![id, base, full]), ty, span)
}

fn base_text(ty: &Type) -> String {
    match ty {
        Type::Void | Type::Error => "none".into(),
        Type::Bool => "bool".into(),
        Type::Int { .. } | Type::Enum { .. } => "int".into(),
        Type::Str { .. } => "string".into(),
        Type::Buf { .. } => "buffer".into(),
        Type::Ptr { .. } => "pointer".into(),
        Type::Array { .. } => "array".into(),
        Type::Struct(_) => "c_type".into(),
        Type::Tuple(_) => "tuple".into(),
        Type::Record(_) => "record".into(),
        Type::Agg(agg) => format!("{}_t", aggregation_text(*agg)),
        Type::KStack { .. } => "kstack_t".into(),
        Type::UStack { .. } => "ustack_t".into(),
        Type::KSym => "ksym_t".into(),
        Type::USym => "usym_t".into(),
        Type::Inet => "inet".into(),
        Type::Mac => "macaddr_t".into(),
        Type::Username => "username_t".into(),
        Type::Timestamp => "timestamp".into(),
        Type::CgroupPath => "cgroup_path_t".into(),
        Type::Strerror => "strerror_t".into(),
        Type::SignalName | Type::SyscallName | Type::ProbeName | Type::FuncName => "string".into(),
    }
}
