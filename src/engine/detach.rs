//! Letting go of what programs are attached by.

use super::attach::Attached;

use crate::thread::{self, Rights};

/// Threads that detach at once: some links of each.
const MOST_DETACHERS: usize = 128;
/// Stack of such a thread: it closes files.
const DETACHER_STACK: usize = 64 << 10;

/// Detaches. At each link the kernel waits until no program of it can run any more, for 30 to 60 ms (RCU); links that
/// several threads let go wait together.
pub(super) fn detach(links: Vec<Attached>) {
    let threads = links.len().min(MOST_DETACHERS);
    if threads < 2 {
        return;
    }
    let mut shares: Vec<Vec<Attached>> = (0..threads).map(|_| Vec::new()).collect();
    for (nth, link) in links.into_iter().enumerate() {
        shares[nth % threads].push(link);
    }
    std::thread::scope(|scope| {
        for share in shares {
            // Where there can be no thread, the closure is dropped, and its links with it.
            let _ = thread::scoped(scope, ("psc-detach", Rights::Nothing), DETACHER_STACK, move || drop(share));
        }
    });
}

/// Links that are on their way out. Dropping it detaches, and blocks meanwhile.
#[derive(Debug, Default)]
pub struct Detaching {
    links: Vec<Attached>,
}

impl Detaching {
    pub(super) const fn of(links: Vec<Attached>) -> Self {
        Self { links }
    }

    /// How many links there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.links.len()
    }

    pub(super) fn links(&self) -> &[Attached] {
        &self.links
    }

    /// True without links.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }
}

impl Drop for Detaching {
    fn drop(&mut self) {
        detach(std::mem::take(&mut self.links));
    }
}
