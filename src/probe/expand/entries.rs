//! Where a function of a program is entered, and where it returns, if that isn't at its symbol and by the kernel's return
//! probe.

use std::sync::Arc;

use super::{ExpandError, Expander};
use crate::binary::elf::Binary;
use crate::binary::places::FunctionSymbol;
use crate::binary::{indirect, instructions};
use crate::kernel::Absence;
use crate::probe::find::Found;

/// Functions that return once more when a later call jumps back to them: the return address that they keep must be the
/// true one. `vfork` is none of them: the kernel knows of it.
const RETURN_TWICE: &[&str] =
    &["setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "__setjmp", "getcontext", "__getcontext", "swapcontext"];

/// Code of a Go function in which it looks at its stack, bytes.
const MOST_PROLOGUE: u64 = 64;

impl Expander<'_> {
    /// The addresses where a function is entered: of an indirect one, those of all its implementations; of one in Go, the
    /// place behind the look at its stack, as it is entered anew when that was moved.
    pub(super) fn entries(file: &Found, binary: &Binary, function: &FunctionSymbol) -> Result<Vec<u64>, ExpandError> {
        if binary.is_go(function.address) {
            let code = binary.bytes(function.address, function.size.min(MOST_PROLOGUE));
            let check = code.and_then(|code| instructions::behind_stack_check(&code)).unwrap_or(0);
            return Ok(vec![function.address + check as u64]);
        }
        if !function.indirect {
            return Ok(vec![function.address]);
        }
        binary.implementations(function).map_err(|why| unresolved(file, function, why))
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

fn unresolved(file: &Found, function: &FunctionSymbol, why: indirect::Unresolved) -> ExpandError {
    let (path, name) = (file.path.display(), &function.name);
    let hint = match why {
        indirect::Unresolved::InVdso | indirect::Unresolved::Vector => "probe what calls it".to_owned(),
        indirect::Unresolved::Unknown => {
            format!("name an implementation: `probescope list 'uprobe:{path}:*{name}*'` shows those that have names")
        }
    };
    ExpandError::Refused { message: format!("{name} of {path} is an indirect function: {why}"), hint }
}
