//! Which processes hold programs and maps, and the perf events that run programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::engine::sys::objects;
use crate::model::bpf::Holder;

/// Descriptors that are looked at.
const MOST_DESCRIPTORS: usize = 4_000_000;
/// Events that are told of one program.
const MOST_EVENTS: usize = 1024;

/// What was found when all processes were looked at.
#[derive(Debug, Default)]
pub struct Holders {
    programs: BTreeMap<u32, Vec<Holder>>,
    maps: BTreeMap<u32, Vec<Holder>>,
    /// Perf events by the program that they run.
    events: BTreeMap<u32, Vec<String>>,
}

impl Holders {
    /// Looks at every descriptor of every process.
    #[must_use]
    pub fn read(proc: &Path) -> Self {
        let mut found = Self::default();
        let mut left = MOST_DESCRIPTORS;
        let Ok(processes) = fs::read_dir(proc) else { return found };
        let ids = processes.filter_map(|p| p.ok()?.file_name().to_str()?.parse::<u32>().ok());
        for pid in ids {
            found.add_process(proc, pid, &mut left);
        }
        found
    }

    /// Who holds a program, or a link of it.
    #[must_use]
    pub fn of_program(&self, id: u32) -> Vec<Holder> {
        self.programs.get(&id).cloned().unwrap_or_default()
    }

    /// Who holds a map.
    #[must_use]
    pub fn of_map(&self, id: u32) -> Vec<Holder> {
        self.maps.get(&id).cloned().unwrap_or_default()
    }

    /// The perf events that run a program.
    #[must_use]
    pub fn events_of(&self, id: u32) -> Vec<String> {
        self.events.get(&id).cloned().unwrap_or_default()
    }

    fn add_process(&mut self, proc: &Path, pid: u32, left: &mut usize) {
        let folder = proc.join(pid.to_string());
        let Ok(descriptors) = fs::read_dir(folder.join("fd")) else { return };
        let mut holder = None;
        for descriptor in descriptors.flatten() {
            let Some(rest) = left.checked_sub(1) else { return };
            *left = rest;
            let Ok(target) = fs::read_link(descriptor.path()) else { continue };
            let Some(kind) = target.to_str().and_then(|t| t.strip_prefix("anon_inode:")) else { continue };
            let Some(number) = descriptor.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
            let of = || Holder { pid, comm: comm(&folder) };
            if kind == "[perf_event]" {
                self.add_event(pid, number, || holder.get_or_insert_with(of).clone());
            } else if kind.starts_with("bpf") {
                let text = fs::read_to_string(folder.join("fdinfo").join(number.to_string())).unwrap_or_default();
                let id = |key: &str| text.lines().find_map(|l| l.strip_prefix(key)?.trim().parse::<u32>().ok());
                let held = [(id("prog_id:"), &mut self.programs), (id("map_id:"), &mut self.maps)];
                for (id, holders) in held {
                    if let Some(id) = id {
                        add(holders.entry(id).or_default(), holder.get_or_insert_with(of).clone());
                    }
                }
            }
        }
    }

    /// A perf event of a process that runs a program.
    fn add_event(&mut self, pid: u32, fd: u32, holder: impl FnOnce() -> Holder) {
        let Ok(event) = objects::event_program(pid, fd) else { return };
        add(self.programs.entry(event.program).or_default(), holder());
        let events = self.events.entry(event.program).or_default();
        if events.len() < MOST_EVENTS {
            events.push(event.event);
        }
    }
}

fn add(holders: &mut Vec<Holder>, holder: Holder) {
    if !holders.contains(&holder) {
        holders.push(holder);
    }
}

fn comm(folder: &Path) -> std::sync::Arc<str> {
    fs::read_to_string(folder.join("comm")).unwrap_or_default().trim_end().into()
}
