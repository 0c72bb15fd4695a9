//! bpftrace's own command line, when the program is started under that name: a link called
//! `bpftrace` stands in for it in scripts and test harnesses.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use super::face::Buffering;
use super::run::{Args as RunArgs, Format, Runner};
use super::script::{ScriptArgs, kernel};
use super::{CliError, World};
use crate::lang::bt::Purpose;
use crate::lang::diagnostic::{Diagnostic, Severity};
use crate::lang::source::SourceText;

/// Environment variable that asks for a line on standard output when everything is attached.
const NOTIFY: &str = "__BPFTRACE_NOTIFY_PROBES_ATTACHED";

/// Options of bpftrace's `config` block that its environment sets as `BPFTRACE_` and upper case.
const SETTINGS: &[&str] = &[
    "cache_user_symbols",
    "cpp_demangle",
    "lazy_symbolication",
    "license",
    "log_size",
    "max_bpf_progs",
    "max_cat_bytes",
    "max_map_keys",
    "max_probes",
    "max_strlen",
    "missing_probes",
    "on_stack_limit",
    "perf_rb_pages",
    "print_maps_on_exit",
    "stack_mode",
    "str_trunc_trailer",
    "unstable_import",
    "unstable_tseries",
];

/// bpftrace's flags. Those that only concern its compiler are taken and ignored.
#[derive(Debug, Parser)]
#[command(name = "bpftrace", disable_version_flag = true)]
#[allow(clippy::struct_excessive_bools, reason = "flags of a command line")]
struct Cli {
    /// Run this program.
    #[arg(short = 'e', value_name = "PROGRAM")]
    program: Option<String>,
    /// List probes.
    #[arg(short = 'l')]
    list: bool,
    /// More messages; with -l, arguments of probes.
    #[arg(short = 'v')]
    verbose: bool,
    /// Run a command.
    #[arg(short = 'c', value_name = "COMMAND")]
    command: Option<String>,
    /// Limit to a process.
    #[arg(short = 'p', value_name = "PID")]
    pid: Option<u32>,
    /// Write output to a file.
    #[arg(short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Output form.
    #[arg(short = 'f', value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Buffering of output.
    #[arg(short = 'B', value_enum, default_value_t = Buffering::Line)]
    buffering: Buffering,
    /// Nothing but the script's output.
    #[arg(short = 'q', long = "quiet")]
    quiet: bool,
    /// Tell failed reads.
    #[arg(short = 'k', action = clap::ArgAction::Count)]
    keen: u8,
    /// Allow unsafe functions.
    #[arg(long = "unsafe")]
    allow_unsafe: bool,
    /// Attach, then end.
    #[arg(long)]
    dry_run: bool,
    /// No warnings.
    #[arg(long)]
    no_warnings: bool,
    /// Features of this kernel.
    #[arg(long)]
    info: bool,
    /// Print the version.
    #[arg(short = 'V', long)]
    version: bool,
    /// Debug stages: ignored.
    #[arg(short = 'd', value_name = "STAGE")]
    debug: Option<String>,
    /// Include directories: there is no C compiler to give them to.
    #[arg(short = 'I', value_name = "DIR")]
    include_dir: Vec<String>,
    /// Header files: there is no C compiler to give them to.
    #[arg(long, value_name = "FILE")]
    include: Vec<String>,
    /// Folders to look for separate debug files in.
    #[arg(long, value_name = "DIR[:DIR]", value_delimiter = ':')]
    debuginfo: Vec<PathBuf>,
    /// `bench`, `test` or `format`; its compiler's own modes end with a message.
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Run the script's `test:` probes.
    #[arg(long)]
    test: bool,
    /// Run the script's `bench:` probes.
    #[arg(long)]
    bench: bool,
    /// Only probes whose name this matches.
    #[arg(long, value_name = "REGEX")]
    probe_filter: Option<regex::Regex>,
    /// Ignored: there is no LLVM.
    #[arg(long, hide = true)]
    verify_llvm_ir: bool,
    /// Ignored.
    #[arg(long, hide = true, value_name = "NAMES")]
    no_feature: Option<String>,
    /// Ignored.
    #[arg(long, hide = true)]
    usdt_file_activation: bool,
    /// Script and parameters.
    #[arg(value_name = "FILE|PARAMETER", trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// True when the program was started under bpftrace's name.
#[must_use]
pub fn is_asked_for(arguments: &[OsString]) -> bool {
    let name = arguments.first().map(PathBuf::from);
    name.and_then(|n| n.file_name().map(|f| f == "bpftrace")).unwrap_or(false)
}

/// Runs as bpftrace would.
pub fn main(arguments: &[OsString], world: &World) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    let world = World { debug_roots: cli.debuginfo.clone(), ..world.clone() };
    match run(cli, &world) {
        Ok(code) => code,
        Err(CliError::Write { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "ERROR: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli, world: &World) -> Result<ExitCode, CliError> {
    if cli.version {
        let text = format!("bpftrace v0.27.1 (probescope {})\n", env!("CARGO_PKG_VERSION"));
        std::io::stdout().write_all(text.as_bytes()).map_err(CliError::stdout)?;
        return Ok(ExitCode::SUCCESS);
    }
    if cli.info {
        return info();
    }
    if cli.list {
        return list(&cli, world);
    }
    let purpose = purpose(&cli)?;
    let script = ScriptArgs { program: cli.program, rest: cli.rest };
    let args = RunArgs {
        format: cli.format,
        output: cli.output,
        command: cli.command,
        pid: cli.pid,
        quiet: cli.quiet,
        keen: cli.keen > 0 || cli.verbose,
        buffering: cli.buffering,
        allow_unsafe: cli.allow_unsafe,
        dry_run: cli.dry_run,
        test: purpose == Purpose::Test,
        bench: purpose == Purpose::Bench,
        probe_filter: cli.probe_filter,
        config: Vec::new(),
        script,
    };
    let read = args.script.read()?;
    let warnings = !cli.no_warnings;
    let shown = move |found: &[Diagnostic], source: &SourceText| diagnostics(found, source, warnings);
    let announce = world.variable(NOTIFY).is_some();
    Runner { args: &args, world, script: &read, shown: &shown, overrides: overrides(world), announce }.run()
}

/// What `--mode`, `--test` and `--bench` ask for.
fn purpose(cli: &Cli) -> Result<Purpose, CliError> {
    match cli.mode.as_deref() {
        Some("test") => Ok(Purpose::Test),
        Some("bench") => Ok(Purpose::Bench),
        Some(mode @ ("codegen" | "compiler-bench" | "format")) => Err(CliError::Refused(format!(
            "--mode {mode} is not supported: `probescope compile` and `probescope fmt` do this"
        ))),
        Some(_) => Err(CliError::Refused(
            "USAGE: --mode can only be 'codegen', 'compiler-bench', 'bench', 'test' or 'format'.".to_owned(),
        )),
        None if cli.test => Ok(Purpose::Test),
        None if cli.bench => Ok(Purpose::Bench),
        None => Ok(Purpose::Trace),
    }
}

/// Settings from the environment, which win over the script's.
fn overrides(world: &World) -> Vec<(String, String)> {
    let of = |name: &&str| {
        let value = world.variable(&format!("BPFTRACE_{}", name.to_ascii_uppercase()))?;
        Some(((*name).to_owned(), value.to_owned()))
    };
    SETTINGS.iter().filter_map(of).collect()
}

/// Diagnostics in bpftrace's form: place, severity, message, the line, a mark.
fn diagnostics(found: &[Diagnostic], source: &SourceText, warnings: bool) -> String {
    let mut text = String::new();
    for diagnostic in found.iter().filter(|d| warnings || d.severity == Severity::Error) {
        let word = match diagnostic.severity {
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
            Severity::Info => "INFO",
        };
        if diagnostic.span.start == diagnostic.span.end {
            // It is about the script as a whole.
            text.push_str(&format!("{word}: {}\n", diagnostic.message));
            if let Some(help) = &diagnostic.help {
                text.push_str(&format!("HINT: {help}\n"));
            }
            continue;
        }
        let (start, end) = (source.position(diagnostic.span.start), source.position(diagnostic.span.end));
        let columns =
            if start.line == end.line { format!("{}-{}", start.column, end.column) } else { start.column.to_string() };
        let line = source.line(start.line);
        let width = if start.line == end.line { end.column.saturating_sub(start.column).max(1) } else { 1 };
        text.push_str(&format!(
            "{}:{}:{columns}: {word}: {}\n{line}\n{}{}\n",
            source.name,
            start.line,
            diagnostic.message,
            " ".repeat(start.column.saturating_sub(1) as usize),
            "~".repeat(width as usize),
        ));
        if let Some(help) = &diagnostic.help {
            text.push_str(&format!("HINT: {help}\n"));
        }
    }
    text
}

/// Probes that a pattern means, or every probe; with `-v` their arguments.
fn list(cli: &Cli, world: &World) -> Result<ExitCode, CliError> {
    let pattern = cli.rest.first().cloned();
    super::list::run(&super::list::Args { pattern, verbose: cli.verbose, fuzzy: false, all: false }, world)
}

/// What the kernel offers, in the lines that harnesses look for.
fn info() -> Result<ExitCode, CliError> {
    let kernel = kernel();
    let facts = kernel.target_facts(None, 0);
    let yes = |b: bool| if b { "yes" } else { "no" };
    let rows = [
        ("btf", facts.btf),
        ("get_attach_cookie", facts.attach_cookie),
        ("for_each_map_elem", facts.for_each_map_elem),
        ("bpf_loop", facts.bpf_loop),
        ("get_func_ip", facts.attach_cookie),
        ("dpath", facts.d_path),
        ("ktime_get_boot_ns", facts.ktime_boot),
        ("get_tai_ns", facts.ktime_tai),
        ("map_lookup_percpu_elem", facts.map_lookup_percpu),
    ];
    let mut text = String::from("Kernel features\n");
    for (name, there) in rows {
        text.push_str(&format!("  {name}: {}\n", yes(there)));
    }
    std::io::stdout().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides() {
        assert!(is_asked_for(&["/usr/bin/bpftrace".into()]));
        assert!(!is_asked_for(&["probescope".into(), "bpftrace".into()]));
        assert!(!is_asked_for(&[]));
    }

    #[test]
    fn settings_come_from_the_environment() {
        let world = World {
            environment: vec![("BPFTRACE_MAX_STRLEN".into(), "32".into()), ("BPFTRACE_X".into(), "1".into())],
            ..World::default()
        };
        assert_eq!(overrides(&world), [("max_strlen".to_owned(), "32".to_owned())]);
    }
}
