//! The compiler's entry: typed program and kernel facts in, artifact out.

use crate::kernel::target::TargetFacts;
use crate::lang::source::SourceText;
use crate::lang::typed::Program;

use super::artifact::Artifact;
use super::backend::{BuiltObject, SourceLines, build};
use super::error::CodegenError;
use super::ir::Linkage;
use super::lower::{Lowered, lower, lower_off_stack};

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

/// Intermediate and machine code; with next to nothing on the stack, when there is no room for more.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "as `build` takes it")]
pub(super) fn lower_and_build(
    program: &Program,
    facts: &TargetFacts,
    lines: &SourceLines,
) -> Result<(Lowered, BuiltObject), CodegenError> {
    let lowered = named_for_loaders(lower(program, facts)?, facts);
    match build(&lowered.module, lines) {
        Err(error @ CodegenError::Stack { .. }) => {
            let lowered = named_for_loaders(lower_off_stack(program, facts)?, facts);
            // The values to name are those of the first attempt.
            let built = build(&lowered.module, lines).map_err(|_| error)?;
            Ok((lowered, built))
        }
        built => Ok((lowered, built?)),
    }
}

/// Names sections of zeros as other loaders know them: libbpf has one `.bss`, and any number of `.data.NAME`.
fn named_for_loaders(mut lowered: Lowered, facts: &TargetFacts) -> Lowered {
    if facts.for_other_loaders {
        for section in &mut lowered.module.sections {
            if let Some(name) = section.name.strip_prefix(".bss.") {
                section.name = format!(".data.{name}");
            }
        }
    }
    lowered
}

fn compile_lines(program: &Program, facts: &TargetFacts, lines: &SourceLines) -> Result<Artifact, CodegenError> {
    let (lowered, built) = lower_and_build(program, facts, lines)?;
    let Lowered { module, mut artifact } = lowered;
    let functions = module.functions.iter().zip(built.functions);
    let compiled = functions.filter(|(function, _)| matches!(function.linkage, Linkage::Program { .. }));
    // Programs are lowered in the order of their functions, with callbacks between them.
    let mut specs = artifact.programs.iter_mut();
    for (function, compiled) in compiled {
        if let Some(spec) = specs.find(|spec| *spec.name == *function.name) {
            spec.instructions = compiled.instructions;
            spec.lines = compiled.lines;
        }
    }
    artifact.object = built.object.into();
    Ok(artifact)
}
