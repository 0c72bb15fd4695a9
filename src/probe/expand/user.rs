//! User-space functions and statically defined probes.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use super::{ExpandError, Expander, no_match};
use crate::binary::elf::Binary;
use crate::binary::instructions;
use crate::binary::places::FunctionSymbol;
use crate::binary::{BinaryError, archive};
use crate::kernel::Feature;
use crate::model::target::Target;
use crate::probe::find::{Found, find};
use crate::probe::glob::Glob;
use crate::probe::point::UprobePlace;
use crate::probe::suggest;

/// How a place is probed that can't be checked.
const FORCE: &str = "Use --unsafe to force attachment. WARNING: This option could lead to data corruption in the target \
                     process.";
/// Code of one function that is read to find where its instructions begin, bytes.
const MOST_CODE: u64 = 1 << 20;

impl Expander<'_> {
    pub(super) fn uprobes(&self, binary: &Glob, place: &UprobePlace, ret: bool) -> Result<Vec<Target>, ExpandError> {
        self.kernel.features().require(Feature::Uprobe)?;
        let files = self.binaries(binary, "uprobe")?;
        let mut targets = Vec::new();
        let mut first_error = None;
        for file in &files {
            let opened = match self.kernel.binary(&file.open) {
                Ok(opened) => opened,
                // A pattern for files also matches scripts and sources.
                Err(error) => {
                    targets.extend(self.in_bare_code(&error, file, place, ret).filter(|_| !binary.is_wild()));
                    first_error = first_error.or(Some(error.into()));
                    continue;
                }
            };
            match self.uprobes_in(file, &opened, place, ret) {
                Ok(found) => targets.extend(found),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        match first_error {
            Some(error) if targets.is_empty() => Err(error),
            _ => Ok(targets),
        }
    }

    /// A place in machine code that has no ELF around it: an address there is an offset in the file.
    fn in_bare_code(&self, error: &BinaryError, file: &Found, place: &UprobePlace, ret: bool) -> Option<Target> {
        let (BinaryError::Malformed { .. }, UprobePlace::Address(offset)) = (error, place) else { return None };
        let (path, symbol, pid) = (path_text(file), offset.to_string().into(), self.options.pid);
        let exits = [].into();
        self.options.unsafe_allowed.then_some(Target::Uprobe { path, symbol, file_offset: *offset, ret, exits, pid })
    }

    /// The files that `kind` of probe (`uprobe` or `usdt`) names.
    fn binaries(&self, binary: &Glob, kind: &'static str) -> Result<Vec<Found>, ExpandError> {
        if binary.as_str().is_empty() && self.options.pid.is_none() {
            return Err(ExpandError::Refused {
                message: match kind {
                    "usdt" => "usdt probe must specify at least path or pid to probe. To target all paths/pids set \
                               the path to '*'."
                        .into(),
                    _ => format!("{kind} target file '' does not exist or is not executable"),
                },
                hint: "name it before the function, or a process with -p".into(),
            });
        }
        if binary.as_str() == "*" && self.options.pid.is_none() {
            return Err(ExpandError::Refused {
                message: "every binary of the machine is too many".into(),
                hint: "name a process with -p, or a folder: `uprobe:/usr/bin/*:main`".into(),
            });
        }
        let found = find(binary, self.kernel, self.options.pid);
        Ok(found.map_err(|error| match error {
            BinaryError::NotFound { name, suggestions, .. } => BinaryError::NotFound { kind, name, suggestions },
            other => other,
        })?)
    }

    fn uprobes_in(
        &self,
        file: &Found,
        binary: &Binary,
        place: &UprobePlace,
        ret: bool,
    ) -> Result<Vec<Target>, ExpandError> {
        match place {
            // A name as listings print it: of C++ or Rust, in the form that people read.
            UprobePlace::Symbol { name, offset: 0 }
                if is_readable(name) && binary.function(name.as_str()).is_none() =>
            {
                self.uprobes_in(file, binary, &UprobePlace::Demangled(name.clone()), ret)
            }
            UprobePlace::Symbol { name, offset } if !name.is_wild() => {
                let symbol = binary.function(name.as_str()).ok_or_else(|| no_symbol(file, binary, name, ret))?;
                let shown: Arc<str> =
                    if *offset == 0 { Arc::clone(&symbol.name) } else { format!("{name}+{offset}").into() };
                if *offset != 0 && symbol.size != 0 && *offset >= symbol.size {
                    return Err(ExpandError::Refused {
                        message: format!("Offset outside the function bounds ('{name}' size is {})", symbol.size),
                        hint: "give an offset at the start of an instruction inside the function".into(),
                    });
                }
                if symbol.size == 0 && !self.options.unsafe_allowed {
                    return Err(ExpandError::Refused {
                        message: format!("Could not determine boundary for {name} (symbol has size 0).\n{FORCE}"),
                        hint: "the symbol is a label of assembly code: name a function".into(),
                    });
                }
                self.on_instruction(file, binary, symbol, *offset)?;
                let at =
                    |entry: u64| self.uprobe_at(file, binary, entry.wrapping_add(*offset), Arc::clone(&shown), ret);
                // An offset in an indirect function is one in its resolver.
                let entries = if *offset == 0 {
                    Self::entries(file, binary, symbol)?
                } else {
                    self.without_hazard(file, binary, symbol.address.wrapping_add(*offset))?;
                    vec![symbol.address]
                };
                entries.into_iter().map(at).collect()
            }
            UprobePlace::Symbol { name, .. } => {
                let matching = binary.functions().iter().filter(|f| name.matches(&f.name));
                self.many(file, binary, matching, name, ret)
            }
            UprobePlace::Demangled(name) => {
                let matching = binary.functions().iter().filter(|f| demangled_matches(&f.name, name));
                self.many(file, binary, matching, name, ret)
            }
            UprobePlace::Address(address) => {
                self.address_on_instruction(file, binary, *address)?;
                Ok(vec![self.uprobe_at_address(file, binary, *address, ret)?])
            }
            UprobePlace::Line { .. } if ret => Err(ExpandError::Refused {
                message: "a source line does not return".into(),
                hint: "name the function: `uretprobe:BINARY:FUNCTION`".into(),
            }),
            UprobePlace::Line { file: source, line, column } => {
                let addresses = self.kernel.debug_info(&file.open)?.line(source, *line, *column)?;
                addresses.into_iter().map(|a| self.uprobe_at_address(file, binary, a, ret)).collect()
            }
        }
    }

    /// Refuses an address that no function covers, or that is inside an instruction.
    fn address_on_instruction(&self, file: &Found, binary: &Binary, address: u64) -> Result<(), ExpandError> {
        if self.options.unsafe_allowed {
            return Ok(());
        }
        let Some((function, offset)) = binary.function_at(address) else {
            let name = file.path.display();
            return Err(ExpandError::Refused {
                message: format!(
                    "Could not determine instruction boundary for uprobe:{name}:{address} (binary appears \
                     stripped).\n{FORCE}"
                ),
                hint: "no function is known there: name one, or give an address as `nm` prints it".into(),
            });
        };
        self.on_instruction(file, binary, function, offset)
    }

    /// Refuses an offset inside an instruction: the breakpoint would destroy it, and crash the program.
    fn on_instruction(
        &self,
        file: &Found,
        binary: &Binary,
        function: &FunctionSymbol,
        offset: u64,
    ) -> Result<(), ExpandError> {
        if offset == 0 || self.options.unsafe_allowed {
            return Ok(());
        }
        let code = binary.file_offset(function.address).and_then(|start| code_of(&file.open, start, offset));
        let begins = code.and_then(|code| instructions::begins_at(&code, offset as usize));
        if begins != Some(false) {
            return Ok(());
        }
        let (path, name) = (file.path.display(), &function.name);
        Err(ExpandError::Refused {
            message: format!("Could not add uprobe into middle of instruction: {path}:{name}+{offset}\n{FORCE}"),
            hint: format!("`objdump -d --disassemble={name} {path}` shows where its instructions begin"),
        })
    }

    /// One target per address: aliases of one function would fire it several times.
    fn many<'b>(
        &self,
        file: &Found,
        binary: &'b Binary,
        matching: impl Iterator<Item = &'b FunctionSymbol>,
        name: &Glob,
        ret: bool,
    ) -> Result<Vec<Target>, ExpandError> {
        let mut seen = std::collections::HashSet::new();
        let mut refused = None;
        let mut targets = Vec::new();
        for function in matching {
            let entries = Self::entries(file, binary, function).unwrap_or_else(|refusal| {
                refused.get_or_insert(refusal);
                Vec::new()
            });
            for entry in entries.into_iter().filter(|entry| seen.insert(*entry)) {
                match self.uprobe_at(file, binary, entry, Arc::clone(&function.name), ret) {
                    Ok(target) => targets.push(target),
                    Err(refusal) => refused = refused.or(Some(refusal)),
                }
            }
        }
        match refused {
            _ if !targets.is_empty() => Ok(targets),
            Some(refusal) => Err(refusal),
            None => Err(no_symbol(file, binary, name, ret)),
        }
    }

    /// At an address, which is its name.
    fn uprobe_at_address(&self, file: &Found, binary: &Binary, address: u64, ret: bool) -> Result<Target, ExpandError> {
        self.without_hazard(file, binary, address)?;
        self.uprobe_at(file, binary, address, address.to_string().into(), ret)
    }

    fn uprobe_at(
        &self,
        file: &Found,
        binary: &Binary,
        address: u64,
        symbol: Arc<str>,
        ret: bool,
    ) -> Result<Target, ExpandError> {
        let file_offset = binary.file_offset(address).ok_or_else(|| ExpandError::Refused {
            message: format!("nothing of {} is loaded at {address:#x}", file.path.display()),
            hint: "give an address as `nm` prints it".into(),
        })?;
        let exits = if ret { Self::exits(file, binary, address)? } else { [].into() };
        Ok(Target::Uprobe { path: path_text(file), symbol, file_offset, ret, exits, pid: self.options.pid })
    }

    pub(super) fn usdt(&self, binary: &Glob, provider: Option<&Glob>, name: &Glob) -> Result<Vec<Target>, ExpandError> {
        self.kernel.features().require(Feature::Usdt)?;
        let files = self.binaries(binary, "usdt")?;
        let mut targets = Vec::new();
        let mut known: Vec<String> = Vec::new();
        for file in &files {
            let opened = match self.kernel.binary(&file.open) {
                Ok(opened) => opened,
                Err(_) if binary.is_wild() => continue,
                Err(error) => return Err(error.into()),
            };
            let wanted = |p: &str, n: &str| provider.is_none_or(|g| g.matches(p)) && name.matches(n);
            let sites = opened.usdt_sites();
            for site in sites.iter().filter(|s| wanted(&s.provider, &s.name)) {
                opened.address_of(site.file_offset).map_or(Ok(()), |at| self.without_hazard(file, &opened, at))?;
            }
            known.extend(sites.iter().map(|s| format!("{}:{}", s.provider, s.name)));
            targets.extend(sites.iter().filter(|s| wanted(&s.provider, &s.name)).map(|site| Target::Usdt {
                path: path_text(file),
                provider: Arc::clone(&site.provider),
                name: Arc::clone(&site.name),
                file_offset: site.file_offset,
                semaphore: site.semaphore,
                arguments: site.arguments().into(),
                pid: self.options.pid,
            }));
        }
        if !targets.is_empty() {
            return Ok(targets);
        }
        let full = provider.map_or_else(|| name.to_string(), |p| format!("{p}:{name}"));
        if known.is_empty() {
            return Err(ExpandError::NoMatch {
                kind: "usdt".into(),
                name: format!("{binary}:{name}"),
                suggestions: Vec::new(),
                reason: Some(format!("{} has no usdt probes at all", binary.as_str())),
            });
        }
        let near = suggest::nearest(&full, known.iter().map(String::as_str), 3);
        let near = if near.is_empty() {
            let by_name = suggest::nearest(name.as_str(), known.iter().filter_map(|k| Some(k.split_once(':')?.1)), 3);
            known
                .iter()
                .filter(|k| k.split_once(':').is_some_and(|(_, n)| by_name.contains(&n)))
                .map(String::as_str)
                .collect()
        } else {
            near
        };
        Err(no_match(
            "usdt",
            &format!("{binary}:{name}"),
            near.into_iter().map(|n| format!("usdt:{binary}:{n}")).collect(),
        ))
    }
}

/// The code from an offset in a file to the end of the instruction `length` bytes behind it.
fn code_of(path: &Path, start: u64, length: u64) -> Option<Vec<u8>> {
    const INSTRUCTION: usize = 15;
    if length > MOST_CODE {
        return None;
    }
    let mut code = vec![0; length as usize + INSTRUCTION];
    let read = File::open(archive::file_of(path)).and_then(|f| f.read_at(&mut code, start)).ok()?;
    code.truncate(read);
    Some(code)
}

fn path_text(file: &Found) -> Arc<str> {
    // The path that is opened is the one to attach to; both are equal unless the process lives elsewhere.
    archive::file_of(&file.open).to_string_lossy().into()
}

fn no_symbol(file: &Found, binary: &Binary, name: &Glob, ret: bool) -> ExpandError {
    let provider = if ret { "uretprobe" } else { "uprobe" };
    let plain = name.as_str().replace('*', "");
    let near = suggest::nearest(&plain, binary.functions().iter().map(|f| &*f.name), 3);
    let mut suggestions: Vec<String> =
        near.into_iter().map(|n| format!("{provider}:{}:{n}", file.path.display())).collect();
    if moved_into_libc(binary) {
        suggestions = vec![format!("{provider}:libc:{name}")];
    }
    let reason = if binary.functions().is_empty() {
        "the binary was stripped: it names no functions"
    } else {
        "the function may be inlined"
    };
    ExpandError::NoMatch {
        kind: provider.to_owned(),
        name: format!("{}:{name}", file.path.display()),
        suggestions,
        reason: Some(reason.into()),
    }
}

/// A library that glibc 2.34 moved into libc: what is left are placeholders for its old versions.
fn moved_into_libc(binary: &Binary) -> bool {
    binary.functions().iter().any(|f| f.name.contains("_version_placeholder"))
}

/// Whether a name is one that only the readable form of a mangled one can be.
fn is_readable(name: &Glob) -> bool {
    !name.is_wild() && (name.as_str().contains("::") || name.as_str().ends_with(')'))
}

/// Whether a mangled name's readable form matches, with or without its parameters.
pub(super) fn demangled_matches(mangled: &str, wanted: &Glob) -> bool {
    let Some(readable) = demangle(mangled) else { return wanted.matches(mangled) };
    let bare = without_parameters(&readable);
    // Listings print a Rust name's hash, too.
    let hashed = || rustc_demangle::try_demangle(mangled).is_ok_and(|name| wanted.matches(&name.to_string()));
    wanted.matches(&readable) || wanted.matches(bare) || wanted.matches(without_result(bare)) || hashed()
}

/// The name before the parameters' bracket. Brackets of the name itself are `(anonymous namespace)` and `operator()`.
fn without_parameters(readable: &str) -> &str {
    let is_of_name = |(at, _): &(usize, &str)| {
        let (before, rest) = readable.split_at(*at);
        rest.starts_with("(anonymous namespace)") || (before.ends_with("operator") && rest.starts_with("()"))
    };
    let first = readable.match_indices('(').find(|bracket| !is_of_name(bracket));
    first.map_or(readable, |(at, _)| &readable[..at])
}

/// Names of functions made from templates begin with the result's type: `long app::largest<long>`.
fn without_result(bare: &str) -> &str {
    let mut depth = 0_u32;
    let mut start = 0;
    for (at, c) in bare.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            // `operator new` has a blank of its own.
            ' ' if depth == 0 && !bare[start..at].ends_with("operator") => start = at + 1,
            _ => {}
        }
    }
    &bare[start..]
}

/// Readable form of a C++ or Rust name.
fn demangle(mangled: &str) -> Option<String> {
    if !mangled.starts_with("_Z") && !mangled.starts_with("_R") {
        return None;
    }
    let rust = rustc_demangle::try_demangle(mangled).ok().map(|d| format!("{d:#}"));
    rust.or_else(|| cpp_demangle::Symbol::new(mangled).ok()?.demangle().ok())
}
