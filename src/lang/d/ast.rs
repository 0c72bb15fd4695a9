//! The syntax tree of a D program, as it is written: names are not resolved and macros are put in.

#![allow(missing_docs, reason = "nodes and their parts are named by the grammar's own words")]

use std::sync::Arc;

use crate::lang::source::Span;

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// In the order of the text.
    pub items: Vec<Item>,
    /// `$1` and its kin that were used, by number.
    pub used_arguments: Vec<bool>,
    /// How many of `arg0`, `arg1`, ... the text names: one more than the highest.
    pub probe_arguments: u8,
}

/// Something at the top of a program.
#[derive(Clone, Debug)]
pub struct Item {
    pub kind: ItemKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ItemKind {
    Clause(Clause),
    /// Variables and types; without declarators it declares a struct, union or enum.
    Declaration(Box<Declaration>),
    /// `inline T name = e;`
    Inline(Box<Declaration>, Box<Expr>),
    Translator(Box<Translator>),
    /// `provider NAME { probe ...; };`, of use to generated headers only.
    Provider(Name),
    Pragma(Pragma),
}

/// `probes / predicate / { statements }`
#[derive(Clone, Debug)]
pub struct Clause {
    pub probes: Vec<ProbeSpec>,
    pub predicate: Option<Expr>,
    /// Absent when only the probe is named, as `-n` allows.
    pub body: Option<Vec<Expr>>,
}

/// A probe description as written.
#[derive(Clone, Debug)]
pub struct ProbeSpec {
    pub text: Arc<str>,
    pub span: Span,
}

/// A name and its place.
#[derive(Clone, Debug)]
pub struct Name {
    pub text: Arc<str>,
    pub span: Span,
}

/// `#pragma ...`
#[derive(Clone, Debug)]
pub struct Pragma {
    pub words: Vec<Name>,
    /// `#pragma D`, and not `#pragma` alone.
    pub of_d: bool,
    /// The word after `#` when it is another than `pragma`.
    pub control: Name,
}

/// `translator OUT < IN name > { member = e; ... };`
#[derive(Clone, Debug)]
pub struct Translator {
    pub output: TypeName,
    pub input: TypeName,
    pub parameter: Name,
    pub members: Vec<(Name, Expr)>,
}

/// Specifiers and declarators.
#[derive(Clone, Debug)]
pub struct Declaration {
    pub specifiers: Specifiers,
    pub declarators: Vec<Declarator>,
}

/// What stands before the declarators.
#[derive(Clone, Debug, Default)]
pub struct Specifiers {
    /// `typedef`, `extern`, `self`, ... in order.
    pub classes: Vec<Name>,
    /// `unsigned`, `long`, `int`, `const`, ... and names of types, in order.
    pub words: Vec<Name>,
    /// A struct, union or enum.
    pub tagged: Option<Box<Tagged>>,
    pub span: Span,
}

/// `struct NAME { ... }`, `union ...`, `enum ...`
#[derive(Clone, Debug)]
pub struct Tagged {
    pub kind: TagKind,
    pub name: Option<Name>,
    pub body: Option<TagBody>,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagKind {
    Struct,
    Union,
    Enum,
}

#[derive(Clone, Debug)]
pub enum TagBody {
    Members(Vec<Member>),
    Enumerators(Vec<(Name, Option<Expr>)>),
}

/// Members of one declaration.
#[derive(Clone, Debug)]
pub struct Member {
    pub specifiers: Specifiers,
    /// With the widths of bitfields; a bitfield may have no name.
    pub declarators: Vec<(Declarator, Option<Expr>)>,
}

/// `*name[3]`: what is done to the type, from the name outwards.
#[derive(Clone, Debug, Default)]
pub struct Declarator {
    pub name: Option<Name>,
    /// Applied to the specifiers' type in reverse: the first is nearest to the name.
    pub parts: Vec<DeclaratorPart>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum DeclaratorPart {
    Pointer,
    /// `[e]`
    Array(Option<Box<Expr>>, Span),
    /// `[type, type]`: the keys of an associative array.
    Keys(Vec<TypeName>, Span),
    /// `(types)`
    Function(Vec<TypeName>, Span),
}

/// A type's name, as in a cast, or a parameter.
#[derive(Clone, Debug)]
pub struct TypeName {
    pub specifiers: Specifiers,
    pub declarator: Declarator,
    /// `...`
    pub variadic: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    /// What could not be read; an error was reported.
    Error,
    /// No statement between two `;`.
    Empty,
    Int(Literal),
    Str(Arc<[u8]>),
    Ident(Arc<str>),
    /// `@name`, with its sign.
    Aggregation(Arc<str>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `=` and the operators with it.
    Assign(Option<Binary>, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    Index(Box<Expr>, Vec<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    /// `.name` or `->name`.
    Member {
        base: Box<Expr>,
        arrow: bool,
        name: Name,
    },
    /// `++` and `--`.
    Step {
        operand: Box<Expr>,
        increment: bool,
        postfix: bool,
    },
    Cast(Box<TypeName>, Box<Expr>),
    SizeofType(Box<TypeName>),
    SizeofExpr(Box<Expr>),
    Offsetof(Box<TypeName>, Name),
    Xlate(Box<TypeName>, Box<Expr>),
}

/// An integer constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    pub value: u64,
    pub unsigned: bool,
    pub long: bool,
    /// Written in decimal: it may not become unsigned by its size alone.
    pub decimal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    AddressOf,
    Deref,
    Plus,
    Negate,
    BitNot,
    Not,
    Stringof,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Comma,
    LogicalOr,
    LogicalXor,
    LogicalAnd,
    BitOr,
    BitXor,
    BitAnd,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
    Div,
    Mod,
}

impl Binary {
    /// Its sign.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Comma => ",",
            Self::LogicalOr => "||",
            Self::LogicalXor => "^^",
            Self::LogicalAnd => "&&",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::BitAnd => "&",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Mod => "%",
        }
    }
}

impl Unary {
    /// Its sign.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::AddressOf => "&",
            Self::Deref => "*",
            Self::Plus => "+",
            Self::Negate => "-",
            Self::BitNot => "~",
            Self::Not => "!",
            Self::Stringof => "stringof ",
        }
    }
}
