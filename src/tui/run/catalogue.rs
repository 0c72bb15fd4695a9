//! Answers the probe browser's questions: the catalogue is read in the background, searches and
//! descriptions run on the thread that asks.

use std::sync::Arc;

use super::finder::Finder;
use crate::kernel::{Absence, Kernel};
use crate::lang::front_end;
use crate::lang::service::kernel::KernelKnowledge;
use crate::lang::service::{Completion, ServiceEnv};
use crate::lang::source::SourceText;
use crate::probe::catalogue::Background;
use crate::probe::describe::describe;
use crate::probe::lens::{self, Arguments, Composite};
use crate::probe::listing::Line;
use crate::probe::search::{MOST, Search};
use crate::probe::user::{self, Lead, Running};
use crate::probe::xray::{Xray, xray};
use crate::tui::data::effect::{Detail, Field, Found, Hit};

/// The running system's probes.
#[derive(Debug)]
pub struct Catalogue {
    kernel: Arc<Kernel>,
    background: Background,
    search: Search,
    knowledge: KernelKnowledge,
    /// The programs that run.
    running: Running,
    /// The binaries that the last search led to.
    leads: Vec<Lead>,
}

impl Catalogue {
    /// Starts to read what there is.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn spawn(kernel: Arc<Kernel>) -> std::io::Result<Self> {
        let background = Background::spawn(Arc::clone(&kernel))?;
        let knowledge = KernelKnowledge::new(Arc::clone(&kernel), Some(background.clone()));
        Ok(Self {
            knowledge,
            kernel,
            background,
            search: Search::default(),
            running: Running::default(),
            leads: Vec::new(),
        })
    }
}

/// An absence for people: what, why, what to do.
fn words(absence: &Absence) -> String {
    let mut remedy = absence.remedy.chars();
    let first = remedy.next().map(|c| c.to_ascii_uppercase());
    format!("{absence}. {}{}", first.map(String::from).unwrap_or_default(), remedy.as_str())
}

/// A probe of a binary, with the place of what was typed of its own name.
fn of_line(query: &str, line: Line) -> Hit {
    let own = query.rsplit(':').next().unwrap_or("");
    let at = line.name.rfind(':').and_then(|colon| Some(colon + line.name.get(colon..)?.find(own)?));
    let start = at.map_or(0, |at| line.name.get(..at).map_or(0, |head| head.chars().count()) as u32);
    let matched = at.map_or_else(Vec::new, |_| (start..start + own.chars().count() as u32).collect());
    let absent = line.absence.as_ref().map(|a| words(a).into());
    Hit { name: line.name.into(), matched, absent, leads: false }
}

/// The probes of one binary as the answer to a search.
fn of_binary(query: &str, lines: Vec<Line>) -> Found {
    let count = lines.len();
    let usable = lines.iter().filter(|line| line.absence.is_none()).count();
    let mut hits: Vec<Hit> = lines.into_iter().take(MOST).map(|line| of_line(query, line)).collect();
    // Stable: those that can't be attached keep their order, behind the others.
    hits.sort_by_key(|hit| hit.absent.is_some());
    let binary = query.split(':').nth(1).unwrap_or_default();
    let nothing =
        format!("{binary} has no probe of this name. A stripped binary names no functions but those that it exports.");
    let absent = if count == 0 { vec![nothing.into()] } else { Vec::new() };
    Found { hits, matched: count, usable, total: count, complete: true, absent, ..Found::default() }
}

impl Catalogue {
    /// What the catalogue of all probes has.
    fn listed(&mut self, query: &str) -> Found {
        let results = self.search.search(&self.background.snapshot(), query, 0);
        let hit = |h: crate::probe::search::Hit| Hit {
            name: h.name,
            matched: h.positions,
            absent: h.absence.as_ref().map(|a| words(a).into()),
            leads: false,
        };
        Found {
            generation: 0,
            hits: results.hits.into_iter().map(hit).collect(),
            matched: results.matched,
            usable: results.usable,
            total: results.total,
            complete: results.complete,
            absent: results.absences.iter().map(|a| words(a).into()).collect(),
        }
    }

    /// Puts what is found outside of the catalogue between what of it has the text as it was typed and the rest.
    fn add(found: &mut Found, query: &str, more: Vec<Hit>) {
        let wanted = query.to_ascii_lowercase();
        let is_whole = |hit: &Hit| hit.absent.is_none() && hit.name.to_ascii_lowercase().contains(&wanted);
        let known: std::collections::HashSet<Arc<str>> = found.hits.iter().map(|hit| Arc::clone(&hit.name)).collect();
        let more: Vec<Hit> = more.into_iter().filter(|hit| !known.contains(&hit.name)).take(MOST).collect();
        let probes = || more.iter().filter(|hit| !hit.leads);
        found.matched += probes().count();
        found.usable += probes().filter(|hit| hit.absent.is_none()).count();
        found.total += probes().count();
        let at = found.hits.iter().position(|hit| !is_whole(hit)).unwrap_or(found.hits.len());
        found.hits.splice(at..at, more);
    }
}

impl Finder for Catalogue {
    fn search(&mut self, query: &str) -> Found {
        let query = &*user::joined(query, &self.kernel);
        if let Some(lines) = user::probes(query, &self.kernel) {
            return of_binary(query, lines);
        }
        let mut found = self.listed(query);
        found.absent.splice(0..0, user::why_none(query, &self.kernel).map(Into::into));
        let running = self.running.programs(&self.kernel);
        // Those of some libraries are in the catalogue.
        let prefix = format!("uprobe:{}:", query.split(':').next().unwrap_or_default());
        let is_listed = found.hits.iter().any(|hit| hit.name.starts_with(&prefix));
        let lines = if is_listed { Vec::new() } else { user::probes_of_named(query, &self.kernel, running) };
        self.leads = user::leads(query, &self.kernel, running);
        Self::add(&mut found, query, lines.into_iter().map(|line| of_line(query, line)).collect());
        let files = user::files(query).into_iter().map(|name| Hit { name: name.into(), leads: true, ..Hit::default() });
        let lead = |lead: &Lead| Hit { name: lead.name.as_str().into(), leads: true, ..Hit::default() };
        let (first, rest): (Vec<&Lead>, Vec<&Lead>) = self.leads.iter().partition(|lead| lead.exact);
        Self::add(&mut found, query, rest.into_iter().map(lead).chain(files).collect());
        found.hits.splice(0..0, first.into_iter().map(lead));
        found
    }

    fn describe(&mut self, name: &str) -> Detail {
        if let Some(lead) = self.leads.iter().find(|lead| lead.name == name) {
            let about = format!("{} Its functions and static probes are listed next.", lead.about);
            return Detail { name: name.into(), about, ..Detail::default() };
        }
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

    fn lens(&mut self, probe: &str) -> Result<Arguments, String> {
        let own = lens::arguments(probe, &self.kernel);
        // The task that runs has members in every probe.
        let task = Composite::of_type("struct task_struct *", "curtask", &self.kernel);
        match (own, task) {
            (Ok(mut own), task) => {
                own.roots.extend(task);
                Ok(own)
            }
            (Err(_), Ok(task)) => Ok(Arguments { roots: vec![task], plain: Vec::new() }),
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
