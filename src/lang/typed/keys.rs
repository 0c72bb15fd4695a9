//! Names for expressions: two scripts that ask for the same thing at the same kind of probe name it alike, however they
//! write it. Recordings keep these names with their values, so that another script can be run on what was recorded.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::walk::Node;
use super::{BinaryOp, Builtin, Clock, Expr, ExprKind, Intrinsic, LocalId, Probe, Program, StatementKind, UnaryOp};
use crate::lang::types::Type;

/// Longer names are none.
const LONGEST: usize = 2048;
/// Expressions that are nested deeper have no name.
const DEEPEST: u32 = 64;

/// Names the expressions of one body.
#[derive(Debug)]
pub struct Keys<'a> {
    program: &'a Program,
    /// Variables that are set once, and to what.
    once: HashMap<LocalId, Option<&'a Expr>>,
}

impl<'a> Keys<'a> {
    /// For the expressions of a probe.
    #[must_use]
    pub fn of(program: &'a Program, probe: &'a Probe) -> Self {
        let mut keys = Self { program, once: HashMap::new() };
        probe.nodes().for_each(|node| keys.look_at(node));
        keys
    }

    /// The name of an expression; `None` when its value depends on more than the firing (a variable that changes), or it
    /// changes something itself.
    #[must_use]
    pub fn key(&self, e: &Expr) -> Option<String> {
        let mut out = String::new();
        self.write(e, &mut out, 0)?;
        Some(out)
    }

    /// What a variable is set to, where that is done once.
    pub(super) fn set_once(&self, local: LocalId) -> Option<&Expr> {
        self.once.get(&local).copied().flatten()
    }

    fn look_at(&mut self, node: Node<'a>) {
        match node {
            Node::Statement(s) => match &s.kind {
                StatementKind::SetLocal(local, value) => self.set(*local, Some(value)),
                StatementKind::ForRange { local, .. } | StatementKind::ForMap { local, .. } => self.set(*local, None),
                StatementKind::Store { place, .. } => {
                    stored_in(place).into_iter().for_each(|local| self.set(local, None));
                }
                _ => {}
            },
            Node::Expr(e) => match &e.kind {
                ExprKind::LocalStep { local, .. } | ExprKind::MapFind { local, .. } => self.set(*local, None),
                ExprKind::AddressOf(inner) => {
                    if let ExprKind::Local(local) = inner.kind {
                        self.set(local, None);
                    }
                }
                _ => {}
            },
        }
    }

    fn set(&mut self, local: LocalId, value: Option<&'a Expr>) {
        self.once.entry(local).and_modify(|known| *known = None).or_insert(value);
    }

    fn write(&self, e: &Expr, out: &mut String, depth: u32) -> Option<()> {
        if depth > DEEPEST || out.len() > LONGEST {
            return None;
        }
        let deeper = depth + 1;
        match &e.kind {
            ExprKind::Int(value) if e.ty.is_signed() => write!(out, "{}", *value as i64).ok()?,
            ExprKind::Int(value) => write!(out, "{value}").ok()?,
            ExprKind::Str(text) => write!(out, "{text:?}").ok()?,
            ExprKind::Local(local) => return self.write(self.set_once(*local)?, out, deeper),
            ExprKind::MapGet { map, key } => self.element("", map.0, key.as_deref(), out, deeper)?,
            ExprKind::MapHas { map, key } => self.element("has ", map.0, key.as_deref(), out, deeper)?,
            ExprKind::Builtin(builtin) => builtin_key(*builtin, &e.ty, out),
            ExprKind::Binary(op, a, b) => self.infix(op.symbol(), a, b, out, deeper)?,
            ExprKind::And(a, b) => self.infix("&&", a, b, out, deeper)?,
            ExprKind::Or(a, b) => self.infix("||", a, b, out, deeper)?,
            ExprKind::Unary(op, a) => {
                out.push(match op {
                    UnaryOp::Neg => '-',
                    UnaryOp::BitNot => '~',
                    UnaryOp::Not => '!',
                });
                self.write(a, out, deeper)?;
            }
            ExprKind::Conditional(c, a, b) => {
                self.list("if", [&**c, &**a, &**b].into_iter(), out, deeper)?;
            }
            ExprKind::Cast(inner) if keeps_value(&inner.ty, &e.ty) => return self.write(inner, out, deeper),
            ExprKind::Cast(inner) => self.list(&shape(&e.ty), std::iter::once(&**inner), out, deeper)?,
            ExprKind::Deref(inner) => {
                self.list(&format!("*{}", shape(&e.ty)), std::iter::once(&**inner), out, deeper)?;
            }
            ExprKind::Field { base, offset, bits } => {
                self.write(base, out, deeper)?;
                write!(out, ".{offset}{}", shape(&e.ty)).ok()?;
                if let Some((first, width)) = bits {
                    write!(out, ":{first}:{width}").ok()?;
                }
            }
            ExprKind::Index { base, index } => {
                self.list(&format!("[{}]", shape(&e.ty)), [&**base, &**index].into_iter(), out, deeper)?;
            }
            ExprKind::Tuple(items) => self.list("", items.iter(), out, deeper)?,
            ExprKind::TupleField(base, nth) => {
                if let ExprKind::Tuple(items) = &base.kind {
                    return self.write(items.get(*nth as usize)?, out, deeper);
                }
                self.write(base, out, deeper)?;
                write!(out, ".{nth}").ok()?;
            }
            ExprKind::Call(intrinsic, arguments) => {
                let name = intrinsic_name(intrinsic)?;
                let kind = if intrinsic.captures_stack() { format!("{name}{:?}", e.ty) } else { name };
                self.list(&kind, arguments.iter(), out, deeper)?;
            }
            ExprKind::MapLen(_)
            | ExprKind::MapDelete { .. }
            | ExprKind::MapFind { .. }
            | ExprKind::MapStep { .. }
            | ExprKind::LocalStep { .. }
            | ExprKind::AddressOf(_)
            | ExprKind::Within { .. }
            | ExprKind::MapAddress(_)
            | ExprKind::CallUser(..)
            | ExprKind::Block(..) => return None,
        }
        (out.len() <= LONGEST).then_some(())
    }

    fn element(&self, before: &str, map: u32, key: Option<&Expr>, out: &mut String, depth: u32) -> Option<()> {
        out.push_str(before);
        out.push_str(&self.program.maps.get(map as usize)?.name);
        let Some(key) = key else { return Some(()) };
        out.push('[');
        self.write(key, out, depth)?;
        out.push(']');
        Some(())
    }

    fn infix(&self, operator: &str, a: &Expr, b: &Expr, out: &mut String, depth: u32) -> Option<()> {
        out.push('(');
        self.write(a, out, depth)?;
        out.push_str(operator);
        self.write(b, out, depth)?;
        out.push(')');
        Some(())
    }

    fn list<'e>(&self, name: &str, items: impl Iterator<Item = &'e Expr>, out: &mut String, depth: u32) -> Option<()> {
        out.push_str(name);
        out.push('(');
        for (nth, item) in items.enumerate() {
            if nth > 0 {
                out.push_str(", ");
            }
            self.write(item, out, depth)?;
        }
        out.push(')');
        Some(())
    }
}

/// The variable that a place is part of.
fn stored_in(place: &Expr) -> Option<LocalId> {
    match &place.kind {
        ExprKind::Local(local) | ExprKind::Within { local, .. } => Some(*local),
        ExprKind::Field { base, .. } | ExprKind::Index { base, .. } => stored_in(base),
        _ => None,
    }
}

/// The conditions that all hold where one holds: the sides of its `&&`s.
#[must_use]
pub fn conjuncts(condition: &Expr) -> Vec<&Expr> {
    match &condition.kind {
        ExprKind::And(a, b) => conjuncts(a).into_iter().chain(conjuncts(b)).collect(),
        // What makes a condition of a number.
        ExprKind::Binary(BinaryOp::Ne, a, b) if b.as_int() == Some(0) => conjuncts(a),
        ExprKind::Cast(inner) if is_truth_of(&inner.ty, &condition.ty) => conjuncts(inner),
        _ => vec![condition],
    }
}

fn is_truth_of(from: &Type, to: &Type) -> bool {
    *to == Type::Bool || keeps_value(from, to)
}

/// Whether a conversion changes no value.
#[must_use]
pub fn keeps_value(from: &Type, to: &Type) -> bool {
    let number = |ty: &Type| match ty {
        Type::Bool => Some((1, false)),
        Type::Int { size, signed } | Type::Enum { size, signed, .. } => Some((*size, *signed)),
        Type::Ptr { .. } => Some((8, false)),
        _ => None,
    };
    match (number(from), number(to)) {
        // A number of eight bytes has the same bits either way.
        (Some((a, x)), Some((b, y))) => b > a && (y || !x) || b == a && (x == y || a == 8),
        _ => from == to || matches!((from, to), (Type::Str { size: a }, Type::Str { size: b }) if a <= b),
    }
}

fn shape(ty: &Type) -> String {
    match ty {
        Type::Bool => "b".to_owned(),
        Type::Int { size, signed } | Type::Enum { size, signed, .. } => {
            format!("{}{}", if *signed { 'i' } else { 'u' }, u32::from(*size) * 8)
        }
        Type::Ptr { .. } => "p".to_owned(),
        Type::Str { .. } => "s".to_owned(),
        Type::Array { of, len } => format!("{}x{len}", shape(of)),
        Type::Struct(_) => "struct".to_owned(),
        other => {
            let text = format!("{other:?}");
            text.split([' ', '(', '{']).next().unwrap_or_default().to_lowercase()
        }
    }
}

fn builtin_key(builtin: Builtin, ty: &Type, out: &mut String) {
    let word = match builtin {
        Builtin::CtxField(offset) => format!("ctx+{offset}:{}", shape(ty)),
        Builtin::DataLoc(offset) => format!("loc+{offset}:{}", shape(ty)),
        Builtin::Arg(n) => format!("arg{n}"),
        Builtin::StackArg(n) => format!("sarg{n}"),
        Builtin::Register(offset) => format!("reg+{offset}"),
        Builtin::Nsecs(Clock::Boot) => "nsecs".to_owned(),
        Builtin::Nsecs(clock) => format!("nsecs({clock:?})").to_lowercase(),
        Builtin::ProbeId => "probe".to_owned(),
        Builtin::FuncId => "func".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    };
    out.push_str(&word);
}

fn intrinsic_name(intrinsic: &Intrinsic) -> Option<String> {
    let named = !intrinsic.has_effect() && *intrinsic != Intrinsic::SkbBytes;
    named.then(|| format!("{intrinsic:?}").to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Kernel, Roots};
    use crate::lang::facts::NoFacts;
    use crate::lang::front::FrontOptions;
    use crate::lang::source::SourceText;

    /// The names of what the first `printf` of a script prints.
    fn printed(script: &str) -> Vec<Option<String>> {
        let source = SourceText::new("t.bt", script);
        let kernel = Kernel::new(Roots::fixture("/nonexistent"));
        let checked = crate::lang::front_end(&source).compile_with(&source, &NoFacts, &FrontOptions::new(&kernel));
        let probe = &checked.program.probes[0];
        let keys = Keys::of(&checked.program, probe);
        let report = probe.body.statements.iter().find_map(|s| match &s.kind {
            StatementKind::Report { values, .. } => Some(values.iter().map(|v| keys.key(v)).collect()),
            _ => None,
        });
        report.unwrap_or_else(|| panic!("no printf: {:?}", checked.diagnostics))
    }

    #[test]
    fn the_same_thing_has_one_name_however_it_is_written() {
        let direct = printed("kprobe:f { printf(\"%d %s %d\", pid, comm, arg0 + 1); }");
        let roundabout = printed("kprobe:f { $p = pid; $a = (uint64)arg0; printf(\"%d %s %d\", $p, comm, ($a) + 1); }");
        assert_eq!(direct, roundabout);
        assert_eq!(direct[0].as_deref(), Some("pid"));
        assert_eq!(direct[2].as_deref(), Some("(arg0+1)"));
    }

    #[test]
    fn what_changes_has_no_name() {
        assert_eq!(printed("kprobe:f { $n = 1; $n++; printf(\"%d\", $n); }"), [None]);
        assert_eq!(printed("kprobe:f { printf(\"%d\", @n++); }"), [None]);
        let doubled = (1..40).fold("$a0 = arg0;".to_owned(), |s, n| s + &format!("$a{n} = $a{0} + $a{0};", n - 1));
        assert_eq!(printed(&format!("kprobe:f {{ {doubled} printf(\"%d\", $a39); }}")), [None]);
    }
}
