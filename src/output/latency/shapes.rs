//! Results as JSON in the forms of cyclictest and oslat (rt-tests), for programs that read those.

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use crate::model::latency::{Buckets, LatencyStat};

/// The system that was measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct System {
    /// `uname -s`.
    pub sysname: String,
    /// `uname -n`.
    pub nodename: String,
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// `uname -m`.
    pub machine: String,
    /// 1 on PREEMPT_RT.
    pub realtime: u8,
}

/// What stands above the threads.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// How it was started.
    pub command: String,
    /// When, as rt-tests write it.
    pub start_time: String,
    /// When it ended.
    pub end_time: String,
    /// The exit code.
    pub return_code: u8,
    /// Where.
    pub system: System,
}

/// What one thread measured.
#[derive(Clone, Debug)]
pub struct Measured<'a> {
    /// Where.
    pub cpu: u32,
    /// Its NUMA node.
    pub node: u32,
    /// MHz of the CPU.
    pub mhz: u64,
    /// How long, s.
    pub seconds: f64,
    /// Its latencies, or gaps.
    pub stat: &'a LatencyStat,
    /// How they are distributed.
    pub buckets: &'a Buckets,
}

/// Counts by microsecond, those that are not zero; what is longer than the last bucket stands in the last one.
struct Histogram<'a>(&'a Buckets);

impl Serialize for Histogram<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Buckets { width_ns, counts, over } = self.0;
        let mut map = serializer.serialize_map(None)?;
        let last = counts.len().saturating_sub(1);
        for (at, count) in counts.iter().enumerate() {
            let count = if at == last { count.saturating_add(*over) } else { *count };
            if count > 0 {
                map.serialize_entry(&(at as u64 * width_ns / 1000).to_string(), &count)?;
            }
        }
        map.end()
    }
}

/// Threads by their number.
struct Threads<'a, T>(&'a [T]);

impl<T: Serialize> Serialize for Threads<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (at, thread) in self.0.iter().enumerate() {
            map.serialize_entry(&at.to_string(), thread)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Head<'a> {
    file_version: u8,
    // The colons are rt-tests' own.
    #[serde(rename = "cmdline:")]
    cmdline: &'a str,
    #[serde(rename = "rt_test_version:")]
    rt_test_version: &'a str,
    start_time: &'a str,
    end_time: &'a str,
    return_code: u8,
    sysinfo: &'a System,
    num_threads: usize,
}

fn head(about: &About, num_threads: usize) -> Head<'_> {
    Head {
        file_version: 1,
        cmdline: &about.command,
        rt_test_version: concat!("probescope ", env!("CARGO_PKG_VERSION")),
        start_time: &about.start_time,
        end_time: &about.end_time,
        return_code: about.return_code,
        sysinfo: &about.system,
        num_threads,
    }
}

fn mean_us(stat: &LatencyStat) -> f64 {
    if stat.count == 0 { 0.0 } else { (stat.sum_ns as f64 / stat.count as f64 / 10.0).round() / 100.0 }
}

/// As `cyclictest --json` writes it.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn cyclictest(about: &About, threads: &[Measured<'_>]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Thread<'a> {
        histogram: Histogram<'a>,
        cycles: u64,
        min: u64,
        max: u64,
        avg: f64,
        cpu: u32,
        node: u32,
    }
    #[derive(Serialize)]
    struct Whole<'a> {
        #[serde(flatten)]
        head: Head<'a>,
        resolution_in_ns: u8,
        thread: Threads<'a, Thread<'a>>,
    }
    let all: Vec<Thread<'_>> = threads
        .iter()
        .map(|t| Thread {
            histogram: Histogram(t.buckets),
            cycles: t.stat.count,
            min: t.stat.min_ns / 1000,
            max: t.stat.max_ns / 1000,
            avg: mean_us(t.stat),
            cpu: t.cpu,
            node: t.node,
        })
        .collect();
    serde_json::to_string_pretty(&Whole { head: head(about, all.len()), resolution_in_ns: 0, thread: Threads(&all) })
}

/// As `oslat --json` writes it. Gaps shorter than the threshold are in no bucket: oslat counts each turn of its loop.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn oslat(about: &About, threads: &[Measured<'_>]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Thread<'a> {
        cpu: u32,
        freq: u64,
        min: u64,
        avg: f64,
        max: u64,
        duration: f64,
        histogram: Histogram<'a>,
    }
    #[derive(Serialize)]
    struct Whole<'a> {
        #[serde(flatten)]
        head: Head<'a>,
        thread: Threads<'a, Thread<'a>>,
    }
    let all: Vec<Thread<'_>> = threads
        .iter()
        .map(|t| Thread {
            cpu: t.cpu,
            freq: t.mhz,
            min: t.stat.min_ns / 1000,
            avg: mean_us(t.stat),
            max: t.stat.max_ns / 1000,
            duration: (t.seconds * 1000.0).round() / 1000.0,
            histogram: Histogram(t.buckets),
        })
        .collect();
    serde_json::to_string_pretty(&Whole { head: head(about, all.len()), thread: Threads(&all) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_have_the_members_of_rt_tests() {
        let mut stat = LatencyStat::default();
        let mut buckets = Buckets::new(1000, 4);
        for ns in [1_500, 1_700, 9_000] {
            stat.record(ns);
            buckets.record(ns);
        }
        let thread = Measured { cpu: 3, node: 1, mhz: 2597, seconds: 1.0184, stat: &stat, buckets: &buckets };
        let about = About { command: "x".into(), ..About::default() };
        let value: serde_json::Value =
            serde_json::from_str(&cyclictest(&about, std::slice::from_ref(&thread)).unwrap()).unwrap();
        assert_eq!(
            value["thread"]["0"]["histogram"],
            serde_json::json!({"1": 2, "3": 1}),
            "the last has what is longer"
        );
        assert_eq!((&value["thread"]["0"]["avg"], &value["cmdline:"]), (&4.07.into(), &"x".into()));
        assert_eq!((value["num_threads"].as_u64(), value["resolution_in_ns"].as_u64()), (Some(1), Some(0)));
        let value: serde_json::Value = serde_json::from_str(&oslat(&about, &[thread]).unwrap()).unwrap();
        let told = &value["thread"]["0"];
        assert_eq!(
            (told["freq"].as_u64(), told["duration"].as_f64(), told["max"].as_u64()),
            (Some(2597), Some(1.018), Some(9))
        );
    }
}
