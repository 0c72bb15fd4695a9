//! Files made as trace-cmd makes them, and files that lie.

use std::path::PathBuf;

use super::*;
use crate::kernel::ring::made::{Made, Part as Piece};
use crate::tracer::ftrace::{FtraceError, Told};

const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
const FORMAT: &str = "name: hello\nID: 77\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\tfield:int n;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"n=%d\", REC->n\n";

fn sized(bytes: &[u8], size: usize, out: &mut Vec<u8>) {
    out.extend(&(bytes.len() as u64).to_le_bytes()[..size]);
    out.extend(bytes);
}

fn ring(first: u64, count: i32) -> Vec<u8> {
    let mut made = Made::default();
    for n in 0..count {
        let mut record = vec![77, 0, 0, 0];
        record.extend(9_i32.to_le_bytes());
        record.extend(n.to_le_bytes());
        made.add(&Piece::Record(10, record));
    }
    made.page(&PageLayout::usual(Abi::NATIVE), first, None, 4096)
}

/// Version 6, with a page for each of two CPUs.
fn version_6() -> Vec<u8> {
    let mut out = file::MAGIC.to_vec();
    out.extend(b"6\0\0\x08");
    out.extend(4096_u32.to_le_bytes());
    out.extend(b"header_page\0");
    sized(PAGE.as_bytes(), 8, &mut out);
    out.extend(b"header_event\0");
    sized(b"x", 8, &mut out);
    out.extend(0_u32.to_le_bytes());
    out.extend(1_u32.to_le_bytes());
    out.extend(b"test\0");
    out.extend(1_u32.to_le_bytes());
    sized(FORMAT.as_bytes(), 8, &mut out);
    sized(b"ffffffff81000000 T vfs_read\n", 4, &mut out);
    sized(b"", 4, &mut out);
    sized(b"9 bash\n", 8, &mut out);
    out.extend(2_u32.to_le_bytes());
    out.extend(b"options  \0");
    out.extend(4_u16.to_le_bytes());
    sized(b"local global [mono] boot\0", 4, &mut out);
    out.extend(0_u16.to_le_bytes());
    out.extend(b"flyrecord\0");
    let at = (out.len() + 32).next_multiple_of(4096) as u64;
    for cpu in 0..2_u64 {
        out.extend((at + cpu * 4096).to_le_bytes());
        out.extend(4096_u64.to_le_bytes());
    }
    out.resize(at as usize, 0);
    out.extend(ring(1000, 3));
    out.extend(ring(1005, 2));
    out
}

struct Written(PathBuf);

impl Written {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("probescope-dat-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn read(dat: &Dat) -> Vec<String> {
    let mut found = Vec::new();
    let mut session = dat.session(&dat.buffers[0]);
    let mut take = |told: Told<'_>| {
        if let Told::Event(event) = told {
            let mut text = Vec::new();
            event.shape.printed.write(event.abi, &event.shape.fields, event.record, event.names, &mut text);
            found.push(format!("{} {} {} {}", event.at_ns, event.cpu, event.comm, String::from_utf8_lossy(&text)));
        }
        Ok::<(), FtraceError>(())
    };
    while session.poll(&mut take).unwrap().1 {}
    session.finish(&mut take).unwrap();
    found
}

#[test]
fn a_file_of_version_6_is_read_in_the_order_of_time() {
    let written = Written::new("six", &version_6());
    let dat = Dat::open(&written.0).unwrap();
    assert_eq!((dat.version, dat.buffers.len(), dat.buffers[0].clock.as_str()), (6, 1, "mono"));
    let wanted = ["1010 0 bash n=0", "1015 1 bash n=0", "1020 0 bash n=1", "1025 1 bash n=1", "1030 0 bash n=2"];
    assert_eq!(read(&dat), wanted);
}

#[test]
fn what_is_cut_or_lies_is_refused_or_read_as_far_as_it_goes() {
    let whole = version_6();
    for length in (0..whole.len()).step_by(97) {
        let written = Written::new("cut", &whole[..length]);
        if let Ok(dat) = Dat::open(&written.0) {
            for buffer in &dat.buffers {
                let _ = dat.session(buffer);
            }
        }
    }
    let mut seed = 7_u64;
    for _ in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) as usize % 900;
            bytes[at] = (seed >> 20) as u8;
        }
        let written = Written::new("lies", &bytes);
        if let Ok(dat) = Dat::open(&written.0) {
            for buffer in &dat.buffers {
                let mut session = dat.session(buffer);
                let mut take = |_: Told<'_>| Ok::<(), FtraceError>(());
                while session.poll(&mut take).is_ok_and(|(_, more)| more) {}
            }
        }
    }
    let written = Written::new("other", b"not at all a trace of anybody");
    assert!(matches!(Dat::open(&written.0), Err(DatError::Other { .. })));
}
