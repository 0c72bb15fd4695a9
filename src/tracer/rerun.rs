//! Another script run on what was recorded: its predicates, keys and formats over the values that the recorded script
//! printed ("what if I had keyed by comm").
//!
//! Recorded events are put together to firings ([`known`]), what was recorded becomes variables of the new script's
//! clauses ([`rewrite`]), which recorded clause drives which new one is decided once ([`plan`]), and the bodies run in user
//! space ([`machine`]) on the maps that live traces are read into.

mod datum;
mod elements;
mod facts;
mod known;
mod machine;
mod plan;
mod rewrite;
mod run;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::kernel::Kernel;
use crate::lang::codes::check::NEVER_WRITTEN;
use crate::lang::codes::run::NOT_RECORDED;
use crate::lang::diagnostic::{Diagnostic, has_errors};
use crate::lang::facts::kernel::KernelFacts;
use crate::lang::front::FrontOptions;
use crate::lang::front_end;
use crate::lang::source::{SourceText, Span};
use crate::lang::typed::Program;
use crate::store::{TraceId, TraceInfo, TraceKind};
use crate::tracer::script::info;

use facts::RecordedFacts;
use known::Group;

/// A script that can be run on recorded traces.
#[derive(Debug)]
pub struct Rerun {
    program: Arc<Program>,
    source: SourceText,
    traces: Vec<Arc<TraceInfo>>,
    info: TraceInfo,
    /// What is to be known of the result: warnings only.
    pub notes: Vec<Diagnostic>,
}

impl Rerun {
    /// Checks a script against what recorded traces have. Types that it names are those of `kernel`, tracepoints those of
    /// the recording.
    ///
    /// # Errors
    /// With everything that is wrong: mistakes of the script, and each value that was not recorded.
    pub fn prepare(
        kernel: &Kernel,
        traces: &[Arc<TraceInfo>],
        source: &SourceText,
        params: &[String],
    ) -> Result<Self, Vec<Diagnostic>> {
        if front_end(source).name() != front_end(&SourceText::new("", "")).name() {
            let message = format!(
                "{} programs do not run on recordings: write it as a bpftrace script",
                front_end(source).name()
            );
            return Err(vec![Diagnostic::error(NOT_RECORDED, Span::default(), message)]);
        }
        let traces: Vec<Arc<TraceInfo>> =
            traces.iter().filter(|info| info.kind == TraceKind::Script).map(|info| described(info, kernel)).collect();
        let program = compiled(&traces, source, params, kernel);
        let Checked { program, mut diagnostics } = program;
        if has_errors(&diagnostics) {
            return Err(diagnostics);
        }
        let groups = groups(&traces);
        let planned = plan::plan(&program, source, &groups);
        // What was computed from a map and recorded needs nobody who sets the map.
        let is_read = |text: &str| {
            let mut read = planned.plan.read.iter().filter_map(|map| program.maps.get(map.0 as usize));
            read.any(|map| text.contains(&format!("`{}`", map.name)))
        };
        diagnostics.retain(|d| d.code != NEVER_WRITTEN || is_read(&d.message));
        diagnostics.extend(planned.diagnostics);
        drop(planned.plan);
        drop(groups);
        if has_errors(&diagnostics) {
            return Err(diagnostics);
        }
        let Some(first) = traces.first() else {
            let message = "the recording has no trace of a script";
            return Err(vec![Diagnostic::error(NOT_RECORDED, Span::default(), message)]);
        };
        let info = TraceInfo {
            began_ns: traces.iter().map(|trace| trace.began_ns).min().unwrap_or(0),
            wall_minus_monotonic_ns: first.wall_minus_monotonic_ns,
            utc_offset_s: first.utc_offset_s,
            kernel: Arc::clone(&first.kernel),
            host: Arc::clone(&first.host),
            ..info::of_script(&program, source)
        };
        Ok(Self { program: Arc::new(program), source: source.clone(), traces, info, notes: diagnostics })
    }

    /// What its entries are; the caller fills in the number.
    #[must_use]
    pub const fn info(&self) -> &TraceInfo {
        &self.info
    }

    /// The recorded traces that it runs on.
    pub fn traces(&self) -> impl Iterator<Item = TraceId> {
        self.traces.iter().map(|trace| trace.id)
    }
}

struct Checked {
    program: Program,
    diagnostics: Vec<Diagnostic>,
}

fn compiled(traces: &[Arc<TraceInfo>], source: &SourceText, params: &[String], kernel: &Kernel) -> Checked {
    let facts = RecordedFacts::new(KernelFacts::new(kernel, None, false), traces);
    // What acts is refused with the reason that holds here.
    let options = FrontOptions { params, unsafe_allowed: true, ..FrontOptions::new(kernel) };
    let checked = front_end(source).compile_with(source, &facts, &options);
    Checked { program: checked.program, diagnostics: checked.diagnostics }
}

/// A trace that says where its values come from. One that an earlier version recorded is checked anew for it.
fn described(info: &Arc<TraceInfo>, kernel: &Kernel) -> Arc<TraceInfo> {
    if !info.clauses.is_empty() || info.script.is_empty() {
        return Arc::clone(info);
    }
    let source = SourceText::new(&info.name, &info.script);
    let checked = compiled(std::slice::from_ref(info), &source, &[], kernel);
    let anew = info::of_script(&checked.program, &source);
    let same = |(a, b): (&crate::store::ActionInfo, &crate::store::ActionInfo)| a.kind == b.kind && a.span == b.span;
    if anew.actions.len() != info.actions.len() || !anew.actions.iter().zip(&info.actions).all(same) {
        return Arc::clone(info);
    }
    Arc::new(TraceInfo { actions: anew.actions, clauses: anew.clauses, probes: anew.probes, ..TraceInfo::clone(info) })
}

fn groups(traces: &[Arc<TraceInfo>]) -> Vec<Group<'_>> {
    traces.iter().flat_map(|trace| Group::all(trace)).collect()
}
