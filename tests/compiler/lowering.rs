//! Typed programs compiled, loaded into the running kernel and run: what they write is what the
//! script says.

mod evaluate;
mod make;
mod programs;

use crate::kernel;
use crate::root;
use crate::skip;
use kernel::load;
use make::*;
use probescope::codegen::artifact::{ACTION_BITS, RECORD_HEADER};
use probescope::kernel::target::{KernelFeatures, TargetFacts};
use probescope::lang::typed::{BinaryOp, Builtin, Clock, Expr};
use probescope::lang::types::{Aggregation, Type};

/// True, with a message, where the kernel lacks what a test is about.
fn lacks(has: bool, what: &str) -> bool {
    if !has {
        skip::skip(&format!("this kernel has no {what}"));
    }
    !has
}

#[test]
fn a_report_arrives_with_its_values_in_the_agreed_layout() {
    if root::missing() {
        return;
    }
    let types = vec![Type::I64, Type::Str { size: 2 }, Type::U32, Type::Str { size: 16 }, Type::U64];
    let pid = builtin(Builtin::Pid, Type::U32);
    let now = builtin(Builtin::Nsecs(Clock::Monotonic), Type::U64);
    let program = begin(vec![], vec![printf(types)], vec![report(0, vec![int(-7), text("x"), pid, comm(), now])]);
    let mut loaded = load(&program);
    let before_ns = probescope::engine::monotonic_ns();
    loaded.run(&[]);
    let records = loaded.records();
    assert_eq!(records.len(), 1);
    let (header, r) = records[0].split_at(RECORD_HEADER);
    let first = u32::from_le_bytes(header[..4].try_into().unwrap());
    assert_eq!(first & ((1 << ACTION_BITS) - 1), 0, "action 0");
    assert!(first >> ACTION_BITS < kernel::facts().possible_cpus, "a CPU");
    assert_eq!(header[4..8], [0; 4], "name 0");
    assert_eq!(r[..8], (-7_i64).to_le_bytes());
    assert_eq!(&r[8..10], b"x\0");
    assert_eq!(r[12..16], std::process::id().to_le_bytes());
    let comm = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
    assert!(r[16..32].starts_with(comm.trim().as_bytes()), "{:?}", &r[16..32]);
    let [at_ns, value] = [&header[8..], &r[32..40]].map(|b| u64::from_le_bytes(b.try_into().unwrap()));
    assert!(before_ns <= at_ns && at_ns <= value, "{before_ns} {at_ns} {value}");
    assert_eq!(r.len(), 40);
    assert_eq!(loaded.losses(), []);
}

#[test]
fn scalar_aggregations_count_in_global_data() {
    if root::missing() {
        return;
    }
    let hist = Aggregation::Hist { bits: 0 };
    let lhist = Aggregation::LHist { min: 0, max: 100, step: 10 };
    let program = begin(
        vec![
            scalar_map("@c", agg(Aggregation::Count)),
            scalar_map("@s", agg(Aggregation::Sum { signed: true })),
            scalar_map("@min", agg(Aggregation::Min { signed: true })),
            scalar_map("@max", agg(Aggregation::Max { signed: false })),
            scalar_map("@avg", agg(Aggregation::Avg { signed: true })),
            scalar_map("@h", agg(hist)),
            scalar_map("@l", agg(lhist)),
            scalar_map("@h3", agg(Aggregation::Hist { bits: 3 })),
        ],
        vec![],
        (0..8).map(|i| aggregate(i, None, (i != 0).then(|| arg(0)))).collect(),
    );
    let mut loaded = load(&program);
    let edges = (0..63).flat_map(|n| [(1_i64 << n) - 1, 1 << n, 1 << n | 5]);
    let values: Vec<i64> = [-5, 2, 3, 15, 99, 100, 1000, i64::MIN, i64::MAX].into_iter().chain(edges).collect();
    for v in &values {
        loaded.run(&[*v as u64]);
    }
    let sum: i64 = values.iter().fold(0, |a, b| a.wrapping_add(*b));
    assert_eq!(loaded.summed(0, 1), [values.len() as u64]);
    assert_eq!(loaded.summed(1, 1), [sum as u64]);
    assert_eq!(loaded.summed(4, 2), [sum as u64, values.len() as u64]);
    let bucket = |v: i64, bits| probescope::model::histogram::log2_bucket(v, bits) as usize;
    for (map, bits) in [(5, 0), (7, 3)] {
        let mut expected = vec![0; probescope::model::histogram::log2_buckets(bits) as usize];
        values.iter().for_each(|v| expected[bucket(*v, bits)] += 1);
        assert_eq!(loaded.summed(map, expected.len()), expected);
    }
    let mut expected = vec![0; 12];
    values.iter().for_each(|v| expected[probescope::model::histogram::linear_bucket(*v, 0, 100, 10) as usize] += 1);
    assert_eq!(loaded.summed(6, 12), expected);
}

#[test]
fn keyed_maps_insert_update_and_count_what_does_not_fit() {
    if root::missing() {
        return;
    }
    let key = Type::Tuple([Type::Str { size: 16 }, Type::I64].into());
    let tuple = || e(ExprKind::Tuple(vec![comm(), arg(0)]), key.clone());
    let program = begin(
        vec![
            keyed_map("@count", key.clone(), agg(Aggregation::Count)),
            keyed_map("@value", Type::I64, Type::I64),
            keyed_map("@text", Type::I64, Type::Str { size: 64 }),
        ],
        vec![],
        vec![
            aggregate(0, Some(tuple()), None),
            set(1, Some(arg(0)), binary(BinaryOp::Add, get(1, Some(arg(0)), Type::I64), int(2), Type::I64)),
            set(2, Some(arg(0)), text("hello")),
        ],
    );
    let mut loaded = load(&program);
    for i in 0..70_u64 {
        loaded.run(&[i]);
        loaded.run(&[i]);
    }
    let counts = loaded.entries(0);
    assert_eq!(counts.len(), 64);
    assert!(counts.iter().all(|(k, v)| k.len() == 24 && v[..] == 2_u64.to_le_bytes()));
    let values = loaded.entries(1);
    assert!(values.iter().all(|(_, v)| v[..] == 4_i64.to_le_bytes()));
    let texts = loaded.entries(2);
    assert!(texts.iter().all(|(_, v)| v.len() == 64 && v.starts_with(b"hello\0") && v[5..].iter().all(|b| *b == 0)));
    let lost: u64 = loaded.losses().iter().map(|(_, n)| n).sum();
    assert_eq!(lost, 3 * 6 * 2, "{:?}", loaded.losses());
}

use probescope::lang::typed::{Block, ExprKind, Intrinsic, LocalId, MapId, Probe, Program, Session, StatementKind};
use probescope::lang::types::{AddressSpace, StackMode};
use probescope::model::target::{Rate, Target};

fn call(i: Intrinsic, args: Vec<Expr>, ty: Type) -> Expr {
    e(ExprKind::Call(i, args), ty)
}

fn user_pointer(n: u8) -> Expr {
    let ty = Type::Ptr { to: std::sync::Arc::new(Type::Void), space: AddressSpace::User };
    cast(arg(n), ty)
}

fn str_of(n: u8, size: u32) -> Expr {
    call(Intrinsic::Str, vec![user_pointer(n)], Type::Str { size })
}

#[test]
fn strings_are_read_compared_and_searched() {
    if root::missing() {
        return;
    }
    let size = 128;
    let s = || local(0, Type::Str { size });
    let long = Type::Str { size: 1024 };
    let mut program = begin(
        (0..9).map(|i| scalar_map(&format!("@r{i}"), Type::I64)).collect(),
        vec![printf(vec![Type::I64, long.clone()]), printf(vec![Type::Str { size }])],
        vec![
            set_local(0, str_of(0, size)),
            set(0, None, call(Intrinsic::StrLen, vec![s()], Type::I64)),
            set(1, None, cast(binary(BinaryOp::Eq, s(), text("/etc/passwd"), Type::Bool), Type::I64)),
            set(2, None, cast(call(Intrinsic::StrContains, vec![s(), text("passwd")], Type::Bool), Type::I64)),
            set(3, None, call(Intrinsic::StrStr, vec![s(), text("etc/")], Type::I64)),
            set(4, None, call(Intrinsic::StrNCmp, vec![s(), text("/etcetera"), int(4)], Type::I64)),
            set(5, None, cast(binary(BinaryOp::Eq, s(), str_of(1, 64), Type::Bool), Type::I64)),
            set(6, None, cast(binary(BinaryOp::Ne, s(), str_of(1, size), Type::Bool), Type::I64)),
            set(7, None, call(Intrinsic::StrStr, vec![str_of(0, 64), str_of(1, 64)], Type::I64)),
            set(8, None, cast(binary(BinaryOp::Eq, str_of(0, 256), str_of(1, 256), Type::Bool), Type::I64)),
            report(0, vec![int(5), call(Intrinsic::Str, vec![user_pointer(0)], long)]),
            report(1, vec![s()]),
        ],
    );
    program.probes[0].locals = locals(vec![Type::Str { size }]);
    let far = format!("/{}etc/passwd", "x".repeat(100));
    let almost = format!("/{}etc/passwc", "x".repeat(100));
    let cases: [(&str, &str, [i64; 9]); 6] = [
        ("/etc/passwd", "/etc/passwd", [11, 1, 1, 1, 0, 1, 0, 0, 1]),
        ("/etc/passwd.old", "passwd", [15, 0, 1, 1, 0, 0, 1, 5, 0]),
        ("", "x", [0, 0, 0, -2, 1, 0, 1, -2, 0]),
        ("/bin/passw", "", [10, 0, 0, -2, 1, 0, 1, 0, 0]),
        (&far, &far, [111, 0, 1, 101, 1, 0, 0, 0, 1]),
        (&far, &almost, [111, 0, 1, 101, 1, 0, 1, 0, 0]),
    ];
    let oldest = KernelFeatures { bpf_loop: false, ..old_loops().features().clone() };
    let oldest = old_loops().with_features(move || oldest);
    let kernels = [kernel::facts(), old_loops(), oldest];
    for (facts, (a, b, expected)) in kernels.iter().flat_map(|facts| cases.iter().map(move |case| (facts, *case))) {
        let mut loaded = kernel::load_with(&program, facts);
        let (a, b) = (std::ffi::CString::new(a).unwrap(), std::ffi::CString::new(b).unwrap());
        loaded.run(&[a.as_ptr() as u64, b.as_ptr() as u64]);
        let got: Vec<i64> = (0..9).map(|i| loaded.number(i).unwrap()).collect();
        assert_eq!(got, expected, "{a:?} {b:?} {:?}", loaded.losses());
        let records = loaded.records();
        assert_eq!(records.len(), 2);
        assert_eq!(&records[0][RECORD_HEADER + 8..], a.as_bytes_with_nul(), "a long string is cut after its end");
        assert!(records[1][RECORD_HEADER..].starts_with(a.as_bytes_with_nul()));
    }
    let mut loaded = load(&program);
    loaded.run(&[16, 16]);
    assert!(loaded.losses().iter().any(|(cause, _)| cause == "memory read failed"), "{:?}", loaded.losses());
}

#[test]
fn loops_run_their_iterations() {
    if lacks(kernel::facts().features().bpf_loop, "bpf_loop") {
        return;
    }
    if root::missing() {
        return;
    }
    let sum = |by: Expr| set_local(0, binary(BinaryOp::Add, local(0, Type::I64), by, Type::I64));
    let range = |start, end, body| st(StatementKind::ForRange { local: LocalId(1), start, end, body: block(body) });
    let when = |c, then| st(StatementKind::If(c, block(vec![st(then)]), Block::default()));
    let is = |n: i64| binary(BinaryOp::Eq, local(1, Type::I64), int(n), Type::Bool);
    let bodies = |start: fn() -> Expr, end: fn() -> Expr| {
        vec![
            set_local(0, int(0)),
            range(
                start(),
                end(),
                vec![when(is(3), StatementKind::Continue), when(is(8), StatementKind::Break), sum(local(1, Type::I64))],
            ),
            set(0, None, local(0, Type::I64)),
        ]
    };
    for facts in [kernel::facts(), old_loops()] {
        let constant = bodies(|| int(0), || int(10));
        let variable = bodies(|| arg(0), || arg(1));
        for (body, expected) in [(constant, 25), (variable, 25 - 1)] {
            let mut program = begin(vec![scalar_map("@r", Type::I64)], vec![], body);
            program.probes[0].locals = locals(vec![Type::I64, Type::I64]);
            let mut loaded = kernel::load_with(&program, &facts);
            loaded.run(&[2, 100]);
            assert_eq!(loaded.number(0), Some(expected));
            loaded.run(&[5, 5]);
        }
    }
    let decrement = set_local(1, binary(BinaryOp::Sub, local(1, Type::I64), int(1), Type::I64));
    let body = vec![
        set_local(1, int(10)),
        st(StatementKind::While(local(1, Type::I64), block(vec![sum(local(1, Type::I64)), decrement]))),
        st(StatementKind::Unroll(3, block(vec![sum(int(100))]))),
        set(0, None, local(0, Type::I64)),
    ];
    let mut program = begin(vec![scalar_map("@r", Type::I64)], vec![], body);
    program.probes[0].locals = locals(vec![Type::I64, Type::I64]);
    let mut loaded = load(&program);
    loaded.run(&[]);
    assert_eq!(loaded.number(0), Some(355));
}

#[test]
fn a_while_with_much_in_it_goes_round_as_often_as_it_says() {
    if lacks(kernel::facts().features().bpf_loop, "bpf_loop") || root::missing() {
        return;
    }
    let one_more = |of: u32, by: Expr| set_local(of, binary(BinaryOp::Add, local(of, Type::I64), by, Type::I64));
    let until = |of: u32, end: Expr| binary(BinaryOp::Lt, local(of, Type::I64), end, Type::Bool);
    let entry = |n: u32| set(n, Some(local(1, Type::I64)), local(0, Type::I64));
    let leave = |at: i64, how| {
        let reached = binary(BinaryOp::Eq, local(1, Type::I64), int(at), Type::Bool);
        st(StatementKind::If(reached, block(vec![st(how)]), Block::default()))
    };
    let inner = vec![
        one_more(1, int(1)),
        leave(900, StatementKind::Break),
        leave(3, StatementKind::Continue),
        entry(1),
        entry(2),
        entry(3),
    ];
    let outer = vec![
        one_more(0, int(1)),
        set_local(1, int(0)),
        st(StatementKind::While(until(1, arg(0)), block(inner))),
        one_more(2, local(1, Type::I64)),
    ];
    let body = vec![
        set_local(0, int(0)),
        set_local(2, int(0)),
        st(StatementKind::While(until(0, arg(1)), block(outer))),
        set(0, None, local(2, Type::I64)),
        set(4, None, local(0, Type::I64)),
    ];
    let keyed = |name: &str| keyed_map(name, Type::I64, Type::I64);
    let maps = vec![scalar_map("@r", Type::I64), keyed("@a"), keyed("@b"), keyed("@c"), scalar_map("@n", Type::I64)];
    let mut program = begin(maps, vec![], body);
    program.probes[0].locals = locals(vec![Type::I64; 3]);
    for facts in [kernel::facts(), old_loops()] {
        let mut loaded = kernel::load_with(&program, &facts);
        for (rounds, times, expected) in [(20, 30, 600), (0, 7, 0), (1000, 2, 1800), (3, 3, 9)] {
            loaded.run(&[rounds, times]);
            assert_eq!((loaded.number(0), loaded.number(4)), (Some(expected), Some(times as i64)));
        }
    }
}

/// This kernel without its newest loops: `bpf_loop` with callbacks.
fn old_loops() -> TargetFacts {
    let facts = kernel::facts();
    let features = KernelFeatures { iter_num: false, ..facts.features().clone() };
    facts.with_features(move || features)
}

/// Linux 6.17 and 6.18 free what they still need of a callback's rounds unless its call stands in a loop.
#[test]
fn calls_with_a_callback_stand_in_a_loop_where_the_verifier_needs_it() {
    let over = StatementKind::ForMap { local: LocalId(0), map: MapId(0), body: block(vec![]) };
    let mut program = begin(vec![keyed_map("@m", Type::I64, Type::I64)], vec![], vec![st(over)]);
    program.probes[0].locals = locals(vec![Type::Tuple([Type::I64, Type::I64].into())]);
    // `bpf_for_each_map_elem`, `r1 = 0`, `if r1 != 0 goto -3` (Documentation/bpf/standardization/instruction-set.rst).
    let call: [u8; 8] = [0x85, 0, 0, 0, 164, 0, 0, 0];
    let circle: [u8; 16] = [0xb7, 1, 0, 0, 0, 0, 0, 0, 0x55, 1, 0xfd, 0xff, 0, 0, 0, 0];
    for (major, minor, expected) in [(6, 16, false), (6, 17, true), (6, 18, true), (6, 19, false), (7, 2, false)] {
        let artifact = probescope::codegen::compile(&program, &TargetFacts::of_version(major, minor, 2)).unwrap();
        let calls: Vec<_> = artifact.object.windows(24).filter(|code| code[..8] == call).collect();
        assert_eq!(calls.len(), 1);
        assert_eq!(calls[0][8..] == circle, expected, "{major}.{minor}");
    }
}

/// Both ends of a function are one program where the kernel has sessions, and two where it has none or where a
/// session's link shows less.
#[test]
fn both_ends_of_a_function_are_one_program_where_the_kernel_has_sessions() {
    let end = |ret, name: u32, value| {
        let target = Target::Kprobe { module: "".into(), function: "vfs_read".into(), offset: 0, ret };
        let names = vec![name];
        Probe { names, alone: true, traced: true, ..probe(target, vec![set(0, None, value)]) }
    };
    let script = |at_entry| {
        numbered(Program {
            probes: vec![end(false, 0, at_entry), end(true, 1, builtin(Builtin::Retval, Type::I64))],
            maps: vec![scalar_map("@a", Type::I64)],
            probe_names: vec!["kprobe:vfs_read".into(), "kretprobe:vfs_read".into()],
            ..Program::default()
        })
    };
    let register = || builtin(Builtin::Register(40), Type::I64);
    for (major, minor, at_entry, expected) in
        [(6, 13, arg(0), 2), (6, 14, arg(0), 1), (6, 18, register(), 2), (7, 2, arg(0), 1)]
    {
        let artifact =
            probescope::codegen::compile(&script(at_entry), &TargetFacts::of_version(major, minor, 2)).unwrap();
        assert_eq!(artifact.programs.len(), expected, "{major}.{minor}");
        assert_eq!(artifact.programs[0].on_return, (expected == 1).then_some(1));
    }
    let untraced = {
        let mut script = script(arg(0));
        script.probes[1].traced = false;
        script
    };
    let artifact = probescope::codegen::compile(&untraced, &TargetFacts::of_version(7, 2, 2)).unwrap();
    assert_eq!(artifact.programs.len(), 2);
    // A return that asks what its entry kept is never with an entry that keeps nothing.
    let mut asks = script(arg(0));
    asks.probes[1].body = block(vec![set(0, None, builtin(Builtin::SessionCookie, Type::I64))]);
    assert!(asks.sessions().is_empty());
    let keep = e(ExprKind::Call(Intrinsic::KeepInSession, vec![int(1)]), Type::Void);
    asks.probes.push(Probe { body: block(vec![st(StatementKind::Expr(keep))]), ..asks.probes[0].clone() });
    assert_eq!(asks.sessions(), [Session { entry: 2, on_return: 1 }]);
}

#[test]
fn loops_over_maps_visit_every_key() {
    if lacks(kernel::facts().features().map_lookup_percpu, "bpf_map_lookup_percpu_elem") {
        return;
    }
    if root::missing() {
        return;
    }
    let pair = Type::Tuple([Type::I64, Type::I64].into());
    let field = |i, ty| e(ExprKind::TupleField(Box::new(local(1, pair.clone())), i), ty);
    let add = |by| set_local(0, binary(BinaryOp::Add, local(0, Type::I64), by, Type::I64));
    let over = |map, body| st(StatementKind::ForMap { local: LocalId(1), map: MapId(map), body: block(body) });
    let mut body: Vec<_> = (1..5).map(|i| set(0, Some(int(i)), int(i * 10))).collect();
    body.extend((1..5).map(|i| aggregate(1, Some(int(i)), None)));
    body.push(set_local(0, int(0)));
    body.push(over(0, vec![add(field(0, Type::I64)), add(field(1, Type::I64))]));
    body.push(set(2, None, local(0, Type::I64)));
    body.push(over(1, vec![add(field(1, Type::I64))]));
    body.push(set(3, None, local(0, Type::I64)));
    body.push(set(4, None, e(ExprKind::MapLen(MapId(0)), Type::I64)));
    let maps = vec![
        keyed_map("@m", Type::I64, Type::I64),
        keyed_map("@c", Type::I64, agg(Aggregation::Count)),
        scalar_map("@r", Type::I64),
        scalar_map("@s", Type::I64),
        scalar_map("@n", Type::I64),
    ];
    let mut program = begin(maps, vec![], body);
    program.probes[0].locals = locals(vec![Type::I64, pair.clone()]);
    let mut loaded = load(&program);
    loaded.run(&[]);
    assert_eq!(loaded.number(2), Some(110));
    assert_eq!(loaded.number(3), Some(114));
    assert_eq!(loaded.number(4), Some(4));
}

#[test]
fn aggregations_can_be_read_and_deleted() {
    if lacks(kernel::facts().features().map_lookup_percpu, "bpf_map_lookup_percpu_elem") {
        return;
    }
    if root::missing() {
        return;
    }
    let read = |map: u32, key| get(map, key, Type::I64);
    let delete = |map: u32| e(ExprKind::MapDelete { map: MapId(map), key: None }, Type::Bool);
    let program = begin(
        vec![
            scalar_map("@c", agg(Aggregation::Count)),
            scalar_map("@avg", agg(Aggregation::Avg { signed: true })),
            keyed_map("@max", Type::I64, agg(Aggregation::Max { signed: true })),
            scalar_map("@r0", Type::I64),
            scalar_map("@r1", Type::I64),
            scalar_map("@r2", Type::I64),
            scalar_map("@r3", Type::I64),
        ],
        vec![],
        vec![
            aggregate(0, None, None),
            aggregate(0, None, None),
            aggregate(1, None, Some(int(-5))),
            aggregate(1, None, Some(int(-10))),
            aggregate(2, Some(int(1)), Some(int(-3))),
            set(3, None, read(0, None)),
            set(4, None, read(1, None)),
            set(5, None, read(2, Some(int(1)))),
            st(StatementKind::Expr(delete(0))),
            set(6, None, binary(BinaryOp::Add, read(0, None), cast(delete(0), Type::I64), Type::I64)),
        ],
    );
    let mut loaded = load(&program);
    loaded.run(&[]);
    assert_eq!((3..7).map(|i| loaded.number(i).unwrap()).collect::<Vec<_>>(), [2, -7, -3, 0]);
}

fn with_probes(probes: Vec<Probe>, maps: Vec<probescope::lang::typed::Map>) -> Program {
    numbered(Program {
        probes,
        maps,
        actions: vec![printf(vec![Type::U32])],
        probe_names: vec!["x".into()],
        ..Program::default()
    })
}
