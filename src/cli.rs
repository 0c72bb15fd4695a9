//! The command line: one file per subcommand.
//!
//! Data goes to standard output, everything else to standard error. Exit codes: 0 success, 1 the
//! script or the request failed, 2 the command line was wrong (clap's own).

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::kernel::Feature;
use crate::model::render::neutralise_bytes;
use crate::stdio;

pub mod ask;
pub mod bpftrace;
pub mod check;
pub mod compile;
pub mod completions;
pub mod config;
pub mod demo;
pub mod destination;
pub mod doctor;
pub mod dtrace;
pub mod excerpt;
pub mod explain;
pub mod export;
pub mod face;
pub mod fmt;
pub mod follow;
pub mod ftrace;
pub mod kernel;
pub mod latency;
pub mod learn;
pub mod lens;
pub mod list;
pub mod load;
pub mod lsp;
pub mod man;
pub mod process;
pub mod programs;
pub mod record;
pub mod replay;
pub mod run;
pub mod screenshots;
pub mod script;
pub mod signals;
pub mod testing;
pub mod tracing;
pub mod vitals;
pub mod why_failed;
pub mod workbench;
pub mod xray;

/// An interactive tracing workbench for the Linux terminal.
///
/// Without a subcommand the workbench opens: type to find a probe, write a script, save, and watch
/// it trace the running kernel. Scripts are bpftrace's language, compiled straight to BPF.
///
/// Tracing needs root, or the capabilities CAP_BPF and CAP_PERFMON, and CAP_DAC_READ_SEARCH to read
/// tracefs.
#[derive(Debug, Parser)]
#[command(name = "probescope", version, max_term_width = 100, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do; the workbench opens when nothing is named.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Folders to look for separate debug files in, before /usr/lib/debug.
    #[arg(long, global = true, value_name = "DIR[:DIR]", value_delimiter = ':')]
    pub debuginfo: Vec<PathBuf>,
    /// Read this configuration in place of config.toml in ~/.config/probescope (see `probescope config`).
    #[arg(long, global = true, value_name = "FILE")]
    pub config_file: Option<PathBuf>,
    /// The workbench's own options.
    #[command(flatten)]
    pub workbench: workbench::Args,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
#[allow(missing_docs, reason = "each is documented at its arguments, which is what --help shows")]
pub enum Command {
    Run(run::Args),
    Replay(replay::Args),
    Record(record::Args),
    Export(export::Args),
    Demo(demo::Args),
    Check(check::Args),
    Compile(compile::Args),
    Explain(explain::Args),
    List(list::Args),
    Load(load::Args),
    Doctor(doctor::Args),
    Config(config::Args),
    Dtrace(dtrace::Args),
    Completions(completions::Args),
    Man(man::Args),
    Fmt(fmt::Args),
    Lsp(lsp::Args),
    Screenshots(screenshots::Args),
    Ask(ask::Args),
    Vitals(vitals::Args),
    Latency(latency::Args),
    Learn(learn::Args),
    Ftrace(ftrace::Args),
    WhyFailed(why_failed::Args),
    Follow(follow::Args),
    Lens(lens::Args),
    Xray(xray::Args),
    Programs(programs::Programs),
    Maps(programs::Maps),
}

/// What the process is given from outside: read here, once, and passed in as values.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Environment variables that are valid UTF-8.
    pub environment: Vec<(String, String)>,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// Folders to look for debug files in, before the distribution's.
    pub debug_roots: Vec<PathBuf>,
    /// The kernel functions that can be traced, in a file of the form of tracefs's own list.
    pub function_list: Option<PathBuf>,
    /// What the kernel offers and is not to be used.
    pub unused: Vec<Feature>,
    /// The configuration file that was asked for.
    pub config_file: Option<PathBuf>,
    /// What the configuration says.
    pub config: config::Config,
    /// Standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Standard error is a terminal.
    pub stderr_is_terminal: bool,
}

impl World {
    /// The running process's world.
    #[must_use]
    pub fn of_process() -> Self {
        Self {
            environment: std::env::vars_os()
                .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
                .collect(),
            home: std::env::var_os("HOME").map(PathBuf::from),
            debug_roots: Vec::new(),
            function_list: None,
            unused: Vec::new(),
            config_file: None,
            config: config::Config::default(),
            stdout_is_terminal: stdio::out_is_terminal(),
            stderr_is_terminal: stdio::err_is_terminal(),
        }
    }

    /// An environment variable, when set.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.iter().find(|(k, _)| k == name).map(|(_, v)| v.as_str())
    }

    /// Whether messages may be coloured: a terminal, and `NO_COLOR` is not set.
    #[must_use]
    pub fn colour(&self) -> bool {
        self.stderr_is_terminal && self.variable("NO_COLOR").is_none_or(str::is_empty)
    }
}

/// Why a subcommand failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file or standard output could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The request makes no sense or cannot be served; in plain words.
    #[error("{0}")]
    Refused(String),
}

impl CliError {
    /// A file could not be written.
    #[must_use]
    pub fn write(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Write { path: path.display().to_string(), source }
    }

    /// Writing to standard output failed.
    #[must_use]
    pub fn stdout(source: std::io::Error) -> Self {
        Self::Write { path: "standard output".to_owned(), source }
    }
}

/// Parses the arguments, runs the subcommand, reports its error.
#[must_use]
pub fn main(arguments: Vec<OsString>, world: &World) -> ExitCode {
    if bpftrace::is_asked_for(&arguments) {
        return bpftrace::main(&arguments, world);
    }
    if dtrace::is_asked_for(&arguments) {
        let words: Vec<String> = arguments.iter().skip(1).map(|a| script::held(a)).collect();
        return dtrace::main(&words, world);
    }
    let arguments = command_first(arguments);
    let latency = arguments.get(1).is_some_and(|word| word == "latency");
    let words = arguments.clone();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            tell_usage(&error, &words, world);
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            // There, as with rtla, 2 says that a threshold was passed.
            return ExitCode::from(if latency { code.min(1) } else { code });
        }
    };
    let world = match configured(&cli, world) {
        Ok(world) => world,
        Err(error) => {
            stdio::say(format_args!("probescope: {error}"));
            return ExitCode::FAILURE;
        }
    };
    match dispatch(cli, &world) {
        Ok(code) => code,
        Err(CliError::Write { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            stdio::say(format_args!("probescope: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Help, the version, or what is wrong with the command line. It quotes the words that are wrong: these stand in it as
/// they may be shown, and so all that is coloured is ours.
fn tell_usage(error: &clap::Error, words: &[OsString], world: &World) {
    let safe = words.iter().map(|word| neutralise_bytes(word.as_encoded_bytes()).into_owned());
    let quoting = Cli::try_parse_from(safe).err().filter(|again| again.kind() == error.kind());
    let (mut stream, terminal) = if error.use_stderr() {
        (stdio::err().styled(), world.stderr_is_terminal)
    } else {
        (stdio::out().styled(), world.stdout_is_terminal)
    };
    let text = quoting.as_ref().unwrap_or(error).render();
    let colour = terminal && world.variable("NO_COLOR").is_none_or(str::is_empty);
    let text = if colour { text.ansi().to_string() } else { text.to_string() };
    let _ = stream.write_all(text.as_bytes());
}

/// Puts options of every subcommand that stand before one behind its name (`--config-file F run …`): the parser takes
/// what stands there as the workbench's, whose operand is a file.
fn command_first(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let cli = Cli::command();
    let globals: Vec<String> = cli
        .get_arguments()
        .filter(|a| a.is_global_set())
        .filter_map(|a| Some(format!("--{}", a.get_long()?)))
        .collect();
    let mut at = 1;
    while let Some(word) = arguments.get(at).and_then(|word| word.to_str()) {
        let (name, has_value) = word.split_once('=').map_or((word, false), |(name, _)| (name, true));
        if !globals.iter().any(|global| global == name) {
            break;
        }
        at += if has_value { 1 } else { 2 };
    }
    let is_command = |word: &OsString| cli.get_subcommands().any(|c| word.to_str() == Some(c.get_name()));
    if at > 1 && arguments.get(at).is_some_and(is_command) {
        arguments[1..=at].rotate_right(1);
    }
    arguments
}

/// The world with what the configuration says. The workbench opens in spite of one that is wrong, and tells of it;
/// scripts do not run unattended on options that nobody meant; everything else needs none, and says so.
fn configured(cli: &Cli, world: &World) -> Result<World, config::ConfigError> {
    let asked = cli.config_file.clone().or_else(|| world.variable("PROBESCOPE_CONFIG").map(PathBuf::from));
    let mut world = World { debug_roots: cli.debuginfo.clone(), config_file: asked, ..world.clone() };
    match (config::apply(&world), &cli.command) {
        (Ok(config), _) => world.config = config,
        // The workbench shows it, and `config` is asked about it.
        (Err(_), None | Some(Command::Config(_))) => {}
        (Err(error), Some(Command::Run(_) | Command::Check(_) | Command::Compile(_))) => return Err(error),
        (Err(error), _) => stdio::say(format_args!("probescope: {error}\nprobescope: the defaults hold in its place")),
    }
    if world.debug_roots.is_empty() {
        world.debug_roots.clone_from(&world.config.trace.debuginfo);
    }
    Ok(world)
}

fn dispatch(cli: Cli, world: &World) -> Result<ExitCode, CliError> {
    match cli.command {
        None => workbench::run(&cli.workbench, world),
        Some(Command::Run(args)) => run::run(&args, world),
        Some(Command::Replay(args)) => replay::run(&args, world),
        Some(Command::Record(args)) => record::run(&args),
        Some(Command::Export(args)) => export::run(&args, world),
        Some(Command::Demo(args)) => demo::run(&args, world),
        Some(Command::Check(args)) => check::run(&args, world),
        Some(Command::Compile(args)) => compile::run(&args, world),
        Some(Command::Explain(args)) => explain::run(&args),
        Some(Command::List(args)) => list::run(&args, world),
        Some(Command::Load(args)) => load::run(&args),
        Some(Command::Config(args)) => config::run(&args, world),
        Some(Command::Doctor(args)) => doctor::run(&args, world),
        Some(Command::Dtrace(args)) => Ok(dtrace::command(&args, world)),
        Some(Command::Man(args)) => man::run(&args),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Fmt(args)) => fmt::run(&args, world),
        Some(Command::Lsp(args)) => lsp::run(&args, world),
        Some(Command::Screenshots(args)) => screenshots::run(&args),
        Some(Command::Ask(args)) => ask::run(&args, world),
        Some(Command::Vitals(args)) => vitals::run(&args, world),
        Some(Command::Latency(args)) => latency::run(&args, world),
        Some(Command::Learn(args)) => learn::run(&args, world),
        Some(Command::Ftrace(args)) => ftrace::run(&args, world),
        Some(Command::Follow(args)) => follow::run(&args, world),
        Some(Command::WhyFailed(args)) => why_failed::run(&args, world),
        Some(Command::Xray(args)) => xray::run(&args, world),
        Some(Command::Lens(args)) => lens::run(&args, world),
        Some(Command::Programs(args)) => programs::run(&args, world),
        Some(Command::Maps(args)) => programs::run_maps(&args, world),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_keep_their_lines_fit_the_help() {
        let mut command = Cli::command();
        command.build();
        for subcommand in command.get_subcommands() {
            let name = subcommand.get_name();
            let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.ends_with('.') && about.chars().count() <= 86, "{name}: {about}");
            let long = subcommand.get_long_about().map(ToString::to_string).unwrap_or_default();
            // clap breaks longer ones once more, and leaves a word on a line of its own.
            for paragraph in long.split("\n\n").filter(|p| p.contains('\n')) {
                assert!(paragraph.lines().all(|line| line.chars().count() <= 100), "{name}: {paragraph}");
            }
        }
    }
}
