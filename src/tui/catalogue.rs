//! Answers the probe browser's questions: the catalogue is read in the background, searches and
//! descriptions run on the thread that asks.

use std::sync::Arc;

use super::effect::{Detail, Field, Found, Hit};
use super::finder::Finder;
use super::skeleton;
use crate::kernel::{Absence, Kernel};
use crate::probe::catalogue::{Background, ProbeKind};
use crate::probe::search::Search;

/// The running system's probes.
#[derive(Debug)]
pub struct Catalogue {
    kernel: Arc<Kernel>,
    background: Background,
    search: Search,
}

impl Catalogue {
    /// Starts to read what there is.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn spawn(kernel: Arc<Kernel>) -> std::io::Result<Self> {
        let background = Background::spawn(Arc::clone(&kernel))?;
        Ok(Self { kernel, background, search: Search::default() })
    }
}

/// An absence for people: what, why, what to do.
fn words(absence: &Absence) -> String {
    format!("{absence}. {}", absence.remedy)
}

impl Finder for Catalogue {
    fn search(&mut self, query: &str) -> Found {
        let results = self.search.search(&self.background.snapshot(), query, 0);
        let hit = |h: crate::probe::search::Hit| Hit {
            name: h.name,
            matched: h.positions,
            absent: h.absence.as_ref().map(|a| words(a).into()),
        };
        Found {
            generation: 0,
            hits: results.hits.into_iter().map(hit).collect(),
            matched: results.matched,
            total: results.total,
            complete: results.complete,
            absent: results.absences.iter().map(|a| words(a).into()).collect(),
        }
    }

    fn describe(&mut self, name: &str) -> Detail {
        let mut detail = Detail { name: name.into(), about: about(name).to_owned(), ..Detail::default() };
        if let Some((category, event)) = name.strip_prefix("tracepoint:").and_then(|n| n.split_once(':')) {
            match self.kernel.tracepoint(category, event) {
                Ok(format) => {
                    let field = |f: &crate::kernel::tracefs::Field| Field {
                        name: format!("args.{}", f.name),
                        ty: f.array.map_or_else(|| f.ty.to_string(), |n| format!("{}[{n}]", f.ty)),
                    };
                    detail.fields = format.own_fields().map(field).collect();
                }
                Err(error) => detail.absent = Some(error.to_string()),
            }
        }
        detail.skeleton = skeleton::clause(name, &detail.fields);
        detail
    }
}

/// What kind of probe it is, in a sentence.
fn about(name: &str) -> &'static str {
    let provider = name.split(':').next().unwrap_or(name);
    match ProbeKind::of_provider(provider) {
        ProbeKind::Tracepoint => "A stable place in the kernel's source. Its fields are in args.",
        ProbeKind::RawTracepoint => "A tracepoint without its record: the kernel's own objects are in args.",
        ProbeKind::Fentry => "The entry of a kernel function, cheaply. Its parameters are in args.",
        ProbeKind::Fexit => "The return of a kernel function, cheaply. Parameters are in args, the result in retval.",
        ProbeKind::Kprobe => "The entry of a kernel function, by breakpoint. Parameters are arg0, arg1, ...",
        ProbeKind::Kretprobe => "The return of a kernel function. The result is in retval.",
        ProbeKind::Uprobe => "The entry of a function of a program or library. Parameters are arg0, arg1, ...",
        ProbeKind::Uretprobe => "The return of a function of a program or library. The result is in retval.",
        ProbeKind::Usdt => "A place that the program's authors marked. Its parameters are arg0, arg1, ...",
        ProbeKind::Software => "An event that the kernel counts. Runs once for every so many.",
        ProbeKind::Hardware => "An event that the processor counts. Runs once for every so many.",
        ProbeKind::Iter => "Goes once over all objects of a kind.",
        ProbeKind::Special => match provider {
            "interval" => "Runs at an interval, on one CPU.",
            "profile" => "Samples every CPU so many times.",
            "BEGIN" | "begin" => "Runs once, before anything is attached.",
            "END" | "end" => "Runs once, when the trace ends.",
            _ => "",
        },
    }
}
