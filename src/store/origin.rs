//! Where recorded values come from: what is needed to run another script on what was recorded.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::lang::facts::TraceField;
use crate::model::value::Value;

/// Where an action stands, and what holds whenever it reports.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// Index into [`super::TraceInfo::clauses`].
    pub clause: u32,
    /// Conditions that were true: the clause's predicate, and the `if`s around the action.
    pub given: Vec<Given>,
    /// It stands in a loop: one firing reports any number of times.
    pub repeated: bool,
}

/// A condition that was true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// The condition (`lang::typed::keys`).
    pub key: Arc<str>,
    /// What it compared with a constant, and the constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<(Arc<str>, Value)>,
}

/// A clause of a script.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clause {
    /// What it was attached to: indexes into [`super::TraceInfo::probes`].
    pub probes: Vec<u32>,
}

/// What a tracepoint's record has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracepointFields {
    /// Category.
    pub category: Arc<str>,
    /// Event.
    pub event: Arc<str>,
    /// Its fields, common ones left out.
    pub fields: Vec<TraceField>,
}
