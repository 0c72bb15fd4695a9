//! Whose time is told.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::engine::task::Chosen;
use crate::kernel::{Kernel, mounts};
use crate::model::task::{Part, Quota};
use crate::tracer::latency::LatencyError;

/// Control groups that are looked through below the chosen one.
const MOST_GROUPS: usize = 4096;
/// `CGROUP2_SUPER_MAGIC`.
const CGROUP2: i64 = 0x6367_7270;

/// Whose time is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One thread.
    Thread(u32),
    /// A process with all its threads, those that it starts later, too.
    Process(u32),
    /// A control group (of version 2) with those below it, by its folder.
    Cgroup(PathBuf),
}

/// A thread that was there before.
#[derive(Clone, Debug)]
pub struct Found {
    pub pid: u32,
    pub tgid: u32,
    pub comm: String,
    pub part: Part,
}

impl Target {
    /// The process of a thread; the thread alone where it has none.
    #[must_use]
    pub fn process_of(kernel: &Kernel, thread: u32) -> Self {
        group_of(kernel, thread).map_or(Self::Thread(thread), Self::Process)
    }

    /// As the programs have it.
    ///
    /// # Errors
    /// When there is no such thing.
    pub fn chosen(&self, kernel: &Kernel) -> Result<Chosen, LatencyError> {
        let refused = |why: String| Err(LatencyError::Options(why));
        match self {
            Self::Thread(pid) => match kernel.proc_text(format!("{pid}/stat")) {
                Some(_) => Ok(Chosen::Thread(*pid)),
                None => refused(format!("there is no thread {pid}")),
            },
            Self::Process(pid) => match group_of(kernel, *pid) {
                Some(tgid) if tgid == *pid => Ok(Chosen::Process(*pid)),
                Some(tgid) => refused(format!("{pid} is a thread of process {tgid}: use -t {pid}, or -p {tgid}")),
                None => refused(format!("there is no process {pid}")),
            },
            Self::Cgroup(path) => {
                let meta = std::fs::metadata(path).map_err(|e| {
                    LatencyError::Options(format!("cannot open the control group {}: {e}", path.display()))
                })?;
                let kind = rustix::fs::statfs(path).map(|found| found.f_type).unwrap_or_default();
                if kind != CGROUP2 || !meta.is_dir() {
                    return refused(format!(
                        "{} is no control group of version 2: give a folder below where cgroup2 is mounted",
                        path.display()
                    ));
                }
                Ok(Chosen::Cgroup(meta.ino()))
            }
        }
    }

    /// In words.
    #[must_use]
    pub fn words(&self, kernel: &Kernel) -> String {
        let name = |pid: &u32| kernel.proc_text(format!("{pid}/comm")).unwrap_or_default();
        match self {
            Self::Thread(pid) => format!("thread {pid} {}", name(pid).trim()),
            Self::Process(pid) => format!("process {pid} {}", name(pid).trim()),
            Self::Cgroup(path) => format!("control group {}", path.display()),
        }
    }

    /// The threads that are there.
    #[must_use]
    pub fn threads(&self, kernel: &Kernel) -> Vec<Found> {
        let pids = match self {
            Self::Thread(pid) => vec![*pid],
            Self::Process(pid) => numbers_in(&kernel.roots().proc.join(pid.to_string()).join("task")),
            Self::Cgroup(path) => {
                let processes = groups_below(path).into_iter().flat_map(|group| lines(&group.join("cgroup.procs")));
                processes.flat_map(|pid| numbers_in(&kernel.roots().proc.join(pid.to_string()).join("task"))).collect()
            }
        };
        pids.into_iter().filter_map(|pid| found(kernel, pid)).collect()
    }

    /// The paths of the control groups that its threads are in.
    #[must_use]
    pub fn groups(&self, kernel: &Kernel, threads: &[(u32, u32)]) -> Vec<String> {
        let mut groups: Vec<String> = match self {
            Self::Cgroup(path) => groups_below(path).iter().filter_map(|path| below_mount(path)).collect(),
            _ => threads.iter().take(MOST_GROUPS).filter_map(|(pid, _)| cgroup_of(kernel, *pid)).collect(),
        };
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// The quotas that bear on it, with how often they were used up until now.
    #[must_use]
    pub fn quotas(&self, kernel: &Kernel) -> Vec<Quota> {
        let older = match self {
            Self::Thread(pid) | Self::Process(pid) => older_quotas(kernel, *pid),
            Self::Cgroup(_) => Vec::new(),
        };
        if !older.is_empty() {
            return older;
        }
        let Some(mount) = mount(kernel) else { return Vec::new() };
        let mut groups: Vec<String> = match self {
            Self::Cgroup(path) => groups_below(path).iter().filter_map(|path| below_mount(path)).collect(),
            Self::Thread(pid) | Self::Process(pid) => cgroup_of(kernel, *pid).into_iter().collect(),
        };
        // Those above bear on those below.
        let above: Vec<String> = groups
            .iter()
            .flat_map(|group| {
                Path::new(group).ancestors().skip(1).map(|path| path.display().to_string()).collect::<Vec<_>>()
            })
            .collect();
        groups.extend(above);
        groups.sort_unstable();
        groups.dedup();
        groups.iter().filter_map(|group| quota(&mount, group)).collect()
    }
}

fn quota(mount: &Path, group: &str) -> Option<Quota> {
    let folder = mount.join(group.trim_start_matches('/'));
    let max = std::fs::read_to_string(folder.join("cpu.max")).ok()?;
    if max.starts_with("max") {
        return None;
    }
    let stat = std::fs::read_to_string(folder.join("cpu.stat")).ok()?;
    Some(Quota {
        cgroup: group.to_owned(),
        max: max.trim().to_owned(),
        times: field(&stat, "nr_throttled"),
        throttled_ns: field(&stat, "throttled_usec").saturating_mul(1000),
    })
}

/// The quotas of control groups of version 1 that bear on a thread.
fn older_quotas(kernel: &Kernel, pid: u32) -> Vec<Quota> {
    let is_cpu = |controllers: &str| controllers.split(',').any(|name| name == "cpu");
    let groups = kernel.proc_text(format!("{pid}/cgroup")).unwrap_or_default();
    let path = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        is_cpu(controllers).then(|| path.to_owned())
    });
    let mounts = kernel.proc_text("self/mounts").unwrap_or_default();
    let mount = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).find_map(|row| {
        let options = row.get(3).filter(|_| row.get(2) == Some(&"cgroup"))?;
        is_cpu(options).then(|| PathBuf::from(row[1]))
    });
    let (Some(path), Some(mount)) = (path, mount) else { return Vec::new() };
    let quota = |group: &Path| {
        let folder = mount.join(group.strip_prefix("/").ok()?);
        let file = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let allowed = file("cpu.cfs_quota_us")?.trim().parse::<u64>().ok()?;
        let period = file("cpu.cfs_period_us")?.trim().to_owned();
        let stat = file("cpu.stat")?;
        Some(Quota {
            cgroup: group.display().to_string(),
            max: format!("{allowed} {period}"),
            times: field(&stat, "nr_throttled"),
            throttled_ns: field(&stat, "throttled_time"),
        })
    };
    Path::new(&path).ancestors().filter_map(quota).collect()
}

/// A number of a file with a name and a number in each line.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// Where cgroup2 is mounted.
fn mount(kernel: &Kernel) -> Option<PathBuf> {
    mounts::cgroup2(&kernel.proc_text("self/mounts")?)
}

/// A group's folder as the path that the kernel has of it.
fn below_mount(path: &Path) -> Option<String> {
    // The topmost folder of the filesystem is its mount.
    let device = std::fs::metadata(path).ok()?.dev();
    let top = path.ancestors().take_while(|p| std::fs::metadata(p).is_ok_and(|meta| meta.dev() == device)).last()?;
    Some(format!("/{}", path.strip_prefix(top).ok()?.display()))
}

fn groups_below(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned()];
    let mut at = 0;
    while at < all.len() && all.len() < MOST_GROUPS {
        let inside = std::fs::read_dir(&all[at]).into_iter().flatten().flatten();
        let folders =
            inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
        all.extend(folders);
        at += 1;
    }
    all
}

fn lines(path: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

fn numbers_in(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The process of a thread.
fn group_of(kernel: &Kernel, pid: u32) -> Option<u32> {
    let status = kernel.proc_text(format!("{pid}/status"))?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
}

/// The control group of a thread, as the kernel has its path.
pub fn cgroup_of(kernel: &Kernel, pid: u32) -> Option<String> {
    let text = kernel.proc_text(format!("{pid}/cgroup"))?;
    text.lines().find_map(|line| line.strip_prefix("0::").map(str::to_owned))
}

fn found(kernel: &Kernel, pid: u32) -> Option<Found> {
    let stat = kernel.proc_text(format!("{pid}/stat"))?;
    // The name stands in parentheses and may have any others in it.
    let (begin, rest) = stat.rsplit_once(") ")?;
    let comm = begin.split_once('(')?.1.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let part = match rest.chars().next()? {
        'S' | 'I' => Part::Sleeping,
        'D' => Part::Blocked,
        'T' | 't' => Part::Stopped,
        'Z' | 'X' => return None,
        _ => Part::Unknown,
    };
    Some(Found { pid, tgid: group_of(kernel, pid)?, comm, part })
}
