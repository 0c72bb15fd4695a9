//! `--count-first`: how often a script's probes fire, before it is attached to them.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use super::front::{self, FrontSettings};
use super::headless::Headless;
use crate::engine::TraceOptions;
use crate::engine::attach::Place;
use crate::kernel::Kernel;
use crate::lang::source::SourceText;
use crate::lang::typed::{Probe, Program};
use crate::model::budget::Budget;
use crate::model::render;
use crate::model::snapshot::MapSnapshot;
use crate::model::stats::{LossCause, TraceStats};
use crate::model::value::Value;
use crate::model::words;
use crate::tracer::report::{Face, Report};
use crate::tracer::script::names::Sources;
use crate::tracer::script::{ScriptRun, ScriptTracer, info};

/// What counts the firings.
const MAP: &str = "@fired";

/// Counts for a second, and gives what came of it as lines. What can't be counted is said there, too, and is no reason
/// not to run.
#[must_use]
pub fn first(kernel: &Arc<Kernel>, pid: Option<u32>, program: &Program, source: &SourceText) -> Vec<String> {
    let heads = heads(program, source);
    if heads.is_empty() {
        return vec!["nothing to count: no probe fires by itself".to_owned()];
    }
    counted(kernel, pid, &heads).map_or_else(|why| vec![format!("not counted: {why}")], |counts| table(&heads, &counts))
}

/// The attach points of each probe, as the script has them.
fn heads(program: &Program, source: &SourceText) -> Vec<String> {
    let mut known = HashSet::new();
    let fires = |probe: &&Probe| probe.targets.iter().any(|target| !target.is_fired_by_tracer());
    let probes = program.probes.iter().filter(fires).filter(|probe| known.insert(probe.head));
    let text = |probe: &Probe| source.text.get(probe.head.start as usize..probe.head.end as usize);
    probes.filter_map(text).map(|head| head.trim().to_owned()).collect()
}

/// Firings of each, by the order of the heads.
struct Counts {
    fired: Vec<u64>,
    /// Of all: left out to keep the budget.
    throttled: u64,
}

fn counted(kernel: &Arc<Kernel>, pid: Option<u32>, heads: &[String]) -> Result<Counts, String> {
    let mut text = String::new();
    for (index, head) in heads.iter().enumerate() {
        let _ = writeln!(text, "{head} {{ {MAP}[{index}] = count(); }}");
    }
    text.push_str("interval:s:1 { exit(); }\n");
    let source = SourceText::new("count", &text);
    let mut settings = FrontSettings::new(Arc::clone(kernel));
    (settings.pid, settings.budget) = (pid, true);
    let compiled =
        front::compile(&source, None, &settings).output.ok_or("these probes can't be counted by themselves")?;
    let run = ScriptRun {
        info: info::of(&compiled.program, &source, kernel),
        options: TraceOptions { place: Place::new(kernel, pid), measure: false, budget: Some(Budget::DEFAULT) },
        names: Sources::of_kernel(kernel, &compiled.program),
        child: None,
        attach_only: false,
        reports_maps: true,
        stopping: Arc::default(),
        ends_with: None,
        as_peer: false,
    };
    let mut counts = Counts { fired: vec![0; heads.len()], throttled: 0 };
    Headless::default().run(ScriptTracer::new(compiled, run), &mut counts).map_err(|error| error.to_string())?;
    Ok(counts)
}

impl Counts {
    fn take_map(&mut self, map: &MapSnapshot) {
        for row in &map.rows {
            let index = row.key.first().and_then(Value::as_number).and_then(|n| usize::try_from(n).ok());
            let fired = row.value.as_number().and_then(|n| u64::try_from(n).ok());
            if let Some(slot) = index.and_then(|index| self.fired.get_mut(index)) {
                *slot = fired.unwrap_or_default();
            }
        }
    }

    fn take_stats(&mut self, stats: &TraceStats) {
        let throttled = stats.losses.iter().filter(|loss| loss.cause == LossCause::Throttled).map(|loss| loss.count);
        self.throttled = throttled.fold(0, u64::saturating_add);
    }
}

impl Face for Counts {
    fn report(&mut self, report: &Report<'_>) -> io::Result<()> {
        match *report {
            Report::End { maps, .. } => {
                maps.iter().filter(|map| &*map.name == MAP).for_each(|map| self.take_map(map));
            }
            Report::Stats(stats) => self.take_stats(stats),
            _ => {}
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn table(heads: &[String], counts: &Counts) -> Vec<String> {
    let mut lines = vec!["in one second, without their predicates:".to_owned()];
    for (head, fired) in heads.iter().zip(&counts.fired) {
        let first = head.lines().next().unwrap_or_default();
        lines.push(format!("{:>15}  {}", words::grouped(*fired), render::neutralise(first)));
    }
    if counts.throttled > 0 {
        let (more, budget) = (words::grouped(counts.throttled), Budget::DEFAULT);
        lines
            .push(format!("{more:>15}  more of all together, which were not told apart, to keep a budget of {budget}"));
    }
    lines
}
