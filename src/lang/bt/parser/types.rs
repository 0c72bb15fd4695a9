//! Types as written in casts, declarations and definitions.

use std::sync::Arc;

use crate::lang::bt::ast::{Expr, ExprKind, TypeBase, TypeName, TypeSuffix};
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::codes::parse as codes;

use crate::lang::bt::parser::Parser;

/// Words that are part of C's many-worded integer names.
pub(crate) const C_INT_WORDS: &[&str] = &["unsigned", "signed", "long", "short", "int", "char", "double", "float"];

/// Words that say nothing that matters here.
const QUALIFIERS: &[&str] = &["const", "volatile", "restrict", "__user", "__kernel", "__rcu", "__percpu", "__restrict"];

/// Names that are types wherever they stand.
pub(crate) const TYPE_WORDS: &[&str] = &[
    "void",
    "bool",
    "_Bool",
    "size_t",
    "ssize_t",
    "uintptr_t",
    "intptr_t",
    "string",
    "buffer",
    "inet",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "u8",
    "u16",
    "u32",
    "u64",
    "s8",
    "s16",
    "s32",
    "s64",
    "__u8",
    "__u16",
    "__u32",
    "__u64",
    "__s8",
    "__s16",
    "__s32",
    "__s64",
    "count_t",
    "sum_t",
    "usum_t",
    "min_t",
    "umin_t",
    "max_t",
    "umax_t",
    "avg_t",
    "uavg_t",
    "stats_t",
    "ustats_t",
    "hist_t",
    "lhist_t",
    "tseries_t",
    "kstack_t",
    "ustack_t",
    "ksym_t",
    "usym_t",
    "macaddr_t",
    "username_t",
    "cgroup_path_t",
    "timestamp",
    "pid_t",
    "uid_t",
    "gid_t",
    "dev_t",
    "ino_t",
    "loff_t",
    "sector_t",
    "gfp_t",
];

/// Most pointers and arrays over one type.
const MAX_LAYERS: usize = 64;

impl Parser<'_> {
    /// A type with its stars and sizes.
    pub fn type_name(&mut self) -> Option<TypeName> {
        self.nested(|p| {
            let start = p.token().span;
            let base = type_base(p)?;
            let mut suffixes = Vec::new();
            stars(p, &mut suffixes);
            sizes(p, &mut suffixes);
            Some(TypeName { base, suffixes, span: p.since(start) })
        })
        .flatten()
    }
}

/// True where a type begins for certain.
pub fn at_type(p: &Parser<'_>) -> bool {
    type_ahead(p, 0)
}

fn type_ahead(p: &Parser<'_>, ahead: usize) -> bool {
    let Some(word) = p.word_ahead(ahead) else { return false };
    let next = p.peek(ahead + 1).kind;
    if matches!(word, "struct" | "union" | "enum" | "const" | "volatile") {
        return next == T::Word;
    }
    if word == "typeof" {
        return next == T::LParen;
    }
    if C_INT_WORDS.contains(&word) || TYPE_WORDS.contains(&word) {
        // A call such as `buffer(...)` or a field of that name is no type.
        return matches!(
            next,
            T::Star | T::LBracket | T::RParen | T::Comma | T::Word | T::Assign | T::Semicolon | T::LBrace
        );
    }
    next == T::Star && only_stars_then_close(p, ahead + 1)
}

/// `* * )` or `* ,`: an unknown word before it must be a type.
fn only_stars_then_close(p: &Parser<'_>, mut ahead: usize) -> bool {
    while p.peek(ahead).kind == T::Star {
        ahead += 1;
    }
    matches!(p.peek(ahead).kind, T::RParen)
}

/// At `(`: is it a cast?
pub fn at_cast(p: &Parser<'_>) -> bool {
    if type_ahead(p, 1) {
        return !matches!(p.word_ahead(1), Some("typeof")) || typeof_cast(p);
    }
    let Some(word) = p.word_ahead(1) else { return false };
    if word.starts_with(|c: char| c.is_ascii_digit()) || p.peek(2).kind != T::RParen {
        return false;
    }
    // `(word)` before a value: two values side by side make no sense, so it is a type.
    let value = match p.peek(3).kind {
        T::Variable | T::Map | T::Int | T::Str | T::Positional => true,
        T::LParen => word.ends_with("_t"),
        T::Word => !matches!(p.word_ahead(3), Some("else")),
        _ => false,
    };
    value && !crate::lang::bt::builtins::is_variable(word)
}

/// `(typeof(x))y` rather than `(typeof(x) ...)`.
fn typeof_cast(p: &Parser<'_>) -> bool {
    let mut depth = 0_u32;
    for ahead in 2.. {
        match p.peek(ahead).kind {
            T::LParen => depth += 1,
            T::RParen if depth <= 1 => {
                let next = p.peek(ahead + 1).kind;
                return matches!(next, T::RParen | T::Star | T::LBracket);
            }
            T::RParen => depth -= 1,
            T::Eof | T::Semicolon | T::Unclosed => return false,
            _ => {}
        }
    }
    false
}

pub fn qualifiers(p: &mut Parser<'_>) {
    while p.word_ahead(0).is_some_and(|w| QUALIFIERS.contains(&w)) {
        p.bump();
    }
}

pub fn stars(p: &mut Parser<'_>, suffixes: &mut Vec<TypeSuffix>) {
    loop {
        qualifiers(p);
        if !p.at_kind(T::Star) || !layered(p, suffixes.len()) {
            return;
        }
        p.bump();
        suffixes.push(TypeSuffix::Pointer);
    }
}

/// `[2][3]`: an array of 2 arrays of 3, so the last size applies first.
pub fn sizes(p: &mut Parser<'_>, suffixes: &mut Vec<TypeSuffix>) {
    let mut sizes = Vec::new();
    while let Some(open) = p.accept(T::LBracket) {
        if !layered(p, suffixes.len() + sizes.len()) {
            break;
        }
        let size = if p.at_kind(T::RBracket) { None } else { Some(constant(p)) };
        p.close(T::RBracket, "]", open);
        sizes.push(TypeSuffix::Array(size));
    }
    sizes.reverse();
    suffixes.append(&mut sizes);
}

/// Whether a type may have one more layer over so many: types are followed layer by layer.
fn layered(p: &mut Parser<'_>, layers: usize) -> bool {
    let fine = layers < MAX_LAYERS;
    if !fine {
        p.too_deep();
    }
    fine
}

/// The base of a type: everything before its stars.
pub fn type_base(p: &mut Parser<'_>) -> Option<TypeBase> {
    qualifiers(p);
    if p.at_kind(T::LParen) {
        return tuple_type(p);
    }
    let Some(word) = p.word_ahead(0) else {
        let message = format!("expected a type, found {}", p.found());
        p.error_here(
            codes::BAD_TYPE,
            message,
            "types are `uint64`, `string`, `struct x`, `struct x *`, `int32[4]`, `(int64, string)`",
        );
        return None;
    };
    let base = match word {
        "struct" | "union" | "enum" => {
            p.bump();
            let tag = tag(p)?;
            match word {
                "struct" => TypeBase::Struct(tag),
                "union" => TypeBase::Union(tag),
                _ => TypeBase::Enum(tag),
            }
        }
        "typeof" => {
            p.bump();
            let open = p.expect(T::LParen, "`(`", "write `typeof(expression)`")?;
            let start = p.token().span;
            let ty = if at_type(p) { p.type_name() } else { None };
            let inner = match ty {
                Some(ty) => Expr { kind: ExprKind::Type(ty), span: p.since(start) },
                None => p.expression(),
            };
            p.close(T::RParen, ")", open);
            TypeBase::TypeOf(Box::new(inner))
        }
        "string" | "buffer" | "inet" if p.peek(1).kind == T::LBracket => sized(p, word),
        _ if C_INT_WORDS.contains(&word) => TypeBase::Named(c_words(p)),
        _ => {
            p.bump();
            TypeBase::Named(word.into())
        }
    };
    qualifiers(p);
    Some(base)
}

fn tag(p: &mut Parser<'_>) -> Option<Arc<str>> {
    let token = p.expect(T::Word, "the type's name", "write `struct name`")?;
    Some(p.text_of(token).into())
}

/// `string[64]`
fn sized(p: &mut Parser<'_>, word: &str) -> TypeBase {
    p.bump();
    let open = p.bump();
    let size = constant(p);
    p.close(T::RBracket, "]", open);
    TypeBase::Sized(word.into(), size)
}

/// `unsigned long long`, joined by one space.
fn c_words(p: &mut Parser<'_>) -> Arc<str> {
    let mut words = Vec::new();
    while let Some(word) = p.word_ahead(0) {
        if QUALIFIERS.contains(&word) {
            p.bump();
            continue;
        }
        if !C_INT_WORDS.contains(&word) {
            break;
        }
        words.push(word);
        p.bump();
    }
    words.join(" ").into()
}

/// `(int64, string)`
fn tuple_type(p: &mut Parser<'_>) -> Option<TypeBase> {
    let open = p.bump();
    let mut parts = Vec::new();
    while !p.at_end() && !p.at_kind(T::RParen) {
        parts.push(p.type_name()?);
        if p.accept(T::Comma).is_none() {
            break;
        }
    }
    p.close(T::RParen, ")", open);
    Some(TypeBase::Tuple(parts))
}

/// A constant integer: a literal, or arithmetic with literals and `sizeof`-free names.
pub fn constant(p: &mut Parser<'_>) -> u64 {
    let expr = p.expression();
    let value = crate::lang::bt::constant::fold(&expr);
    if value.is_none() && !matches!(expr.kind, ExprKind::Error) {
        p.report_always(
            crate::lang::diagnostic::Diagnostic::error(
                codes::NOT_CONSTANT,
                expr.span,
                "this size must be an integer literal",
            )
            .help("sizes are part of a type, so they must be known when the script is compiled"),
        );
    }
    value.unwrap_or(0)
}
