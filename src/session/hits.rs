//! How often probes fire, before anything is attached for real: a short trace that only counts.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::front::{self, FrontSettings};
use super::headless::Headless;
use crate::engine::TraceOptions;
use crate::engine::attach::Place;
use crate::kernel::Kernel;
use crate::lang::diagnostic::Severity;
use crate::lang::source::SourceText;
use crate::model::snapshot::MapSnapshot;
use crate::tracer::TracerError;
use crate::tracer::report::{Face, Report};
use crate::tracer::script::names::Sources;
use crate::tracer::script::{ScriptRun, ScriptTracer, info};

/// Probes that are counted at a time.
pub const MOST: usize = 64;

/// Why nothing was counted.
#[derive(Debug, thiserror::Error)]
pub enum HitsError {
    /// The probes can't be attached together.
    #[error("the probes can't be counted: {0}")]
    NotCompiled(String),
    /// The trace did not run.
    #[error(transparent)]
    NotRun(#[from] TracerError),
}

/// Counts the hits of each of these probes, at most [`MOST`], for a while.
///
/// # Errors
/// When they can't be attached.
pub fn count(probes: &[Arc<str>], span: Duration, kernel: &Arc<Kernel>) -> Result<Vec<u64>, HitsError> {
    let probes = &probes[..probes.len().min(MOST)];
    let text = script(probes, span);
    let source = SourceText::new("hits.bt", &text);
    let compilation = front::compile(&source, None, &FrontSettings::new(Arc::clone(kernel)));
    let Some(compiled) = compilation.output else {
        let error = compilation.diagnostics.iter().find(|d| d.severity == Severity::Error);
        return Err(HitsError::NotCompiled(error.map_or_else(String::new, |d| d.message.clone())));
    };
    let headless = Headless::default();
    let run = ScriptRun {
        info: info::of(&compiled.program, &source, kernel),
        options: TraceOptions { place: Place::new(kernel, None), measure: false, budget: None },
        names: Sources::of_kernel(kernel, &compiled.program),
        child: None,
        attach_only: false,
        reports_maps: true,
        stopping: headless.stopping(),
        ends_with: None,
        as_peer: false,
    };
    let mut counts = Counts(vec![0; probes.len()]);
    headless.run(ScriptTracer::new(compiled, run), &mut counts)?;
    Ok(counts.0)
}

fn script(probes: &[Arc<str>], span: Duration) -> String {
    let mut text = String::new();
    for (number, probe) in probes.iter().enumerate() {
        let _ = writeln!(text, "{probe} {{ @n{number} = count(); }}");
    }
    let _ = writeln!(text, "interval:ms:{} {{ exit(); }}", span.as_millis().max(1));
    text
}

/// Keeps the counts of the maps at the end.
struct Counts(Vec<u64>);

impl Counts {
    fn take(&mut self, map: &MapSnapshot) {
        let number = map.name.strip_prefix("@n").and_then(|n| n.parse::<usize>().ok());
        let count = map.rows.first().and_then(|row| row.value.as_number());
        if let (Some(slot), Some(count)) = (number.and_then(|n| self.0.get_mut(n)), count) {
            *slot = u64::try_from(count).unwrap_or(0);
        }
    }
}

impl Face for Counts {
    fn report(&mut self, report: &Report<'_>) -> io::Result<()> {
        if let Report::End { maps, .. } = report {
            maps.iter().for_each(|map| self.take(map));
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_probe_has_a_clause() {
        let text = script(&["kprobe:a".into(), "kprobe:b".into()], Duration::from_secs(1));
        assert_eq!(text, "kprobe:a { @n0 = count(); }\nkprobe:b { @n1 = count(); }\ninterval:ms:1000 { exit(); }\n");
    }
}
