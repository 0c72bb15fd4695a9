//! Between byte offsets and the protocol's lines and UTF-16 columns.

use std::collections::HashMap;

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, DiagnosticRelatedInformation, DiagnosticSeverity,
    Documentation, Location, NumberOrString, Position, Range, SymbolKind as LspSymbolKind, TextEdit, Uri,
    WorkspaceEdit,
};

use crate::lang::diagnostic::{Diagnostic, Severity};
use crate::lang::service::{Completion, CompletionKind, SymbolKind};
use crate::lang::source::{SourceText, Span};

/// The byte offset of a position; past a line's end gives its end, past the text its end.
pub(super) fn offset(source: &SourceText, position: Position) -> u32 {
    let mut start = 0_usize;
    let mut lines = source.text.split_inclusive('\n');
    for _ in 0..position.line {
        match lines.next() {
            Some(line) => start += line.len(),
            None => return clamp(source.text.len()),
        }
    }
    let line = lines.next().unwrap_or("").trim_end_matches(['\n', '\r']);
    let mut column = 0;
    for (at, c) in line.char_indices() {
        if column >= position.character {
            return clamp(start + at);
        }
        column += c.len_utf16() as u32;
    }
    clamp(start + line.len())
}

fn clamp(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The position of a byte offset.
pub(super) fn position(source: &SourceText, offset: u32) -> Position {
    let at = source.position(offset);
    let column = at.column.saturating_sub(1) as usize;
    let line = source.line(at.line);
    let units: usize = line.chars().take(column).map(char::len_utf16).sum();
    Position { line: at.line - 1, character: clamp(units) }
}

pub(super) fn range(source: &SourceText, span: Span) -> Range {
    Range { start: position(source, span.start), end: position(source, span.end.max(span.start)) }
}

/// The whole text.
pub(super) fn everything(source: &SourceText) -> Range {
    range(source, Span::new(0, clamp(source.text.len())))
}

pub(super) fn diagnostic(source: &SourceText, uri: &Uri, d: &Diagnostic) -> lsp_types::Diagnostic {
    let message = match &d.help {
        Some(help) => format!("{}\nhelp: {help}", d.message),
        None => d.message.clone(),
    };
    let related = d.labels.iter().map(|l| DiagnosticRelatedInformation {
        location: Location { uri: uri.clone(), range: range(source, l.span) },
        message: l.message.clone(),
    });
    lsp_types::Diagnostic {
        range: range(source, d.span),
        severity: Some(match d.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Info => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(d.code.to_string())),
        source: Some("probescope".to_owned()),
        message,
        related_information: (!d.labels.is_empty()).then(|| related.collect()),
        ..lsp_types::Diagnostic::default()
    }
}

pub(super) fn completion(source: &SourceText, order: usize, c: Completion) -> CompletionItem {
    let kind = match c.kind {
        CompletionKind::Field => CompletionItemKind::FIELD,
        CompletionKind::Variable => CompletionItemKind::VARIABLE,
        CompletionKind::Map => CompletionItemKind::VALUE,
        CompletionKind::Probe => CompletionItemKind::EVENT,
        CompletionKind::Builtin => CompletionItemKind::CONSTANT,
        CompletionKind::Function | CompletionKind::Macro => CompletionItemKind::FUNCTION,
        CompletionKind::Type => CompletionItemKind::STRUCT,
        CompletionKind::Keyword => CompletionItemKind::KEYWORD,
    };
    let typed = source.slice(c.replace);
    CompletionItem {
        kind: Some(kind),
        detail: (!c.detail.is_empty()).then_some(c.detail),
        documentation: (!c.doc.is_empty()).then_some(Documentation::String(c.doc)),
        // Probes are found by fuzzy search: the editor must keep our order and not filter again.
        sort_text: Some(format!("{order:05}")),
        filter_text: (c.kind == CompletionKind::Probe && !typed.is_empty()).then(|| typed.to_owned()),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit { range: range(source, c.replace), new_text: c.insert })),
        label: c.label,
        ..CompletionItem::default()
    }
}

pub(super) const fn symbol_kind(kind: SymbolKind) -> LspSymbolKind {
    match kind {
        SymbolKind::Probe => LspSymbolKind::EVENT,
        SymbolKind::Macro | SymbolKind::Function => LspSymbolKind::FUNCTION,
        SymbolKind::Map => LspSymbolKind::VARIABLE,
        SymbolKind::Type => LspSymbolKind::STRUCT,
        SymbolKind::Config => LspSymbolKind::NAMESPACE,
    }
}

/// Edits of one script.
pub(super) fn edits_of(uri: &Uri, edits: Vec<TextEdit>) -> WorkspaceEdit {
    #[allow(clippy::mutable_key_type, reason = "the protocol's own type; nothing changes it")]
    let changes = HashMap::from([(uri.clone(), edits)]);
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}
