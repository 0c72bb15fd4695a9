//! The members of a kernel type as a tree, each with its place and with how a script reaches it.
//!
//! A tree is opened level by level: pointers to structs are followed only where they are asked for, so a tree never ends.

use std::sync::Arc;

use super::describe;
use crate::kernel::btf::{Btf, BtfType, TypeId};
use crate::kernel::{Absence, Kernel};

/// Pointers that are followed to reach a member.
const MAX_STEPS: usize = 64;

/// A value that has members.
#[derive(Clone)]
pub struct Composite {
    btf: Arc<Btf>,
    ty: TypeId,
    /// How a script reaches it: `args.sk`.
    access: String,
    /// It is reached by a pointer.
    by_pointer: bool,
}

impl std::fmt::Debug for Composite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Composite").field("access", &self.access).field("ty", &self.ty).finish_non_exhaustive()
    }
}

impl PartialEq for Composite {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.btf, &other.btf)
            && (self.ty, &self.access, self.by_pointer) == (other.ty, &other.access, other.by_pointer)
    }
}

/// A member.
#[derive(Clone, Debug, PartialEq)]
pub struct LensField {
    /// How deep it lies in anonymous members.
    pub depth: usize,
    /// Its own name; empty for anonymous structs and unions.
    pub name: String,
    /// Its type as C writes it.
    pub ty: String,
    /// How a script reaches it.
    pub access: String,
    /// Bits from the start of the whole.
    pub bit_offset: u32,
    /// Width of a bitfield, 0 for others.
    pub bits: u8,
    /// Bytes; 0 for arrays without a length.
    pub size: u32,
    /// What is in it, or behind it.
    pub inner: Option<Composite>,
}

impl Composite {
    /// A value of a type that is written in C: `struct sock *`, `const struct file *`, `union x`, a typedef of one of
    /// them. `access` is how a script reaches it.
    ///
    /// # Errors
    /// When the kernel has no BTF, or no such type with members.
    pub fn of_type(text: &str, access: &str, kernel: &Kernel) -> Result<Self, LensError> {
        let (name, pointers) = base_type(text);
        let unknown = || LensError::NoType(text.trim().to_owned());
        if pointers > 1 {
            return Err(unknown());
        }
        let btf = kernel.shared_btf().map_err(LensError::NoBtf)?;
        let in_module = || {
            let modules = kernel.modules_with_btf();
            let mut own = modules.iter().filter_map(|m| kernel.module_btf(m).ok());
            own.find_map(|btf| find(&btf, &name).map(|ty| (btf, ty)))
        };
        let found = find(btf, &name).map(|ty| (Arc::clone(btf), ty)).or_else(in_module);
        let (btf, ty) = found.ok_or_else(unknown)?;
        // A typedef may be of a pointer.
        let (ty, by_pointer) = btf.pointed_composite(ty).map_or((ty, pointers == 1), |to| (to, true));
        if !btf.is_composite(ty) {
            return Err(LensError::NoMembers(text.trim().to_owned()));
        }
        Ok(Self { btf, ty, access: access.to_owned(), by_pointer })
    }

    /// How a script reaches it; empty for a type alone.
    #[must_use]
    pub fn access(&self) -> &str {
        &self.access
    }

    /// Whether it is reached by a pointer.
    #[must_use]
    pub const fn is_behind_pointer(&self) -> bool {
        self.by_pointer
    }

    /// What a member at any depth holds or points to, by how a script reaches it.
    #[must_use]
    pub fn open(&self, path: &str) -> Option<Self> {
        let mut at = self.clone();
        for _ in 0..MAX_STEPS {
            let leads = |inner: &Self| {
                let rest = path.strip_prefix(inner.access.as_str())?;
                (rest.is_empty() || rest.starts_with(['.', '-'])).then_some(inner.access.len())
            };
            let inner = at.all_fields().into_iter().filter_map(|field| field.inner);
            let next = inner.filter_map(|i| Some((leads(&i)?, i))).max_by_key(|(length, _)| *length)?.1;
            if next.access == path {
                return Some(next);
            }
            at = next;
        }
        None
    }

    /// Its type as C writes it.
    #[must_use]
    pub fn type_text(&self) -> String {
        self.btf.declaration(self.ty, "")
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.btf.size_of(self.ty).unwrap_or(0)
    }

    /// Its members one level down, those of anonymous members below these.
    #[must_use]
    pub fn fields(&self) -> Vec<LensField> {
        self.btf.fields_of(self.ty, "", 0, 0).into_iter().map(|field| self.field(field)).collect()
    }

    /// Every member that lies in it, at every depth; pointers are not followed.
    #[must_use]
    pub fn all_fields(&self) -> Vec<LensField> {
        self.btf.layout(self.ty).into_iter().map(|field| self.field(field)).collect()
    }

    fn field(&self, field: crate::kernel::btf::Field) -> LensField {
        let joint = if self.by_pointer { "->" } else { "." };
        let access = match (self.access.as_str(), field.path.as_str()) {
            (own, "") => own.to_owned(),
            ("", path) => path.to_owned(),
            (own, path) => format!("{own}{joint}{path}"),
        };
        let named = !field.name.is_empty();
        let inner = |ty, by_pointer| Self { btf: Arc::clone(&self.btf), ty, access: access.clone(), by_pointer };
        let inner = match self.btf.pointed_composite(field.ty) {
            Some(to) => Some(inner(to, true)),
            None => (named && self.btf.is_composite(field.ty)).then(|| inner(field.ty, false)),
        };
        LensField {
            depth: field.depth,
            ty: self.btf.declaration(field.ty, ""),
            name: field.name,
            bit_offset: field.bit_offset,
            bits: field.bits,
            size: field.size,
            inner,
            access,
        }
    }
}

/// What a clause of a probe can read, in two kinds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    /// Arguments that have members.
    pub roots: Vec<Composite>,
    /// The others: numbers, texts, arrays.
    pub plain: Vec<Plain>,
}

/// An argument without members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// How a script reaches it: `args.filename`.
    pub access: String,
    /// Its type as C writes it.
    pub ty: String,
}

/// Why there is nothing to open.
#[derive(Debug, thiserror::Error)]
pub enum LensError {
    /// No types.
    #[error("{0}")]
    NoBtf(Absence),
    /// No such type.
    #[error("the kernel has no type `{0}`")]
    NoType(String),
    /// A number, for example.
    #[error("`{0}` has no members")]
    NoMembers(String),
    /// A probe of which nothing is known.
    #[error("no argument of `{0}` is known to be a struct or a pointer to one")]
    NoArguments(String),
}

/// The arguments of a probe that have members, or the type itself where `name` is one.
///
/// # Errors
/// When there are none.
pub fn roots(name: &str, kernel: &Kernel) -> Result<Vec<Composite>, LensError> {
    let name = name.trim();
    let is_probe = name.contains(':');
    if !is_probe {
        return Composite::of_type(name, "", kernel).map(|whole| vec![whole]);
    }
    let fields = describe::describe(name, kernel).fields;
    let roots: Vec<Composite> =
        fields.iter().filter_map(|field| Composite::of_type(&field.ty, &field.access, kernel).ok()).collect();
    if roots.is_empty() { Err(LensError::NoArguments(name.to_owned())) } else { Ok(roots) }
}

/// All arguments of a probe, or the type itself where `name` is one.
///
/// # Errors
/// When there are none.
pub fn arguments(name: &str, kernel: &Kernel) -> Result<Arguments, LensError> {
    let name = name.trim();
    if !name.contains(':') {
        return Ok(Arguments { roots: roots(name, kernel)?, plain: Vec::new() });
    }
    let mut arguments = Arguments::default();
    for field in describe::describe(name, kernel).fields {
        match Composite::of_type(&field.ty, &field.access, kernel) {
            Ok(whole) => arguments.roots.push(whole),
            Err(_) => arguments.plain.push(Plain { access: field.access, ty: field.ty }),
        }
    }
    let is_empty = arguments.roots.is_empty() && arguments.plain.is_empty();
    if is_empty { Err(LensError::NoArguments(name.to_owned())) } else { Ok(arguments) }
}

fn find(btf: &Btf, name: &str) -> Option<TypeId> {
    let complete = |id: &TypeId| !matches!(btf.ty(*id), BtfType::Forward(..));
    btf.find_type(name)
        .filter(complete)
        .or_else(|| if name.contains(' ') { None } else { btf.find_struct(name).or_else(|| btf.find_union(name)) })
}

/// A type without its qualifiers and stars, and how many stars there were.
fn base_type(text: &str) -> (String, usize) {
    let pointers = text.matches('*').count();
    let plain = text.replace('*', " ");
    let words = plain.split_whitespace().filter(|w| !matches!(*w, "const" | "volatile" | "restrict"));
    (words.collect::<Vec<_>>().join(" "), pointers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Roots;

    fn kernel() -> Kernel {
        Kernel::new(Roots::fixture(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kernel")))
    }

    fn access(fields: &[LensField], name: &str) -> Option<String> {
        fields.iter().find(|f| f.name == name).map(|f| f.access.clone())
    }

    #[test]
    fn members_are_reached_through_structs_by_a_dot_and_through_pointers_by_an_arrow() {
        let kernel = kernel();
        let task = Composite::of_type("const struct task_struct *", "args.p", &kernel).unwrap();
        let fields = task.fields();
        assert_eq!(access(&fields, "comm").as_deref(), Some("args.p->comm"));
        let parent = fields.iter().find(|f| f.name == "real_parent").unwrap().inner.clone().unwrap();
        assert_eq!(access(&parent.fields(), "pid").as_deref(), Some("args.p->real_parent->pid"));
        let opened = task.open("args.p->real_parent->real_parent").unwrap();
        assert_eq!(opened.access(), "args.p->real_parent->real_parent");
        assert!(task.open("args.p->comm").is_none());
        let value = Composite::of_type("struct task_struct", "", &kernel).unwrap();
        assert_eq!(access(&value.fields(), "comm").as_deref(), Some("comm"));
    }

    #[test]
    fn arguments_without_members_are_listed_beside_those_that_have_some() {
        let kernel = kernel();
        let of = arguments("tracepoint:syscalls:sys_enter_openat", &kernel).unwrap();
        let plain: Vec<&str> = of.plain.iter().map(|plain| plain.access.as_str()).collect();
        assert!(of.roots.is_empty() && plain.contains(&"args.filename") && plain.contains(&"args.flags"), "{of:?}");
        assert!(arguments("nosuch:probe", &kernel).is_err());
    }

    #[test]
    fn what_has_no_members_is_refused_with_the_reason() {
        let kernel = kernel();
        let refusal = |text: &str| Composite::of_type(text, "", &kernel).unwrap_err().to_string();
        assert_eq!(refusal("struct nosuch"), "the kernel has no type `struct nosuch`");
        assert_eq!(refusal("struct task_struct **"), "the kernel has no type `struct task_struct **`");
        assert_eq!(refusal("unsigned int"), "`unsigned int` has no members");
    }

    #[test]
    fn arguments_of_a_probe_are_roots() {
        let roots = roots("fentry:vmlinux:vfs_read", &kernel()).unwrap();
        let texts: Vec<_> = roots.iter().map(|r| (r.access.as_str(), r.type_text())).collect();
        assert!(texts.contains(&("args.file", "struct file".to_owned())), "{texts:?}");
    }
}
