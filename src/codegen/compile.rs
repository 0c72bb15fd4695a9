//! The compiler's entry: typed program and kernel facts in, artifact out.

use crate::lang::source::SourceText;
use crate::lang::typed::Program;

use super::artifact::Artifact;
use super::backend::{SourceLines, build};
use super::error::CodegenError;
use super::ir::Linkage;
use super::lower::{Lowered, lower};
use super::target::TargetFacts;

/// Compiles a program; its line information names no text. See [`compile_with_source`].
pub fn compile(program: &Program, facts: &TargetFacts) -> Result<Artifact, CodegenError> {
    compile_lines(program, facts, &SourceLines::none())
}

/// Compiles a program whose spans are in `source`: verifier messages and disassembly then show the
/// script's lines.
pub fn compile_with_source(
    program: &Program,
    facts: &TargetFacts,
    source: &SourceText,
) -> Result<Artifact, CodegenError> {
    compile_lines(program, facts, &SourceLines::new(source))
}

fn compile_lines(program: &Program, facts: &TargetFacts, lines: &SourceLines) -> Result<Artifact, CodegenError> {
    let Lowered { module, mut programs, maps, sites, ring, stacks, globals } = lower(program, facts)?;
    let built = build(&module, lines)?;
    let of_programs = module
        .functions
        .iter()
        .zip(built.functions)
        .filter(|(function, _)| matches!(function.linkage, Linkage::Program { .. }));
    for (function, facts) in of_programs {
        if let Some(spec) = programs.iter_mut().find(|spec| *spec.name == *function.name) {
            spec.instructions = facts.instructions;
            spec.lines = facts.lines;
        }
    }
    Ok(Artifact { object: built.object.into(), programs, maps, sites, ring, stacks, globals })
}
