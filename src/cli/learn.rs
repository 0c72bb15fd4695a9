//! `probescope learn`: lessons that grade themselves.

mod preflight;
mod say;
mod shelf;
mod trial;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{CliError, World};
use crate::disk::{self, Readers};
use crate::learn::{Done, Language, Lesson, grade};
use crate::stdio;

use say::Say;
use shelf::Shelf;
use trial::{End, Trial};

/// Learn to trace, by lessons that grade themselves.
///
/// Each lesson explains something, asks for a script, and grades it: a small load runs with amounts
/// of its own each time, and what the script's maps and events hold at the end is compared with what
/// the load has done. How the script is written does not matter. Without the rights to trace most
/// lessons run on recordings that the program has with it.
///
/// Examples:
///
///   probescope learn --list
///
///   probescope learn 03
///
///   probescope learn --check 03 03-predicates.bt
#[derive(Debug, clap::Args)]
#[command(about = "Learn to trace, by lessons that grade themselves", verbatim_doc_comment)]
pub struct Args {
    /// Which lesson: its number or name. It is shown, and what to begin with is written to a file.
    #[arg(value_name = "LESSON")]
    lesson: Option<String>,

    /// The script to check; the lesson's own file in this folder when none is named.
    #[arg(value_name = "FILE", requires = "check")]
    file: Option<PathBuf>,

    /// List the lessons: which work here, which are done.
    #[arg(short, long, conflicts_with_all = ["lesson", "check", "hint", "solution"])]
    list: bool,

    /// Run a script and grade it. The exit code is 0 when it passes, else 1.
    #[arg(long, requires = "lesson")]
    check: bool,

    /// Show the lesson's next hint.
    #[arg(long, requires = "lesson", conflicts_with = "check")]
    hint: bool,

    /// Show a script that passes.
    #[arg(long, requires = "lesson", conflicts_with_all = ["check", "hint"])]
    solution: bool,

    /// Where the load's amounts come from; others each time when it is not said.
    #[arg(long, value_name = "N", requires = "check")]
    seed: Option<u64>,

    /// Run on the recording, even where tracing is allowed.
    #[arg(long, requires = "check")]
    recorded: bool,

    /// Take lessons from this folder in place of the program's own.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let say = Say::new(language(world));
    let shelf = Shelf::open(args.folder.as_deref(), world)?;
    for broken in &shelf.broken {
        stdio::say(format_args!("probescope: {broken}"));
    }
    let Some(name) = &args.lesson else { return list(&shelf, world, say) };
    let lesson = shelf.find(name).ok_or_else(|| CliError::Refused(say.no_lesson(name, &shelf.lessons)))?;
    match (args.check, args.hint, args.solution) {
        (true, ..) => check(args, lesson, &shelf, world, say),
        (_, true, _) => hint(lesson, &shelf, say),
        (_, _, true) => print(&lesson.solution),
        _ => show(lesson, world, say),
    }
}

/// The language that the locale asks for.
fn language(world: &World) -> Language {
    let set = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(|name| world.variable(name).filter(|v| !v.is_empty()));
    Language::of_locale(set.unwrap_or(""))
}

fn list(shelf: &Shelf, world: &World, say: Say) -> Result<ExitCode, CliError> {
    let progress = shelf.progress();
    let preflight = preflight::Preflight::new(super::kernel::running(world));
    let (mut out, mut chapter) = (String::new(), "");
    for lesson in &shelf.lessons {
        if chapter != lesson.chapter {
            chapter = &lesson.chapter;
            out.push_str(&format!("{}{}\n", if out.is_empty() { "" } else { "\n" }, say.chapter(chapter)));
        }
        let mark = if progress.done.contains_key(&lesson.name) { 'x' } else { ' ' };
        let title = &lesson.text(say.language.code()).title;
        let pad = 40_usize.saturating_sub(unicode_width::UnicodeWidthStr::width(title.as_str()));
        let ways = say.ways(&preflight.ways(lesson));
        out.push_str(&format!("  [{mark}] {} {title}{} {ways}\n", lesson.number(), " ".repeat(pad)));
    }
    let done = shelf.lessons.iter().filter(|lesson| progress.done.contains_key(&lesson.name)).count();
    out.push_str(&format!("\n{}\n", say.summary(done, shelf.lessons.len())));
    print(&out)
}

fn show(lesson: &Lesson, world: &World, say: Say) -> Result<ExitCode, CliError> {
    let text = lesson.text(say.language.code());
    let file = PathBuf::from(file_of(lesson));
    let preflight = preflight::Preflight::new(super::kernel::running(world));
    let written = match disk::write_new(&file, lesson.skeleton.as_bytes(), Readers::Everyone) {
        Ok(()) => say.written(&file),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => say.kept(&file),
        Err(e) => say.not_written(&file, &e),
    };
    let ways = say.ways(&preflight.ways(lesson));
    print(&format!(
        "{} {}\n\n{}\n\n{}\n\n{}\n\n{}\n\n{written}\n{}\n",
        lesson.number(),
        text.title,
        text.about,
        say.task(),
        text.task,
        lesson.skeleton.trim_end(),
        say.next(lesson, &ways)
    ))
}

/// The name of a lesson's script in the student's folder.
fn file_of(lesson: &Lesson) -> String {
    format!("{}.{}", lesson.name, lesson.form.ending())
}

fn hint(lesson: &Lesson, shelf: &Shelf, say: Say) -> Result<ExitCode, CliError> {
    let hints = &lesson.text(say.language.code()).hints;
    let mut progress = shelf.progress();
    let shown = progress.hints.get(&lesson.name).map_or(0, |n| *n as usize).min(hints.len().saturating_sub(1));
    let Some(text) = hints.get(shown) else { return Ok(ExitCode::SUCCESS) };
    let next = (shown + 1) % hints.len();
    progress.hints.insert(lesson.name.clone(), next as u32);
    keep(shelf, &progress);
    print(&format!("({}/{}) {text}\n", shown + 1, hints.len()))
}

fn check(args: &Args, lesson: &Lesson, shelf: &Shelf, world: &World, say: Say) -> Result<ExitCode, CliError> {
    let own = PathBuf::from(file_of(lesson));
    let file = args.file.as_ref().unwrap_or(&own);
    let file =
        std::fs::canonicalize(file).map_err(|source| CliError::Read { path: file.display().to_string(), source })?;
    let recorded = recorded(args, lesson, world).map_err(|why| CliError::Refused(say.not_here(&why)))?;
    let seed = args.seed.unwrap_or_else(fresh_seed);
    let trial = Trial { lesson, file: &file, seed, world };
    let ran = if recorded { trial.on_recording() } else { trial.live() }?;
    let mut out = String::new();
    if ran.end != End::Refused {
        out.push_str(&say.ran(lesson, recorded, seed));
        out.push('\n');
    }
    let (passed, rest) = judged(lesson, &ran, recorded, say);
    out.push_str(&rest);
    if passed {
        let mut progress = shelf.progress();
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        progress.done.entry(lesson.name.clone()).or_insert(Done { at, recorded });
        keep(shelf, &progress);
        let open = |other: &&Lesson| !progress.done.contains_key(&other.name);
        let after = shelf.lessons.iter().skip_while(|other| other.name != lesson.name);
        let next = after.chain(&shelf.lessons).find(open);
        out.push_str(&say.passed(next));
    }
    stdio::out().write_all(out.as_bytes()).map_err(CliError::stdout)?;
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether a script is to run on the recording, or why it can't run at all.
fn recorded(args: &Args, lesson: &Lesson, world: &World) -> Result<bool, String> {
    let has_recording = preflight::has_recording(lesson);
    if args.recorded && has_recording {
        // The kernel need not be asked: another's work in tracefs may keep it waiting.
        return Ok(true);
    }
    match preflight::Preflight::new(super::kernel::running(world)).ways(lesson).live {
        Ok(()) => Ok(false),
        Err(_) if has_recording => Ok(true),
        Err(why) => Err(why),
    }
}

/// Whether a script passed, and what is said of it.
fn judged(lesson: &Lesson, ran: &trial::Ran, recorded: bool, say: Say) -> (bool, String) {
    match &ran.end {
        End::Refused => return (false, say.refused(&ran.messages)),
        End::TooLong => return (false, say.too_long(lesson.limit_s)),
        End::TooMuch => return (false, say.too_much()),
        End::NoTruth => return (false, say.no_truth(&ran.messages)),
        End::Ended => {}
    }
    let grade = grade(lesson, &ran.evidence, &ran.truth, say.language, !recorded);
    let mut out = String::new();
    for finding in &grade.findings {
        out.push_str(&format!("  - {}\n", finding.message));
    }
    for hint in &grade.hints {
        out.push_str(&format!("  > {}\n", hint.replace('\n', "\n    ")));
    }
    if !grade.passed {
        out.push_str(&say.not_yet(lesson));
        if !ran.messages.trim().is_empty() {
            out.push_str(&say.also(&ran.messages));
        }
    }
    (grade.passed, out)
}

/// Keeps progress; where it can't be kept that is said, and the lesson goes on.
fn keep(shelf: &Shelf, progress: &crate::learn::Progress) {
    if let Err(why) = shelf.keep(progress) {
        stdio::say(format_args!("probescope: progress is not kept: {why}"));
    }
}

/// A seed of the moment; small, so that people can say it again.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::from(since.subsec_nanos()));
    (now ^ (now >> 11) ^ u64::from(std::process::id())) % 100_000 + 1
}

fn print(text: &str) -> Result<ExitCode, CliError> {
    stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

/// A path as it is shown.
fn shown(path: &Path) -> String {
    crate::model::render::neutralise(&path.display().to_string()).into_owned()
}
