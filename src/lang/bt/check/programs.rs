//! The limit of bpftrace's programs: what a script stands for where each place has a program.

use crate::lang::bt::ast;
use crate::lang::codes::check::TOO_MANY_PROBES;
use crate::model::target::Target;
use crate::probe::point;
use crate::probe::point::PointPattern;

use crate::lang::bt::check::checker::Checker;

/// Counts the places of an attach point that bpftrace makes a program for each of; false, and told,
/// when they are more than `max_bpf_progs` allows. Places share programs here, so this holds where
/// the limit is set, by the script or by who runs it under bpftrace's name: it keeps a pattern that
/// stands for too much from being attached.
pub fn within_limit(c: &mut Checker<'_>, point: &ast::Name, found: &[(Target, String)], names_probe: bool) -> bool {
    let Some(limit) = c.settings.get("max_bpf_progs").and_then(|n| n.parse::<usize>().ok()) else { return true };
    if !names_probe && !each_by_itself(&point.text) {
        return true;
    }
    c.programs = c.programs.saturating_add(found.len());
    if c.programs <= limit {
        return true;
    }
    let message = format!(
        "Your program is trying to generate more than {} BPF programs, which exceeds the current limit of {limit}",
        c.programs
    );
    let help = "You can increase the limit through the BPFTRACE_MAX_BPF_PROGS environment variable.";
    c.error_help(TOO_MANY_PROBES, point.span, message, Some(help.into()));
    false
}

/// Whether bpftrace gives each place of an attach point its own program, the script using no `probe`
/// (`ExpansionAnalyser`, src/ast/passes/ap_probe_expansion.cpp).
fn each_by_itself(text: &str) -> bool {
    let Ok(pattern) = point::parse(text) else { return false };
    match &pattern {
        PointPattern::Kprobe { module, .. } => module.is_some() && pattern.is_wild(),
        PointPattern::Uprobe { .. } => false,
        PointPattern::Usdt { .. } => true,
        _ => pattern.is_wild(),
    }
}

#[cfg(test)]
mod tests {
    use super::each_by_itself;

    #[test]
    fn functions_of_a_pattern_share_a_program_unless_their_module_is_named() {
        for text in ["kprobe:vfs_*", "kretprobe:*", "uprobe:/bin/sh:*", "kprobe:vfs_read", "fentry:vfs_read", "begin"] {
            assert!(!each_by_itself(text), "{text}");
        }
        for text in ["kprobe:kvm:*", "kprobe:*:vfs_read", "tracepoint:sched:*", "rawtracepoint:*", "fentry:vfs_*"] {
            assert!(each_by_itself(text), "{text}");
        }
    }
}
