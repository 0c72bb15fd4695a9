//! What is known of the firings of a recorded clause.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::value::Value;
use crate::store::{ActionInfo, ActionKind, Column, TraceId, TraceInfo};

/// Where a known value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A value of one of the group's events.
    Column {
        /// Which event of the firing.
        event: usize,
        /// Which of its values.
        column: usize,
        /// Which part of a tuple.
        part: Option<usize>,
    },
    /// The event's own time.
    Time,
    /// The event's CPU.
    Cpu,
    /// The same for each firing.
    Fixed(Value),
}

/// Actions of a clause that all report at each firing, and so tell of it together.
#[derive(Debug)]
pub struct Group<'a> {
    pub info: &'a TraceInfo,
    pub clause: u32,
    /// Indexes of the actions, in the order in which they report.
    pub actions: Vec<u32>,
    values: HashMap<Arc<str>, Source>,
    holds: HashSet<Arc<str>>,
    /// Names for people of what is known.
    pub names: Vec<Arc<str>>,
}

impl<'a> Group<'a> {
    /// All groups of a trace: one for each set of conditions under which a clause reports.
    pub fn all(info: &'a TraceInfo) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        let reports = |action: &ActionInfo| action.origin.as_ref().is_some_and(|o| !o.repeated);
        for (index, action) in (0..).zip(&info.actions).filter(|(_, action)| is_event(action) && reports(action)) {
            let Some(origin) = &action.origin else { continue };
            let same = |g: &Self| g.clause == origin.clause && g.conditions() == condition_keys(action);
            if groups.iter().any(same) {
                continue;
            }
            let mut group = Self {
                info,
                clause: origin.clause,
                actions: Vec::new(),
                values: HashMap::new(),
                holds: origin.given.iter().map(|given| Arc::clone(&given.key)).collect(),
                names: Vec::new(),
            };
            let wanted = condition_keys(action);
            for (other, action) in (0..).zip(&info.actions).filter(|(_, a)| is_event(a) && reports(a)) {
                let Some(of) = &action.origin else { continue };
                // What stands under fewer conditions has reported, too; what stands behind may still come.
                if of.clause == origin.clause && condition_keys(action).is_subset(&wanted) && other <= index
                    || of.clause == origin.clause && condition_keys(action) == wanted
                {
                    group.take(other, action);
                }
            }
            for given in &origin.given {
                if let Some((key, value)) = &given.fixed {
                    group.values.entry(Arc::clone(key)).or_insert_with(|| Source::Fixed(value.clone()));
                }
            }
            group.of_itself();
            groups.push(group);
        }
        groups
    }

    /// How many conditions its events stand under.
    pub fn conditions_count(&self) -> usize {
        self.holds.len()
    }

    fn conditions(&self) -> HashSet<&str> {
        self.holds.iter().map(|key| &**key).collect()
    }

    fn take(&mut self, index: u32, action: &ActionInfo) {
        let event = self.actions.len();
        self.actions.push(index);
        for (column, of) in action.columns.iter().enumerate() {
            let source = Source::Column { event, column, part: None };
            if !of.source.is_empty() {
                self.names.push(name_of(of));
            }
            self.know(&of.source, source);
            for (part, name) in of.parts.iter().enumerate() {
                self.know(name, Source::Column { event, column, part: Some(part) });
            }
        }
    }

    fn know(&mut self, key: &Arc<str>, source: Source) {
        if key.is_empty() {
            return;
        }
        // A symbol is shown for an address, a name for a number: the number is known with it.
        for call in ["ksym(", "usym(", "kstr("] {
            if let Some(inner) = key.strip_prefix(call).and_then(|rest| rest.strip_suffix(')')) {
                self.values.entry(inner.into()).or_insert_with(|| source.clone());
            }
        }
        self.values.entry(Arc::clone(key)).or_insert(source);
    }

    /// What every event tells.
    fn of_itself(&mut self) {
        for key in ["nsecs", "nsecs(monotonic)"] {
            self.values.entry(key.into()).or_insert(Source::Time);
        }
        self.values.entry("cpu".into()).or_insert(Source::Cpu);
        if let [only] = self.probes()[..] {
            let index = u64::from(only);
            if let Some(name) = self.info.probes.get(only as usize) {
                let function = crate::lang::typed::function_of(name);
                let fixed = |text: &str| Source::Fixed(Value::Text(text.into(), index));
                self.values.entry("probe".into()).or_insert_with(|| fixed(name));
                self.values.entry("func".into()).or_insert_with(|| fixed(function));
            }
        }
    }

    /// Indexes of the probes that its clause was attached to.
    pub fn probes(&self) -> &'a [u32] {
        self.info.clauses.get(self.clause as usize).map_or(&[], |clause| &clause.probes)
    }

    /// Whether it tells of a probe.
    pub fn is_of(&self, name: &str) -> bool {
        self.probes().iter().any(|probe| self.info.probes.get(*probe as usize).is_some_and(|n| &**n == name))
    }

    pub const fn trace(&self) -> TraceId {
        self.info.id
    }

    /// Where the value of an expression comes from.
    pub fn value(&self, key: &str) -> Option<&Source> {
        self.values.get(key)
    }

    /// Whether a condition held at each of its firings.
    pub fn held(&self, key: &str) -> bool {
        self.holds.contains(key)
    }
}

/// As people read it: the column's name, or what it computes where it has none.
fn name_of(column: &Column) -> Arc<str> {
    let numbered = column.name.strip_prefix("arg").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    // Places in memory are no words for people.
    if !numbered || column.source.contains("ctx+") || column.source.contains("loc+") {
        return Arc::clone(&column.name);
    }
    let inner = column.source.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner.map_or_else(|| Arc::clone(&column.source), Arc::from)
}

fn condition_keys(action: &ActionInfo) -> HashSet<&str> {
    action.origin.iter().flat_map(|origin| &origin.given).map(|given| &*given.key).collect()
}

fn is_event(action: &ActionInfo) -> bool {
    matches!(action.kind, ActionKind::Printf { .. } | ActionKind::Value)
}
