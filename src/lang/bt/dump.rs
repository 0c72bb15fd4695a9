//! The syntax tree as compact text: one line an item, Lisp-like, without places.
//!
//! For people who want to see how a script was read, and for tests that compare trees.

use std::fmt::Write as _;

use super::ast::{
    BinaryOp, Block, Expr, ExprKind, ForOver, Item, Member, Name, Script, Statement, StatementKind, TypeBase, TypeDef,
    TypeName, TypeOrExpr, TypeSuffix, UnaryOp,
};

/// Writes a whole script.
#[must_use]
pub fn script(script: &Script) -> String {
    let mut out = String::new();
    for item in &script.items {
        let _ = writeln!(out, "{}", item_text(item));
    }
    out
}

fn item_text(item: &Item) -> String {
    match item {
        Item::TypeDef(def) => type_def(def),
        Item::Config(settings, _) => {
            let settings: Vec<_> = settings.iter().map(|s| format!("{}={}", s.name.text, expr(&s.value))).collect();
            format!("(config {})", settings.join(" "))
        }
        Item::Import(name) => format!("(import {:?})", name.text),
        Item::MapDecl(m) => format!("(let {} {} {})", m.name.text, m.kind.text, expr(&m.size)),
        Item::Probe(p) => {
            let mut out = format!("(probe [{}]", names(&p.points, ", "));
            if let Some(name) = &p.name {
                let _ = write!(out, " as {}", name.text);
            }
            if let Some(predicate) = &p.predicate {
                let _ = write!(out, " /{}/", expr(predicate));
            }
            format!("{out} {})", block(&p.body))
        }
        Item::Macro(m) => format!("(macro {} ({}) {})", m.name.text, names(&m.parameters, " "), block(&m.body)),
        Item::Function(f) => {
            let parameters: Vec<_> = f.parameters.iter().map(|(n, t)| format!("{}:{}", n.text, type_name(t))).collect();
            let result = f.result.as_ref().map_or(String::new(), |t| format!(" -> {}", type_name(t)));
            format!("(fn {} ({}){result} {})", f.name.text, parameters.join(" "), block(&f.body))
        }
    }
}

fn names(names: &[Name], separator: &str) -> String {
    names.iter().map(|n| &*n.text).collect::<Vec<_>>().join(separator)
}

fn type_def(def: &TypeDef) -> String {
    match def {
        TypeDef::Struct { name, union, packed, members, .. } => {
            let kind = if *union { "union" } else { "struct" };
            let packed = if *packed { " packed" } else { "" };
            let members: Vec<_> = members.iter().map(member).collect();
            format!("({kind} {}{packed} {})", name.text, members.join(" "))
        }
        TypeDef::Enum { name, variants, .. } => {
            let variants: Vec<_> = variants
                .iter()
                .map(|(n, v)| v.as_ref().map_or(n.text.to_string(), |v| format!("{}={}", n.text, expr(v))))
                .collect();
            format!("(enum {} {})", name.text, variants.join(" "))
        }
        TypeDef::Alias { name, ty } => format!("(typedef {} {})", name.text, type_name(ty)),
    }
}

fn member(member: &Member) -> String {
    let ty = match &member.body {
        Some(body) => format!("{}{}", type_def(body), suffixes(&member.ty)),
        None => type_name(&member.ty),
    };
    let bits = member.bits.map_or(String::new(), |b| format!(":{b}"));
    format!("[{ty} {}{bits}]", member.name.text)
}

/// Writes a type as it is spelled.
#[must_use]
pub fn type_name(ty: &TypeName) -> String {
    let base = match &ty.base {
        TypeBase::Named(name) => name.to_string(),
        TypeBase::Struct(name) => format!("struct {name}"),
        TypeBase::Union(name) => format!("union {name}"),
        TypeBase::Enum(name) => format!("enum {name}"),
        TypeBase::Sized(name, size) => format!("{name}[{size}]"),
        TypeBase::Tuple(parts) => format!("({})", parts.iter().map(type_name).collect::<Vec<_>>().join(", ")),
        TypeBase::TypeOf(inner) => format!("typeof({})", expr(inner)),
    };
    base + &suffixes(ty)
}

fn suffixes(ty: &TypeName) -> String {
    let mut out = String::new();
    for suffix in &ty.suffixes {
        match suffix {
            TypeSuffix::Pointer => out.push('*'),
            TypeSuffix::Array(Some(size)) => {
                let _ = write!(out, "[{size}]");
            }
            TypeSuffix::Array(None) => out.push_str("[]"),
        }
    }
    out
}

fn block(block: &Block) -> String {
    let mut parts: Vec<_> = block.statements.iter().map(statement).collect();
    if let Some(value) = &block.value {
        parts.push(format!("=> {}", expr(value)));
    }
    format!("{{{}}}", parts.join("; "))
}

fn statement(statement: &Statement) -> String {
    match &statement.kind {
        StatementKind::Expr(e) => expr(e),
        StatementKind::Assign { target, op, value } => {
            format!("({}= {} {})", op.map_or("", binary_symbol), expr(target), expr(value))
        }
        StatementKind::Let { name, ty, value } => {
            let ty = ty.as_ref().map_or(String::new(), |t| format!(":{}", type_name(t)));
            let value = value.as_ref().map_or(String::new(), |v| format!(" {}", expr(v)));
            format!("(let {}{ty}{value})", name.text)
        }
        StatementKind::Discard(e) => format!("(_= {})", expr(e)),
        StatementKind::If(c, yes, None) => format!("(if {} {})", expr(c), block(yes)),
        StatementKind::If(c, yes, Some(no)) => format!("(if {} {} else {})", expr(c), block(yes), block(no)),
        StatementKind::While(c, body) => format!("(while {} {})", expr(c), block(body)),
        StatementKind::For { name, over, body } => {
            let over = match over {
                ForOver::Map(map) => map.text.to_string(),
                ForOver::Range(a, b) => format!("{}..{}", expr(a), expr(b)),
            };
            format!("(for {} {over} {})", name.text, block(body))
        }
        StatementKind::Unroll(count, body) => format!("(unroll {} {})", expr(count), block(body)),
        StatementKind::Break => "break".into(),
        StatementKind::Continue => "continue".into(),
        StatementKind::Return(None) => "return".into(),
        StatementKind::Return(Some(e)) => format!("(return {})", expr(e)),
        StatementKind::Block(inner) => block(inner),
    }
}

fn list(items: &[Expr]) -> String {
    items.iter().map(expr).collect::<Vec<_>>().join(" ")
}

/// Writes one expression.
#[must_use]
pub fn expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Error => "<error>".into(),
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Str(text) => format!("{text:?}"),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Ident(name) | ExprKind::Variable(name) | ExprKind::Map(name, None) => name.to_string(),
        ExprKind::Positional(number) => format!("${number}"),
        ExprKind::PositionalCount => "$#".into(),
        ExprKind::Map(name, Some(keys)) => format!("{name}[{}]", keys.iter().map(expr).collect::<Vec<_>>().join(", ")),
        ExprKind::Call(name, args) if args.is_empty() => format!("({})", name.text),
        ExprKind::Call(name, args) => format!("({} {})", name.text, list(args)),
        ExprKind::SizeOf(inner) => format!("(sizeof {})", type_or_expr(inner)),
        ExprKind::TypeInfo(inner) => format!("(typeinfo {})", type_or_expr(inner)),
        ExprKind::OffsetOf(inner, path) => format!("(offsetof {} {})", type_or_expr(inner), names(path, ".")),
        ExprKind::Unary(op, inner) => format!("({} {})", unary_symbol(*op), expr(inner)),
        ExprKind::Step { target, decrement, postfix } => {
            let symbol = if *decrement { "--" } else { "++" };
            if *postfix { format!("({} {symbol})", expr(target)) } else { format!("({symbol} {})", expr(target)) }
        }
        ExprKind::Binary(op, a, b) => format!("({} {} {})", binary_symbol(*op), expr(a), expr(b)),
        ExprKind::Conditional(c, Some(a), b) => format!("(? {} {} {})", expr(c), expr(a), expr(b)),
        ExprKind::Conditional(c, None, b) => format!("(?: {} {})", expr(c), expr(b)),
        ExprKind::If(c, a, b) => format!("(if {} {} else {})", expr(c), block(a), block(b)),
        ExprKind::Cast(ty, inner) => format!("(cast {} {})", type_name(ty), expr(inner)),
        ExprKind::Field(inner, name) => format!("(. {} {})", expr(inner), name.text),
        ExprKind::TupleField(inner, number, _) => format!("(. {} {number})", expr(inner)),
        ExprKind::Index(inner, index) => format!("(index {} {})", expr(inner), expr(index)),
        ExprKind::Tuple(parts) => format!("(tuple {})", list(parts)),
        ExprKind::Record(parts) => {
            let parts: Vec<_> = parts.iter().map(|(n, e)| format!("{}={}", n.text, expr(e))).collect();
            format!("(record {})", parts.join(" "))
        }
        ExprKind::Block(inner) => block(inner),
        ExprKind::Comptime(inner) => format!("(comptime {})", expr(inner)),
        ExprKind::Type(ty) => format!("<{}>", type_name(ty)),
    }
}

fn type_or_expr(inner: &TypeOrExpr) -> String {
    match inner {
        TypeOrExpr::Type(ty) => format!("<{}>", type_name(ty)),
        TypeOrExpr::Expr(e) => expr(e),
    }
}

fn unary_symbol(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "-",
        UnaryOp::BitNot => "~",
        UnaryOp::Not => "!",
        UnaryOp::Deref => "*",
        UnaryOp::AddressOf => "&",
    }
}

/// An operator as it is written.
#[must_use]
pub fn binary_symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
    }
}
