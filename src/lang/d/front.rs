//! D as a language among others: text to typed program.

use super::ast::{ItemKind, Script};
use super::check::declarations::type_of_kernel;
use super::check::{Env, check};
use super::lexer::Macros;
use super::parser::{ParseOptions, Parsed, parse, parse_with};
use super::words::{ADDRESS_6, OPEN_FILE, is_word_of_kernel};
use crate::lang::bounds::bounded;
use crate::lang::codes::check::NOT_OF_PROCESS;
use crate::lang::codes::d::tag;
use crate::lang::diagnostic::{Diagnostic, Severity, has_errors};
use crate::lang::facts::Facts;
use crate::lang::facts::table::TypeTable;
use crate::lang::front::{Checked, FrontOptions};
use crate::lang::source::SourceText;
use crate::lang::typed::Probe;
use crate::model::d::Style;
use crate::model::d::options::Options;
use crate::probe::subject::{self, Subject};

/// What a D program is compiled with.
pub struct DOptions<'a> {
    /// Macro variables.
    pub macros: Macros,
    /// Options of the command line.
    pub options: Options,
    /// The text is from the command line.
    pub of_command_line: bool,
    /// How records are printed, but for the program's own `quiet`.
    pub style: Style,
    /// Wall time minus the monotonic clock.
    pub wall_minus_monotonic_ns: i64,
    /// The kernel.
    pub facts: &'a dyn Facts,
}

/// Text to typed program; the options are those that hold in the end.
#[must_use]
pub fn compile(text: &str, d: &DOptions<'_>) -> (Checked, Options) {
    let types = std::cell::RefCell::new(TypeTable::new(d.facts));
    let is_type = |name: &str| {
        let plain = name.rsplit_once('`').map_or(name, |(_, plain)| plain);
        matches!(name, "cpuinfo_t" | OPEN_FILE | ADDRESS_6)
            || (name.ends_with("_t") || is_word_of_kernel(name))
                && type_of_kernel(&mut types.borrow_mut(), plain).is_some()
    };
    let read = |macros: &Macros| -> Parsed {
        parse_with(text, &ParseOptions { macros, is_type: &is_type, of_command_line: d.of_command_line })
    };
    let mut parsed = read(&d.macros);
    if !d.macros.defaults && has_errors(&parsed.diagnostics) && asks_for_defaults(&parsed.script) {
        parsed = read(&Macros { defaults: true, ..d.macros.clone() });
    }
    let env = Env {
        facts: d.facts,
        options: d.options.clone(),
        wall_minus_monotonic_ns: d.wall_minus_monotonic_ns,
        lines: line_starts(text),
    };
    let (mut program, found, options, of_check) = check(&parsed.script, env);
    program.style = Style { quiet: d.style.quiet || options.quiet, ..options.styled(d.style) };
    let mut diagnostics = parsed.diagnostics;
    // Where the text makes no sense, what is made of it is no news.
    let mut dropped = parsed.dropped;
    if has_errors(&diagnostics) {
        let first = diagnostics.iter().map(|d| d.span.start).min().unwrap_or(0);
        let before = found.into_iter().filter(|d| of_control_lines(d) && d.span.start < first);
        diagnostics.splice(0..0, before);
    } else {
        diagnostics.extend(found);
        dropped += of_check;
    }
    bounded(&mut diagnostics, dropped);
    (Checked { program, diagnostics, dropped: 0 }, options)
}

/// Whether a mistake is one of a control line, which is none of what follows it.
fn of_control_lines(d: &Diagnostic) -> bool {
    tag(d.code).is_some_and(|tag| tag.starts_with("D_PRAGMA"))
}

/// `#pragma D option defaultargs`
fn asks_for_defaults(script: &Script) -> bool {
    script.items.iter().any(|item| {
        let ItemKind::Pragma(pragma) = &item.kind else { return false };
        let option = pragma.words.iter().position(|w| &*w.text == "option");
        option.and_then(|at| pragma.words.get(at + 1)).is_some_and(|w| w.text.starts_with("defaultargs"))
    })
}

fn line_starts(text: &str) -> std::sync::Arc<[u32]> {
    std::iter::once(0).chain(text.bytes().zip(1..).filter(|(b, _)| *b == b'\n').map(|(_, at)| at)).collect()
}

/// Compiles as part of a session, where only the text and the session's options are known.
#[must_use]
pub fn compile_script(source: &SourceText, facts: &dyn Facts, options: &FrontOptions<'_>) -> Checked {
    let mut macros = Macros::default();
    macros.arguments.push(source.name.to_string());
    macros.arguments.extend(options.params.iter().cloned());
    if let Some(target) = options.child_pid.or(options.pid) {
        macros.named.insert("target", i64::from(target));
    }
    for (name, value) in ids() {
        macros.named.insert(name, value);
    }
    let d = DOptions {
        macros,
        options: Options {
            destructive: options.unsafe_allowed,
            by_flag_alone: true,
            zdefs: options.missing_probes != crate::lang::typed::MissingProbes::Error,
            ..Options::default()
        },
        of_command_line: false,
        style: Style::default(),
        wall_minus_monotonic_ns: wall_minus_monotonic_ns(),
        facts,
    };
    let mut checked = compile(&source.text, &d).0;
    if options.pid.is_some() {
        refuse_of_others(&mut checked);
    }
    checked
}

/// `-p` compares the process that runs: probes that are about another one ask for it themselves.
fn refuse_of_others(checked: &mut Checked) {
    let names = |probe: &Probe| probe.targets.iter().filter_map(subject::name).collect::<Vec<_>>();
    let about_another = |probe: &&Probe| names(probe).iter().any(|name| subject::of(name) != Subject::Running);
    for probe in checked.program.probes.iter().filter(about_another) {
        let message = "`-p` can't limit this probe in D: it is not about the process that runs there";
        let help =
            "run it without `-p` and write the condition as a predicate, by the arguments: /args[1]->pr_pid == 123/";
        checked.diagnostics.push(Diagnostic::error(NOT_OF_PROCESS, probe.head, message).help(help));
    }
}

/// Wall time minus the monotonic clock.
#[must_use]
pub fn wall_minus_monotonic_ns() -> i64 {
    use rustix::time::{ClockId, clock_gettime};
    let ns = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
    };
    ns(ClockId::Realtime).saturating_sub(ns(ClockId::Monotonic))
}

/// Ids of this process, as macro variables.
#[must_use]
pub fn ids() -> [(&'static str, i64); 9] {
    use rustix::process as p;
    let pid = |id: Option<p::Pid>| id.map_or(0, |id| i64::from(id.as_raw_nonzero().get()));
    // What init starts may be in group and session 0, which are no ids to system calls.
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let mut fields = status.rsplit(')').next().unwrap_or("").split_whitespace().skip(2);
    let mut number = || fields.next().and_then(|n| n.parse::<i64>().ok()).unwrap_or(0);
    let (group, session) = (number(), number());
    [
        ("pid", pid(Some(p::getpid()))),
        ("ppid", pid(p::getppid())),
        ("pgid", group),
        ("sid", session),
        ("uid", i64::from(p::getuid().as_raw())),
        ("euid", i64::from(p::geteuid().as_raw())),
        ("gid", i64::from(p::getgid().as_raw())),
        ("egid", i64::from(p::getegid().as_raw())),
        ("projid", 0),
    ]
}

/// What is wrong with the text alone.
#[must_use]
pub fn syntax(source: &SourceText) -> Vec<Diagnostic> {
    parse(source).diagnostics
}

/// The first error, by which a program is refused.
#[must_use]
pub fn first_error(diagnostics: &[Diagnostic]) -> Option<&Diagnostic> {
    diagnostics.iter().find(|d| d.severity == Severity::Error)
}
