//! Programs of all kinds, and what tells their targets apart.

use super::*;

#[test]
fn every_kind_of_program_that_this_kernel_has_is_accepted() {
    if root::missing() {
        return;
    }
    let stack = |user| {
        let (mode, depth) = (StackMode::Bpftrace, 20);
        let (i, ty) = if user {
            (Intrinsic::UStack, Type::UStack { mode, depth })
        } else {
            (Intrinsic::KStack, Type::KStack { mode, depth })
        };
        call(i, vec![], ty)
    };
    let key = Type::KStack { mode: StackMode::Bpftrace, depth: 20 };
    let ukey = Type::UStack { mode: StackMode::Bpftrace, depth: 20 };
    let body = || {
        vec![
            aggregate(0, None, None),
            aggregate(1, Some(stack(false)), None),
            aggregate(2, Some(stack(true)), None),
            report(0, vec![builtin(Builtin::Cpu, Type::U32)]),
        ]
    };
    let uprobe = Target::Uprobe {
        path: "/proc/self/exe".into(),
        symbol: "main".into(),
        file_offset: 0,
        ret: false,
        pid: None,
        exits: [].into(),
    };
    let targets = [
        Target::Tracepoint { category: "syscalls".into(), event: "sys_enter_openat".into() },
        Target::RawTracepoint { event: "sys_enter".into(), module: "".into() },
        Target::Profile { rate: Rate::Hertz(99) },
        uprobe,
    ];
    let maps = vec![
        scalar_map("@c", agg(Aggregation::Count)),
        keyed_map("@k", key, agg(Aggregation::Count)),
        keyed_map("@u", ukey, agg(Aggregation::Count)),
    ];
    let probes: Vec<Probe> = targets.into_iter().map(|t| probe(t, body())).collect();
    for p in &probes {
        load(&with_probes(vec![p.clone()], maps.clone()));
    }
    load(&with_probes(probes, maps));
}

#[test]
fn expressions_are_worth_on_the_kernel_what_they_are_worth_here() {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};
    if root::missing() {
        return;
    }
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let inputs = prop::collection::vec(prop::collection::vec(evaluate::number(), evaluate::INPUTS), 4);
    let strategy = (prop::collection::vec(evaluate::expression(Type::I64, 4), 3), inputs);
    TestRunner::new(config)
        .run(&strategy, |(expressions, inputs)| {
            let maps = (0..expressions.len()).map(|i| scalar_map(&format!("@r{i}"), Type::I64)).collect();
            let body = expressions.iter().enumerate().map(|(i, e)| set(i as u32, None, e.clone())).collect();
            let mut loaded = load(&begin(maps, vec![], body));
            let mut zeros = 0;
            for words in &inputs {
                let context: Vec<u64> = words.iter().map(|w| *w as u64).collect();
                loaded.run(&context);
                for (i, e) in expressions.iter().enumerate() {
                    let expected = evaluate::value(e, words, &mut zeros);
                    prop_assert_eq!(loaded.number(i), Some(expected), "expression {} with {:?}", i, words);
                }
            }
            let counted: u64 = loaded.losses().iter().map(|(_, n)| n).sum();
            prop_assert_eq!(counted, zeros, "divisions by zero");
            Ok(())
        })
        .unwrap();
}

#[test]
fn many_system_calls_are_told_apart_by_one_program() {
    use probescope::codegen::artifact::ProgramKind;
    use probescope::lang::typed::ExprKind;
    use probescope::model::target::Target;
    if root::missing() || lacks(std::path::Path::new("/sys/kernel/btf/vmlinux").exists(), "BTF") {
        return;
    }
    let calls = ["getppid", "getuid", "geteuid", "getgid", "getegid", "lseek"];
    let field = |offset, ty| builtin(Builtin::CtxField(offset), ty);
    let whole = |edge: &str, value: Expr| {
        let maps = vec![keyed_map("@n", Type::U64, agg(Aggregation::Count)), keyed_map("@last", Type::I32, Type::I64)];
        let mut program = begin(
            maps,
            vec![],
            vec![
                aggregate(0, Some(builtin(Builtin::ProbeId, Type::U64)), None),
                set(1, Some(field(8, Type::I32)), value),
            ],
        );
        let probe = &mut program.probes[0];
        let target =
            |call: &&str| Target::Tracepoint { category: "syscalls".into(), event: format!("{edge}_{call}").into() };
        probe.targets = calls.iter().map(target).collect();
        // Names in another order than targets.
        probe.names = (0..calls.len() as u32).map(|n| 10 - n).collect();
        probe.needs_probe_id = true;
        let tid = builtin(Builtin::Tid, Type::U32);
        let me = e(ExprKind::Int(u64::from(rustix::thread::gettid().as_raw_nonzero().get() as u32)), Type::U32);
        probe.predicate = Some(binary(BinaryOp::Eq, tid, me, Type::Bool));
        program.probe_names = (0..11).map(|n| format!("name {n}").into()).collect();
        program
    };
    for (edge, value, wanted) in
        [("sys_enter", field(24, Type::I64), -12_i64), ("sys_exit", field(16, Type::I64), -i64::from(libc::EBADF))]
    {
        let loaded = load(&whole(edge, value));
        assert_eq!(loaded.artifact.programs.len(), 1, "one program for all");
        assert_eq!(loaded.artifact.programs[0].kind, ProgramKind::SyscallDispatch);
        assert_eq!(loaded.artifact.programs[0].targets.len(), calls.len());
        let link = loaded.object.progs_mut().next().unwrap().attach().unwrap();
        let _ = rustix::process::getuid();
        for _ in 0..3 {
            let _ = rustix::process::getppid();
        }
        // No descriptor of this process: the kernel says so, having seen the offset.
        #[allow(unsafe_code, reason = "lseek takes no memory")]
        // SAFETY: as said.
        let result = unsafe { libc::lseek(-1, -12, libc::SEEK_SET) };
        drop(link);
        assert_eq!(result, -1);
        let number = |b: &[u8]| b.iter().rev().fold(0_u64, |n, b| n << 8 | u64::from(*b));
        let mut counts: Vec<_> = loaded.entries(0).iter().map(|(k, v)| (number(k), number(v))).collect();
        counts.sort_unstable();
        assert_eq!(counts, [(5, 1), (9, 1), (10, 3)], "{edge}: by index of the name");
        let last = loaded.entries(1);
        let lseek = last.iter().find(|(k, _)| number(k) == libc::SYS_lseek as u64).unwrap();
        assert_eq!(number(&lseek.1) as i64, wanted, "{edge}");
        assert_eq!(loaded.losses(), []);
    }
}

#[test]
fn tracepoints_whose_fields_nobody_reads_hang_on_raw_ones() {
    use libbpf_rs::RawTracepointOpts;
    use probescope::codegen::artifact::ProgramKind;
    use probescope::lang::typed::ExprKind;
    use probescope::model::target::Target;
    let events = ["sched_process_fork", "sched_process_exit", "sched_process_exec", "sched_wakeup_new", "sched_waking"];
    let script = |names: &[&str], key: Expr| {
        let maps = vec![keyed_map("@n", Type::U64, agg(Aggregation::Count))];
        let mut program = begin(maps, vec![], vec![aggregate(0, Some(key), None)]);
        let probe = &mut program.probes[0];
        let target = |e: &&str| Target::Tracepoint { category: "sched".into(), event: (*e).into() };
        probe.targets = names.iter().map(target).collect();
        probe.names = (0..names.len() as u32).map(|n| n + 1).collect();
        probe.needs_probe_id = true;
        let pid = builtin(Builtin::Pid, Type::U32);
        let me = e(ExprKind::Int(u64::from(std::process::id())), Type::U32);
        probe.predicate = Some(binary(BinaryOp::Eq, pid, me, Type::Bool));
        program.probe_names = (0..=names.len()).map(|n| format!("name {n}").into()).collect();
        program
    };
    let kinds = |program: &Program, facts: &TargetFacts| -> Vec<(ProgramKind, usize)> {
        let artifact = probescope::codegen::compile(program, facts).unwrap();
        artifact.programs.iter().map(|p| (p.kind, p.targets.len())).collect()
    };
    let name = || builtin(Builtin::ProbeId, Type::U64);
    let field = || cast(builtin(Builtin::CtxField(8), Type::U32), Type::U64);
    let (new, old) = (TargetFacts::of_version(6, 18, 2), TargetFacts::of_version(5, 15, 2));
    assert_eq!(kinds(&script(&events, name()), &new), [(ProgramKind::RawTracepoint, 5)]);
    assert_eq!(kinds(&script(&events, name()), &old), [(ProgramKind::RawTracepoint, 1); 5], "no cookies there");
    assert_eq!(kinds(&script(&events, field()), &new), [(ProgramKind::Tracepoint, 5)], "the record is read");
    assert_eq!(kinds(&script(&events[..2], name()), &new), [(ProgramKind::Tracepoint, 2)], "few detach soon");
    if root::missing() || lacks(kernel::facts().version >= 6 << 16 | 10 << 8, "cookies in raw tracepoints") {
        return;
    }
    let loaded = load(&script(&events, name()));
    let program = loaded.object.progs_mut().next().unwrap();
    let link = |(i, event): (usize, &&str)| {
        let options = RawTracepointOpts { cookie: i as u64 + 1, ..RawTracepointOpts::default() };
        program.attach_raw_tracepoint_with_opts(event, options).unwrap()
    };
    let links: Vec<_> = events.iter().enumerate().map(link).collect();
    std::process::Command::new("true").status().unwrap();
    drop(links);
    let forks = loaded.entries(0).into_iter().find(|(key, _)| key[..8] == 1_u64.to_le_bytes());
    assert!(forks.is_some_and(|(_, count)| count.iter().any(|b| *b != 0)), "the fork, by its name's index");
}
