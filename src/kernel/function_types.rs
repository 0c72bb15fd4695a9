//! What the kernel's functions take and return, in a form that thousands can be sought by.

use std::collections::HashMap;

use super::btf::{Btf, BtfType, TypeId};

/// Parameters that are looked at: those that a probe at the entry can read as `arg0` to `arg5`.
pub const READ_PARAMETERS: usize = 6;

/// What a result is, where it can be an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrnoResult {
    /// `int`: the upper half of the register means nothing.
    Int,
    /// `long`, with or without a sign.
    Long,
    /// A pointer: an `ERR_PTR`, or null.
    Pointer,
}

/// A struct's tag, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(u32);

/// One function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionType {
    /// What its result is, where that can be an error.
    pub errno: Option<ErrnoResult>,
    /// The structs that its first parameters point to.
    pub taken: [Option<Tag>; READ_PARAMETERS],
}

/// All functions that BTF tells of, by name.
#[derive(Debug, Default)]
pub struct FunctionTypes {
    tags: HashMap<Box<str>, Tag>,
    functions: HashMap<Box<str>, FunctionType>,
}

impl FunctionTypes {
    /// Adds the functions of one BTF; those of names that are known stay as they are.
    pub fn add(&mut self, btf: &Btf) {
        let mut pointed: HashMap<TypeId, Option<Tag>> = HashMap::new();
        for (name, id) in btf.own_functions() {
            let BtfType::Func(_, prototype) = btf.ty(id) else { continue };
            let BtfType::FuncProto(result, _) = btf.ty(prototype) else { continue };
            if self.functions.contains_key(name) {
                continue;
            }
            let mut taken = [None; READ_PARAMETERS];
            for (place, ty) in taken.iter_mut().zip(btf.parameter_types(prototype)) {
                *place = *pointed.entry(ty).or_insert_with(|| pointed_struct(btf, ty).map(|tag| self.number(tag)));
            }
            self.functions.insert(name.into(), FunctionType { errno: errno_result(btf, result), taken });
        }
    }

    fn number(&mut self, tag: &str) -> Tag {
        let next = Tag(self.tags.len() as u32);
        *self.tags.entry(tag.into()).or_insert(next)
    }

    /// The number of a struct's tag; none when no function takes such a struct.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<Tag> {
        self.tags.get(name).copied()
    }

    /// A function by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&FunctionType> {
        self.functions.get(name)
    }
}

/// The tag of the struct that a type points to.
fn pointed_struct(btf: &Btf, ty: TypeId) -> Option<&str> {
    let BtfType::Ptr(to) = btf.ty(btf.resolve(ty)) else { return None };
    match btf.ty(btf.resolve(to)) {
        BtfType::Struct(composite) => Some(composite.name),
        BtfType::Forward(name, false) => Some(name),
        _ => None,
    }
    .filter(|name| !name.is_empty())
}

/// What a result is, where it can be an error number.
fn errno_result(btf: &Btf, ty: TypeId) -> Option<ErrnoResult> {
    match btf.ty(btf.resolve(ty)) {
        BtfType::Ptr(_) => Some(ErrnoResult::Pointer),
        // Functions that give addresses have errors in `unsigned long` (`IS_ERR_VALUE`).
        BtfType::Int(int) if matches!(int.name, "long unsigned int" | "unsigned long") => Some(ErrnoResult::Long),
        BtfType::Int(int) if int.signed && !int.boolean => match int.size {
            4 => Some(ErrnoResult::Int),
            8 => Some(ErrnoResult::Long),
            _ => None,
        },
        _ => None,
    }
}
