//! Imports: other scripts' macros, functions, types, declarations and probes.

use std::collections::HashSet;

use super::ExpandInputs;
use crate::lang::bt::ast::{Block, Expr, ExprKind, Item, Name, Script, TypeDef, TypeName};
use crate::lang::bt::parser::parse;
use crate::lang::bt::visit::{self, NodeMut};
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::{Diagnostic, Severity};
use crate::lang::source::{SourceText, Span};

/// How many files a script may import, directly and through others.
const MAX_FILES: usize = 256;

/// Replaces every import by what it brings.
pub(super) fn resolve(script: &mut Script, inputs: &ExpandInputs<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut importer = Importer { inputs, diagnostics, open: Vec::new(), done: HashSet::new() };
    let items = std::mem::take(&mut script.items);
    script.items = importer.items(items, None);
}

struct Importer<'a, 'b> {
    inputs: &'a ExpandInputs<'b>,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// Files being imported, outermost first.
    open: Vec<String>,
    done: HashSet<String>,
}

impl Importer<'_, '_> {
    /// `place` is the root script's import, for items of imported files.
    fn items(&mut self, items: Vec<Item>, place: Option<Span>) -> Vec<Item> {
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::Import(name) => out.extend(self.import(&name, place.unwrap_or(name.span))),
                Item::Config(..) if place.is_some() => {
                    let place = place.unwrap_or_default();
                    self.error(
                        codes::IMPORT_CONTENT,
                        place,
                        "the imported script has a `config` block",
                        "move its settings to this script",
                    );
                }
                mut other => {
                    if let Some(place) = place {
                        place_item(&mut other, place);
                    }
                    out.push(other);
                }
            }
        }
        out
    }

    fn error(&mut self, code: crate::lang::diagnostic::Code, span: Span, message: &str, help: &str) {
        self.diagnostics.push(Diagnostic::error(code, span, message).help(help));
    }

    fn import(&mut self, name: &Name, place: Span) -> Vec<Item> {
        let path = name.text.to_string();
        if self.open.contains(&path) {
            let message = format!("`{path}` imports itself");
            self.error(codes::IMPORT_CYCLE, place, &message, "move what both files need to a third one");
            return Vec::new();
        }
        if self.done.contains(&path) {
            return Vec::new();
        }
        if matches!(path.rsplit('.').next(), Some("c" | "h")) {
            let message = format!("`{path}` is C, and importing C needs a C compiler");
            self.error(codes::IMPORT_KIND, place, &message, "import scripts (`.bt`); types come from the kernel's BTF");
            return Vec::new();
        }
        if self.done.len() >= MAX_FILES {
            self.error(
                codes::IMPORT_FAILED,
                place,
                "too many files are imported",
                "put what is needed into fewer files",
            );
            return Vec::new();
        }
        self.done.insert(path.clone());
        let text = match (self.inputs.load)(&path) {
            Ok(text) => text,
            Err(why) => {
                let message = format!("`{path}` can't be imported: {why}");
                self.error(codes::IMPORT_FAILED, place, &message, "paths are relative to the importing script");
                return Vec::new();
            }
        };
        let source = SourceText::new(&path, &text);
        let parsed = parse(&source);
        for inner in parsed.diagnostics.iter().filter(|d| d.severity > Severity::Info) {
            let at = source.position(inner.span.start);
            let message = format!("in {path}, line {}, column {}: {}", at.line, at.column, inner.message);
            self.diagnostics.push(Diagnostic { span: place, message, labels: Vec::new(), fix: None, ..inner.clone() });
        }
        self.open.push(path);
        let items = self.items(parsed.script.items, Some(place));
        self.open.pop();
        items
    }
}

/// Puts everything in an item at one place of the importing script.
fn place_item(item: &mut Item, place: Span) {
    match item {
        Item::TypeDef(def) => place_def(def, place),
        Item::Config(_, span) => *span = place,
        Item::Import(name) => name.span = place,
        Item::MapDecl(decl) => {
            decl.span = place;
            decl.name.span = place;
            decl.kind.span = place;
        }
        Item::Probe(probe) => {
            probe.span = place;
            probe.points.iter_mut().chain(&mut probe.name).for_each(|n| n.span = place);
        }
        Item::Macro(m) => {
            m.span = place;
            m.name.span = place;
            m.parameters.iter_mut().for_each(|n| n.span = place);
        }
        Item::Function(f) => {
            f.span = place;
            f.name.span = place;
            f.parameters.iter_mut().for_each(|(n, _)| n.span = place);
        }
    }
    visit::item_mut(item, &mut |node| place_node(node, place));
}

fn place_node(node: NodeMut<'_>, place: Span) {
    match node {
        NodeMut::Expr(e) => place_expr(e, place),
        NodeMut::Block(block) => place_block(block, place),
        NodeMut::Type(ty) => place_type(ty, place),
        NodeMut::Name(name) => name.span = place,
    }
}

fn place_block(block: &mut Block, place: Span) {
    block.span = place;
    block.statements.iter_mut().for_each(|s| s.span = place);
    visit::block_mut(block, &mut |node| place_node(node, place));
}

fn place_type(ty: &mut TypeName, place: Span) {
    ty.span = place;
    visit::ty_mut(ty, &mut |node| place_node(node, place));
}

fn place_expr(e: &mut Expr, place: Span) {
    e.span = place;
    match &mut e.kind {
        ExprKind::Call(name, _) | ExprKind::Field(_, name) => name.span = place,
        ExprKind::OffsetOf(_, names) => names.iter_mut().for_each(|n| n.span = place),
        ExprKind::Record(parts) => parts.iter_mut().for_each(|(n, _)| n.span = place),
        ExprKind::TupleField(_, _, span) => *span = place,
        _ => {}
    }
    visit::expr_mut(e, &mut |node| place_node(node, place));
}

fn place_def(def: &mut TypeDef, place: Span) {
    match def {
        TypeDef::Struct { name, members, span, .. } => {
            name.span = place;
            *span = place;
            for member in members {
                member.name.span = place;
                place_type(&mut member.ty, place);
                if let Some(body) = &mut member.body {
                    place_def(body, place);
                }
            }
        }
        TypeDef::Enum { name, variants, span } => {
            name.span = place;
            *span = place;
            for (name, value) in variants {
                name.span = place;
                if let Some(value) = value {
                    place_expr(value, place);
                }
            }
        }
        TypeDef::Alias { name, ty } => {
            name.span = place;
            place_type(ty, place);
        }
    }
}
