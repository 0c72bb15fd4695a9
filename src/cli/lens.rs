//! `probescope lens TYPE|PROBE`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use serde_json::json;

use super::{CliError, World};
use crate::model::render::neutralise;
use crate::probe::lens::{Composite, LensField, roots};
use crate::stdio;

/// Show every member of a kernel type or of a probe's arguments, and how scripts reach it.
///
/// Anonymous structs and unions are entered, and bitfields have their first bit and width. Pointers are followed one at
/// a time: `probescope lens fentry:tcp_sendmsg --open 'args.sk->sk_socket'`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A type (`struct sock`, a typedef) or a probe (`kprobe:vfs_read`).
    of: String,
    /// Only members whose path contains this.
    filter: Option<String>,
    /// Show what this member holds or points to.
    #[arg(long, value_name = "PATH")]
    open: Option<String>,
    /// As JSON, an array of objects.
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let refused = |error: String| CliError::Refused(error);
    let kernel = super::kernel::running(world);
    let mut wholes = roots(&args.of, &kernel).map_err(|e| refused(e.to_string()))?;
    if let Some(path) = &args.open {
        let opened = wholes.iter().find_map(|whole| whole.open(path));
        let no_such = || refused(format!("`{}` has no member `{path}` that has members itself", args.of));
        wholes = vec![opened.ok_or_else(no_such)?];
    }
    let wanted = |field: &LensField| args.filter.as_ref().is_none_or(|filter| field.access.contains(filter.as_str()));
    let listed: Vec<(&Composite, Vec<LensField>)> =
        wholes.iter().map(|w| (w, w.all_fields().into_iter().filter(wanted).collect())).collect();
    let text = if args.json {
        // Plain data with texts as keys: never fails.
        serde_json::to_string_pretty(&json!(listed.iter().map(whole_json).collect::<Vec<_>>())).unwrap_or_default()
            + "\n"
    } else {
        listed.iter().map(whole_text).collect()
    };
    stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    let any = listed.iter().any(|(_, fields)| !fields.is_empty());
    Ok(if any { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn whole_json((whole, fields): &(&Composite, Vec<LensField>)) -> serde_json::Value {
    let field = |f: &LensField| {
        json!({
            "name": f.name, "access": f.access, "type": f.ty, "depth": f.depth,
            "bit_offset": f.bit_offset, "bits": f.bits, "bytes": f.size,
            "opens": f.inner.as_ref().map(Composite::type_text),
        })
    };
    json!({
        "type": whole.type_text(), "access": whole.access(), "bytes": whole.size(),
        "fields": fields.iter().map(field).collect::<Vec<_>>(),
    })
}

fn whole_text((whole, fields): &(&Composite, Vec<LensField>)) -> String {
    let mut out = format!("{}  {} bytes", whole.type_text(), whole.size());
    if !whole.access().is_empty() {
        let _ = write!(out, "  {}", whole.access());
    }
    out.push('\n');
    for field in fields {
        let access = if field.name.is_empty() { "(anonymous)" } else { &field.access };
        let _ = writeln!(
            out,
            "{:>8}  {:>6}  {:indent$}{}  {}",
            place_text(field),
            size_text(field),
            "",
            neutralise(access),
            neutralise(&field.ty),
            indent = field.depth.min(40) * 2,
        );
    }
    out
}

/// Bytes from the start, with the bit where a bitfield begins.
fn place_text(field: &LensField) -> String {
    let offset = field.bit_offset / 8;
    if field.bits == 0 { offset.to_string() } else { format!("{offset}.{}", field.bit_offset % 8) }
}

fn size_text(field: &LensField) -> String {
    if field.bits == 0 { field.size.to_string() } else { format!(":{}", field.bits) }
}
