//! What the workbench costs: drawing each scene of the tour at 200 by 60 (all panes filled), and the memory that it holds
//! over a day of ticks.
//!
//! `cargo bench --bench workbench`
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(missing_docs, reason = "a program, not a library")]

#[path = "support/allocator.rs"]
mod allocator;

use std::sync::Arc;
use std::time::{Duration, Instant};

use probescope::lang::source::Span;
use probescope::model::snapshot::{MapKind, MapRow, MapSnapshot};
use probescope::model::stats::TraceStats;
use probescope::model::value::Value;
use probescope::session::update::Update;
use probescope::store::{ActionInfo, ActionKind, ChunkBuilder, Column, ColumnKind, Entry, Payload, TraceId, TraceInfo};
use probescope::tui::base::theme::Theme;
use probescope::tui::data::document::File;
use probescope::tui::data::effect::Message;
use probescope::tui::demo::scenes;
use probescope::tui::desk::draw::draw;
use probescope::tui::desk::state::State;
use probescope::tui::desk::update;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

const SIZE: (u16, u16) = (200, 60);
const TRACE: TraceId = TraceId(1);
const SECOND_NS: u64 = 1_000_000_000;
/// Seconds of a day.
const TICKS: u64 = 86_400;
/// Ticks that memory is given to settle once the history is full.
const WARM_UP: u64 = 3600;
const KEYS: u64 = 200;
const EVENTS_A_TICK: u64 = 50;

fn ms(of: Duration) -> f64 {
    of.as_secs_f64() * 1e3
}

/// Takes in all that waits.
fn settle(state: &mut State) {
    while update::is_busy(state) {
        update::receive(state, Message::GoOn);
    }
}

fn draws() {
    let mut worst = (Duration::ZERO, String::new());
    for scene in scenes() {
        let mut state = scene.state;
        update::receive(&mut state, Message::Resize(SIZE.0, SIZE.1));
        settle(&mut state);
        let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
        let mut times: Vec<Duration> = (0..100)
            .map(|_| {
                let began = Instant::now();
                draw(&state, &mut buffer);
                began.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!("{:20} drawn in {:.2} ms, the longest of 100 {:.2} ms", scene.name, ms(times[50]), ms(times[99]));
        worst = worst.max((times[50], scene.name));
    }
    println!("the slowest scene: {}, {:.2} ms", worst.1, ms(worst.0));
}

fn traced() -> State {
    let columns = vec![Column::new("comm", ColumnKind::Text), Column::new("dur_us", ColumnKind::Integer)];
    let action = ActionInfo {
        kind: ActionKind::Value,
        span: Span::default(),
        expanded: Vec::new(),
        probe: "kprobe:vfs_read".into(),
        columns,
        origin: None,
    };
    let info = TraceInfo { id: TRACE, actions: vec![action], began_ns: SECOND_NS, ..TraceInfo::default() };
    let mut state = State::new("", File::default(), Theme::embedded(), SIZE);
    state.document.trace.id = TRACE;
    state.document.submitted_as = TRACE;
    update::receive(&mut state, Message::Session(Update::Trace(info.into())));
    state
}

/// What comes in a second: events, a map of counts and the counters.
fn tick(state: &mut State, second: u64) {
    let at_ns = second * SECOND_NS;
    let text = |n: u64| Value::Str(format!("thread-{n}").into_bytes().into());
    let mut builder = ChunkBuilder::new();
    for n in 0..EVENTS_A_TICK {
        let values = vec![text((second + n) % KEYS), Value::Uint(second * n % 9973, 8)];
        let payload = Payload::Event { action: 0, values };
        builder.push(&Entry { trace: TRACE, at_ns: at_ns + n, cpu: Some(1), payload });
    }
    let rows = (0..KEYS).map(|n| MapRow { key: vec![text(n)], value: Value::Uint(second * n, 8) }).collect();
    let at_ns = at_ns + EVENTS_A_TICK;
    let map = MapSnapshot { name: "@".into(), kind: MapKind::Count, keyed: true, rows, capacity: 4096, at_ns };
    builder.push(&Entry { trace: TRACE, at_ns, cpu: None, payload: Payload::Maps([map].into()) });
    let stats = TraceStats { at_ns, delivered: second * EVENTS_A_TICK, ..TraceStats::default() };
    builder.push(&Entry { trace: TRACE, at_ns, cpu: None, payload: Payload::Stats(Arc::new(stats)) });
    if let Some(chunk) = builder.finish() {
        update::receive(state, Message::Session(Update::Append(chunk)));
    }
    update::receive(state, Message::Tick);
    settle(state);
}

/// Memory that the process holds, MiB.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib / 1024.0)
}

fn day() {
    let mut state = traced();
    let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    let began = Instant::now();
    // From when the history has been full for a while: until then it grows, as it is told to.
    let (mut full, mut warm) = (None, f64::NAN);
    for second in 1..=TICKS {
        tick(&mut state, second);
        draw(&state, &mut buffer);
        if full.is_none() && state.store.trimmed_entries() > 0 {
            full = Some(second);
        }
        if full.is_some_and(|full| second == full + WARM_UP) {
            warm = resident_mib();
        }
        if second % (TICKS / 8) == 0 {
            println!("  after {second} ticks: {:.1} MiB resident", resident_mib());
        }
    }
    let end = resident_mib();
    println!(
        "a day of {TICKS} ticks in {:.0} s: the history full after {}, {warm:.1} MiB {WARM_UP} ticks later, {end:.1} MiB at the end, {:+.2} %",
        began.elapsed().as_secs_f64(),
        full.unwrap_or(TICKS),
        (end / warm - 1.0) * 100.0
    );
}

fn main() {
    draws();
    day();
}
