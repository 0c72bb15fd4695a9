//! Where things are defined, and what a script holds.

use super::context::{Context, each_block, each_expr, item_span};
use super::infer::{Inference, Known};
use crate::lang::bt::ast::{ExprKind, Item, Name, StatementKind, TypeDef};
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::service::{NoKnowledge, ServiceEnv, Symbol, SymbolKind};
use crate::lang::source::{SourceText, Span};

/// The place where the thing at `offset` is defined in this script.
#[must_use]
pub fn definition(source: &SourceText, offset: u32) -> Option<Span> {
    let context = Context::new(source, offset);
    let index = context.token_under()?;
    let text = context.text(index);
    let before = context.before(Some(index)).map(|i| context.kind(i));
    match context.kind(index) {
        T::Variable => variable(&context, text),
        T::Map => map(&context, text),
        T::Word if matches!(before, Some(T::Dot | T::Arrow)) => member(&context, context.span(index), text),
        T::Word => name(&context, text).or_else(|| define_line(&context, text)),
        _ => None,
    }
}

fn variable(context: &Context<'_>, text: &str) -> Option<Span> {
    let item = context.item()?;
    let parameter = match item {
        Item::Macro(m) => m.parameters.iter().find(|p| *p.text == *text),
        Item::Function(f) => f.parameters.iter().map(|(n, _)| n).find(|p| *p.text == *text),
        _ => None,
    };
    let mut found = parameter.map(|p| p.span);
    let mut first = |span: Span| {
        if found.is_none_or(|f| span.start < f.start) {
            found = Some(span);
        }
    };
    each_block(item, &mut |block| {
        for statement in &block.statements {
            match &statement.kind {
                StatementKind::Let { name, .. } | StatementKind::For { name, .. } if *name.text == *text => {
                    first(name.span);
                }
                StatementKind::Assign { target, op: None, .. } if matches!(&target.kind, ExprKind::Variable(n) if **n == *text) =>
                {
                    first(target.span);
                }
                _ => {}
            }
        }
    });
    found
}

fn map(context: &Context<'_>, text: &str) -> Option<Span> {
    let declared = context.script.items.iter().find_map(|i| match i {
        Item::MapDecl(d) if *d.name.text == *text => Some(d.name.span),
        _ => None,
    });
    let mut assigned = None;
    let mut used = None;
    for item in &context.script.items {
        each_block(item, &mut |block| {
            for statement in &block.statements {
                if let StatementKind::Assign { target, .. } = &statement.kind
                    && matches!(&target.kind, ExprKind::Map(n, _) if **n == *text)
                {
                    assigned.get_or_insert(target.span);
                }
            }
        });
        each_expr(item, &mut |e| {
            if matches!(&e.kind, ExprKind::Map(n, _) if **n == *text) {
                used.get_or_insert(e.span);
            }
        });
    }
    declared.or(assigned).or(used)
}

/// A macro, function, type or enumerator of the script.
fn name(context: &Context<'_>, text: &str) -> Option<Span> {
    context.script.items.iter().find_map(|item| {
        let own = match item {
            Item::Macro(m) => Some(&m.name),
            Item::Function(f) => Some(&f.name),
            Item::TypeDef(TypeDef::Struct { name, .. } | TypeDef::Alias { name, .. }) => Some(name),
            Item::TypeDef(TypeDef::Enum { name, variants, .. }) => {
                return variants.iter().map(|(n, _)| n).chain([name]).find(|n| *n.text == *text).map(|n| n.span);
            }
            _ => None,
        };
        own.filter(|n: &&Name| *n.text == *text).map(|n| n.span)
    })
}

/// A member of a struct that the script defines: of the one that stands before the dot, where that is
/// known.
fn member(context: &Context<'_>, span: Span, text: &str) -> Option<Span> {
    let mut base = None;
    if let Some(item) = context.item() {
        each_expr(item, &mut |e| {
            if let ExprKind::Field(inner, name) = &e.kind
                && name.span == span
            {
                base = Some((&**inner, item));
            }
        });
    }
    let inference = Inference { context, env: ServiceEnv { knowledge: &NoKnowledge } };
    let known = base.and_then(|(e, item)| inference.of(e, item));
    let own = known.as_ref().and_then(|k| if let Known::Type(ty) = k { Some(tag_of(ty)) } else { None });
    let find = |wanted: Option<&str>| {
        context.script.items.iter().find_map(|item| match item {
            Item::TypeDef(TypeDef::Struct { name, members, .. }) if wanted.is_none_or(|w| *name.text == *w) => {
                members.iter().find(|m| *m.name.text == *text).map(|m| m.name.span)
            }
            _ => None,
        })
    };
    own.and_then(|tag| find(Some(tag))).or_else(|| find(None))
}

/// `x` of `const struct x *`.
fn tag_of(ty: &str) -> &str {
    let words = ty.split(['*', '[']).next().unwrap_or("");
    words.split_whitespace().next_back().unwrap_or("")
}

/// The `#define` line of a name.
pub(super) fn define_line(context: &Context<'_>, text: &str) -> Option<Span> {
    let lines = context.tokens.iter().filter(|t| t.kind == T::Directive);
    lines.map(|t| t.span).find(|span| {
        let line = context.source.slice(*span).trim_start_matches(['#', ' ', '\t']);
        line.strip_prefix("define").is_some_and(|rest| rest.split_whitespace().next() == Some(text))
    })
}

/// The path of the `import` that `offset` is in, as the script has it.
#[must_use]
pub fn imported(source: &SourceText, offset: u32) -> Option<String> {
    let context = Context::new(source, offset);
    context.script.items.iter().find_map(|item| match item {
        Item::Import(path) if (path.span.start..=path.span.end).contains(&offset) => Some(path.text.to_string()),
        _ => None,
    })
}

/// The script's top-level items, in order.
#[must_use]
pub fn symbols(source: &SourceText) -> Vec<Symbol> {
    let context = Context::new(source, 0);
    context.script.items.iter().filter_map(symbol).collect()
}

fn symbol(item: &Item) -> Option<Symbol> {
    let span = item_span(item);
    let (name, kind, selection) = match item {
        Item::Probe(probe) => {
            let names: Vec<_> = probe.points.iter().map(|p| &*p.text).collect();
            let first = probe.points.first()?.span;
            (names.join(", "), SymbolKind::Probe, first.to(probe.points.last().map_or(first, |p| p.span)))
        }
        Item::Macro(m) => (m.name.text.to_string(), SymbolKind::Macro, m.name.span),
        Item::Function(f) => (f.name.text.to_string(), SymbolKind::Function, f.name.span),
        Item::MapDecl(d) => (d.name.text.to_string(), SymbolKind::Map, d.name.span),
        Item::TypeDef(TypeDef::Struct { name, .. } | TypeDef::Enum { name, .. } | TypeDef::Alias { name, .. }) => {
            (name.text.to_string(), SymbolKind::Type, name.span)
        }
        Item::Config(_, span) => ("config".to_owned(), SymbolKind::Config, *span),
        Item::Import(_) => return None,
    };
    (!name.is_empty()).then_some(Symbol { name, kind, span, selection })
}
