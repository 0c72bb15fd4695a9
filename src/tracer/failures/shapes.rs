//! What the kernel's BTF says of a function: how its parameters are called, and how its result is to be read.

use std::collections::HashMap;
use std::sync::Arc;

use crate::kernel::Kernel;
use crate::kernel::btf::{Btf, BtfType, TypeId};
use crate::kernel::function_types::{ErrnoResult, READ_PARAMETERS};
use crate::model::failure::{Argument, MAX_ERRNO, Outcome};

/// Functions by name, looked up when they are first met.
#[derive(Debug)]
pub struct Shapes {
    kernel: Arc<Kernel>,
    modules: Vec<Arc<Btf>>,
    known: HashMap<Arc<str>, Option<Shape>>,
}

#[derive(Clone, Debug)]
struct Shape {
    btf: Arc<Btf>,
    result: Option<ErrnoResult>,
    parameters: Vec<(Arc<str>, TypeId)>,
}

impl Shapes {
    /// Of this kernel and its modules.
    #[must_use]
    pub fn new(kernel: &Arc<Kernel>) -> Self {
        let vmlinux = kernel.shared_btf().ok().map(Arc::clone);
        let modules = kernel.modules_with_btf();
        let modules = modules.iter().filter_map(|name| kernel.module_btf(name).ok());
        Self {
            kernel: Arc::clone(kernel),
            modules: vmlinux.into_iter().chain(modules).collect(),
            known: HashMap::new(),
        }
    }

    fn shape(&mut self, function: &Arc<str>) -> Option<&Shape> {
        if !self.known.contains_key(function) {
            let shape = self.read(function);
            self.known.insert(Arc::clone(function), shape);
        }
        self.known.get(function)?.as_ref()
    }

    fn read(&self, function: &str) -> Option<Shape> {
        let btf = self.modules.iter().find(|btf| btf.functions_named(function).any(|id| btf.own(id)))?;
        let prototype = btf.func(function)?;
        let parameters = prototype.params.iter().take(READ_PARAMETERS).map(|p| (p.name.into(), p.ty)).collect();
        let result = self.kernel.function_types().ok().and_then(|types| types.get(function)?.errno);
        Some(Shape { btf: Arc::clone(btf), result, parameters })
    }

    /// What a function's parameters were given, from the six words that a call can hand over in registers.
    pub fn arguments(&mut self, function: &Arc<str>, words: &[u64]) -> Vec<Argument> {
        let Some(shape) = self.shape(function) else { return Vec::new() };
        let value = |((name, ty), word): (&(Arc<str>, TypeId), &u64)| Argument {
            name: Arc::clone(name),
            value: shown(&shape.btf, *ty, name, *word),
        };
        shape.parameters.iter().zip(words).map(value).collect()
    }

    /// What a function's result says.
    pub fn outcome(&mut self, function: &Arc<str>, word: u64) -> Outcome {
        let kind = self.shape(function).and_then(|shape| shape.result);
        let number = match kind {
            Some(ErrnoResult::Int) => i64::from(word as i32),
            _ => word as i64,
        };
        match kind {
            // Nothing is known of it: its value is no error.
            None => Outcome::Number(number),
            Some(_) if (-MAX_ERRNO..0).contains(&number) => Outcome::Errno(number.unsigned_abs() as u16),
            Some(ErrnoResult::Pointer) if word == 0 => Outcome::Null,
            Some(ErrnoResult::Pointer) => Outcome::Pointer(word),
            Some(_) => Outcome::Number(number),
        }
    }

    /// A system call's arguments by the names of its tracepoint; the texts are what its first two words point to.
    #[must_use]
    pub fn syscall_arguments(&self, name: &str, words: &[u64], texts: &[String]) -> Vec<Argument> {
        let event = match name {
            "stat" | "fstat" | "lstat" | "uname" => format!("sys_enter_new{name}"),
            "sendfile" => "sys_enter_sendfile64".to_owned(),
            "umount2" => "sys_enter_umount".to_owned(),
            _ => format!("sys_enter_{name}"),
        };
        let Ok(format) = self.kernel.tracepoint("syscalls", &event) else {
            return words.iter().map(|word| Argument { name: "".into(), value: format!("{word:#x}") }).collect();
        };
        let fields: Vec<_> = format.own_fields().filter(|field| !field.name.starts_with("__")).collect();
        let value = |(at, field): (usize, &&crate::kernel::tracefs::Field)| {
            let word = words.get(at).copied().unwrap_or(0);
            let ty = field.declaration();
            let is_text = ty.contains("char") && ty.matches('*').count() == 1;
            let value = match texts.get(at).filter(|text| is_text && !text.is_empty()) {
                Some(text) => format!("{text:?}"),
                None if ty.contains('*') => pointer(word),
                None if ty.contains("long") => number(&field.name, word, word as i64),
                None => number(&field.name, word, i64::from(word as i32)),
            };
            Argument { name: Arc::clone(&field.name), value }
        };
        fields.iter().enumerate().map(value).collect()
    }
}

fn pointer(word: u64) -> String {
    if word == 0 { "NULL".to_owned() } else { format!("{word:#x}") }
}

/// A number; flags, masks and modes as their bits.
fn number(name: &str, bits: u64, value: i64) -> String {
    if name.contains("mode") {
        return format!("{bits:#o}");
    }
    let is_bits = name == "prot" || ["flag", "mask", "option"].iter().any(|part| name.contains(part));
    if is_bits { format!("{bits:#x}") } else { value.to_string() }
}

fn shown(btf: &Btf, ty: TypeId, name: &str, word: u64) -> String {
    let ty = btf.resolve(ty);
    match btf.ty(ty) {
        BtfType::Ptr(_) => pointer(word),
        BtfType::Int(int) if int.boolean => (word & 0xff != 0).to_string(),
        BtfType::Int(int) => {
            let bits = int.size.clamp(1, 8) * 8;
            let low = if bits == 64 { word } else { word & ((1 << bits) - 1) };
            let signed = (low << (64 - bits)) as i64 >> (64 - bits);
            let value = if int.signed { signed } else { low as i64 };
            if !int.signed && value < 0 { low.to_string() } else { number(name, low, value) }
        }
        BtfType::Enum(_) => {
            let value = i64::from(word as i32);
            let known = btf.enumerators(ty).find(|e| e.value == value);
            known.map_or_else(|| value.to_string(), |e| e.name.to_owned())
        }
        _ => format!("{word:#x}"),
    }
}
