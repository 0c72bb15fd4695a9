//! The compiler's stages as text: `probescope compile --emit`.

use crate::kernel::target::TargetFacts;
use crate::lang::source::SourceText;
use crate::lang::typed::Program;

use super::backend::{SourceLines, disasm, optimised};
use super::compile::lower_and_build;
use super::error::CodegenError;
use super::lower::lower;
use super::verifier::Context;

/// Intermediate code of every function, before it is optimised.
pub fn ir(program: &Program, facts: &TargetFacts) -> Result<String, CodegenError> {
    Ok(lower(program, facts)?.module.to_string())
}

/// Intermediate code of every function, as the passes leave it to the register allocator.
pub fn passes(program: &Program, facts: &TargetFacts) -> Result<String, CodegenError> {
    let mut module = lower(program, facts)?.module;
    let context = Context::of(&module);
    module.functions = module.functions.iter().map(|function| optimised(function, context)).collect();
    Ok(module.to_string())
}

/// Machine code of every function, with the script's lines between.
pub fn code(program: &Program, facts: &TargetFacts, source: &SourceText) -> Result<String, CodegenError> {
    let lines = SourceLines::new(source);
    let (lowered, built) = lower_and_build(program, facts, &lines)?;
    let functions = lowered.module.functions.iter().zip(&built.functions);
    let listings: Vec<String> = functions.map(|(f, built)| disasm::listing(&f.name, built, &lines)).collect();
    Ok(listings.join("\n"))
}
