//! Trees of calls as text, JSON and folded stacks, and what is known of each function.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;

use super::Style;
use crate::kernel::Kernel;
use crate::kernel::record::Symbols;
use crate::model::render::neutralise;
use crate::output::json;
use crate::tracer::ftrace::graph::{Call, Counted, Function, Root, Trees};

/// Longer calls are marked: so long and longer, ns.
const LONG_NS: u64 = 1_000_000;
const SLOW_NS: u64 = 100_000;
/// Largest number that is printed as one; others are addresses.
const SMALL: i64 = 1 << 20;

/// Names of functions and of their parameters, remembered.
pub struct Described<'a> {
    symbols: &'a dyn Symbols,
    kernel: Option<&'a Kernel>,
    names: HashMap<u64, Arc<str>>,
    parameters: HashMap<u64, Arc<[Arc<str>]>>,
}

impl std::fmt::Debug for Described<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Described").field("names", &self.names.len()).finish_non_exhaustive()
    }
}

impl<'a> Described<'a> {
    /// By these symbols; parameters by this kernel's types.
    #[must_use]
    pub fn new(symbols: &'a dyn Symbols, kernel: Option<&'a Kernel>) -> Self {
        Self { symbols, kernel, names: HashMap::new(), parameters: HashMap::new() }
    }

    /// A function's name, or its address.
    pub fn name(&mut self, address: u64) -> Arc<str> {
        let Self { symbols, names, .. } = self;
        let name = names.entry(address).or_insert_with(|| match symbols.name(address) {
            Some((name, _)) => name,
            None => format!("{address:#x}").into(),
        });
        Arc::clone(name)
    }

    fn parameters(&mut self, address: u64) -> Arc<[Arc<str>]> {
        if let Some(known) = self.parameters.get(&address) {
            return Arc::clone(known);
        }
        let name = self.name(address);
        let prototype = self.kernel.and_then(|kernel| kernel.btf().ok()?.func(&name));
        let names: Arc<[Arc<str>]> =
            prototype.map(|p| p.params.iter().map(|p| Arc::from(p.name)).collect()).unwrap_or_default();
        self.parameters.insert(address, Arc::clone(&names));
        names
    }

    /// `name(file=0xffff888…, count=10) = 10`, as far as that is known.
    pub fn call(&mut self, call: &Call) -> String {
        let mut text = neutralise(&self.name(call.function)).into_owned();
        text.push('(');
        if !call.arguments.is_empty() {
            let parameters = self.parameters(call.function);
            let known = if parameters.is_empty() { call.arguments.len() } else { parameters.len() };
            for (at, value) in call.arguments.iter().take(known).enumerate() {
                let comma = if at > 0 { ", " } else { "" };
                let _ = match parameters.get(at) {
                    Some(name) => write!(text, "{comma}{name}={}", word(*value)),
                    None => write!(text, "{comma}{}", word(*value)),
                };
            }
        }
        text.push(')');
        if let Some(returned) = call.returned {
            let _ = write!(text, " = {}", word(returned));
        }
        if call.begun_before {
            text.push_str("  (entry not seen)");
        }
        text
    }
}

/// A register's value: a number where it is a small one, an `int` that is negative, or an address.
fn word(value: u64) -> String {
    let int = i64::from(value as u32 as i32);
    match value.cast_signed() {
        small if (-SMALL..SMALL).contains(&small) => small.to_string(),
        _ if value >> 32 == 0 && (-4095..0).contains(&int) => int.to_string(),
        _ => format!("{value:#x}"),
    }
}

/// The heading of trees.
#[must_use]
pub fn heading() -> &'static str {
    "      TOTAL us        SELF us  FUNCTION\n"
}

/// Adds a root with all that it called, an indented line each.
pub fn tree(root: &Root, described: &mut Described<'_>, style: Style, out: &mut Vec<u8>) {
    let (on, off) = if style.colour { ("\x1b[1;36m", "\x1b[0m") } else { ("", "") };
    let at = root.call.at_ns;
    let who = format!(
        "{on}{}.{:09} [{:03}] {}-{}{off}\n",
        at / 1_000_000_000,
        at % 1_000_000_000,
        root.cpu,
        neutralise(&root.comm),
        root.pid
    );
    out.extend_from_slice(who.as_bytes());
    line(&root.call, 0, described, style, out);
}

fn line(call: &Call, level: usize, described: &mut Described<'_>, style: Style, out: &mut Vec<u8>) {
    let colour = match call.total_ns {
        Some(LONG_NS..) if style.colour => "\x1b[1;31m",
        Some(SLOW_NS..) if style.colour => "\x1b[33m",
        _ => "",
    };
    let off = if colour.is_empty() { "" } else { "\x1b[0m" };
    let total = call.total_ns.map_or_else(|| "?".to_owned(), us);
    let own = if call.total_ns.is_some() && !call.begun_before { us(call.self_ns) } else { "?".to_owned() };
    let text = format!("{colour}{total:>14}{off} {own:>14}  {:1$}{2}\n", "", level * 2, described.call(call));
    out.extend_from_slice(text.as_bytes());
    call.calls.iter().for_each(|call| line(call, level + 1, described, style, out));
    if call.left_out > 0 {
        let text = format!("{:>31}{:2$}… {1} calls more, in the sums only\n", "", call.left_out, level * 2 + 2);
        out.extend_from_slice(text.as_bytes());
    }
}

/// ns as us with three digits behind the point.
fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// Functions by their total time, the longest first.
#[must_use]
pub fn sorted(trees: &Trees, described: &mut Described<'_>) -> Vec<(Arc<str>, Function)> {
    let mut rows: Vec<(Arc<str>, Function)> =
        trees.functions().iter().map(|(address, function)| (described.name(*address), *function)).collect();
    rows.sort_by(|a, b| b.1.total_ns.cmp(&a.1.total_ns).then_with(|| a.0.cmp(&b.0)));
    rows
}

/// Adds the table of functions.
pub fn table(trees: &Trees, described: &mut Described<'_>, style: Style, out: &mut Vec<u8>) {
    let rows = sorted(trees, described);
    let widest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(8).max(8);
    let (on, off) = if style.colour { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    let head = format!(
        "{on}{:widest$} {:>10} {:>14} {:>14} {:>12} {:>12} {:>12}{off}\n",
        "FUNCTION", "CALLS", "TOTAL us", "SELF us", "AVG us", "MIN us", "MAX us"
    );
    out.extend_from_slice(head.as_bytes());
    for (name, f) in rows {
        let row = format!(
            "{:widest$} {:>10} {:>14} {:>14} {:>12} {:>12} {:>12}\n",
            neutralise(&name),
            f.calls,
            us(f.total_ns),
            us(f.self_ns),
            us(f.total_ns / f.calls.max(1)),
            us(f.min_ns),
            us(f.max_ns)
        );
        out.extend_from_slice(row.as_bytes());
    }
}

/// Adds folded stacks with the time of each, ns, without what it called.
pub fn folded(trees: &Trees, described: &mut Described<'_>, out: &mut Vec<u8>) {
    let mut lines: Vec<String> = trees
        .stacks()
        .iter()
        .filter(|(_, ns)| **ns > 0)
        .map(|(stack, ns)| {
            let names: Vec<String> =
                stack.iter().map(|address| neutralise(&described.name(*address)).replace(';', ":")).collect();
            format!("{} {ns}\n", names.join(";"))
        })
        .collect();
    lines.sort_unstable();
    lines.iter().for_each(|line| out.extend_from_slice(line.as_bytes()));
}

#[derive(Serialize)]
struct CallJson {
    function: String,
    at_ns: u64,
    total_ns: Option<u64>,
    self_ns: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    returned: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    begun_before: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<CallJson>,
    #[serde(skip_serializing_if = "is_zero")]
    left_out: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn json_of(call: &Call, described: &mut Described<'_>) -> CallJson {
    let known = call.total_ns.is_some() && !call.begun_before;
    CallJson {
        function: described.name(call.function).to_string(),
        at_ns: call.at_ns,
        total_ns: call.total_ns,
        self_ns: known.then_some(call.self_ns),
        arguments: call.arguments.iter().map(|value| format!("{value:#x}")).collect(),
        returned: call.returned.map(|value| format!("{value:#x}")),
        begun_before: call.begun_before,
        calls: call.calls.iter().map(|call| json_of(call, described)).collect(),
        left_out: call.left_out,
    }
}

/// Adds a root as one JSON object.
pub fn tree_json(root: &Root, described: &mut Described<'_>, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Json {
        cpu: u16,
        pid: i32,
        comm: Arc<str>,
        call: CallJson,
    }
    let call = json_of(&root.call, described);
    json::record("call", &Json { cpu: root.cpu, pid: root.pid, comm: Arc::clone(&root.comm), call }, out);
}

/// Adds all functions as one JSON object, with what was put together and what was lost.
pub fn table_json(trees: &Trees, described: &mut Described<'_>, lost: u64, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Row {
        function: Arc<str>,
        calls: u64,
        total_ns: u64,
        self_ns: u64,
        min_ns: u64,
        max_ns: u64,
    }
    #[derive(Serialize)]
    struct Json {
        functions: Vec<Row>,
        counted: Counted,
        lost_events: u64,
    }
    let rows = sorted(trees, described).into_iter().map(|(function, f)| Row {
        function,
        calls: f.calls,
        total_ns: f.total_ns,
        self_ns: f.self_ns,
        min_ns: f.min_ns,
        max_ns: f.max_ns,
    });
    json::record("functions", &Json { functions: rows.collect(), counted: trees.counted(), lost_events: lost }, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named;

    impl Symbols for Named {
        fn name(&self, address: u64) -> Option<(Arc<str>, u64)> {
            (address < 100).then(|| (format!("f{address}").into(), 0))
        }
    }

    #[test]
    fn a_tree_is_indented_with_its_times_in_columns() {
        let mut leaf = Call::default();
        (leaf.function, leaf.total_ns, leaf.self_ns) = (2, Some(1500), 1500);
        leaf.returned = Some(u64::from((-2_i32).cast_unsigned()));
        let mut call = Call::default();
        (call.function, call.at_ns, call.total_ns, call.self_ns) = (1, 5_000_000_007, Some(2000), 500);
        (call.arguments, call.calls) = (vec![3, 1 << 60], vec![leaf]);
        let root = Root { cpu: 3, pid: 12, comm: "a\x1bb".into(), call };
        let mut out = Vec::new();
        tree(&root, &mut Described::new(&Named, None), Style::default(), &mut out);
        let text = String::from_utf8(out).unwrap();
        let wanted = "5.000000007 [003] a\\x1bb-12\n         2.000          0.500  f1(3, 0x1000000000000000)\n         1.500          1.500    f2() = -2\n";
        assert_eq!(text, wanted);
    }
}
