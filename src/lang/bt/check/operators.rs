//! Operators: both sides are brought to one type, which decides width and sign.

mod fold;

use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::{CONSTANT_CONDITION, NOT_ASSIGNABLE, OPERAND_TYPE};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, ExprKind, Statement, StatementKind, UnaryOp, function_of};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::join;
use crate::lang::bt::check::literal::{boolean, constant, convert_scalar, settled};
use crate::lang::bt::check::operators::fold::{
    arithmetic, common_sign, comparable, compare_words, comparison, complement, flip, fold_texts, fold_wide,
    is_literal, symbol, wide_constant,
};

pub use crate::lang::bt::check::operators::fold::fold;
pub use crate::lang::bt::check::operators::fold::not;

impl Checker<'_> {
    pub fn binary(&mut self, op: ast::BinaryOp, a: &ast::Expr, b: &ast::Expr, span: Span) -> Expr {
        let literals = is_literal(a) && is_literal(b);
        let (a, b) = (self.value(a), self.value(b));
        if literals
            && comparison(op).is_none()
            && !matches!(op, ast::BinaryOp::And | ast::BinaryOp::Or)
            && let Some(folded) = self.fold_literals(arithmetic(op), &a, &b, span)
        {
            return folded;
        }
        if let Some(folded) = fold_texts(op, &a, &b, span) {
            if op == ast::BinaryOp::Add && matches!(&folded.kind, ExprKind::Str(text) if text.is_empty()) {
                self.warn(crate::lang::codes::check::EMPTY_TEXT, span, "literal string will always be empty", None);
            }
            return folded;
        }
        self.operate(op, a, b, span)
    }

    /// Applies an operator to typed operands.
    pub fn operate(&mut self, op: ast::BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        if matches!(op, ast::BinaryOp::And | ast::BinaryOp::Or) {
            let (a, b) = (Box::new(self.condition(a)), Box::new(self.condition(b)));
            let kind = if op == ast::BinaryOp::And { ExprKind::And(a, b) } else { ExprKind::Or(a, b) };
            return Expr::new(kind, Type::Bool, span);
        }
        if join::unknown(&a.ty) || join::unknown(&b.ty) {
            let ty = if comparison(op).is_some() { Type::Bool } else { Type::Error };
            return Expr::new(ExprKind::Int(0), ty, span);
        }
        if let Some(compare) = comparison(op) {
            return self.compare(compare, a, b, span);
        }
        let literals =
            crate::lang::bt::check::literal::is_literal(&a) && crate::lang::bt::check::literal::is_literal(&b);
        let result = self.calculate(arithmetic(op), a, b, span);
        if literals { result } else { settled(result) }
    }

    fn calculate(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        if matches!(a.ty, Type::Ptr { .. }) || matches!(b.ty, Type::Ptr { .. }) {
            return self.pointer_arithmetic(op, a, b, span);
        }
        self.integers(op, a, b, span)
    }

    /// Two literals make one; a result that no integer type holds is an error.
    fn fold_literals(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Option<Expr> {
        if !matches!((&a.ty, &b.ty), (Type::Int { size: 8, .. }, Type::Int { size: 8, .. })) {
            return None;
        }
        let (x, y) = (wide_constant(a)?, wide_constant(b)?);
        match fold_wide(op, x, y) {
            Some(v) if v > i128::from(i64::MAX) => Some(Expr::new(ExprKind::Int(v as u64), Type::U64, span)),
            Some(v) => Some(Expr::new(ExprKind::Int(v as u64), Type::I64, span)),
            None => Some(self.error_expr(
                crate::lang::codes::check::OUT_OF_RANGE,
                span,
                "unable to fold literals due to overflow or underflow",
            )),
        }
    }

    fn integers(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        if matches!(op, BinaryOp::Div | BinaryOp::Mod) && b.ty == Type::Bool && b.as_int() == Some(0) {
            return self.error_expr(crate::lang::codes::check::OUT_OF_RANGE, span, "the divisor is always 0");
        }
        let (ta, tb) = (self.type_text(&a.ty), self.type_text(&b.ty));
        self.warn_signed_division(op, &a, &b, span);
        self.warn_operand_casts(&a, &b, op == BinaryOp::Sub);
        let (Some(a), Some(b)) = (self.integer(a), self.integer(b)) else {
            let message = format!("`{}` needs integers, here are {ta} and {tb}", symbol(op));
            return self.error_expr(OPERAND_TYPE, span, message);
        };
        let ty = match op {
            BinaryOp::Sub => Type::I64,
            BinaryOp::Shl | BinaryOp::Shr => a.ty.clone(),
            _ => common_sign(&a, &b),
        };
        let (a, b) = (convert_scalar(a, &ty), convert_scalar(b, &ty));
        fold(op, a, b, ty, span)
    }

    fn compare(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        let equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
        self.warn_pointers(&a, &b, span);
        if equality && let Some(result) = self.compare_names(op, &a, &b, span) {
            return result;
        }
        if equality && let Some(result) = compare_words(op, &a, &b, span) {
            return result;
        }
        if a.ty.fits_register() && b.ty.fits_register() {
            return self.compare_scalars(op, a, b, span);
        }
        if equality && let Some(ty) = join::join(&join::infer_type(&a), &join::infer_type(&b)) {
            let ty = join::resolve(&ty);
            if comparable(&ty) {
                let (a, b) = (self.coerce(a, &ty), self.coerce(b, &ty));
                return Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), Type::Bool, span);
            }
        }
        if equality && matches!((&a.ty, &b.ty), (Type::Tuple(_), Type::Tuple(_))) {
            // Tuples of other types are other values.
            return boolean(op == BinaryOp::Ne, span);
        }
        let (ta, tb) = (self.type_text(&a.ty), self.type_text(&b.ty));
        let help = match (&a, &b) {
            (text, Expr { kind: ExprKind::Int(n), .. }) | (Expr { kind: ExprKind::Int(n), .. }, text)
                if matches!(text.ty, Type::Str { .. }) =>
            {
                Some(format!("text is compared with text: `\"{}\"`", *n as i64))
            }
            (Expr { ty: Type::Str { .. }, .. }, Expr { ty: Type::Ptr { .. }, .. })
            | (Expr { ty: Type::Ptr { .. }, .. }, Expr { ty: Type::Str { .. }, .. }) => {
                Some("turn an address into text with `str(...)` first".to_owned())
            }
            (Expr { ty: Type::Str { .. }, .. }, other) | (other, Expr { ty: Type::Str { .. }, .. })
                if other.ty.is_scalar() =>
            {
                Some("text is compared with text; an address is turned into text by `str(...)`".to_owned())
            }
            _ => None,
        };
        self.error_help(
            OPERAND_TYPE,
            span,
            format!("Type mismatch for '{}': comparing {ta} with {tb}", symbol(op)),
            help,
        );
        Expr::new(ExprKind::Int(0), Type::Error, span)
    }

    fn compare_scalars(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        self.warn_constant(op, &a, &b, span);
        self.warn_operand_casts(&a, &b, false);
        let (Some(a), Some(b)) = (self.integer(a), self.integer(b)) else { return Self::error_value(span) };
        let ty = common_sign(&a, &b);
        let (a, b) = (convert_scalar(a, &ty), convert_scalar(b, &ty));
        if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
            let order = if ty.is_signed() { (x as i64).cmp(&(y as i64)) } else { x.cmp(&y) };
            let result = match op {
                BinaryOp::Eq => order.is_eq(),
                BinaryOp::Ne => order.is_ne(),
                BinaryOp::Lt => order.is_lt(),
                BinaryOp::Le => order.is_le(),
                BinaryOp::Gt => order.is_gt(),
                _ => order.is_ge(),
            };
            return boolean(result, span);
        }
        Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), Type::Bool, span)
    }

    /// `probe == "..."` and `func == "..."` compare with the names of the body's targets, which are known.
    fn compare_names(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Option<Expr> {
        let (name, text) = match (&a.ty, &b.kind, &b.ty, &a.kind) {
            (Type::ProbeName | Type::FuncName, ExprKind::Str(s), ..) => (a, s.clone()),
            (_, _, Type::ProbeName | Type::FuncName, ExprKind::Str(s)) => (b, s.clone()),
            _ => return None,
        };
        let function = name.ty == Type::FuncName;
        let ids: Vec<u32> = (0..self.probe_names.len() as u32)
            .filter(|id| {
                let full = &*self.probe_names[*id as usize];
                let shown = if function { function_of(full) } else { full };
                shown == &*text || (!function && shown.eq_ignore_ascii_case(&text))
            })
            .collect();
        let mut result: Option<Expr> = None;
        for id in ids {
            let left = convert_scalar(name.clone(), &Type::U64);
            let right = Expr::new(ExprKind::Int(u64::from(id)), Type::U64, span);
            let equal = Expr::new(ExprKind::Binary(BinaryOp::Eq, Box::new(left), Box::new(right)), Type::Bool, span);
            result = Some(match result {
                None => equal,
                Some(before) => Expr::new(ExprKind::Or(Box::new(before), Box::new(equal)), Type::Bool, span),
            });
        }
        let result = result.unwrap_or_else(|| boolean(false, span));
        Some(if op == BinaryOp::Ne { not(result, span) } else { result })
    }

    /// A comparison whose answer is known from the types alone is probably a mistake.
    fn warn_constant(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) {
        let (value, literal, flipped) = match (a.as_int(), b.as_int()) {
            (None, Some(v)) => (a, b, (v, false)),
            (Some(v), None) => (b, a, (v, true)),
            _ => return,
        };
        let Type::Int { size, signed } = value.ty else { return };
        if literal.ty != Type::I64 && literal.ty != Type::U64 {
            return;
        }
        let wide = if literal.ty.is_signed() { i128::from(flipped.0 as i64) } else { i128::from(flipped.0) };
        let bits = u32::from(size) * 8;
        let (low, high) =
            if signed { (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1) } else { (0, (1_i128 << bits) - 1) };
        // 8-byte values against negative numbers are common for error codes in unsigned registers.
        if size == 8 && op != BinaryOp::Lt && op != BinaryOp::Ge {
            return;
        }
        let op = if flipped.1 { flip(op) } else { op };
        let answer = match op {
            BinaryOp::Eq if wide < low || wide > high => Some(false),
            BinaryOp::Ne if wide < low || wide > high => Some(true),
            BinaryOp::Lt if wide <= low => Some(false),
            BinaryOp::Ge if wide <= low => Some(true),
            BinaryOp::Gt if wide >= high => Some(false),
            BinaryOp::Le if wide >= high => Some(true),
            _ => None,
        };
        if let Some(answer) = answer {
            let ty = self.type_text(&value.ty);
            self.warn(
                CONSTANT_CONDITION,
                span,
                format!("this comparison is always {answer}"),
                Some(format!("the value is {ty}: from {low} to {high}")),
            );
        }
    }

    fn pointer_arithmetic(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        let (pa, pb) = (matches!(a.ty, Type::Ptr { .. }), matches!(b.ty, Type::Ptr { .. }));
        if pa && pb && op == BinaryOp::Sub {
            let size = self.pointee_size(&a.ty);
            let (a, b) = (convert_scalar(a, &Type::I64), convert_scalar(b, &Type::I64));
            let bytes = fold(BinaryOp::Sub, a, b, Type::I64, span);
            return fold(BinaryOp::Div, bytes, constant(i64::from(size), span), Type::I64, span);
        }
        let (pointer, index) = if pa { (a, b) } else { (b, a) };
        let scaled = matches!(op, BinaryOp::Add) || (matches!(op, BinaryOp::Sub) && pa);
        // A sum of addresses, or a number less an address, is no number that means anything.
        let senseless = match op {
            BinaryOp::Add => pa && pb,
            BinaryOp::Sub => !pa,
            op => matches!(op, BinaryOp::Mul | BinaryOp::Shl),
        };
        if senseless {
            let (left, right) = if pa { (&pointer, &index) } else { (&index, &pointer) };
            let (left, right) = (self.type_text(&left.ty), self.type_text(&right.ty));
            let sign = symbol(op);
            let message = format!("The {sign} operator can not be used on expressions of types {left}, {right}");
            let help = "for the address as a number cast it: `(uint64)p`".to_owned();
            self.error_help(OPERAND_TYPE, span, message, Some(help));
            return Self::error_value(span);
        }
        if pa && pb || !scaled {
            // Masks and the like are taken of the address.
            let ty = Type::U64;
            let (a, b) = if pa { (pointer, index) } else { (index, pointer) };
            let (a, b) = (convert_scalar(a, &ty), self.integer(b).map(|b| convert_scalar(b, &ty)));
            let Some(b) = b else { return self.error_expr(OPERAND_TYPE, span, "an address needs an integer here") };
            return fold(op, a, b, ty, span);
        }
        let size = self.pointee_size(&pointer.ty);
        let ty = pointer.ty.clone();
        let Some(index) = self.integer(index) else {
            return self.error_expr(OPERAND_TYPE, span, "only integers can be added to a pointer");
        };
        let index = convert_scalar(index, &Type::U64);
        let size = Expr::new(ExprKind::Int(u64::from(size)), Type::U64, span);
        let bytes = fold(BinaryOp::Mul, index, size, Type::U64, span);
        let sum = fold(op, convert_scalar(pointer, &Type::U64), bytes, Type::U64, span);
        convert_scalar(sum, &ty)
    }

    /// Bytes from one element to the next; 1 for `void *`.
    pub fn pointee_size(&self, ty: &Type) -> u32 {
        match ty {
            Type::Ptr { to, .. } => self.size_of(to).max(1),
            _ => 1,
        }
    }

    pub fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr, span: Span) -> Expr {
        match op {
            ast::UnaryOp::Deref => return self.dereference(operand, span),
            ast::UnaryOp::AddressOf => return self.address_of(operand, span),
            ast::UnaryOp::Neg | ast::UnaryOp::BitNot | ast::UnaryOp::Not => {}
        }
        let e = self.value(operand);
        if join::unknown(&e.ty) {
            return Self::error_value(span);
        }
        if op == ast::UnaryOp::Not {
            let e = self.condition(e);
            return not(e, span);
        }
        let sign = if op == ast::UnaryOp::Neg { '-' } else { '~' };
        let (own, text) = (e.ty.clone(), self.type_text(&e.ty));
        let flag_or_address = matches!(own, Type::Bool | Type::Ptr { .. });
        let Some(e) = self.integer(e).filter(|_| !flag_or_address) else {
            return self.error_expr(
                OPERAND_TYPE,
                span,
                format!("The {sign} operator can not be used on expressions of type '{text}'"),
            );
        };
        if op == ast::UnaryOp::BitNot {
            return complement(e, &own, span);
        }
        if e.as_int().is_some_and(|v| v > 1 << 63) && own == Type::U64 && matches!(operand.kind, ast::ExprKind::Int(..))
        {
            return self.error_expr(crate::lang::codes::check::OUT_OF_RANGE, span, "negative value will underflow");
        }
        // The largest unsigned type has no signed one above it, but the smallest number is written so.
        let smallest = e.as_int() == Some(1 << 63) && matches!(operand.kind, ast::ExprKind::Int(..));
        // Unsigned values stay so, and as wide as they are.
        let narrow = match own {
            Type::Int { size: 1..=4, signed: false } if !crate::lang::bt::check::literal::is_literal(&e) => {
                Some(own.clone())
            }
            _ => None,
        };
        let ty = if own == Type::U64 && !smallest { Type::U64 } else { Type::I64 };
        let e = convert_scalar(e, &ty);
        let kind = match e.as_int() {
            Some(v) => ExprKind::Int(v.wrapping_neg()),
            None => ExprKind::Unary(UnaryOp::Neg, Box::new(e)),
        };
        let negated = Expr::new(kind, ty, span);
        narrow.map_or(negated.clone(), |narrow| convert_scalar(negated, &narrow))
    }

    fn holds_pointers(&mut self, name: &Arc<str>, span: Span) -> bool {
        let id = self.map_id(name, span);
        matches!(self.maps.get(id).value, Type::Ptr { .. })
    }

    /// `@p++` of a map of pointers: to the next element.
    fn pointer_step(
        &mut self,
        name: &Arc<str>,
        keys: Option<&[ast::Expr]>,
        place: Span,
        sign: i64,
        postfix: bool,
        span: Span,
    ) -> Expr {
        let old = self.map_get(name, keys, place);
        let ty = old.ty.clone();
        let before = self.temporary(ty.clone(), span);
        let local = |id| Expr::new(ExprKind::Local(id), ty.clone(), span);
        let new = self.pointer_arithmetic(BinaryOp::Add, local(before), constant(sign, span), span);
        let after = self.temporary(ty.clone(), span);
        let set = self.set_map(name, keys, place, local(after));
        let statements = [StatementKind::SetLocal(before, old), StatementKind::SetLocal(after, new), set];
        let statements = statements.into_iter().map(|kind| Statement { kind, span }).collect();
        crate::lang::bt::check::literal::wrap(statements, local(if postfix { before } else { after }), span)
    }

    /// `++` and `--`.
    pub fn step(&mut self, target: &ast::Expr, decrement: bool, postfix: bool, span: Span) -> Expr {
        let sign = if decrement { -1 } else { 1 };
        match &target.kind {
            ast::ExprKind::Variable(name) => {
                let e = self.variable(name, target.span);
                let ExprKind::Local(local) = e.kind else { return Self::error_value(span) };
                self.counted(local);
                match &e.ty {
                    Type::Error => Self::error_value(span),
                    Type::Int { .. } | Type::Ptr { .. } => {
                        let e = self.widened(local, e, decrement, target.span);
                        let size = if let Type::Ptr { .. } = e.ty { i64::from(self.pointee_size(&e.ty)) } else { 1 };
                        Expr::new(ExprKind::LocalStep { local, delta: sign * size, postfix }, e.ty, span)
                    }
                    other => {
                        let text = self.type_text(other);
                        self.error_expr(OPERAND_TYPE, span, format!("`{name}` is {text}, which can't be counted up"))
                    }
                }
            }
            ast::ExprKind::Map(name, keys) if self.holds_pointers(name, target.span) => {
                self.pointer_step(name, keys.as_deref(), target.span, sign, postfix, span)
            }
            ast::ExprKind::Map(name, keys) => {
                self.map_step(name, keys.as_deref(), target.span, constant(sign, span), postfix, span)
            }
            _ => self.error_expr(NOT_ASSIGNABLE, span, "only variables and maps can be counted up or down"),
        }
    }
}
