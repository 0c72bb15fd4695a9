//! A noisy group of processes beside others.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Load, LoadError, Plan, Truth, children, proc};

pub const LOAD: Load = Load {
    name: "cgroup",
    about: "Spins in a control group of its own (cgroup v2).",
    truth: &[
        ("path", "the group's folder"),
        ("id", "the group's number, as the builtin cgroup has it"),
        ("processes", "busy processes in it"),
        ("usage_us", "CPU time of the group as the kernel counts it (cpu.stat)"),
    ],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let group = Group::new()?;
    let time = plan.bounded(Duration::from_millis(500)).as_millis().to_string();
    let count = plan.random().between(1, 2);
    let mut busy = Vec::new();
    for _ in 0..count {
        let mut child = children::start(plan, &["spin", &time])?;
        let procs = group.0.join("cgroup.procs");
        fs::write(&procs, child.id().to_string()).map_err(LoadError::at("put a process into", procs.display()))?;
        if let Some(stdin) = &mut child.stdin {
            let _ = stdin.write_all(b"\n");
        }
        busy.push(child);
    }
    for child in busy {
        children::end(child)?;
    }
    let stat = proc::read(&group.0.join("cpu.stat").display().to_string())?;
    let id = group.0.metadata().map_err(LoadError::at("look at", group.0.display()))?.ino();
    Ok(Truth::new()
        .with("path", group.0.display().to_string())
        .with("id", id)
        .with("processes", count)
        .with("usage_us", proc::named(&stat, "usage_usec")))
}

struct Group(PathBuf);

impl Group {
    fn new() -> Result<Self, LoadError> {
        let root = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
            .into_iter()
            .map(Path::new)
            .find(|root| root.join("cgroup.controllers").exists())
            .ok_or_else(|| LoadError::Absent { what: "cgroup v2", reason: "it is not mounted".to_owned() })?;
        let path = root.join(format!("probescope-load-{}", std::process::id()));
        fs::create_dir(&path).map_err(LoadError::at("make", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
