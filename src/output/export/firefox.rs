//! Stacks as a processed profile of the Firefox profiler.

use serde_json::{Value as Json, json};

use crate::model::flame::{FlameTree, FrameKind, NodeId, ROOT};
use crate::store::TraceInfo;

/// Version of the form.
const VERSION: u32 = 49;

/// Categories, by number: their names and colours.
const CATEGORIES: [(&str, &str); 4] = [("Key", "grey"), ("Kernel", "orange"), ("User", "blue"), ("Inlined", "green")];

const fn category(kind: FrameKind) -> usize {
    match kind {
        FrameKind::Key => 0,
        FrameKind::Kernel => 1,
        FrameKind::User => 2,
        FrameKind::Inlined => 3,
    }
}

/// A column of one value.
fn same(value: Json, length: usize) -> Json {
    Json::Array(vec![value; length])
}

/// The profile: one thread, a sample for each stack, weighed by its value.
#[must_use]
pub fn profile(tree: &FlameTree, map: &str, trace: &TraceInfo) -> String {
    let names = tree.names();
    let ends: Vec<(NodeId, u64)> = tree.ends().filter(|(node, _)| *node != ROOT).collect();
    // Weights are kept within what the profiler adds up exactly.
    let scale = (tree.total(ROOT) >> 52).max(1);
    let nodes: Vec<NodeId> = (1..tree.len() as NodeId).collect();
    let kinds: Vec<usize> = names.iter().map(|n| category(n.kind)).collect();
    let of_node = |n: &NodeId| kinds[tree.name_id(*n) as usize];
    let prefix = |n: &NodeId| tree.parent(*n).filter(|p| *p != ROOT).map(|p| p - 1);
    let categories: Vec<Json> = CATEGORIES
        .iter()
        .map(|(name, color)| json!({"name": name, "color": color, "subcategories": ["Other"]}))
        .collect();
    let (count, many) = (names.len(), nodes.len());
    let texts: Vec<&str> = names.iter().map(|n| &*n.text).collect();
    let thread = json!({
        "processType": "default",
        "processStartupTime": 0,
        "processShutdownTime": null,
        "registerTime": 0,
        "unregisterTime": null,
        "pausedRanges": [],
        "name": map,
        "processName": &*trace.name,
        "isMainThread": true,
        "pid": "0",
        "tid": "0",
        "samples": {
            "length": ends.len(),
            "stack": ends.iter().map(|(n, _)| n - 1).collect::<Vec<_>>(),
            "time": (0..ends.len()).collect::<Vec<_>>(),
            "weight": ends.iter().map(|(_, v)| v / scale).collect::<Vec<_>>(),
            "weightType": "samples",
        },
        "markers": {
            "length": 0, "category": [], "data": [], "endTime": [], "name": [], "phase": [], "startTime": [],
        },
        "stackTable": {
            "length": many,
            "prefix": nodes.iter().map(prefix).collect::<Vec<_>>(),
            "frame": nodes.iter().map(|n| tree.name_id(*n)).collect::<Vec<_>>(),
            "category": nodes.iter().map(of_node).collect::<Vec<_>>(),
            "subcategory": same(json!(0), many),
        },
        "frameTable": {
            "length": count,
            "address": same(json!(-1), count),
            "inlineDepth": same(json!(0), count),
            "category": kinds,
            "subcategory": same(json!(0), count),
            "func": (0..count).collect::<Vec<_>>(),
            "nativeSymbol": same(Json::Null, count),
            "innerWindowID": same(Json::Null, count),
            "implementation": same(Json::Null, count),
            "line": same(Json::Null, count),
            "column": same(Json::Null, count),
        },
        "funcTable": {
            "length": count,
            "name": (0..count).collect::<Vec<_>>(),
            "isJS": same(json!(false), count),
            "relevantForJS": same(json!(false), count),
            "resource": same(json!(-1), count),
            "fileName": same(Json::Null, count),
            "lineNumber": same(Json::Null, count),
            "columnNumber": same(Json::Null, count),
        },
        "resourceTable": {"length": 0, "lib": [], "name": [], "host": [], "type": []},
        "nativeSymbols": {"length": 0, "address": [], "functionSize": [], "libIndex": [], "name": []},
        "stringArray": texts,
    });
    let profile = json!({
        "meta": {
            "version": 24,
            "preprocessedProfileVersion": VERSION,
            "interval": 1,
            "startTime": trace.wall_ns(trace.began_ns) as f64 / 1e6,
            "processType": 0,
            "product": "probescope",
            "stackwalk": 1,
            "debug": false,
            "symbolicated": true,
            "categories": categories,
            "markerSchema": [],
            "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs"},
            "usesOnlyOneStackType": true,
            "doesNotUseFrameImplementation": true,
            "sourceCodeIsNotOnSearchfox": true,
        },
        "libs": [],
        "pages": [],
        "counters": [],
        "profilerOverhead": [],
        "threads": [thread],
    });
    let mut text = profile.to_string();
    text.push('\n');
    text
}
