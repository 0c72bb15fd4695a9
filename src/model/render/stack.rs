//! Stacks as text: a line break, then one frame a line.

use std::fmt::Write as _;

use crate::model::value::{Frame, Stack, StackStyle};

/// A stack as it prints: a leading line break and a line break after every frame, by its style.
#[must_use]
pub fn stack_text(stack: &Stack) -> String {
    let mut text = String::with_capacity(2 + stack.frames.len() * 32);
    text.push('\n');
    for frame in stack.frames.iter() {
        // Writing to a string can't fail.
        let _ = match stack.mode {
            StackStyle::Bpftrace => plain(&mut text, frame),
            StackStyle::Perf => perf(&mut text, frame),
            StackStyle::Raw => writeln!(text, "{:x}", frame.address),
            StackStyle::BuildId => build_id(&mut text, frame),
        };
    }
    text
}

fn plain(text: &mut String, frame: &Frame) -> std::fmt::Result {
    text.push_str("        ");
    symbol(text, frame)?;
    text.push('\n');
    Ok(())
}

fn perf(text: &mut String, frame: &Frame) -> std::fmt::Result {
    write!(text, "\t{:x} ", frame.address)?;
    symbol(text, frame)?;
    match &frame.object {
        // Files and `[unknown]`; a kernel function's module is not told in this style.
        Some(object) if object.starts_with(['/', '[']) => writeln!(text, " ({object})"),
        _ => writeln!(text),
    }
}

/// The object holds the build id; the offset is in the file.
fn build_id(text: &mut String, frame: &Frame) -> std::fmt::Result {
    match &frame.object {
        Some(id) => writeln!(text, "{id} {:#x}", frame.offset),
        None => writeln!(text, "{:#x}", frame.address),
    }
}

fn symbol(text: &mut String, frame: &Frame) -> std::fmt::Result {
    match &frame.symbol {
        Some(name) if frame.inlined => write!(text, "{name} (inlined)"),
        Some(name) => write!(text, "{name}+{}", frame.offset),
        None => write!(text, "{:#x}", frame.address),
    }
}
