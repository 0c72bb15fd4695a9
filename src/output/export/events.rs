//! Events as comma-separated values and as JSON, a column for every value that one of them has.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter, Write as _};
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::{Map as Object, Value as Json};

use super::table::{cell, safe_json, value_cell, value_json};
use crate::model::render::exact;
use crate::store::{Entry, History, Payload, PayloadKind, TraceInfo, write_text};

/// The events that are written.
pub struct Events<'a> {
    /// The history.
    pub history: &'a dyn History,
    /// Those of these traces.
    pub traces: &'a [Arc<TraceInfo>],
    /// Up to this time, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Those that pass.
    pub passes: &'a dyn Fn(&TraceInfo, &Entry, &str) -> bool,
}

impl Debug for Events<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("traces", &self.traces.len()).field("at_ns", &self.at_ns).finish_non_exhaustive()
    }
}

const fn kind(kind: PayloadKind) -> &'static str {
    match kind {
        PayloadKind::Event => "event",
        PayloadKind::Lost => "lost",
        PayloadKind::Mark => "mark",
        PayloadKind::Failure | PayloadKind::Diagnostic => "warning",
        _ => "text",
    }
}

impl Events<'_> {
    /// Each in the order of time, with its trace and its text.
    fn each(&self, take: &mut dyn FnMut(&TraceInfo, &Entry, PayloadKind, &str)) {
        let mut text = Vec::new();
        self.history.visit(self.history.entries(), &mut |_, entry| {
            let head = entry.head();
            if head.at_ns > self.at_ns {
                return ControlFlow::Break(());
            }
            let Some(trace) = self.traces.iter().find(|t| t.id == head.trace).filter(|_| head.kind.has_rows()) else {
                return ControlFlow::Continue(());
            };
            let Some(whole) = entry.entry() else { return ControlFlow::Continue(()) };
            text.clear();
            write_text(Some(trace), &whole, &mut text);
            let text = exact(&text, |_| false);
            if (self.passes)(trace, &whole, &text) {
                take(trace, &whole, head.kind, &text);
            }
            ControlFlow::Continue(())
        });
    }

    /// A line each, under a heading.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut columns: Vec<&str> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for column in self.traces.iter().flat_map(|t| &t.actions).flat_map(|a| &a.columns) {
            places.entry(&column.name).or_insert_with(|| {
                columns.push(&column.name);
                columns.len() - 1
            });
        }
        let mut out = "time_ns,wall_ns,cpu,kind,probe".to_owned();
        for name in &columns {
            let _ = write!(out, ",{}", cell(name));
        }
        out.push_str(",text\n");
        self.each(&mut |trace, entry, of, text| {
            let mut cells = vec![String::new(); columns.len()];
            if let Payload::Event { action, values } = &entry.payload {
                let named = trace.action(*action).map_or(&[][..], |a| &a.columns);
                for (column, value) in named.iter().zip(values) {
                    if let Some(place) = places.get(&*column.name) {
                        cells[*place] = value_cell(value);
                    }
                }
            }
            let _ = write!(
                out,
                "{},{},{},{},{}",
                entry.at_ns,
                trace.wall_ns(entry.at_ns),
                entry.cpu.map_or_else(String::new, |c| c.to_string()),
                kind(of),
                cell(trace.probe(entry.payload.action())),
            );
            for cell in cells {
                let _ = write!(out, ",{cell}");
            }
            let _ = writeln!(out, ",{}", cell(text));
        });
        out
    }

    /// An object on a line each.
    #[must_use]
    pub fn json_lines(&self) -> String {
        let mut out = String::new();
        self.each(&mut |trace, entry, of, text| {
            let mut object = Object::new();
            object.insert("time_ns".to_owned(), entry.at_ns.into());
            object.insert("wall_ns".to_owned(), trace.wall_ns(entry.at_ns).into());
            object.insert("cpu".to_owned(), entry.cpu.into());
            object.insert("kind".to_owned(), kind(of).into());
            object.insert("probe".to_owned(), trace.probe(entry.payload.action()).into());
            if let Payload::Event { action, values } = &entry.payload {
                let named = trace.action(*action).map_or(&[][..], |a| &a.columns);
                let named = named.iter().zip(values).map(|(c, v)| (c.name.to_string(), value_json(v)));
                object.insert("values".to_owned(), Json::Object(named.collect()));
            }
            object.insert("text".to_owned(), text.trim_end_matches('\n').into());
            let _ = writeln!(out, "{}", Json::Object(object));
        });
        safe_json(out)
    }
}
