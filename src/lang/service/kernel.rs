//! Knowledge of the running kernel for the language service: BTF, tracefs and the probe catalogue.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Field, Knowledge, ProbeHit};
use crate::kernel::Kernel;
use crate::kernel::btf::Btf;
use crate::kernel::btf::{FuncProto, TypeId};
use crate::probe::catalogue::Background;
use crate::probe::point::{self, PointPattern};
use crate::probe::search::Search;

/// How deep anonymous members are followed.
const MAX_DEPTH: u32 = 8;

/// What one kernel offers. Reading is lazy and cached by [`Kernel`].
#[derive(Debug)]
pub struct KernelKnowledge {
    kernel: Arc<Kernel>,
    catalogue: Option<Background>,
    search: Mutex<Search>,
}

impl KernelKnowledge {
    /// Without a catalogue no probes are offered; the rest works.
    #[must_use]
    pub fn new(kernel: Arc<Kernel>, catalogue: Option<Background>) -> Self {
        Self { kernel, catalogue, search: Mutex::default() }
    }

    fn btf(&self) -> Option<&Btf> {
        self.kernel.btf().ok()
    }

    fn tracepoint(&self, category: &str, event: &str) -> Vec<Field> {
        let Ok(format) = self.kernel.tracepoint(category, event) else { return Vec::new() };
        let fields = format.own_fields().map(|f| {
            let ty = match (f.dynamic, f.array) {
                (Some(_), _) if &*f.ty == "char" => "string".to_owned(),
                (None, Some(n)) => format!("{}[{n}]", f.ty),
                _ => f.ty.to_string(),
            };
            Field { name: f.name.to_string(), ty }
        });
        fields.collect()
    }

    /// The prototype behind an attach point.
    fn prototype(&self, pattern: &PointPattern) -> Option<FuncProto<'_>> {
        let btf = self.btf()?;
        match pattern {
            PointPattern::Kprobe { function, offset: 0, .. } | PointPattern::Fentry { function, .. } => {
                btf.func(function.as_str())
            }
            PointPattern::RawTracepoint { event, .. } => btf.raw_tracepoint(event.as_str()),
            _ => None,
        }
    }

    fn flatten(btf: &Btf, id: TypeId, depth: u32, out: &mut Vec<Field>) {
        for member in btf.members(id) {
            if member.name.is_empty() {
                if let Some(depth) = depth.checked_sub(1) {
                    Self::flatten(btf, member.ty, depth, out);
                }
            } else {
                out.push(Field { name: member.name.to_owned(), ty: btf.declaration(member.ty, "") });
            }
        }
    }
}

impl Knowledge for KernelKnowledge {
    fn probes(&self, typed: &str, limit: usize) -> Vec<ProbeHit> {
        let Some(catalogue) = &self.catalogue else { return Vec::new() };
        let mut search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        let hits = search.search(&catalogue.snapshot(), typed, 0).hits.into_iter().take(limit);
        let detail = |absence: Option<crate::kernel::Absence>| absence.map_or(String::new(), |a| a.reason.to_string());
        hits.map(|hit| ProbeHit { point: hit.name.to_string(), detail: detail(hit.absence) }).collect()
    }

    fn args(&self, point: &str) -> Vec<Field> {
        let Ok(pattern) = point::parse(point) else { return Vec::new() };
        if let PointPattern::Tracepoint { category, event } = &pattern {
            return self.tracepoint(category.as_str(), event.as_str());
        }
        let (Some(btf), Some(proto)) = (self.btf(), self.prototype(&pattern)) else { return Vec::new() };
        let named = proto.params.iter().filter(|p| !p.name.is_empty());
        named.map(|p| Field { name: p.name.to_owned(), ty: btf.declaration(p.ty, "") }).collect()
    }

    fn retval(&self, point: &str) -> Option<String> {
        let pattern = point::parse(point).ok()?;
        if !matches!(pattern, PointPattern::Fentry { exit: true, .. } | PointPattern::Kprobe { ret: true, .. }) {
            return None;
        }
        let proto = self.prototype(&pattern)?;
        Some(self.btf()?.declaration(proto.ret, ""))
    }

    fn members(&self, ty: &str) -> Vec<Field> {
        let Some(btf) = self.btf() else { return Vec::new() };
        let mut out = Vec::new();
        if let Some(id) = btf.find_type(ty) {
            Self::flatten(btf, id, MAX_DEPTH, &mut out);
        }
        out
    }

    fn structs(&self, prefix: &str, limit: usize) -> Vec<String> {
        let Some(btf) = self.btf() else { return Vec::new() };
        let mut names: Vec<_> = btf.own_structs().map(|(name, _)| name).filter(|n| n.starts_with(prefix)).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().take(limit).map(ToOwned::to_owned).collect()
    }
}
