//! What a trace loses and costs.

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use super::sys::bpf;
use super::trace::Trace;
use crate::codegen::artifact::{ProgramSpec, SiteSpec};
use crate::lang::source::Span;
use crate::lang::typed::{Probe, Program};
use crate::model::stats::{Loss, LossCause, ProbeStats, TraceStats};
use crate::model::target::Target;

/// Reads every counter. Costs one system call for each program and each kprobe link, none for the
/// loss counters (they are in mapped memory).
pub(super) fn stats(trace: &Trace) -> TraceStats {
    let probes = programs(trace);
    let mut losses = site_losses(trace);
    losses.extend(kernel_losses(trace, &probes));
    let parts = super::parts::of(trace);
    TraceStats { at_ns: super::monotonic_ns(), delivered: trace.delivered(), losses, probes, parts }
}

fn programs(trace: &Trace) -> Vec<ProbeStats> {
    let specs = &trace.artifact().programs;
    let mut attached = vec![0; specs.len()];
    for link in trace.links() {
        attached[link.program] += link.targets;
    }
    let measured = trace.measured();
    specs
        .iter()
        .zip(trace.program_infos())
        .zip(attached)
        .map(|((spec, info), attached)| ProbeStats {
            name: program_name(trace.program(), spec),
            attached,
            runs: measured.then_some(info.runs),
            run_time_ns: measured.then_some(info.run_time_ns),
            misses: info.recursion_misses,
        })
        .collect()
}

fn program_name(program: &Program, spec: &ProgramSpec) -> Arc<str> {
    let name = probe_name(program, spec.probe);
    match (spec.on_return, spec.targets.len()) {
        (None, _) => name,
        (Some(_), 1) => format!("{name}, with its return").into(),
        (Some(_), _) => format!("{name}, with their returns").into(),
    }
}

fn probe_name(program: &Program, index: u32) -> Arc<str> {
    let Some(probe) = program.probes.get(index as usize) else { return "".into() };
    let first = probe.names.first().and_then(|n| program.probe_names.get(*n as usize));
    let first = first.map_or("", |n| &**n);
    match probe.targets.len() {
        0 | 1 => first.into(),
        n => format!("{first} and {} more", n - 1).into(),
    }
}

/// The sum over CPUs of every site's counter, as the programs count them.
fn site_losses(trace: &Trace) -> Vec<Loss> {
    let artifact = trace.artifact();
    let mut sums: BTreeMap<(LossCause, u32, Span), u64> = BTreeMap::new();
    for site in &artifact.sites {
        let count = count(trace, site);
        if count > 0 {
            *sums.entry((site.cause, site.probe, site.span)).or_default() += count;
        }
    }
    sums.into_iter()
        .map(|((cause, probe, span), count)| Loss {
            cause,
            site: probe_name(trace.program(), probe),
            span: (span.start, span.end),
            count,
        })
        .collect()
}

fn count(trace: &Trace, site: &SiteSpec) -> u64 {
    let Some(area) = trace.area(&site.area) else { return 0 };
    let cpus = if site.stride == 0 { 1 } else { trace.cpus() };
    (0..cpus).fold(0, |sum, cpu| sum.wrapping_add(area.read_u64(site.offset as usize + cpu * site.stride as usize)))
}

/// What the kernel skipped before any program of ours ran.
fn kernel_losses(trace: &Trace, probes: &[ProbeStats]) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (spec, stats) in trace.artifact().programs.iter().zip(probes) {
        if stats.misses > 0 {
            losses.push(kernel_loss(trace.program(), spec.probe, LossCause::Nested, stats.misses));
        }
    }
    for link in trace.links() {
        let Some(spec) = trace.artifact().programs.get(link.program) else { continue };
        let Some(probe) = trace.program().probes.get(spec.probe as usize) else { continue };
        if !is_kprobe(probe) {
            continue;
        }
        let missed = bpf::link_missed(link.link.as_fd());
        if missed > 0 {
            losses.push(kernel_loss(trace.program(), spec.probe, LossCause::KretprobeMissed, missed));
        }
    }
    for (probe, missed) in trace.gone.missed.iter().filter(|(_, missed)| **missed > 0) {
        losses.push(kernel_loss(trace.program(), *probe, LossCause::KretprobeMissed, *missed));
    }
    losses
}

fn is_kprobe(probe: &Probe) -> bool {
    matches!(probe.targets.first(), Some(Target::Kprobe { .. }))
}

fn kernel_loss(program: &Program, probe: u32, cause: LossCause, count: u64) -> Loss {
    let span = program.probes.get(probe as usize).map_or(Span::default(), |p| p.head);
    Loss { cause, site: probe_name(program, probe), span: (span.start, span.end), count }
}
