//! What a trace can be limited to: running processes and control groups, containers among them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::kernel::mounts;
use crate::probe::point::{self, PointPattern};
use crate::probe::subject::{self, Named, Subject};

/// Processes that are read at most.
const MOST: usize = 8192;
/// Characters of a command line that are kept.
const MOST_WORDS: usize = 200;

/// A process or a control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All threads of a process.
    Process {
        /// Its number.
        pid: u32,
        /// Its name.
        comm: String,
        /// Its command line, cut.
        words: String,
    },
    /// The processes of a control group of version 2, without those of groups below it.
    Group {
        /// Its folder.
        folder: String,
        /// How many processes are in it.
        processes: usize,
        /// The name of one of these.
        comm: String,
        /// The number of the container that it is, where its name tells one.
        container: Option<String>,
    },
}

impl Scope {
    /// The condition that limits a clause at these attach points to it, in bpftrace's language: about the thread that runs,
    /// or the one that the probe is about.
    ///
    /// # Errors
    /// Why no condition can tell, and what to do instead.
    pub fn condition(&self, points: &str) -> Result<String, String> {
        let written = points.lines().filter(|line| !line.trim_start().starts_with("//"));
        let points: Vec<String> =
            written.flat_map(|line| line.split(',')).map(str::trim).filter(|p| !p.is_empty()).map(name).collect();
        let mut conditions = points.iter().map(|point| self.at(point));
        let first = conditions.next().unwrap_or_else(|| self.at(""))?;
        if conditions.all(|other| other.as_deref() == Ok(&*first)) {
            return Ok(first);
        }
        Err("the probes of this clause are about different threads: write a clause for each".to_owned())
    }

    /// The condition at one attach point, by its full name.
    fn at(&self, point: &str) -> Result<String, String> {
        let running = match self {
            Self::Process { pid, .. } => format!("pid == {pid}"),
            Self::Group { folder, .. } => format!("cgroup == cgroupid(\"{folder}\")"),
        };
        match subject::of(point) {
            Subject::Running => Ok(running),
            Subject::Other(Named::Process(text)) => self.of_task(point, text),
            Subject::Both { other: Named::Process(text), .. } => {
                self.of_task(point, text).map(|other| format!("({running} || {other})"))
            }
            Subject::Nobody { why, instead } => Err(format!("{point} can't be limited: {why}; {instead}")),
            Subject::Other(_) | Subject::Both { .. } | Subject::Requester | Subject::Owner(_) => {
                Err(self.by_option(point))
            }
        }
    }

    /// The condition on a thread whose process, or whose `task_struct`, arguments name.
    fn of_task(&self, point: &str, text: &str) -> Result<String, String> {
        match (self, text.strip_suffix("->tgid")) {
            (Self::Process { pid, .. }, _) => Ok(format!("{text} == {pid}")),
            (Self::Group { folder, .. }, Some(task)) => {
                Ok(format!("{task}->cgroups->dfl_cgrp->kn->id == cgroupid(\"{folder}\")"))
            }
            (Self::Group { .. }, None) => Err(self.by_option(point)),
        }
    }

    /// What limits where no condition does.
    fn by_option(&self, point: &str) -> String {
        let what = format!("{point} is about another thread than the one that runs, and no condition can tell whose");
        match self {
            Self::Process { pid, .. } => format!("{what}: give the script `-p {pid}` (Alt-A), which limits all of it"),
            Self::Group { .. } => format!("{what} group: use rawtracepoint:NAME, or limit to a process"),
        }
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Process { pid, comm, .. } => format!("{comm} ({pid})"),
            Self::Group { container: Some(container), comm, .. } => format!("container {container} ({comm})"),
            Self::Group { folder, .. } => format!("cgroup {folder}"),
        }
    }
}

/// The name by which a point is known, with its provider in full; D's names of semantic probes are the same with more colons.
fn name(point: &str) -> String {
    match point::parse(point) {
        Ok(PointPattern::Tracepoint { category, event }) => {
            format!("tracepoint:{}:{}", category.as_str(), event.as_str())
        }
        Ok(PointPattern::RawTracepoint { event, .. }) => format!("rawtracepoint:{}", event.as_str()),
        _ => point.replace(":::", ":"),
    }
}

/// What runs now: processes by their numbers, then control groups by their folders, then the kernel's own threads.
#[must_use]
pub fn read(proc: &Path) -> Vec<Scope> {
    let mount = mounts::cgroup2(&std::fs::read_to_string(proc.join("mounts")).unwrap_or_default());
    let mut pids: Vec<u32> = std::fs::read_dir(proc)
        .map(|entries| entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).take(MOST).collect())
        .unwrap_or_default();
    pids.sort_unstable();
    let (mut scopes, mut kernel_threads) = (Vec::new(), Vec::new());
    let mut groups: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for pid in pids {
        let of = |name: &str| std::fs::read(proc.join(pid.to_string()).join(name)).unwrap_or_default();
        let comm = String::from_utf8_lossy(&of("comm")).trim_end_matches('\n').to_owned();
        if comm.is_empty() {
            continue;
        }
        if let Some(folder) = mount.as_deref().and_then(|mount| folder(mount, &String::from_utf8_lossy(&of("cgroup"))))
        {
            let group = groups.entry(folder).or_insert_with(|| (0, comm.clone()));
            group.0 += 1;
        }
        let words = String::from_utf8_lossy(&of("cmdline")).trim_end_matches('\0').replace('\0', " ");
        let list = if is_kernel_thread(&of("stat")) { &mut kernel_threads } else { &mut scopes };
        list.push(Scope::Process { pid, comm, words: words.chars().take(MOST_WORDS).collect() });
    }
    scopes.extend(groups.into_iter().map(|(folder, (processes, comm))| {
        let container = container(&folder);
        Scope::Group { folder, processes, comm, container }
    }));
    scopes.append(&mut kernel_threads);
    scopes
}

/// Whether a `/proc/PID/stat` is that of a thread of the kernel. Its name stands in brackets and may hold any character.
fn is_kernel_thread(stat: &[u8]) -> bool {
    /// `PF_KTHREAD`.
    const KERNEL_THREAD: u32 = 0x0020_0000;
    /// The place of the flags behind the name.
    const FLAGS: usize = 6;
    let text = String::from_utf8_lossy(stat);
    let flags = text.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(FLAGS)?.parse::<u32>().ok());
    flags.is_some_and(|flags| flags & KERNEL_THREAD != 0)
}

/// The folder of the group of version 2 in a `/proc/PID/cgroup`; none where a script can't write its name.
fn folder(mount: &Path, text: &str) -> Option<String> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = mount.join(path).to_str()?.trim_end_matches('/').to_owned();
    let writable = !path.starts_with("..") && !folder.chars().any(|c| c.is_control() || c == '"' || c == '\\');
    writable.then_some(folder)
}

/// The number of a container by the last part of its group's folder: `docker-ID.scope`, `cri-containerd-ID.scope`, `libpod-ID.scope`, a bare ID.
fn container(folder: &str) -> Option<String> {
    let last = folder.rsplit('/').find(|part| *part != "container")?;
    let id = last.strip_suffix(".scope").unwrap_or(last).rsplit(['-', ':']).next()?;
    (id.len() == 64 && id.bytes().all(|b| b.is_ascii_hexdigit())).then(|| id[..12].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_control_groups_are_told_with_their_conditions() {
        let root = std::env::temp_dir().join(format!("probescope-scopes-{}", std::process::id()));
        let id = "0123456789abcdef".repeat(4);
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("mounts", "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
        for (pid, comm, group) in [
            (9, "nginx", format!("0::/system.slice/docker-{id}.scope")),
            (10, "nginx", format!("0::/system.slice/docker-{id}.scope")),
            (4, "evil", "0::/a\"b".to_owned()),
        ] {
            write(&format!("{pid}/comm"), &format!("{comm}\n"));
            write(&format!("{pid}/cmdline"), "nginx\0-g\0daemon off;\0");
            write(&format!("{pid}/cgroup"), &format!("1:cpu:/\n{group}\n"));
        }
        write("2/comm", "kthr) S 0\n");
        write("2/stat", "2 (kthr) S 0) S 0 0 0 0 -1 2129984 0 0\n");
        write("4/stat", "4 (evil) S 1 4 4 0 -1 4194560 0 0\n");
        let scopes = read(&root);
        std::fs::remove_dir_all(&root).unwrap();
        let conditions: Vec<String> = scopes.iter().map(|scope| scope.condition("kprobe:f").unwrap()).collect();
        let folder = format!("/sys/fs/cgroup/system.slice/docker-{id}.scope");
        let group = format!("cgroup == cgroupid(\"{folder}\")");
        assert_eq!(conditions, ["pid == 4", "pid == 9", "pid == 10", &group, "pid == 2"], "threads of the kernel last");
        assert_eq!(scopes[1].name(), "nginx (9)");
        assert_eq!(scopes[3].name(), "container 0123456789ab (nginx)");
        assert!(matches!(&scopes[3], Scope::Group { processes: 2, .. }));
        assert!(matches!(&scopes[1], Scope::Process { words, .. } if words == "nginx -g daemon off;"));
    }

    #[test]
    fn a_clause_is_limited_by_whom_it_is_about() {
        let process = Scope::Process { pid: 7, comm: "a".to_owned(), words: String::new() };
        let group = Scope::Group { folder: "/g".to_owned(), processes: 1, comm: "a".to_owned(), container: None };
        let of = |points: &str| process.condition(points);
        assert_eq!(of("t:syscalls:sys_enter_read,\nkprobe:vfs_read").as_deref(), Ok("pid == 7"));
        assert_eq!(of("rt:sched_waking").as_deref(), Ok("args.p->tgid == 7"));
        assert_eq!(of("sched:wakeup").as_deref(), Ok("args.pid == 7"));
        assert_eq!(of("rawtracepoint:sched_switch").as_deref(), Ok("(pid == 7 || args.next->tgid == 7)"));
        assert!(of("tracepoint:sched:sched_waking").unwrap_err().contains("`-p 7`"));
        assert!(of("tracepoint:irq:softirq_entry").unwrap_err().contains("latency task"));
        assert!(of("kprobe:f, rt:sched_waking").is_err());
        assert_eq!(
            group.condition("rt:sched_waking").as_deref(),
            Ok("args.p->cgroups->dfl_cgrp->kn->id == cgroupid(\"/g\")")
        );
        assert!(group.condition("sched:wakeup").is_err());
    }
}
