//! What the flame graph costs: taking a map of so many distinct stacks in, its longest step (keys wait for it), and
//! painting a screen of 200 by 60 with and without a search.
//!
//! `cargo bench --bench flame`
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

use probescope::model::snapshot::{MapKind, MapRow, MapSnapshot};
use probescope::model::value::{Frame, Stack, Value};
use probescope::session::update::Update;
use probescope::store::{TraceId, TraceInfo};
use probescope::tui::base::action::{Action, App, Go};
use probescope::tui::base::theme::Theme;
use probescope::tui::data::document::File;
use probescope::tui::data::effect::Message;
use probescope::tui::desk::draw::draw;
use probescope::tui::desk::state::State;
use probescope::tui::desk::update;
use probescope::tui::panes::flame;
use probescope::tui::panes::flame::FlamePane;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

const SIZE: (u16, u16) = (200, 60);
const TRACE: TraceId = TraceId(1);
/// Calls that many stacks share.
const SHARED: usize = 12;
const FANOUT: u64 = 8;

/// Functions of a program and its kernel.
fn functions() -> Vec<Arc<str>> {
    (0..4000).map(|n| format!("subsystem_{}_function_{n}", n % 37).into()).collect()
}

/// Stack `n`: 12 calls that 64 programs' stacks share, 7 where they part, 4 of its own.
fn stack(n: u64, names: &[Arc<str>]) -> Value {
    let frame = |at: u64, kernel: bool| Frame {
        address: at | u64::from(kernel) << 63,
        symbol: Some(Arc::clone(&names[at as usize % names.len()])),
        offset: 0,
        object: None,
        inlined: false,
    };
    let shared = (0..SHARED).map(|depth| frame(depth as u64 * 64 + n % 64, false));
    let parts = (0..7).map(|depth| frame(1000 + depth * 16 + n / FANOUT.pow(depth as u32) % FANOUT, false));
    let own = (0..4).map(|depth| frame(n.wrapping_mul(2_654_435_761) % 2000 + depth, true));
    let frames: Vec<Frame> = shared.chain(parts).chain(own).collect();
    Value::Stack(Stack { frames: frames.into_iter().rev().collect(), ..Stack::default() })
}

fn deep(names: &[Arc<str>]) -> Vec<MapRow> {
    let frame = |n: usize| Frame {
        address: n as u64 % 3,
        symbol: Some(Arc::clone(&names[n % 3])),
        offset: 0,
        object: None,
        inlined: false,
    };
    let stack = |n: usize| Stack { frames: (0..10_000 - n).map(frame).collect(), ..Stack::default() };
    (0..100).map(|n| MapRow { key: vec![Value::Stack(stack(n))], value: Value::Uint(1, 8) }).collect()
}

fn open() -> State {
    let mut state = State::new("", File::default(), Theme::embedded(), SIZE);
    state.document.submitted_as = TRACE;
    state.document.trace.id = TRACE;
    update::receive(
        &mut state,
        Message::Session(Update::Trace(Arc::new(TraceInfo { id: TRACE, ..TraceInfo::default() }))),
    );
    update::act(&mut state, &Action::App(App::Focus(flame::KIND)));
    update::act(&mut state, &Action::App(App::Zoom));
    state
}

/// Time of the median and the longest of some runs.
fn times(runs: usize, mut run: impl FnMut()) -> (Duration, Duration) {
    let mut all: Vec<Duration> = (0..runs)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed()
        })
        .collect();
    all.sort_unstable();
    (all[runs / 2], all[runs - 1])
}

/// What this thread has had of a CPU: what a busy machine takes from it in between does not count.
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

fn ms(of: Duration) -> f64 {
    of.as_secs_f64() * 1e3
}

fn measure(what: &str, rows: Vec<MapRow>) {
    let mut state = open();
    let stacks = rows.len();
    for reading in 0..2 {
        let rows = if reading == 0 { rows.clone() } else { rows.iter().rev().cloned().collect() };
        let at_ns = 1_000_000_000 * (reading + 1);
        let map =
            MapSnapshot { name: "@".into(), kind: MapKind::Count, keyed: true, rows, capacity: stacks as u32, at_ns };
        let began = Instant::now();
        state.document.maps.take(&[map].into(), false);
        update::receive(&mut state, Message::GoOn);
        let begun = began.elapsed();
        let (mut steps, mut longest, mut slowest) = (0, Duration::ZERO, (Duration::ZERO, 0));
        while update::is_busy(&state) {
            let (began, began_cpu) = (Instant::now(), cpu_time());
            update::receive(&mut state, Message::GoOn);
            longest = longest.max(began.elapsed());
            steps += 1;
            slowest = slowest.max((cpu_time().saturating_sub(began_cpu), steps));
        }
        let which = if reading == 0 { "first reading" } else { "next reading" };
        println!(
            "{what}: {which} begun in {:.1} ms, taken in by {steps} steps, the longest {:.1} ms ({:.1} ms of CPU in step {})",
            ms(begun),
            ms(longest),
            ms(slowest.0),
            slowest.1
        );
    }
    let pane = state.panes.view::<FlamePane>().expect("the pane");
    let tree = pane.feed.tree().expect("a tree");
    println!("{what}: {} frames, {} levels, {} stacks cut", tree.len(), tree.deepest(), tree.cut());
    let area = Rect::new(0, 0, SIZE.0, SIZE.1);
    let mut buffer = Buffer::empty(area);
    let (median, longest) = times(200, || draw(&state, &mut buffer));
    println!("{what}: redrawn in {:.2} ms, the longest of 200 {:.2} ms", ms(median), ms(longest));
    let began = Instant::now();
    update::act(&mut state, &Action::Filter("function_[0-9]*7".to_owned()));
    let searched = began.elapsed();
    let (median, longest) = times(200, || draw(&state, &mut buffer));
    println!(
        "{what}: searched in {:.1} ms; redrawn with it in {:.2} ms, the longest {:.2} ms",
        ms(searched),
        ms(median),
        ms(longest)
    );
    let (median, longest) = times(100, || {
        update::act(&mut state, &Action::Go(Go::Down));
        draw(&state, &mut buffer);
    });
    println!("{what}: a key and its picture in {:.2} ms, the longest {:.2} ms", ms(median), ms(longest));
}

fn main() {
    let names = functions();
    for count in [500_000_u64, 1_000_000] {
        let rows = (0..count).map(|n| MapRow { key: vec![stack(n, &names)], value: Value::Uint(n % 97 + 1, 8) });
        measure(&format!("{count} stacks"), rows.collect());
    }
    measure("recursion", deep(&names));
}
