//! The whole front end in one call: text to typed program.

use std::sync::Arc;

use super::check::check;
use super::expand::ExpandInputs;
use super::parser::parse;
use super::{ast, dump, expand, latency, limit, pretty, semantic, service};
use crate::lang::bounds::bounded;
use crate::lang::codes::parse::{EXPANSION_TOO_LARGE, UNCLOSED_STRING};
use crate::lang::diagnostic::{Diagnostic, Severity};
use crate::lang::facts::Facts;
use crate::lang::front::{Checked, ClauseGroup, FrontEnd, FrontOptions, Wanted};
use crate::lang::narrow::ClausePlace;
use crate::lang::service::{Completion, Hover, Pieces, RenameError, ServiceEnv, SignatureHelp, Symbol};
use crate::lang::source::{SourceText, Span};

/// The bpftrace language.
#[derive(Clone, Copy, Debug)]
pub struct Bpftrace;

impl FrontEnd for Bpftrace {
    fn name(&self) -> &'static str {
        "bpftrace"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["bt"]
    }

    fn compile_with(&self, source: &SourceText, facts: &dyn Facts, options: &FrontOptions<'_>) -> Checked {
        compile_with(source, facts, options)
    }

    fn syntax(&self, source: &SourceText) -> Vec<Diagnostic> {
        parse(source).diagnostics
    }

    fn tree(&self, source: &SourceText) -> String {
        dump::script(&parse(source).script)
    }

    fn wanted(&self, source: &SourceText) -> Wanted {
        expand::wanted(&parse(source).script)
    }

    fn helper_maps(&self, source: &SourceText) -> Vec<Arc<str>> {
        service::cleared_at_end(&parse(source).script)
    }

    fn groups(&self, source: &SourceText) -> Vec<ClauseGroup> {
        service::groups(source)
    }

    fn format(&self, source: &SourceText) -> Option<String> {
        pretty::format(source)
    }

    fn has_control_groups(&self) -> bool {
        true
    }

    fn clauses(&self, source: &SourceText) -> Vec<ClausePlace> {
        let place = |item: &ast::Item| match item {
            ast::Item::Probe(probe) => Some(ClausePlace {
                probes: probe.points.first()?.span.to(probe.points.last()?.span),
                predicate: probe.predicate.as_ref().map(|predicate| predicate.span),
            }),
            _ => None,
        };
        parse(source).script.items.iter().filter_map(place).collect()
    }

    fn comment(&self) -> (&'static str, &'static str) {
        ("// ", "")
    }

    fn clause(&self, _: &str, clause: &str) -> Option<String> {
        Some(clause.to_owned())
    }

    fn pieces(&self, text: &str) -> Arc<dyn Pieces> {
        Arc::new(service::BtPieces::of(text))
    }

    fn completions(&self, source: &SourceText, offset: u32, env: &ServiceEnv<'_>) -> Vec<Completion> {
        service::completions(source, offset, env)
    }

    fn hover(&self, source: &SourceText, offset: u32, env: &ServiceEnv<'_>) -> Option<Hover> {
        service::hover(source, offset, env)
    }

    fn signature_help(&self, source: &SourceText, offset: u32) -> Option<SignatureHelp> {
        service::signature_help(source, offset)
    }

    fn definition(&self, source: &SourceText, offset: u32) -> Option<Span> {
        service::definition(source, offset)
    }

    fn imported(&self, source: &SourceText, offset: u32) -> Option<String> {
        service::imported(source, offset)
    }

    fn symbols(&self, source: &SourceText) -> Vec<Symbol> {
        service::symbols(source)
    }

    fn references(&self, source: &SourceText, offset: u32) -> Vec<Span> {
        service::references(source, offset)
    }

    fn renamable(&self, source: &SourceText, offset: u32) -> Option<Span> {
        service::renamable(source, offset)
    }

    fn rename(&self, source: &SourceText, offset: u32, new: &str) -> Result<Vec<(Span, String)>, RenameError> {
        service::rename(source, offset, new)
    }
}

fn compile_with(source: &SourceText, facts: &dyn Facts, options: &FrontOptions<'_>) -> Checked {
    let parsed = parse(source);
    let inputs = ExpandInputs {
        params: options.params,
        named: options.named,
        load: options.load,
        absent: options.absent_parameters,
    };
    let (mut script, found): (ast::Script, _) = expand(parsed.script, &inputs);
    if found.iter().any(|d| d.code == EXPANSION_TOO_LARGE) {
        // What is half expanded tells nothing more.
        let mut diagnostics = parsed.diagnostics;
        diagnostics.extend(found);
        bounded(&mut diagnostics, parsed.dropped);
        return Checked { diagnostics, ..Checked::default() };
    }
    let namespace = options.kernel.pid_namespace().is_some();
    let of_limit = options.pid.map(|pid| limit::rewrite(&mut script, facts, pid, namespace)).unwrap_or_default();
    let of_rows = semantic::rewrite(&mut script, facts);
    latency::rewrite(&mut script);
    let mut checked = check(&script, source, facts, options);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(found);
    diagnostics.extend(of_limit);
    diagnostics.extend(of_rows);
    leave_out_ends(&mut diagnostics);
    // Where the text makes no sense, what the checker makes of the same place is no news.
    let told: Vec<u32> = errors(&diagnostics).map(|d| d.span.start).collect();
    let is_news = |d: &Diagnostic| d.severity != Severity::Error || d.span.end == 0 || !told.contains(&d.span.start);
    diagnostics.extend(checked.diagnostics.drain(..).filter(is_news));
    diagnostics.sort_by_key(|d| d.span.start);
    bounded(&mut diagnostics, parsed.dropped + checked.dropped);
    checked.diagnostics = diagnostics;
    checked
}

fn errors(diagnostics: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    diagnostics.iter().filter(|d| d.severity == Severity::Error)
}

/// A string that is not closed takes the brackets behind it in: that these are missing is no mistake of its own.
fn leave_out_ends(diagnostics: &mut Vec<Diagnostic>) {
    if errors(diagnostics).any(|d| d.code == UNCLOSED_STRING) {
        diagnostics.retain(|d| !(d.message.ends_with("found the end of the script") && d.code != UNCLOSED_STRING));
    }
}
