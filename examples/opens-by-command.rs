//! Counts opened files by command for two seconds, with the library alone.
//!
//! Run as root: `cargo run --example opens-by-command`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]

use std::error::Error;
use std::sync::Arc;

use probescope::kernel::{Kernel, Roots};
use probescope::lang::source::SourceText;
use probescope::model::render;
use probescope::output::diagnostics::render_all;
use probescope::session::front::{self, FrontSettings};
use probescope::session::update::{ScriptId, TraceId, Update};
use probescope::session::{Session, SessionOptions};
use probescope::store::{History as _, Store};

const SCRIPT: &str = "
    tracepoint:syscalls:sys_enter_openat { @opens[comm] = count(); }
    interval:s:2 { exit(); }
";

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    let compiler = front::compiler(FrontSettings::new(Arc::clone(&kernel)));
    let options =
        SessionOptions { kernel, compiler, pid: None, command: None, measure: false, budget: None, count_first: false };
    let (session, updates) = Session::spawn(options)?;
    let source = SourceText::new("opens", SCRIPT);
    session.submit(ScriptId(1), TraceId(1), source.clone());

    let mut history = Store::default();
    for update in updates {
        match update {
            Update::Compiled { diagnostics, figures, .. } => {
                eprint!("{}", render_all(&source, &diagnostics, false));
                if figures.is_none() {
                    return Err("the script has mistakes".into());
                }
            }
            Update::Failed { diagnostic, .. } => return Err(diagnostic.message.into()),
            Update::Attached { probes, .. } => eprintln!("attached {probes} probes"),
            Update::Trace(info) => history.declare(info),
            Update::Append(chunk) => history.append(chunk),
            Update::Ended { .. } => break,
            Update::Checked { .. } | Update::Notice { .. } | Update::Command { .. } => {}
        }
    }
    let mut text = String::new();
    for map in history.maps_at(TraceId(1), u64::MAX).iter().flat_map(|maps| maps.iter()) {
        render::map(map, &mut text);
    }
    print!("{text}");
    Ok(())
}
