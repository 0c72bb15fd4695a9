//! What was recorded for the pictures, and how it becomes what a session tells.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::model::snapshot::MapSnapshot;
use crate::model::stats::TraceStats;
use crate::session::update::{CompileFigures, TraceId, Update};
use crate::store::{ActionInfo, ActionKind, ChunkBuilder, Entry, Payload, TraceInfo};

/// One thing that a session told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Told {
    /// A script was compiled.
    Compiled {
        /// What there is to say.
        diagnostics: Vec<Diagnostic>,
        /// Figures.
        figures: Option<CompileFigures>,
    },
    /// It was attached.
    Attached {
        /// Attach points.
        probes: u32,
        /// From the order to the last attach, ns.
        elapsed_ns: u64,
    },
    /// It was refused.
    Failed {
        /// Why.
        diagnostic: Diagnostic,
        /// The verifier's log.
        raw_log: Arc<str>,
    },
    /// It printed.
    Lines(Lines),
    /// Its maps.
    Maps(Arc<[MapSnapshot]>),
    /// Its counters.
    Stats(Arc<TraceStats>),
}

/// A finished line of output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// When it was printed, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Which action printed it.
    pub action: u32,
    /// Text without its final newline.
    pub text: Arc<str>,
}

/// A run of lines.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lines {
    /// The lines.
    pub lines: Vec<Line>,
    /// The trace that they are of.
    #[serde(default)]
    pub origin: Origin,
}

/// What all lines of one trace have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// When the trace began to attach, ns of `CLOCK_MONOTONIC`.
    pub began_ns: u64,
    /// Local wall-clock time minus `CLOCK_MONOTONIC`, ns, the time zone's offset included.
    pub local_minus_monotonic_ns: i64,
    /// By action: the probe that it stands in, as people read it; empty where that is not known.
    pub probes: Vec<Arc<str>>,
}

impl Origin {
    fn info(&self, id: TraceId) -> TraceInfo {
        let action = |probe: &Arc<str>| ActionInfo {
            // The recorded text is finished.
            kind: ActionKind::Time,
            span: Span::default(),
            expanded: Vec::new(),
            probe: Arc::clone(probe),
            columns: Vec::new(),
            origin: None,
        };
        TraceInfo {
            id,
            actions: self.probes.iter().map(action).collect(),
            began_ns: self.began_ns,
            wall_minus_monotonic_ns: self.local_minus_monotonic_ns,
            ..TraceInfo::default()
        }
    }
}

impl Told {
    /// As a session tells it of a trace.
    pub(super) fn updates(&self, trace: TraceId) -> Vec<Update> {
        match self.clone() {
            Self::Compiled { diagnostics, figures } => vec![Update::Compiled { trace, diagnostics, figures }],
            Self::Attached { probes, elapsed_ns } => vec![Update::Attached { trace, probes, elapsed_ns }],
            Self::Failed { diagnostic, raw_log } => vec![Update::Failed { trace, diagnostic, raw_log }],
            Self::Lines(lines) => {
                let info = Arc::new(lines.origin.info(trace));
                let text = |line: &Line| {
                    let payload = Payload::Text { action: line.action, text: line.text.as_bytes().into() };
                    (line.at_ns, payload)
                };
                let mut updates = vec![Update::Trace(Arc::clone(&info))];
                updates.extend(chunk(trace, Some(&info), lines.lines.iter().map(text)));
                updates
            }
            Self::Maps(maps) => {
                let at_ns = maps.first().map_or(0, |map| map.at_ns);
                chunk(trace, None, [(at_ns, Payload::Maps(maps))]).into_iter().collect()
            }
            Self::Stats(stats) => chunk(trace, None, [(stats.at_ns, Payload::Stats(stats))]).into_iter().collect(),
        }
    }
}

fn chunk(
    trace: TraceId,
    info: Option<&Arc<TraceInfo>>,
    entries: impl IntoIterator<Item = (u64, Payload)>,
) -> Option<Update> {
    let mut builder = ChunkBuilder::new();
    if let Some(info) = info {
        builder.declare(info);
    }
    for (at_ns, payload) in entries {
        builder.push(&Entry { trace, at_ns, cpu: None, payload });
    }
    builder.finish().map(Update::Append)
}
