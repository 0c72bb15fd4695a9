//! Where a function of a program is entered, and where it returns, if that isn't at its symbol and by the kernel's return
//! probe.

use std::path::Path;
use std::sync::Arc;

use super::{ExpandError, ExpandOptions, Expander, user};
use crate::binary::elf::Binary;
use crate::binary::instructions::stack;
use crate::binary::places::FunctionSymbol;
use crate::binary::{indirect, instructions};
use crate::kernel::{Absence, Kernel};
use crate::model::target::Target;
use crate::probe::find::{Found, find};
use crate::probe::point::{PointPattern, UprobePlace};

/// Functions that return once more when a later call jumps back to them: the return address that they keep must be the
/// true one. `vfork` is none of them: the kernel knows of it.
const RETURN_TWICE: &[&str] =
    &["setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "__setjmp", "getcontext", "__getcontext", "swapcontext"];

/// Code of a Go function in which it looks at its stack, bytes.
const MOST_PROLOGUE: u64 = 64;

impl Expander<'_> {
    /// The addresses where a function is entered: of an indirect one, those of all its implementations; of one in Go, the
    /// place behind the look at its stack, as it is entered anew when that was moved. Where uprobes can't be at the first
    /// instruction, the next place that does as well.
    pub(super) fn entries(file: &Found, binary: &Binary, function: &FunctionSymbol) -> Result<Vec<u64>, ExpandError> {
        let begins = if binary.is_go(function.address) {
            let code = binary.bytes(function.address, function.size.min(MOST_PROLOGUE));
            let check = code.and_then(|code| instructions::behind_stack_check(&code)).unwrap_or(0);
            vec![function.address + check as u64]
        } else if function.indirect {
            binary.implementations(function).map_err(|why| unresolved(file, function, why))?
        } else {
            vec![function.address]
        };
        begins.into_iter().map(|begin| probed(file, binary, function, begin)).collect()
    }

    /// Refuses a place that was named itself where no uprobe can be.
    pub(super) fn without_hazard(&self, file: &Found, binary: &Binary, address: u64) -> Result<(), ExpandError> {
        match binary.hazard(address) {
            Some(why) if !self.options.unsafe_allowed => Err(ExpandError::Refused {
                message: format!("the instruction at {address:#x} of {} can't be probed: {why}", file.path.display()),
                hint: "give the place of another instruction".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Offsets in the file of the return instructions of the function at an address, where the kernel's return probe,
    /// which puts another return address on the stack, would crash the program. None for all other functions.
    pub(super) fn exits(file: &Found, binary: &Binary, address: u64) -> Result<Arc<[u64]>, ExpandError> {
        let covering = binary.function_at(address).map(|(function, _)| function);
        let twice = |f: &&FunctionSymbol| RETURN_TWICE.contains(&&*f.name);
        let reason = if binary.is_go(address) {
            "Go moves the stacks of running functions, and does not know the address that a return probe puts there"
        } else if covering.as_ref().is_some_and(twice) {
            "it returns a second time, to the address that a return probe put on the stack"
        } else if covering.is_some_and(|f| f.size > 0 && stack::switches(&short_code(binary, f))) {
            "it goes on on another stack, and keeps the address that a return probe put on this one"
        } else {
            return Ok([].into());
        };
        let code = covering.filter(|f| f.size > 0).and_then(|f| Some((f, binary.bytes(f.address, f.size)?)));
        let found = code.and_then(|(f, code)| {
            let at = instructions::returns(&code).filter(|_| code.len() as u64 == f.size)?;
            at.into_iter().map(|at| binary.file_offset(f.address + at as u64)).collect::<Option<Vec<u64>>>()
        });
        let name = covering.map_or_else(|| format!("{address:#x}"), |f| f.name.to_string());
        found.filter(|found| !found.is_empty()).map(Into::into).ok_or_else(|| ExpandError::Refused {
            message: format!(
                "a probe on the return of {name} would crash the program: {reason}; and the function has no return \
                 instructions that are known"
            ),
            hint: format!("probe its entry: `uprobe:{}:{name}`", file.path.display()),
        })
    }
}

/// Code that is read of a function to see whether it switches stacks, bytes: those that do are short.
const MOST_SWITCH: u64 = 4096;

fn short_code(binary: &Binary, function: &FunctionSymbol) -> Vec<u8> {
    binary.bytes(function.address, function.size.min(MOST_SWITCH)).unwrap_or_default()
}

/// Why a function of a binary can't be probed, where that is known without trying.
pub(crate) fn absence(file: &Found, binary: &Binary, function: &FunctionSymbol, ret: bool) -> Option<Absence> {
    let entries = Expander::entries(file, binary, function);
    let refusal = entries.and_then(|entries| {
        let exits = |entry: &u64| if ret { Expander::exits(file, binary, *entry).map(drop) } else { Ok(()) };
        entries.iter().try_for_each(exits)
    });
    let Err(ExpandError::Refused { message, hint }) = refusal else { return None };
    Some(Absence::new(&format!("probes on {}", function.name), &message, &hint))
}

/// Where one begin of a function is probed.
fn probed(file: &Found, binary: &Binary, function: &FunctionSymbol, begin: u64) -> Result<u64, ExpandError> {
    if binary.hazard(begin).is_none() {
        return Ok(begin);
    }
    let size = if function.indirect {
        binary.function_at(begin).filter(|(_, offset)| *offset == 0).map_or(0, |(f, _)| f.size)
    } else {
        function.size.saturating_sub(begin - function.address)
    };
    binary.probed_entry(begin, size).map_err(|why| {
        let which = if function.indirect { " in one of its implementations" } else { "" };
        ExpandError::Refused {
            message: format!(
                "{} of {} can't be probed at its first instruction{which}: {why}",
                function.name,
                file.path.display()
            ),
            hint: "probe what calls it, or an instruction further on by its offset".into(),
        }
    })
}

/// What a pattern of functions of programs leaves out of what it matches: those that no uprobe can be at.
pub fn left_out(pattern: &PointPattern, kernel: &Kernel, options: &ExpandOptions) -> Option<String> {
    const MOST_NAMED: usize = 3;
    let PointPattern::Uprobe { binary: files, place, ret } = pattern else { return None };
    let matches = |function: &FunctionSymbol| match place {
        UprobePlace::Symbol { name, .. } => name.is_wild() && name.matches(&function.name),
        UprobePlace::Demangled(name) => name.is_wild() && user::demangled_matches(&function.name, name),
        _ => false,
    };
    let mut names: Vec<String> = Vec::new();
    let mut reason = None;
    for file in find(files, kernel, options.pid).ok()? {
        let Ok(binary) = kernel.binary(&file.open) else { continue };
        for function in binary.functions().iter().filter(|f| matches(f)) {
            if let Some(why) = absence(&file, &binary, function, *ret) {
                names.push(function.name.to_string());
                reason.get_or_insert(why.reason);
            }
        }
    }
    names.dedup();
    let more = names.len().saturating_sub(MOST_NAMED);
    let named = names.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let named = if more > 0 { format!("{named} and {more} more") } else { named };
    reason.map(|why| format!("left out of what this pattern matches: {named}; the first because {why}"))
}

/// How far behind the begin of its function a target is probed, where that isn't what its name says.
pub fn moved(binary: &Binary, symbol: &str, file_offset: u64) -> Option<u64> {
    let address = binary.address_of(file_offset)?;
    if binary.function(symbol).is_some_and(|f| f.address == address) {
        return None;
    }
    let (function, behind) = binary.function_at(address).filter(|(_, behind)| *behind > 0)?;
    // A name with an offset or an address in its place says where the probe is.
    let named = &*function.name == symbol || binary.function(symbol).is_some_and(|f| f.indirect);
    named.then_some(behind)
}

/// What is to be told of a target that is probed behind its function's begin, where that isn't what its name says.
pub fn note(target: &Target, kernel: &Kernel) -> Option<String> {
    let Target::Uprobe { path, symbol, file_offset, ret: false, .. } = target else { return None };
    let binary = kernel.binary(Path::new(&**path)).ok()?;
    let behind = moved(&binary, symbol, *file_offset)?;
    let why = if binary.is_go(binary.address_of(*file_offset)?) {
        "behind Go's look at the stack, which may be repeated"
    } else {
        "its first instruction is one that uprobes run wrongly or not at all"
    };
    Some(format!("probed {behind} bytes behind its begin, with its arguments still in place: {why}"))
}

fn unresolved(file: &Found, function: &FunctionSymbol, why: indirect::Unresolved) -> ExpandError {
    let (path, name) = (file.path.display(), &function.name);
    let hint = match why {
        indirect::Unresolved::InVdso => "probe what calls it".to_owned(),
        indirect::Unresolved::Unknown => {
            format!("name an implementation: `probescope list 'uprobe:{path}:*{name}*'` shows those that have names")
        }
    };
    ExpandError::Refused { message: format!("{name} of {path} is an indirect function: {why}"), hint }
}
