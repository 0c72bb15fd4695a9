//! When each event happened, and on which CPU, beside what it printed.

use std::io::Write as _;

use super::OutputFormat;
use crate::engine::names::time::{Clocks, format};

/// Adds times and CPUs to output: the first fields of a JSON object, a column before a line of text.
#[derive(Debug)]
pub struct Stamp {
    format: OutputFormat,
    clocks: Clocks,
    at_ns: u64,
    /// `None` for what no event printed.
    cpu: Option<u16>,
    /// The last line of text has no end yet.
    line_open: bool,
    /// The wall-clock second of the last time, and how it is written.
    second: (i64, String),
}

impl Stamp {
    /// For output of one form; local times are by this moment's clocks.
    #[must_use]
    pub fn new(format: OutputFormat) -> Self {
        let second = (i64::MIN, String::new());
        Self { format, clocks: Clocks::now(), at_ns: 0, cpu: None, line_open: false, second }
    }

    /// What is put from now on happened at this time (ns of `CLOCK_MONOTONIC`) on this CPU.
    pub const fn set(&mut self, at_ns: u64, cpu: Option<u16>) {
        (self.at_ns, self.cpu) = (at_ns, cpu);
    }

    /// Adds whole JSON objects or any text to `out`.
    pub fn put(&mut self, written: &[u8], out: &mut Vec<u8>) {
        match self.format {
            OutputFormat::Json => self.objects(written, out),
            OutputFormat::Text => self.lines(written, out),
        }
    }

    /// One object a line, each with the time and the CPU ahead of its own fields.
    fn objects(&self, written: &[u8], out: &mut Vec<u8>) {
        for line in written.split_inclusive(|b| *b == b'\n') {
            let Some(fields) = line.strip_prefix(b"{") else {
                out.extend_from_slice(line);
                continue;
            };
            // Writing to a vector can't fail.
            let _ = match self.cpu {
                Some(cpu) => write!(out, "{{\"at_ns\": {}, \"cpu\": {cpu}, ", self.at_ns),
                None => write!(out, "{{\"at_ns\": {}, \"cpu\": null, ", self.at_ns),
            };
            out.extend_from_slice(fields);
        }
    }

    /// Lines of events begin with local time and CPU; what no event printed stays as it is.
    fn lines(&mut self, written: &[u8], out: &mut Vec<u8>) {
        for line in written.split_inclusive(|b| *b == b'\n') {
            if let (false, Some(cpu)) = (self.line_open, self.cpu) {
                self.column(cpu, out);
                if line != b"\n" {
                    out.push(b' ');
                }
            }
            out.extend_from_slice(line);
            self.line_open = !line.ends_with(b"\n");
        }
    }

    fn column(&mut self, cpu: u16, out: &mut Vec<u8>) {
        let mut wall = self.clocks.wall(self.at_ns, 1);
        if wall.div_euclid(1_000_000_000) != self.second.0 {
            self.clocks.follow();
            wall = self.clocks.wall(self.at_ns, 1);
            self.second = (wall.div_euclid(1_000_000_000), format("%H:%M:%S", wall));
        }
        let micros = wall.rem_euclid(1_000_000_000) / 1000;
        let _ = write!(out, "{}.{micros:06} [{cpu:03}]", self.second.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a stamp makes of what one event printed.
    fn put(stamp: &mut Stamp, written: &str) -> String {
        let mut out = Vec::new();
        stamp.put(written.as_bytes(), &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn objects_have_the_time_and_the_cpu_first() {
        let mut stamp = Stamp::new(OutputFormat::Json);
        stamp.set(u64::MAX, Some(3));
        let got = put(&mut stamp, "{\"type\": \"printf\", \"data\": \"{\\n\"}\n");
        assert_eq!(got, "{\"at_ns\": 18446744073709551615, \"cpu\": 3, \"type\": \"printf\", \"data\": \"{\\n\"}\n");
        stamp.set(5, None);
        let got = put(&mut stamp, "{\"a\": {}}\n{\"b\": 1}\n");
        assert_eq!(got, "{\"at_ns\": 5, \"cpu\": null, \"a\": {}}\n{\"at_ns\": 5, \"cpu\": null, \"b\": 1}\n");
    }

    #[test]
    fn a_line_that_several_events_print_has_the_time_of_the_first() {
        let mut stamp = Stamp::new(OutputFormat::Text);
        stamp.set(1_000_000_000, Some(12));
        let first = put(&mut stamp, "a");
        let (time, rest) = first.split_at("00:00:00.000000".len());
        assert!(time.bytes().all(|b| b.is_ascii_digit() || b == b':' || b == b'.'), "{time}");
        assert_eq!(rest, " [012] a");
        stamp.set(2_000_000_000, Some(1));
        let second = put(&mut stamp, "b\n\nc\n");
        let lines: Vec<&str> = second.lines().collect();
        assert_eq!(lines[0], "b");
        assert!(lines[1].ends_with(" [001]") && lines[2].ends_with(" [001] c"), "{second}");
    }

    #[test]
    fn what_no_event_printed_has_no_column() {
        let mut stamp = Stamp::new(OutputFormat::Text);
        stamp.set(7, None);
        assert_eq!(put(&mut stamp, "\n\n@: 5\n"), "\n\n@: 5\n");
    }

    #[test]
    fn times_of_one_second_are_microseconds_apart() {
        let mut stamp = Stamp::new(OutputFormat::Text);
        let second = 1_000_000_000 - stamp.clocks.wall(0, 1).rem_euclid(1_000_000_000).unsigned_abs();
        let micros = |stamp: &mut Stamp, ns| {
            stamp.set(second + ns, Some(0));
            put(stamp, "x\n").split(['.', ' ']).nth(1).map(str::to_owned)
        };
        assert_eq!(micros(&mut stamp, 0).as_deref(), Some("000000"));
        assert_eq!(micros(&mut stamp, 999_999_999).as_deref(), Some("999999"));
        assert_eq!(micros(&mut stamp, 1_000_001_000).as_deref(), Some("000001"));
    }
}
