//! Maps whose values are of a part of the firings only, because probes that write them were throttled, turned
//! off or detached.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::trace::Trace;
use crate::lang::typed::walk::Node;
use crate::lang::typed::{MapId, Probe};
use crate::model::stats::PartialMap;

/// All such maps, in the script's order.
pub(super) fn of(trace: &Trace) -> Vec<PartialMap> {
    let mut parts: BTreeMap<MapId, PartialMap> = BTreeMap::new();
    let mut of_probe = |probe: u32, change: &dyn Fn(&mut PartialMap)| {
        for map in written(trace, probe) {
            let Some(named) = trace.program().maps.get(map.0 as usize) else { continue };
            let name = Arc::clone(&named.name);
            change(parts.entry(map).or_insert(PartialMap {
                map: name,
                ran: 0,
                throttled: 0,
                braked: false,
                detached_ns: None,
            }));
        }
    };
    for one in trace.sampled().into_iter().filter(|one| one.throttled > 0) {
        of_probe(one.probe, &|part| {
            part.ran = part.ran.saturating_add(one.taken);
            part.throttled = part.throttled.saturating_add(one.throttled);
        });
    }
    for (probe, after_ns) in &trace.gone.detached_ns {
        of_probe(*probe, &|part| {
            part.detached_ns = Some(part.detached_ns.map_or(*after_ns, |other| other.min(*after_ns)));
        });
    }
    for one in trace.braked() {
        of_probe(one.probe, &|part| part.braked = true);
    }
    parts.into_values().collect()
}

/// The maps that a probe, and those that end what it begins, add to.
fn written(trace: &Trace, probe: u32) -> BTreeSet<MapId> {
    let spec = trace.artifact().budget.iter().flat_map(|spec| &spec.probes);
    let followers = spec.filter(|one| one.leader == Some(probe)).map(|one| one.probe);
    let probes = std::iter::once(probe).chain(followers);
    probes.filter_map(|index| trace.program().probes.get(index as usize)).flat_map(added_to).collect()
}

/// The maps that a probe adds to: a value that is only set is right or absent.
fn added_to(probe: &Probe) -> BTreeSet<MapId> {
    probe.nodes().filter_map(Node::added_to).collect()
}

impl Trace {
    /// The maps that a probe, and those that end what it begins, add to.
    #[must_use]
    pub fn maps_of(&self, probe: u32) -> Vec<&str> {
        let maps = &self.program().maps;
        let names = written(self, probe).into_iter().filter_map(|map| maps.get(map.0 as usize)).map(|map| &*map.name);
        // What `latency` keeps is no result.
        names.filter(|name| !name.starts_with("@__")).collect()
    }
}
