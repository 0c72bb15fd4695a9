//! The language against the kernel: random expressions as script text go through lexer, parser,
//! checker, lowering and back end, run by `BPF_PROG_TEST_RUN`, and give what the language says.

mod expression;

use std::fmt::Write;
use std::sync::Arc;

use crate::kernel;
use crate::root;
use expression::{Expr, INPUTS, expression, number};
use probescope::kernel::{Kernel, Roots};
use probescope::lang::compile as compile_front;
use probescope::lang::diagnostic::has_errors;
use probescope::lang::front::FrontOptions;
use probescope::lang::source::SourceText;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// The inputs go through maps, so that the compiler can't know them.
fn script(expressions: &[Expr], inputs: &[i64]) -> String {
    let mut text = String::from("begin {\n");
    for (i, n) in inputs.iter().enumerate() {
        let _ = writeln!(text, "  @i{i} = (int64)({n}); ${} = @i{i};", ["a", "b", "c", "d"][i]);
    }
    for (i, e) in expressions.iter().enumerate() {
        let _ = writeln!(text, "  @r{i} = (int64)({e});");
    }
    text + "}\n"
}

fn check(kernel: &Arc<Kernel>, expressions: &[Expr], inputs: &[i64]) -> Result<(), TestCaseError> {
    let text = script(expressions, inputs);
    let checked = compile_front(&SourceText::new("random.bt", &text), &FrontOptions::new(kernel));
    // Constants whose result no integer type holds are refused when the script is compiled.
    prop_assume!(!checked.diagnostics.iter().any(|d| d.message.starts_with("unable to fold literals")));
    prop_assert!(!has_errors(&checked.diagnostics), "{:?}\n{}", checked.diagnostics, text);
    let facts = kernel.target_facts(None, 0);
    let mut loaded = kernel::load_with(&checked.program, &facts);
    loaded.run(&[]);
    for (i, e) in expressions.iter().enumerate() {
        let name = format!("@r{i}");
        let map = checked.program.maps.iter().position(|m| *m.name == *name).expect("every result has its map");
        prop_assert_eq!(loaded.number(map), Some(e.value(inputs)), "{} = {}\nin {}", name, e, text);
    }
    Ok(())
}

#[test]
fn random_expressions_are_worth_on_the_kernel_what_the_language_says() {
    if root::missing() {
        return;
    }
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 300, ..Config::default() };
    let strategy = (prop::collection::vec(expression(), 1..8), prop::collection::vec(number(), INPUTS));
    TestRunner::new(config).run(&strategy, |(e, inputs)| check(&kernel, &e, &inputs)).unwrap();
}
