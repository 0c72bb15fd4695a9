//! `probescope ftrace events --list`.

use std::io::Write as _;
use std::process::ExitCode;

use super::Form;
use crate::cli::{CliError, World};
use crate::kernel::Kernel;
use crate::model::render::neutralise;
use crate::output::json;
use crate::stdio;
use crate::tracer::ftrace::tree::{self, EventRow, Setting};

/// So many are told with their fields.
const WITH_FIELDS: usize = 60;

/// Lists events.
pub fn run(kernel: &Kernel, pattern: &str, form: Form, world: &World) -> Result<ExitCode, CliError> {
    let rows = tree::rows(kernel, pattern)?;
    let mut out = Vec::new();
    if form == Form::Json {
        rows.iter().for_each(|row| json::record("event", row, &mut out));
    } else {
        let colour = world.stdout_is_terminal && world.variable("NO_COLOR").is_none_or(str::is_empty);
        let fields = rows.len() <= WITH_FIELDS;
        rows.iter().for_each(|row| text(row, fields, colour, &mut out));
    }
    stdio::out().styled().write_all(&out).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

fn text(row: &EventRow, fields: bool, colour: bool, out: &mut Vec<u8>) {
    let (on, off) = if colour { ("\x1b[1;36m", "\x1b[0m") } else { ("", "") };
    let name = neutralise(&row.event);
    let id =
        row.id.map_or_else(String::new, |id| format!("{:>1$}{id}", "", 48_usize.saturating_sub(name.chars().count())));
    let _ = writeln!(out, "{on}{name}{off}{}", if fields { id } else { String::new() });
    if let Some(defined) = &row.defined {
        let _ = writeln!(out, "    defined: {}", neutralise(defined));
    }
    if fields {
        row.fields.iter().for_each(|field| drop(writeln!(out, "    {}", neutralise(field))));
    }
    row.set.iter().for_each(|set| setting(set, out));
}

fn setting(set: &Setting, out: &mut Vec<u8>) {
    let place = match (set.instance.as_str(), set.ours) {
        ("", _) => "top instance".to_owned(),
        (name, true) => format!("instance {name} (probescope's)"),
        (name, false) => format!("instance {name}"),
    };
    let state = if set.on { "on" } else { "off" };
    let _ = writeln!(out, "    {}: {state}", neutralise(&place));
    if let Some(filter) = &set.filter {
        let _ = writeln!(out, "        filter  {}", neutralise(filter));
    }
    set.triggers.iter().for_each(|trigger| drop(writeln!(out, "        trigger {}", neutralise(trigger))));
}
