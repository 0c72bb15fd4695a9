//! A history told once more: its entries as the reports that they came from.

use std::io;
use std::ops::ControlFlow;

use super::Finding;
use super::report::{Face, Report, TextKind};
use crate::engine::attach::Unattached;
use crate::lang::codes::run::{BRAKED, OVER_BUDGET, THROTTLED};
use crate::lang::diagnostic::{Diagnostic, Severity};
use crate::lang::source::Span;
use crate::model::value::Value;
use crate::store::{ActionInfo, ActionKind, Entry, History, Lifecycle, Payload, PayloadKind, TraceInfo};

/// Whoever shows the reports of several traces.
pub trait Faces {
    /// The face of a trace.
    fn of(&mut self, trace: &TraceInfo) -> &mut dyn Face;
}

/// Reports every entry of a history in its order, and gives the last exit code of a trace.
///
/// What a recorder could not describe (an entry of a trace that is not known, an action that its trace does not have) is
/// left out and counted.
///
/// # Errors
/// When a face can't write.
pub fn replay(history: &dyn History, faces: &mut dyn Faces) -> io::Result<Replayed> {
    let mut replayed = Replayed::default();
    let mut outcome = Ok(());
    history.visit(history.entries(), &mut |_, entry| {
        let head = entry.head();
        // Maps and counters that were only read are not printed; the last ones are looked up when a trace ends.
        if matches!(head.kind, PayloadKind::Maps | PayloadKind::Stats | PayloadKind::Mark) {
            return ControlFlow::Continue(());
        }
        let (Some(info), Some(entry)) = (history.trace(head.trace), entry.entry()) else {
            replayed.left_out += 1;
            return ControlFlow::Continue(());
        };
        let face = faces.of(info);
        face.comes_from(entry.payload.action().unwrap_or(u32::MAX), entry.at_ns, entry.cpu);
        match report(history, info, &entry, face) {
            Ok(told) => {
                replayed.left_out += u64::from(!told);
                if let Payload::Lifecycle(Lifecycle::Ended { code, .. }) = entry.payload {
                    replayed.code = code;
                }
                ControlFlow::Continue(())
            }
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        }
    });
    outcome.map(|()| replayed)
}

/// What a replay gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Exit code of the trace that ended last.
    pub code: i32,
    /// Entries that could not be reported.
    pub left_out: u64,
}

/// Reports an entry; false when its trace does not say how.
fn report(history: &dyn History, info: &TraceInfo, entry: &Entry, face: &mut dyn Face) -> io::Result<bool> {
    match &entry.payload {
        Payload::Event { action, values } => return event(info, *action, values, face),
        Payload::Text { action, text } => return finished(info, *action, text, face),
        Payload::Print { action, map } => {
            face.report(&Report::Map { snapshot: map, options: info.map_options(Some(*action)) })?;
        }
        Payload::Lost { cause, count, site, span } => {
            face.report(&Report::Lost { cause: *cause, count: *count, site, span: *span })?;
        }
        Payload::Failure { cause, helper, code, span } => {
            face.report(&Report::Failure { cause: *cause, helper: *helper, code: *code, span: *span })?;
        }
        Payload::Diagnostic(said) => diagnostic(said, face)?,
        Payload::Lifecycle(step) => lifecycle(history, info, entry.at_ns, step, face)?,
        Payload::CpuSample(_) | Payload::Episode(_) | Payload::Task(_) => {
            let Entry { at_ns, cpu, payload, .. } = entry;
            face.report(&Report::Finding(&Finding { at_ns: *at_ns, cpu: *cpu, payload: payload.clone() }))?;
        }
        Payload::Maps(_) | Payload::Stats(_) | Payload::Mark(_) => {}
    }
    Ok(true)
}

fn event(info: &TraceInfo, action: u32, values: &[Value], face: &mut dyn Face) -> io::Result<bool> {
    match info.action(action) {
        Some(ActionInfo { kind: ActionKind::Printf { format, sink }, span, expanded, .. }) => {
            face.report(&Report::Printf { action, format, values, sink: *sink, span: *span, expanded })?;
        }
        Some(ActionInfo { kind: ActionKind::Value, .. }) => {
            face.report(&Report::Value { action, value: values.first().unwrap_or(&Value::None) })?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn finished(info: &TraceInfo, action: u32, text: &[u8], face: &mut dyn Face) -> io::Result<bool> {
    let Some(ActionInfo { kind, span, expanded, .. }) = info.action(action) else { return Ok(false) };
    let kind = match kind {
        ActionKind::Time => TextKind::Time,
        ActionKind::Join => TextKind::Join,
        ActionKind::Cat => TextKind::Cat,
        ActionKind::System => TextKind::System,
        ActionKind::Record => TextKind::Record,
        ActionKind::Fault => TextKind::Fault,
        ActionKind::RuntimeError => {
            let message = &String::from_utf8_lossy(text);
            face.report(&Report::RuntimeError { message, span: *span, expanded })?;
            return Ok(true);
        }
        _ => return Ok(false),
    };
    face.report(&Report::Text { kind, text })?;
    Ok(true)
}

fn diagnostic(said: &Diagnostic, face: &mut dyn Face) -> io::Result<()> {
    let (message, span) = (said.message.as_str(), said.span);
    if [BRAKED, THROTTLED, OVER_BUDGET].contains(&said.code) {
        return face.report(&Report::Partial(said));
    }
    match (said.severity, &said.help) {
        // What is told of a probe that the kernel would not take.
        (Severity::Warning, Some(reason)) => {
            let probe = message.strip_prefix("going on without ").unwrap_or(message).to_owned();
            face.report(&Report::Unattached(&Unattached { probe, reason: reason.clone(), span }))
        }
        _ => face.report(&Report::Failed { message, span }),
    }
}

fn lifecycle(
    history: &dyn History,
    info: &TraceInfo,
    at_ns: u64,
    step: &Lifecycle,
    face: &mut dyn Face,
) -> io::Result<()> {
    match step {
        Lifecycle::Attached { probes, .. } => face.report(&Report::Attached(*probes)),
        Lifecycle::Ended { prints_maps, .. } => {
            let maps = if *prints_maps { history.maps_at(info.id, at_ns) } else { None };
            let maps = maps.as_deref().unwrap_or(&[]);
            face.report(&Report::End { maps, options: info.map_options(None) })
        }
        Lifecycle::Failed { reason } => face.report(&Report::Failed { message: reason, span: Span::default() }),
    }
}
