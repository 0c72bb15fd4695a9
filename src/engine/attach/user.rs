//! User-space functions and statically defined probes.

use std::sync::Arc;

use libbpf_rs::{UprobeMultiOpts, UprobeOpts};

use super::{Attached, Held, Job, Place, Refusal};
use crate::model::target::Target;

/// One place in one binary, whichever kind of probe named it.
struct Site<'a> {
    path: &'a Arc<str>,
    offset: u64,
    semaphore: u64,
    ret: bool,
    /// Return instructions that are probed instead, by their offsets.
    exits: &'a [u64],
    pid: Option<u32>,
}

impl<'a> Site<'a> {
    fn of(target: &'a Target, place: &Place) -> Option<Self> {
        let of_process = |pid: &Option<u32>| pid.or(place.pid).filter(|_| !place.everybody);
        match target {
            Target::Uprobe { path, file_offset, ret, exits, pid, .. } => {
                let ret = *ret && exits.is_empty();
                Some(Self { path, offset: *file_offset, semaphore: 0, ret, exits, pid: of_process(pid) })
            }
            Target::Usdt { path, file_offset, semaphore, pid, .. } => {
                let (offset, semaphore, pid) = (*file_offset, *semaphore, of_process(pid));
                Some(Self { path, offset, semaphore, ret: false, exits: &[], pid })
            }
            _ => None,
        }
    }

    /// The offsets in the file where it is probed.
    fn offsets(&self) -> impl Iterator<Item = u64> {
        let own = self.exits.is_empty().then_some(self.offset);
        own.into_iter().chain(self.exits.iter().copied())
    }

    fn pid(&self) -> i32 {
        self.pid.map_or(-1, |p| p as i32)
    }
}

pub(super) fn uprobes(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    for (i, target) in job.targets().rev() {
        uprobe(job, i, target, links).or_else(|refusal| job.forgive(refusal))?;
    }
    Ok(())
}

fn uprobe(job: &Job<'_>, i: usize, target: &Target, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    let Some(site) = Site::of(target, job.place) else { return Ok(()) };
    let options = UprobeOpts {
        ref_ctr_offset: site.semaphore as usize,
        cookie: job.cookie(i),
        retprobe: site.ret,
        func_name: None,
        ..UprobeOpts::default()
    };
    for (n, offset) in site.offsets().enumerate() {
        let link = job
            .loaded
            .attach_uprobe_with_opts(site.pid(), &**site.path, offset as usize, options.clone())
            .map_err(|e| Refusal::new(i, &e))?;
        job.done(links, link, usize::from(n == 0));
    }
    Ok(())
}

/// One link for all sites of each binary; one each where the kernel has no multi links (before 6.6).
pub(super) fn uprobe_multi(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    let mut groups: Vec<(Site<'_>, Vec<usize>)> = Vec::new();
    for (i, target) in job.targets() {
        let Some(site) = Site::of(target, job.place) else { continue };
        let same = |s: &Site<'_>| s.path == site.path && s.ret == site.ret && s.pid == site.pid;
        match groups.iter_mut().find(|(s, _)| same(s)) {
            Some((_, members)) => members.push(i),
            None => groups.push((site, vec![i])),
        }
    }
    for (first, members) in groups {
        let link = |members: &[usize]| match multi(job, &first, members) {
            Ok(link) => Ok(Held::from(link)),
            Err(error) => Err(format!("{error:#}")),
        };
        // A program for such links is taken by no other one. Of several functions, one that begins with an instruction that
        // the kernel can't step over is left out, and told.
        let alone = |i: &usize, reason: String, _: &mut Vec<Attached>| {
            let refusal = Refusal { target: *i, reason };
            if job.spec.targets.len() == 1 {
                return job.forgive(refusal);
            }
            job.refused.borrow_mut().push(refusal);
            Ok(())
        };
        super::halves(job, &members, links, &link, &alone)?;
    }
    Ok(())
}

fn multi(job: &Job<'_>, first: &Site<'_>, members: &[usize]) -> libbpf_rs::Result<libbpf_rs::Link> {
    let sites = members.iter().filter_map(|i| Some((job.cookie(*i), Site::of(&job.probe.targets[*i], job.place)?)));
    // Offset, semaphore, cookie.
    let places: Vec<(u64, u64, u64)> = sites
        .flat_map(|(cookie, site)| site.offsets().map(|at| (at, site.semaphore, cookie)).collect::<Vec<_>>())
        .collect();
    let counted = places.iter().any(|(_, semaphore, _)| *semaphore != 0);
    let options = UprobeMultiOpts {
        offsets: places.iter().map(|(offset, ..)| *offset as usize).collect(),
        ref_ctr_offsets: if counted { places.iter().map(|(_, s, _)| *s as usize).collect() } else { Vec::new() },
        cookies: if job.spec.needs_cookie { places.iter().map(|(.., cookie)| *cookie).collect() } else { Vec::new() },
        retprobe: first.ret,
        ..UprobeMultiOpts::default()
    };
    job.loaded.attach_uprobe_multi_with_opts(first.pid(), &**first.path, "", options)
}
