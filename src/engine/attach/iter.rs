//! Iterators: the kernel walks its objects while somebody reads the iterator, and runs the program on each.

use std::io::{ErrorKind, Read as _};

use libbpf_rs::Iter;

use super::{Attached, Job, Refusal};
use crate::lang::typed::Target;

/// Bytes a read: programs report through the ring, so that reads give nothing but the walk's progress.
const READ_BYTES: usize = 4096;

/// Attaches the iterator and walks it once, to its end.
pub(super) fn walk(job: &Job<'_>, links: &mut Vec<Attached>) -> Result<(), Refusal> {
    let first = job.targets().next();
    let index = first.map_or(0, |(i, _)| i);
    if let Some((_, Target::Iter { kind, pin: Some(_) })) = first {
        let reason = format!("a pinned iterator outlives the trace and would report to nobody; write `iter:{kind}`");
        return Err(Refusal { target: index, reason });
    }
    let link = job.loaded.attach().map_err(|e| {
        // The kind wants a map's file descriptor (`bpf_iter_attach_map`, kernel/bpf/map_iter.c).
        if super::last_number() == Some(libc::EBADF) {
            let reason = "it walks the elements of one map, which a script can't name; iter:bpf_map walks the maps";
            return Refusal { target: index, reason: reason.to_owned() };
        }
        Refusal::new(index, &e)
    })?;
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
