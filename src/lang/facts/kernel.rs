//! The running kernel (or one described by a folder) as the checker's [`Facts`].

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};

use super::user::UserTypes;
use super::{
    CKind, CMember, CParam, CType, CTypeId, Facts, Prototype, Refusal, TraceField, Unknown, UserParameter, UserSymbol,
};
use crate::kernel::Kernel;
use crate::kernel::btf::{Btf, BtfType, FuncProto, TypeId};
use crate::kernel::features::Feature;
use crate::kernel::tracefs::Dynamic;
use crate::model::target::Target;
use crate::probe::expand::{ExpandOptions, entries, expand};
use crate::probe::glob::Glob;
use crate::probe::name;
use crate::probe::point::{self, PointPattern};
use crate::probe::providers::{self, Found};
use crate::probe::suggest;

/// Functions of which the modules are looked up.
const MOST_PROBED: usize = 1000;

/// Follows at most this many typedefs and tags.
const MAX_CHAIN: usize = 64;

/// A kernel and the modules whose types the script has asked for.
pub struct KernelFacts<'a> {
    kernel: &'a Kernel,
    options: ExpandOptions,
    modules: Mutex<Vec<(Arc<str>, Arc<Btf>)>>,
    /// Modules and functions that the script's probes are at.
    probed: Mutex<HashSet<(Arc<str>, Arc<str>)>>,
    user: UserTypes,
    /// A process that has not begun yet, and the program that it will run.
    held: Option<(u32, String)>,
}

impl<'a> KernelFacts<'a> {
    /// Facts of a kernel. `pid` limits user probes to a process; `unsafe_allowed` is `--unsafe`.
    #[must_use]
    pub fn new(kernel: &'a Kernel, pid: Option<u32>, unsafe_allowed: bool) -> Self {
        Self {
            kernel,
            options: ExpandOptions { pid, unsafe_allowed, forced: unsafe_allowed },
            modules: Mutex::default(),
            probed: Mutex::default(),
            user: UserTypes::default(),
            held: None,
        }
    }

    /// The same with a process that waits before it runs its program.
    #[must_use]
    pub fn with_held(self, held: Option<(u32, String)>) -> Self {
        Self { held, ..self }
    }

    fn modules(&self) -> std::sync::MutexGuard<'_, Vec<(Arc<str>, Arc<Btf>)>> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, object: u32, f: impl FnOnce(&Btf) -> T) -> Option<T> {
        if object == 0 {
            return self.kernel.btf().ok().map(f);
        }
        let module = self.modules().get(object as usize - 1).map(|m| Arc::clone(&m.1))?;
        Some(f(&module))
    }

    /// The number of a module's types; 0 for the kernel's own.
    fn object(&self, module: &str) -> Option<u32> {
        if module.is_empty() || module == "vmlinux" {
            return Some(0);
        }
        let mut modules = self.modules();
        if let Some(at) = modules.iter().position(|m| &*m.0 == module) {
            return Some(at as u32 + 1);
        }
        let btf = self.kernel.module_btf(module).ok()?;
        modules.push((module.into(), btf));
        Some(modules.len() as u32)
    }

    fn has_kprobes(&self) -> bool {
        self.kernel.features().require(Feature::Kprobe).is_ok()
    }

    /// Modules whose types were not asked for yet, those of the script's probes first.
    fn modules_to_ask(&self) -> Vec<Arc<str>> {
        let probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let module_of = |(module, function): (Arc<str>, Arc<str>)| match &*module {
            "" => self.kernel.functions().ok()?.named(&function).find_map(|f| f.module.cloned()),
            _ => Some(module),
        };
        let known: HashSet<Arc<str>> = self.modules().iter().map(|(name, _)| Arc::clone(name)).collect();
        let mut modules: Vec<Arc<str>> = probed.into_iter().filter_map(module_of).collect();
        modules.extend(self.kernel.modules_with_btf());
        modules.retain(|name| !known.contains(name) && &**name != "vmlinux");
        modules
    }

    /// True where bpftrace looks a name up as it does a pattern: static probes of no named provider, or of
    /// a process.
    const fn looks_up(&self, pattern: &PointPattern) -> bool {
        matches!(pattern, PointPattern::Usdt { provider, .. } if provider.is_none() || self.options.pid.is_some())
    }

    /// The same type with one id: modules share the kernel's.
    fn id(object: u32, btf: &Btf, id: TypeId) -> CTypeId {
        let shared = btf.base().is_some_and(|base| id.0 < base.end_id());
        CTypeId { object: if shared { 0 } else { object }, id: id.0 }
    }

    fn proto(object: u32, btf: &Btf, proto: &FuncProto<'_>) -> Prototype {
        let ty = |id: TypeId| (id != TypeId::VOID).then(|| Self::id(object, btf, id));
        Prototype {
            parameters: proto.params.iter().map(|p| CParam { name: p.name.into(), ty: ty(p.ty) }).collect(),
            result: ty(proto.ret),
        }
    }

    /// The pointed-to type of a pointer and the tags on the way to it.
    fn pointer(object: u32, btf: &Btf, to: TypeId) -> CType {
        let (mut user, mut percpu) = (false, false);
        let mut at = to;
        for _ in 0..MAX_CHAIN {
            at = match btf.ty(at) {
                BtfType::TypeTag(tag, next) => {
                    user |= tag == "user";
                    percpu |= tag == "percpu";
                    next
                }
                BtfType::Const(next) | BtfType::Volatile(next) | BtfType::Restrict(next) => next,
                _ => break,
            };
        }
        let to = match btf.ty(btf.resolve(at)) {
            BtfType::Void | BtfType::FuncProto(..) | BtfType::Float(..) => None,
            _ => Some(Self::id(object, btf, at)),
        };
        CType::Pointer { to, user, percpu }
    }
}

impl Facts for KernelFacts<'_> {
    fn semantic(&self, point: &str) -> Option<Result<Vec<Found>, Refusal>> {
        let refusal = |message: String, help: Option<String>, wildcard: bool| Refusal {
            message,
            help,
            doubt: None,
            missing: true,
            unmatched: false,
            wildcard,
            shape: None,
        };
        let (provider, name) = point.split_once(':')?;
        if !providers::is_provider(provider) {
            return None;
        }
        let glob = Glob::new(name);
        let rows: Vec<_> = providers::rows().filter(|r| r.provider == provider && glob.matches(r.name)).collect();
        let (mut found, mut absent) = (Vec::new(), None);
        for row in &rows {
            match providers::resolve(row, self.kernel) {
                Ok(places) => found.extend(places),
                Err(absence) => absent = absent.or(Some(absence)),
            }
        }
        Some(match absent {
            _ if !found.is_empty() => Ok(found),
            Some(absence) => {
                let message = format!("`{}` can't be had on this kernel: {}", absence.what, absence.reason);
                Err(refusal(message, Some(absence.remedy.to_string()), false))
            }
            None => {
                let names = providers::rows().filter(|r| r.provider == provider).map(|r| r.name);
                let near = suggest::nearest(name, names, 1).first().map(|n| format!("did you mean `{provider}:{n}`?"));
                let help = near.or_else(|| Some(format!("`probescope list '{provider}:*'` shows them")));
                Err(refusal(format!("there is no probe `{point}`"), help, glob.is_wild()))
            }
        })
    }

    fn files_of(&self, pid: u32) -> Vec<String> {
        match &self.held {
            Some((held, program)) if *held == pid => vec![program.clone()],
            _ => super::user::files_of(pid),
        }
    }

    fn files_of_all(&self) -> Vec<String> {
        let held = self.held.iter().map(|(_, program)| program.clone());
        held.chain(super::user::files_of_all()).collect()
    }

    fn current(&self, word: &str, name: &str) -> Result<(&'static str, String), String> {
        providers::current(self.kernel, word, name)
    }

    fn expand(&self, text: &str) -> Result<Vec<(Target, String)>, Refusal> {
        if let Some(found) = self.semantic(text) {
            let named = |place: Found| {
                let name = place.row.point();
                place.targets.into_iter().map(move |target| (target, name.clone()))
            };
            return found.map(|places| places.into_iter().flat_map(named).collect());
        }
        let pattern = point::parse(text).map_err(|e| Refusal {
            message: e.message,
            help: e.hint,
            doubt: None,
            missing: false,
            unmatched: false,
            wildcard: false,
            shape: None,
        })?;
        let targets = expand(&pattern, self.kernel, &self.options).map_err(|e| Refusal {
            message: e.to_string(),
            help: e.hint(),
            doubt: e.doubt().filter(|_| self.has_kprobes()),
            missing: e.is_missing(),
            unmatched: e.is_unmatched(),
            wildcard: e.is_unmatched_wildcard() || e.is_unmatched() && self.looks_up(&pattern),
            shape: shape_of(&pattern).map(Box::new),
        })?;
        let named = |t: Target| {
            let name = name::written_name(&pattern, &t);
            (t, name)
        };
        Ok(targets.into_iter().map(named).collect())
    }

    fn doubt(&self, text: &str) -> Option<(String, Option<String>)> {
        let pattern = point::parse(text).ok()?;
        let PointPattern::Kprobe { function, .. } = &pattern else { return None };
        if !self.options.forced || function.is_wild() {
            return None;
        }
        let listed = ExpandOptions { forced: false, ..self.options };
        let refused = expand(&pattern, self.kernel, &listed).err().filter(|_| self.has_kprobes());
        refused.and_then(|e| Some((e.doubt()?, e.hint())))
    }

    fn left_out(&self, text: &str) -> Option<String> {
        entries::left_out(&point::parse(text).ok()?, self.kernel, &self.options)
    }

    fn tracepoint(&self, category: &str, event: &str) -> Result<Vec<TraceField>, String> {
        let format = self.kernel.tracepoint(category, event).map_err(|e| e.to_string())?;
        Ok(format
            .own_fields()
            .filter(|f| f.dynamic != Some(Dynamic::FromField))
            .map(|f| TraceField {
                name: f.name.clone(),
                c_type: f.ty.clone(),
                offset: f.offset,
                size: f.size,
                signed: f.signed,
                array: f.array,
                data_loc: f.dynamic.is_some(),
            })
            .collect())
    }

    fn find_type(&self, kind: CKind, name: &str) -> Option<CTypeId> {
        let find = |btf: &Btf| match kind {
            CKind::Struct => btf.find_struct(name),
            CKind::Union => btf.find_union(name),
            CKind::Enum => btf.find_enum(name),
            CKind::Typedef => btf.find_typedef(name).or_else(|| btf.find_int(name)),
        };
        let of = |o| self.with(o, |btf| find(btf).map(|id| Self::id(o, btf, id))).flatten();
        let known = self.modules().len() as u32;
        (0..=known).find_map(of).or_else(|| self.modules_to_ask().iter().find_map(|module| of(self.object(module)?)))
    }

    fn probes_are_at(&self, targets: &[Target]) {
        let places = targets.iter().filter_map(|target| match target {
            Target::Kprobe { module, function, .. } | Target::Fentry { module, function, .. } => {
                Some((Arc::clone(module), Arc::clone(function)))
            }
            _ => None,
        });
        // All functions of a pattern are in few modules.
        self.probed.lock().unwrap_or_else(PoisonError::into_inner).extend(places.take(MOST_PROBED));
    }

    fn c_type(&self, id: CTypeId) -> CType {
        if let Some(ty) = self.user.c_type(id) {
            return ty;
        }
        self.with(id.object, |btf| {
            let resolved = btf.resolve(TypeId(id.id));
            match btf.ty(resolved) {
                BtfType::Int(i) => CType::Int {
                    size: i.size.min(16) as u8,
                    signed: i.signed,
                    text: i.is_char() && i.name != "unsigned char" && i.name != "signed char",
                    boolean: i.boolean,
                },
                BtfType::Enum(e) => CType::Enum { name: e.name.into(), size: e.size as u8, signed: e.signed },
                BtfType::Ptr(to) => Self::pointer(id.object, btf, to),
                BtfType::Array(of, len) => CType::Array { of: Self::id(id.object, btf, of), len },
                BtfType::Struct(c) | BtfType::Union(c) => {
                    CType::Struct { name: c.name.into(), union: c.union, size: c.size }
                }
                BtfType::Forward(name, union) => {
                    // What one object only declares another may define.
                    let found = if union { btf.find_union(name) } else { btf.find_struct(name) };
                    match found.map(|f| btf.ty(f)) {
                        Some(BtfType::Struct(c) | BtfType::Union(c)) => {
                            CType::Struct { name: c.name.into(), union: c.union, size: c.size }
                        }
                        _ => CType::Struct { name: name.into(), union, size: 0 },
                    }
                }
                _ => CType::Void,
            }
        })
        .unwrap_or(CType::Void)
    }

    fn members(&self, id: CTypeId) -> Vec<CMember> {
        if let Some(members) = self.user.members(id) {
            return members;
        }
        self.with(id.object, |btf| {
            let mut at = btf.resolve(TypeId(id.id));
            if let BtfType::Forward(name, union) = btf.ty(at) {
                let found = if union { btf.find_union(name) } else { btf.find_struct(name) };
                at = found.unwrap_or(at);
            }
            btf.members(at)
                .map(|m| CMember {
                    name: m.name.into(),
                    ty: Self::id(id.object, btf, m.ty),
                    bit_offset: m.bit_offset,
                    bit_size: u32::from(m.bits),
                })
                .collect()
        })
        .unwrap_or_default()
    }

    fn variants(&self, id: CTypeId) -> Vec<(Arc<str>, i64)> {
        if let Some(variants) = self.user.variants(id) {
            return variants;
        }
        self.with(id.object, |btf| btf.enumerators(TypeId(id.id)).map(|e| (e.name.into(), e.value)).collect())
            .unwrap_or_default()
    }

    fn enumerator(&self, name: &str) -> Option<(CTypeId, i64)> {
        let objects = self.modules().len() as u32;
        (0..=objects)
            .find_map(|o| self.with(o, |b| b.enumerator(name).map(|(id, v)| (Self::id(o, b, id), v))).flatten())
    }

    fn prototype(&self, module: &str, function: &str) -> Option<Prototype> {
        let object = self.object(module)?;
        self.with(object, |btf| btf.func(function).map(|p| Self::proto(object, btf, &p))).flatten()
    }

    fn raw_tracepoint(&self, module: &str, event: &str) -> Option<Prototype> {
        let object = self.object(module)?;
        self.with(object, |btf| btf.raw_tracepoint(event).map(|p| Self::proto(object, btf, &p))).flatten()
    }

    fn user_parameters(&self, path: &str, symbol: &str, file_offset: u64) -> Result<Vec<UserParameter>, Unknown> {
        self.user.parameters(self.kernel, path, symbol, file_offset)
    }

    fn user_type(&self, path: &str, kind: CKind, name: &str) -> Option<CTypeId> {
        self.user.find(self.kernel, path, kind, name)
    }

    fn user_enumerator(&self, path: &str, name: &str) -> Option<(CTypeId, i64)> {
        self.user.enumerator(self.kernel, path, name)
    }

    fn canonical(&self, id: CTypeId) -> CTypeId {
        if let Some(id) = self.user.canonical(id) {
            return id;
        }
        self.with(id.object, |btf| Self::id(id.object, btf, btf.resolve(TypeId(id.id)))).unwrap_or(id)
    }

    fn symbol_address(&self, name: &str) -> Option<u64> {
        self.kernel.symbol_address(name)
    }

    fn user_symbol(&self, path: &str, name: &str, file_offset: u64) -> Option<UserSymbol> {
        let binary = self.kernel.binary(std::path::Path::new(path)).ok()?;
        let symbol = binary.symbol(name)?;
        let (address, size) = (symbol.address, symbol.size);
        Some(UserSymbol { address, size, probe: binary.address_of(file_offset)?, moves: binary.moves() })
    }

    fn cgroup_id(&self, path: &str) -> Option<u64> {
        // The inode number of a cgroup v2 folder is the cgroup's id (kernel Documentation/bpf).
        std::fs::metadata(path).ok().filter(std::fs::Metadata::is_dir).map(|m| m.ino())
    }

    fn is_traced(&self, function: &str) -> bool {
        self.kernel.functions().is_ok_and(|table| table.named(function).count() == 1)
    }

    fn types_absent(&self) -> Option<String> {
        self.kernel.btf().err().map(|a| format!("{}: {}; {}", a.what, a.reason, a.remedy))
    }

    fn similar_types(&self, kind: CKind, name: &str) -> Vec<String> {
        if kind != CKind::Struct {
            return Vec::new();
        }
        let close = |n: &str| n.len().abs_diff(name.len()) <= 3 && n.chars().next() == name.chars().next();
        self.with(0, |btf| btf.own_structs().map(|s| s.0).filter(|n| close(n)).map(str::to_owned).collect())
            .unwrap_or_default()
    }
}

/// A target like those that a pattern would have, for checking the body of a probe that is absent.
pub fn shape_of(pattern: &PointPattern) -> Option<Target> {
    let plain = |glob: &Glob| if glob.is_wild() { "".into() } else { Arc::from(glob.as_str()) };
    Some(match pattern {
        PointPattern::Tracepoint { category, event } => {
            Target::Tracepoint { category: plain(category), event: plain(event) }
        }
        PointPattern::RawTracepoint { event, .. } => Target::RawTracepoint { event: plain(event), module: "".into() },
        PointPattern::Kprobe { function, offset, ret, .. } => {
            Target::Kprobe { module: "".into(), function: plain(function), offset: *offset, ret: *ret }
        }
        PointPattern::Fentry { function, exit, .. } => {
            Target::Fentry { module: "".into(), function: plain(function), btf_id: 0, exit: *exit }
        }
        PointPattern::Uprobe { ret, .. } => Target::Uprobe {
            path: "".into(),
            symbol: "".into(),
            file_offset: 0,
            ret: *ret,
            exits: [].into(),
            pid: None,
        },
        PointPattern::Usdt { .. } => Target::Usdt {
            path: "".into(),
            provider: "".into(),
            name: "".into(),
            file_offset: 0,
            semaphore: 0,
            arguments: Arc::from([]),
            pid: None,
        },
        PointPattern::Profile { rate, .. } => Target::Profile { rate: *rate },
        PointPattern::Software { .. } => Target::PerfEvent { kind: 1, config: 0, period: 1 },
        PointPattern::Hardware { .. } => Target::PerfEvent { kind: 0, config: 0, period: 1 },
        PointPattern::Watchpoint { address, length, mode } => {
            Target::Watchpoint { address: *address, length: *length, mode: *mode, pid: None }
        }
        PointPattern::Iter { kind, .. } => Target::Iter { kind: kind.clone() },
        _ => return None,
    })
}
