//! `probescope ftrace hist`.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Form, PARTIAL, time};
use crate::cli::{CliError, World};
use crate::kernel::Kernel;
use crate::output::ftrace::hist::{table, table_json};
use crate::stdio;
use crate::tracer::ftrace::hist::{HistPlan, HistSession, Recipe};

/// How often it is looked whether to end.
const PAUSE: Duration = Duration::from_millis(20);

/// Let the kernel count events by keys, and print the table: no event leaves the kernel.
///
/// Keys and values are fields with the kernel's modifiers: pid, common_pid.execname, call_site.sym,
/// bytes_req.log2, lat.buckets=10, common_stacktrace. Expressions and variables go by --var, what
/// happens at a match by --action. --sql takes sqlhist's language. --show prints the triggers and
/// writes nothing.
///
/// Examples:
///
///   probescope ftrace hist sched:sched_switch --keys prev_pid,prev_comm --sort hitcount.descending -d 5s
///
///   probescope ftrace hist kmem:kmalloc --keys call_site.sym --values bytes_req,bytes_alloc -d 2s
///
///   probescope ftrace hist --preset wakeup-latency -d 10s
///
///   probescope ftrace hist --sql 'SELECT end.next_comm, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat
///     FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid' -d 10s
#[derive(Debug, clap::Args)]
#[command(about = "Let the kernel count events by keys, and print the table", verbatim_doc_comment)]
pub struct Args {
    /// The event.
    #[arg(value_name = "SYS:EVENT", required_unless_present_any = ["preset", "sql"])]
    event: Option<String>,
    /// Keys, at most three.
    #[arg(short, long, value_name = "FIELD[.MODIFIER]", value_delimiter = ',', required_unless_present_any = ["preset", "sql"])]
    keys: Vec<String>,
    /// What is summed besides the hit count.
    #[arg(long, alias = "vals", value_name = "FIELD", value_delimiter = ',')]
    values: Vec<String>,
    /// Order of rows: a key or value, with .descending.
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    sort: Vec<String>,
    /// Rows that the kernel has room for.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    size: u32,
    /// A variable, as in ts0=common_timestamp.usecs.
    #[arg(long, value_name = "NAME=EXPR")]
    var: Vec<String>,
    /// An action, as in onmax(bytes_req).save(comm).
    #[arg(long, value_name = "HANDLER.ACTION")]
    action: Vec<String>,
    /// Only events that pass this filter of the kernel.
    #[arg(long, value_name = "EXPR", default_value = "", hide_default_value = true)]
    filter: String,
    /// A question that many have.
    #[arg(long, value_enum, conflicts_with_all = ["event", "sql"])]
    preset: Option<Preset>,
    /// A query in sqlhist's language.
    #[arg(long, value_name = "QUERY", conflicts_with = "event")]
    sql: Option<String>,
    /// Print the writes that do it, for a shell, and write nothing.
    #[arg(long)]
    show: bool,
    /// End after so long: 5s, 500ms.
    #[arg(short, long, value_name = "TIME", value_parser = time)]
    duration: Option<Duration>,
    /// Also print the table so often until then.
    #[arg(short, long, value_name = "TIME", value_parser = time)]
    interval: Option<Duration>,
    /// Text or JSON.
    #[arg(short = 'f', long, value_enum, default_value_t)]
    format: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Preset {
    /// How long threads wait for a CPU once they are woken, us.
    WakeupLatency,
}

fn recipe(args: &Args, kernel: &Kernel) -> Result<Recipe, CliError> {
    if let Some(query) = &args.sql {
        return crate::tracer::ftrace::hist::sql::recipe(kernel, query).map_err(CliError::from);
    }
    if args.preset == Some(Preset::WakeupLatency) {
        return Ok(Recipe::wakeup_latency(&args.filter));
    }
    let plan = HistPlan {
        keys: args.keys.clone(),
        values: args.values.clone(),
        sort: args.sort.clone(),
        size: args.size,
        variables: args.var.clone(),
        actions: args.action.clone(),
        filter: args.filter.clone(),
    };
    Ok(Recipe::of(args.event.as_deref().unwrap_or(""), &plan))
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let kernel = crate::cli::kernel::running(world);
    let recipe = recipe(args, &kernel)?;
    let mut output = stdio::out().styled();
    if args.show {
        output.write_all(recipe.shell().as_bytes()).map_err(CliError::stdout)?;
        return Ok(ExitCode::SUCCESS);
    }
    let stop = crate::cli::latency::stop_flag()?;
    let session = HistSession::start(&kernel, &recipe)?;
    if args.format == Form::Text {
        let ends = if args.duration.is_none() { "; Ctrl-C ends it" } else { "" };
        stdio::say(format_args!("probescope: the kernel counts{ends}"));
    }
    let began = Instant::now();
    let mut next = args.interval.map(|interval| began + interval);
    let mut print = |session: &HistSession| -> Result<u64, CliError> {
        let found = session.table()?;
        let mut out = Vec::new();
        match args.format {
            Form::Text => table(&found, &mut out),
            Form::Json => table_json(&found, &mut out),
        }
        output.write_all(&out).and_then(|()| output.flush()).map_err(CliError::stdout)?;
        Ok(found.dropped)
    };
    while !stop.load(Ordering::Acquire) && args.duration.is_none_or(|duration| began.elapsed() < duration) {
        if next.is_some_and(|next| Instant::now() >= next) {
            next = args.interval.map(|interval| Instant::now() + interval);
            print(&session)?;
        }
        std::thread::sleep(PAUSE);
    }
    let dropped = print(&session)?;
    session.end().iter().for_each(|left| stdio::say(format_args!("probescope: {left}")));
    if dropped > 0 {
        stdio::say(format_args!(
            "probescope: {dropped} events are in no row: the table was full; --size makes it larger (up to 131072)"
        ));
        return Ok(ExitCode::from(PARTIAL));
    }
    Ok(ExitCode::SUCCESS)
}
