//! Types and functions of user-space binaries, by their debug information.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{CKind, CMember, CType, CTypeId, Unknown, UserParameter};
use crate::binary::dwarf::{DebugInfo, DwarfError, DwarfType, Tag, TypeId};
use crate::binary::elf::Binary;
use crate::kernel::{Kernel, process};
use crate::probe::expand::entries;

/// Numbers of objects ([`CTypeId::object`]) from here on are binaries, below it kernel modules.
const FIRST_BINARY: u32 = 1 << 16;

/// The binaries whose types the script has asked for.
#[derive(Default)]
pub(super) struct UserTypes(Mutex<Vec<(Arc<str>, Arc<DebugInfo>)>>);

/// Most mappings of a process that are looked at.
const MOST_MAPPINGS: usize = 65_536;

/// The files that a process has mapped as code, its program first.
pub(super) fn files_of(pid: u32) -> Vec<String> {
    let folder = process::folder(Path::new("/proc"), pid);
    let program = std::fs::read_link(folder.join("exe"));
    let mut files: Vec<String> = program.map(|path| path.to_string_lossy().into_owned()).into_iter().collect();
    let maps = std::fs::read_to_string(folder.join("maps")).unwrap_or_default();
    for line in maps.lines().take(MOST_MAPPINGS) {
        let mut fields = line.splitn(6, char::is_whitespace);
        let is_code = fields.nth(1).is_some_and(|rights| rights.contains('x'));
        let path = fields.nth(3).map_or("", str::trim);
        if is_code && path.starts_with('/') && !files.iter().any(|known| known == path) {
            files.push(path.to_owned());
        }
    }
    files
}

/// The files that processes have mapped as code, each once.
pub(super) fn files_of_all() -> Vec<String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut seen = std::collections::HashSet::new();
    processes.flat_map(files_of).filter(|file| seen.insert(file.clone())).collect()
}

impl UserTypes {
    fn lock(&self) -> MutexGuard<'_, Vec<(Arc<str>, Arc<DebugInfo>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, kernel: &Kernel, path: &str) -> Result<(u32, Arc<DebugInfo>), DwarfError> {
        let mut all = self.lock();
        if let Some(at) = all.iter().position(|(known, _)| &**known == path) {
            return Ok((at as u32 + FIRST_BINARY, Arc::clone(&all[at].1)));
        }
        let info = kernel.debug_info(Path::new(path))?;
        all.push((path.into(), Arc::clone(&info)));
        Ok((all.len() as u32 - 1 + FIRST_BINARY, info))
    }

    /// The binary that a type belongs to.
    fn of(&self, id: CTypeId) -> Option<Arc<DebugInfo>> {
        let at = id.object.checked_sub(FIRST_BINARY)?;
        self.lock().get(at as usize).map(|(_, info)| Arc::clone(info))
    }

    /// The parameters of the function at an offset in a binary's file.
    pub(super) fn parameters(
        &self,
        kernel: &Kernel,
        path: &str,
        symbol: &str,
        file_offset: u64,
    ) -> Result<Vec<UserParameter>, Unknown> {
        if let Some(reason) = changed_by_compiler(symbol) {
            return Err(Unknown { message: reason, help: None });
        }
        let unknown = |e: DwarfError| Unknown { message: e.to_string(), help: e.hint() };
        let (object, info) = self.open(kernel, path).map_err(unknown)?;
        let binary = kernel.binary(Path::new(path)).ok();
        // A place behind a function's begin, where its arguments still are: but in Go, where they lie as no other's.
        let begin = |binary: &Binary| {
            let address = binary.address_of(file_offset)?;
            let behind = entries::moved(binary, symbol, file_offset).filter(|_| !binary.is_go(address));
            Some(address - behind.unwrap_or(0))
        };
        let Some(address) = binary.as_deref().and_then(begin) else {
            return Err(Unknown { message: format!("nothing of {path} is loaded from {file_offset:#x}"), help: None });
        };
        let function = info.function(address, symbol).map_err(unknown)?;
        let parameters = function.parameters.into_iter();
        Ok(parameters
            .map(|p| UserParameter {
                name: p.name,
                ty: p.ty.map(|ty| CTypeId { object, id: info.canonical(ty).unwrap_or(ty).0 }),
                place: p.place,
            })
            .collect())
    }

    pub(super) fn find(&self, kernel: &Kernel, path: &str, kind: CKind, name: &str) -> Option<CTypeId> {
        let (object, info) = self.open(kernel, path).ok()?;
        let tag = match kind {
            CKind::Struct => Tag::Struct,
            CKind::Union => Tag::Union,
            CKind::Enum => Tag::Enum,
            CKind::Typedef => Tag::Named,
        };
        let found = info.find_type(tag, name).ok()??;
        Some(CTypeId { object, id: info.canonical(found).ok()?.0 })
    }

    pub(super) fn enumerator(&self, kernel: &Kernel, path: &str, name: &str) -> Option<(CTypeId, i64)> {
        let (object, info) = self.open(kernel, path).ok()?;
        let (id, value) = info.enumerator(name).ok()??;
        Some((CTypeId { object, id: id.0 }, value))
    }

    pub(super) fn canonical(&self, id: CTypeId) -> Option<CTypeId> {
        let info = self.of(id)?;
        Some(CTypeId { id: info.canonical(TypeId(id.id)).unwrap_or(TypeId(id.id)).0, ..id })
    }

    /// `None` for types of the kernel; what can't be read is `void`.
    pub(super) fn c_type(&self, id: CTypeId) -> Option<CType> {
        let info = self.of(id)?;
        let of = |ty: TypeId| CTypeId { object: id.object, id: ty.0 };
        Some(match info.describe(TypeId(id.id)).unwrap_or(DwarfType::Void) {
            DwarfType::Void => CType::Void,
            DwarfType::Float(_) => CType::Float,
            DwarfType::Int { size, signed, text, boolean } => CType::Int { size, signed, text, boolean },
            DwarfType::Enum { name, size, signed } => CType::Enum { name, size, signed },
            DwarfType::Pointer(to) => {
                let useful = to.filter(|to| !matches!(info.describe(*to), Ok(DwarfType::Void) | Err(_)));
                CType::Pointer { to: useful.map(of), user: true, percpu: false }
            }
            DwarfType::Array(element, len) => CType::Array { of: of(element), len },
            DwarfType::Struct { name, union, size } => CType::Struct { name, union, size },
        })
    }

    pub(super) fn members(&self, id: CTypeId) -> Option<Vec<CMember>> {
        let info = self.of(id)?;
        let members = info.members(TypeId(id.id)).unwrap_or_default().into_iter();
        let member = |m: crate::binary::dwarf::DwarfMember| CMember {
            name: m.name,
            ty: CTypeId { object: id.object, id: m.ty.0 },
            bit_offset: m.bit_offset,
            bit_size: m.bit_size,
        };
        Some(members.map(member).collect())
    }

    pub(super) fn variants(&self, id: CTypeId) -> Option<Vec<(Arc<str>, i64)>> {
        Some(self.of(id)?.variants(TypeId(id.id)).unwrap_or_default())
    }
}

/// GCC names functions whose parameters it changed: what the debug information says of them is not
/// what the registers hold.
fn changed_by_compiler(symbol: &str) -> Option<String> {
    let changed = [".constprop.", ".isra.", ".part."].into_iter().any(|mark| symbol.contains(mark));
    if changed {
        return Some(format!("the compiler changed the parameters of `{symbol}`"));
    }
    symbol.contains('+').then(|| "arguments are in their registers only where a function begins".to_owned())
}
