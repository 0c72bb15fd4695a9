//! The command line of `probescope run`.

use std::path::PathBuf;

use crate::cli::face::Buffering;
use crate::cli::script::{ScriptArgs, any_bytes};
use crate::lang::front::Purpose;
use crate::model::budget::Limit;

/// Run a script and print what it reports.
///
/// The script's output goes to standard output (or `-o`), everything else to standard error. Ctrl-C
/// ends the trace in order: end probes run and maps are printed; a second Ctrl-C ends at once.
///
/// Examples:
///
///   probescope run -e 'tracepoint:syscalls:sys_enter_openat { printf("%s %s\n", comm, str(args.filename)); }'
///
///   probescope run biolatency.bt
///
///   probescope run -f json -o out.json -c 'ls -l' count.bt
#[derive(Debug, clap::Args)]
#[command(about = "Run a script and print what it reports", verbatim_doc_comment)]
pub struct Args {
    /// Output form.
    #[arg(short = 'f', long = "format", value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Write the script's output to a file.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Run a command: it starts when everything is attached, and the trace ends with it. It is no limit: `/pid == cpid/` is.
    #[arg(short = 'c', long = "command", value_name = "COMMAND", value_parser = any_bytes())]
    pub command: Option<String>,

    /// Limit the trace to what is about a process, by its number or its name: the thread that runs, or the one that the
    /// event names, as the woken one; what is about nobody, as softirqs, is refused. See docs/filters.md.
    #[arg(short = 'p', long = "pid", value_name = "PID|NAME", value_parser = crate::cli::process::process)]
    pub pid: Option<u32>,

    /// End after this time: 500ms, 5s, 2m. Without it the script ends by itself, with its command, or by Ctrl-C.
    #[arg(long, value_name = "TIME", value_parser = crate::cli::xray::span, conflicts_with_all = ["test", "bench", "dry_run"])]
    pub duration: Option<std::time::Duration>,

    /// Nothing but the script's own output.
    #[arg(short = 'q', long = "quiet")]
    pub quiet: bool,

    /// Say when each event happened, and on which CPU: local time with microseconds and the CPU before each line. In
    /// JSON each object begins with `at_ns`, in ns of `CLOCK_MONOTONIC`, and `cpu`, null for what no event printed.
    #[arg(long, conflicts_with_all = ["test", "bench"])]
    pub times: bool,

    /// Also record to a file: events with their values, times and CPUs, printed maps and losses, and what is needed to
    /// print them elsewhere. See `probescope replay`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["test", "bench", "dry_run"])]
    pub record: Option<PathBuf>,

    /// Also say which reads failed, which strings were cut and which keys maps did not have.
    #[arg(short = 'k')]
    pub keen: bool,

    /// When output is written.
    #[arg(short = 'B', long = "buffer", value_enum, default_value_t = Buffering::Line)]
    pub buffering: Buffering,

    /// Allow what changes the traced system: system(), signal(), override().
    #[arg(long = "unsafe")]
    pub allow_unsafe: bool,

    /// Never turn a probe off whose loops take a CPU away. By default one is once a firing makes 16 million steps in its
    /// loops, or long firings take more than 90 % of a CPU's second: results are partial then, and the exit code is 3.
    #[arg(long)]
    pub no_brake: bool,

    /// Part of all CPUs' time that the probes may take together, such as `5%`. One CPU may take what others leave, but not
    /// more than half of itself. A probe that takes more than its share is turned off for the rest of each tenth of a
    /// second: its firings are counted, and aggregations are of a sample. `none` is no bound, the default.
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, conflicts_with_all = ["test", "bench"])]
    pub budget: Option<Limit>,

    /// First count for a second how often each probe fires, with a budget of 10 % at most, and print that; then run.
    #[arg(long, conflicts_with_all = ["test", "bench", "dry_run"])]
    pub count_first: bool,

    /// Attach everything, then end.
    #[arg(long)]
    pub dry_run: bool,

    /// Run the script's `test:` probes, one after the other, in place of its other probes: each passes
    /// when it returns 0.
    #[arg(long, conflicts_with = "bench")]
    pub test: bool,

    /// Run the script's `bench:` probes many times each and print what a run of them takes.
    #[arg(long)]
    pub bench: bool,

    /// Only probes whose full name this regular expression matches.
    #[arg(long, value_name = "REGEX")]
    pub probe_filter: Option<regex::Regex>,

    /// Follow `ustack` by the unwinding tables of the binaries (`.eh_frame`), where they were built without frame pointers:
    /// x86-64 and Linux 5.17 or later. The same as `--config unwind_tables=true`.
    #[arg(long)]
    pub unwind_tables: bool,

    /// Set a value of the script's config block; wins over the script.
    #[arg(long = "config", value_name = "NAME=VALUE", value_parser = setting)]
    pub config: Vec<(String, String)>,

    /// No warnings: of bpftrace's command line only.
    #[arg(skip)]
    pub no_warnings: bool,

    /// Script and parameters.
    #[command(flatten)]
    pub script: ScriptArgs,
}

impl Args {
    /// The settings that win over the script's config block.
    pub(super) fn overrides(&self) -> Vec<(String, String)> {
        overrides(&self.config, self.unwind_tables)
    }

    /// What the script is run for.
    pub(super) const fn purpose(&self) -> Purpose {
        match (self.test, self.bench) {
            (true, _) => Purpose::Test,
            (false, true) => Purpose::Bench,
            (false, false) => Purpose::Trace,
        }
    }
}

/// Output forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// As the script prints it.
    Text,
    /// One JSON object a line.
    Json,
}

/// What `--config` sets, and what a flag of its own does.
pub(in crate::cli) fn overrides(config: &[(String, String)], unwind_tables: bool) -> Vec<(String, String)> {
    let flag = unwind_tables.then(|| ("unwind_tables".to_owned(), "true".to_owned()));
    config.iter().cloned().chain(flag).collect()
}

pub fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
