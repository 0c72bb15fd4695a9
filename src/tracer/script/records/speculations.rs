//! What waits in speculations until it is committed or discarded.

use std::collections::HashMap;

use crate::model::d::{Item, Record};
use crate::model::value::Value;

/// Most bytes that all speculations hold together.
const MOST_BYTES: usize = 16 << 20;

/// Printed text by the number of its speculation.
#[derive(Debug, Default)]
pub struct Speculations {
    kept: HashMap<i64, Vec<u8>>,
    bytes: usize,
    /// Records that found no room.
    dropped: u64,
}

impl Speculations {
    /// Sorts out a record's own text: into the speculation that it is of, or back to the caller. What the record commits
    /// comes before its own text, but for what it has just recorded in the same speculation.
    pub fn settle(&mut self, record: &Record, values: &[Value], own: Vec<u8>) -> Vec<u8> {
        let speculation = speculated(record, values);
        let own = match speculation {
            Some(id) => {
                self.keep(id, own);
                Vec::new()
            }
            None => own,
        };
        let mut out = Vec::new();
        for item in &record.items {
            match item {
                Item::Commit(at) => out.extend(self.take(number(values, *at))),
                Item::Discard(at) => drop(self.take(number(values, *at))),
                _ => {}
            }
        }
        if out.is_empty() {
            return own;
        }
        out.extend(own);
        out
    }

    fn keep(&mut self, id: i64, text: Vec<u8>) {
        if id <= 0 || text.is_empty() {
            return;
        }
        if self.bytes + text.len() > MOST_BYTES {
            self.dropped += 1;
            return;
        }
        self.bytes += text.len();
        self.kept.entry(id).or_default().extend(text);
    }

    fn take(&mut self, id: i64) -> Vec<u8> {
        let text = self.kept.remove(&id).unwrap_or_default();
        self.bytes -= text.len();
        text
    }

    /// How many records found no room.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// The value at an index as a number.
fn number(values: &[Value], at: usize) -> i64 {
    values.get(at).and_then(Value::as_number).unwrap_or(0) as i64
}

/// The speculation that a record waits in; 0 when it is in none that is in use.
fn speculated(record: &Record, values: &[Value]) -> Option<i64> {
    record.items.iter().find_map(|item| match item {
        Item::Speculate(at) => Some(number(values, *at)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(s: &mut Speculations, items: Vec<Item>, own: Vec<u8>) -> Vec<u8> {
        s.settle(&Record { clause: 0, items }, &[Value::Int(1, 8)], own)
    }

    #[test]
    fn a_record_commits_what_it_speculates_itself() {
        let mut s = Speculations::default();
        assert!(settle(&mut s, vec![Item::Speculate(0)], b"first ".to_vec()).is_empty());
        let printed = settle(&mut s, vec![Item::Speculate(0), Item::Commit(0)], b"second".to_vec());
        assert_eq!(printed, b"first second");
        assert_eq!(s.bytes, 0);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut s = Speculations::default();
        let text = vec![b'x'; MOST_BYTES / 2];
        for _ in 0..3 {
            settle(&mut s, vec![Item::Speculate(0)], text.clone());
        }
        assert_eq!((s.dropped(), s.bytes), (1, MOST_BYTES));
        assert!(settle(&mut s, vec![Item::Discard(0)], Vec::new()).is_empty());
        settle(&mut s, vec![Item::Speculate(0)], text);
        assert_eq!((s.dropped(), s.bytes), (1, MOST_BYTES / 2));
    }
}
