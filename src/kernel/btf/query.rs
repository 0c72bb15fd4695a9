//! Questions that the checker and the catalogue ask.

use super::Btf;
use super::index::Space;
use super::types::{BtfType, Member, TypeId, kind};

/// Longest chain of typedefs and qualifiers that is followed.
const MAX_CHAIN: usize = 64;
/// Deepest nesting of arrays and anonymous members that is followed.
const MAX_DEPTH: u32 = 16;
/// Most anonymous members that are looked into for one name.
const MAX_STEPS: u32 = 2000;

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param<'a> {
    /// Name; empty when the kernel's BTF has none.
    pub name: &'a str,
    /// Type.
    pub ty: TypeId,
}

/// A function's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuncProto<'a> {
    /// Id of the function (of the prototype for raw tracepoints).
    pub id: TypeId,
    /// Result.
    pub ret: TypeId,
    /// Parameters in order.
    pub params: Vec<Param<'a>>,
    /// Takes further, untyped arguments (`...`).
    pub variadic: bool,
}

/// One value of an enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enumerator<'a> {
    /// Name.
    pub name: &'a str,
    /// Value, sign-extended for signed enums; for unsigned 64-bit ones the same bits.
    pub value: i64,
}

impl Btf {
    /// The struct with this tag. Where several have it, the first that is complete.
    pub fn find_struct(&self, name: &str) -> Option<TypeId> {
        self.named(name, Space::Struct).next()
    }

    /// The union with this tag.
    pub fn find_union(&self, name: &str) -> Option<TypeId> {
        self.named(name, Space::Union).next()
    }

    /// The enum with this tag.
    pub fn find_enum(&self, name: &str) -> Option<TypeId> {
        self.named(name, Space::Enum).next()
    }

    /// The typedef of this name.
    pub fn find_typedef(&self, name: &str) -> Option<TypeId> {
        self.named(name, Space::Typedef).next()
    }

    /// The integer type of this name, in C's own spelling (`unsigned int`).
    pub fn find_int(&self, name: &str) -> Option<TypeId> {
        self.named(name, Space::Int).next()
    }

    /// The global variable of this name: its type.
    pub fn find_variable(&self, name: &str) -> Option<TypeId> {
        match self.ty(self.named(name, Space::Var).next()?) {
            BtfType::Var(_, ty) => Some(ty),
            _ => None,
        }
    }

    /// A type written in C: `struct x`, `union x`, `enum x`, a typedef or an integer type.
    pub fn find_type(&self, text: &str) -> Option<TypeId> {
        let text = text.trim();
        match text.split_once(char::is_whitespace) {
            Some(("struct", name)) => self.find_struct(name.trim()),
            Some(("union", name)) => self.find_union(name.trim()),
            Some(("enum", name)) => self.find_enum(name.trim()),
            _ => self.find_typedef(text).or_else(|| self.find_int(text)),
        }
    }

    /// Follows typedefs, qualifiers and type tags to the type that they stand for.
    pub fn resolve(&self, id: TypeId) -> TypeId {
        self.resolve_tags(id, |_| ())
    }

    /// As [`Btf::resolve`], and whether a tag `user` (`__user`) was passed: for the target of a pointer.
    pub fn resolve_user(&self, id: TypeId) -> (TypeId, bool) {
        let mut user = false;
        let end = self.resolve_tags(id, |tag| user |= tag == "user");
        (end, user)
    }

    fn resolve_tags(&self, id: TypeId, mut tag: impl FnMut(&str)) -> TypeId {
        let mut at = id;
        for _ in 0..MAX_CHAIN {
            at = match self.ty(at) {
                BtfType::Typedef(_, to) | BtfType::Const(to) | BtfType::Volatile(to) | BtfType::Restrict(to) => to,
                BtfType::TypeTag(name, to) => {
                    tag(name);
                    to
                }
                _ => return at,
            };
        }
        TypeId::VOID
    }

    /// Bytes of a value of this type; `None` for `void`, functions and declarations.
    pub fn size_of(&self, id: TypeId) -> Option<u32> {
        self.size_within(id, MAX_DEPTH)
    }

    fn size_within(&self, id: TypeId, depth: u32) -> Option<u32> {
        let depth = depth.checked_sub(1)?;
        match self.ty(self.resolve(id)) {
            BtfType::Int(int) => Some(int.size),
            BtfType::Float(_, size) => Some(size),
            BtfType::Ptr(_) => Some(8),
            BtfType::Array(of, len) => self.size_within(of, depth)?.checked_mul(len),
            BtfType::Struct(c) | BtfType::Union(c) => Some(c.size),
            BtfType::Enum(e) => Some(e.size),
            BtfType::Var(_, ty) => self.size_within(ty, depth),
            _ => None,
        }
    }

    /// Members of a struct or union (typedefs and qualifiers are followed); empty for other types.
    pub fn members(&self, id: TypeId) -> impl Iterator<Item = Member<'_>> {
        let id = self.resolve(id);
        let owner = self.owner(id);
        let raw = owner.raw(id).filter(|raw| matches!(raw.kind, kind::STRUCT | kind::UNION));
        let (rest, count, flag) = raw.map_or((0, 0, false), |raw| (raw.rest, raw.count, raw.flag));
        (0..count as usize).map(move |n| {
            let at = rest + n * 12;
            let place = owner.word(at + 8);
            let (bit_offset, bits) = if flag { (place & 0x00ff_ffff, (place >> 24) as u8) } else { (place, 0) };
            let ty = TypeId(owner.word(at + 4));
            // Before kind_flag, bitfields were integers with fewer bits than their bytes.
            let bits = if bits == 0 && !flag { owner.int_bits(ty) } else { bits };
            Member { name: owner.string(owner.word(at)), ty, bit_offset, bits }
        })
    }

    /// Bits of an integer type that does not fill its bytes, else 0.
    fn int_bits(&self, id: TypeId) -> u8 {
        let owner = self.owner(id);
        owner.raw(id).filter(|raw| raw.kind == kind::INT).map_or(0, |raw| {
            let bits = (owner.word(raw.rest) & 0xff) as u8;
            if u32::from(bits) < raw.value.saturating_mul(8) { bits } else { 0 }
        })
    }

    /// A member by name, through anonymous structs and unions; its offset is from the outermost start.
    pub fn member(&self, id: TypeId, name: &str) -> Option<Member<'_>> {
        let mut steps = MAX_STEPS;
        self.member_within(id, name, MAX_DEPTH, &mut steps)
    }

    fn member_within(&self, id: TypeId, name: &str, depth: u32, steps: &mut u32) -> Option<Member<'_>> {
        let depth = depth.checked_sub(1)?;
        *steps = steps.checked_sub(1)?;
        if let Some(direct) = self.members(id).find(|m| m.name == name && !name.is_empty()) {
            return Some(direct);
        }
        self.members(id).filter(|m| m.name.is_empty()).find_map(|outer| {
            let inner = self.member_within(outer.ty, name, depth, steps)?;
            Some(Member { bit_offset: inner.bit_offset.checked_add(outer.bit_offset)?, ..inner })
        })
    }

    /// Values of an enum; empty for other types.
    pub fn enumerators(&self, id: TypeId) -> impl Iterator<Item = Enumerator<'_>> {
        let id = self.resolve(id);
        let owner = self.owner(id);
        let raw = owner.raw(id).filter(|raw| matches!(raw.kind, kind::ENUM | kind::ENUM64));
        let count = raw.as_ref().map_or(0, |raw| raw.count as usize);
        (0..count).filter_map(move |n| {
            let raw = raw.as_ref()?;
            let each = if raw.kind == kind::ENUM64 { 12 } else { 8 };
            let at = raw.rest + n * each;
            let low = owner.word(at + 4);
            let value = match (raw.kind == kind::ENUM64, raw.flag) {
                (true, _) => (u64::from(owner.word(at + 8)) << 32 | u64::from(low)) as i64,
                (false, true) => i64::from(low as i32),
                (false, false) => i64::from(low),
            };
            Some(Enumerator { name: owner.string(owner.word(at)), value })
        })
    }

    /// The enum that declares `name`, and the value.
    pub fn enumerator(&self, name: &str) -> Option<(TypeId, i64)> {
        let (id, position) = self.enumerator_position(name)?;
        self.enumerators(id).nth(position as usize).map(|e| (id, e.value))
    }

    /// Signature of a function.
    pub fn func(&self, name: &str) -> Option<FuncProto<'_>> {
        let id = self.named(name, Space::Func).next()?;
        let BtfType::Func(_, proto) = self.ty(id) else { return None };
        Some(FuncProto { id, ..self.prototype(proto)? })
    }

    /// All functions of this name: static functions may share one.
    pub fn functions_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = TypeId> + 'a {
        self.named(name, Space::Func)
    }

    /// Signature of a prototype, or of a pointer to one.
    pub fn prototype(&self, id: TypeId) -> Option<FuncProto<'_>> {
        let mut id = self.resolve(id);
        if let BtfType::Ptr(to) = self.ty(id) {
            id = self.resolve(to);
        }
        let owner = self.owner(id);
        let raw = owner.raw(id).filter(|raw| raw.kind == kind::FUNC_PROTO)?;
        let mut params: Vec<_> = (0..raw.count as usize)
            .map(|n| {
                let at = raw.rest + n * 8;
                Param { name: owner.string(owner.word(at)), ty: TypeId(owner.word(at + 4)) }
            })
            .collect();
        let variadic = params.last().is_some_and(|p| p.ty == TypeId::VOID && p.name.is_empty());
        if variadic {
            params.pop();
        }
        Some(FuncProto { id, ret: TypeId(raw.value), params, variadic })
    }

    /// Types of a prototype's parameters, without their names.
    pub fn parameter_types(&self, prototype: TypeId) -> impl Iterator<Item = TypeId> {
        let owner = self.owner(prototype);
        let raw = owner.raw(prototype).filter(|raw| raw.kind == kind::FUNC_PROTO);
        let (rest, count) = raw.map_or((0, 0), |raw| (raw.rest, raw.count as usize));
        (0..count).map(move |n| TypeId(owner.word(rest + n * 8 + 4)))
    }

    /// Arguments of a raw tracepoint: the typedef `btf_trace_NAME` without its first parameter, with
    /// names from the function that the kernel makes for the tracepoint (`__probestub_NAME` since 6.5,
    /// `__traceiter_NAME` since 5.10, else `__bpf_trace_NAME`), because pointers to functions have none
    /// (`include/linux/tracepoint.h`, `include/trace/bpf_probe.h`).
    pub fn raw_tracepoint(&self, name: &str) -> Option<FuncProto<'_>> {
        let typedef = self.find_typedef(&format!("btf_trace_{name}"))?;
        let mut proto = self.prototype(typedef)?;
        if !proto.params.is_empty() {
            proto.params.remove(0);
        }
        if proto.params.iter().any(|p| p.name.is_empty()) {
            let named = ["__probestub_", "__traceiter_", "__bpf_trace_"].iter().find_map(|prefix| {
                self.func(&format!("{prefix}{name}")).filter(|f| {
                    f.params.len() == proto.params.len() + 1 && f.params.iter().skip(1).all(|p| !p.name.is_empty())
                })
            });
            for (to, from) in proto.params.iter_mut().zip(named.iter().flat_map(|f| f.params.iter().skip(1))) {
                to.name = from.name;
            }
        }
        proto.id = typedef;
        Some(proto)
    }

    /// Names of all raw tracepoints that this BTF (not its base) knows, in order of id.
    pub fn raw_tracepoint_names(&self) -> impl Iterator<Item = &str> {
        self.own_named(kind::TYPEDEF).filter_map(|(name, _)| name.strip_prefix("btf_trace_"))
    }

    /// All functions of this BTF (not its base): name and id.
    pub fn own_functions(&self) -> impl Iterator<Item = (&str, TypeId)> {
        self.own_named(kind::FUNC)
    }

    /// All structs of this BTF (not its base) that have a name.
    pub fn own_structs(&self) -> impl Iterator<Item = (&str, TypeId)> {
        self.own_named(kind::STRUCT)
    }

    fn own_named(&self, wanted: u8) -> impl Iterator<Item = (&str, TypeId)> {
        self.own_ids().filter_map(move |id| {
            let raw = self.raw(id).filter(|raw| raw.kind == wanted && raw.name != 0)?;
            Some((self.string(raw.name), id))
        })
    }
}
