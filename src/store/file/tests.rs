//! Recordings come back, whole, cut, damaged and forged.

use std::path::{Path, PathBuf};

use super::block::{HEADER, START, TRAILER};
use super::*;
use crate::store::tests::{event, info, lost, mark};
use crate::store::{ChunkBuilder, Direction, Entry, History, Stop, Store, TraceId, TraceInfo};

/// A folder of its own, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("probescope-recording-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.0.join("file");
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn about() -> RecordingInfo {
    RecordingInfo { kernel: "6.18.0".into(), host: "box".into(), began_ns: 7, ..RecordingInfo::default() }
}

fn entries() -> Vec<Entry> {
    let mut entries: Vec<Entry> = (0..12).map(|n| event(1, 1000 + n, &format!("row {n}"))).collect();
    entries.extend([lost(1, 1020, 5), mark(1021, "here"), event(2, 1022, "other")]);
    entries
}

fn traces() -> Vec<Arc<TraceInfo>> {
    vec![info(1, "<", ">\n"), info(2, "", "\n")]
}

/// Records entries, some of them before the recording began, each group as a chunk that is too large to be joined.
fn record(path: &Path, entries: &[Entry], group: usize) -> Written {
    let mut traces = traces();
    let later = traces.split_off(1);
    let mut builder = ChunkBuilder::new();
    traces.iter().chain(&later).for_each(|t| builder.declare(t));
    let mut chunks = entries.chunks(group).map(|group| {
        group.iter().for_each(|e| builder.push(e));
        builder.finish().unwrap()
    });
    let recorder = Recorder::create(path, &about(), traces, chunks.next().into_iter().collect()).unwrap();
    later.into_iter().for_each(|t| recorder.declare(t));
    chunks.for_each(|c| recorder.append(c));
    recorder.finish().unwrap()
}

fn all(recording: &Recording) -> Vec<Entry> {
    recording.entries().filter_map(|n| recording.entry(n)).collect()
}

#[test]
fn what_is_recorded_comes_back() {
    let folder = Folder::new("whole");
    let path = folder.0.join("file");
    let written = record(&path, &entries(), 4);
    assert_eq!((written.entries, written.unwritten), (15, 0));
    assert_eq!(written.bytes, std::fs::metadata(&path).unwrap().len());
    let recording = Recording::open(&path).unwrap();
    assert_eq!(all(&recording), entries());
    assert_eq!(recording.info(), &about());
    assert_eq!(recording.traces(), traces());
    assert_eq!(recording.damage(), Damage::default());
    let row = recording.line_at(3).unwrap();
    assert_eq!((row.text.as_slice(), row.at_ns), (&b"<row 3>"[..], 1003));
    assert_eq!(recording.seek_time(1020), 12);
}

#[test]
fn a_recording_cut_anywhere_opens_up_to_the_cut() {
    let folder = Folder::new("cut");
    let path = folder.0.join("file");
    record(&path, &entries(), 4);
    let whole = std::fs::read(&path).unwrap();
    let mut held = 0;
    for length in 0..whole.len() {
        let opened = Recording::open(&folder.file(&whole[..length]));
        let Ok(recording) = opened else {
            let error = opened.unwrap_err().to_string();
            assert!(held == 0 && (error.contains("no recording") || error.contains("no whole entry")), "{error}");
            continue;
        };
        assert!(recording.damage().no_index);
        let back = all(&recording);
        assert_eq!(back, entries()[..back.len()], "cut at {length}");
        assert!(back.len() >= held, "a longer file holds more");
        held = back.len();
    }
    assert_eq!(held, entries().len(), "only the index is missing in the end");
}

#[test]
fn damage_costs_what_it_hits() {
    let folder = Folder::new("flips");
    let path = folder.0.join("file");
    record(&path, &entries(), 4);
    let whole = std::fs::read(&path).unwrap();
    let expected = entries();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        let Ok(recording) = Recording::open(&folder.file(&bytes)) else {
            assert!(at < START, "byte {at} of {}", whole.len());
            continue;
        };
        let back = all(&recording);
        assert!(back.iter().all(|e| expected.contains(e)), "nothing wrong is shown (byte {at})");
        assert!(back.len() >= expected.len() - 12, "byte {at} costs {}", expected.len() - back.len());
        if back.len() < expected.len() {
            let damage = recording.damage();
            assert!(damage.chunks + damage.holes > 0 || damage.no_index, "and it is counted (byte {at})");
        }
    }
}

#[test]
fn what_is_no_recording_is_refused_with_the_reason() {
    let folder = Folder::new("refused");
    let said = |bytes: &[u8]| Recording::open(&folder.file(bytes)).unwrap_err().to_string();
    assert!(said(b"").contains("is no recording"));
    assert!(said(b"#!/bin/sh\necho of some other kind\n").contains("is no recording"));
    let mut newer = block::start();
    newer[8] = 9;
    assert!(said(&newer).contains("version 9"), "{}", said(&newer));
    assert!(said(&block::start()).contains("no whole entry"));
    let error = Recording::open(&folder.0.join("absent")).unwrap_err().to_string();
    assert!(error.starts_with("cannot open ") && error.contains("No such file"), "{error}");
    assert!(Recording::open(&folder.0).unwrap_err().to_string().contains("is no recording"));
    assert!(Recording::open(Path::new("/dev/zero")).unwrap_err().to_string().contains("is no recording"));
}

#[test]
fn two_gigabytes_of_zeros_are_refused() {
    let folder = Folder::new("zeros");
    for first in [&[][..], &block::start()[..]] {
        let path = folder.file(first);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(2 << 30).unwrap();
        assert!(Recording::open(&path).is_err());
    }
}

/// A header with a word changed and its checksum made right.
fn forged(block: &mut [u8], at: usize, word: u32, summary: usize) {
    block[at..at + 4].copy_from_slice(&word.to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&block[..HEADER - 4]);
    hasher.update(block.get(HEADER..HEADER + summary).unwrap_or(&[]));
    block[HEADER - 4..HEADER].copy_from_slice(&hasher.finalize().to_le_bytes());
}

#[test]
fn lengths_that_lie_are_not_believed() {
    let folder = Folder::new("lies");
    let content = vec![7; 5000];
    let block = block::write(block::Kind::Chunk, &[], &content).unwrap();
    // Summary, stored length and unpacked length.
    for (at, word) in
        [(8, 1 << 15), (8, u32::MAX), (12, 60 << 20), (12, u32::MAX), (16, 64 << 20), (16, 1), (16, u32::MAX)]
    {
        let mut bytes = block::start().to_vec();
        let mut lying = block.clone();
        forged(&mut lying, at, word, 0);
        bytes.extend_from_slice(&lying);
        bytes.extend_from_slice(&block::trailer(START as u64));
        assert!(Recording::open(&folder.file(&bytes)).is_err(), "{word} at {at}");
    }
    let mut index = block::start().to_vec();
    index.extend(block::write(block::Kind::Index, &[], &[0xff; 64]).unwrap());
    index.extend(block::trailer(START as u64));
    assert!(Recording::open(&folder.file(&index)).is_err());
    assert_eq!(block::index_at(&[0; TRAILER]), None);
}

#[test]
fn a_chunk_that_no_program_wrote_is_left_out() {
    let folder = Folder::new("forged");
    let path = folder.0.join("file");
    record(&path, &entries(), 4);
    let whole = std::fs::read(&path).unwrap();
    let summary = {
        let mut out = Vec::new();
        let mut summary = crate::store::Summary::default();
        summary.add(TraceId(1), 5, crate::store::PayloadKind::Event, u32::MAX);
        table::put_summary(&summary, &mut out);
        out
    };
    let mut bytes = whole[..whole.len() - TRAILER].to_vec();
    // The index goes, so that blocks are found one by one.
    let cut = bytes.windows(4).rposition(|w| w == block::MARKER).unwrap();
    bytes.truncate(cut);
    bytes.extend(block::write(block::Kind::Chunk, &summary, &[0xff; 300]).unwrap());
    let recording = Recording::open(&folder.file(&bytes)).unwrap();
    assert_eq!(all(&recording), entries());
    assert_eq!(recording.entries().end, 16, "it was announced");
    assert_eq!(recording.damage().chunks, 1);
    assert_eq!(recording.line_at(recording.lines().end - 1), None);
}

#[test]
fn a_full_disk_ends_the_recording_and_nothing_else() {
    let error = Recorder::create(Path::new("/dev/full"), &about(), traces(), Vec::new()).unwrap_err();
    assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
    // A file that takes no byte: as when the disk is full from the first chunk on.
    let path = Path::new("/dev/full").to_owned();
    let file = crate::disk::Output::growing(&path, crate::disk::Readers::Owner).unwrap();
    let (said, unwritten) = recorder::tests::write_to(file, &path, traces(), entries());
    assert!(said.contains("the recording ends here, tracing goes on"), "{said}");
    assert_eq!(unwritten, entries().len() as u64);
}

#[test]
fn marks_stand_in_their_place_in_a_recording_that_is_read_where_it_lies() {
    let folder = Folder::new("marked");
    let path = folder.0.join("file");
    record(&path, &entries(), 4);
    let mut store = Store::reading(Arc::new(Recording::open(&path).unwrap()));
    let set = |store: &mut Store, at_ns, name| {
        let mut builder = ChunkBuilder::new();
        builder.push(&mark(at_ns, name));
        assert!(store.insert(&builder.finish().unwrap()));
    };
    set(&mut store, 1005, "among");
    set(&mut store, 1, "before");
    set(&mut store, 5000, "behind");
    let mut wanted = entries();
    wanted.insert(6, mark(1005, "among"));
    wanted.insert(0, mark(1, "before"));
    wanted.push(mark(5000, "behind"));
    let held = |history: &dyn History| history.entries().filter_map(|n| history.entry(n)).collect::<Vec<_>>();
    assert_eq!(held(&store), wanted);
    assert_eq!(held(&store.snapshot()), wanted, "another thread sees them");
    assert_eq!(store.step(0, Stop::Mark, Direction::Forward), Some(7));
    assert_eq!(store.line_at(1).unwrap().text, b"<row 0>");
    assert!(!store.takes_entries(), "the rest is still read from the file");
    assert_eq!(all(&Recording::open(&path).unwrap()), entries(), "which is as it was");
}
