//! Knowledge of the running kernel for the language service: BTF, tracefs and the probe catalogue.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Field, Knowledge, ProbeHit};
use crate::binary::dwarf::{self, DebugInfo, Tag};
use crate::kernel::btf::Btf;
use crate::kernel::btf::{FuncProto, TypeId};
use crate::kernel::{Feature, Kernel};
use crate::probe::catalogue::{Background, Catalogue, ProbeKind};
use crate::probe::find::find;
use crate::probe::point::{self, PointPattern};
use crate::probe::providers;
use crate::probe::search::{Results, Search};
use crate::probe::user;

/// How deep anonymous members are followed.
const MAX_DEPTH: u32 = 8;
/// Members after which no further anonymous ones are looked into.
const MOST_MEMBERS: usize = 4096;

/// What one kernel offers. Reading is lazy and cached by [`Kernel`].
#[derive(Debug)]
pub struct KernelKnowledge {
    kernel: Arc<Kernel>,
    catalogue: Option<Background>,
    search: Mutex<Search>,
    /// Functions for trampolines where the kernel has none: the catalogue leaves them out.
    closed: Mutex<Option<(Catalogue, Search)>>,
}

impl KernelKnowledge {
    /// Without a catalogue no probes are offered; the rest works.
    #[must_use]
    pub fn new(kernel: Arc<Kernel>, catalogue: Option<Background>) -> Self {
        Self { kernel, catalogue, search: Mutex::default(), closed: Mutex::default() }
    }

    /// The probes that fit best what was typed.
    fn found(&self, typed: &str, catalogue: &Background) -> Results {
        let provider = typed.split_once(':').and_then(|(word, _)| point::Provider::find(word));
        let trampoline = provider.is_some_and(|p| matches!(p.name, "fentry" | "fexit"));
        if !trampoline || self.kernel.features().has(Feature::Fentry) {
            let mut search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
            return search.search(&catalogue.snapshot(), typed, 0);
        }
        // Shown with the reason, as everything is that this kernel lacks.
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        let kinds = [ProbeKind::Fentry, ProbeKind::Fexit];
        let (all, search) =
            closed.get_or_insert_with(|| (Catalogue::of_kinds(&self.kernel, &kinds), Search::default()));
        search.search(all, typed, 0)
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

    /// The members of a type of the binary that a probe is in.
    fn user_members(&self, pattern: &PointPattern, ty: &str) -> Vec<Field> {
        let (PointPattern::Uprobe { binary, .. } | PointPattern::Usdt { binary, .. }) = pattern else {
            return Vec::new();
        };
        let file = find(binary, &self.kernel, None).ok().and_then(|f| f.into_iter().next());
        let Some(info) = file.and_then(|f| self.kernel.debug_info(&f.open).ok()) else { return Vec::new() };
        let (tag, name) = match ty.split_once(' ') {
            Some(("struct" | "class", name)) => (Tag::Struct, name),
            Some(("union", name)) => (Tag::Union, name),
            _ => (Tag::Named, ty),
        };
        let mut fields = Vec::new();
        if let Ok(Some(id)) = info.find_type(tag, name.trim()) {
            Self::flatten_user(&info, id, MAX_DEPTH, &mut fields);
        }
        fields
    }

    fn flatten_user(info: &DebugInfo, id: dwarf::TypeId, depth: u32, out: &mut Vec<Field>) {
        for member in info.members(id).unwrap_or_default() {
            if !member.name.is_empty() {
                let ty = info.type_text(Some(member.ty)).unwrap_or_default();
                out.push(Field { name: member.name.to_string(), ty });
            } else if let Some(depth) = depth.checked_sub(1).filter(|_| out.len() < MOST_MEMBERS) {
                Self::flatten_user(info, member.ty, depth, out);
            }
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
        let files = user::files(typed);
        if !files.is_empty() {
            return files.into_iter().take(limit).map(|point| ProbeHit { point, detail: String::new() }).collect();
        }
        if let Some(lines) = user::probes(typed, &self.kernel) {
            let detail =
                |absence: Option<crate::kernel::Absence>| absence.map_or(String::new(), |a| a.reason.to_string());
            let hits = lines.into_iter().take(limit);
            return hits.map(|line| ProbeHit { point: line.name, detail: detail(line.absence) }).collect();
        }
        let Some(catalogue) = &self.catalogue else { return Vec::new() };
        let hits = self.found(typed, catalogue).hits.into_iter().take(limit);
        let detail = |absence: Option<crate::kernel::Absence>| absence.map_or(String::new(), |a| a.reason.to_string());
        hits.map(|hit| ProbeHit { point: hit.name.to_string(), detail: detail(hit.absence) }).collect()
    }

    fn args(&self, point: &str) -> Vec<Field> {
        if providers::row(point).is_some() {
            let known = crate::probe::describe::describe(point, &self.kernel).fields.into_iter();
            let named =
                known.filter_map(|f| Some(Field { name: f.access.strip_prefix("args.")?.to_owned(), ty: f.ty }));
            return named.collect();
        }
        let Ok(pattern) = point::parse(point) else { return Vec::new() };
        if let PointPattern::Uprobe { ret: false, .. } = &pattern {
            let known = crate::probe::describe::describe(point, &self.kernel).fields.into_iter();
            let named =
                known.filter_map(|f| Some(Field { name: f.access.strip_prefix("args.")?.to_owned(), ty: f.ty }));
            return named.collect();
        }
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

    fn members_in(&self, point: &str, ty: &str) -> Vec<Field> {
        let user = point::parse(point).ok().map(|pattern| self.user_members(&pattern, ty)).unwrap_or_default();
        if user.is_empty() { self.members(ty) } else { user }
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
