//! `latency profile`: one file that says how noisy a machine is, and by what.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{advice, arguments};
use crate::cli::{CliError, World};
use crate::disk::{Output, Readers};
use crate::kernel::Kernel;
use crate::model::latency::{CpuSample, Distribution, NoiseClass, SourceStat};
use crate::tracer::latency::bpf::BpfMeasurement;
use crate::tracer::latency::{Item, Measurement as _, Options};

/// Largest profile that is read.
const MOST_BYTES: u64 = 256 << 20;
/// Format of the file.
const VERSION: u32 = 1;

/// Measure this machine as it is and write its profile: each source of noise, its rate, its time, its histogram, and
/// the settings that bear on them. `latency diff` compares two.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How long to measure: a number with s, m, h or d.
    #[arg(short, long, value_name = "TIME", default_value = "60s")]
    duration: String,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    output: String,
}

/// A machine's profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Of the format.
    pub version: u32,
    /// Of the kernel.
    pub kernel: String,
    /// CPUs that were online.
    pub cpus: Vec<u32>,
    /// CPUs that share a core, as the kernel lists them, and NUMA nodes with theirs.
    pub topology: BTreeMap<String, String>,
    /// Settings that bear on noise.
    pub settings: BTreeMap<String, String>,
    /// How long an interval was meant to be.
    pub interval_ns: u64,
    /// How long each was: a busy machine reads late. Profiles of older versions have none.
    #[serde(default)]
    pub lengths_ns: Vec<u64>,
    /// All sources, those with the most time first.
    pub sources: Vec<Source>,
}

impl Profile {
    /// How long each interval was; as long as was meant where the profile does not say it.
    pub fn all_lengths_ns(&self) -> Vec<u64> {
        let intervals = self.sources.iter().map(|s| s.counts.len().max(s.net_ns.len())).max().unwrap_or(0);
        let mut lengths = self.lengths_ns.clone();
        lengths.resize(intervals, self.interval_ns.max(1));
        lengths
    }
}

/// One source over all CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// What it is.
    pub class: NoiseClass,
    /// Its name without what changes from run to run (process ids).
    pub name: String,
    /// How often it ran in each interval.
    pub counts: Vec<u64>,
    /// Its net time in each interval.
    pub net_ns: Vec<u64>,
    /// Its longest run.
    pub max_ns: u64,
    /// How long its runs were.
    pub lengths: Distribution,
}

/// A source's name as it is the same in every run.
fn lasting_name(source: &SourceStat) -> String {
    if source.class != NoiseClass::Thread {
        return source.name.clone();
    }
    let (comm, rest) = source.name.rsplit_once(':').unwrap_or((&source.name, ""));
    match (comm.starts_with("kworker/"), rest.split_once(' ')) {
        (true, Some((_, work))) => format!("kworker {work}"),
        (true, None) => "kworker".to_owned(),
        _ => comm.to_owned(),
    }
}

/// Adds samples up, interval by interval.
#[derive(Debug, Default)]
struct Series {
    sources: BTreeMap<(u8, String), Source>,
    lengths_ns: Vec<u64>,
}

impl Series {
    /// One interval of all CPUs.
    fn add(&mut self, samples: &[CpuSample]) {
        let interval = self.lengths_ns.len();
        for source in samples.iter().flat_map(|s| &s.sources) {
            let name = lasting_name(source);
            let known = self.sources.entry((source.class as u8, name.clone())).or_insert_with(|| Source {
                class: source.class,
                name,
                counts: Vec::new(),
                net_ns: Vec::new(),
                max_ns: 0,
                lengths: Distribution::default(),
            });
            known.counts.resize(interval + 1, 0);
            known.net_ns.resize(interval + 1, 0);
            known.counts[interval] += source.count;
            known.net_ns[interval] += source.net_ns;
            known.max_ns = known.max_ns.max(source.max_ns);
            known.lengths.add(&source.lengths);
        }
        let all: u64 = samples.iter().map(|s| s.period_ns).sum();
        self.lengths_ns.push(all / samples.len().max(1) as u64);
    }

    fn finish(self) -> (Vec<u64>, Vec<Source>) {
        let intervals = self.lengths_ns.len();
        let mut sources: Vec<Source> = self.sources.into_values().collect();
        for source in &mut sources {
            source.counts.resize(intervals, 0);
            source.net_ns.resize(intervals, 0);
        }
        sources.sort_by_key(|s| std::cmp::Reverse(s.net_ns.iter().sum::<u64>()));
        (self.lengths_ns, sources)
    }
}

/// Measures the machine as it is.
pub fn measure(kernel: &Arc<Kernel>, long: Duration, stop: &AtomicBool) -> Result<Profile, CliError> {
    let options = Options::default();
    let interval_ns = options.interval.as_nanos() as u64;
    let mut measurement = BpfMeasurement::start(kernel, options)?;
    let mut series = Series::default();
    let end = Instant::now() + long;
    while Instant::now() < end && !stop.load(Ordering::Acquire) {
        let items = measurement.poll()?;
        let samples: Vec<CpuSample> =
            items.into_iter().filter_map(|i| if let Item::Sample(sample) = i { Some(*sample) } else { None }).collect();
        if !samples.is_empty() {
            series.add(&samples);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let (lengths_ns, sources) = series.finish();
    Ok(Profile {
        version: VERSION,
        kernel: kernel.version().to_string(),
        cpus: kernel.online_cpus().as_slice().to_vec(),
        topology: topology(kernel),
        settings: advice::values(kernel).into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        interval_ns,
        lengths_ns,
        sources,
    })
}

fn topology(kernel: &Kernel) -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    let mut keep = |name: String, path: String| {
        if let Some(text) = kernel.sys_text(path) {
            known.insert(name, text.trim().to_owned());
        }
    };
    for cpu in kernel.online_cpus().as_slice() {
        let folder = format!("devices/system/cpu/cpu{cpu}");
        keep(format!("cpu{cpu} siblings"), format!("{folder}/topology/thread_siblings_list"));
        keep(format!("cpu{cpu} last cache"), format!("{folder}/cache/index3/shared_cpu_list"));
    }
    keep("isolated".to_owned(), "devices/system/cpu/isolated".to_owned());
    for node in 0..64 {
        keep(format!("node{node}"), format!("devices/system/node/node{node}/cpulist"));
    }
    known
}

/// Reads a profile; it is untrusted.
pub fn read(path: &str) -> Result<Profile, CliError> {
    let read = |source| CliError::Read { path: path.to_owned(), source };
    let file = crate::regular::open(Path::new(path)).map_err(read)?;
    let bytes = crate::regular::bounded(file, MOST_BYTES).map_err(read)?;
    let profile: Profile =
        serde_json::from_slice(&bytes).map_err(|e| CliError::Refused(format!("{path} is no latency profile: {e}")))?;
    if profile.version != VERSION {
        return Err(CliError::Refused(format!(
            "{path} has format {}, and this program reads {VERSION}",
            profile.version
        )));
    }
    Ok(profile)
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World, stop: &Arc<AtomicBool>) -> Result<ExitCode, CliError> {
    let long = arguments::duration(&args.duration)?;
    // What cannot be written is said before a minute is spent; what the file had stays until there is something better.
    let path = Path::new(&args.output);
    let mut output = Output::beside(path, Readers::Everyone).map_err(|e| CliError::write(path, e))?;
    let profile = measure(&crate::cli::kernel::running(world), long, stop)?;
    let text = serde_json::to_vec(&profile).map_err(|e| CliError::Refused(format!("cannot write JSON: {e}")))?;
    output.write_all(&text).and_then(|()| output.commit()).map_err(|e| CliError::write(path, e))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(class: NoiseClass, name: &str, count: u64) -> SourceStat {
        SourceStat { class, name: name.into(), count, net_ns: count * 10, max_ns: 10, lengths: Distribution::default() }
    }

    #[test]
    fn a_source_has_one_name_in_every_run() {
        let name = |class, text| lasting_name(&stat(class, text, 1));
        assert_eq!(name(NoiseClass::Thread, "kworker/0:1:57 vmstat_update"), "kworker vmstat_update");
        assert_eq!(name(NoiseClass::Thread, "rcu_preempt:16"), "rcu_preempt");
        assert_eq!(name(NoiseClass::Thread, "a:b:7"), "a:b");
        assert_eq!(name(NoiseClass::Irq, "local_timer:236"), "local_timer:236");
    }

    #[test]
    fn intervals_without_a_source_count_as_none_of_it() {
        let mut series = Series::default();
        let sample = |sources| CpuSample { sources, period_ns: 7, ..CpuSample::default() };
        series.add(&[sample(vec![stat(NoiseClass::Irq, "a:1", 2)]), sample(vec![stat(NoiseClass::Irq, "a:1", 3)])]);
        series.add(&[sample(vec![stat(NoiseClass::Irq, "b:2", 1)])]);
        series.add(&[sample(Vec::new())]);
        let (lengths_ns, sources) = series.finish();
        assert_eq!(lengths_ns, [7, 7, 7]);
        assert_eq!((sources[0].name.as_str(), sources[0].counts.as_slice()), ("a:1", [5, 0, 0].as_slice()));
        assert_eq!((sources[1].name.as_str(), sources[1].counts.as_slice()), ("b:2", [0, 1, 0].as_slice()));
    }
}
