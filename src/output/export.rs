//! What was traced, in the forms of other programs.
//!
//! Text of traced programs goes into these files as data: each writer quotes what its form gives a meaning to, and
//! writes control characters out.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use events::Events;

use crate::model::flame::{Compare, FlameTree, Shape, has_stacks};
use crate::model::snapshot::MapSnapshot;
use crate::model::stats::PartialMap;
use crate::store::{History, TraceInfo};

pub mod events;
pub mod firefox;
pub mod flame_svg;
pub mod folded;
pub mod perfetto;
pub mod pprof;
mod proto;
pub mod report;
pub mod table;

#[cfg(test)]
mod tests;

/// Forms that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Maps as comma-separated values.
    Csv,
    /// Events as comma-separated values.
    EventsCsv,
    /// Events as JSON, one a line.
    EventsJson,
    /// Maps as JSON.
    Json,
    /// Script, results and machine as Markdown.
    Report,
    /// Stacks, a line each.
    Folded,
    /// Stacks as a picture.
    Flame,
    /// Stacks for the Firefox profiler.
    Firefox,
    /// Stacks for pprof.
    Pprof,
    /// Events and maps over time for Perfetto.
    Perfetto,
}

impl Form {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Csv,
        Self::EventsCsv,
        Self::EventsJson,
        Self::Json,
        Self::Report,
        Self::Folded,
        Self::Flame,
        Self::Firefox,
        Self::Pprof,
        Self::Perfetto,
    ];

    /// As it is asked for.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::EventsCsv => "events-csv",
            Self::EventsJson => "events-json",
            Self::Json => "json",
            Self::Report => "markdown",
            Self::Folded => "folded",
            Self::Flame => "flame-svg",
            Self::Firefox => "firefox",
            Self::Pprof => "pprof",
            Self::Perfetto => "perfetto",
        }
    }

    /// What its files end with.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::EventsCsv => "events.csv",
            Self::EventsJson => "events.jsonl",
            Self::Json => "json",
            Self::Report => "md",
            Self::Folded => "folded",
            Self::Flame => "flame.svg",
            Self::Firefox => "firefox.json",
            Self::Pprof => "pb.gz",
            Self::Perfetto => "pftrace",
        }
    }

    /// What it is, in a sentence for lists.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Csv => "Maps as comma-separated values (CSV)",
            Self::EventsCsv => "Events as comma-separated values (CSV), a column for each value",
            Self::EventsJson => "Events as JSON, an object on a line each",
            Self::Json => "Maps as JSON",
            Self::Report => "Report in Markdown: script, results and machine",
            Self::Folded => "Stacks, folded: for flamegraph.pl, inferno, speedscope",
            Self::Flame => "Flame graph as SVG: for browsers",
            Self::Firefox => "Stacks for the Firefox profiler (profiler.firefox.com)",
            Self::Pprof => "Stacks for pprof",
            Self::Perfetto => "Events, losses and maps over time for Perfetto (ui.perfetto.dev)",
        }
    }

    /// Whether it is made of a map's stacks.
    #[must_use]
    pub const fn needs_stacks(self) -> bool {
        matches!(self, Self::Folded | Self::Flame | Self::Firefox | Self::Pprof)
    }
}

/// Why there is nothing to write.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There is no such trace, or none at all.
    #[error("there is no trace to export")]
    NoTrace,
    /// The form needs stacks.
    #[error("{form} needs a map whose keys have a stack (kstack, ustack); {there}")]
    NoStacks {
        /// The form.
        form: &'static str,
        /// What there is instead.
        there: String,
    },
    /// The form shows what happened over time.
    #[error("{form} needs events, or numbers in maps; the trace has no events, and {there}")]
    NoEvents {
        /// The form.
        form: &'static str,
        /// What there is instead.
        there: String,
    },
    /// There is no such map.
    #[error("there is no map {name}; {there}")]
    NoMap {
        /// Its name.
        name: String,
        /// What there is instead.
        there: String,
    },
    /// The values cannot be packed.
    #[error("cannot write {form}: {source}")]
    Write {
        /// The form.
        form: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

impl Debug for Source<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = &self.trace.name;
        f.debug_struct("Source")
            .field("trace", name)
            .field("at_ns", &self.at_ns)
            .field("map", &self.map)
            .finish_non_exhaustive()
    }
}

/// What is exported.
pub struct Source<'a> {
    /// The history.
    pub history: &'a dyn History,
    /// Whose.
    pub trace: &'a Arc<TraceInfo>,
    /// Maps as they are at this time, and events up to it, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// One map, or all.
    pub map: Option<&'a str>,
}

fn names(maps: &[MapSnapshot]) -> String {
    if maps.is_empty() {
        return "there are no maps".to_owned();
    }
    let names: Vec<&str> = maps.iter().map(|m| &*m.name).collect();
    format!("there are {}", names.join(", "))
}

impl Source<'_> {
    /// The maps that are exported.
    fn maps(&self) -> Result<Vec<MapSnapshot>, ExportError> {
        let all = self.history.maps_at(self.trace.id, self.at_ns).map_or_else(Vec::new, |m| m.to_vec());
        let Some(name) = self.map else { return Ok(all) };
        let found = all.iter().find(|m| m.name.trim_start_matches('@') == name.trim_start_matches('@'));
        match found {
            Some(map) => Ok(vec![map.clone()]),
            None => Err(ExportError::NoMap { name: name.to_owned(), there: names(&all) }),
        }
    }

    /// The stacks of the first map that has some.
    pub fn tree(&self, form: Form) -> Result<(Arc<str>, FlameTree), ExportError> {
        let maps = self.maps()?;
        let Some(map) = maps.iter().find(|m| has_stacks(m)) else {
            return Err(ExportError::NoStacks { form: form.name(), there: names(&maps) });
        };
        let mut tree = FlameTree::new(Shape::default());
        tree.begin();
        tree.take(&map.rows, usize::MAX);
        tree.finish(Compare::Nothing);
        Ok((Arc::clone(&map.name), tree))
    }

    /// The maps whose values are of a part of the firings.
    fn parts(&self) -> Vec<PartialMap> {
        self.history.stats_at(self.trace.id, self.at_ns).map_or_else(Vec::new, |stats| stats.parts.clone())
    }

    fn events(&self) -> Events<'_> {
        let traces = std::slice::from_ref(self.trace);
        Events { history: self.history, traces, at_ns: self.at_ns, passes: &|_, _, _| true }
    }

    /// Writes a form.
    ///
    /// # Errors
    /// When there is nothing of that form.
    pub fn write(&self, form: Form) -> Result<Vec<u8>, ExportError> {
        let written = match form {
            Form::Csv => table::maps_csv(&self.maps()?, &self.parts()).into_bytes(),
            Form::EventsCsv => self.events().csv().into_bytes(),
            Form::EventsJson => self.events().json_lines().into_bytes(),
            Form::Json => table::safe_json(table::maps_json(self.trace, &self.maps()?, &self.parts())).into_bytes(),
            Form::Report => report::text(self, &self.maps()?).into_bytes(),
            Form::Perfetto => match perfetto::trace(self) {
                Some(trace) => trace,
                None => return Err(ExportError::NoEvents { form: form.name(), there: names(&self.maps()?) }),
            },
            Form::Folded | Form::Flame | Form::Firefox | Form::Pprof => {
                let (name, tree) = self.tree(form)?;
                let parts = self.parts();
                of_stacks(form, &name, &tree, self.trace, part(&parts, &name))?
            }
        };
        Ok(written)
    }
}

/// Writes a form that is made of stacks; each says somewhere what part of the firings the stacks are of.
///
/// # Errors
/// When the values cannot be packed.
pub fn of_stacks(
    form: Form,
    map: &str,
    tree: &FlameTree,
    trace: &TraceInfo,
    part: Option<&PartialMap>,
) -> Result<Vec<u8>, ExportError> {
    let of = part.map(PartialMap::sentence);
    let named = of.as_ref().map_or_else(|| map.to_owned(), |of| format!("{map} ({of})"));
    Ok(match form {
        Form::Flame => flame_svg::picture(tree, &format!("{} {named}", trace.name)).into_bytes(),
        Form::Firefox => table::safe_json(firefox::profile(tree, &named, trace)).into_bytes(),
        Form::Pprof => pprof::profile(tree, map, of.as_deref())
            .map_err(|source| ExportError::Write { form: form.name(), source })?,
        _ => folded::text(tree, of.as_deref()).into_bytes(),
    })
}

/// What a map's values are of; nothing where they are of all firings.
fn part<'a>(parts: &'a [PartialMap], map: &str) -> Option<&'a PartialMap> {
    parts.iter().find(|part| &*part.map == map)
}
