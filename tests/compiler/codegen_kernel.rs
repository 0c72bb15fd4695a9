//! The back end against the kernel: random IR is compiled, accepted by the verifier, run by
//! `BPF_PROG_TEST_RUN`, and gives what an interpreter of the IR gives.

mod generate;
mod interp;
mod load;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn check(steps: &[generate::Step], inputs: &[i64]) -> Result<(), TestCaseError> {
    let function = generate::function(steps);
    let text = function.to_string();
    let context: Vec<u64> = inputs.iter().map(|n| *n as u64).collect();
    let mut expected = vec![0; generate::GLOBALS];
    let result = interp::run(&function, &context, &mut expected).expect("random loops end");
    let mut object = load::load(&load::module(vec![function], generate::GLOBALS))
        .map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
    let got = load::run(&mut object, &context).map_err(TestCaseError::fail)?;
    prop_assert_eq!(load::globals(&object), expected, "globals of\n{}", text);
    prop_assert_eq!(got, result as u32, "result of\n{}", text);
    Ok(())
}

#[test]
fn random_functions_do_on_the_kernel_what_their_ir_says() {
    if load::unavailable() {
        return;
    }
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let strategy = (generate::steps(), prop::collection::vec(generate::number(), generate::INPUTS));
    TestRunner::new(config).run(&strategy, |(steps, inputs)| check(&steps, &inputs)).unwrap();
}

mod objects {
    //! The parts of an object that libbpf must find: maps, callbacks, kernel functions, lines.

    use super::load;
    use libbpf_rs::{MapCore, MapFlags};
    use probescope::codegen::artifact::ProgramKind;
    use probescope::codegen::backend::{BuiltObject, SourceLines, build};
    use probescope::codegen::builder::{FunctionBuilder, atomic, flow, stack};
    use probescope::codegen::error::CodegenError;
    use probescope::codegen::ir::{
        Alu, BpfMap, BpfMapId, Cond, FuncId, Function, Linkage, Operand, SectionId, Size, Vreg, Width,
    };
    use probescope::lang::source::{SourceText, Span};

    const LOOKUP: u32 = 1;
    const UPDATE: u32 = 2;
    const LOOP: u32 = 181;

    fn program(name: &str) -> FunctionBuilder {
        let linkage = Linkage::Program { kind: ProgramKind::TestRun, section: "raw_tp".into() };
        FunctionBuilder::new(name, linkage, 1)
    }

    fn word(object: &libbpf_rs::Object, at: usize) -> u64 {
        let bytes = load::globals(object);
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    fn counts(name: &str, kind: u32) -> BpfMap {
        BpfMap { name: name.into(), kind, key_size: 8, value_size: 8, max_entries: 128, flags: 0 }
    }

    #[test]
    fn maps_are_created_as_the_module_says_and_updated() {
        if load::unavailable() {
            return;
        }
        let mut b = program("update");
        let (key, value) = (b.new_slot(8), b.new_slot(8));
        stack::store(&mut b, key, 0, Size::B8, 7);
        stack::store(&mut b, value, 0, Size::B8, 41);
        let (map, key, value) = (b.address(BpfMapId(1)), b.address(key.at(0)), b.address(value.at(0)));
        b.call_void(UPDATE, &[map.into(), key.into(), value.into(), Operand::Imm(0)]);
        let found = b.call(LOOKUP, &[map.into(), key.into()]);
        let none = b.new_block();
        flow::require(&mut b, Cond::Ne, found, 0, none);
        atomic::add(&mut b, found, 0, Size::B8, 1);
        b.ret(1);
        b.switch_to(none);
        b.ret(0);
        let mut module = load::module(vec![b.finish()], 8);
        module.maps = vec![counts("first", 2), counts("second", 1), counts("third", 5)];
        module.maps[0].key_size = 4;
        let mut object = load::load(&module).unwrap();
        assert_eq!(load::run(&mut object, &[0]).unwrap(), 1);
        let map = object.maps().find(|m| m.name() == "second").expect("the map is in the object");
        let got = map.lookup(&7u64.to_le_bytes(), MapFlags::ANY).unwrap();
        assert_eq!(got, Some(42u64.to_le_bytes().to_vec()));
        assert_eq!(map.max_entries(), 128);
    }

    fn subprogram_that_adds() -> Function {
        let mut b = FunctionBuilder::new("add_up", Linkage::Subprogram, 2);
        let (index, sum) = (Vreg::parameter(0), Vreg::parameter(1));
        let old = b.load(sum, 0, Size::B8);
        let new = b.add(old, index);
        b.store(sum, 0, Size::B8, new);
        b.ret(0);
        b.finish()
    }

    #[test]
    fn subprograms_are_called_and_are_callbacks_of_helpers() {
        if load::unavailable() || load::lacks("bpf_loop (Linux 5.17)", load::facts().features().bpf_loop) {
            return;
        }
        let mut b = program("loops");
        let sum = b.new_slot(8);
        stack::store(&mut b, sum, 0, Size::B8, 0);
        let (callback, context) = (b.address(FuncId(2)), b.address(sum.at(0)));
        b.call_void(LOOP, &[Operand::Imm(10), callback.into(), context.into(), Operand::Imm(0)]);
        let fifty = b.call(FuncId(1), &[Operand::Imm(20), Operand::Imm(30)]);
        let ninety_five = stack::load(&mut b, sum, 0, Size::B8, false);
        let total = b.add(fifty, ninety_five);
        b.ret(total);
        let mut adds = FunctionBuilder::new("plus", Linkage::Subprogram, 2);
        let both = adds.add(Vreg::parameter(0), Vreg::parameter(1));
        adds.ret(both);
        let module = load::module(vec![b.finish(), adds.finish(), subprogram_that_adds()], 8);
        let mut object = load::load(&module).unwrap();
        assert_eq!(load::run(&mut object, &[0]).unwrap(), 45 + 50);
    }

    #[test]
    fn kernel_functions_are_linked_by_their_prototypes() {
        if load::unavailable() || load::lacks("bpf_iter_num_new (Linux 6.4)", load::facts().features().iter_num) {
            return;
        }
        let mut b = program("iterates");
        let iterator = b.new_slot(8);
        let sum = b.copy(0);
        let at = b.address(iterator.at(0));
        b.call_void("bpf_iter_num_new", &[at.into(), Operand::Imm(0), Operand::Imm(10)]);
        let (head, body, done) = (b.new_block(), b.new_block(), b.new_block());
        b.jump(head);
        b.switch_to(head);
        let next = b.call("bpf_iter_num_next", &[at.into()]);
        b.branch(Cond::Ne, next, 0, body, done);
        b.switch_to(body);
        let i = b.load(next, 0, Size::B4);
        b.alu_into(sum, Alu::Add, Width::W64, sum, i);
        b.jump(head);
        b.switch_to(done);
        b.call_void("bpf_iter_num_destroy", &[at.into()]);
        b.ret(sum);
        let mut object = load::load(&load::module(vec![b.finish()], 8)).unwrap();
        assert_eq!(load::run(&mut object, &[0]).unwrap(), 45);
    }

    /// Two ways of 40,000 instructions each: more than a jump of 16 bits can pass.
    fn with_a_long_path() -> Function {
        let mut b = program("far");
        let word = b.load(Vreg::parameter(0), 0, Size::B8);
        let (one, other, done) = (b.new_block(), b.new_block(), b.new_block());
        let sum = b.copy(0);
        b.branch(Cond::Gt, word, 5, one, other);
        for (way, first) in [(one, 1), (other, 100)] {
            b.switch_to(way);
            b.copy_into(sum, first);
            for _ in 0..40_000 {
                b.alu_into(sum, Alu::Xor, Width::W64, sum, word);
            }
            b.jump(done);
        }
        b.switch_to(done);
        b.ret(sum);
        b.finish()
    }

    #[test]
    fn far_jumps_are_made_where_the_kernel_takes_them() {
        let mut module = load::module(vec![with_a_long_path()], 8);
        module.isa.cpu_v4 = false;
        let error = build(&module, &SourceLines::none()).unwrap_err();
        assert!(matches!(error, CodegenError::JumpTooFar { .. }), "{error}");
        if load::unavailable() || load::lacks("jumps of 32 bits (Linux 6.6)", load::facts().cpu_v4) {
            return;
        }
        module.isa.cpu_v4 = true;
        let mut object = load::load(&module).unwrap();
        assert_eq!(load::run(&mut object, &[7]).unwrap(), 1);
        assert_eq!(load::run(&mut object, &[3]).unwrap(), 100);
    }

    /// Twenty values that all live across a call.
    fn crowded(values: u32) -> Function {
        let mut b = program("crowded");
        let context = Vreg::parameter(0);
        let all: Vec<Vreg> = (0..values)
            .map(|i| {
                let word = b.load(context, 0, Size::B8);
                b.alu(Alu::Xor, word, i64::from(i) << 33)
            })
            .collect();
        b.call_void(8, &[]);
        let base = b.address(SectionId(0).at(0));
        for (i, v) in all.iter().enumerate() {
            b.store(base, i as i16 * 8, Size::B8, *v);
        }
        b.ret(0);
        b.finish()
    }

    #[test]
    fn more_values_than_registers_survive_a_call() {
        if load::unavailable() {
            return;
        }
        let mut object = load::load(&load::module(vec![crowded(40)], 40 * 8)).unwrap();
        load::run(&mut object, &[1234]).unwrap();
        for i in 0..40 {
            assert_eq!(word(&object, i * 8), 1234 ^ (i as u64) << 33, "value {i}");
        }
    }

    #[test]
    fn a_frame_over_512_bytes_is_refused_with_the_values_that_fill_it() {
        let mut b = program("big");
        b.set_span(Span::new(4, 9));
        let slot = b.new_slot(600);
        let at = b.address(slot.at(0));
        b.call_void(6, &[at.into(), Operand::Imm(600)]);
        let error = build(&load::module(vec![b.finish()], 8), &SourceLines::none()).unwrap_err();
        let CodegenError::Stack { span, bytes: 600, values, .. } = error else { panic!("{error}") };
        assert_eq!((span, values), (Span::new(4, 9), vec![(Span::new(4, 9), 600)]));
    }

    fn with_lines() -> (BuiltObject, SourceText) {
        let source = SourceText::new("two.bt", "begin {\n  printf(\"hello\");\n  exit();\n}\n");
        let mut b = program("lines");
        b.set_span(Span::new(10, 25));
        b.call_void(8, &[]);
        b.set_span(Span::new(29, 35));
        b.call_void(8, &[]);
        b.ret(0);
        let built = build(&load::module(vec![b.finish()], 8), &SourceLines::new(&source)).unwrap();
        (built, source)
    }

    #[test]
    fn instructions_carry_script_lines_and_the_bytes_are_always_the_same() {
        let (built, _) = with_lines();
        assert_eq!(built.functions[0].lines, [(0, Span::new(10, 25)), (1, Span::new(29, 35))]);
        assert_eq!(built.object, with_lines().0.object);
        if load::unavailable() {
            return;
        }
        load::load_bytes(&built.object).unwrap();
    }
}

mod refusals {
    //! Programs that the kernel must refuse, and what is said about them.

    use std::sync::Mutex;

    use super::load;
    use libbpf_rs::{PrintLevel, set_print};
    use probescope::codegen::artifact::ProgramKind;
    use probescope::codegen::backend::{SourceLines, build};
    use probescope::codegen::builder::{FunctionBuilder, stack};
    use probescope::codegen::ir::{BpfMap, BpfMapId, Linkage, Size, Vreg};
    use probescope::codegen::verifier_log::{Cause, explain};
    use probescope::lang::source::{SourceText, Span};

    static LOG: Mutex<String> = Mutex::new(String::new());
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    fn keep(_: PrintLevel, text: String) {
        LOG.lock().unwrap().push_str(&text);
    }

    /// The place that is blamed: the second line of the script.
    const BLAMED: Span = Span { start: 8, end: 14 };

    fn refused(make: impl FnOnce(&mut FunctionBuilder)) -> Option<(Cause, Option<Span>)> {
        if load::unavailable() {
            return None;
        }
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let source = SourceText::new("bad.bt", "begin {\nbroken\n}\n");
        let linkage = Linkage::Program { kind: ProgramKind::TestRun, section: "raw_tp".into() };
        let mut b = FunctionBuilder::new("bad", linkage, 1);
        b.set_span(Span::new(0, 5));
        b.call_void(8, &[]);
        b.set_span(BLAMED);
        make(&mut b);
        let mut module = load::module(vec![b.finish()], 8);
        let map = BpfMap { name: "m".into(), kind: 1, key_size: 8, value_size: 8, max_entries: 4, flags: 0 };
        module.maps = vec![map];
        let built = build(&module, &SourceLines::new(&source)).unwrap();
        LOG.lock().unwrap().clear();
        let before = set_print(Some((PrintLevel::Warn, keep)));
        let loaded = load::load_bytes(&built.object);
        set_print(before);
        assert!(loaded.is_err(), "the kernel took it");
        let log = LOG.lock().unwrap().clone();
        let said = explain(&log, &built.functions[0].lines).unwrap_or_else(|| panic!("nothing said in {log}"));
        eprintln!("{:?}: {}", said.cause, said.reason);
        Some((said.cause, said.span))
    }

    fn expect(cause: Cause, make: impl FnOnce(&mut FunctionBuilder)) {
        if let Some(said) = refused(make) {
            assert_eq!(said, (cause, Some(BLAMED)));
        }
    }

    #[test]
    fn a_lookup_that_is_not_checked() {
        expect(Cause::NullPointer, |b| {
            let key = b.new_slot(8);
            stack::store(b, key, 0, Size::B8, 1);
            let (map, key) = (b.address(BpfMapId(0)), b.address(key.at(0)));
            let found = b.call(1, &[map.into(), key.into()]);
            let v = b.load(found, 0, Size::B8);
            b.ret(v);
        });
    }

    #[test]
    fn a_number_used_as_a_pointer() {
        expect(Cause::Memory, |b| {
            let number = b.load(Vreg::parameter(0), 0, Size::B8);
            let v = b.load(number, 0, Size::B8);
            b.ret(v);
        });
    }

    #[test]
    fn a_loop_that_never_ends() {
        expect(Cause::Loop, |b| {
            let head = b.new_block();
            b.jump(head);
            b.switch_to(head);
            b.call_void(8, &[]);
            b.jump(head);
        });
    }

    #[test]
    fn a_helper_that_does_not_exist() {
        expect(Cause::Helper, |b| {
            b.call_void(9999, &[]);
            b.ret(0);
        });
    }

    #[test]
    fn a_context_field_that_is_out_of_reach() {
        expect(Cause::Context, |b| {
            let v = b.load(Vreg::parameter(0), 20_000, Size::B8);
            b.ret(v);
        });
    }
}
