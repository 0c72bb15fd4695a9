//! Figures from inside the library: compilation alone, and from save to attached.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use probescope::kernel::{Kernel, Roots};
use probescope::lang::source::SourceText;
use probescope::session::front::{self, FrontSettings};
use probescope::session::update::{ScriptId, TraceId, Update};
use probescope::session::{Session, SessionOptions};

use super::tool::median;

const ONE_LINER: &str = "tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)); }";
const ROUNDS: usize = 31;

/// A script of about 200 lines: fifty tracepoints' worth of ordinary clauses.
fn long_script() -> String {
    let mut text = String::new();
    for n in 0..40 {
        let _ = write!(
            text,
            "tracepoint:syscalls:sys_enter_openat /pid > {n}/\n{{\n    @c{n}[comm, pid] = count();\n    if (args.flags & {n}) {{ @h{n} = hist(nsecs / {}); }}\n}}\n",
            n + 1
        );
    }
    text
}

/// Parse, check and code generation, warm, without loading.
pub fn compile() {
    println!("\ncompile alone, warm, in this process (median of {ROUNDS})");
    let settings = FrontSettings::new(Arc::new(Kernel::new(Roots::running()).mounting_tracefs()));
    let long = long_script();
    let mut scripts = vec![("one-liner", ONE_LINER.to_owned()), ("200 lines", long)];
    for name in ["tcplife", "biosnoop", "memleak"] {
        let path = format!("{}/scripts/{name}.bt", env!("CARGO_MANIFEST_DIR"));
        scripts.push((name, std::fs::read_to_string(path).unwrap_or_default()));
    }
    for (name, text) in &scripts {
        let source = SourceText::new(name, text);
        let mut times = Vec::new();
        let mut instructions = None;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let compiled = front::compile(&source, None, &settings);
            times.push(start.elapsed().as_secs_f64() * 1e3);
            instructions = compiled.output.map(|o| o.figures.instructions);
        }
        println!("  {name}: {:.2} ms, {} instructions", median(times), instructions.unwrap_or(0));
    }
}

/// A session that is given one text after the other.
pub fn save() {
    println!("\nsave to attached, one tracepoint (median of {ROUNDS}, each replacing the trace before)");
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    let options = SessionOptions {
        kernel: Arc::clone(&kernel),
        compiler: front::compiler(FrontSettings::new(kernel)),
        pid: None,
        command: None,
        measure: true,
        budget: None,
        count_first: false,
    };
    let Ok((handle, updates)) = Session::spawn(options) else {
        println!("  left out: no thread can be started");
        return;
    };
    let mut times = Vec::new();
    for trace in 1..=ROUNDS as u32 {
        handle.submit(ScriptId(1), TraceId(trace), SourceText::new("one-liner.bt", ONE_LINER));
        loop {
            match updates.recv() {
                Ok(Update::Attached { elapsed_ns, .. }) => {
                    times.push(elapsed_ns as f64 / 1e6);
                    break;
                }
                Ok(Update::Failed { diagnostic, .. }) => {
                    println!("  left out: {}", diagnostic.message);
                    return;
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
    let first = times.first().copied().unwrap_or(f64::NAN);
    println!("  {:.1} ms (the first, with cold caches: {first:.1} ms)", median(times));
    drop(updates);
    drop(handle);
}
