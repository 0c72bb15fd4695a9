//! What an editor is told of a D program: its syntax errors. Names and colours are not told yet.

use std::ops::Range;
use std::sync::Arc;

use super::front;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::facts::Facts;
use crate::lang::front::{Checked, FrontEnd, FrontOptions};
use crate::lang::service::{Class, Completion, Hover, Pieces, RenameError, ServiceEnv, SignatureHelp, Symbol};
use crate::lang::source::{SourceText, Span};

/// The language.
#[derive(Clone, Copy, Debug, Default)]
pub struct D;

/// Plain text.
#[derive(Debug)]
struct Plain;

impl Pieces for Plain {
    fn depth(&self, _: u32) -> u16 {
        0
    }

    fn between_items(&self, _: u32, _: &str) -> bool {
        false
    }

    fn in_definition(&self, _: u32) -> bool {
        false
    }

    fn within(&self, _: Range<u32>, _: &str) -> Vec<(Range<u32>, Class)> {
        Vec::new()
    }
}

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

    fn format(&self, _: &SourceText) -> Option<String> {
        None
    }

    fn pieces(&self, _: &str) -> Arc<dyn Pieces> {
        Arc::new(Plain)
    }

    fn completions(&self, _: &SourceText, _: u32, _: &ServiceEnv<'_>) -> Vec<Completion> {
        Vec::new()
    }

    fn hover(&self, _: &SourceText, _: u32, _: &ServiceEnv<'_>) -> Option<Hover> {
        None
    }

    fn signature_help(&self, _: &SourceText, _: u32) -> Option<SignatureHelp> {
        None
    }

    fn definition(&self, _: &SourceText, _: u32) -> Option<Span> {
        None
    }

    fn imported(&self, _: &SourceText, _: u32) -> Option<String> {
        None
    }

    fn symbols(&self, _: &SourceText) -> Vec<Symbol> {
        Vec::new()
    }

    fn references(&self, _: &SourceText, _: u32) -> Vec<Span> {
        Vec::new()
    }

    fn renamable(&self, _: &SourceText, _: u32) -> Option<Span> {
        None
    }

    fn rename(&self, _: &SourceText, _: u32, _: &str) -> Result<Vec<(Span, String)>, RenameError> {
        Ok(Vec::new())
    }
}
