//! Events: the reports of probes, decoded.

use super::value::Value;

/// One report.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Which of the program's actions it is: index into `lang::typed::Program::actions`.
    pub action: u32,
    /// What it carries, in the order of the action's values.
    pub values: Vec<Value>,
}
