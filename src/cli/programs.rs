//! `probescope programs` and `probescope maps`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::{CliError, World};
use crate::engine::inventory::{self, Contents, InventoryReader};
use crate::model::bpf::{BpfMap, BpfProgram, Holder, Inventory};
use crate::model::render::neutralise;
use crate::stdio;

/// List the BPF programs of the system and their costs, or print one's instructions.
///
/// The kernel counts runs only while somebody wants it to: they are counted for the interval, and
/// no setting is left changed.
#[derive(Debug, clap::Args)]
pub struct Programs {
    /// Print the instructions of the program with this id, beside the lines of its source.
    id: Option<u32>,
    /// How long to count runs, in seconds.
    #[arg(short, long, default_value = "1", value_parser = seconds)]
    interval: Duration,
    /// As JSON, an array of objects.
    #[arg(long)]
    json: bool,
}

/// List the BPF maps of the system, or what is in one.
#[derive(Debug, clap::Args)]
pub struct Maps {
    /// Print the entries of the map with this id.
    id: Option<u32>,
    /// Print each value member by member.
    #[arg(short, long)]
    verbose: bool,
    /// As JSON, an array of objects.
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is wanted".to_owned())?;
    if (0.01..=3600.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("from 0.01 to 3600 seconds".to_owned())
    }
}

fn refused(error: impl std::fmt::Display) -> CliError {
    CliError::Refused(error.to_string())
}

fn print(text: &str) -> Result<ExitCode, CliError> {
    stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

fn print_json(value: &serde_json::Value) -> Result<ExitCode, CliError> {
    // Plain data with texts as keys: never fails.
    print(&(serde_json::to_string_pretty(value).unwrap_or_default() + "\n"))
}

/// Runs `programs`.
pub fn run(args: &Programs, world: &World) -> Result<ExitCode, CliError> {
    if let Some(id) = args.id {
        let lines = inventory::listing(id).map_err(refused)?;
        return print(&lines.iter().map(|line| format!("{}\n", neutralise(line))).collect::<String>());
    }
    let mut reader = InventoryReader::new(super::kernel::running(world)).map_err(refused)?;
    let before = reader.read().map_err(refused)?;
    std::thread::sleep(args.interval);
    let now = reader.read().map_err(refused)?;
    if let Some(reason) = &now.uncounted {
        stdio::say(format_args!("probescope: {reason}"));
    }
    if args.json {
        let rows: Vec<_> = now.programs.iter().map(|p| program_json(p, &before, &now)).collect();
        return print_json(&json!(rows));
    }
    if now.programs.is_empty() {
        return print("No BPF program is loaded.\n");
    }
    print(&table_of_programs(&before, &now))
}

fn program_json(program: &BpfProgram, before: &Inventory, now: &Inventory) -> serde_json::Value {
    let mut row = json!(program);
    if let Some(object) = row.as_object_mut() {
        let rate = now.rate(before, program.id).filter(|_| now.uncounted.is_none());
        object.insert("events_per_second".to_owned(), json!(rate.map(|r| r.events_per_second)));
        object.insert("ns_per_event".to_owned(), json!(rate.map(|r| r.ns_per_event)));
        object.insert("cpu_percent".to_owned(), json!(rate.map(|r| r.cpu_percent)));
    }
    row
}

fn table_of_programs(before: &Inventory, now: &Inventory) -> String {
    let mut out = format!(
        "{:>6} {:<20} {:<16} {:>8} {:>10} {:>9} {:>9}  {:<24} {}\n",
        "ID", "TYPE", "NAME", "CPU %", "EVENTS/s", "NS/EVENT", "BYTES", "HELD BY", "ATTACHED TO"
    );
    for program in &now.programs {
        let rate = now.rate(before, program.id).filter(|_| now.uncounted.is_none());
        let figure = |value: Option<f64>, decimals: usize| value.map_or("-".to_owned(), |v| format!("{v:.decimals$}"));
        let _ = writeln!(
            out,
            "{:>6} {:<20} {:<16} {:>8} {:>10} {:>9} {:>9}  {:<24} {}",
            program.id,
            program.kind,
            neutralise(&program.name),
            figure(rate.map(|r| r.cpu_percent), 3),
            figure(rate.map(|r| r.events_per_second), 1),
            figure(rate.map(|r| r.ns_per_event), 0),
            program.memory_bytes.map_or("-".to_owned(), |b| b.to_string()),
            holders(&program.holders),
            neutralise(&program.attached.join(", ")),
        );
    }
    out
}

/// Who holds an object: `systemd/1, bpftop/77`.
fn holders(holders: &[Holder]) -> String {
    if holders.is_empty() {
        return "-".to_owned();
    }
    holders.iter().map(|h| format!("{}/{}", neutralise(&h.comm), h.pid)).collect::<Vec<_>>().join(", ")
}

/// Runs `maps`.
pub fn run_maps(args: &Maps, world: &World) -> Result<ExitCode, CliError> {
    if let Some(id) = args.id {
        let contents = inventory::contents(id).map_err(refused)?;
        return if args.json {
            print_json(&contents_json(&contents))
        } else {
            print(&entries(&contents, args.verbose))
        };
    }
    let mut reader = InventoryReader::new(super::kernel::running(world)).map_err(refused)?;
    let now = reader.read().map_err(refused)?;
    match (args.json, now.maps.is_empty()) {
        (true, _) => print_json(&json!(now.maps)),
        (false, true) => print("There is no BPF map.\n"),
        (false, false) => print(&table_of_maps(&now.maps)),
    }
}

fn table_of_maps(maps: &[BpfMap]) -> String {
    let mut out = format!(
        "{:>6} {:<20} {:<16} {:>6} {:>9} {:>9} {:>11}  {:<24} {}\n",
        "ID", "TYPE", "NAME", "KEY B", "VALUE B", "ENTRIES", "BYTES", "HELD BY", "KEY → VALUE"
    );
    for map in maps {
        let types = [&map.key_type, &map.value_type].map(|ty| ty.as_deref().unwrap_or("?"));
        let types = if types == ["?", "?"] { String::new() } else { types.join(" → ") };
        let _ = writeln!(
            out,
            "{:>6} {:<20} {:<16} {:>6} {:>9} {:>9} {:>11}  {:<24} {}",
            map.id,
            map.kind,
            neutralise(&map.name),
            map.key_bytes,
            map.value_bytes,
            map.max_entries,
            map.memory_bytes.map_or("-".to_owned(), |b| b.to_string()),
            holders(&map.holders),
            neutralise(&types),
        );
    }
    out
}

fn entries(contents: &Contents, verbose: bool) -> String {
    let mut out = String::new();
    for entry in &contents.entries {
        let key = contents.key_text(entry);
        if verbose {
            let _ = writeln!(out, "{}", neutralise(&key));
            for line in contents.value_lines(entry) {
                let _ = writeln!(out, "    {}", neutralise(&line));
            }
        } else {
            let _ = writeln!(out, "{}: {}", neutralise(&key), neutralise(&contents.value_text(entry)));
        }
    }
    if contents.is_cut {
        out.push_str("… there are more entries\n");
    }
    out
}

fn contents_json(contents: &Contents) -> serde_json::Value {
    let row = |entry| json!({ "key": contents.key_text(entry), "value": contents.value_text(entry) });
    json!(contents.entries.iter().map(row).collect::<Vec<_>>())
}
