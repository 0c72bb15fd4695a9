//! `typeinfo`: a type as a record of its number and names, which are known before the script runs.

use crate::lang::bt::ast;
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::string;
use crate::lang::bt::check::text::aggregation_text;

impl Checker<'_> {
    /// `(btf_id = 0, base_type = "int", full_type = "uint64")` of a type or of an expression's type.
    pub fn type_info(&mut self, what: &ast::TypeOrExpr, span: Span) -> Expr {
        self.refuse_unstable("typeinfo", span);
        let ty = match what {
            ast::TypeOrExpr::Type(name) => self.type_name(name),
            ast::TypeOrExpr::Expr(e) => self.smallest_type(e),
        };
        if matches!(ty, Type::Error) {
            return Self::error_value(span);
        }
        let id = Expr::new(ExprKind::Int(0), Type::U64, span);
        let (base, full) = (string(&base_text(&ty).into(), span), string(&self.full_text(&ty).into(), span));
        let fields = [("btf_id", &id), ("base_type", &base), ("full_type", &full)];
        let ty = Type::Record(fields.iter().map(|(name, e)| ((*name).into(), e.ty.clone())).collect());
        Expr::new(ExprKind::Tuple(vec![id, base, full]), ty, span)
    }

    /// The type as bpftrace writes it.
    fn full_text(&self, ty: &Type) -> String {
        match ty {
            Type::Tuple(items) => {
                format!("({})", items.iter().map(|t| self.full_text(t)).collect::<Vec<_>>().join(","))
            }
            Type::Record(items) => {
                let items: Vec<_> = items.iter().map(|(n, t)| format!(".{n} = {}", self.full_text(t))).collect();
                format!("record {{ {} }}", items.join(", "))
            }
            Type::Ptr { to, .. } => format!("{} *", self.full_text(to)),
            Type::Array { of, len } => format!("{}[{len}]", self.full_text(of)),
            Type::Agg(agg) => format!("{}_t", aggregation_text(*agg)),
            Type::KStack { .. } | Type::UStack { .. } | Type::KSym | Type::USym | Type::Username | Type::Timestamp => {
                format!("{}_t", self.type_text(ty))
            }
            other => self.type_text(other),
        }
    }
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
