//! Answers the probe browser's questions: the catalogue is read in the background, searches and
//! descriptions run on the thread that asks.

use std::sync::Arc;

use super::effect::{Detail, Field, Found, Hit};
use super::finder::Finder;
use crate::kernel::{Absence, Kernel};
use crate::lang::front_end;
use crate::lang::service::kernel::KernelKnowledge;
use crate::lang::service::{Completion, ServiceEnv};
use crate::lang::source::SourceText;
use crate::probe::catalogue::Background;
use crate::probe::describe::describe;
use crate::probe::lens::{self, Composite};
use crate::probe::listing::Line;
use crate::probe::search::{MOST, Search};
use crate::probe::user;
use crate::probe::xray::{Xray, xray};

/// The running system's probes.
#[derive(Debug)]
pub struct Catalogue {
    kernel: Arc<Kernel>,
    background: Background,
    search: Search,
    knowledge: KernelKnowledge,
}

impl Catalogue {
    /// Starts to read what there is.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn spawn(kernel: Arc<Kernel>) -> std::io::Result<Self> {
        let background = Background::spawn(Arc::clone(&kernel))?;
        let knowledge = KernelKnowledge::new(Arc::clone(&kernel), Some(background.clone()));
        Ok(Self { knowledge, kernel, background, search: Search::default() })
    }
}

/// An absence for people: what, why, what to do.
fn words(absence: &Absence) -> String {
    let mut remedy = absence.remedy.chars();
    let first = remedy.next().map(|c| c.to_ascii_uppercase());
    format!("{absence}. {}{}", first.map(String::from).unwrap_or_default(), remedy.as_str())
}

/// The probes of one binary as the answer to a search.
fn of_binary(query: &str, lines: Vec<Line>) -> Found {
    let count = lines.len();
    let own = query.rsplit(':').next().unwrap_or("");
    let hit = |line: Line| {
        let at = line.name.rfind(':').and_then(|colon| Some(colon + line.name.get(colon..)?.find(own)?));
        let start = at.map_or(0, |at| line.name.get(..at).map_or(0, |head| head.chars().count()) as u32);
        let matched = at.map_or_else(Vec::new, |_| (start..start + own.chars().count() as u32).collect());
        Hit { name: line.name.into(), matched, absent: line.absence.as_ref().map(|a| words(a).into()) }
    };
    let hits = lines.into_iter().take(MOST).map(hit).collect();
    Found { hits, matched: count, total: count, complete: true, ..Found::default() }
}

impl Finder for Catalogue {
    fn search(&mut self, query: &str) -> Found {
        if let Some(lines) = user::probes(query, &self.kernel) {
            return of_binary(query, lines);
        }
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
        let doc = describe(name, &self.kernel);
        let mut fields: Vec<Field> = doc.fields.into_iter().map(|f| Field { name: f.access, ty: f.ty }).collect();
        let result = fields.iter().position(|f| f.name == "retval").map(|at| fields.remove(at).ty);
        Detail {
            name: doc.name,
            about: doc.about,
            fields,
            result,
            absent: doc.absence.as_ref().map(words),
            skeleton: doc.skeleton,
        }
    }

    fn xray(&mut self, pattern: &str) -> Result<Xray, String> {
        xray(pattern, &self.kernel).map_err(|error| error.in_full())
    }

    fn lens(&mut self, probe: &str) -> Result<Vec<Composite>, String> {
        let own = lens::roots(probe, &self.kernel);
        // The task that runs has members in every probe.
        let task = Composite::of_type("struct task_struct *", "curtask", &self.kernel);
        match (own, task) {
            (Ok(own), task) => Ok(own.into_iter().chain(task).collect()),
            (Err(_), Ok(task)) => Ok(vec![task]),
            (Err(why), Err(_)) => Err(why.to_string()),
        }
    }

    fn complete(&mut self, source: &SourceText, offset: u32) -> Vec<Completion> {
        front_end(source).completions(source, offset, &ServiceEnv { knowledge: &self.knowledge })
    }

    fn hint(&mut self, source: &SourceText, offset: u32) -> String {
        let Some(hover) = front_end(source).hover(source, offset, &ServiceEnv { knowledge: &self.knowledge }) else {
            let call = front_end(source).signature_help(source, offset);
            return call.map_or_else(String::new, |call| format!("{} — {}", call.label, call.doc));
        };
        let code: Vec<&str> = hover.code.lines().map(str::trim).collect();
        let code = match code.split_first() {
            Some((first, rest)) if !rest.is_empty() => format!("{first} ({})", rest.join(", ")),
            _ => code.concat(),
        };
        if hover.doc.is_empty() { code } else { format!("{code} — {}", hover.doc.replace('\n', " ")) }
    }
}
