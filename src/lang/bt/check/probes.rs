//! Probes: attach points to targets, targets to bodies.

use super::frame::{Frame, Kind};
use super::lint::mentions_arguments;
use super::{Checker, MISSING_PROBE, MissingProbes, NO_PROBES, NO_SUCH_PROBE};
use crate::lang::bt::ast;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::{Probe, Target};

/// Targets that share one typed body.
pub struct Group<'s> {
    probe: &'s ast::Probe,
    targets: Vec<Target>,
    names: Vec<u32>,
    head: Span,
}

/// Bodies that are typed for each target by itself are limited, since each is checked and compiled.
const MAX_BODIES: usize = 4096;

impl Checker<'_> {
    /// Finds the targets of every probe and groups those that mean the same by their body.
    pub(super) fn expand_probes<'s>(&mut self, script: &'s ast::Script) -> Vec<Group<'s>> {
        let mut groups = Vec::new();
        let mut any = false;
        for item in &script.items {
            if let ast::Item::Probe(probe) = item {
                any = true;
                self.expand_probe(probe, &mut groups);
            }
        }
        if !any {
            self.error_help(
                NO_PROBES,
                Span::default(),
                "the script has no probe, so there is nothing to run",
                Some("a probe is a place and what to do there: `begin { printf(\"hello\\n\"); }`".into()),
            );
        }
        groups
    }

    fn expand_probe<'s>(&mut self, probe: &'s ast::Probe, groups: &mut Vec<Group<'s>>) {
        let mut targets: Vec<(Target, String)> = Vec::new();
        for point in &probe.points {
            match self.env.facts.expand(&point.text) {
                Ok(found) => {
                    let known: std::collections::HashSet<Target> = targets.iter().map(|t| t.0.clone()).collect();
                    targets.extend(found.into_iter().filter(|(t, _)| !known.contains(t)));
                }
                Err(refusal) => {
                    let warn = refusal.missing && self.missing_probes != MissingProbes::Error;
                    if warn && self.missing_probes == MissingProbes::Ignore {
                        continue;
                    }
                    let mut diagnostic = if warn {
                        Diagnostic::warning(MISSING_PROBE, point.span, refusal.message)
                    } else {
                        Diagnostic::error(NO_SUCH_PROBE, point.span, refusal.message)
                    };
                    diagnostic.help = refusal.help;
                    self.push(diagnostic);
                }
            }
        }
        let head = probe.points.iter().map(|p| p.span).reduce(Span::to).unwrap_or(probe.span);
        self.group_targets(probe, targets, head, groups);
    }

    fn group_targets<'s>(
        &mut self,
        probe: &'s ast::Probe,
        targets: Vec<(Target, String)>,
        head: Span,
        groups: &mut Vec<Group<'s>>,
    ) {
        let typed = mentions_arguments(probe);
        let first = groups.len();
        for (target, name) in targets {
            let name = self.name_id(name);
            let kind = Kind::of(&target);
            let depends = typed && depends_on_target(kind);
            let alike = |g: &Group<'_>| g.targets.first().is_some_and(|t| Kind::of(t) == kind);
            let same = if depends { None } else { groups[first..].iter().position(alike) };
            match same {
                Some(at) => {
                    let group = &mut groups[first + at];
                    group.targets.push(target);
                    group.names.push(name);
                }
                None if groups.len() >= MAX_BODIES => {
                    self.error(NO_SUCH_PROBE, head, format!("more than {MAX_BODIES} probes whose arguments differ"));
                    return;
                }
                None => groups.push(Group { probe, targets: vec![target], names: vec![name], head }),
            }
        }
    }

    /// Checks every body once.
    pub(super) fn check_groups(&mut self, groups: &[Group<'_>]) -> Vec<Probe> {
        groups.iter().enumerate().map(|(n, group)| self.check_group(n as u32, group)).collect()
    }

    fn check_group(&mut self, id: u32, group: &Group<'_>) -> Probe {
        let probe = group.probe;
        self.frame = Frame {
            id,
            kind: group.targets.first().map(Kind::of).unwrap_or_default(),
            targets: group.targets.clone(),
            name: group.names.first().map(|n| self.probe_names[*n as usize].to_string()).unwrap_or_default(),
            hoisted: super::frame::hoisted_names(probe.predicate.as_ref(), &probe.body),
            scopes: vec![Vec::new()],
            ..Frame::default()
        };
        let predicate = probe.predicate.as_ref().map(|e| {
            let value = self.value(e);
            self.condition(value)
        });
        let body = self.block_body(&probe.body);
        let locals = self.typed_locals();
        let needs_probe_id = self.frame.needs_probe_id;
        self.end_frame();
        Probe {
            targets: group.targets.clone(),
            names: group.names.clone(),
            predicate,
            body,
            locals,
            needs_probe_id,
            span: probe.span,
            head: group.head,
        }
    }
}

/// Whether `args` and its kin differ from one target to the next.
const fn depends_on_target(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Tracepoint
            | Kind::RawTracepoint
            | Kind::Kprobe
            | Kind::Fentry
            | Kind::Fexit
            | Kind::Uprobe
            | Kind::Usdt
            | Kind::Iter
            | Kind::Perf
    )
}
