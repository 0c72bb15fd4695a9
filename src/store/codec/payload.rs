//! Payloads to bytes and back, but for state, which is written as differences.

use std::sync::Arc;

use super::decode::{Decoder, skip};
use super::varint::{Reader, put, put_signed};
use super::{Encoder, Tables, cause_code, cause_of};
use crate::lang::diagnostic::Severity;
use crate::lang::source::Span;
use crate::model::stats::LossCause;
use crate::model::value::Value;
use crate::store::entry::{Payload, PayloadKind};

/// What a reader is told of an entry besides its head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// What a loss adds up to.
    pub lost: u64,
    /// A warning, an error, a failure or a failed assertion.
    pub warning: bool,
}

impl Encoder {
    /// Appends an event.
    pub fn event(&mut self, action: u32, values: &[Value], out: &mut Vec<u8>) {
        let shape = self.shape(action, values);
        put(out, u64::from(shape));
        values.iter().for_each(|value| self.value(value, 0, out));
    }

    /// Appends a payload other than an event, maps and counters; `at_ns` is the entry's time, and `error` tells that a
    /// text is of a fault.
    pub fn payload(&mut self, payload: &Payload, at_ns: u64, error: bool, out: &mut Vec<u8>) -> Weight {
        let mut body = Vec::new();
        let mut weight = Weight::default();
        match payload {
            Payload::Text { action, text } => {
                weight.warning = error;
                put(&mut body, u64::from(*action) << 1 | u64::from(error));
                body.extend_from_slice(text);
            }
            Payload::Print { action, map } => {
                put(&mut body, u64::from(*action));
                self.map(map, None, at_ns, &mut body);
            }
            Payload::Lost { cause, count, site, span } => {
                weight.lost = lost(*cause, *count);
                put(&mut body, *count);
                body.push(cause_code(*cause));
                let site = self.string(site.as_bytes());
                put(&mut body, site);
                self::span(*span, &mut body);
            }
            Payload::Failure { cause, helper, code, span } => {
                weight.warning = true;
                body.push(cause_code(*cause));
                put(&mut body, u64::from(*helper));
                put_signed(&mut body, i64::from(*code));
                self::span(*span, &mut body);
            }
            Payload::Diagnostic(diagnostic) => {
                weight.warning = diagnostic.severity >= Severity::Warning;
                body.push(u8::from(weight.warning));
                // Plain data without maps or numbers that JSON lacks: never fails.
                body.extend(serde_json::to_vec(&**diagnostic).unwrap_or_default());
            }
            Payload::Lifecycle(step) => body.extend(serde_json::to_vec(step).unwrap_or_default()),
            Payload::Mark(name) => body.extend_from_slice(name.as_bytes()),
            Payload::CpuSample(sample) => body.extend(serde_json::to_vec(&**sample).unwrap_or_default()),
            Payload::Task(report) => body.extend(serde_json::to_vec(&**report).unwrap_or_default()),
            Payload::Episode(episode) => body.extend(serde_json::to_vec(&**episode).unwrap_or_default()),
            Payload::Event { .. } | Payload::Maps(_) | Payload::Stats(_) => {}
        }
        put(out, body.len() as u64);
        out.extend_from_slice(&body);
        weight
    }
}

fn span(span: Span, out: &mut Vec<u8>) {
    put(out, u64::from(span.start));
    put(out, u64::from(span.end));
}

/// Passes over an event.
pub fn skip_event(tables: &Tables, r: &mut Reader<'_>) -> Option<()> {
    let shape = tables.shapes.get(r.small()? as usize)?;
    shape.tags.iter().try_for_each(|tag| skip(*tag, r, 0))
}

/// The action of an entry, read without the rest.
pub fn action(tables: &Tables, kind: PayloadKind, body: &[u8]) -> Option<u32> {
    let mut r = Reader::new(body);
    match kind {
        PayloadKind::Event => Some(tables.shapes.get(r.small()? as usize)?.action),
        PayloadKind::Text => u32::try_from(r.number()? >> 1).ok(),
        PayloadKind::Print => r.small(),
        _ => None,
    }
}

/// What of a loss was lost: a value that is incomplete was not.
const fn lost(cause: LossCause, count: u64) -> u64 {
    if cause.is_incomplete() { 0 } else { count }
}

/// What an entry weighs.
pub fn weight(kind: PayloadKind, body: &[u8]) -> Option<Weight> {
    let mut r = Reader::new(body);
    Some(match kind {
        PayloadKind::Lost => {
            let count = r.number()?;
            Weight { lost: lost(cause_of(u64::from(r.byte()?))?, count), warning: false }
        }
        PayloadKind::Failure => Weight { lost: 0, warning: true },
        PayloadKind::Diagnostic => Weight { lost: 0, warning: r.byte()? != 0 },
        PayloadKind::Text => Weight { lost: 0, warning: r.number()? & 1 != 0 },
        _ => Weight::default(),
    })
}

/// The values of an event.
pub fn values(tables: &Tables, body: &[u8]) -> Option<(u32, Vec<Value>)> {
    let mut decoder = Decoder::new(tables, body);
    let shape = tables.shapes.get(decoder.reader.small()? as usize)?;
    let values = shape.tags.iter().map(|tag| decoder.value(*tag, 0)).collect::<Option<_>>()?;
    Some((shape.action, values))
}

/// A payload, but for maps and counters.
pub fn decode(tables: &Tables, kind: PayloadKind, at_ns: u64, body: &[u8]) -> Option<Payload> {
    let mut d = Decoder::new(tables, body);
    Some(match kind {
        PayloadKind::Event => {
            let (action, values) = values(tables, body)?;
            Payload::Event { action, values }
        }
        PayloadKind::Text => {
            let action = u32::try_from(d.reader.number()? >> 1).ok()?;
            Payload::Text { action, text: d.reader.bytes(d.reader.left())?.into() }
        }
        PayloadKind::Print => {
            let action = d.reader.small()?;
            Payload::Print { action, map: Arc::new(d.map(None, at_ns)?) }
        }
        PayloadKind::Lost => {
            let count = d.reader.number()?;
            let cause = cause_of(u64::from(d.reader.byte()?))?;
            Payload::Lost { cause, count, site: d.string()?, span: read_span(&mut d.reader)? }
        }
        PayloadKind::Failure => {
            let cause = cause_of(u64::from(d.reader.byte()?))?;
            let (helper, code) = (d.reader.small()?, i32::try_from(d.reader.signed()?).ok()?);
            Payload::Failure { cause, helper, code, span: read_span(&mut d.reader)? }
        }
        PayloadKind::Diagnostic => {
            let diagnostic = serde_json::from_slice(body.get(1..)?).ok()?;
            Payload::Diagnostic(Arc::new(diagnostic))
        }
        PayloadKind::Lifecycle => Payload::Lifecycle(serde_json::from_slice(body).ok()?),
        PayloadKind::Mark => Payload::Mark(String::from_utf8_lossy(body).into()),
        PayloadKind::CpuSample => Payload::CpuSample(Arc::new(serde_json::from_slice(body).ok()?)),
        PayloadKind::Task => Payload::Task(Arc::new(serde_json::from_slice(body).ok()?)),
        PayloadKind::Episode => Payload::Episode(Arc::new(serde_json::from_slice(body).ok()?)),
        PayloadKind::Maps | PayloadKind::Stats => return None,
    })
}

fn read_span(r: &mut Reader<'_>) -> Option<Span> {
    Some(Span::new(r.small()?, r.small()?))
}
