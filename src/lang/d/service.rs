//! What an editor is told of a D program.

mod names;
mod pieces;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::{ast, front};
use crate::lang::diagnostic::Diagnostic;
use crate::lang::facts::Facts;
use crate::lang::front::{Checked, FrontEnd, FrontOptions};
use crate::lang::narrow::ClausePlace;
use crate::lang::service::{Completion, Hover, Pieces, RenameError, ServiceEnv, SignatureHelp, Symbol};
use crate::lang::source::{SourceText, Span};

/// The language.
#[derive(Clone, Copy, Debug, Default)]
pub struct D;

impl FrontEnd for D {
    fn name(&self) -> &'static str {
        "D"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["d"]
    }

    fn compile_with(&self, source: &SourceText, facts: &dyn Facts, options: &FrontOptions<'_>) -> Checked {
        front::compile_script(source, facts, options)
    }

    fn syntax(&self, source: &SourceText) -> Vec<Diagnostic> {
        front::syntax(source)
    }

    fn tree(&self, source: &SourceText) -> String {
        super::dump::program(&super::parse(source))
    }

    fn format(&self, _: &SourceText) -> Option<String> {
        // D programs keep the layout that they were written in.
        None
    }

    fn clauses(&self, source: &SourceText) -> Vec<ClausePlace> {
        let place = |item: &ast::Item| match &item.kind {
            ast::ItemKind::Clause(clause) => Some(ClausePlace {
                probes: clause.probes.first()?.span.to(clause.probes.last()?.span),
                predicate: clause.predicate.as_ref().map(|predicate| predicate.span),
            }),
            _ => None,
        };
        super::parse(source).script.items.iter().filter_map(place).collect()
    }

    fn comment(&self) -> (&'static str, &'static str) {
        ("/* ", " */")
    }

    fn clause(&self, probe: &str, _: &str) -> Option<String> {
        names::clause(probe)
    }

    fn pieces(&self, text: &str) -> Arc<dyn Pieces> {
        Arc::new(pieces::DPieces::of(text))
    }

    fn completions(&self, source: &SourceText, offset: u32, env: &ServiceEnv<'_>) -> Vec<Completion> {
        names::completions(source, offset, env)
    }

    fn hover(&self, source: &SourceText, offset: u32, _: &ServiceEnv<'_>) -> Option<Hover> {
        names::hover(source, offset)
    }

    fn signature_help(&self, source: &SourceText, offset: u32) -> Option<SignatureHelp> {
        names::signature_help(source, offset)
    }

    fn definition(&self, source: &SourceText, offset: u32) -> Option<Span> {
        // A variable begins with its first assignment or declaration.
        names::references(source, offset).first().copied()
    }

    fn imported(&self, _: &SourceText, _: u32) -> Option<String> {
        None
    }

    fn symbols(&self, source: &SourceText) -> Vec<Symbol> {
        names::symbols(source)
    }

    fn references(&self, source: &SourceText, offset: u32) -> Vec<Span> {
        names::references(source, offset)
    }

    fn renamable(&self, source: &SourceText, offset: u32) -> Option<Span> {
        names::renamable(source, offset)
    }

    fn rename(&self, source: &SourceText, offset: u32, new: &str) -> Result<Vec<(Span, String)>, RenameError> {
        names::rename(source, offset, new)
    }
}
