//! `probescope compile`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use super::script::ScriptArgs;
use super::{CliError, World};
use crate::codegen::dump;
use crate::disk::{self, Readers};
use crate::kernel::target::TargetFacts;
use crate::lang::front_end;
use crate::lang::source::SourceText;
use crate::lang::typed::dump as types;
use crate::output::diagnostics::render_all;
use crate::session::front;
use crate::stdio;
use crate::tracer::script::compilation::Compiled;

/// Compile a script to a BPF object file for this kernel.
///
/// The object is a standard ELF file with libbpf's section names, BTF-defined maps, BTF and line
/// information: bpftool and other loaders take it too.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the object goes.
    #[arg(short = 'o', long = "output", value_name = "OUT.bpf.o")]
    output: Option<PathBuf>,

    /// Print what a stage of the compiler makes of the script.
    #[arg(long, value_enum, value_name = "STAGE", value_delimiter = ',')]
    emit: Vec<Stage>,

    /// Leave the brake out, which turns programs off whose loops take a CPU away.
    #[arg(long)]
    no_brake: bool,

    /// Script and parameters.
    #[command(flatten)]
    script: ScriptArgs,
}

/// What can be printed of a compiled script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Stage {
    /// The syntax tree.
    Ast,
    /// Types of all maps and variables.
    Typed,
    /// Intermediate code, as lowering writes it.
    Ir,
    /// Intermediate code, as the passes leave it to the register allocator.
    Passes,
    /// Machine code with the script's lines between.
    Asm,
    /// The object's programs, and where each map lies in it.
    Object,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    if args.output.is_none() && args.emit.is_empty() {
        return Err(CliError::Refused("name the object file with -o, or ask for a stage with --emit".to_owned()));
    }
    let script = args.script.read()?;
    let kernel = super::kernel::running(world);
    let mut settings = script.settings(Arc::clone(&kernel));
    settings.for_other_loaders = true;
    settings.brake = !args.no_brake && world.config.trace.brake != Some(false);
    let compilation = front::compile(&script.source, None, &settings);
    let text = render_all(&script.source, &compilation.diagnostics, world.colour());
    stdio::err().styled().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    let Some(compiled) = compilation.output else { return Ok(ExitCode::FAILURE) };
    if let Some(path) = &args.output {
        disk::write(path, &compiled.artifact.object, Readers::Everyone).map_err(|e| CliError::write(path, e))?;
    }
    let mut facts = kernel.target_facts(None, 0);
    facts.brake = settings.brake;
    for stage in &args.emit {
        let text = print(*stage, &compiled, &facts, &script.source)?;
        stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(stage: Stage, compiled: &Compiled, facts: &TargetFacts, source: &SourceText) -> Result<String, CliError> {
    let text = match stage {
        Stage::Ast => Ok(front_end(source).tree(source)),
        Stage::Typed => Ok(types::dump(&compiled.program)),
        Stage::Ir => dump::ir(&compiled.program, facts),
        Stage::Passes => dump::passes(&compiled.program, facts),
        Stage::Asm => dump::code(&compiled.program, facts, source),
        Stage::Object => Ok(table(compiled)),
    };
    // The script compiled a moment ago, so this is no mistake of the user's.
    text.map_err(|e| CliError::Refused(e.to_string()))
}

fn table(compiled: &Compiled) -> String {
    let rows = compiled.artifact.programs.iter().map(|p| {
        format!("{:<16} {:<40} {:<16} {:>6} instructions\n", p.name, p.section, format!("{:?}", p.kind), p.instructions)
    });
    let maps = compiled.artifact.maps.iter().map(|m| {
        let name = compiled.program.maps.get(m.id.0 as usize).map_or("", |map| &*map.name);
        format!("{name:<16} {:?}\n", m.storage)
    });
    rows.chain(maps).collect()
}
