//! bpftrace's own command line, when the program is started under that name: a link called
//! `bpftrace` stands in for it in scripts and test harnesses.

mod headers;
mod info;
mod listing;
mod options;
mod usage;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use super::excerpt;
use super::run::{Args as RunArgs, Runner};
use super::script::{Script, ScriptArgs, held};
use super::{CliError, World};
use crate::disk;
use crate::lang::bt::settings;
use crate::lang::codes::check::DISTINCT_POINTERS;
use crate::lang::diagnostic::{Code, Diagnostic, Severity};
use crate::lang::source::{SourceText, Span};
use crate::stdio;
use options::{Mode, OptionError, Options, Stage};

/// Environment variable that asks for a line on standard output when everything is attached.
const NOTIFY: &str = "__BPFTRACE_NOTIFY_PROBES_ATTACHED";

/// The exit code when a header is missing.
const NO_HEADER: u8 = 2;

/// True when the program was started under bpftrace's name.
#[must_use]
pub fn is_asked_for(arguments: &[OsString]) -> bool {
    let name = arguments.first().map(PathBuf::from);
    name.and_then(|n| n.file_name().map(|f| f == "bpftrace")).unwrap_or(false)
}

/// Runs as bpftrace would.
pub fn main(arguments: &[OsString], world: &World) -> ExitCode {
    let words: Vec<String> = arguments.iter().skip(1).map(|a| held(a)).collect();
    let options = match Options::read(&words) {
        Ok(options) => options,
        Err(error) => return refuse(&error),
    };
    let world = World {
        debug_roots: options.debug_roots.clone(),
        function_list: options.function_list.clone(),
        unused: options.unused.clone(),
        ..world.clone()
    };
    match run(options, &world) {
        Ok(code) => code,
        Err(CliError::Write { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(CliError::Read { path, source }) => {
            let text = words_of(&source);
            stdio::say(format_args!("ERROR: failed to open file '{path}': {text}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            stdio::say(format_args!("ERROR: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Says why a command line makes no sense.
fn refuse(error: &OptionError) -> ExitCode {
    let mut text = error.to_string();
    if !text.is_empty() {
        text.push('\n');
    }
    if error.shows_usage() {
        text.push_str(usage::TEXT);
    }
    let _ = stdio::err().styled().write_all(text.as_bytes());
    ExitCode::FAILURE
}

/// The C library's words for an error, without the number that Rust adds.
fn words_of(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

fn run(options: Options, world: &World) -> Result<ExitCode, CliError> {
    if options.help {
        return say(usage::TEXT);
    }
    if options.version {
        return say(&format!("bpftrace v0.27.1 (probescope {})\n", env!("CARGO_PKG_VERSION")));
    }
    if options.info {
        return say(&info::text(&super::kernel::running(world)));
    }
    check_process(&options)?;
    if options.list && listing::is_pattern(&options) {
        // One search is all that there is room for.
        return if options.rest.len() > 1 {
            Ok(refuse(&OptionError::Nothing))
        } else {
            listing::pattern(&options, world)
        };
    }
    if options.program.as_deref().map_or(options.rest.is_empty(), str::is_empty) {
        return Ok(refuse(&OptionError::NoScript));
    }
    check_output(&options)?;
    let script = script(&options)?;
    let warnings = !options.no_warnings;
    let shown = move |found: &[Diagnostic], source: &SourceText| diagnostics(found, source, warnings);
    if options.mode == Mode::Format {
        return format(&script, &shown);
    }
    if options.list {
        return listing::of_script(&script, &options, world, &shown);
    }
    if let Some(text) = headers::missing(&script.source, &options.includes, &options.include_dirs) {
        let _ = stdio::err().styled().write_all(text.as_bytes());
        return Ok(ExitCode::from(NO_HEADER));
    }
    let announce = world.variable(NOTIFY).is_some();
    let args = run_args(&options);
    let stages = stages(&options.debug);
    let runner = Runner {
        args: &args,
        world,
        script: &script,
        shown: &shown,
        defaults: settings::UNDER_ITS_NAME,
        overrides: overrides(world),
        announce,
        like_bpftrace: true,
        maps: None,
    };
    if !stages.is_empty() || options.mode == Mode::Codegen || options.emit_elf.is_some() {
        let compiled_only = !stages.is_empty() || options.mode == Mode::Codegen;
        let done = runner.show_stages(&stages, options.emit_elf.as_deref())?;
        if compiled_only || done != ExitCode::SUCCESS {
            return Ok(done);
        }
    }
    runner.run()
}

/// Refuses a process of `-p` that is gone.
fn check_process(options: &Options) -> Result<(), CliError> {
    let gone = |pid: u32| {
        rustix::process::Pid::from_raw(pid as i32).is_none_or(|p| rustix::process::test_kill_process(p).is_err())
    };
    if options.pid.is_some_and(gone) {
        let message = "Failed to attach to pid: Unable to open pidfd (No such process)";
        return Err(CliError::Refused(message.into()));
    }
    Ok(())
}

/// Refuses a file of `-o` that can't be written, before anything is compiled.
fn check_output(options: &Options) -> Result<(), CliError> {
    let Some(path) = &options.output else { return Ok(()) };
    let failed = |e| CliError::Refused(format!("Failed to open output file: \"{}\": {}", path.display(), words_of(&e)));
    disk::may_write(path).map_err(failed)
}

/// The stages of `-d` as the compiler names them; what libbpf and the verifier say needs a run.
fn stages(asked: &[Stage]) -> Vec<super::run::Shown> {
    use super::run::Shown;
    let of = |stage: &Stage| match stage {
        Stage::Ast => Some(Shown::Tree),
        Stage::Types => Some(Shown::Types),
        Stage::Codegen => Some(Shown::Code),
        Stage::Disassembly => Some(Shown::Instructions),
        Stage::Libbpf | Stage::Verifier => None,
    };
    asked.iter().filter_map(of).collect()
}

fn run_args(options: &Options) -> RunArgs {
    RunArgs {
        count_first: false,
        format: options.format,
        output: options.output.clone(),
        command: options.command.clone(),
        duration: None,
        pid: options.pid,
        quiet: options.quiet || options.dry_run,
        times: false,
        record: None,
        keen: options.keen,
        no_warnings: options.no_warnings,
        buffering: options.buffering,
        allow_unsafe: options.allow_unsafe,
        dry_run: options.dry_run,
        no_brake: options.no_brake,
        budget: None,
        test: options.mode == Mode::Test,
        bench: options.mode == Mode::Bench,
        probe_filter: options.probe_filter.clone(),
        unwind_tables: false,
        config: Vec::new(),
        script: arguments(options),
    }
}

/// The script, and its parameters: plain ones anywhere, named ones after `--`.
fn script(options: &Options) -> Result<Script, CliError> {
    arguments(options).read()
}

fn arguments(options: &Options) -> ScriptArgs {
    ScriptArgs { program: options.program.clone(), rest: options.rest.clone(), after: options.after.clone() }
}

fn say(text: &str) -> Result<ExitCode, CliError> {
    stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the script as the formatter writes it.
fn format(script: &Script, shown: &dyn Fn(&[Diagnostic], &SourceText) -> String) -> Result<ExitCode, CliError> {
    if let Some(text) = crate::lang::bt::pretty::format(&script.source) {
        return say(&text);
    }
    let found = crate::lang::bt::parse(&script.source).diagnostics;
    let _ = stdio::err().styled().write_all(shown(&found, &script.source).as_bytes());
    Ok(ExitCode::FAILURE)
}

/// Settings from the environment (`BPFTRACE_` and the upper-case name), which win over the script's.
fn overrides(world: &World) -> Vec<(String, String)> {
    let of = |setting: &settings::Setting| {
        let value = world.variable(&format!("BPFTRACE_{}", setting.name.to_ascii_uppercase()))?;
        Some((setting.name.to_owned(), value.to_owned()))
    };
    settings::SETTINGS.iter().filter_map(of).collect()
}

/// Hints that bpftrace does not give: harnesses compare all that is printed.
fn is_own_hint(diagnostic: &Diagnostic) -> bool {
    use crate::lang::codes::check::{CONSTANT_CONDITION, HOT_PROBE, UNUSED_VARIABLE};
    matches!(diagnostic.code, CONSTANT_CONDITION | HOT_PROBE | UNUSED_VARIABLE) || diagnostic.severity == Severity::Info
}

/// Which of its passes tells of something: it goes over the script once for each.
fn turn(code: Code) -> u8 {
    use crate::lang::codes::check as c;
    match code {
        c::DEPRECATED | c::UNREACHABLE => 0,
        c::NO_PARAMETER | c::EMPTY_TEXT => 1,
        c::FOR_DEBUGGING | c::READ_UNASSIGNED => 2,
        c::NEVER_ASSIGNED => 3,
        c::SIGNED_DIVISION | DISTINCT_POINTERS => 4,
        c::CUT_NUMBER => 5,
        c::DISCARDED_VALUE | c::PRINTED_IN_LOOP | c::WITHOUT_EFFECT | c::UNNECESSARY_CAST => 6,
        c::UNUSED_MAP => 7,
        _ => 0,
    }
}

/// Diagnostics in bpftrace's form: place, severity, message, the line, a mark.
fn diagnostics(found: &[Diagnostic], source: &SourceText, warnings: bool) -> String {
    let mut text = String::new();
    let mut told: Vec<&Diagnostic> =
        found.iter().filter(|d| d.severity == Severity::Error || (warnings && !is_own_hint(d))).collect();
    told.sort_by_key(|d| (std::cmp::Reverse(d.severity), turn(d.code)));
    for diagnostic in told {
        let word = match diagnostic.severity {
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
            Severity::Info => "INFO",
        };
        if super::run::is_of_the_attach(diagnostic) || diagnostic.span == Span::default() {
            // It is about the script as a whole.
            if diagnostic.message != crate::lang::codes::OPTIONS_LISTED {
                text.push_str(&format!("{word}: {}\n", diagnostic.message));
            }
            if let Some(help) = &diagnostic.help {
                text.push_str(&format!("HINT: {help}\n"));
            }
            continue;
        }
        let (place, marked) = (excerpt::place(source, diagnostic.span), excerpt::marked(source, diagnostic.span));
        text.push_str(&format!("{place}: {word}: {}\n{marked}", diagnostic.message));
        for label in diagnostic.labels.iter().filter(|_| diagnostic.code == DISTINCT_POINTERS) {
            let (place, marked) = (excerpt::place(source, label.span), excerpt::marked(source, label.span));
            text.push_str(&format!("{place}: {word}: {}\n{marked}", label.message));
        }
        if let Some(help) = &diagnostic.help {
            text.push_str(&format!("HINT: {help}\n"));
        }
    }
    text
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
    fn what_is_missing_is_told_with_its_place() {
        let source = SourceText::new("a.bt", "begin {\n  $x = 1\n  $y = 2;\n}\n");
        let text = diagnostics(&crate::lang::bt::parse(&source).diagnostics, &source, true);
        assert!(text.starts_with("a.bt:2:9-9: ERROR: expected `;`, found `$y`\n  $x = 1\n        ~\n"), "{text}");
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
