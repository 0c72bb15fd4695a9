//! Probes: attach points to targets, targets to bodies.

pub mod trampoline;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::{
    DOUBTFUL_PROBE, DUPLICATE, LEFT_OUT, MISSING_PROBE, NO_PROBES, NO_SUCH_PROBE, TOO_MANY_PROBES,
};
use crate::lang::diagnostic::Diagnostic;
use crate::lang::facts::programs::run_in;
use crate::lang::facts::table::TypeTable;
use crate::lang::facts::{Prototype, Refusal};
use crate::lang::front::Purpose;
use crate::lang::source::Span;
use crate::lang::typed::{MissingProbes, Probe};
use crate::model::target::Target;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::frame::{Frame, Kind, variables};
use crate::lang::bt::check::hoisting::hoisted_names;
use crate::lang::bt::check::lint::ArgumentUses;
use crate::lang::bt::check::{hot, lint, programs};

/// Targets that share one typed body.
pub struct Group<'s> {
    probe: &'s ast::Probe,
    targets: Vec<Target>,
    names: Vec<u32>,
    head: Span,
    /// The probe does not exist here: checked, then dropped.
    absent: bool,
}

/// Bodies that are typed for each target by itself are limited, since each is checked and compiled.
const MAX_BODIES: usize = 4096;

/// Finds the targets of every probe and groups those that mean the same by their body.
pub fn expand_probes<'s>(c: &mut Checker<'_>, script: &'s ast::Script) -> Vec<Group<'s>> {
    let mut groups: Vec<Group<'s>> = Vec::new();
    let mut any = false;
    let mut places = 0;
    for item in &script.items {
        if let ast::Item::Probe(probe) = item {
            any = true;
            let before = groups.len();
            expand_probe(c, probe, &mut groups);
            places += groups.iter().skip(before).map(|g| g.targets.len()).sum::<usize>();
            if places > MOST_PLACES {
                let message = format!("the script's probes stand for too many places: the limit is {MOST_PLACES}");
                c.error(TOO_MANY_PROBES, head_of(probe), message);
                groups.clear();
                return groups;
            }
        }
    }
    unique_names(c, &groups);
    let unpruned = groups.iter().any(|g| !g.absent);
    let used_for = used_for(c, &groups);
    prune(c, &mut groups);
    if any && unpruned && groups.is_empty() {
        c.error(NO_PROBES, Span::default(), used_for);
    }
    limit_probes(c, &groups);
    groups.iter().for_each(|group| c.types.facts.probes_are_at(&group.targets));
    for path in groups.iter().flat_map(|g| &g.targets).filter_map(binary_of) {
        if !c.types.binaries.contains(path) {
            c.types.binaries.push(Arc::clone(path));
        }
    }
    if !any {
        c.error_help(
            NO_PROBES,
            Span::default(),
            "the script has no probe, so there is nothing to run",
            Some("a probe is a place and what to do there: `begin { printf(\"hello\\n\"); }`".into()),
        );
    }
    groups
}

/// Places that a script may stand for in all: several times all functions of a kernel.
const MOST_PLACES: usize = 500_000;

/// Keeps to the limit that the script or its user sets; there is none of itself.
fn limit_probes(c: &mut Checker<'_>, groups: &[Group<'_>]) {
    let Some(limit) = c.settings.get("max_probes").and_then(|n| n.parse::<usize>().ok()) else { return };
    let probes: usize = groups.iter().filter(|g| !g.absent).map(|g| g.targets.len()).sum();
    if probes > limit {
        let message =
            format!("Can't attach to {probes} probes because it exceeds the current limit of {limit} probes.");
        let help = "You can increase the limit through the BPFTRACE_MAX_PROBES environment variable, but BE CAREFUL \
                    since a high number of probes attached can cause your system to crash.";
        c.error_help(TOO_MANY_PROBES, Span::default(), message, Some(help.into()));
    }
}

/// Tests and benchmarks are told apart by their names.
fn unique_names(c: &mut Checker<'_>, groups: &[Group<'_>]) {
    let mut seen: HashMap<&Target, Span> = HashMap::new();
    for group in groups {
        for target in &group.targets {
            let (word, name) = match target {
                Target::Test(name) => ("TEST", name),
                Target::Bench(name) => ("BENCH", name),
                _ => continue,
            };
            if let Some(other) = seen.insert(target, group.head) {
                let text = format!("\"{name}\" was used as the name for more than one {word} probe");
                c.error(DUPLICATE, group.head, text);
                c.error(DUPLICATE, other, "this is the other instance");
            }
        }
    }
}

/// What to say when nothing of the script belongs to this run.
fn used_for(c: &Checker<'_>, groups: &[Group<'_>]) -> &'static str {
    let has = |wanted: fn(&Target) -> bool| groups.iter().flat_map(|g| &g.targets).any(wanted);
    let (tests, benchmarks) = (has(|t| matches!(t, Target::Test(_))), has(|t| matches!(t, Target::Bench(_))));
    if c.options.probe_filter.is_some() {
        "No probes to attach"
    } else if tests && c.options.purpose != Purpose::Test {
        "No probes attached; use --test to run test probes."
    } else if benchmarks && c.options.purpose != Purpose::Bench {
        "No probes attached; use --bench to run benchmark probes."
    } else {
        "Attachment failed for all probes."
    }
}

/// Drops what does not belong to this run.
fn prune(c: &mut Checker<'_>, groups: &mut Vec<Group<'_>>) {
    let purpose = c.options.purpose;
    let belongs = |target: &Target| match target {
        Target::Begin | Target::End => true,
        Target::Test(_) => purpose == Purpose::Test,
        Target::Bench(_) => purpose == Purpose::Bench,
        _ => purpose == Purpose::Trace,
    };
    let names = &c.probe_names;
    let filter = c.options.probe_filter;
    // What sets a script up and what closes it are no places to choose among.
    let wanted = |target: &Target, id: &u32| {
        matches!(target, Target::Begin | Target::End)
            || filter.is_none_or(|f| names.get(*id as usize).is_some_and(|name| f.is_match(name)))
    };
    for group in groups.iter_mut().filter(|g| !g.absent) {
        let named = std::mem::take(&mut group.targets).into_iter().zip(std::mem::take(&mut group.names));
        (group.targets, group.names) = named.filter(|(target, name)| belongs(target) && wanted(target, name)).unzip();
    }
    groups.retain(|g| !g.targets.is_empty());
}

fn expand_probe<'s>(c: &mut Checker<'_>, probe: &'s ast::Probe, groups: &mut Vec<Group<'s>>) {
    let mut targets: Vec<(Target, String)> = Vec::new();
    let mut known: HashSet<Target> = HashSet::new();
    let mut shape = None;
    let mut unmatched = Vec::new();
    let mut refused = Vec::new();
    let names_probe = ArgumentUses::of(probe).probe;
    for point in &probe.points {
        match c.types.facts.expand(&point.text) {
            Ok(found) if !programs::within_limit(c, point, &found, names_probe) => return,
            Ok(mut found) => {
                skip_functions_of_programs(c, &point.text, &mut found);
                hot::warn_hot(c, &found, point.span);
                if let Some((doubt, help)) = c.types.facts.doubt(&point.text) {
                    c.warn(DOUBTFUL_PROBE, point.span, doubt, help.clone());
                    if names_probe {
                        unmatched.push(help);
                        continue;
                    }
                }
                warn_left_out(c, point);
                let named =
                    |(target, name): (Target, String)| (target, probe.alias.as_ref().map_or(name, ToString::to_string));
                targets.extend(found.into_iter().filter(|(t, _)| known.insert(t.clone())).map(named));
            }
            Err(refusal) => {
                shape = shape.or_else(|| refusal.shape.clone());
                if refusal.wildcard {
                    unmatched.push(refusal.help);
                } else if names_probe && refusal.unmatched {
                    warn_unmatched(c, &refusal, point.span);
                    unmatched.push(refusal.help);
                } else {
                    refused.push((refusal, point.span));
                }
            }
        }
    }
    // That all points are skipped is said as well.
    let emptied = targets.is_empty() && unmatched.is_empty() && refused.iter().all(|(r, _)| r.missing);
    for (refusal, span) in refused {
        report_refusal(c, refusal, span, !targets.is_empty());
    }
    if emptied && c.config.missing_probes == MissingProbes::Warn {
        c.warn(MISSING_PROBE, head_of(probe), REMOVED, None);
    }
    // A pattern beside other points says "and these, where they exist", and so does a name in a probe
    // that asks which of its points fired.
    if targets.is_empty() {
        report_unmatched(c, probe, unmatched);
    }
    keep_arguments(&c.types, probe, &mut targets);
    let head = head_of(probe);
    match shape.filter(|_| targets.is_empty()) {
        Some(shape) => {
            groups.push(Group { probe, targets: vec![*shape], names: Vec::new(), head, absent: true });
        }
        None => group_targets(c, probe, targets, head, groups),
    }
}

/// A pattern of functions of which some can't be probed.
fn warn_left_out(c: &mut Checker<'_>, point: &ast::Name) {
    if c.config.missing_probes == MissingProbes::Ignore {
        return;
    }
    if let Some(left_out) = c.types.facts.left_out(&point.text) {
        c.warn(LEFT_OUT, point.span, left_out, None);
    }
}

/// Leaves what programs run in out of what a pattern found, where the script says so.
fn skip_functions_of_programs(c: &Checker<'_>, pattern: &str, found: &mut Vec<(Target, String)>) {
    if c.config.skip_program_functions && pattern.contains('*') {
        found.retain(|(target, _)| match target {
            Target::Kprobe { function, .. } | Target::Fentry { function, .. } => !run_in(function),
            _ => true,
        });
    }
}

/// A return whose body asks for the function's arguments runs in the function's trampoline, which
/// keeps them for each call: recursion and missed returns can't mix them up, as they would a map's.
fn keep_arguments(types: &TypeTable<'_>, probe: &ast::Probe, targets: &mut [(Target, String)]) {
    let uses = ArgumentUses::of(probe);
    if !uses.all && uses.names.is_empty() && !uses.numbered || targets.len() > MAX_BODIES {
        return;
    }
    for (target, _) in targets {
        if let Some(Ok(kept)) = trampoline::trampoline(types, target) {
            *target = kept;
        }
    }
}

/// A point whose name stands for nothing, in a probe that goes on without it.
fn warn_unmatched(c: &mut Checker<'_>, refusal: &Refusal, span: Span) {
    if c.config.missing_probes != MissingProbes::Ignore {
        let text = refusal.doubt.clone().unwrap_or_else(|| format!("{} Skipping.", refusal.message));
        c.warn(MISSING_PROBE, span, text, refusal.help.clone());
    }
}

/// Points that match nothing leave a probe without a place; `helps` tells what to do about each.
fn report_unmatched(c: &mut Checker<'_>, probe: &ast::Probe, helps: Vec<Option<String>>) {
    let Some(help) = helps.into_iter().next() else { return };
    let head = head_of(probe);
    let mut diagnostic = match c.config.missing_probes {
        MissingProbes::Ignore => return,
        MissingProbes::Warn => Diagnostic::warning(MISSING_PROBE, head, REMOVED),
        MissingProbes::Error => Diagnostic::error(
            NO_SUCH_PROBE,
            head,
            "Probe has no valid attach points. If this is expected, set the 'missing_probes' config variable to \
             'warn'.",
        ),
    };
    diagnostic.help = help;
    c.push(diagnostic);
}

/// `others` tells that other points of the probe are there: scripts for several kernels name what a function is
/// called in each of them, which bpftrace took up to 0.22 and takes since only when told to.
fn report_refusal(c: &mut Checker<'_>, refusal: Refusal, span: Span, others: bool) {
    let asked_for = c.config.missing_probes != MissingProbes::Error;
    let other_names = others && !c.settings.contains_key("missing_probes") && !c.options.like_bpftrace;
    let forgiven = refusal.missing && (asked_for || other_names);
    if forgiven && c.config.missing_probes == MissingProbes::Ignore {
        return;
    }
    if let Some(doubt) = refusal.doubt {
        c.warn(DOUBTFUL_PROBE, span, doubt, None);
    }
    let mut diagnostic = if forgiven {
        Diagnostic::warning(MISSING_PROBE, span, format!("{} Skipping.", refusal.message))
    } else {
        Diagnostic::error(NO_SUCH_PROBE, span, refusal.message)
    };
    diagnostic.help = refusal.help;
    if others && refusal.missing && !forgiven {
        let go_on = "to go on with the probe's other points: `config = { missing_probes = \"warn\" }`";
        diagnostic.help = Some(diagnostic.help.map_or_else(
            || go_on.to_owned(),
            |help| {
                let end = if help.ends_with('?') { " Or," } else { ";" };
                format!("{help}{end} {go_on}")
            },
        ));
    }
    c.push(diagnostic);
}

/// Puts targets that the body means the same for into one group.
fn group_targets<'s>(
    c: &mut Checker<'_>,
    probe: &'s ast::Probe,
    targets: Vec<(Target, String)>,
    head: Span,
    groups: &mut Vec<Group<'s>>,
) {
    let uses = ArgumentUses::of(probe);
    let first = groups.len();
    let mut index: HashMap<(Kind, Option<String>), usize> = HashMap::new();
    for (target, name) in targets {
        let name = c.name_id(name);
        let layout = layout(&c.types, &target, &uses);
        match index.entry((Kind::of(&target), layout)) {
            Entry::Occupied(at) => {
                let group = &mut groups[*at.get()];
                group.targets.push(target);
                group.names.push(name);
            }
            Entry::Vacant(_) if groups.len() - first >= MAX_BODIES => {
                c.error(NO_SUCH_PROBE, head, format!("more than {MAX_BODIES} probes whose arguments differ"));
                return;
            }
            Entry::Vacant(at) => {
                at.insert(groups.len());
                groups.push(Group { probe, targets: vec![target], names: vec![name], head, absent: false });
            }
        }
    }
}

/// What the body's types depend on in this target; equal for targets that can share a body.
fn layout(types: &TypeTable<'_>, target: &Target, uses: &ArgumentUses) -> Option<String> {
    let facts = types.facts;
    let picked = |names: Vec<(Arc<str>, String)>| {
        let wanted = |n: &Arc<str>| uses.all || uses.names.contains(n);
        let list: Vec<String> = names.into_iter().filter(|(n, _)| wanted(n)).map(|(n, t)| format!("{n}={t}")).collect();
        list.join(";")
    };
    let parameters = |p: Option<Prototype>| {
        // A parameter's place depends on those before it, so their types count too.
        let list = p.unwrap_or_default().parameters;
        let types: Vec<_> = list.iter().map(|p| p.ty).collect();
        picked(list.iter().enumerate().map(|(i, p)| (p.name.clone(), format!("{:?}", &types[..=i]))).collect())
    };
    let args = uses.all || !uses.names.is_empty();
    match target {
        Target::Tracepoint { category, event } if args || uses.context => {
            let fields = facts.tracepoint(category, event).unwrap_or_default();
            let list = picked(fields.iter().map(|f| (f.name.clone(), format!("{f:?}"))).collect());
            let context = if uses.context { &**event } else { "" };
            let space = if &**category == "syscalls" { "user" } else { "" };
            Some(format!("{context}:{space}:{list}"))
        }
        Target::RawTracepoint { module, event } if args => Some(parameters(facts.raw_tracepoint(module, event))),
        Target::Kprobe { ret: false, module, function, .. } if args => {
            Some(parameters(facts.prototype(module, function)))
        }
        Target::Fentry { module, function, .. } if args || uses.result => {
            let prototype = facts.prototype(module, function);
            let result = format!("{:?}", prototype.as_ref().filter(|_| uses.result).map(|p| p.result));
            Some(format!("{result}:{}", parameters(prototype)))
        }
        Target::Uprobe { ret: false, path, symbol, file_offset, .. } if args && !uses.address => {
            let list = facts.user_parameters(path, symbol, *file_offset);
            // What is not known is reported where it is used, for each function by itself.
            let Ok(list) = list else { return Some(format!("{path}:{symbol}")) };
            let list = list.into_iter().map(|p| (p.name, format!("{:?}{:?}", p.ty, p.place))).collect();
            Some(format!("{path}:{}", picked(list)))
        }

        Target::Usdt { path, arguments, .. } if uses.numbered && !uses.address => Some(format!("{path}:{arguments:?}")),
        // The distance to a symbol depends on the place.
        Target::Uprobe { path, file_offset, .. } | Target::Usdt { path, file_offset, .. } if uses.address => {
            Some(format!("{path}:{file_offset}"))
        }
        Target::Uprobe { path, .. } | Target::Usdt { path, .. } if uses.types => Some(path.to_string()),
        Target::Iter { kind, .. } => Some(kind.to_string()),
        Target::PerfEvent { kind, .. } if uses.kind => Some(kind.to_string()),
        Target::Tracepoint { category, .. } => Some((&**category == "syscalls").to_string()),
        _ => None,
    }
}

/// Checks every body once.
pub fn check_groups(c: &mut Checker<'_>, groups: &[Group<'_>]) -> Vec<Probe> {
    groups.iter().enumerate().filter_map(|(n, group)| check_group(c, n as u32, group)).collect()
}

fn check_group(c: &mut Checker<'_>, id: u32, group: &Group<'_>) -> Option<Probe> {
    let probe = group.probe;
    let name = group.names.first().map(|n| c.probe_names[*n as usize].to_string()).unwrap_or_default();
    let kind = match group.targets.first().map(Kind::of).unwrap_or_default() {
        Kind::Fexit if name.starts_with("kretprobe:") => Kind::Kretprobe,
        kind => kind,
    };
    c.frame = Frame {
        id,
        kind,
        targets: group.targets.clone(),
        absent: group.absent,
        name,
        hoisted: hoisted_names(probe.predicate.as_ref(), &probe.body),
        scopes: vec![BTreeMap::new()],
        ..Frame::default()
    };
    c.types.binary = group.targets.first().and_then(binary_of).cloned();
    let predicate = probe.predicate.as_ref().map(|e| {
        let value = c.value(e);
        c.condition(value)
    });
    let mut body = c.block_body(&probe.body);
    let zeros = variables::hoisted_zeros(c, probe.span);
    body.statements.splice(0..0, zeros);
    let locals = variables::typed_locals(c);
    let needs_probe_id = c.frame.needs_probe_id;
    let alone = probe.points.len() == 1 && !c.frame.names_probe;
    let traced = are_traced(&c.types, &group.targets);
    c.types.binary = None;
    lint::end_frame(c);
    if group.absent {
        return None;
    }
    Some(Probe {
        fault: None,
        targets: group.targets.clone(),
        names: group.names.clone(),
        predicate,
        body,
        locals,
        needs_probe_id,
        alone,
        limited: probe.limited,
        traced,
        span: probe.span,
        head: group.head,
    })
}

/// Whether ftrace lists all these kernel functions.
fn are_traced(types: &TypeTable<'_>, targets: &[Target]) -> bool {
    let traced = |target: &Target| match target {
        Target::Kprobe { function, .. } => types.facts.is_traced(function),
        _ => false,
    };
    targets.iter().all(traced)
}

/// What is said of a probe that is left out with all its points.
const REMOVED: &str =
    "Probe has no valid attach points. It is being removed which may cause issues with program behavior.";

/// The attach points of a probe.
fn head_of(probe: &ast::Probe) -> Span {
    probe.points.iter().map(|p| p.span).reduce(Span::to).unwrap_or(probe.span)
}

const fn binary_of(target: &Target) -> Option<&Arc<str>> {
    match target {
        Target::Uprobe { path, .. } | Target::Usdt { path, .. } => Some(path),
        _ => None,
    }
}
