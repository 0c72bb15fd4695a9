//! What bpftrace warns of and what is rarely a mistake: told only where a script runs under its name.
//!
//! Its inference gives variables and maps that only literals are assigned to the smallest signed type that
//! holds these, while they have 8 bytes here. [`Told`] is the type that it would name.

use crate::lang::bt::ast;
use crate::lang::codes::check::{DEPRECATED, FOR_DEBUGGING, SIGNED_DIVISION, UNNECESSARY_CAST};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, ExprKind, LocalId, MapId, UnaryOp};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::join::{LITERAL, infer_type, smallest};
use crate::lang::bt::check::literal::{element_types, is_literal};
use crate::lang::bt::check::maps::table::reduction;

/// The type of a value as bpftrace infers it.
#[derive(PartialEq, Eq)]
struct Told {
    ty: Type,
    /// It is made of literals that are not negative: these take the other operand's sign.
    flexible: bool,
}

impl Told {
    fn of(inferred: &Type) -> Self {
        let flexible = matches!(inferred, Type::Int { size, signed: false } if size & LITERAL != 0);
        Self { ty: smallest(inferred), flexible }
    }

    fn signed(&self) -> bool {
        self.ty.is_signed()
    }

    /// Takes the other operand's sign where this one has none of its own.
    fn adapt(&mut self, other: &Self) {
        if let (true, false, Type::Int { signed, .. }) = (self.flexible, other.flexible, &mut self.ty) {
            *signed = other.ty.is_signed();
        }
    }
}

impl Checker<'_> {
    fn told(&self, e: &Expr) -> Told {
        Told::of(&self.inferred(e))
    }

    /// The type of a value, literals in it still flexible.
    pub fn inferred(&self, e: &Expr) -> Type {
        match &e.kind {
            ExprKind::Local(id) => self.inferred_local(*id).unwrap_or_else(|| e.ty.clone()),
            ExprKind::MapGet { map, .. } => self.inferred_map(*map),
            ExprKind::TupleField(base, at) => {
                let elements = element_types(&self.inferred(base)).unwrap_or_default();
                elements.into_iter().nth(*at as usize).unwrap_or_else(|| e.ty.clone())
            }
            _ => infer_type(e),
        }
    }

    /// The type of a map's values, as numbers where they are aggregations.
    pub fn inferred_map(&self, id: MapId) -> Type {
        let map = self.maps.get(id);
        match &map.value {
            Type::Agg(agg) => reduction(*agg).unwrap_or_else(|| map.value.clone()),
            Type::Int { size, .. } if size & LITERAL != 0 && map.stepped => Type::I64,
            ty => ty.clone(),
        }
    }

    /// Division of numbers that may be negative: bpftrace divides them as if they could not.
    pub fn warn_signed_division(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) {
        if !matches!(op, BinaryOp::Div | BinaryOp::Mod) {
            return;
        }
        if !self.options.like_bpftrace {
            return self.note_rounding(op, a, b, span);
        }
        let (mut left, mut right) = (self.told(a), self.told(b));
        left.adapt(&right);
        right.adapt(&left);
        if left.ty == right.ty || !(left.signed() || right.signed()) {
            return;
        }
        let sign = if op == BinaryOp::Div { '/' } else { '%' };
        let message = format!(
            "signed operands for '{sign}' can lead to undefined behavior (cast to unsigned to silence warning)"
        );
        self.warn(SIGNED_DIVISION, span, message, None);
    }

    /// A negative number divides here as in C, and in bpftrace otherwise. Differences of times are signed, too, and hardly
    /// ever negative: only what is negative in the script's text, or comes signed from the kernel, is worth a word.
    fn note_rounding(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) {
        let text = match op {
            BinaryOp::Div if self.may_be_negative(a) || self.may_be_negative(b) => {
                "`/` of a negative number rounds towards zero, as in C: -7 / 2 is -3; bpftrace gives -4"
            }
            BinaryOp::Mod if self.may_be_negative(a) => {
                "`%` of a negative number has its sign, as in C: -7 % 3 is -1; bpftrace gives 0"
            }
            _ => return,
        };
        let help = "cast it where it is never negative: `(uint64)x`".to_owned();
        self.warn(SIGNED_DIVISION, span, text, Some(help));
    }

    fn may_be_negative(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Int(n) => e.ty.is_signed() && (*n as i64) < 0,
            ExprKind::Unary(UnaryOp::Neg, _) => e.ty.is_signed(),
            ExprKind::Field { .. } | ExprKind::Builtin(_) => matches!(e.ty, Type::Int { signed: true, .. }),
            // Of variables those that a negative literal was given.
            ExprKind::Local(id) => {
                matches!(self.inferred_local(*id), Some(Type::Int { size, signed: true }) if size & LITERAL != 0)
            }
            ExprKind::Cast(inner) => e.ty.is_signed() && self.may_be_negative(inner),
            _ => false,
        }
    }

    /// Two operands are brought to one type.
    pub fn warn_operand_casts(&mut self, a: &Expr, b: &Expr, difference: bool) {
        if !self.options.like_bpftrace {
            return;
        }
        let (mut left, mut right) = (self.told(a), self.told(b));
        left.adapt(&right);
        right.adapt(&left);
        if difference || (left.ty != right.ty && (left.signed() || right.signed())) {
            self.warn_cast(a, &Type::I64);
            self.warn_cast(b, &Type::I64);
        }
    }

    /// A value is brought to another type without being asked.
    pub fn warn_cast(&mut self, e: &Expr, to: &Type) {
        if !self.options.like_bpftrace || is_literal(e) || self.is_aggregation(e) {
            return;
        }
        if let (ExprKind::Tuple(items), Some(wanted)) = (&e.kind, element_types(to)) {
            for (item, to) in items.iter().zip(&wanted) {
                self.warn_cast(item, to);
            }
            return;
        }
        let is = self.told(e);
        if is.flexible || fits(&is.ty, to) {
            return;
        }
        let (is, to) = (self.type_text(&is.ty), self.type_text(to));
        let message = format!(
            "Expression of type: {is} being cast to type: {to}. This may cause unexpected results. Use an explicit \
             cast to suppress this warning."
        );
        let span = self.cast_mark(e.span);
        self.warn(crate::lang::codes::check::CUT_NUMBER, span, message, None);
    }

    /// An aggregation that is read as a number.
    fn is_aggregation(&self, e: &Expr) -> bool {
        matches!(&e.kind, ExprKind::MapGet { map, .. } if matches!(self.maps.get(*map).value, Type::Agg(_)))
    }

    /// A cast to the type that the value has.
    pub fn warn_unnecessary_cast(&mut self, value: &Expr, wanted: &Type, span: Span) {
        if self.is_aggregation(value) || matches!(value.kind, ExprKind::Int(_)) && value.ty == Type::Bool {
            return;
        }
        let is = self.told(value).ty;
        let same = match (&is, wanted) {
            (Type::Ptr { to, .. }, Type::Ptr { to: other, .. }) => to == other,
            (is, wanted) => is == wanted && matches!(is, Type::Int { .. } | Type::Bool),
        };
        if !self.options.like_bpftrace || !same {
            return;
        }
        let message = format!("Unnecessary cast: expression is already of type {}", self.type_text(&is));
        let mark = self.cast_mark(span);
        self.warn(UNNECESSARY_CAST, mark, message, None);
    }

    /// Of a cast the type alone, with its parentheses; other places as they are.
    fn cast_mark(&self, span: Span) -> Span {
        let text = self.source.text.get(span.start as usize..span.end as usize).unwrap_or("");
        match text.find(')') {
            Some(end) if text.starts_with('(') => Span::new(span.start, span.start + end as u32 + 1),
            _ => span,
        }
    }

    /// A statement's place with the semicolon behind it, as bpftrace marks statements.
    pub fn whole_statement(&self, span: Span) -> Span {
        let behind = self.source.text.get(span.end as usize..).unwrap_or("");
        let blank = behind.len() - behind.trim_start().len();
        let closed = behind.trim_start().starts_with(';');
        if self.options.like_bpftrace && closed { Span::new(span.start, span.end + blank as u32 + 1) } else { span }
    }

    /// Of a value that is thrown away what bpftrace marks: the semicolon too, but for what begins with a variable or a
    /// map and for what ends its block.
    pub fn discarded_mark(&self, span: Span) -> Span {
        let whole = self.whole_statement(span);
        let text = |from: u32| self.source.text.get(from as usize..).unwrap_or("").trim_start();
        if text(span.start).starts_with(['$', '@']) || text(whole.end).starts_with('}') { span } else { whole }
    }

    /// `debugf`, which is slow and writes into one pipe with everybody else.
    pub fn warn_debugging(&mut self, span: Span) {
        if self.options.like_bpftrace {
            let message = "The debugf() builtin is not recommended for production use. For more information see \
                           bpf_trace_printk in bpf-helpers(7).";
            self.warn(FOR_DEBUGGING, span, message, None);
        }
    }

    /// `while`, which bpftrace gives up in favour of `for`.
    pub fn warn_while(&mut self, span: Span) {
        if self.options.like_bpftrace {
            let help = "For loops support ranges (e.g. `for ($x : $start..$end) { ... }`), and can be used in place of \
                        while. These are more easily proven to be bounded by the verifier.";
            let message = "While loops are deprecated and may be removed in the future.";
            self.warn(DEPRECATED, span, message, Some(help.into()));
        }
    }

    /// `$x++` gives a variable its value, which bpftrace does not take it for.
    pub fn counted(&mut self, id: LocalId) {
        if !self.options.like_bpftrace
            && let Some(local) = self.frame.locals.get_mut(id.0 as usize)
        {
            local.empty = false;
        }
    }

    /// Of `$x /= e` what bpftrace marks: from the operator on. Others see the whole.
    pub fn compound_mark(&self, target: Span, value: &ast::Expr, whole: Span) -> Span {
        if !self.options.like_bpftrace {
            return whole;
        }
        let (from, to) = (target.end, value.span.end);
        let text = self.source.text.get(from as usize..to as usize).unwrap_or("");
        let blank = text.len() - text.trim_start().len();
        Span::new(from + blank as u32, to.max(from))
    }
}

/// Whether an integer type holds all values of another.
fn fits(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (Type::Int { size, signed }, Type::Int { size: wide, signed: sign }) => {
            if signed == sign {
                size <= wide
            } else {
                !signed && size < wide
            }
        }
        _ => true,
    }
}
