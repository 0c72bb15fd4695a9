//! What the history costs: bytes a row in memory and on disk, encoding an event (in processor time), opening a recording
//! and seeking in it.
//!
//! `cargo bench --bench store` measures a million events; `cargo bench --bench store -- hour` makes an hour's recording
//! of 100,000 events a second (some 5 GB in the folder for temporary files, removed at the end) and reads that.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]

#[path = "support/allocator.rs"]
mod allocator;

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use probescope::lang::source::Span;
use probescope::lang::typed::PrintfSink;
use probescope::model::format::{Conversion, ConversionKind, Format, Length, Piece, Width};
use probescope::model::value::Value;
use probescope::store::file::{Recorder, Recording, RecordingInfo};
use probescope::store::{
    ActionInfo, ActionKind, Chunk, ChunkBuilder, Column, ColumnKind, Direction, History, Stop, Store, TraceId,
    TraceInfo,
};

const MILLION: u64 = 1_000_000;
const HOUR: u64 = 360 * MILLION;
const BUDGET: usize = 256 << 20;
const TRACE: TraceId = TraceId(1);
/// Names of commands, as many as a busy machine has.
const COMMANDS: usize = 200;
const CPUS: u64 = 8;

/// `printf("%d %s %llu\n", pid, comm, ns)`.
fn info() -> Arc<TraceInfo> {
    let conversion = |kind, length| {
        Piece::Conversion(Conversion {
            left: false,
            plus: false,
            space: false,
            alternate: false,
            zero: false,
            width: Width::None,
            precision: None,
            length,
            kind,
        })
    };
    let literal = |text: &str| Piece::Literal(text.into());
    let pieces = vec![
        conversion(ConversionKind::Signed, Length::None),
        literal(" "),
        conversion(ConversionKind::Str, Length::None),
        literal(" "),
        conversion(ConversionKind::Unsigned, Length::Long),
        literal("\n"),
    ];
    let column = Column::new;
    let action = ActionInfo {
        kind: ActionKind::Printf { format: Format { text: "%d %s %llu\n".into(), pieces }, sink: PrintfSink::Out },
        span: Span::default(),
        expanded: Vec::new(),
        probe: "kprobe:vfs_read".into(),
        columns: vec![
            column("pid", ColumnKind::Integer),
            column("comm", ColumnKind::Text),
            column("ns", ColumnKind::Integer),
        ],
        origin: None,
    };
    Arc::new(TraceInfo { id: TRACE, name: "bench".into(), actions: vec![action], ..TraceInfo::default() })
}

/// Events as a script reports them.
struct Source {
    state: u64,
    at_ns: u64,
    period_ns: u64,
    /// The number is 64 random bits, not a latency.
    random: bool,
    commands: Vec<Arc<[u8]>>,
}

impl Source {
    fn new(period_ns: u64, random: bool) -> Self {
        let name = |n: usize| format!("worker-{n}").into_bytes().into();
        Self {
            state: 0x9e37_79b9_7f4a_7c15,
            at_ns: 1 << 50,
            period_ns,
            random,
            commands: (0..COMMANDS).map(name).collect(),
        }
    }

    fn number(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// The time, the CPU and the values of the next event.
    fn next(&mut self, values: &mut Vec<Value>) -> (u64, u16) {
        let (a, b) = (self.number(), self.number());
        self.at_ns += a % (2 * self.period_ns);
        let command = (a >> 32) as usize % COMMANDS;
        // Latencies from a microsecond to a second, short ones more often.
        let number = if self.random { b } else { (1000 + b % 1000) << (b >> 32 & 3) << (b >> 40 & 7) };
        values.clear();
        values.push(Value::Uint(1000 + (b >> 50) % 30_000, 4));
        values.push(Value::Str(Arc::clone(&self.commands[command])));
        values.push(Value::Uint(number, 8));
        (self.at_ns, (a >> 20 & (CPUS - 1)) as u16)
    }
}

/// Encodes so many events and gives each chunk away.
fn encode(source: &mut Source, info: &Arc<TraceInfo>, events: u64, mut each: impl FnMut(Arc<Chunk>)) {
    let mut builder = ChunkBuilder::new();
    builder.declare(info);
    let mut values = Vec::new();
    for _ in 0..events {
        let (at_ns, cpu) = source.next(&mut values);
        builder.event(TRACE, at_ns, Some(cpu), 0, &values);
        if builder.is_full() {
            builder.finish().into_iter().for_each(&mut each);
        }
    }
    builder.finish().into_iter().for_each(&mut each);
}

/// Processor time of this thread: what else runs on the machine takes nothing of it.
fn processor() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// What making the events costs alone.
fn made(events: u64, random: bool) -> Duration {
    let (mut source, mut values) = (Source::new(1000, random), Vec::new());
    let began = processor();
    for _ in 0..events {
        black_box(source.next(&mut values));
    }
    processor().saturating_sub(began)
}

fn per_event(took: Duration, events: u64) -> f64 {
    took.as_nanos() as f64 / events as f64
}

fn memory(random: bool) {
    let what = if random { "random 64 bits" } else { "a latency" };
    let info = info();
    let alone = made(MILLION, random);
    let began = processor();
    encode(&mut Source::new(1000, random), &info, MILLION, |chunk| drop(black_box(chunk)));
    let encoding = processor().saturating_sub(began + alone);
    let mut store = Store::new(BUDGET);
    store.declare(Arc::clone(&info));
    let began = processor();
    encode(&mut Source::new(1000, random), &info, MILLION, |chunk| store.append(chunk));
    let storing = processor().saturating_sub(began + alone);
    println!("1,000,000 rows of pid, comm and {what}:");
    println!("  encode           {:8.1} ns an event", per_event(encoding, MILLION));
    println!("  encode and store {:8.1} ns an event", per_event(storing, MILLION));
    println!(
        "  in memory        {:8.1} bytes a row, {:.1} MiB in all",
        store.bytes() as f64 / MILLION as f64,
        store.bytes() as f64 / f64::from(1 << 20)
    );
    reading(&store);
    let path = std::env::temp_dir().join(format!("probescope-bench-{}", std::process::id()));
    record(&path, &info, MILLION, 1000, random);
    let _ = std::fs::remove_file(path);
}

/// Slow traces: a chunk every 33 ms with an event or two.
fn small_chunks() {
    const CHUNKS: u64 = 30 * 600;
    let info = info();
    let (mut builder, mut store, mut values) = (ChunkBuilder::new(), Store::new(BUDGET), Vec::new());
    builder.declare(&info);
    store.declare(Arc::clone(&info));
    let mut source = Source::new(16_000_000, false);
    let (mut longest, began) = (Duration::ZERO, Instant::now());
    for _ in 0..CHUNKS {
        for _ in 0..2 {
            let (at_ns, cpu) = source.next(&mut values);
            builder.event(TRACE, at_ns, Some(cpu), 0, &values);
        }
        let began = Instant::now();
        builder.finish().into_iter().for_each(|chunk| store.append(chunk));
        longest = longest.max(began.elapsed());
    }
    println!("ten minutes of a chunk with two events every 33 ms:");
    println!(
        "  {} chunks kept of {CHUNKS}, {:.1} bytes a row, {:.1} us an append, {:.1} ms the longest",
        store.index().segments().len(),
        store.bytes() as f64 / (2 * CHUNKS) as f64,
        began.elapsed().as_micros() as f64 / CHUNKS as f64,
        longest.as_secs_f64() * 1e3
    );
}

/// Drawing and stepping.
fn reading(history: &dyn History) {
    let (entries, lines) = (history.entries(), history.lines());
    let mut source = Source::new(1000, false);
    let (mut rows, mut longest, began) = (0_u32, Duration::ZERO, Instant::now());
    for _ in 0..200 {
        let began = Instant::now();
        let first = lines.start + source.number() % (lines.end - lines.start - 50);
        rows += (first..first + 50).filter_map(|n| history.line_at(n)).count() as u32;
        longest = longest.max(began.elapsed());
    }
    println!(
        "  50 rows drawn    {:8.1} us, {:.1} ms the longest",
        began.elapsed().as_micros() as f64 / f64::from(rows) * 50.0,
        longest.as_secs_f64() * 1e3
    );
    let Some((first, last)) = history.span() else { return };
    let (mut longest, began) = (Duration::ZERO, Instant::now());
    for _ in 0..200 {
        let began = Instant::now();
        let at = history.seek_time(first + source.number() % (last - first));
        black_box((history.entry(at), history.step(at, Stop::Event, Direction::Back)));
        longest = longest.max(began.elapsed());
    }
    println!(
        "  seek by time     {:8.1} us, {:.1} ms the longest",
        began.elapsed().as_micros() as f64 / 200.0,
        longest.as_secs_f64() * 1e3
    );
    let began = Instant::now();
    black_box(history.step(entries.start, Stop::Trouble, Direction::Forward));
    println!("  look for a loss  {:8.1} ms over the whole", began.elapsed().as_secs_f64() * 1e3);
    let began = Instant::now();
    black_box(history.timeline(first, last, 200));
    println!("  timeline         {:8.1} ms for 200 columns", began.elapsed().as_secs_f64() * 1e3);
}

fn record(path: &Path, info: &Arc<TraceInfo>, events: u64, period_ns: u64, random: bool) {
    let about = RecordingInfo { kernel: "bench".into(), ..RecordingInfo::default() };
    let recorder = match Recorder::create(path, &about, vec![Arc::clone(info)], Vec::new()) {
        Ok(recorder) => recorder,
        Err(error) => return println!("  {error}"),
    };
    let began = Instant::now();
    encode(&mut Source::new(period_ns, random), info, events, |chunk| recorder.append_waiting(chunk));
    match recorder.finish() {
        Ok(written) => println!(
            "  on disk          {:8.1} bytes an event, written in {:.1} s, {} not written",
            written.bytes as f64 / events as f64,
            began.elapsed().as_secs_f64(),
            written.unwritten
        ),
        Err(error) => println!("  {error}"),
    }
}

/// Largest memory that the process has held, and what it holds, MiB.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = status.lines().filter(|l| l.starts_with("VmRSS") || l.starts_with("VmHWM"));
    lines.map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}

fn hour() {
    let path = std::env::temp_dir().join(format!("probescope-bench-hour-{}", std::process::id()));
    println!("360,000,000 events, an hour at 100,000 a second:");
    record(&path, &info(), HOUR, 10_000, false);
    for (name, cut) in [("with its index", false), ("cut at half its length", true)] {
        if cut {
            let half = std::fs::metadata(&path).map_or(0, |m| m.len() / 2);
            let _ = std::fs::OpenOptions::new().write(true).open(&path).and_then(|f| f.set_len(half));
        }
        let began = Instant::now();
        match Recording::open(&path) {
            Ok(recording) => {
                println!(
                    "  opened {name} in {:.1} ms: {} entries in {} chunks",
                    began.elapsed().as_secs_f64() * 1e3,
                    recording.entries().end,
                    recording.index().segments().len()
                );
                reading(&recording);
                println!("  {}", resident());
            }
            Err(error) => println!("  {error}"),
        }
    }
    let _ = std::fs::remove_file(path);
}

fn main() {
    if std::env::args().any(|a| a == "hour") {
        return hour();
    }
    memory(false);
    memory(true);
    small_chunks();
}
