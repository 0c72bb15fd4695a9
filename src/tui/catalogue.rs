//! Answers the probe browser's questions from the running kernel.

use std::sync::Arc;

use fuzzy_matcher::FuzzyMatcher as _;
use fuzzy_matcher::skim::SkimMatcherV2;

use super::effect::{Detail, Field, Found, Hit};
use super::finder::Finder;
use super::skeleton;
use crate::kernel::Kernel;

/// Most results sent to the screen.
const MOST: usize = 500;

/// Probes that every kernel has, with what they are.
const ALWAYS: &[(&str, &str)] = &[
    ("BEGIN", "Runs once, before anything is attached."),
    ("END", "Runs once, when the trace ends."),
    ("interval:s:1", "Runs every second, on one CPU."),
    ("interval:ms:100", "Runs ten times a second, on one CPU."),
    ("profile:hz:99", "Samples every CPU, 99 times a second."),
    ("software:page-faults:1", "Runs at every page fault."),
    ("software:context-switches:1", "Runs at every context switch."),
];

/// The kernel's probes.
pub struct Catalogue {
    kernel: Arc<Kernel>,
    names: Vec<(Arc<str>, u64)>,
    absent: Vec<Arc<str>>,
}

impl std::fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalogue").field("names", &self.names.len()).finish_non_exhaustive()
    }
}

impl Catalogue {
    /// Reads nothing yet.
    #[must_use]
    pub const fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel, names: Vec::new(), absent: Vec::new() }
    }

    fn fill(&mut self) {
        if !self.names.is_empty() {
            return;
        }
        let mut names: Vec<Arc<str>> = ALWAYS.iter().map(|(n, _)| (*n).into()).collect();
        match self.kernel.tracepoints() {
            Ok(all) => names.extend(all.iter().map(|(c, e)| Arc::from(format!("tracepoint:{c}:{e}")))),
            Err(absence) => self.absent.push(format!("{absence}. {}", absence.remedy).into()),
        }
        self.names = names.into_iter().map(|n| (Arc::clone(&n), letters(&n))).collect();
    }
}

/// Which letters are in a text, as bits: a text lacks a query's letters or is worth a closer look.
fn letters(text: &str) -> u64 {
    text.bytes().fold(0, |bits, b| match b.to_ascii_lowercase() {
        b @ b'a'..=b'z' => bits | 1 << (b - b'a'),
        b @ b'0'..=b'9' => bits | 1 << (26 + b - b'0'),
        _ => bits,
    })
}

impl Finder for Catalogue {
    fn search(&mut self, query: &str) -> Found {
        self.fill();
        let query = query.replace(' ', "");
        let wanted = letters(&query);
        let matcher = SkimMatcherV2::default();
        let mut hits: Vec<(i64, usize)> =
            self.names
                .iter()
                .enumerate()
                .filter(|(_, (_, mask))| wanted & !mask == 0)
                .filter_map(|(i, (name, _))| {
                    if query.is_empty() { Some((0, i)) } else { matcher.fuzzy_match(name, &query).map(|s| (s, i)) }
                })
                .collect();
        if !query.is_empty() {
            hits.sort_by_key(|(score, i)| {
                (std::cmp::Reverse(*score), self.names[*i].0.contains("exit"), self.names[*i].0.len(), *i)
            });
        }
        let matched = hits.len();
        let hit = |(_, i): &(i64, usize)| {
            let name = Arc::clone(&self.names[*i].0);
            let at = matcher.fuzzy_indices(&name, &query).map_or_else(Vec::new, |(_, at)| at);
            Hit { name, matched: at.into_iter().map(|n| n as u32).collect(), absent: None }
        };
        Found {
            hits: hits.iter().take(MOST).map(hit).collect(),
            matched,
            total: self.names.len(),
            complete: true,
            absent: self.absent.clone(),
            generation: 0,
        }
    }

    fn describe(&mut self, name: &str) -> Detail {
        let about = ALWAYS.iter().find(|(n, _)| *n == name).map_or("", |(_, a)| a);
        let mut detail = Detail { name: name.into(), about: about.to_owned(), ..Detail::default() };
        if let Some((category, event)) = name.strip_prefix("tracepoint:").and_then(|n| n.split_once(':')) {
            match self.kernel.tracepoint(category, event) {
                Ok(format) => {
                    "A stable place in the kernel's source; its fields are in args.".clone_into(&mut detail.about);
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
