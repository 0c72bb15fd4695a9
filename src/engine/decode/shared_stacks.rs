//! Stacks that were decoded: a table of stacks is read several times a second, and its readings share them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::value::Frame;

/// Frames that are kept; all are forgotten when there are more.
const MOST_FRAMES: usize = 400_000;

/// What a stack is known by: the kernel's hash of it, how many frames were wanted, and the process that its addresses are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The hash.
    pub id: u64,
    /// Frames wanted, 0 for all.
    pub count: u32,
    /// The process; none of the kernel's.
    pub pid: Option<u32>,
    /// Frames are places in files.
    pub in_files: bool,
}

/// Decoded stacks.
#[derive(Debug, Default)]
pub struct SharedStacks {
    stacks: HashMap<Key, Arc<[Frame]>>,
    frames: usize,
}

impl SharedStacks {
    /// A stack that is known.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<Arc<[Frame]>> {
        self.stacks.get(&key).cloned()
    }

    /// Keeps a stack all of whose frames have names: others may get theirs later.
    pub fn keep(&mut self, key: Key, frames: &Arc<[Frame]>) {
        if frames.is_empty() || frames.iter().any(|frame| frame.symbol.is_none() && frame.object.is_none()) {
            return;
        }
        if self.frames + frames.len() > MOST_FRAMES {
            *self = Self::default();
        }
        self.frames += frames.len();
        if let Some(before) = self.stacks.insert(key, Arc::clone(frames)) {
            self.frames -= before.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(symbol: Option<&str>) -> Frame {
        Frame { address: 1, symbol: symbol.map(Into::into), offset: 0, object: None, inlined: false }
    }

    #[test]
    fn stacks_are_shared_once_all_their_frames_have_names() {
        let key = |id| Key { id, count: 0, pid: Some(1), in_files: false };
        let mut shared = SharedStacks::default();
        shared.keep(key(1), &[frame(Some("main")), frame(None)].into());
        assert_eq!(shared.get(key(1)), None, "its name may come");
        let whole: Arc<[Frame]> = [frame(Some("main"))].into();
        shared.keep(key(1), &whole);
        assert!(shared.get(key(1)).is_some_and(|known| Arc::ptr_eq(&known, &whole)));
        assert_eq!(shared.get(Key { pid: Some(2), ..key(1) }), None);
    }

    #[test]
    fn no_more_frames_are_kept_than_fit() {
        let key = |id| Key { id, count: 0, pid: None, in_files: false };
        let many: Arc<[Frame]> = vec![frame(Some("f")); MOST_FRAMES / 4].into();
        let mut shared = SharedStacks::default();
        for id in 0..9 {
            shared.keep(key(id), &many);
            assert!(shared.frames <= MOST_FRAMES && shared.get(key(id)).is_some());
        }
    }
}
