//! `probescope compile`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use super::script::{ScriptArgs, kernel};
use super::{CliError, World};
use crate::output::diagnostics::render_all;
use crate::session::compilation::Compiled;
use crate::session::front;

/// Compile a script to a BPF object file for this kernel.
///
/// The object is a standard ELF file with libbpf's section names, BTF-defined maps, BTF and line
/// information: bpftool and other loaders take it too.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the object goes.
    #[arg(short = 'o', long = "output", value_name = "OUT.bpf.o")]
    output: Option<PathBuf>,

    /// Print the programs: name, section, kind and number of instructions.
    #[arg(long)]
    dump: bool,

    /// Script and parameters.
    #[command(flatten)]
    script: ScriptArgs,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    if args.output.is_none() && !args.dump {
        return Err(CliError::Refused("name the object file with -o, or ask for --dump".to_owned()));
    }
    let script = args.script.read()?;
    let compilation = front::compile(&script.source, None, &script.settings(kernel()));
    let text = render_all(&script.source, &compilation.diagnostics, world.colour());
    std::io::stderr().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    let Some(compiled) = compilation.output else { return Ok(ExitCode::FAILURE) };
    if let Some(path) = &args.output {
        std::fs::write(path, &compiled.artifact.object)
            .map_err(|source| CliError::Write { path: path.display().to_string(), source })?;
    }
    if args.dump {
        std::io::stdout().write_all(dump(&compiled).as_bytes()).map_err(CliError::stdout)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn dump(compiled: &Compiled) -> String {
    let rows = compiled.artifact.programs.iter().map(|p| {
        format!("{:<16} {:<40} {:<16} {:>6} instructions\n", p.name, p.section, format!("{:?}", p.kind), p.instructions)
    });
    let maps = compiled.artifact.maps.iter().map(|m| {
        let name = compiled.program.maps.get(m.id.0 as usize).map_or("", |map| &*map.name);
        format!("{name:<16} {:?}\n", m.storage)
    });
    rows.chain(maps).collect()
}
