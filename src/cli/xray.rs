//! `probescope xray PATTERN`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde_json::json;

use super::run::{self, Runner};
use super::script::Script;
use super::{CliError, World};
use crate::kernel::btf::Btf;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::SourceText;
use crate::model::budget::Budget;
use crate::model::render::neutralise;
use crate::model::snapshot::MapSnapshot;
use crate::model::xray::{XrayOrder, XrayRow, middle, rows};
use crate::output::diagnostics::render_all;
use crate::output::latency::us;
use crate::probe::xray::typed::typed;
use crate::probe::xray::xray;
use crate::stdio;

/// X-ray a subsystem: every function that a pattern names, with its calls, how long they take, its
/// last arguments and result.
///
/// It is a preset: `--script` prints the script that runs. Percentiles are of histograms: the
/// middle of their bucket. Functions get 5 % of each CPU's time unless told otherwise; what they
/// leave out is counted as throttled.
///
/// Examples:
///
///   probescope xray 'tcp_*' -d 5s
///
///   probescope xray 'uprobe:libc:str*' -c 'ls -l' --sort max
#[derive(Debug, clap::Args)]
#[command(about = "X-ray a subsystem: each function's calls, latency, last arguments and result", verbatim_doc_comment)]
pub struct Args {
    /// Functions: `tcp_*`, `kprobe:nf_tables:*`, `uprobe:libc:str*`.
    pattern: String,
    /// For how long; until Ctrl-C, or the end of the command, when it is not given.
    #[arg(short, long, value_parser = span)]
    duration: Option<Duration>,
    /// Run a command, and end with it.
    #[arg(short, long)]
    command: Option<String>,
    /// Limit the trace to calls of a process, by its number or its name.
    #[arg(short, long, value_name = "PID|NAME", value_parser = super::process::process)]
    pid: Option<u32>,
    /// Part of each CPU's time that the probes may take.
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, default_value_t = Budget::OF_MANY)]
    budget: Budget,
    /// What to sort by.
    #[arg(long, value_enum, default_value_t = Sort::Calls)]
    sort: Sort,
    /// Rows at most.
    #[arg(long, default_value_t = 50)]
    top: usize,
    /// As JSON, an array of objects, without a limit of rows.
    #[arg(long)]
    json: bool,
    /// Print the script and end.
    #[arg(long)]
    script: bool,
}

/// Columns to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sort {
    Calls,
    P50,
    P99,
    Max,
    Function,
}

/// The arguments of `run`, to be read from words.
#[derive(Debug, Parser)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) run: run::Args,
}

/// The clause that ends a script after a time.
pub(super) fn ending(duration: Duration) -> String {
    format!("\ninterval:ms:{}\n{{\n    exit();\n}}\n", duration.as_millis().max(1))
}

pub(super) fn span(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let factor = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        _ => return Err("a number of seconds, or 500ms, 5s, 2m".to_owned()),
    };
    let seconds = number.parse::<f64>().map_err(|_| "a number of seconds is wanted".to_owned())? * factor;
    let possible = (0.01..=86_400.0).contains(&seconds);
    if possible { Ok(Duration::from_secs_f64(seconds)) } else { Err("from 10ms to a day".to_owned()) }
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let made = xray(&args.pattern, &super::kernel::running(world)).map_err(|e| CliError::Refused(e.in_full()))?;
    if let Some(note) = &made.note {
        stdio::say(format_args!("probescope: {note}"));
    }
    let mut text = made.script;
    if let Some(duration) = args.duration {
        text += &ending(duration);
    }
    if args.script {
        stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
        return Ok(ExitCode::SUCCESS);
    }
    let budget = format!("{}%", args.budget.percent());
    let mut words = vec!["run".to_owned(), "--budget".to_owned(), budget, "-e".to_owned(), String::new()];
    words.extend(args.command.iter().flat_map(|command| ["-c".to_owned(), command.clone()]));
    words.extend(args.pid.iter().flat_map(|pid| ["-p".to_owned(), pid.to_string()]));
    let run = RunArgs::try_parse_from(words).map_err(|e| CliError::Refused(e.to_string()))?.run;
    let script = Script::of_text("xray.bt", &text);
    let plain = |d: &[Diagnostic], s: &SourceText| render_all(s, d, world.colour());
    let kernel = super::kernel::running(world);
    // Where the kernel has none, words stay as they are.
    let btf = kernel.btf().ok();
    let tables = |maps: &[MapSnapshot]| table(args, maps, btf);
    Runner { maps: Some(&tables), ..Runner::new(&run, world, &script, &plain) }.run()
}

fn table(args: &Args, maps: &[MapSnapshot], btf: Option<&Btf>) -> String {
    let order = match args.sort {
        Sort::Calls => XrayOrder::Calls,
        Sort::P50 => XrayOrder::P50,
        Sort::P99 => XrayOrder::P99,
        Sort::Max => XrayOrder::Max,
        Sort::Function => XrayOrder::Function,
    };
    let rows = rows(maps, order);
    if args.json {
        // Plain data with texts as keys: never fails.
        return serde_json::to_string_pretty(&json!(rows.iter().map(|row| row_json(row, btf)).collect::<Vec<_>>()))
            .unwrap_or_default()
            + "\n";
    }
    let mut out = format!(
        "{:>10} {:>10} {:>10} {:>10} {:>10}  {:<32} {:<16} {}\n",
        "CALLS", "TIMED", "P50 µs", "P99 µs", "MAX µs", "FUNCTION", "RESULT", "ARGUMENTS"
    );
    for row in rows.iter().take(args.top) {
        let words = typed(btf, row);
        let _ = writeln!(
            out,
            "{:>10} {:>10} {:>10} {:>10} {:>10}  {:<32} {:<16} {}",
            row.calls,
            row.timed,
            estimate(row.p50_ns),
            estimate(row.p99_ns),
            row.max_ns.map_or_else(|| "-".to_owned(), us),
            neutralise(&row.function),
            neutralise(words.result.as_deref().unwrap_or("-")),
            neutralise(&words.arguments.join(", ")),
        );
    }
    if rows.len() > args.top {
        let _ = writeln!(out, "… {} more functions were called; --top shows more", rows.len() - args.top);
    }
    out
}

/// The middle of a bucket.
fn estimate(bucket: Option<(u64, u64)>) -> String {
    bucket.map_or_else(|| "-".to_owned(), |bucket| us(middle(bucket)))
}

fn row_json(row: &XrayRow, btf: Option<&Btf>) -> serde_json::Value {
    let words = typed(btf, row);
    let bucket = |bucket: Option<(u64, u64)>| bucket.map(|(low, high)| json!({ "from": low, "below": high }));
    json!({
        "function": row.function, "calls": row.calls, "timed": row.timed, "p50_ns": bucket(row.p50_ns),
        "p99_ns": bucket(row.p99_ns), "max_ns": row.max_ns, "arguments": row.arguments, "result": row.result,
        "typed": { "arguments": words.arguments, "result": words.result },
    })
}
