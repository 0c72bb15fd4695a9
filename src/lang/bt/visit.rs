//! Walks over the syntax tree: every child of a node, once for reading and once for changing.

use super::ast::{
    Block, Expr, ExprKind, ForOver, Item, Name, Statement, StatementKind, TypeBase, TypeName, TypeOrExpr,
};

/// A child to look at.
#[derive(Clone, Copy)]
pub enum Node<'a> {
    /// An expression.
    Expr(&'a Expr),
    /// A block.
    Block(&'a Block),
    /// A type.
    Type(&'a TypeName),
    /// A variable or map that is declared or run over.
    Name(&'a Name),
}

/// A child to change.
pub enum NodeMut<'a> {
    /// An expression.
    Expr(&'a mut Expr),
    /// A block.
    Block(&'a mut Block),
    /// A type.
    Type(&'a mut TypeName),
    /// A variable or map that is declared or run over.
    Name(&'a mut Name),
}

/// Both walks from one text, so that they can't differ.
macro_rules! walks {
    ($node:ident, $expr:ident, $statement:ident, $block:ident, $item:ident, $ty:ident, $operand:ident, $iter:ident, $($m:tt)?) => {
        /// Calls `f` on each direct child of an expression, in order of the text.
        pub fn $expr<'a>(e: &'a $($m)? Expr, f: &mut dyn FnMut($node<'a>)) {
            match &$($m)? e.kind {
                ExprKind::Error
                | ExprKind::Int(_)
                | ExprKind::Str(_)
                | ExprKind::Bool(_)
                | ExprKind::Ident(_)
                | ExprKind::Variable(_)
                | ExprKind::Positional(_)
                | ExprKind::PositionalCount
                | ExprKind::Map(_, None) => {}
                ExprKind::Map(_, Some(list)) | ExprKind::Call(_, list) | ExprKind::Tuple(list) => {
                    for e in list.$iter() { f($node::Expr(e)); }
                }
                ExprKind::SizeOf(inner) | ExprKind::OffsetOf(inner, _) | ExprKind::TypeInfo(inner) => $operand(inner, f),
                ExprKind::Unary(_, e)
                | ExprKind::Step { target: e, .. }
                | ExprKind::Field(e, _)
                | ExprKind::TupleField(e, ..)
                | ExprKind::Comptime(e) => f($node::Expr(e)),
                ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) | ExprKind::Conditional(a, None, b) => {
                    f($node::Expr(a));
                    f($node::Expr(b));
                }
                ExprKind::Conditional(c, Some(a), b) => {
                    f($node::Expr(c));
                    f($node::Expr(a));
                    f($node::Expr(b));
                }
                ExprKind::If(c, a, b) => {
                    f($node::Expr(c));
                    f($node::Block(a));
                    f($node::Block(b));
                }
                ExprKind::Cast(ty, e) => {
                    f($node::Type(ty));
                    f($node::Expr(e));
                }
                ExprKind::Record(list) => list.$iter().for_each(|(_, e)| f($node::Expr(e))),
                ExprKind::Block(block) => f($node::Block(block)),
                ExprKind::Type(ty) => f($node::Type(ty)),
            }
        }

        fn $operand<'a>(inner: &'a $($m)? TypeOrExpr, f: &mut dyn FnMut($node<'a>)) {
            match inner {
                TypeOrExpr::Type(ty) => f($node::Type(ty)),
                TypeOrExpr::Expr(e) => f($node::Expr(e)),
            }
        }

        /// Calls `f` on each direct child of a statement, in order of the text.
        pub fn $statement<'a>(s: &'a $($m)? Statement, f: &mut dyn FnMut($node<'a>)) {
            match &$($m)? s.kind {
                StatementKind::Expr(e) | StatementKind::Discard(e) | StatementKind::Return(Some(e)) => f($node::Expr(e)),
                StatementKind::Assign { target, value, .. } => {
                    f($node::Expr(target));
                    f($node::Expr(value));
                }
                StatementKind::Let { name, ty, value } => {
                    f($node::Name(name));
                    for t in ty.$iter() { f($node::Type(t)); }
                    for e in value.$iter() { f($node::Expr(e)); }
                }
                StatementKind::If(c, yes, no) => {
                    f($node::Expr(c));
                    f($node::Block(yes));
                    for b in no.$iter() { f($node::Block(b)); }
                }
                StatementKind::While(e, body) | StatementKind::Unroll(e, body) => {
                    f($node::Expr(e));
                    f($node::Block(body));
                }
                StatementKind::For { name, over, body } => {
                    f($node::Name(name));
                    match over {
                        ForOver::Map(map) => f($node::Name(map)),
                        ForOver::Range(a, b) => {
                            f($node::Expr(a));
                            f($node::Expr(b));
                        }
                    }
                    f($node::Block(body));
                }
                StatementKind::Break | StatementKind::Continue | StatementKind::Return(None) => {}
                StatementKind::Block(block) => f($node::Block(block)),
            }
        }

        /// Calls `f` on each direct child of a block's statements and on its value.
        pub fn $block<'a>(block: &'a $($m)? Block, f: &mut dyn FnMut($node<'a>)) {
            for s in block.statements.$iter() { $statement(s, f); }
            if let Some(value) = &$($m)? block.value {
                f($node::Expr(value));
            }
        }

        /// Calls `f` on each part of an item that holds code.
        pub fn $item<'a>(item: &'a $($m)? Item, f: &mut dyn FnMut($node<'a>)) {
            match item {
                Item::TypeDef(_) | Item::Import(_) => {}
                Item::Config(settings, _) => settings.$iter().for_each(|s| f($node::Expr(&$($m)? s.value))),
                Item::MapDecl(decl) => f($node::Expr(&$($m)? decl.size)),
                Item::Probe(probe) => {
                    for e in probe.predicate.$iter() { f($node::Expr(e)); }
                    f($node::Block(&$($m)? probe.body));
                }
                Item::Macro(m) => f($node::Block(&$($m)? m.body)),
                Item::Function(function) => {
                    for (_, ty) in function.parameters.$iter() { f($node::Type(ty)); }
                    for ty in function.result.$iter() { f($node::Type(ty)); }
                    f($node::Block(&$($m)? function.body));
                }
            }
        }

        /// Calls `f` on the children of a type: the parts of tuples and `typeof`'s operand.
        pub fn $ty<'a>(ty: &'a $($m)? TypeName, f: &mut dyn FnMut($node<'a>)) {
            match &$($m)? ty.base {
                TypeBase::Tuple(parts) => parts.$iter().for_each(|t| f($node::Type(t))),
                TypeBase::TypeOf(e) => f($node::Expr(e)),
                TypeBase::Named(_) | TypeBase::Struct(_) | TypeBase::Union(_) | TypeBase::Enum(_) | TypeBase::Sized(..) => {}
            }
        }
    };
}

walks!(Node, expr, statement, block, item, ty, operand, iter,);
walks!(NodeMut, expr_mut, statement_mut, block_mut, item_mut, ty_mut, operand_mut, iter_mut, mut);
