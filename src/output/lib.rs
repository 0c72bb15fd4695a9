//! Faces without a screen: text and JSON.
//!
//! A [`Printer`] turns decoded items into bytes in the caller's buffer; the caller writes the buffer
//! out, in batches, to where the user asked.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use crate as output;

use probescope_engine as engine;
use probescope_kernel as kernel;
use probescope_lang as lang;
use probescope_model as model;
use probescope_store as store;
use probescope_tracer as tracer;

pub mod diagnostics;
pub mod export;
pub mod failures;
pub mod ftrace;
pub mod json;
pub mod latency;
pub mod stamp;
pub mod task;
pub mod text;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::model::format::Format;
use crate::model::render::{self, MapOptions};
use crate::model::snapshot::MapSnapshot;
use crate::model::stats::TraceStats;
use crate::model::value::Value;

/// Which form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputFormat {
    /// As the script prints it.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Writes what a trace yields in one form.
#[derive(Debug, Default)]
pub struct Printer {
    format: OutputFormat,
    /// The reader is a terminal: control characters of traced text are written out.
    terminal: bool,
    /// Counters of the trace, as they were read last.
    stats: Option<Arc<TraceStats>>,
    scratch: Vec<u8>,
}

impl Printer {
    /// A printer for a file or pipe, or for a terminal.
    #[must_use]
    pub fn new(format: OutputFormat, terminal: bool) -> Self {
        Self { format, terminal, stats: None, scratch: Vec::new() }
    }

    /// Takes counters: what maps are a part of.
    pub fn counted(&mut self, stats: &Arc<TraceStats>) {
        self.stats = Some(Arc::clone(stats));
    }

    /// A `printf` with its values.
    pub fn printf(&mut self, format: &Format, values: &[Value], out: &mut Vec<u8>) {
        if self.format == OutputFormat::Text && !self.terminal {
            render::printf_into(format, values, out);
            return;
        }
        self.with_scratch(|printer, line| {
            render::printf_into(format, values, line);
            printer.text("printf", line, out);
        });
    }

    /// Text of a named kind of record: `printf`, `time`, `join`, `cat`, `syscall`. Joined text gets
    /// its line break here, and so does a command's, whatever its own last character is.
    pub fn text(&self, kind: &str, text: &[u8], out: &mut Vec<u8>) {
        match self.format {
            OutputFormat::Json => json::text_record(kind, text, out),
            OutputFormat::Text => {
                out.extend_from_slice(&text::shown(text, self.terminal));
                if matches!(kind, "join" | "syscall") {
                    out.push(b'\n');
                }
            }
        }
    }

    /// `print(value)`.
    pub fn value(&mut self, value: &Value, out: &mut Vec<u8>) {
        if self.format == OutputFormat::Json {
            json::value_record(value, out);
            return;
        }
        self.with_scratch(|printer, line| {
            render::value_into(value, line);
            line.push(b'\n');
            out.extend_from_slice(&text::shown(line, printer.terminal));
        });
    }

    /// `print(@map, top, div)`.
    pub fn map(&mut self, map: &MapSnapshot, options: &MapOptions, out: &mut Vec<u8>) {
        if self.format == OutputFormat::Json {
            json::map(map, options, self.stats.as_ref().and_then(|stats| stats.part(&map.name)), out);
            return;
        }
        self.with_scratch(|printer, lines| {
            render::map_into(map, options, lines);
            out.extend_from_slice(&text::shown(lines, printer.terminal));
        });
    }

    /// The end of the trace: a gap in text, then every map that has entries, by name.
    pub fn end(&mut self, maps: &[MapSnapshot], options: &MapOptions, out: &mut Vec<u8>) {
        if self.format == OutputFormat::Text {
            out.extend_from_slice(render::EXIT_GAP.as_bytes());
        }
        let mut sorted: Vec<&MapSnapshot> = maps.iter().collect();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        for map in sorted {
            if !map.rows.is_empty() {
                self.map(map, options, out);
            } else if self.format == OutputFormat::Json {
                json::emptied(map, out);
            }
        }
    }

    /// Runs with the reused buffer, empty.
    fn with_scratch(&mut self, run: impl FnOnce(&Self, &mut Vec<u8>)) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        run(self, &mut scratch);
        self.scratch = scratch;
    }
}
