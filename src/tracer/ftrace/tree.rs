//! The tree of events as it stands: systems, events, fields, and who has set what at each, in every instance.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::choose::{Pattern, available};
use super::instance::{PREFIX, event_file};
use super::{FtraceError, full_name};
use crate::kernel::Kernel;
use crate::kernel::dynamic::{Definition, DynamicEvent};
use crate::kernel::tracefs::EventName;

/// Largest setting that is read, bytes.
const MOST: usize = 16 << 10;
/// Instances that are looked at.
const MOST_INSTANCES: usize = 256;

/// An event of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventRow {
    /// `SYSTEM:EVENT`.
    pub event: String,
    /// Its number, where its format can be read.
    pub id: Option<u32>,
    /// Its own fields, as C declares them.
    pub fields: Vec<String>,
    /// How somebody defined it; absent for the kernel's own.
    pub defined: Option<String>,
    /// What is set at it, by instance; nothing where all is as after the boot.
    pub set: Vec<Setting>,
}

/// What an instance has set at an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The instance; empty for the top one.
    pub instance: String,
    /// It is this program's, of this run or another.
    pub ours: bool,
    /// It is on: for itself, or by a trigger of another event (`1*`).
    pub on: bool,
    /// The filter.
    pub filter: Option<String>,
    /// Triggers.
    pub triggers: Vec<String>,
}

/// The events that a pattern means.
///
/// # Errors
/// When there are none, or tracefs can't be read.
pub fn rows(kernel: &Kernel, pattern: &str) -> Result<Vec<EventRow>, FtraceError> {
    let tracefs = kernel.tracefs()?;
    let names = Pattern::new(pattern).of(&available(kernel)?)?;
    let (dynamic, instances) = (kernel.dynamic_events(), instances(&tracefs));
    Ok(names.iter().map(|name| row(kernel, name, &dynamic, &instances)).collect())
}

/// All instances with their folders; the top one first, without a name.
fn instances(tracefs: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(tracefs.join("instances")).into_iter().flatten().flatten().take(MOST_INSTANCES);
    let mut found: Vec<(String, PathBuf)> =
        entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect();
    found.sort();
    found.insert(0, (String::new(), tracefs.to_owned()));
    found
}

fn row(
    kernel: &Kernel,
    name: &EventName,
    dynamic: &HashMap<EventName, DynamicEvent>,
    instances: &[(String, PathBuf)],
) -> EventRow {
    let format = kernel.tracepoint(&name.0, &name.1).ok();
    EventRow {
        event: full_name(name),
        id: format.as_ref().map(|format| format.id),
        fields: format
            .iter()
            .flat_map(|format| format.own_fields())
            .map(probescope_kernel::tracefs::Field::declaration)
            .collect(),
        defined: dynamic.get(name).map(words),
        set: instances.iter().filter_map(|(instance, folder)| setting(instance, folder, name)).collect(),
    }
}

fn words(event: &DynamicEvent) -> String {
    let kind = match event.definition {
        Definition::Kprobe => "kprobe",
        Definition::Fprobe => "fprobe",
        Definition::Uprobe => "uprobe",
        Definition::Tprobe => "tracepoint probe",
        Definition::Eprobe => "probe on an event",
        Definition::Synthetic => "synthetic",
        Definition::User => "written by a program",
    };
    let ret = if event.ret { " (return)" } else { "" };
    if event.place.is_empty() { kind.to_owned() } else { format!("{kind} at {}{ret}", event.place) }
}

fn setting(instance: &str, folder: &Path, name: &EventName) -> Option<Setting> {
    let text = |file: &str| {
        let bytes = fs::read(folder.join(event_file(name, file))).unwrap_or_default();
        String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]).trim().to_owned()
    };
    let enable = text("enable");
    let (on, filter) = (enable.starts_with('1'), Some(text("filter")).filter(|f| !f.is_empty() && f != "none"));
    let triggers: Vec<String> =
        text("trigger").lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect();
    let ours = instance.starts_with(PREFIX);
    let set = on || filter.is_some() || !triggers.is_empty();
    set.then(|| Setting { instance: instance.to_owned(), ours, on, filter, triggers })
}

/// A system with how many events it has, and how many of those are on somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct System {
    /// Its name.
    pub name: Arc<str>,
    /// Its events.
    pub events: u32,
}

/// All systems.
///
/// # Errors
/// When tracefs can't be read.
pub fn systems(kernel: &Kernel) -> Result<Vec<System>, FtraceError> {
    let mut found: Vec<System> = Vec::new();
    for (system, _) in available(kernel)? {
        match found.last_mut() {
            Some(last) if last.name == system => last.events += 1,
            _ => found.push(System { name: system, events: 1 }),
        }
    }
    Ok(found)
}
