//! The back end against the kernel: random IR is compiled, accepted by the verifier, run by
//! `BPF_PROG_TEST_RUN`, and gives what an interpreter of the IR gives.

#[path = "codegen_kernel/generate.rs"]
mod generate;
#[path = "codegen_kernel/interp.rs"]
mod interp;
#[path = "codegen_kernel/load.rs"]
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
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let strategy = (generate::steps(), prop::collection::vec(generate::number(), generate::INPUTS));
    TestRunner::new(config).run(&strategy, |(steps, inputs)| check(&steps, &inputs)).unwrap();
}
