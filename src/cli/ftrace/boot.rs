//! `probescope ftrace boot`.

use std::io::Write as _;
use std::process::ExitCode;

use super::chosen::Chosen;
use crate::cli::{CliError, World};
use crate::stdio;
use crate::tracer::ftrace::boot::{BootPlan, Exported};
use crate::tracer::ftrace::define;

/// Write what would be traced for the next boot: nothing is set up now.
///
/// bootconfig goes into the initrd (`bootconfig -a FILE INITRD`, with the word `bootconfig` on the
/// kernel's command line) and needs CONFIG_BOOTTIME_TRACING; the command line is taken by every kernel;
/// the script loses nothing, and begins later. What a form can't say is told on standard error.
///
/// Examples:
///
///   probescope ftrace boot -e sched:sched_switch --filter 'prev_pid == 0' -D 'p vfs_read' > trace.bconf
///
///   probescope ftrace boot -e initcall -f command-line
#[derive(Debug, clap::Args)]
#[command(about = "Write what would be traced for the next boot", verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// Define an event, in the kernel's form: 'p vfs_read $arg1'.
    #[arg(short = 'D', long, value_name = "DEFINITION")]
    define: Vec<String>,
    /// Room for events, KiB a CPU.
    #[arg(long, value_name = "KB", default_value_t = 8192, value_parser = clap::value_parser!(u64).range(64..=1 << 20))]
    buffer_size: u64,
    /// In which form.
    #[arg(short = 'f', long, value_enum, default_value_t)]
    format: BootForm,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum BootForm {
    /// Bootconfig.
    #[default]
    Bootconfig,
    /// Words of the kernel's command line.
    CommandLine,
    /// A shell script with a unit for systemd.
    Script,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let kernel = crate::cli::kernel::running(world);
    let events = if args.chosen.is_empty() { Vec::new() } else { args.chosen.wanted(&kernel)? };
    let definitions = args.define.iter().enumerate().map(|(number, text)| define::read(text, 0, number));
    let definitions = definitions.collect::<Result<Vec<_>, _>>()?;
    if events.is_empty() && definitions.is_empty() {
        return Err(CliError::Refused("name events with -e, or define some with -D".to_owned()));
    }
    let plan = BootPlan { events, definitions, ring_kb: args.buffer_size };
    let Exported { text, dropped } = match args.format {
        BootForm::Bootconfig => plan.bootconfig(),
        BootForm::CommandLine => plan.command_line(),
        BootForm::Script => plan.script(),
    };
    stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    dropped.iter().for_each(|dropped| stdio::say(format_args!("probescope: not in it: {dropped}")));
    Ok(ExitCode::SUCCESS)
}
