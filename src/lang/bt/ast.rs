//! The abstract syntax tree of a bpftrace script, as written: nothing resolved, nothing expanded.
//!
//! Every node has its span. The parser always returns a tree; where text made no sense it holds
//! [`ExprKind::Error`] or leaves a part out, and a diagnostic says so.

use std::sync::Arc;

use crate::lang::source::Span;

/// A name with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// As written, sigils (`$`, `@`) included.
    pub text: Arc<str>,
    /// Where.
    pub span: Span,
}

/// A whole script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// In order of the text.
    pub items: Vec<Item>,
    /// It includes headers, which the kernel's own types stand for.
    pub headers: bool,
}

/// A top-level item.
#[derive(Clone, Debug)]
pub enum Item {
    /// A C struct, union or enum definition.
    TypeDef(TypeDef),
    /// `config = { name = value; }`.
    Config(Vec<Setting>, Span),
    /// `import "path";`
    Import(Name),
    /// `let @m = lruhash(100);`
    MapDecl(MapDecl),
    /// A probe.
    Probe(Probe),
    /// `macro name($a, @m, e) { ... }`.
    Macro(Macro),
    /// `fn name($a: int64): int64 { ... }`.
    Function(Function),
}

/// One line of a config block.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Setting's name.
    pub name: Name,
    /// A literal or a bare word (as [`ExprKind::Ident`]).
    pub value: Expr,
}

/// A C type definition.
#[derive(Clone, Debug)]
pub enum TypeDef {
    /// `struct` or `union`.
    Struct {
        /// Tag.
        name: Name,
        /// True for a union.
        union: bool,
        /// `__attribute__((packed))`.
        packed: bool,
        /// Members.
        members: Vec<Member>,
        /// Whole definition.
        span: Span,
    },
    /// `enum`.
    Enum {
        /// Tag, empty text when anonymous.
        name: Name,
        /// Enumerators with their values, where given.
        variants: Vec<(Name, Option<Expr>)>,
        /// Whole definition.
        span: Span,
    },
    /// `typedef T name;`
    Alias {
        /// New name.
        name: Name,
        /// What it stands for.
        ty: TypeName,
    },
}

/// A struct member.
#[derive(Clone, Debug)]
pub struct Member {
    /// Name; empty text for an anonymous member.
    pub name: Name,
    /// Type.
    pub ty: TypeName,
    /// Width of a bitfield.
    pub bits: Option<u32>,
    /// Body of an anonymous struct or union declared in place.
    pub body: Option<Box<TypeDef>>,
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct TypeName {
    /// The name's words: `unsigned long`, `struct task_struct`, `uint64`, `string`, `count_t`.
    pub base: TypeBase,
    /// Stars and array sizes in the order they apply: `T*[4]` is pointer, then array.
    pub suffixes: Vec<TypeSuffix>,
    /// Where.
    pub span: Span,
}

/// The base of a type.
#[derive(Clone, Debug)]
pub enum TypeBase {
    /// A named type; several words are joined by one space.
    Named(Arc<str>),
    /// `struct X`.
    Struct(Arc<str>),
    /// `union X`.
    Union(Arc<str>),
    /// `enum X`.
    Enum(Arc<str>),
    /// `string[N]`, `buffer[N]`, `inet`: a named type with a size.
    Sized(Arc<str>, u64),
    /// `(int64, string)`.
    Tuple(Vec<TypeName>),
    /// `typeof(expr)`.
    TypeOf(Box<Expr>),
}

/// What follows a type's base.
#[derive(Clone, Debug)]
pub enum TypeSuffix {
    /// `*`
    Pointer,
    /// `[N]`; `None` for `[]`. Of `T[2][3]`, which is 2 arrays of 3, the 3 comes first.
    Array(Option<u64>),
}

/// `let @name = kind(size);`
#[derive(Clone, Debug)]
pub struct MapDecl {
    /// Map's name.
    pub name: Name,
    /// `hash`, `lruhash`, `percpuhash`, `percpulruhash`.
    pub kind: Name,
    /// Size.
    pub size: Expr,
    /// Whole declaration.
    pub span: Span,
}

/// A probe.
#[derive(Clone, Debug)]
pub struct Probe {
    /// `name = ` before the attach points.
    pub name: Option<Name>,
    /// The attach points as written, each trimmed, positional parameters not yet replaced.
    pub points: Vec<Name>,
    /// `/ predicate /`.
    pub predicate: Option<Expr>,
    /// Body.
    pub body: Block,
    /// The semantic probe that it stands for at one place.
    pub alias: Option<Arc<str>>,
    /// The predicate already says that the event is about the process of `-p`.
    pub limited: bool,
    /// All of it.
    pub span: Span,
}

/// A macro.
#[derive(Clone, Debug)]
pub struct Macro {
    /// Name.
    pub name: Name,
    /// Parameters: `$x` by variable, `@m` by map, `x` by expression.
    pub parameters: Vec<Name>,
    /// Body: its last expression is the value.
    pub body: Block,
    /// All of it.
    pub span: Span,
}

/// A user-defined function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name.
    pub name: Name,
    /// Parameters and their types.
    pub parameters: Vec<(Name, TypeName)>,
    /// Result type; `None` for none.
    pub result: Option<TypeName>,
    /// Body.
    pub body: Block,
    /// All of it.
    pub span: Span,
}

/// `{ statements; value }`.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// In order.
    pub statements: Vec<Statement>,
    /// The last expression without `;`, which is the block's value where one is asked for.
    pub value: Option<Box<Expr>>,
    /// Braces included.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What.
    pub kind: StatementKind,
    /// Where.
    pub span: Span,
}

/// Statements.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// An expression for its effect.
    Expr(Expr),
    /// `target = value` and compound assignments (`op` is the operator before `=`).
    Assign {
        /// A variable, map access, tuple pattern or place.
        target: Expr,
        /// `+` of `+=`.
        op: Option<BinaryOp>,
        /// New value.
        value: Expr,
    },
    /// `let $x: type = value`.
    Let {
        /// Variable.
        name: Name,
        /// Declared type.
        ty: Option<TypeName>,
        /// First value.
        value: Option<Expr>,
    },
    /// `_ = e`: evaluate and discard.
    Discard(Expr),
    /// `if cond { } else { }`; `else if` is a block with one statement.
    If(Expr, Block, Option<Block>),
    /// `while cond { }`.
    While(Expr, Block),
    /// `for $x : iterable { }`.
    For {
        /// Loop variable.
        name: Name,
        /// What it runs over.
        over: ForOver,
        /// Body.
        body: Block,
    },
    /// `unroll(n) { }`.
    Unroll(Expr, Block),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `return e`.
    Return(Option<Expr>),
    /// `{ }`.
    Block(Block),
}

/// What a `for` runs over.
#[derive(Clone, Debug)]
pub enum ForOver {
    /// `@map`.
    Map(Name),
    /// `a..b`.
    Range(Expr, Expr),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// Expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// Could not be parsed.
    Error,
    /// An integer with suffixes and durations applied.
    Int(u64),
    /// A string, escapes resolved.
    Str(Arc<str>),
    /// `true`, `false`.
    Bool(bool),
    /// A bare name: a builtin, an enumerator, a macro's parameter.
    Ident(Arc<str>),
    /// `$x`.
    Variable(Arc<str>),
    /// `$1`.
    Positional(u32),
    /// `$#`.
    PositionalCount,
    /// `@m` or `@m[k1, k2]`.
    Map(Arc<str>, Option<Vec<Expr>>),
    /// `f(args)`.
    Call(Name, Vec<Expr>),
    /// `sizeof(type)`, and `sizeof(expr)` by [`TypeOrExpr::Expr`].
    SizeOf(Box<TypeOrExpr>),
    /// `offsetof(type, a.b)`.
    OffsetOf(Box<TypeOrExpr>, Vec<Name>),
    /// Unary operators.
    Unary(UnaryOp, Box<Expr>),
    /// `++x`, `x++`, `--x`, `x--`.
    Step {
        /// A variable or map access.
        target: Box<Expr>,
        /// `--`.
        decrement: bool,
        /// After the operand.
        postfix: bool,
    },
    /// Binary operators, `&&` and `||` included.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `c ? a : b`; `a` is absent in `c ?: b`.
    Conditional(Box<Expr>, Option<Box<Expr>>, Box<Expr>),
    /// `if c { a } else { b }` as an expression.
    If(Box<Expr>, Box<Block>, Box<Block>),
    /// `(type)e`.
    Cast(TypeName, Box<Expr>),
    /// `e.name`, `e->name`.
    Field(Box<Expr>, Name),
    /// `e.0`.
    TupleField(Box<Expr>, u32, Span),
    /// `e[i]`.
    Index(Box<Expr>, Box<Expr>),
    /// `(a, b)`; one element needs a trailing comma.
    Tuple(Vec<Expr>),
    /// `(x = 1, y = 2)`.
    Record(Vec<(Name, Expr)>),
    /// `{ ...; e }`.
    Block(Box<Block>),
    /// `comptime e`.
    Comptime(Box<Expr>),
    /// `typeinfo(e)`.
    TypeInfo(Box<TypeOrExpr>),
    /// A type where a value usually stands: an argument of `container_of` or of a macro.
    Type(TypeName),
}

/// Operand of `sizeof` and kin.
#[derive(Clone, Debug)]
pub enum TypeOrExpr {
    /// A type.
    Type(TypeName),
    /// An expression.
    Expr(Expr),
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `~`
    BitNot,
    /// `!`
    Not,
    /// `*`
    Deref,
    /// `&`
    AddressOf,
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is named after its symbol")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    And,
    Or,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}
