//! How hot probes are, and who else traces them.

use std::sync::Arc;

use super::state::Browser;
use crate::lang::diagnostic::Severity;
use crate::model::bpf::Inventory;
use crate::session::hits::MOST;
use crate::tui::data::Data;
use crate::tui::data::effect::Effect;
use crate::tui::data::inspect::Inspect;
use crate::tui::pane::Turn;

/// Rows around the chosen one whose hits are counted.
const AROUND: usize = 20;

/// Asks for the hits of the chosen probe and of those around it.
pub fn ask(browser: &Browser, turn: &mut Turn<&Data>) {
    if let Some(reason) = turn.disabled.clone() {
        return turn.tell(Severity::Warning, reason);
    }
    let probes = near(browser);
    if probes.is_empty() {
        return;
    }
    let text = if probes.len() == 1 { "probe".to_owned() } else { format!("{} probes", probes.len()) };
    turn.tell(Severity::Info, format!("The hits of {text} are counted for a second …"));
    turn.out(Effect::Inspect(Inspect::Hits(probes)));
}

/// The chosen probe and those in sight around it that can be attached and take no parameter.
fn near(browser: &Browser) -> Vec<Arc<str>> {
    let first = browser.selected.saturating_sub(AROUND);
    let sight = browser.found.hits.iter().skip(first).take((2 * AROUND + 1).min(MOST));
    let countable = |name: &str| !name.ends_with(':') && !name.starts_with("iter:") && !name.starts_with("self:");
    sight.filter(|hit| hit.absent.is_none() && countable(&hit.name)).map(|hit| Arc::clone(&hit.name)).collect()
}

/// Programs of others that are attached where a probe is: what each is, and who holds it.
#[must_use]
pub fn others(inventory: &Inventory, probe: &str) -> Vec<String> {
    let Some((provider, function)) = place(probe) else { return Vec::new() };
    let is_there = |attached: &String| {
        attached.split(", ").any(|one| {
            // The further names of a link to many functions have no provider.
            let (kind, name) = place(one).unwrap_or((provider, bare(one.trim())));
            kind == provider && name == function
        })
    };
    let programs = inventory.programs.iter().filter(|program| program.attached.iter().any(is_there));
    let text = |program: &crate::model::bpf::BpfProgram| {
        let holders = program.holders.iter().map(|h| format!("{} ({})", h.comm, h.pid)).collect::<Vec<_>>().join(", ");
        let holders = if holders.is_empty() { "no process".to_owned() } else { holders };
        format!("program {} {} of {holders}", program.id, program.name)
    };
    programs.map(text).collect()
}

/// What a probe is at: providers of one kind of place are the same, and a name without modules, categories and offsets.
fn place(probe: &str) -> Option<(&'static str, &str)> {
    let (provider, rest) = probe.trim().split_once(':')?;
    let kind = match provider {
        "kprobe" | "kretprobe" | "fentry" | "fexit" => "function",
        "tracepoint" | "rawtracepoint" => "event",
        _ => return None,
    };
    let name = rest.rsplit(':').next()?;
    Some((kind, bare(name)))
}

/// A name without an offset and without what is said behind it (`vfs_read and 3 more`).
fn bare(name: &str) -> &str {
    name.split(['+', ' ']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bpf::{BpfProgram, Holder};

    #[test]
    fn programs_at_the_same_place_are_found() {
        let program = |id: u32, attached: &str| BpfProgram {
            id,
            name: "p".into(),
            attached: vec![attached.to_owned()],
            holders: vec![Holder { pid: 7, comm: "bpftrace".into() }],
            ..BpfProgram::default()
        };
        let programs = vec![
            program(1, "kprobe:vfs_read"),
            program(2, "fexit:vfs_write, vfs_read and 3 more"),
            program(3, "rawtracepoint:sched_switch"),
            program(4, "kprobe:vfs_readv"),
        ];
        let inventory = Inventory { programs, ..Inventory::default() };
        let ids = |probe: &str| {
            others(&inventory, probe).iter().map(|text| text.split(' ').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(ids("fentry:vmlinux:vfs_read"), ["1", "2"]);
        assert_eq!(ids("tracepoint:sched:sched_switch"), ["3"]);
        assert!(ids("interval:s:1").is_empty());
        assert_eq!(others(&inventory, "kprobe:vfs_readv"), ["program 4 p of bpftrace (7)"]);
    }
}
