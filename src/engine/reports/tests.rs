use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::pwrite;

use super::*;
use crate::codegen::artifact::{FIRST_SLOT, PerCpuRingSpec, SLOT_ROUND_BITS, SLOTS_CONSUMED};

const SLOTS: u32 = 64;
const SLOT: u32 = 32;

/// Rings in a file, filled as programs fill them.
struct Programs {
    file: OwnedFd,
    spec: PerCpuRingSpec,
    produced: Vec<u64>,
}

impl Programs {
    fn new(rings: u32) -> (Self, SlotReports) {
        let spec = PerCpuRingSpec { wake: "w".into(), map: "m".into(), slot_bytes: SLOT, slots: SLOTS, rings };
        let file = memfd_create("rings", MemfdFlags::empty()).unwrap();
        ftruncate(&file, u64::from(spec.ring_bytes() * rings).next_multiple_of(4096)).unwrap();
        let wake = memfd_create("wake", MemfdFlags::empty()).unwrap();
        ftruncate(&wake, 16 * 4096).unwrap();
        let reader = SlotReports::new(
            SlotRings::map(file.as_fd(), spec.clone()).unwrap(),
            Ring::map(wake.as_fd(), 4096).unwrap(),
        );
        (Self { file, spec, produced: vec![0; rings as usize] }, reader)
    }

    fn at(&self, ring: usize, offset: u64) -> u64 {
        ring as u64 * u64::from(self.spec.ring_bytes()) + offset
    }

    fn reserve(&mut self, ring: usize) -> u64 {
        let number = self.produced[ring];
        self.produced[ring] += 1;
        pwrite(&self.file, &self.produced[ring].to_ne_bytes(), self.at(ring, 0)).unwrap();
        number
    }

    fn commit(&self, ring: usize, slot: u64, number: u32, text: &[u8]) {
        let at = self.at(ring, u64::from(FIRST_SLOT) + (slot % u64::from(SLOTS)) * u64::from(SLOT));
        pwrite(&self.file, text, at + 8).unwrap();
        let round = (slot + 1) & ((1 << SLOT_ROUND_BITS) - 1);
        let word = round | (text.len() as u64) << SLOT_ROUND_BITS | u64::from(number) << 32;
        pwrite(&self.file, &word.to_ne_bytes(), at).unwrap();
    }

    fn report(&mut self, ring: usize, number: u32, text: &[u8]) {
        let slot = self.reserve(ring);
        self.commit(ring, slot, number, text);
    }

    fn given_back(&self, ring: usize) -> u64 {
        let mut bytes = [0; 8];
        rustix::io::pread(&self.file, &mut bytes, self.at(ring, u64::from(SLOTS_CONSUMED))).unwrap();
        u64::from_ne_bytes(bytes)
    }
}

fn taken(reader: &mut SlotReports) -> Vec<String> {
    let mut out = Vec::new();
    reader.consume(|report| {
        out.push(String::from_utf8(report.to_vec()).unwrap());
        true
    });
    out
}

#[test]
fn reports_of_several_rings_come_in_the_order_in_which_they_were_made() {
    let (mut programs, mut reader) = Programs::new(3);
    for (number, ring) in [2, 0, 0, 1, 2, 1, 0].into_iter().enumerate() {
        programs.report(ring, number as u32, number.to_string().as_bytes());
    }
    assert!(!reader.is_empty());
    assert_eq!(taken(&mut reader), ["0", "1", "2", "3", "4", "5", "6"]);
    assert!(reader.is_empty());
    assert_eq!([0, 1, 2].map(|ring| programs.given_back(ring)), [3, 2, 2]);
}

#[test]
fn what_is_not_written_yet_holds_back_what_follows() {
    let (mut programs, mut reader) = Programs::new(2);
    let slot = programs.reserve(0);
    programs.report(1, 1, b"one");
    assert!(taken(&mut reader).is_empty());
    assert!(!reader.is_empty());
    programs.commit(0, slot, 0, b"nought");
    assert_eq!(taken(&mut reader), ["nought", "one"]);
}

#[test]
fn an_interrupting_program_has_the_earlier_number_in_the_later_slot() {
    let (mut programs, mut reader) = Programs::new(2);
    let outer = programs.reserve(0);
    programs.report(0, 0, b"inner");
    programs.report(1, 2, b"after");
    assert!(taken(&mut reader).is_empty(), "the outer one is first in its ring");
    programs.commit(0, outer, 1, b"outer");
    assert_eq!(taken(&mut reader), ["inner", "outer", "after"]);
    assert!(reader.is_empty());
}

#[test]
fn rounds_and_numbers_wrap() {
    let (mut programs, mut reader) = Programs::new(1);
    let first = u64::from(u32::MAX) - 100;
    reader.next = first;
    reader.at = vec![(1 << SLOT_ROUND_BITS) - 70];
    reader.given.clone_from(&reader.at);
    programs.produced.clone_from(&reader.at);
    // Each slot holds what the round before left there.
    for slot in 0..u64::from(SLOTS) {
        programs.commit(0, reader.at[0] - u64::from(SLOTS) + slot, 7, b"old");
    }
    for i in 0..200 {
        programs.report(0, (first + i) as u32, i.to_string().as_bytes());
        assert_eq!(taken(&mut reader), [i.to_string()]);
    }
    assert!(reader.is_empty());
}

#[test]
fn a_taker_that_has_enough_gets_the_rest_later() {
    let (mut programs, mut reader) = Programs::new(2);
    for number in 0..6 {
        programs.report(number as usize % 2, number, number.to_string().as_bytes());
    }
    let mut got = Vec::new();
    let bytes = reader.consume(|report| {
        got.push(report.to_vec());
        got.len() < 4
    });
    assert_eq!((got.len(), bytes), (4, 4 * SLOT as usize));
    assert_eq!(taken(&mut reader), ["4", "5"]);
}

#[test]
fn what_was_overwritten_does_not_stop_the_rest() {
    let (mut programs, mut reader) = Programs::new(1);
    for number in 0..=SLOTS {
        programs.report(0, number, number.to_string().as_bytes());
    }
    // Number 0 is gone; it is waited for, then given up.
    assert!(taken(&mut reader).is_empty());
    reader.missing = Instant::now().checked_sub(2 * LONGEST_GAP);
    let rest = taken(&mut reader);
    assert_eq!((rest.len(), rest[0].as_str()), (SLOTS as usize, "1"));
    // What comes late is not lost.
    programs.report(0, 0, b"late");
    assert_eq!(taken(&mut reader), ["late"]);
    assert!(reader.is_empty());
}
