//! DTrace's own command line, as `probescope dtrace` and when the program is started under the name `dtrace`.

mod options;
mod preprocess;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use super::destination::Destination;
use super::face::{Settings, StreamFace};
use super::script::read_file;
use super::{CliError, World, signals};
use crate::engine::TraceOptions;
use crate::engine::attach::Place;
use crate::kernel::Kernel;
use crate::lang::codes::d::tag;
use crate::lang::d::{self, DOptions, Macros, front, listing};
use crate::lang::diagnostic::Diagnostic;
use crate::lang::facts::kernel::KernelFacts;
use crate::lang::front::Checked;
use crate::lang::source::SourceText;
use crate::model::d::Style;
use crate::model::d::options::Options as Said;
use crate::output::OutputFormat;
use crate::session::front as session_front;
use crate::session::headless::Headless;
use crate::stdio;
use crate::tracer::TracerError;
use crate::tracer::script::child::Held;
use crate::tracer::script::compilation::Compiled;
use crate::tracer::script::names::Sources;
use crate::tracer::script::{ScriptRun, ScriptTracer, info};
use options::{Options, Refused, Source};

/// Environment variable of D's own tests: the columns of processors and numbers are left out.
const TESTING: &str = "_DTRACE_TESTING";

/// Run a program of DTrace's language, by DTrace's own command line.
///
/// Known are -n -f -P -m -s with programs, -l to list what they match, -c and -p for processes, -q
/// -F -o for output, -x for options, -C -D -U -I -H -X for the C preprocessor, -Z for probes that
/// may be missing, -e to compile only, -w for what changes the system. What is not known is refused
/// with the reason.
///
/// Example:
///
///   probescope dtrace -n 'syscall::openat:entry { @[execname] = count(); }'
#[derive(Debug, clap::Args)]
#[command(
    about = "Run a program of DTrace's language, by its own command line",
    verbatim_doc_comment,
    disable_help_flag = true
)]
pub struct Args {
    /// DTrace's flags, programs and their arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAG|ARGUMENT")]
    pub words: Vec<String>,
}

/// True when the program was started under DTrace's name.
#[must_use]
pub fn is_asked_for(arguments: &[OsString]) -> bool {
    let name = arguments.first().map(PathBuf::from);
    name.and_then(|n| n.file_name().map(|f| f == "dtrace")).unwrap_or(false)
}

/// Runs as DTrace would.
#[must_use]
pub fn main(words: &[String], world: &World) -> ExitCode {
    let told = |text: &str| {
        stdio::say(format_args!("dtrace: {text}"));
    };
    let options = match Options::read(words) {
        Ok(options) => options,
        Err(Refused { why, usage: false }) => {
            told(&why);
            return ExitCode::FAILURE;
        }
        Err(Refused { why, .. }) => {
            told(&why);
            let _ = stdio::err().write_all(options::USAGE.as_bytes());
            return ExitCode::from(2);
        }
    };
    if options.version {
        println_out(&format!("dtrace: D 2.0 (probescope {})\n", env!("CARGO_PKG_VERSION")));
        return ExitCode::SUCCESS;
    }
    match run(&options, world) {
        Ok(code) => code,
        Err(CliError::Write { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            told(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn println_out(text: &str) {
    let _ = stdio::out().write_all(text.as_bytes());
}

/// The program's text, and how messages name it.
struct Program {
    source: SourceText,
    /// `script 'x.d'` or `description 'BEGIN'`.
    what: String,
    of_command_line: bool,
}

fn program(options: &Options) -> Result<Program, CliError> {
    let mut text = String::new();
    let mut what = None;
    let mut of_command_line = true;
    let mut name = "stdin".to_owned();
    for source in &options.sources {
        match source {
            Source::File(path) => {
                text.push_str(&prepared(&read_file(path)?.text, options, &format!("script {path}"))?);
                of_command_line = false;
                name.clone_from(path);
                what.get_or_insert_with(|| format!("script '{path}'"));
            }
            Source::Clause { text: clause, shown } => {
                text.push_str(&prepared(clause, options, &format!("description '{shown}'"))?);
                what.get_or_insert_with(|| format!("description '{shown}'"));
            }
        }
        text.push('\n');
    }
    let what = match what {
        Some(what) => what,
        None if options.list => {
            text.push_str(":::");
            "description ':::'".to_owned()
        }
        None => return Err(CliError::Refused("no probes specified".to_owned())),
    };
    if options.sources.len() == 1 {
        // A line break of its own would be one more line.
        text.pop();
    }
    Ok(Program { source: SourceText::new(&name, &text), what, of_command_line })
}

fn prepared(text: &str, options: &Options, what: &str) -> Result<String, CliError> {
    if options.set.cpp { preprocess::preprocess(text, &options.set, what) } else { Ok(text.to_owned()) }
}

/// Probes by their numbers, which are those that they have in records of this program; with `-v` also what they tell. What
/// the descriptions name and this kernel can't have stands behind them, each with its reason.
fn list(program: &Program, checked: &Checked, options: &Options, kernel: &Kernel) -> ExitCode {
    let facts = KernelFacts::new(kernel, None, options.set.destructive);
    let mut out = listing::head();
    out.push_str(&listing::probes(&checked.program, options.verbose, &facts));
    out.push_str(&listing::absent(&program.source.text, &macros(program, options, None), &facts));
    println_out(&out);
    if checked.program.probe_names.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn run(options: &Options, world: &World) -> Result<ExitCode, CliError> {
    if options.verbose && !options.list {
        return Err(CliError::Refused(
            "-v tells how stable the interfaces are that a program uses, which are not graded here".to_owned(),
        ));
    }
    let program = program(options)?;
    let kernel = super::kernel::running(world);
    let child = options.command.as_deref().map(Held::start).transpose();
    let child = child.map_err(|e| CliError::Refused(format!("failed to create process: {e}")))?;
    if let Some(pid) = options.pid.filter(|pid| !std::path::Path::new("/proc").join(pid.to_string()).exists()) {
        return Err(CliError::Refused(format!("failed to grab pid {pid}: no such process")));
    }
    let target = child.as_ref().map(Held::pid).or(options.pid);
    let short = world.variable(TESTING).is_some();
    let held = child.as_ref().map(|child| (child.pid(), child.program().to_string_lossy().into_owned()));
    let (checked, set) = compile(&program, options, &kernel, (target, held), short);
    let quiet = checked.program.style.quiet;
    let matched = checked.program.matched;
    let plural = if matched == 1 { "" } else { "s" };
    let told_matched = || {
        if !quiet {
            stdio::say(format_args!("dtrace: {} matched {matched} probe{plural}", program.what));
        }
    };
    if let Some(error) = front::first_error(&checked.diagnostics) {
        if let Some(why) = refused_when_enabled(error) {
            told_matched();
            return Err(CliError::Refused(format!("could not enable tracing: {why}")));
        }
        told_error(&program, error, set.errtags);
        return Ok(ExitCode::FAILURE);
    }
    if set.empty && matched == 0 && !options.list && !options.compile_only {
        told_matched();
        return Err(CliError::Refused("no probes matched".to_owned()));
    }
    if options.list {
        return Ok(list(&program, &checked, options, &kernel));
    }
    let compilation = session_front::generate(&program.source, checked, target, &kernel);
    if let Some(error) = front::first_error(&compilation.diagnostics) {
        told_error(&program, error, set.errtags);
        return Ok(ExitCode::FAILURE);
    }
    let Some(compiled) = compilation.output else { return Ok(ExitCode::FAILURE) };
    if options.compile_only {
        return Ok(ExitCode::SUCCESS);
    }
    told_matched();
    if set.destructive && !quiet {
        let _ = stdio::err().write_all(b"dtrace: allowing destructive actions\n");
    }
    let output = options.output.as_deref().map_or_else(|| Destination::open(None), Destination::append)?;
    let code = trace(options, &output, &kernel, &compiled, program.source, child);
    match code {
        Ok(code) => output.finish().map(|()| ExitCode::from(code as u8)),
        Err(TracerError::Write(_)) => output.finish().map(|()| ExitCode::FAILURE),
        Err(error) => Err(CliError::Refused(format!("could not enable tracing: {error}"))),
    }
}

/// What macro variables of a program stand for.
fn macros(program: &Program, options: &Options, target: Option<u32>) -> Macros {
    let mut macros = Macros { defaults: options.set.defaultargs, ..Macros::default() };
    macros.arguments.push(program.source.name.to_string());
    macros.arguments.extend(options.arguments.iter().cloned());
    macros.named.extend(front::ids());
    // Without a process of -c or -p it is 0, which none is.
    macros.named.insert("target", target.map_or(0, i64::from));
    macros
}

fn compile(
    program: &Program,
    options: &Options,
    kernel: &Arc<Kernel>,
    (target, held): (Option<u32>, Option<(u32, String)>),
    short: bool,
) -> (Checked, Said) {
    let facts = KernelFacts::new(kernel, None, options.set.destructive).with_held(held);
    let compiled = DOptions {
        macros: macros(program, options, target),
        options: options.set.clone(),
        of_command_line: program.of_command_line,
        style: Style { short, quiet: options.set.quiet, ..Style::default() },
        wall_minus_monotonic_ns: front::wall_minus_monotonic_ns(),
        facts: &facts,
    };
    d::compile(&program.source.text, &compiled)
}

/// What the reference tells only when it enables a program.
fn refused_when_enabled(error: &Diagnostic) -> Option<&str> {
    use crate::lang::codes::d::{D_BUFFERS, D_DESTRUCTIVE};
    match error.code {
        D_DESTRUCTIVE => Some("Destructive actions not allowed"),
        D_BUFFERS => Some(&error.message),
        _ => None,
    }
}

fn told_error(program: &Program, error: &Diagnostic, tags: bool) {
    let tag = tag(error.code).filter(|_| tags).map_or_else(String::new, |t| format!("[{t}] "));
    let line = program.source.position(error.span.start).line;
    let place = if error.span.end == 0 { String::new() } else { format!("line {line}: ") };
    let what = if let Some(name) = program.what.strip_prefix("script '") {
        format!("failed to compile script {}", name.trim_end_matches('\''))
    } else {
        let name = program.what.strip_prefix("description '").unwrap_or("").trim_end_matches('\'');
        format!("invalid probe specifier {name}")
    };
    let message = crate::model::render::neutralise(&error.message).replace("\\n", "\n");
    stdio::say(format_args!("dtrace: {what}: {tag}{place}{message}"));
}

fn trace(
    options: &Options,
    output: &Destination,
    kernel: &Arc<Kernel>,
    compiled: &Compiled,
    source: SourceText,
    child: Option<Held>,
) -> Result<i32, TracerError> {
    let headless = Headless::default();
    let run = ScriptRun {
        info: info::of(&compiled.program, &source, kernel),
        options: TraceOptions { place: Place::new(kernel, None), measure: false, budget: None },
        names: Sources::of_kernel(kernel, &compiled.program),
        child,
        attach_only: false,
        reports_maps: true,
        stopping: headless.stopping(),
        ends_with: options.pid,
        as_peer: true,
    };
    signals::watch(headless.remote())?;
    let settings = Settings::plain(OutputFormat::Text, output.is_terminal(), true);
    let mut face = StreamFace::new(settings, source, output.hand());
    headless.run(ScriptTracer::new(compiled.clone(), run), &mut face)
}

/// Runs the subcommand.
pub fn command(args: &Args, world: &World) -> ExitCode {
    main(&args.words, world)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides() {
        assert!(is_asked_for(&["/usr/sbin/dtrace".into()]));
        assert!(!is_asked_for(&["probescope".into(), "dtrace".into()]));
    }
}
