//! Open scripts: their text as the editor changes it, and what is wrong with it.

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, Range, TextDocumentContentChangeEvent, TextEdit, Uri,
};

use super::convert;
use crate::lang::diagnostic::{Diagnostic, Fix};
use crate::lang::source::SourceText;

/// Most diagnostics of one script that are told; nobody reads more, and editors get slow.
const MOST_TOLD: usize = 500;

/// A script that an editor has open.
pub(super) struct Document {
    /// Its text as it is now.
    pub source: SourceText,
    /// The editor's number of this text.
    pub version: Option<i32>,
    /// The text changed since it was checked.
    pub stale: bool,
    /// Diagnostics that know how to repair what they complain of.
    fixes: Vec<(lsp_types::Diagnostic, Fix)>,
}

impl Document {
    /// A script that was opened just now.
    pub fn new(uri: &Uri, text: &str, version: i32) -> Self {
        Self { source: SourceText::new(uri.as_str(), text), version: Some(version), stale: true, fixes: Vec::new() }
    }

    /// Applies an editor's changes in their order: a part of the text each, or all of it.
    pub fn change(&mut self, changes: Vec<TextDocumentContentChangeEvent>, version: i32) {
        for change in changes {
            let text = match change.range {
                Some(range) => self.replaced(range, &change.text),
                None => change.text,
            };
            self.source = SourceText::new(&self.source.name, &text);
        }
        self.version = Some(version);
        self.stale = true;
    }

    fn replaced(&self, range: Range, new: &str) -> String {
        let (one, other) = (convert::offset(&self.source, range.start), convert::offset(&self.source, range.end));
        let part = |from: u32, to: usize| self.source.text.get(from as usize..to).unwrap_or("");
        let before = part(0, one.min(other) as usize);
        let after = part(one.max(other), self.source.text.len());
        [before, new, after].concat()
    }

    /// Takes in what a check found; what the editor shall show.
    pub fn checked(&mut self, uri: &Uri, found: Vec<Diagnostic>) -> Vec<lsp_types::Diagnostic> {
        self.stale = false;
        self.fixes.clear();
        let mut told = Vec::new();
        for diagnostic in found.into_iter().take(MOST_TOLD) {
            let shown = convert::diagnostic(&self.source, uri, &diagnostic);
            self.fixes.extend(diagnostic.fix.map(|fix| (shown.clone(), fix)));
            told.push(shown);
        }
        told
    }

    /// The repairs for what is wrong in a part of the text.
    pub fn actions(&self, uri: &Uri, wanted: Range) -> Vec<CodeActionOrCommand> {
        let near = |at: &Range| at.start <= wanted.end && wanted.start <= at.end;
        let near = self.fixes.iter().filter(|(diagnostic, _)| near(&diagnostic.range));
        near.map(|(diagnostic, fix)| CodeActionOrCommand::CodeAction(self.action(uri, diagnostic, fix))).collect()
    }

    fn action(&self, uri: &Uri, diagnostic: &lsp_types::Diagnostic, fix: &Fix) -> CodeAction {
        let there = self.source.slice(fix.span);
        let title = match (there.is_empty(), fix.replacement.is_empty()) {
            (true, _) => format!("Insert `{}`", fix.replacement.trim()),
            (_, true) => format!("Remove `{}`", there.trim()),
            _ => format!("Replace `{there}` with `{}`", fix.replacement),
        };
        let edit = TextEdit { range: convert::range(&self.source, fix.span), new_text: fix.replacement.clone() };
        CodeAction {
            title,
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![diagnostic.clone()]),
            edit: Some(convert::edits_of(uri, vec![edit])),
            is_preferred: Some(true),
            ..CodeAction::default()
        }
    }
}
