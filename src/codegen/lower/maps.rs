//! Reading and writing maps.

pub mod aggregate;
pub mod keys;
pub mod map_value_cache;
pub mod per_cpu_key_cache;
pub mod reduce;
pub mod write;

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BpfMapId, Cond, FuncId, Linkage, Operand, Vreg};
use crate::codegen::lower::layout;
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, LocalId, MapId};
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::{Home, SHARED, aggregation, padded};
use crate::codegen::lower::place::scalar_shape;
use crate::codegen::lower::value::Tail;

/// Where a scalar map's value and presence byte are.
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    pub value: Addr,
    pub present: Addr,
}

impl<'a> Lowerer<'_, 'a> {
    /// The map's place, when it is a scalar in global data.
    pub fn scalar_map(&mut self, map: MapId) -> Option<Scalar> {
        match self.object.layout.homes[map.0 as usize] {
            Home::Shared { offset, present } => {
                let section = self.object.section(SHARED);
                let base = Base::Reg(self.function.builder.global_addr(section, offset));
                Some(Scalar { value: Addr::new(base, 0), present: Addr::new(base, (present - offset) as i32) })
            }
            Home::PerCpu { offset, present, .. } => {
                self.object.section(layout::PER_CPU);
                let base = Base::Reg(self.function.percpu());
                Some(Scalar { value: Addr::new(base, offset as i32), present: Addr::new(base, present as i32) })
            }
            Home::Hash { .. } | Home::Cells(_) => None,
        }
    }

    /// The BPF map of a keyed map.
    pub fn keyed_map(&self, map: MapId) -> Option<BpfMapId> {
        match self.object.layout.homes[map.0 as usize] {
            Home::Hash { map, .. } => Some(BpfMapId(map)),
            _ => None,
        }
    }

    /// Writes a key into memory; keys that are in memory already stay there, unless they need zeros
    /// behind them.
    pub fn key(&mut self, map: MapId, key: Option<&'a Expr>, span: Span) -> Result<Addr, CodegenError> {
        let Some(key) = key else { return self.internal(span, "a keyed map without a key") };
        let want = &self.object.program.maps[map.0 as usize].key;
        let size = self.size(want);
        let room = match self.cells(map) {
            Some(cells) => cells.key.words * 8,
            None => padded(want, size),
        };
        if !key.ty.fits_register() && key.ty == *want && room == size {
            return self.memory(key);
        }
        let temp = self.temp(room);
        self.key_into(map, key, temp, room)?;
        Ok(temp)
    }

    /// Writes a key, and zeros behind it up to `room` bytes.
    pub fn key_into(&mut self, map: MapId, key: &'a Expr, dst: Addr, room: u32) -> Result<(), CodegenError> {
        let want = &self.object.program.maps[map.0 as usize].key;
        let size = self.size(want);
        match &key.kind {
            _ if want.fits_register() && key.ty.fits_register() => {
                let value = self.scalar(key)?;
                self.store_padded(dst, value, size);
            }
            ExprKind::Tuple(items) if key.ty == *want => {
                self.store_tuple(items, dst, want, Tail::Zeroed, room)?;
            }
            _ => {
                self.store_value(key, dst, want, Tail::Zeroed)?;
                self.zero(dst.at(size), room - size);
            }
        }
        Ok(())
    }

    /// A key of one word.
    pub fn key_word(&mut self, map: MapId, key: &'a Expr) -> Result<Operand, CodegenError> {
        let bytes = self.size(&self.object.program.maps[map.0 as usize].key);
        let value = self.scalar(key)?;
        Ok(self.padded_word(value, bytes))
    }

    /// Writes a number of so many bytes, and zeros behind it up to a word.
    pub fn store_padded(&mut self, dst: Addr, value: Operand, bytes: u32) {
        let value = self.padded_word(value, bytes);
        self.store(dst, 8, value);
    }

    /// A number of so many bytes and zeros above it; a constant is one that an instruction takes.
    fn padded_word(&mut self, value: Operand, bytes: u32) -> Operand {
        let value = match value {
            _ if bytes >= 8 => value,
            Operand::Imm(n) => Operand::Imm(n & ((1 << (bytes * 8)) - 1)),
            Operand::Reg(register) => self.function.builder.extend(register, (bytes * 8) as u8, false).into(),
        };
        // An instruction takes a constant of 32 bits with its sign.
        match value {
            Operand::Imm(n) if i32::try_from(n).is_err() => self.function.builder.imm(n).into(),
            fits => fits,
        }
    }

    /// `bpf_map_lookup_elem`: an address, or 0.
    pub fn lookup(&mut self, map: BpfMapId, key: Addr) -> Vreg {
        let map = self.function.builder.map_addr(map);
        let key = self.pointer(key);
        self.function.builder.call(h::MAP_LOOKUP_ELEM, &[map.into(), key.into()])
    }

    /// The element of a key, inserted with zeros when absent; control goes to `full` when there is no
    /// room, which is counted. So is the absence of what is `read`, when that is asked for.
    pub fn lookup_or_insert(
        &mut self,
        map: MapId,
        key: Addr,
        full: crate::codegen::ir::BlockId,
        read: bool,
        span: Span,
    ) -> Result<Vreg, CodegenError> {
        let Some(bpf) = self.keyed_map(map) else { return self.internal(span, "a scalar map with a key") };
        let element = self.function.builder.new_vreg();
        let found = self.lookup(bpf, key);
        self.function.builder.copy_into(element, found);
        let (insert, ready, again) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.branch(Cond::Ne, element, 0, ready, insert);
        self.function.builder.switch_to(insert);
        if read {
            self.count_absent(span);
        }
        let size = self.size(&self.object.program.maps[map.0 as usize].value).max(1);
        let zeros = self.zeros(size);
        let value = self.pointer(zeros);
        let handle = self.function.builder.map_addr(bpf);
        let at = self.pointer(key);
        let update = [handle.into(), at.into(), value.into(), h::BPF_NOEXIST.into()];
        let result = self.function.builder.call(h::MAP_UPDATE_ELEM, &update);
        let found = self.lookup(bpf, key);
        self.function.builder.copy_into(element, found);
        self.function.builder.branch(Cond::Ne, element, 0, ready, again);
        self.function.builder.switch_to(again);
        self.not_inserted(result, span)?;
        self.function.builder.jump(full);
        self.function.builder.switch_to(ready);
        Ok(element)
    }

    /// Counts a read of a key that the map did not have, when that is asked for.
    fn count_absent(&mut self, span: Span) {
        if self.object.facts.absent_keys {
            self.failed(LossCause::KeyAbsent, Some((h::MAP_LOOKUP_ELEM, 0.into())), span);
        }
    }

    /// The same for a map without keys that nothing was written to yet.
    fn note_absent(&mut self, scalar: Scalar, span: Span) -> Result<(), CodegenError> {
        if !self.object.facts.absent_keys {
            return Ok(());
        }
        let present = self.load(scalar.present, 1, false);
        self.when(Cond::Eq, present.into(), 0.into(), |l| {
            l.count_absent(span);
            Ok(())
        })
    }

    /// Zeros to read from.
    pub fn zeros(&mut self, size: u32) -> Addr {
        let at = self.object.constant(&vec![0; size.next_multiple_of(8) as usize]);
        let section = self.object.section(layout::CONSTANTS);
        Addr::new(Base::Reg(self.function.builder.global_addr(section, at)), 0)
    }

    /// A map's value that does not fit a register; zeros when absent.
    pub fn map_memory(&mut self, map: MapId, key: Option<&'a Expr>, e: &'a Expr) -> Result<Addr, CodegenError> {
        if let Some(scalar) = self.scalar_map(map) {
            self.note_absent(scalar, e.span)?;
            return Ok(scalar.value);
        }
        let Some(bpf) = self.keyed_map(map) else { return self.internal(e.span, "a map without a home") };
        if let Some(element) = self.known_read(map, key) {
            return Ok(Addr::new(Base::Reg(element), 0));
        }
        let size = self.size(&e.ty).max(self.size(&self.object.program.maps[map.0 as usize].value));
        let at = self.key(map, key, e.span)?;
        let element = self.function.builder.new_vreg();
        let found = self.lookup(bpf, at);
        self.function.builder.copy_into(element, found);
        self.when(Cond::Eq, element.into(), 0.into(), |l| {
            l.count_absent(e.span);
            let zeros = l.zeros(size);
            let from = l.pointer(zeros);
            l.function.builder.copy_into(element, from);
            Ok(())
        })?;
        if let Some(key) = key {
            self.known.note_read(map, e, key, element);
        }
        Ok(Addr::new(Base::Reg(element), 0))
    }

    /// Map expressions whose value fits a register.
    pub fn map_scalar(&mut self, e: &'a Expr) -> Result<Operand, CodegenError> {
        match &e.kind {
            ExprKind::MapGet { map, key } => self.map_get(*map, key.as_deref(), e),
            ExprKind::MapHas { map, key } => self.map_has(*map, key.as_deref(), e),
            ExprKind::MapDelete { map, key } => self.map_delete(*map, key.as_deref(), e),
            ExprKind::MapFind { map, key, local } => self.map_find(*map, key, *local, e),
            ExprKind::MapLen(map) => self.map_len(*map, e),
            ExprKind::MapAddress(map) => Ok(self.map_address(*map)),
            ExprKind::MapStep { map, key, delta, postfix } => {
                self.map_step(*map, key.as_deref(), delta, Some(*postfix), e)
            }
            _ => self.internal(e.span, "not a map expression"),
        }
    }

    fn map_address(&mut self, map: MapId) -> Operand {
        let address = match (self.keyed_map(map), self.scalar_map(map)) {
            (Some(bpf), _) => self.function.builder.map_addr(bpf),
            (None, Some(scalar)) => self.pointer(scalar.value),
            (None, None) => return 0.into(),
        };
        self.plain(address).into()
    }

    fn map_get(&mut self, map: MapId, key: Option<&'a Expr>, e: &'a Expr) -> Result<Operand, CodegenError> {
        let spec = &self.object.program.maps[map.0 as usize];
        if let Some(agg) = aggregation(spec) {
            return self.reduce(map, agg, key, e);
        }
        let (size, signed) = scalar_shape(&spec.value);
        if let Some(scalar) = self.scalar_map(map) {
            self.note_absent(scalar, e.span)?;
            return Ok(self.load(scalar.value, size, signed).into());
        }
        let Some(bpf) = self.keyed_map(map) else { return self.internal(e.span, "a map without a home") };
        if let Some(value) = self.known_read(map, key) {
            return Ok(value.into());
        }
        let mark = self.mark();
        let at = self.key(map, key, e.span)?;
        let result = self.function.builder.new_vreg();
        let element = self.lookup(bpf, at);
        self.function.builder.copy_into(result, 0);
        self.when(Cond::Ne, element.into(), 0.into(), |l| {
            let value = l.load(Addr::new(Base::Reg(element), 0), size, signed);
            l.function.builder.copy_into(result, value);
            Ok(())
        })?;
        if self.object.facts.absent_keys {
            self.when(Cond::Eq, element.into(), 0.into(), |l| {
                l.count_absent(e.span);
                Ok(())
            })?;
        }
        self.release(mark);
        if let Some(key) = key {
            self.known.note_read(map, e, key, result);
        }
        Ok(result.into())
    }

    /// What an earlier read gave, unless each read of an absent key is to be counted.
    fn known_read(&self, map: MapId, key: Option<&Expr>) -> Option<Vreg> {
        key.filter(|_| !self.object.facts.absent_keys).and_then(|key| self.known.value(map, key))
    }

    fn map_has(&mut self, map: MapId, key: Option<&'a Expr>, e: &'a Expr) -> Result<Operand, CodegenError> {
        if let Some(scalar) = self.scalar_map(map) {
            let present = self.load(scalar.present, 1, false);
            return Ok(self.function.builder.compare(Cond::Ne, present, 0).into());
        }
        let Some(bpf) = self.keyed_map(map) else { return self.internal(e.span, "a map without a home") };
        let mark = self.mark();
        let key = self.key(map, key, e.span)?;
        let element = self.lookup(bpf, key);
        self.release(mark);
        Ok(self.function.builder.compare(Cond::Ne, element, 0).into())
    }

    fn map_delete(&mut self, map: MapId, key: Option<&'a Expr>, e: &'a Expr) -> Result<Operand, CodegenError> {
        self.known.invalidate(map);
        match self.object.layout.homes[map.0 as usize] {
            Home::PerCpu { .. } => return self.delete_per_cpu(map, e),
            Home::Cells(_) => return self.internal(e.span, "an element deleted of a map that is only updated"),
            Home::Shared { .. } => {
                let Some(scalar) = self.scalar_map(map) else { return Ok(0.into()) };
                let present = self.load(scalar.present, 1, false);
                self.store(scalar.present, 1, 0);
                let size = self.size(&self.object.program.maps[map.0 as usize].value);
                self.zero(scalar.value, size);
                return Ok(present.into());
            }
            Home::Hash { .. } => {}
        }
        let Some(bpf) = self.keyed_map(map) else { return self.internal(e.span, "a map without a home") };
        let mark = self.mark();
        let key = self.key(map, key, e.span)?;
        let handle = self.function.builder.map_addr(bpf);
        let at = self.pointer(key);
        let result = self.function.builder.call(h::MAP_DELETE_ELEM, &[handle.into(), at.into()]);
        self.release(mark);
        Ok(self.function.builder.compare(Cond::Eq, result, 0).into())
    }

    fn map_find(&mut self, map: MapId, key: &'a Expr, local: LocalId, e: &'a Expr) -> Result<Operand, CodegenError> {
        let Some(bpf) = self.keyed_map(map) else { return self.internal(e.span, "find() on a scalar map") };
        let value_type = &self.object.program.maps[map.0 as usize].value;
        let local_type = &self.locals[local.0 as usize].ty;
        let aggregation = aggregation(&self.object.program.maps[map.0 as usize]);
        let mark = self.mark();
        let key = self.key(map, Some(key), e.span)?;
        let element = self.lookup(bpf, key);
        let result = self.function.builder.new_vreg();
        self.function.builder.copy_into(result, 0);
        self.when(Cond::Ne, element.into(), 0.into(), |l| {
            let src = Addr::new(Base::Reg(element), 0);
            if let Some(agg) = aggregation {
                let value = l.reduce_by_key(map, agg, key, e.span)?;
                l.write_local(local, value);
            } else if value_type.fits_register() {
                let (size, signed) = scalar_shape(value_type);
                let value = l.load(src, size, signed);
                l.write_local(local, value.into());
            } else if let Some(dst) = l.local_memory(local) {
                l.copy_value(src, dst, value_type, local_type);
            }
            l.function.builder.copy_into(result, 1);
            Ok(())
        })?;
        self.release(mark);
        Ok(result.into())
    }

    /// How many keys: `bpf_for_each_map_elem` returns the number of elements it visited.
    fn map_len(&mut self, map: MapId, e: &'a Expr) -> Result<Operand, CodegenError> {
        let Some(bpf) = self.keyed_map(map) else {
            let Some(scalar) = self.scalar_map(map) else { return Ok(0.into()) };
            let present = self.load(scalar.present, 1, false);
            return Ok(self.function.builder.compare(Cond::Ne, present, 0).into());
        };
        if !self.object.facts.features().for_each_map_elem {
            return self.unsupported(e.span, "len() of a map", "bpf_for_each_map_elem (Linux 5.13)");
        }
        let callback = self.nothing_callback();
        let handle = self.function.builder.map_addr(bpf);
        let function = self.function.builder.func_addr(callback);
        let count =
            self.function.builder.call(h::FOR_EACH_MAP_ELEM, &[handle.into(), function.into(), 0.into(), 0.into()]);
        Ok(count.into())
    }

    /// A callback that goes on.
    fn nothing_callback(&mut self) -> FuncId {
        let id = self.object.reserve_function();
        let name = format!("count_{}", id.0);
        let mut b = crate::codegen::builder::FunctionBuilder::new(name, Linkage::Subprogram, 4);
        b.ret(0);
        self.object.functions[id.0 as usize] = Some(b.finish());
        id
    }
}
