//! The kinds of types, read in place.

use super::Btf;
use super::parse::u32_at;

/// A type's number. 0 is `void`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TypeId(pub u32);

impl TypeId {
    /// `void`.
    pub const VOID: Self = Self(0);
}

/// Kind numbers of `include/uapi/linux/btf.h`.
pub(super) mod kind {
    pub const INT: u8 = 1;
    pub const PTR: u8 = 2;
    pub const ARRAY: u8 = 3;
    pub const STRUCT: u8 = 4;
    pub const UNION: u8 = 5;
    pub const ENUM: u8 = 6;
    pub const FWD: u8 = 7;
    pub const TYPEDEF: u8 = 8;
    pub const VOLATILE: u8 = 9;
    pub const CONST: u8 = 10;
    pub const RESTRICT: u8 = 11;
    pub const FUNC: u8 = 12;
    pub const FUNC_PROTO: u8 = 13;
    pub const VAR: u8 = 14;
    pub const DATASEC: u8 = 15;
    pub const FLOAT: u8 = 16;
    pub const DECL_TAG: u8 = 17;
    pub const TYPE_TAG: u8 = 18;
    pub const ENUM64: u8 = 19;
}

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer<'a> {
    /// `unsigned int`, `_Bool`, `char`.
    pub name: &'a str,
    /// Bytes.
    pub size: u32,
    /// Two's complement.
    pub signed: bool,
    /// Marked as a character. GCC and clang do not set it: see [`Integer::is_char`].
    pub character: bool,
    /// `_Bool`.
    pub boolean: bool,
}

impl Integer<'_> {
    /// A character type: arrays of it are text.
    #[must_use]
    pub fn is_char(&self) -> bool {
        self.size == 1 && (self.character || matches!(self.name, "char" | "signed char" | "unsigned char"))
    }
}

/// A struct or union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Composite<'a> {
    /// Tag; empty when anonymous.
    pub name: &'a str,
    /// Bytes.
    pub size: u32,
    /// True for a union.
    pub union: bool,
    /// Number of members; read them with [`Btf::members`].
    pub members: u32,
}

/// An enum of 32 or 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enumeration<'a> {
    /// Tag; empty when anonymous.
    pub name: &'a str,
    /// Bytes.
    pub size: u32,
    /// Values are signed.
    pub signed: bool,
    /// Number of values; read them with [`Btf::enumerators`].
    pub variants: u32,
}

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BtfType<'a> {
    /// `void`, and every id that does not exist.
    Void,
    /// An integer.
    Int(Integer<'a>),
    /// A floating-point number, with its size in bytes.
    Float(&'a str, u32),
    /// Pointer to.
    Ptr(TypeId),
    /// Array of so many elements.
    Array(TypeId, u32),
    /// Struct.
    Struct(Composite<'a>),
    /// Union.
    Union(Composite<'a>),
    /// Enum.
    Enum(Enumeration<'a>),
    /// A struct (or union, when true) that is only declared.
    Forward(&'a str, bool),
    /// `typedef`: new name, what it stands for.
    Typedef(&'a str, TypeId),
    /// `const`.
    Const(TypeId),
    /// `volatile`.
    Volatile(TypeId),
    /// `restrict`.
    Restrict(TypeId),
    /// `btf_type_tag`: `user`, `percpu`, `rcu`.
    TypeTag(&'a str, TypeId),
    /// A function's name and its prototype.
    Func(&'a str, TypeId),
    /// A prototype: result and number of parameters; see [`Btf::prototype`].
    FuncProto(TypeId, u32),
    /// A variable: name, type.
    Var(&'a str, TypeId),
    /// `btf_decl_tag`: text, tagged type, member or parameter index.
    DeclTag(&'a str, TypeId, i32),
    /// A section of variables, or a kind this program does not know.
    Other(&'a str),
}

/// A member of a struct or union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Name; empty for an anonymous struct or union, whose members are reached through the parent.
    pub name: &'a str,
    /// Type.
    pub ty: TypeId,
    /// Bits from the start of the struct.
    pub bit_offset: u32,
    /// Width in bits of a bitfield, 0 for an ordinary member.
    pub bits: u8,
}

impl Member<'_> {
    /// Bytes from the start of the struct (for a bitfield: of the byte that holds its first bit).
    #[must_use]
    pub const fn offset(&self) -> u32 {
        self.bit_offset / 8
    }
}

/// The words of a type that every kind has, and where the rest starts.
pub(super) struct Raw {
    pub name: u32,
    pub kind: u8,
    pub flag: bool,
    pub count: u32,
    /// Size or type id, by kind.
    pub value: u32,
    /// Offset in the bytes of what follows.
    pub rest: usize,
}

impl Btf {
    /// Runs `f` on the BTF that owns `id`: this one or its base.
    pub(super) fn owner(&self, id: TypeId) -> &Self {
        let mut btf = self;
        while id.0 < btf.first_id {
            match &btf.base {
                Some(base) => btf = base,
                None => break,
            }
        }
        btf
    }

    /// The raw words of a type that `self` owns.
    pub(super) fn raw(&self, id: TypeId) -> Option<Raw> {
        let at = *self.offsets.get(id.0.checked_sub(self.first_id)? as usize)? as usize;
        let info = u32_at(&self.bytes, at + 4)?;
        Some(Raw {
            name: u32_at(&self.bytes, at)?,
            kind: (info >> 24 & 0x7f) as u8,
            flag: info >> 31 != 0,
            count: info & 0x00ff_ffff,
            value: u32_at(&self.bytes, at + 8)?,
            rest: at + 12,
        })
    }

    /// A little-endian word of what follows a type.
    pub(super) fn word(&self, at: usize) -> u32 {
        u32_at(&self.bytes, at).unwrap_or(0)
    }

    /// The type with this id.
    pub fn ty(&self, id: TypeId) -> BtfType<'_> {
        let owner = self.owner(id);
        owner.raw(id).map_or(BtfType::Void, |raw| owner.decode(&raw))
    }

    fn decode(&self, raw: &Raw) -> BtfType<'_> {
        let name = self.string(raw.name);
        let to = TypeId(raw.value);
        let rest = |n: usize| self.word(raw.rest + n * 4);
        match raw.kind {
            kind::INT => BtfType::Int(Integer {
                name,
                size: raw.value,
                signed: rest(0) >> 24 & 1 != 0,
                character: rest(0) >> 24 & 2 != 0,
                boolean: rest(0) >> 24 & 4 != 0,
            }),
            kind::FLOAT => BtfType::Float(name, raw.value),
            kind::PTR => BtfType::Ptr(to),
            kind::ARRAY => BtfType::Array(TypeId(rest(0)), rest(2)),
            kind::STRUCT => BtfType::Struct(composite(name, raw, false)),
            kind::UNION => BtfType::Union(composite(name, raw, true)),
            kind::ENUM | kind::ENUM64 => {
                BtfType::Enum(Enumeration { name, size: raw.value, signed: raw.flag, variants: raw.count })
            }
            kind::FWD => BtfType::Forward(name, raw.flag),
            kind::TYPEDEF => BtfType::Typedef(name, to),
            kind::VOLATILE => BtfType::Volatile(to),
            kind::CONST => BtfType::Const(to),
            kind::RESTRICT => BtfType::Restrict(to),
            kind::TYPE_TAG => BtfType::TypeTag(name, to),
            kind::FUNC => BtfType::Func(name, to),
            kind::FUNC_PROTO => BtfType::FuncProto(to, raw.count),
            kind::VAR => BtfType::Var(name, to),
            kind::DECL_TAG => BtfType::DeclTag(name, to, rest(0) as i32),
            _ => BtfType::Other(name),
        }
    }

    /// The name a type goes by; empty for `void`, pointers, arrays and anonymous types.
    pub fn name(&self, id: TypeId) -> &str {
        let owner = self.owner(id);
        owner.raw(id).map_or("", |raw| owner.string(raw.name))
    }
}

const fn composite<'a>(name: &'a str, raw: &Raw, union: bool) -> Composite<'a> {
    Composite { name, size: raw.value, union, members: raw.count }
}
