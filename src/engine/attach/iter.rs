//! Iterators: the kernel walks its objects while somebody reads the iterator, and runs the program on each.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::AsFd as _;

use libbpf_rs::{CgroupIterOpts, CgroupIterOrder, Iter, IterOpts, Link};

use super::{Attached, Job, Refusal};
use crate::model::target::Target;

/// Bytes a read: programs report through the ring, so that reads give nothing but the walk's progress.
const READ_BYTES: usize = 4096;

/// The iterator over control groups is to be told where it begins and which way it goes: from the root down.
fn cgroups(job: &Job<'_>, index: usize) -> Result<Link, Refusal> {
    let mount = job.place.sys.join("fs/cgroup");
    // Beside version 1 the hierarchy of version 2 lies in a folder of its own.
    let unified = mount.join("unified");
    let root = File::open(if unified.is_dir() { unified } else { mount }).map_err(|e| Refusal::io(index, &e))?;
    let mut options = CgroupIterOpts::from_fd(root.as_fd());
    options.order = CgroupIterOrder::DescendantsPre;
    job.loaded.attach_iter_with_opts(IterOpts::Cgroup(options)).map_err(|e| Refusal::new(index, &e))
}

/// Attaches the iterator and walks it once, to its end.
pub(super) fn walk(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    let index = job.targets().next().map_or(0, |(i, _)| i);
    let link = match job.first() {
        Some(Target::Iter { kind }) if &**kind == "cgroup" => cgroups(job, index)?,
        _ => job.loaded.attach().map_err(|e| Refusal::new(index, &e))?,
    };
    let mut iterator = Iter::new(&link).map_err(|e| Refusal::new(index, &e))?;
    let mut buffer = [0_u8; READ_BYTES];
    loop {
        match iterator.read(&mut buffer) {
            Ok(0) => break,
            Ok(_) => {}
            // The kernel asks to come back after a million skipped objects (kernel/bpf/bpf_iter.c).
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(e) => return Err(Refusal::io(index, &e)),
        }
    }
    job.done(links, link, job.spec.targets.len());
    Ok(())
}
