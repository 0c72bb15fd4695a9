//! A program's instructions with the lines of its source between.

use std::os::fd::AsFd as _;

use super::own_btf;
use crate::codegen::backend::disasm::disassemble;
use crate::engine::error::EngineError;
use crate::engine::sys::objects::{self, ObjectKind};

/// A program's instructions after the verifier, each line of the source before its own.
///
/// # Errors
/// When it is gone, or the kernel does not show its code.
pub fn listing(id: u32) -> Result<Vec<String>, EngineError> {
    let operation = || format!("read program {id}");
    let failed = |source| EngineError::Objects { operation: operation(), source };
    let fd = objects::open(ObjectKind::Program, id).map_err(failed)?;
    let info = objects::program(fd.as_fd()).map_err(failed)?;
    let (code, lines) = objects::program_code(fd.as_fd()).map_err(failed)?;
    if code.is_empty() {
        let hidden = "the kernel does not show instructions (kernel.kptr_restrict, or net.core.bpf_jit_harden)";
        return Err(failed(std::io::Error::new(std::io::ErrorKind::PermissionDenied, hidden)));
    }
    let btf = own_btf(info.btf_id);
    let text = |at: u32| btf.as_ref().map_or("", |btf| btf.text_at(at));
    let mut out = Vec::new();
    let mut lines = lines.iter().peekable();
    let mut shown = 0;
    for (at, instruction) in disassemble(&code) {
        while let Some(line) = lines.next_if(|line| line.instruction <= at) {
            let source = text(line.text).trim();
            if line.line != shown && !source.is_empty() {
                let file = text(line.file);
                let file = file.rsplit('/').next().unwrap_or(file);
                out.push(format!("; {source} @ {file}:{}", line.line));
            }
            shown = line.line;
        }
        out.push(format!("{at:5}: {instruction}"));
    }
    Ok(out)
}
