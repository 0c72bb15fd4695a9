//! What `bufpolicy=ring` and `fill` hold back: the last records of a run, or its first, to be printed when it ends.

use std::collections::VecDeque;

use crate::model::d::Policy;

/// Printed records that wait for the end.
#[derive(Debug, Default)]
pub struct Held {
    records: VecDeque<Vec<u8>>,
    bytes: u64,
    /// One did not fit: no later one is held.
    full: bool,
}

impl Held {
    /// Takes a record's text where the policy holds it back; gives it back where it is to be printed now.
    pub fn take(&mut self, policy: Policy, text: Vec<u8>) -> Option<Vec<u8>> {
        let size = text.len() as u64;
        match policy {
            Policy::Switch => return Some(text),
            Policy::Ring { bytes } => {
                while self.bytes + size > bytes
                    && let Some(oldest) = self.records.pop_front()
                {
                    self.bytes -= oldest.len() as u64;
                }
                self.full = size > bytes;
            }
            Policy::Fill { bytes } => self.full |= self.bytes + size > bytes,
        }
        if !self.full {
            self.bytes += size;
            self.records.push_back(text);
        }
        None
    }

    /// All that waits, in order.
    pub fn release(&mut self) -> Vec<u8> {
        self.bytes = 0;
        std::mem::take(&mut self.records).into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(policy: Policy, texts: &[&str]) -> String {
        let mut held = Held::default();
        for text in texts {
            assert_eq!(held.take(policy, text.as_bytes().to_vec()), None);
        }
        String::from_utf8(held.release()).unwrap()
    }

    #[test]
    fn a_ring_has_the_last_and_fill_the_first() {
        assert_eq!(held(Policy::Ring { bytes: 5 }, &["aa", "bb", "cc"]), "bbcc");
        assert_eq!(held(Policy::Fill { bytes: 5 }, &["aa", "bb", "cc", "d"]), "aabb");
        assert_eq!(held(Policy::Ring { bytes: 2 }, &["aa", "bbb", "c"]), "c");
        assert_eq!(Held::default().take(Policy::Switch, b"x".to_vec()), Some(b"x".to_vec()));
    }
}
