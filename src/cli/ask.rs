//! `probescope ask WORDS`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use serde_json::json;

use super::xray::span;
use super::{Cli, CliError, World};
use crate::ask::{Catalogue, Hit, Opens, Process, Question};
use crate::model::render::neutralise;
use crate::stdio;

/// Find what answers a question in plain words, and run it.
///
/// Without `--run` the questions that fit are listed, best first, with how to read the answer of
/// the first. `--run` takes one by its name; what it asks back is given as NAME=VALUE.
///
/// Examples:
///
///   probescope ask who deletes files
///
///   probescope ask --run file-deletes -d 10s
///
///   probescope ask --run program-callers function=libc:malloc -p 1234
#[derive(Debug, clap::Args)]
#[command(about = "Find what answers a question in plain words, and run it", verbatim_doc_comment)]
pub struct Args {
    /// The question in your own words, or with `--run` what it asks back.
    #[arg(value_name = "WORD|NAME=VALUE")]
    words: Vec<String>,
    /// Run what answers the question of this name.
    #[arg(long, value_name = "QUESTION")]
    run: Option<String>,
    /// Print the command and the script that answer it, instead of running them.
    #[arg(long, requires = "run")]
    dry_run: bool,
    /// Only what is about this process, by its number or its name.
    #[arg(short, long, value_name = "PID|NAME", requires = "run", value_parser = super::process::process)]
    pid: Option<u32>,
    /// For how long; until Ctrl-C when it is not given.
    #[arg(short, long, requires = "run", value_parser = span)]
    duration: Option<Duration>,
    /// Questions at most.
    #[arg(long, default_value_t = 6)]
    top: usize,
    /// As JSON, an array of objects.
    #[arg(long, conflicts_with = "run")]
    json: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let catalogue = Catalogue::bundled().map_err(|error| CliError::Refused(error.to_string()))?;
    if let Some(name) = &args.run {
        return answer(&catalogue, name, args, world);
    }
    let text = if args.words.is_empty() {
        all(&catalogue, args.json)
    } else {
        let typed = args.words.join(" ");
        let hits: Vec<Hit<'_>> = catalogue.search(&typed).into_iter().take(args.top.max(1)).collect();
        if hits.is_empty() {
            let what = neutralise(&typed);
            return Err(CliError::Refused(format!("no question fits \"{what}\"; `probescope ask` lists all of them")));
        }
        found(&hits, args.json)
    };
    stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

/// All questions, by chapter.
fn all(catalogue: &Catalogue, as_json: bool) -> String {
    let questions = catalogue.questions();
    if as_json {
        return objects(questions.iter());
    }
    let mut groups: Vec<&str> = Vec::new();
    for question in questions {
        if !groups.contains(&question.group.as_str()) {
            groups.push(&question.group);
        }
    }
    let mut text = String::new();
    for group in groups {
        let _ = writeln!(text, "{}{group}", if text.is_empty() { "" } else { "\n" });
        for question in questions.iter().filter(|question| question.group == group) {
            let _ = writeln!(text, "  {:<24} {}", question.name, question.ask);
        }
    }
    text
}

fn found(hits: &[Hit<'_>], as_json: bool) -> String {
    if as_json {
        return objects(hits.iter().map(|hit| hit.question));
    }
    let mut text = String::new();
    if let Some((best, others)) = hits.split_first() {
        let best = best.question;
        let _ = writeln!(text, "{}\n  {}\n  probescope ask --run {}{}", best.ask, best.read, best.name, back(best));
        if !others.is_empty() {
            text.push('\n');
        }
        for hit in others {
            let _ = writeln!(text, "  {:<24} {}", hit.question.name, hit.question.ask);
        }
    }
    text
}

/// What a question asks back, as it is given on the command line.
fn back(question: &Question) -> String {
    let mut text = String::new();
    for parameter in &question.parameters {
        let name = parameter.name.as_str();
        let _ = if parameter.needed { write!(text, " {name}=…") } else { write!(text, " [{name}=…]") };
    }
    text.push_str(match question.process {
        Process::Needed => " -p PID|NAME",
        Process::Optional => " [-p PID|NAME]",
        Process::No => "",
    });
    text
}

fn objects<'a>(questions: impl Iterator<Item = &'a Question>) -> String {
    let objects: Vec<_> = questions
        .map(|question| {
            json!({
                "name": question.name, "ask": question.ask, "group": question.group, "read": question.read,
                "next": question.next, "instead": question.instead, "demo": question.story,
                "process": match question.process {
                    Process::Needed => "needed",
                    Process::Optional => "optional",
                    Process::No => "no",
                },
                "parameters": question.parameters.iter().map(|p| json!({ "name": p.name, "ask": p.ask, "needed": p.needed })).collect::<Vec<_>>(),
            })
        })
        .collect();
    format!("{}\n", json!(objects))
}

fn answer(catalogue: &Catalogue, name: &str, args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let Some(question) = catalogue.get(name) else {
        let near = catalogue.search(name);
        let near = near.first().map_or(String::new(), |hit| format!("; did you mean {}?", hit.question.name));
        return Err(CliError::Refused(format!("there is no question {}{near}", neutralise(name))));
    };
    let given = given(&args.words)?;
    let pid = args.pid.map(|pid| pid.to_string());
    if pid.is_some() && question.process == Process::No {
        return Err(CliError::Refused(format!("{name} is about no process: leave -p out")));
    }
    let mut words = question.command(&given, pid.as_deref()).map_err(|error| CliError::Refused(error.to_string()))?;
    if let Some(duration) = args.duration {
        let at = lasting(question, words.len());
        words.splice(at..at, ["--duration".to_owned(), time(question, duration)]);
    }
    if args.dry_run {
        let line = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        writeln!(stdio::out(), "probescope {line}").map_err(CliError::stdout)?;
        return Ok(ExitCode::SUCCESS);
    }
    stdio::say(format_args!("{}\n{}", question.ask, question.read));
    let cli = Cli::try_parse_from(std::iter::once("probescope".to_owned()).chain(words))
        .map_err(|error| CliError::Refused(format!("{name}: {error}")))?;
    let code = super::dispatch(cli, world);
    afterwards(catalogue, question, matches!(code, Ok(code) if code == ExitCode::SUCCESS));
    code
}

/// Where an option of the command goes: before what is the script's own.
fn lasting(question: &Question, words: usize) -> usize {
    match question.opens {
        Opens::Latency { .. } | Opens::View { .. } | Opens::Command { .. } => words,
        _ => 1,
    }
}

/// A time as the command takes it: those of latency know whole seconds alone.
fn time(question: &Question, duration: Duration) -> String {
    match question.opens {
        Opens::Latency { .. } | Opens::View { .. } => format!("{}s", duration.as_secs().max(1)),
        _ => format!("{}ms", duration.as_millis()),
    }
}

/// What to ask next, or what answers instead.
fn afterwards(catalogue: &Catalogue, question: &Question, answered: bool) {
    let line = |name: &str| catalogue.get(name).map(|other| format!("  {:<24} {}", other.name, other.ask));
    let instead = question.instead.as_deref().filter(|_| !answered).and_then(line);
    let text = if let Some(instead) = instead {
        format!("Where this kernel cannot tell, ask:\n{instead}")
    } else {
        let next: Vec<String> = question.next.iter().filter_map(|name| line(name)).collect();
        format!("Ask next:\n{}", next.join("\n"))
    };
    let story = question.story.as_ref().filter(|_| !answered);
    let story = story.map_or(String::new(), |story| format!("\nA recorded answer: probescope demo {story}"));
    stdio::say(format_args!("{text}{story}"));
}

/// NAME=VALUE of each word.
fn given(words: &[String]) -> Result<Vec<(String, String)>, CliError> {
    let part = |word: &String| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let refused = |word: &String| CliError::Refused(format!("`{}` is not NAME=VALUE", neutralise(word)));
    words.iter().map(|word| part(word).ok_or_else(|| refused(word))).collect()
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=:./".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
