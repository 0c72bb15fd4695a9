//! Bytes of records and maps to values.
//!
//! A record may be shorter than its layout (trailing bytes read as zeros) and its numbers may be
//! anything: whatever the bytes, decoding ends and stays within them.

mod shared_stacks;

use std::sync::Arc;

use shared_stacks::{Key, SharedStacks};

use super::names::time::{self, Clocks};
use super::names::{self, Cgroups, Users};
use super::symbols::{KernelSymbols, Of, UserSymbols};
use crate::binary::demangle;
use crate::codegen::artifact::{ACTION_BITS, CPU_BITS, FAILURE_RECORD, FAILURE_RECORD_BYTES, RECORD_HEADER};
use crate::kernel::syscalls::{self, Machine};
use crate::lang::typed::{Program, StructDef, SymbolForm, bitfield_value, size_align, tuple_layout};
use crate::lang::types::{StackMode, StructId, Type};
use crate::model::value::{Frame, Stack, StackStyle, Value};

/// Reads captured stacks by their id: the addresses, innermost first.
pub trait StackSource {
    /// `None` when the id is unknown.
    fn stack(&self, id: u64, frames: u32) -> Option<Vec<u64>>;
}

/// What names come from; see [`Names::new`].
pub struct Names {
    kernel: Arc<dyn KernelSymbols>,
    user: UserSymbols,
    users: Users,
    cgroups: Cgroups,
    clocks: Clocks,
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Names {
    /// Sources of names; nothing is read before the first name is asked for.
    #[must_use]
    pub fn new(kernel: Arc<dyn KernelSymbols>, user: UserSymbols, users: Users, cgroups: Cgroups) -> Self {
        Self { kernel, user, users, cgroups, clocks: Clocks::now() }
    }

    /// Takes a clock that was set for what it shows now.
    pub fn follow_clock(&mut self) {
        self.clocks.follow();
    }

    /// The clocks' differences now.
    #[must_use]
    pub fn clocks(&self) -> Clocks {
        self.clocks
    }
}

/// Decodes for one program.
#[derive(Debug)]
pub struct Decoder {
    program: Arc<Program>,
    /// For each action, the offset of each value after the record's header.
    layouts: Vec<Vec<u32>>,
    names: Names,
    stacks: SharedStacks,
}

/// A record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Index in `Program::actions`.
    pub action: u32,
    /// Index in `Program::probe_names`; `u32::MAX` for none.
    pub name: u32,
    /// When the report was made, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The CPU that made it.
    pub cpu: u16,
}

/// A record that tells of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Index in `Artifact::sites`.
    pub site: u32,
    /// Number of the helper that failed, 0 for none.
    pub helper: u32,
    /// What it returned.
    pub code: i32,
    /// When it failed, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The CPU on which it did.
    pub cpu: u16,
}

impl Failure {
    /// Reads a record; `None` when it tells of no failure.
    #[must_use]
    pub fn read(record: &[u8]) -> Option<Self> {
        if record.len() < FAILURE_RECORD_BYTES || u32_at(record, 0) & FAILURE_RECORD == 0 {
            return None;
        }
        let site = u32_at(record, 0) & !FAILURE_RECORD;
        let (helper, code) = (u32_at(record, 16), u32_at(record, 4) as i32);
        Some(Self { site, helper, code, at_ns: u64_at(record, 8), cpu: u32_at(record, 20) as u16 })
    }
}

impl Decoder {
    /// Lays out every action's record.
    #[must_use]
    pub fn new(program: Arc<Program>, names: Names) -> Self {
        let layouts = program.actions.iter().map(|a| tuple_layout(a.values.iter(), &program.structs).1).collect();
        Self { program, layouts, names, stacks: SharedStacks::default() }
    }

    /// The program it decodes for.
    #[must_use]
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Where names come from.
    pub fn names(&mut self) -> &mut Names {
        &mut self.names
    }

    /// Reads a record's header; `None` when it is no record of this program.
    #[must_use]
    pub fn header(&self, record: &[u8]) -> Option<Header> {
        let first = u32_at(record, 0);
        if record.len() < RECORD_HEADER || first & FAILURE_RECORD != 0 {
            return None;
        }
        let (action, cpu) = (first & ((1 << ACTION_BITS) - 1), first >> ACTION_BITS & ((1 << CPU_BITS) - 1));
        let header = Header { action, name: u32_at(record, 4), at_ns: u64_at(record, 8), cpu: cpu as u16 };
        ((header.action as usize) < self.program.actions.len()).then_some(header)
    }

    /// Offsets of an action's values in its record, counted from the record's start.
    pub fn offsets(&self, action: u32) -> impl Iterator<Item = usize> {
        let layout = self.layouts.get(action as usize).map_or(&[][..], Vec::as_slice);
        layout.iter().map(|o| *o as usize + RECORD_HEADER)
    }

    /// Decodes all values of a record.
    pub fn values(&mut self, header: Header, record: &[u8], stacks: &dyn StackSource, out: &mut Vec<Value>) {
        out.clear();
        let program = Arc::clone(&self.program);
        let Some(action) = program.actions.get(header.action as usize) else { return };
        let offsets: Vec<usize> = self.offsets(header.action).collect();
        for (ty, offset) in action.values.iter().zip(offsets) {
            out.push(self.value(ty, from(record, offset), stacks));
        }
    }

    /// Decodes one value from the start of `bytes`.
    pub fn value(&mut self, ty: &Type, bytes: &[u8], stacks: &dyn StackSource) -> Value {
        match ty {
            Type::Void | Type::Error | Type::Agg(_) => Value::None,
            Type::Bool => Value::Bool(byte(bytes, 0) != 0),
            Type::Int { size, signed } => integer(bytes, *size, *signed),
            Type::Enum { id, size, signed } => self.enumerator(id.0, bytes, *size, *signed),
            Type::Str { size } => self.text(bytes, *size),
            Type::Buf { size } => {
                let len = (u32_at(bytes, 0)).min(*size) as usize;
                Value::Bytes(padded(from(bytes, 4), len).into())
            }
            Type::Ptr { .. } => Value::Pointer(u64_at(bytes, 0)),
            Type::Array { of, len } => self.array(of, *len, bytes, stacks),
            Type::Struct(StructId(id)) => self.structure(*id, bytes, stacks),
            Type::Tuple(items) => {
                let offsets = tuple_layout(items.iter(), &self.program.structs).1;
                let parts = items.iter().zip(offsets).map(|(t, o)| self.value(t, from(bytes, o as usize), stacks));
                Value::Tuple(parts.collect())
            }
            Type::Record(items) => {
                let offsets = tuple_layout(items.iter().map(|(_, t)| t), &self.program.structs).1;
                let parts = items
                    .iter()
                    .zip(offsets)
                    .map(|((name, t), o)| (Arc::clone(name), self.value(t, from(bytes, o as usize), stacks)));
                Value::Record(parts.collect())
            }
            // No frames were asked for, so none is missing.
            Type::KStack { mode, depth: 0 } | Type::UStack { mode, depth: 0 } => {
                Value::Stack(Stack { frames: [].into(), mode: style(*mode), missing: false })
            }
            Type::KStack { mode, .. } => self.stack(*mode, bytes, None, stacks),
            Type::UStack { mode, .. } => self.stack(*mode, bytes, Some(u32_at(bytes, 8)), stacks),
            _ => self.formatted(ty, bytes),
        }
    }

    /// Types that print as a text made from numbers.
    fn formatted(&mut self, ty: &Type, bytes: &[u8]) -> Value {
        let number = u64_at(bytes, 0);
        let text: Arc<str> = match ty {
            Type::KSym => self.kernel_symbol(number),
            Type::USym => self.user_symbol(u32_at(bytes, 8), number, SymbolForm::of(u32_at(bytes, 12).into())),
            Type::Inet => inet(bytes).into(),
            Type::Mac => mac(bytes).into(),
            Type::Username => self.names.users.name(number),
            Type::Timestamp => self.timestamp(number, u32_at(bytes, 8), u32_at(bytes, 12)).into(),
            Type::CgroupPath => self.cgroup(number, u32_at(bytes, 8)),
            Type::Strerror => names::kernel_error_text(number),
            Type::SignalName => names::signal_name(number).unwrap_or("N/A").into(),
            Type::SyscallName => syscalls::name(Machine::HOST, number).unwrap_or("Unknown syscall").into(),
            Type::ProbeName => self.probe_name(number),
            Type::FuncName => {
                let name = self.probe_name(number);
                self.function_name(&name)
            }
            _ => return Value::None,
        };
        Value::Text(text, if matches!(ty, Type::Inet | Type::Mac) { 0 } else { number })
    }

    fn probe_name(&self, index: u64) -> Arc<str> {
        let name = usize::try_from(index).ok().and_then(|i| self.program.probe_names.get(i));
        name.cloned().unwrap_or_else(|| "".into())
    }

    /// The function in a probe's name; those of binaries as their language has them.
    fn function_name(&self, probe: &str) -> Arc<str> {
        let function = crate::lang::typed::function_of(probe);
        let user = self.program.config.demangle && (probe.starts_with("uprobe:") || probe.starts_with("uretprobe:"));
        let readable = if user { demangle::readable(function) } else { None };
        readable.map_or_else(|| function.into(), Arc::from)
    }

    fn kernel_symbol(&self, word: u64) -> Arc<str> {
        let (form, address) = SymbolForm::unmarked(word);
        match self.names.kernel.symbolize(address) {
            Some((name, offset, module)) => {
                let module = module.unwrap_or_else(|| "vmlinux".into());
                in_form(form, address, &module, Some((name, offset)))
            }
            None => unknown_address(address),
        }
    }

    fn user_symbol(&mut self, pid: u32, address: u64, form: SymbolForm) -> Arc<str> {
        let frames = self.names.user.frames(pid, address, Of::Anything);
        let unknown = || match form {
            SymbolForm::Name => unknown_address(address),
            _ => format!("0x{address:x}").into(),
        };
        let Some(frame) = frames.last() else { return unknown() };
        let symbol = frame.symbol.clone().map(|name| (name, frame.offset));
        match (&frame.object, symbol) {
            (Some(object), symbol) if form != SymbolForm::Name => {
                in_form(form, address, object.rsplit('/').next().unwrap_or(object), symbol)
            }
            (_, Some((name, _))) => name,
            _ => unknown(),
        }
    }

    fn timestamp(&self, ns: u64, format: u32, clock: u32) -> String {
        let format = self.program.time_formats.get(format as usize).map_or("", |f| &**f);
        let text = time::format(format, self.names.clocks.wall(ns, clock));
        // `strftime(3)` can't tell an empty text from one that it had no room for: bpftrace prints this for both.
        if text.is_empty() { "(?)".to_owned() } else { text }
    }

    fn cgroup(&mut self, id: u64, filter: u32) -> Arc<str> {
        let wanted = self.program.cgroup_filters.get(filter as usize);
        self.names.cgroups.paths(id, |name| wanted.is_none_or(|f| glob(f, name))).into()
    }

    fn text(&self, bytes: &[u8], size: u32) -> Value {
        let bytes = &bytes[..bytes.len().min(size as usize)];
        let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
        let config = &self.program.config;
        if size == config.max_strlen + 1 && end == config.max_strlen as usize {
            // As long as strings get: the rest of it is missing.
            return Value::Str([&bytes[..end], config.str_trunc_trailer.as_bytes()].concat().into());
        }
        Value::Str(bytes[..end].into())
    }

    fn enumerator(&self, id: u32, bytes: &[u8], size: u8, signed: bool) -> Value {
        let value = match integer(bytes, size, signed) {
            Value::Int(v, _) => v,
            Value::Uint(v, _) => v as i64,
            _ => 0,
        };
        let def = self.program.enums.get(id as usize);
        let name = def.and_then(|d| d.variants.iter().find(|(_, v)| *v == value)).map(|(n, _)| Arc::clone(n));
        Value::Enum { value, name }
    }

    fn array(&mut self, of: &Type, len: u32, bytes: &[u8], stacks: &dyn StackSource) -> Value {
        let step = size_align(of, &self.program.structs).0 as usize;
        let len = len.min(1 << 20) as usize;
        Value::Array((0..len).map(|i| self.value(of, from(bytes, i * step), stacks)).collect())
    }

    fn structure(&mut self, id: u32, bytes: &[u8], stacks: &dyn StackSource) -> Value {
        let program = Arc::clone(&self.program);
        let Some(def) = program.structs.get(id as usize) else { return Value::None };
        Value::Record(self.fields(def, bytes, stacks).into())
    }

    fn fields(&mut self, def: &StructDef, bytes: &[u8], stacks: &dyn StackSource) -> Vec<(Arc<str>, Value)> {
        let mut fields = Vec::with_capacity(def.fields.len());
        for field in &def.fields {
            let bytes = from(bytes, field.offset as usize);
            let value = match field.bits {
                Some(bits) => {
                    let size = size_align(&field.ty, &self.program.structs).0 as u8;
                    let number = bitfield_value(uint(bytes, size), bits, field.ty.is_signed());
                    self.value(&field.ty, &number.to_le_bytes(), stacks)
                }
                None => self.value(&field.ty, bytes, stacks),
            };
            match value {
                // As in C, the members of an anonymous struct or union are those of the one around it.
                Value::Record(inner) if field.name.is_empty() => fields.extend(inner.iter().cloned()),
                value => fields.push((Arc::clone(&field.name), value)),
            }
        }
        fields
    }

    fn stack(&mut self, mode: StackMode, bytes: &[u8], pid: Option<u32>, stacks: &dyn StackSource) -> Value {
        let (id, count) = (u64_at(bytes, 0), u32_at(bytes, 12));
        let key = Key { id, count, pid, in_files: mode == StackMode::BuildId };
        if let Some(frames) = self.stacks.get(key).filter(|_| id != 0) {
            return Value::Stack(Stack { frames, mode: style(mode), missing: false });
        }
        let addresses = if id == 0 { None } else { stacks.stack(id, count) };
        let missing = addresses.is_none();
        let mut frames = Vec::new();
        let mut lasting = !missing;
        for address in addresses.unwrap_or_default() {
            match pid {
                Some(pid) if mode == StackMode::BuildId => frames.push(self.names.user.in_file(pid, address)),
                Some(pid) => {
                    frames.extend_from_slice(&self.names.user.frames(pid, address, Of::Stack));
                    lasting &= self.names.user.is_lasting(pid, address, Of::Stack);
                }
                None => frames.push(self.kernel_frame(address)),
            }
        }
        let frames: Arc<[Frame]> = frames.into();
        if lasting {
            self.stacks.keep(key, &frames);
        }
        Value::Stack(Stack { frames, mode: style(mode), missing })
    }

    fn kernel_frame(&self, address: u64) -> Frame {
        match self.names.kernel.symbolize(address) {
            Some((name, offset, object)) => Frame { address, symbol: Some(name), offset, object, inlined: false },
            None => Frame { address, symbol: None, offset: 0, object: None, inlined: false },
        }
    }
}

const fn style(mode: StackMode) -> StackStyle {
    match mode {
        StackMode::Bpftrace => StackStyle::Bpftrace,
        StackMode::Perf => StackStyle::Perf,
        StackMode::Raw => StackStyle::Raw,
        StackMode::BuildId => StackStyle::BuildId,
    }
}

/// A bitfield's bits: as in bpftrace they have no sign, whatever the field's type.
/// A shell pattern with `*` only.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => {
            let Some(tail) = text.strip_prefix(head) else { return false };
            (0..=tail.len()).any(|i| tail.is_char_boundary(i) && glob(rest, &tail[i..]))
        }
    }
}

fn inet(bytes: &[u8]) -> String {
    let address = padded(from(bytes, 4), 16);
    let v4 = |at: usize| std::net::Ipv4Addr::new(address[at], address[at + 1], address[at + 2], address[at + 3]);
    match u32_at(bytes, 0) {
        2 => v4(0).to_string(),
        // As `inet_ntop(3)` has it: what embeds an address of version 4 ends with that.
        10 if address[..12].iter().all(|b| *b == 0) && address[12..14] != [0, 0] => format!("::{}", v4(12)),
        10 => <[u8; 16]>::try_from(&address[..])
            .map_or_else(|_| String::new(), |a| std::net::Ipv6Addr::from(a).to_string()),
        _ => String::new(),
    }
}

/// A symbol with its object, as a form has it.
fn in_form(form: SymbolForm, address: u64, object: &str, symbol: Option<(Arc<str>, u64)>) -> Arc<str> {
    match (form, symbol) {
        (SymbolForm::Object, _) => object.into(),
        (SymbolForm::Name, Some((name, _))) => name,
        (SymbolForm::WithOffset, Some((name, offset))) if offset > 0 => format!("{object}`{name}+{offset:#x}").into(),
        (_, Some((name, _))) => format!("{object}`{name}").into(),
        (_, None) => format!("{object}`{address:#x}").into(),
    }
}

fn mac(bytes: &[u8]) -> String {
    let b = padded(bytes, 6);
    format!("{:02X}:{:02X}:{:02X}:{:02X}:{:02X}:{:02X}", b[0], b[1], b[2], b[3], b[4], b[5])
}

/// An integer of `size` bytes.
pub(super) fn integer(bytes: &[u8], size: u8, signed: bool) -> Value {
    let value = uint(bytes, size);
    if signed {
        let spare = 64 - u32::from(size.clamp(1, 8)) * 8;
        Value::Int((value << spare) as i64 >> spare, size)
    } else {
        Value::Uint(value, size)
    }
}

fn uint(bytes: &[u8], size: u8) -> u64 {
    let mut whole = [0_u8; 8];
    let len = bytes.len().min(usize::from(size)).min(8);
    whole[..len].copy_from_slice(&bytes[..len]);
    u64::from_le_bytes(whole)
}

fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    uint(from(bytes, at), 8)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    uint(from(bytes, at), 4) as u32
}

/// An address without a symbol: `0x` and hexadecimal digits, but plain 0 for none.
fn unknown_address(address: u64) -> Arc<str> {
    if address == 0 { "0".into() } else { format!("0x{address:x}").into() }
}

fn from(bytes: &[u8], at: usize) -> &[u8] {
    bytes.get(at..).unwrap_or(&[])
}

fn padded(bytes: &[u8], len: usize) -> Vec<u8> {
    let mut out = bytes[..bytes.len().min(len)].to_vec();
    out.resize(len, 0);
    out
}
