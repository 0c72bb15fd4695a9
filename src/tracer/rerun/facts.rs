//! What a front end is told of the probes of a recording: they are there whatever this kernel has.

use std::sync::Arc;

use crate::lang::facts::kernel::{KernelFacts, shape_of};
use crate::lang::facts::{
    CKind, CMember, CType, CTypeId, Facts, Prototype, Refusal, TraceField, Unknown, UserParameter, UserSymbol,
};
use crate::model::target::{Target, UsdtArgument, UsdtPlace};
use crate::probe::glob::Glob;
use crate::probe::point;
use crate::probe::providers::Found;
use crate::store::TraceInfo;

/// Short and old names of providers.
const PROVIDERS: [(&str, &str); 15] = [
    ("t", "tracepoint"),
    ("rt", "rawtracepoint"),
    ("k", "kprobe"),
    ("kr", "kretprobe"),
    ("f", "fentry"),
    ("fr", "fexit"),
    ("kfunc", "fentry"),
    ("kretfunc", "fexit"),
    ("u", "uprobe"),
    ("ur", "uretprobe"),
    ("p", "profile"),
    ("h", "hardware"),
    ("s", "software"),
    ("w", "watchpoint"),
    ("it", "iter"),
];

/// The probes of recorded traces, and this kernel's types.
pub struct RecordedFacts<'a> {
    kernel: KernelFacts<'a>,
    traces: &'a [Arc<TraceInfo>],
}

impl<'a> RecordedFacts<'a> {
    pub fn new(kernel: KernelFacts<'a>, traces: &'a [Arc<TraceInfo>]) -> Self {
        Self { kernel, traces }
    }

    /// Recorded probes that an attach point names.
    fn recorded(&self, point: &str) -> Vec<(Target, String)> {
        let Some((provider, rest)) = point.split_once(':') else { return Vec::new() };
        let provider = provider.to_ascii_lowercase();
        let provider = PROVIDERS.iter().find(|(short, _)| *short == provider).map_or(&*provider, |(_, name)| name);
        let rest = rest.replace('"', "");
        let pattern = Glob::new(&format!("{provider}:{rest}"));
        let library = in_any_folder(provider, &rest).map(|text| Glob::new(&text));
        let mut found: Vec<(Target, String)> = Vec::new();
        for name in self.traces.iter().flat_map(|trace| &trace.probes) {
            let is_named = pattern.matches(name) || library.as_ref().is_some_and(|pattern| pattern.matches(name));
            if !is_named || found.iter().any(|(_, known)| **known == **name) {
                continue;
            }
            let shape = point::parse(name).ok().and_then(|pattern| shape_of(&pattern));
            if let Some(target) = shape {
                found.push((told_apart(target, found.len() as u64, name), name.to_string()));
            }
        }
        found
    }
}

/// A user probe of a library without a path (`libc`) as it stands in recordings: with the folder of the traced machine.
fn in_any_folder(provider: &str, rest: &str) -> Option<String> {
    let (binary, place) = rest.split_once(':')?;
    let is_library = matches!(provider, "uprobe" | "uretprobe" | "usdt") && !binary.contains(['/', '*']);
    (is_library && !binary.is_empty()).then(|| format!("{provider}:*/{binary}.so*:{place}"))
}

/// Arguments that a static probe may have had: which of them were recorded is asked later.
const MOST_ARGUMENTS: usize = 12;

/// A recorded probe of a program as it is not another one; its binary needs not be here, so a static probe has as many
/// arguments as any has.
fn told_apart(target: Target, nth: u64, recorded: &str) -> Target {
    let function = recorded.rsplit(':').next().unwrap_or("");
    match target {
        Target::Uprobe { path, ret, exits, pid, .. } => {
            Target::Uprobe { path, symbol: function.into(), file_offset: nth, ret, exits, pid }
        }
        Target::Usdt { path, provider, semaphore, pid, .. } => {
            let any = UsdtArgument { size: 8, signed: true, place: UsdtPlace::Constant(0) };
            let arguments = vec![any; MOST_ARGUMENTS].into();
            Target::Usdt { path, provider, name: function.into(), file_offset: nth, semaphore, arguments, pid }
        }
        other => other,
    }
}

impl Facts for RecordedFacts<'_> {
    fn expand(&self, text: &str) -> Result<Vec<(Target, String)>, Refusal> {
        let recorded = self.recorded(text);
        if !recorded.is_empty() {
            return Ok(recorded);
        }
        let pattern = point::parse(text);
        // A clause of it is left out, and told of: what it names needs not be here.
        match pattern.as_ref().ok().and_then(shape_of) {
            Some(shape) => Ok(self.kernel.expand(text).unwrap_or_else(|_| vec![(shape, text.to_owned())])),
            None => self.kernel.expand(text),
        }
    }

    fn semantic(&self, point: &str) -> Option<Result<Vec<Found>, Refusal>> {
        self.kernel.semantic(point)
    }

    fn current(&self, word: &str, name: &str) -> Result<(&'static str, String), String> {
        self.kernel.current(word, name)
    }

    fn tracepoint(&self, category: &str, event: &str) -> Result<Vec<TraceField>, String> {
        let known = self.traces.iter().flat_map(|trace| &trace.tracepoints);
        match known.into_iter().find(|t| &*t.category == category && &*t.event == event) {
            Some(known) => Ok(known.fields.clone()),
            None => self.kernel.tracepoint(category, event),
        }
    }

    fn find_type(&self, kind: CKind, name: &str) -> Option<CTypeId> {
        self.kernel.find_type(kind, name)
    }

    fn c_type(&self, id: CTypeId) -> CType {
        self.kernel.c_type(id)
    }

    fn members(&self, id: CTypeId) -> Vec<CMember> {
        self.kernel.members(id)
    }

    fn variants(&self, id: CTypeId) -> Vec<(Arc<str>, i64)> {
        self.kernel.variants(id)
    }

    fn enumerator(&self, name: &str) -> Option<(CTypeId, i64)> {
        self.kernel.enumerator(name)
    }

    fn prototype(&self, module: &str, function: &str) -> Option<Prototype> {
        self.kernel.prototype(module, function)
    }

    fn raw_tracepoint(&self, module: &str, event: &str) -> Option<Prototype> {
        self.kernel.raw_tracepoint(module, event)
    }

    fn user_parameters(&self, path: &str, symbol: &str, file_offset: u64) -> Result<Vec<UserParameter>, Unknown> {
        self.kernel.user_parameters(path, symbol, file_offset)
    }

    fn user_type(&self, path: &str, kind: CKind, name: &str) -> Option<CTypeId> {
        self.kernel.user_type(path, kind, name)
    }

    fn user_enumerator(&self, path: &str, name: &str) -> Option<(CTypeId, i64)> {
        self.kernel.user_enumerator(path, name)
    }

    fn canonical(&self, id: CTypeId) -> CTypeId {
        self.kernel.canonical(id)
    }

    fn symbol_address(&self, name: &str) -> Option<u64> {
        self.kernel.symbol_address(name)
    }

    fn user_symbol(&self, path: &str, name: &str, file_offset: u64) -> Option<UserSymbol> {
        self.kernel.user_symbol(path, name, file_offset)
    }

    fn cgroup_id(&self, path: &str) -> Option<u64> {
        self.kernel.cgroup_id(path)
    }

    fn types_absent(&self) -> Option<String> {
        self.kernel.types_absent()
    }
}
