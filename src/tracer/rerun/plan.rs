//! Which recorded events drive which clause of a script.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::known::Group;
use super::rewrite::{Maps, Missing, Rewritten, Why, rewrite};
use crate::lang::codes::run::{NOT_RECORDED, NOT_SEEN};
use crate::lang::diagnostic::{Diagnostic, has_errors};
use crate::lang::source::{SourceText, Span};
use crate::lang::typed::{ActionKind, ExprKind, MapId, Probe, Program, StatementKind};
use crate::model::target::Target;

/// How a script runs on recorded events.
#[derive(Debug, Default)]
pub struct Plan<'a> {
    /// Clauses of begin probes, of end probes, and of intervals with their period, ns.
    pub begin: Vec<Rewritten>,
    pub end: Vec<Rewritten>,
    pub intervals: Vec<(u64, Rewritten)>,
    /// Clauses that recorded events drive.
    pub driven: Vec<Driven<'a>>,
    /// Maps that are not shown: what sets them was not recorded.
    pub stale: HashSet<MapId>,
    /// Maps that clauses still read.
    pub read: HashSet<MapId>,
}

/// A clause with the events that drive it.
#[derive(Debug)]
pub struct Driven<'a> {
    pub group: &'a Group<'a>,
    /// Only firings of these probes, by the name that one of the events tells.
    pub only: Option<Vec<Arc<str>>>,
    pub clause: Rewritten,
}

/// What stands in the way, or is to be known of the result.
#[derive(Debug)]
pub struct Planned<'a> {
    pub plan: Plan<'a>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Plans a script.
pub fn plan<'a>(program: &Program, source: &SourceText, groups: &'a [Group<'a>]) -> Planned<'a> {
    let mut maps = Maps { internal: read_by(program), stale: HashSet::new() };
    maps.stale = Planner::new(program, source, groups, &maps).stale();
    let mut left_out = BTreeSet::new();
    // A map that turns out not to be set as the script says is known to no clause.
    loop {
        let mut planner = Planner::new(program, source, groups, &maps);
        planner.refuse_acts();
        program.probes.iter().for_each(|probe| planner.probe(probe));
        if planner.unset.is_subset(&maps.stale) {
            planner.refuse_nothing();
            planner.tell_left_out(&left_out);
            let Planner { plan, diagnostics, .. } = planner;
            return Planned { plan: Plan { stale: maps.stale, ..plan }, diagnostics };
        }
        let unset = planner.unset;
        left_out.extend(&unset);
        maps.stale.extend(unset);
    }
}

/// The maps that a script reads itself.
fn read_by(program: &Program) -> HashSet<MapId> {
    let read = program.probes.iter().flat_map(Probe::all_exprs).filter_map(|e| match &e.kind {
        ExprKind::MapGet { map, .. } | ExprKind::MapHas { map, .. } | ExprKind::MapFind { map, .. } => Some(*map),
        _ => None,
    });
    read.collect()
}

struct Planner<'a, 'p> {
    program: &'p Program,
    source: &'p SourceText,
    groups: &'a [Group<'a>],
    maps: &'p Maps,
    plan: Plan<'a>,
    unset: HashSet<MapId>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a, 'p> Planner<'a, 'p> {
    fn new(program: &'p Program, source: &'p SourceText, groups: &'a [Group<'a>], maps: &'p Maps) -> Self {
        let (plan, unset, diagnostics) = (Plan::default(), HashSet::new(), Vec::new());
        Self { program, source, groups, maps, plan, unset, diagnostics }
    }

    /// A script of which nothing would run is refused.
    fn refuse_nothing(&mut self) {
        let Plan { begin, end, intervals, driven, .. } = &self.plan;
        let runs = !(driven.is_empty() && begin.is_empty() && end.is_empty() && intervals.is_empty());
        if runs || has_errors(&self.diagnostics) {
            return;
        }
        let span = self.program.probes.first().map_or(Span::default(), |probe| probe.head);
        let message = "nothing of this script's probes was recorded";
        // That each clause is left out says the same.
        self.diagnostics.retain(|d| d.code != NOT_SEEN);
        self.diagnostics.push(Diagnostic::error(NOT_RECORDED, span, message).help(self.what_there_is()));
    }

    /// Rewrites a clause and keeps what is to be known of it.
    fn rewritten(&mut self, probe: &Probe, group: Option<&Group<'_>>) -> Rewritten {
        let clause = rewrite(self.program, probe, group, self.maps);
        self.tell_missing(&clause.missing, group);
        self.unset.extend(&clause.unset);
        self.plan.read.extend(&clause.read);
        clause
    }

    /// What has an effect outside is not done on a recording.
    fn refuse_acts(&mut self) {
        for action in &self.program.actions {
            let what = match action.kind {
                ActionKind::Join(_) => "join()",
                ActionKind::Cat(_) => "cat()",
                ActionKind::System(_) => "system()",
                ActionKind::SkbOutput(_) => "skboutput()",
                _ => continue,
            };
            self.diagnostics.push(Diagnostic::error(NOT_RECORDED, action.span, on_a_machine(what)));
        }
    }

    fn is_own(probe: &Probe) -> bool {
        let own = |target: &Target| matches!(target, Target::Begin | Target::End | Target::Interval { .. });
        probe.targets.iter().any(own)
    }

    fn name(&self, index: u32) -> &str {
        self.program.probe_names.get(index as usize).map_or("", |name| name)
    }

    fn groups_of(&self, name: &str) -> Vec<&'a Group<'a>> {
        self.groups.iter().filter(|group| group.is_of(name)).collect()
    }

    /// Maps that are set by clauses of which nothing was recorded.
    fn stale(&self) -> HashSet<MapId> {
        let mut stale = HashSet::new();
        for probe in self.program.probes.iter().filter(|probe| !Self::is_own(probe)) {
            if probe.names.iter().any(|name| !self.groups_of(self.name(*name)).is_empty()) {
                continue;
            }
            stale.extend(probe.body.all_statements().filter_map(|s| match &s.kind {
                StatementKind::SetMap { map, .. } | StatementKind::Aggregate { map, .. } => Some(*map),
                _ => None,
            }));
        }
        stale
    }

    fn probe(&mut self, probe: &Probe) {
        if Self::is_own(probe) {
            return self.own(probe);
        }
        // By group: the names that it covers of this clause.
        let mut chosen: BTreeMap<usize, Vec<Arc<str>>> = BTreeMap::new();
        let mut unseen = Vec::new();
        for index in &probe.names {
            let name: Arc<str> = self.name(*index).into();
            match self.best(probe, &name) {
                None => unseen.push(name),
                Some(at) => chosen.entry(at).or_default().push(name),
            }
        }
        if let Some(first) = unseen.first() {
            let more = if unseen.len() > 1 { format!(" and {} more", unseen.len() - 1) } else { String::new() };
            let message = format!("left out: no event of {first}{more} was recorded with its values");
            self.diagnostics.push(Diagnostic::warning(NOT_SEEN, probe.head, message).help(self.what_there_is()));
        }
        for (at, names) in chosen {
            let group = &self.groups[at];
            let clause = self.rewritten(probe, Some(group));
            let whole = group
                .probes()
                .iter()
                .all(|p| group.info.probes.get(*p as usize).is_some_and(|of| names.iter().any(|name| **name == **of)));
            if !whole && group.value("probe").is_none() {
                let message = "which of its probes an event came from was not recorded: print `probe` there";
                self.diagnostics.push(Diagnostic::error(NOT_RECORDED, probe.head, message));
            }
            self.plan.driven.push(Driven { group, only: (!whole).then_some(names), clause });
        }
    }

    /// The group that drives a clause at a probe: the one that lacks least, of those that report most often.
    fn best(&self, probe: &Probe, name: &str) -> Option<usize> {
        let of = self.groups.iter().enumerate().filter(|(_, group)| group.is_of(name));
        let lacks = |group: &Group<'_>| {
            let clause = rewrite(self.program, probe, Some(group), self.maps);
            clause.missing.len() + clause.unset.len()
        };
        of.min_by_key(|(_, group)| (lacks(group), group.conditions_count())).map(|(at, _)| at)
    }

    fn own(&mut self, probe: &Probe) {
        for target in &probe.targets {
            let clause = self.rewritten(probe, None);
            match target {
                Target::Begin => self.plan.begin.push(clause),
                Target::End => self.plan.end.push(clause),
                Target::Interval { period_ns } => self.plan.intervals.push((*period_ns, clause)),
                _ => {}
            }
        }
    }

    fn tell_missing(&mut self, missing: &[Missing], group: Option<&Group<'_>>) {
        for Missing { span, why } in missing {
            let text = self.source.slice(*span).trim();
            let text = if text.is_empty() { "a value of this clause" } else { text };
            let short: String = text.chars().take(60).collect();
            let message = match why {
                Why::Map(map) => format!("{} is not known: what sets it was not recorded", self.map_name(*map)),
                Why::Acts => on_a_machine(&format!("`{short}`")),
                Why::Value => format!("`{short}` was not recorded"),
            };
            if self.diagnostics.iter().any(|d| d.span == *span && d.message == message) {
                continue;
            }
            if *why == Why::Acts {
                self.diagnostics.push(Diagnostic::error(NOT_RECORDED, *span, message));
                continue;
            }
            let help = match group {
                Some(group) => told(group),
                None => {
                    "this probe fires on a recording, too, but only what a script has in its maps is known then".into()
                }
            };
            self.diagnostics.push(Diagnostic::error(NOT_RECORDED, *span, message).help(help));
        }
    }

    fn map_name(&self, map: MapId) -> &str {
        self.program.maps.get(map.0 as usize).map_or("a map", |map| &map.name)
    }

    /// Maps that would be shown and are not, because what sets them was not recorded.
    fn tell_left_out(&mut self, left_out: &BTreeSet<MapId>) {
        let head = self.program.probes.first().map_or(Span::default(), |probe| probe.head);
        for map in left_out {
            let message = format!("{} is left out: what sets it was not recorded", self.map_name(*map));
            self.diagnostics.push(Diagnostic::warning(NOT_SEEN, head, message));
        }
    }

    fn what_there_is(&self) -> String {
        let mut all: Vec<String> = self.groups.iter().map(told).collect();
        all.dedup();
        if all.is_empty() {
            return "the recording has no event with values: only what a script prints with printf or print is recorded"
                .to_owned();
        }
        all.join("; ")
    }
}

fn on_a_machine(what: &str) -> String {
    format!("{what} needs the machine while it is traced; on a recording it cannot run")
}

/// What a group tells.
fn told(group: &Group<'_>) -> String {
    let probes = group.probes();
    let first = probes.first().and_then(|p| group.info.probes.get(*p as usize)).map_or("", |name| name);
    let more = if probes.len() > 1 { format!(" and {} more", probes.len() - 1) } else { String::new() };
    let mut names: Vec<&str> = group.names.iter().map(|name| &**name).collect();
    names.extend(["nsecs", "cpu"]);
    names.dedup();
    format!("recorded of {first}{more}: {}", names.join(", "))
}
