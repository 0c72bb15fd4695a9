//! Probe descriptions to targets.

use std::sync::Arc;

use super::checker::Checker;
use super::site::{MOST_ARGUMENTS, SiteKind, arguments_of};
use super::{functions, other_calls, tracepoints};
use crate::lang::codes::check::LEFT_OUT;
use crate::lang::codes::d as tags;
use crate::lang::d::ast::ProbeSpec;
use crate::lang::d::patterns::{chosen, fits, widened};
use crate::lang::facts::Facts;
use crate::model::target::{Rate, Target};
use crate::probe::providers;

/// A probe by its D name.
#[derive(Clone, Debug)]
pub struct Found {
    pub target: Option<Target>,
    pub name: Arc<str>,
    pub kind: SiteKind,
    pub place: Option<Arc<providers::Found>>,
    /// Which of several sites of one name.
    pub number: usize,
    /// How many arguments its record holds, of system calls.
    pub arguments: u8,
    /// What another system's name stands for.
    pub call: Option<&'static other_calls::Call>,
    /// Numbers of its clauses, as faults name them: one for each description of each clause.
    pub clauses: Vec<u32>,
}

impl Found {
    pub const fn new(target: Option<Target>, name: Arc<str>, kind: SiteKind) -> Self {
        Self { target, name, kind, place: None, number: 0, arguments: MOST_ARGUMENTS, call: None, clauses: Vec::new() }
    }

    /// What tells it from others: a semantic probe may be at several places, and a system call have several names.
    pub fn key(&self) -> Key {
        let end = self.name.rsplit(':').next().unwrap_or("");
        let of_call = |call: &other_calls::Call| format!("syscall:vmlinux:{}:{end}", call.call).into();
        let name = self.call.map_or_else(|| Arc::clone(&self.name), of_call);
        let point = self.place.as_ref().map_or("", |place| place.source.point);
        (name, point, self.number, self.moved())
    }

    /// What another system's name stands for, where arguments differ.
    pub fn moved(&self) -> Option<&'static other_calls::Call> {
        self.call.filter(|call| !call.is_plain())
    }
}

/// Name, place and number of a probe, and how its arguments are moved.
pub type Key = (Arc<str>, &'static str, usize, Option<&'static other_calls::Call>);

/// Where more calls than this are named, they are told apart by their number, and each has all the registers.
const FEW_CALLS: usize = 5;

/// Shortest period of a timer, as the reference has it.
const SHORTEST_NS: u64 = 200_000;

/// The period in nanoseconds of the part behind `tick-` or `profile-`.
fn period(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text.get(..digits)?.parse().ok().filter(|n| *n > 0)?;
    let unit = match text.get(digits..)? {
        "" | "hz" => return Some(1_000_000_000 / number).filter(|ns| *ns >= SHORTEST_NS),
        word if word.eq_ignore_ascii_case("hz") => return period(text.get(..digits)?),
        word => crate::model::d::options::unit_ns(&word.to_ascii_lowercase())?,
    };
    number.checked_mul(unit).filter(|ns| *ns >= SHORTEST_NS)
}

/// Providers that the language has and this program does not attach yet.
const OTHERS: &[&str] = &["cpc"];

/// Modules of another system's kernel, and functions of it, that scripts name with its semantic probes. They say where a
/// probe is there, and nothing of what it means.
const OTHER_MODULES: &[&str] = &["genunix", "unix"];
const OTHER_FUNCTIONS: &[&str] = &["proc_exit", "resume"];

/// The longest description, bytes: a path, a function of C++ and a name.
const LONGEST: usize = 16 << 10;

/// Everything that a description names.
pub fn expand(c: &mut Checker<'_>, spec: &ProbeSpec) -> Vec<Found> {
    if spec.text.len() > LONGEST {
        let message = format!("invalid probe description: {} bytes, and the limit is {LONGEST}", spec.text.len());
        c.error(tags::D_PDESC_INVAL, spec.span, message);
        return Vec::new();
    }
    let mut fields: Vec<&str> = spec.text.split(':').collect();
    if fields.len() > 4 {
        c.error(tags::D_PDESC_INVAL, spec.span, format!("invalid probe description {}: too many fields", spec.text));
        return Vec::new();
    }
    fields.reverse();
    let field = |n: usize| fields.get(n).copied().filter(|f| !f.is_empty()).unwrap_or("*");
    let (name, function, module, provider) = (field(0), field(1), field(2), field(3));
    let mut found = Vec::new();

    if fits(provider, "dtrace") && fits(module, "") && fits(function, "") {
        for (own, target) in [("BEGIN", Some(Target::Begin)), ("END", Some(Target::End)), ("ERROR", None)] {
            if fits(name, own) {
                let full = format!("dtrace:::{own}").into();
                found.push(Found::new(target, full, SiteKind::Nothing));
            }
        }
    }
    if fits(provider, "profile") && fits(module, "") && fits(function, "") {
        let timer = |prefix: &str| name.strip_prefix(prefix).and_then(period);
        let full: Arc<str> = format!("profile:::{name}").into();
        if let Some(period_ns) = timer("tick-") {
            found.push(Found::new(Some(Target::Interval { period_ns }), full, SiteKind::Timer));
        } else if let Some(ns) = timer("profile-") {
            let target = Some(Target::Profile { rate: Rate::PeriodNs(ns) });
            found.push(Found::new(target, full, SiteKind::Timer));
        }
    }
    if fits(provider, "syscall") && (fits(module, "vmlinux") || module == "*") {
        system_calls(c.facts, function, name, &mut found);
    }
    tracepoints::tracepoints(c, (provider, module, function, name), &mut found);
    let absent = functions::functions(c.facts, (provider, module, function, name), &mut found);
    let absent = absent.or_else(|| semantic_probes(c.facts, (provider, module, function, name), &mut found));
    if let Some(left_out) =
        functions::left_out(c.facts, (provider, module, function, name)).filter(|_| !found.is_empty())
    {
        c.warn(LEFT_OUT, spec.span, left_out);
    }
    if found.is_empty() {
        functions::of_any_process(c.facts, (provider, module, function, name), &mut found);
    }
    if let Some(why) = absent.filter(|_| found.is_empty() && !c.options.zdefs) {
        c.error(tags::D_PDESC_ZERO, spec.span, why);
    } else if found.is_empty() && OTHERS.contains(&provider) && !c.options.zdefs {
        c.unsupported(spec.span, &format!("the provider {provider}"));
    } else if found.is_empty() && !c.options.zdefs {
        let message = format!("probe description {} does not match any probes", full_spec(&spec.text));
        c.error(tags::D_PDESC_ZERO, spec.span, message);
    }
    found
}

/// Adds the semantic probes that a description names; why there is none otherwise.
fn semantic_probes(
    facts: &dyn Facts,
    (provider, module, function, name): (&str, &str, &str, &str),
    found: &mut Vec<Found>,
) -> Option<String> {
    let elsewhere = OTHER_MODULES.contains(&module);
    let of_function = fits(function, "") || elsewhere || OTHER_FUNCTIONS.contains(&function);
    if !(fits(module, "vmlinux") || elsewhere) || !of_function {
        return None;
    }
    let mut absent = None;
    for row in providers::rows().filter(|row| fits(provider, row.provider) && fits(name, row.name)) {
        match facts.semantic(&row.point())? {
            Ok(places) => {
                let full: Arc<str> = format!("{}:vmlinux::{}", row.provider, row.name).into();
                found.extend(places.into_iter().map(|place| Found {
                    target: place.targets.first().cloned(),
                    name: Arc::clone(&full),
                    kind: SiteKind::Semantic,
                    place: Some(Arc::new(place)),
                    number: 0,
                    arguments: 0,
                    call: None,
                    clauses: Vec::new(),
                }));
            }
            Err(refusal) => absent = Some(refusal.message),
        }
    }
    absent
}

fn system_calls(facts: &dyn Facts, function: &str, name: &str, found: &mut Vec<Found>) {
    for (own, prefix, kind) in [("entry", "sys_enter_", SiteKind::Entry), ("return", "sys_exit_", SiteKind::Return)] {
        if !fits(name, own) {
            continue;
        }
        let known = found.len();
        let point = format!("tracepoint:syscalls:{prefix}{}", widened(function));
        if let Ok(targets) = facts.expand(&point) {
            let few = kind == SiteKind::Entry && targets.len() < FEW_CALLS;
            for (target, _) in targets {
                let Target::Tracepoint { event, .. } = &target else { continue };
                let call = event.strip_prefix(prefix).unwrap_or(event);
                if !chosen(function, call) {
                    continue;
                }
                let full = format!("syscall:vmlinux:{call}:{own}").into();
                let arguments = if few { arguments_of(facts, event) } else { MOST_ARGUMENTS };
                found.push(Found { arguments, ..Found::new(Some(target), full, kind) });
            }
        }
        if found.len() == known {
            calls_of_other_systems(facts, function, (own, prefix, kind), found);
        }
    }
}

/// What is called today where a script has a name that this kernel's calls have not.
fn calls_of_other_systems(
    facts: &dyn Facts,
    function: &str,
    (own, prefix, kind): (&str, &str, SiteKind),
    found: &mut Vec<Found>,
) {
    for call in other_calls::of_name(function, facts) {
        let point = format!("tracepoint:syscalls:{prefix}{}", call.call);
        for (target, _) in facts.expand(&point).unwrap_or_default() {
            let held = arguments_of(facts, &format!("{prefix}{}", call.call));
            let arguments = if call.is_plain() { held } else { call.arguments.len() as u8 };
            let full = format!("syscall:vmlinux:{function}:{own}").into();
            found.push(Found { arguments, call: Some(call), ..Found::new(Some(target), full, kind) });
        }
    }
}

/// A description with all its four fields.
fn full_spec(text: &str) -> String {
    let given = text.matches(':').count();
    format!("{}{text}", ":".repeat(3_usize.saturating_sub(given)))
}
