//! A program's instructions with the lines of its source between.

use std::collections::BTreeMap;
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
    let mut costs = Costs::default();
    let mut shown = 0;
    for (at, instruction) in disassemble(&code) {
        while let Some(line) = lines.next_if(|line| line.instruction <= at) {
            let source = text(line.text).trim();
            let file = text(line.file);
            let place = format!("{}:{}", file.rsplit('/').next().unwrap_or(file), line.line);
            if line.line != shown && !source.is_empty() {
                out.push(format!("; {source} @ {place}"));
            }
            costs.enter(line.line, source, place);
            shown = line.line;
        }
        costs.add(&instruction);
        out.push(format!("{at:5}: {instruction}"));
    }
    let mut all = costs.lines();
    all.append(&mut out);
    Ok(all)
}

/// What each line of the source became.
#[derive(Default)]
struct Costs {
    /// By line and place: files of several names may be told of.
    lines: BTreeMap<(u32, String), Cost>,
    at: Option<(u32, String)>,
}

#[derive(Default)]
struct Cost {
    text: String,
    instructions: u32,
    calls: u32,
}

impl Costs {
    fn enter(&mut self, line: u32, source: &str, place: String) {
        let key = (line, place);
        self.at = Some(key.clone());
        let text = format!("{}  {source}", key.1);
        let cost = self.lines.entry(key).or_default();
        if cost.text.is_empty() {
            cost.text = text;
        }
    }

    fn add(&mut self, instruction: &str) {
        let Some(cost) = self.at.as_ref().and_then(|line| self.lines.get_mut(line)) else { return };
        cost.instructions += 1;
        // `(85) call bpf_ktime_get_ns#5`: the operation's number stands before it.
        let operation = instruction.split_once(") ").map_or(instruction, |(_, operation)| operation);
        cost.calls += u32::from(operation.starts_with("call"));
    }

    /// A table of them, empty where the program tells nothing of its source.
    fn lines(&self) -> Vec<String> {
        let total: u32 = self.lines.values().map(|cost| cost.instructions).sum();
        if total == 0 {
            return Vec::new();
        }
        let row = |cost: &Cost| {
            let percent = f64::from(cost.instructions) / f64::from(total) * 100.0;
            format!("; {:>6} {percent:>4.0} % {:>5}  {}", cost.instructions, cost.calls, cost.text)
        };
        let heading = "; instructions, calls of the kernel, line".to_owned();
        std::iter::once(heading).chain(self.lines.values().map(row)).chain([String::new()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Costs;

    #[test]
    fn instructions_are_charged_to_the_lines_that_they_come_from() {
        let mut costs = Costs::default();
        assert!(costs.lines().is_empty());
        costs.enter(3, "@ = count();", "a.bt:3".to_owned());
        costs.add("(b7) r1 = 0");
        costs.add("(85) call bpf_ktime_get_ns#5");
        costs.enter(4, "exit();", "a.bt:4".to_owned());
        costs.add("(95) exit");
        costs.enter(3, "@ = count();", "a.bt:3".to_owned());
        costs.add("(b7) r2 = 0");
        let lines = costs.lines();
        assert_eq!(lines[1], ";      3   75 %     1  a.bt:3  @ = count();");
        assert_eq!(lines[2], ";      1   25 %     0  a.bt:4  exit();");
    }
}
