//! Demo data, made up to look like moments of tracing, and the pictures made of it: the same bytes on every run, with no
//! terminal and no kernel.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::action::{Action, App, Edit, Events, Go, Table};
use super::draw::draw;
use super::effect::{Detail, Effect, Field, Found, Hit, Message};
use super::state::{File, Pane, State};
use super::theme::Theme;
use super::{svg, update};
use crate::lang::diagnostic::{Code, Diagnostic};
use crate::lang::source::Span;
use crate::model::event::{Chunk, Line};
use crate::model::histogram::{Log2, log2_bucket, log2_buckets};
use crate::model::snapshot::{MapKind, MapRow, MapSnapshot};
use crate::model::stats::{Loss, LossCause, ProbeStats, TraceStats};
use crate::model::value::{Frame, Stack, StackStyle, Value};
use crate::session::update::{CompileFigures, Update};

const OPENAT: &str = include_str!("demo/openat.bt");
const STACKS: &str = include_str!("demo/stacks.bt");
const WRONG: &str = include_str!("demo/wrong.bt");
const LINES: &str = include_str!("demo/lines.txt");

/// Columns and rows of the usual picture.
const SIZE: (u16, u16) = (138, 42);
const SECOND: u64 = 1_000_000_000;

/// One picture.
#[derive(Debug)]
pub struct Scene {
    /// File name without its ending.
    pub name: String,
    /// What is to be seen, for people who can't.
    pub title: String,
    /// The moment.
    pub state: State,
}

impl Scene {
    fn new(name: &str, title: &str, state: State) -> Self {
        Self { name: name.to_owned(), title: title.to_owned(), state }
    }

    /// The screen.
    #[must_use]
    pub fn buffer(&self) -> Buffer {
        let (width, height) = self.state.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        draw(&self.state, &mut buffer);
        buffer
    }

    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::render(&self.buffer(), &self.state.theme, &format!("{} (demo data)", self.title))
    }
}

/// All pictures.
#[must_use]
pub fn scenes() -> Vec<Scene> {
    let mut scenes = vec![
        Scene::new("start", "probescope: an empty script", start()),
        Scene::new("workbench", "probescope: a running trace", running()),
        Scene::new("browser", "probescope: the probe browser", browsing("openat")),
        Scene::new("histogram", "probescope: maps and a histogram, zoomed", histogram()),
        Scene::new("stacks", "probescope: stacks in a map, one open", stacks()),
        Scene::new("filter", "probescope: filtered events while the views are paused", filtered()),
        Scene::new("errors", "probescope: errors where they are, while the last good trace goes on", errors()),
        Scene::new("losses", "probescope: what was lost, where and why", losses()),
        Scene::new("absent", "probescope: probes that this kernel does not offer", absent()),
        Scene::new("verifier", "probescope: what the kernel's verifier said", verifier()),
        Scene::new("help", "probescope: all keys", after(running(), &[Action::App(App::Help)])),
        Scene::new("palette", "probescope: commands by name", palette()),
        Scene::new("quit", "probescope: leaving with unsaved text", quitting()),
        Scene::new("small", "probescope on 80x24", sized(running(), (80, 24))),
        Scene::new(
            "tiny",
            "probescope on 60x15",
            sized(after(running(), &[Action::App(App::Focus(Pane::Maps))]), (60, 15)),
        ),
        Scene::new("smallest", "probescope on 20x5", sized(running(), (20, 5))),
    ];
    for theme in Theme::embedded() {
        let mut state = running();
        let title = format!("probescope: theme {}", theme.name);
        let name = format!("theme-{}", theme.name);
        state.theme = theme;
        scenes.push(Scene::new(&name, &title, state));
    }
    scenes
}

fn workbench(text: &str, name: &str) -> State {
    let file = File { path: Some(name.into()), saved: text.into(), ..File::default() };
    let mut state = State::new(text, file, Theme::embedded(), SIZE);
    state.kept = text.into();
    state
}

fn after(mut state: State, actions: &[Action]) -> State {
    for action in actions {
        update::act(&mut state, action);
    }
    state
}

fn sized(mut state: State, (width, height): (u16, u16)) -> State {
    update::receive(&mut state, Message::Resize(width, height));
    state
}

fn tell(state: &mut State, update: Update) {
    update::receive(state, Message::Session(update));
}

fn typed(text: &str) -> Vec<Action> {
    text.chars().map(|c| Action::Edit(Edit::Insert(c))).collect()
}

fn start() -> State {
    State::new("", File::default(), Theme::embedded(), SIZE)
}

/// Saves the script and lets it attach.
fn attach(state: &mut State, probes: u32, figures: CompileFigures) {
    update::act(state, &Action::App(App::Run));
    let generation = state.generation;
    tell(state, Update::Compiled { generation, diagnostics: Vec::new(), figures: Some(figures) });
    tell(state, Update::Attached { generation, probes, elapsed_ns: 8_412_000 });
}

fn lines(state: &mut State, count: usize) {
    let line = |(i, text): (usize, &str)| Line { at_ns: i as u64 * 1_000_000, action: 0, text: text.into() };
    let lines: Vec<Line> = LINES.lines().cycle().take(count).enumerate().map(line).collect();
    tell(state, Update::Lines(Arc::new(Chunk { first: 0, lines })));
}

/// A histogram with a peak at `at` and a tail to the right of it.
fn latency(at: i64, scale: u64) -> Value {
    let mut counts = vec![0; log2_buckets(0) as usize];
    let peak = log2_bucket(at, 0) as usize;
    for (offset, share) in [3, 41, 187, 322, 214, 96, 38, 12, 4, 2, 0, 1].iter().enumerate() {
        counts[peak + offset - 3] = share * scale;
    }
    Value::Hist(Arc::new(Log2 { bits: 0, counts }))
}

fn text(s: &str) -> Value {
    Value::Str(s.as_bytes().into())
}

fn map(name: &str, kind: MapKind, at_s: u64, rows: Vec<(Vec<Value>, Value)>) -> MapSnapshot {
    let keyed = rows.iter().any(|(k, _)| !k.is_empty());
    let rows = rows.into_iter().map(|(key, value)| MapRow { key, value }).collect();
    MapSnapshot { name: name.into(), kind, keyed, rows, capacity: 4096, at_ns: at_s * SECOND }
}

fn openat_maps(second: u64) -> Arc<[MapSnapshot]> {
    let rates = [
        ("postgres", 412),
        ("nginx", 287),
        ("rustc", 198),
        ("systemd-journal", 61),
        ("git", 44),
        ("bash", 23),
        ("curl", 9),
        ("cron", 2),
    ];
    let wave = [7, 9, 12, 10, 8, 11, 14, 13, 9, 10];
    let grown: u64 = (0..second).map(|s| wave[(s % 10) as usize]).sum();
    let opens = rates.iter().map(|(comm, rate)| (vec![text(comm)], Value::Uint(rate * grown / 10, 8))).collect();
    let start = [(3015, 81_204_551_902_117_u64), (2217, 81_204_551_998_204)];
    let start = start.iter().map(|(tid, at)| (vec![Value::Uint(*tid, 4)], Value::Uint(*at, 8))).collect();
    Arc::new([
        map("@start", MapKind::Value, second, start),
        map("@opens", MapKind::Count, second, opens),
        map("@latency_ns", MapKind::Hist, second, vec![(Vec::new(), latency(2_500, grown))]),
    ])
}

fn counters(second: u64, delivered: u64, losses: Vec<Loss>) -> Arc<TraceStats> {
    let probe = |name: &str, runs: u64, ns: u64, misses: u64| ProbeStats {
        name: name.into(),
        attached: 1,
        runs: Some(runs),
        run_time_ns: Some(runs * ns),
        misses,
    };
    let misses = if losses.is_empty() { 0 } else { 7 };
    Arc::new(TraceStats {
        at_ns: second * SECOND,
        delivered,
        losses,
        probes: vec![
            probe("tracepoint:syscalls:sys_enter_openat", delivered, 187, misses),
            probe("tracepoint:syscalls:sys_exit_openat", delivered, 64, 0),
        ],
    })
}

const OPENAT_FIGURES: CompileFigures = CompileFigures { compile_ns: 612_000, instructions: 148, programs: 2, maps: 3 };

fn running() -> State {
    let mut state = workbench(OPENAT, "openat.bt");
    attach(&mut state, 2, OPENAT_FIGURES);
    lines(&mut state, 10_360);
    for second in 1..=30 {
        let maps = openat_maps(second);
        let delivered = 10 * maps[1].rows.iter().filter_map(|r| r.value.as_number()).sum::<i128>() as u64 / 10;
        tell(&mut state, Update::Maps(maps));
        tell(&mut state, Update::Stats(counters(second, delivered, Vec::new())));
    }
    state.maps.selected = 1;
    after(state, &[Action::Go(Go::Down), Action::Go(Go::Down), Action::Go(Go::Down)])
}

fn hit(name: &str, matched: &[u32]) -> Hit {
    Hit { name: name.into(), matched: matched.to_vec(), absent: None }
}

fn openat_hits() -> Found {
    let at = |from: u32| (from..from + 6).collect::<Vec<u32>>();
    let hits = vec![
        hit("tracepoint:syscalls:sys_enter_openat", &at(30)),
        hit("tracepoint:syscalls:sys_enter_openat2", &at(30)),
        hit("tracepoint:syscalls:sys_exit_openat", &at(29)),
        hit("tracepoint:syscalls:sys_exit_openat2", &at(29)),
        Hit { absent: Some(NO_KPROBES.into()), ..hit("kprobe:do_sys_openat2", &at(14)) },
        Hit { absent: Some(NO_KPROBES.into()), ..hit("kprobe:__x64_sys_openat", &at(17)) },
        Hit { absent: Some(NO_KPROBES.into()), ..hit("kprobe:__x64_sys_openat2", &at(17)) },
        Hit { absent: Some(NO_KPROBES.into()), ..hit("kprobe:io_openat_prep", &at(10)) },
        Hit { absent: Some(NO_KPROBES.into()), ..hit("kprobe:io_openat2", &at(10)) },
        hit("tracepoint:syscalls:sys_enter_open_by_handle_at", &[30, 31, 32, 33, 38, 46]),
        hit("tracepoint:syscalls:sys_exit_open_by_handle_at", &[29, 30, 31, 32, 37, 45]),
        hit("tracepoint:syscalls:sys_enter_open_tree_attr", &[30, 31, 32, 33, 40, 41]),
    ];
    Found { hits, matched: 46, total: 61_870, complete: true, ..Found::default() }
}

const NO_KPROBES: &str = "kprobes: this kernel was built without CONFIG_KPROBES (attaching one answers ENOENT). \
                          Use the tracepoint of the system call, or rawtracepoint:sys_enter.";

fn openat_detail() -> Detail {
    let field = |name: &str, ty: &str| Field { name: name.into(), ty: ty.into() };
    let fields = vec![
        field("args.__syscall_nr", "int"),
        field("args.dfd", "int"),
        field("args.filename", "const char *"),
        field("args.flags", "int"),
        field("args.mode", "umode_t"),
    ];
    let name = "tracepoint:syscalls:sys_enter_openat";
    Detail {
        name: name.into(),
        about: "A stable place in the kernel's source; its fields are in args.".into(),
        skeleton: format!("{name}\n{{\n    printf(\"%d %s %s\\n\", pid, comm, str(args.filename));\n}}\n"),
        fields,
        ..Detail::default()
    }
}

/// Opens the browser, types, and answers what is asked.
fn browsing(query: &str) -> State {
    let mut actions = vec![Action::App(App::Browse)];
    actions.extend(typed(query));
    let mut state = after(running(), &actions);
    let generation = state.search;
    let asked = update::receive(&mut state, Message::Found(Found { generation, ..openat_hits() }));
    if asked.iter().any(|e| matches!(e, Effect::Describe(_))) {
        update::receive(&mut state, Message::Described(openat_detail()));
    }
    state
}

fn absent() -> State {
    let mut state = browsing("openat");
    for _ in 0..4 {
        update::act(&mut state, &Action::Go(Go::Down));
    }
    let name = "kprobe:do_sys_openat2";
    let about = "A kernel function, by breakpoint; its parameters are in args.".into();
    let field = |name: &str, ty: &str| Field { name: name.into(), ty: ty.into() };
    let fields =
        vec![field("args.dfd", "int"), field("args.filename", "const char *"), field("args.how", "struct open_how *")];
    update::receive(&mut state, Message::Described(Detail { name: name.into(), about, fields, ..Detail::default() }));
    after(state, &[Action::Accept])
}

fn histogram() -> State {
    let mut state = running();
    state.maps.selected = 2;
    after(state, &[Action::App(App::Focus(Pane::Maps)), Action::App(App::Zoom)])
}

fn stack(symbols: &[(&str, u64)]) -> Value {
    let frame = |(i, (symbol, offset)): (usize, &(&str, u64))| Frame {
        address: 0xffff_ffff_8110_0000 + i as u64 * 0x1000 + offset,
        symbol: Some((*symbol).into()),
        offset: *offset,
        object: None,
        inlined: false,
    };
    let frames = symbols.iter().enumerate().map(frame).collect();
    Value::Stack(Stack { frames, mode: StackStyle::Bpftrace, missing: false })
}

fn stacks() -> State {
    let mut state = workbench(STACKS, "sleeps.bt");
    attach(&mut state, 1, CompileFigures { compile_ns: 488_000, instructions: 203, programs: 1, maps: 2 });
    let epoll = [
        ("schedule", 46),
        ("schedule_hrtimeout_range_clock", 254),
        ("do_epoll_wait", 1484),
        ("__x64_sys_epoll_wait", 105),
        ("do_syscall_64", 93),
    ];
    let futex =
        [("schedule", 46), ("futex_wait_queue", 110), ("futex_wait", 377), ("do_futex", 262), ("__x64_sys_futex", 298)];
    let io = [
        ("io_schedule", 70),
        ("folio_wait_bit_common", 316),
        ("filemap_update_page", 741),
        ("filemap_read", 811),
        ("vfs_read", 660),
    ];
    let nap = [("schedule", 46), ("do_nanosleep", 107), ("hrtimer_nanosleep", 157), ("__x64_sys_clock_nanosleep", 200)];
    let pipe = [("schedule", 46), ("pipe_read", 846), ("vfs_read", 660), ("ksys_read", 183)];
    for second in 1..=12 {
        let rows: [(&[(&str, u64)], &str, u64); 6] = [
            (&epoll, "nginx", 311),
            (&futex, "rustc", 244),
            (&io, "postgres", 176),
            (&epoll, "node", 120),
            (&nap, "cron", 31),
            (&pipe, "bash", 9),
        ];
        let sleeps = rows.iter().map(|(s, comm, n)| (vec![stack(s), text(comm)], Value::Uint(n * second, 8))).collect();
        let runtime = [("nginx", 9_000, 11), ("rustc", 700_000, 7), ("postgres", 60_000, 5)];
        let runtime = runtime.iter().map(|(c, at, scale)| (vec![text(c)], latency(*at, scale * second))).collect();
        let maps = [map("@sleeps", MapKind::Count, second, sleeps), map("@slice_ns", MapKind::Hist, second, runtime)];
        tell(&mut state, Update::Maps(Arc::new(maps)));
        let probe = ProbeStats {
            name: "tracepoint:sched:sched_switch".into(),
            attached: 1,
            runs: Some(second * 1800),
            run_time_ns: Some(second * 1800 * 612),
            misses: 0,
        };
        let stats = TraceStats { at_ns: second * SECOND, delivered: 0, losses: Vec::new(), probes: vec![probe] };
        tell(&mut state, Update::Stats(Arc::new(stats)));
    }
    after(state, &[Action::App(App::Focus(Pane::Maps)), Action::Go(Go::Down), Action::Accept])
}

fn filtered() -> State {
    let mut state = running();
    update::act(&mut state, &Action::App(App::Focus(Pane::Events)));
    update::act(&mut state, &Action::App(App::Pause));
    lines(&mut state, 1_284);
    update::act(&mut state, &Action::Events(Events::Filter));
    after(state, &typed("nginx -ssl html"))
}

fn errors() -> State {
    let mut state = running();
    update::act(&mut state, &Action::Edit(Edit::SelectAll));
    update::act(&mut state, &Action::Edit(Edit::Paste(WRONG.to_owned())));
    update::act(&mut state, &Action::App(App::Run));
    let place = |word: &str| {
        let start = WRONG.find(word).unwrap_or(0) as u32;
        Span::new(start, start + word.len() as u32)
    };
    let diagnostics = vec![
        Diagnostic::error(Code(204), place("filenam)").narrowed(1), "sys_enter_openat has no field filenam")
            .help("did you mean args.filename?")
            .fix(place("filenam)").narrowed(1), "filename"),
        Diagnostic::error(Code(201), place("com]").narrowed(1), "there is no builtin or variable named com")
            .help("did you mean comm?"),
        Diagnostic::error(Code(219), place("\"top\""), "print takes a number of rows here, not a string"),
        Diagnostic::warning(Code(310), place("$flags"), "$flags is set but never used"),
    ];
    let generation = state.generation;
    tell(&mut state, Update::Compiled { generation, diagnostics, figures: None });
    state.editor.go(Go::Top, false, 1);
    for _ in 0..4 {
        state.editor.go(Go::Down, false, 1);
    }
    state
}

/// Spans of a word that was found with the character after it, to tell it from longer ones.
trait Narrowed {
    fn narrowed(self, by: u32) -> Self;
}

impl Narrowed for Span {
    fn narrowed(self, by: u32) -> Self {
        Self::new(self.start, self.end - by)
    }
}

fn losses() -> State {
    let mut state = running();
    let site = |cause, word: &str, name: &str, count| {
        let start = OPENAT.find(word).unwrap_or(0) as u32;
        Loss { cause, site: name.into(), span: (start, start + word.len() as u32), count }
    };
    let losses = vec![
        site(LossCause::RingFull, "printf", "sys_enter_openat", 18_204),
        site(LossCause::Truncated, "str(", "sys_enter_openat", 31),
        site(LossCause::MapFull, "@start[tid] =", "@start", 412),
    ];
    let delivered = state.trace.stats.as_ref().map_or(0, |s| s.delivered);
    tell(&mut state, Update::Stats(counters(31, delivered + 48_200, losses)));
    after(state, &[Action::App(App::Focus(Pane::Probes)), Action::Table(Table::Sort), Action::Table(Table::Sort)])
}

fn verifier() -> State {
    let mut state = running();
    update::act(&mut state, &Action::App(App::Run));
    let start = OPENAT.find("str(args").unwrap_or(0) as u32;
    let generation = state.generation;
    let diagnostic = Diagnostic::error(
        Code(501),
        Span::new(start, start + 18),
        "the kernel refused a read that may leave its buffer",
    )
    .help("this is a bug in probescope; F7 shows what the verifier said");
    let raw_log = "func#0 @0\n0: R1=ctx() R10=fp0\n; printf(\"%-7d %-15s %s\\n\", pid, comm, str(args.filename));\n\
                   0: (bf) r6 = r1                       ; R1=ctx() R6_w=ctx()\n\
                   1: (18) r1 = 0xffff8881062f4c00       ; R1_w=map_ptr(map=ring,ks=0,vs=0)\n\
                   3: (b7) r2 = 40                       ; R2_w=40\n4: (b7) r3 = 0                        ; R3_w=0\n\
                   5: (85) call bpf_ringbuf_reserve#131  ; R0=ringbuf_mem_or_null(id=2,sz=40)\n\
                   6: (15) if r0 == 0x0 goto pc+21       ; R0=ringbuf_mem(ref_obj_id=2,sz=40)\n\
                   7: (79) r3 = *(u64 *)(r6 +24)         ; R3_w=scalar() R6=ctx()\n\
                   8: (bf) r1 = r0\n9: (07) r1 += 24\n10: (b7) r2 = 64\n11: (85) call bpf_probe_read_user_str#114\n\
                   invalid access to memory, mem_size=40 off=24 size=64\nR1 min value is outside of the allowed memory range\n\
                   processed 11 insns (limit 1000000) max_states_per_insn 0 total_states 1 peak_states 1 mark_read 1";
    tell(&mut state, Update::Failed { generation, diagnostic, raw_log: raw_log.into() });
    after(state, &[Action::App(App::VerifierLog)])
}

fn palette() -> State {
    let mut actions = vec![Action::App(App::Palette)];
    actions.extend(typed("trace"));
    after(running(), &actions)
}

fn quitting() -> State {
    let mut state = after(running(), &typed("x"));
    update::act(&mut state, &Action::App(App::Quit));
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_the_same_every_time() {
        for (one, two) in scenes().iter().zip(scenes()) {
            assert_eq!(one.svg(), two.svg(), "{}", one.name);
        }
    }
}
