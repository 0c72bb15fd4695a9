//! Entries as text, as they stand in rows and as a script prints them.

use super::entry::{Entry, Payload};
use super::trace_info::{ActionKind, TraceInfo};
use crate::lang::diagnostic::Severity;
use crate::model::helper;
use crate::model::render;
use crate::model::value::Value;

/// Appends the text of an entry, byte for byte as traced programs gave it; nothing for what has no rows.
///
/// The text ends with a line break, but for a `printf` whose format has none at its end.
pub fn write_text(info: Option<&TraceInfo>, entry: &Entry, out: &mut Vec<u8>) {
    let start = out.len();
    match &entry.payload {
        Payload::Event { action, values } => return event(info, *action, values, out),
        Payload::Text { text, .. } => out.extend_from_slice(text),
        Payload::Print { action, map } => {
            let options = info.map(|i| i.map_options(Some(*action))).unwrap_or_default();
            render::map_into(map, &options, out);
        }
        Payload::Lost { cause, count, site, .. } => {
            let what = if cause.is_incomplete() { "incomplete" } else { "lost" };
            out.extend_from_slice(format!("{count} {what}: {}", cause.words()).as_bytes());
            if !site.is_empty() {
                out.extend_from_slice(format!(" ({site})").as_bytes());
            }
        }
        Payload::Failure { cause, helper, code, .. } => {
            let name = helper::name(*helper);
            let what = if name.is_empty() { cause.words() } else { name };
            out.extend_from_slice(format!("{what} failed: {code}").as_bytes());
        }
        Payload::Diagnostic(diagnostic) => {
            let word = match diagnostic.severity {
                Severity::Info => "note",
                Severity::Warning => "warning",
                Severity::Error => "error",
            };
            out.extend_from_slice(format!("{word}: {}", diagnostic.message).as_bytes());
        }
        Payload::Mark(name) => out.extend_from_slice(name.as_bytes()),
        Payload::Maps(_)
        | Payload::Stats(_)
        | Payload::Lifecycle(_)
        | Payload::CpuSample(_)
        | Payload::Episode(_)
        | Payload::Task(_) => return,
    }
    // A printed map without rows is no text at all.
    let empty_map = matches!(entry.payload, Payload::Print { .. }) && out.len() == start;
    if !empty_map && out.last().is_none_or(|b| *b != b'\n' || out.len() == start) {
        out.push(b'\n');
    }
}

fn event(info: Option<&TraceInfo>, action: u32, values: &[Value], out: &mut Vec<u8>) {
    if let Some(ActionKind::Printf { format, .. }) = info.and_then(|i| i.action(action)).map(|a| &a.kind) {
        render::printf_into(format, values, out);
    } else {
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                out.push(b' ');
            }
            render::value_into(value, out);
        }
        out.push(b'\n');
    }
}
