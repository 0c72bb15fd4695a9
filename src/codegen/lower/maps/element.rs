//! Elements of maps: where scalar ones lie, and how keyed ones are found or inserted.

use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BpfMapId, Cond, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::MapId;
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::{Home, SHARED};
use crate::codegen::lower::value::canonical;
use crate::codegen::lower::{helpers as h, layout};

/// Where a scalar map's value and presence byte are.
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    pub value: Addr,
    pub present: Addr,
}

/// The map's place, when it is a scalar in global data.
pub fn scalar(l: &mut Lowerer<'_, '_>, map: MapId) -> Option<Scalar> {
    match l.object.layout.homes[map.0 as usize] {
        Home::Shared { offset, present } => {
            let section = l.object.section(SHARED);
            let base = Base::Reg(l.function.builder.address(section.at(offset)));
            Some(Scalar { value: Addr::new(base, 0), present: Addr::new(base, (present - offset) as i32) })
        }
        Home::PerCpu { offset, present, .. } => {
            l.object.section(layout::PER_CPU);
            let base = Base::Reg(l.function.percpu());
            Some(Scalar { value: Addr::new(base, offset as i32), present: Addr::new(base, present as i32) })
        }
        Home::Hash { .. } | Home::Cells(_) => None,
    }
}

/// `bpf_map_lookup_elem`: an address, or 0.
pub fn lookup(b: &mut FunctionBuilder, map: BpfMapId, key: Addr) -> Vreg {
    let map = b.address(map);
    let key = memory::pointer(b, key);
    b.call(h::MAP_LOOKUP_ELEM, &[map.into(), key.into()])
}

/// The element of a key, inserted with zeros when absent; control goes to `full` when there is no
/// room, which is counted. So is the absence of what is `read`, when that is asked for.
pub fn lookup_or_insert(
    l: &mut Lowerer<'_, '_>,
    map: MapId,
    key: Addr,
    full: crate::codegen::ir::BlockId,
    read: bool,
    span: Span,
) -> Result<Vreg, CodegenError> {
    let Some(bpf) = l.object.keyed_map(map) else { return l.internal(span, "a scalar map with a key") };
    let b = &mut l.function.builder;
    let element = b.new_vreg();
    let found = lookup(b, bpf, key);
    b.copy_into(element, found);
    let [insert, ready, again] = b.new_blocks();
    b.branch(Cond::Ne, element, 0, ready, insert);
    b.switch_to(insert);
    if read {
        count_absent(l, span);
    }
    let size = l.object.size(&l.object.program.maps[map.0 as usize].value).max(1);
    let zeros = canonical::zeros(l.object, &mut l.function.builder, size);
    let b = &mut l.function.builder;
    let value = memory::pointer(b, zeros);
    let handle = b.address(bpf);
    let at = memory::pointer(b, key);
    let update = [handle.into(), at.into(), value.into(), h::BPF_NOEXIST.into()];
    let result = b.call(h::MAP_UPDATE_ELEM, &update);
    let found = lookup(b, bpf, key);
    b.copy_into(element, found);
    b.branch(Cond::Ne, element, 0, ready, again);
    b.switch_to(again);
    not_inserted(l, result, span)?;
    l.function.builder.jump(full);
    l.function.builder.switch_to(ready);
    Ok(element)
}

/// Counts a read of a key that the map did not have, when that is asked for.
pub fn count_absent(l: &mut Lowerer<'_, '_>, span: Span) {
    if l.object.facts.absent_keys {
        l.failed(LossCause::KeyAbsent, Some((h::MAP_LOOKUP_ELEM, 0.into())), span);
    }
}

/// The same for a map without keys that nothing was written to yet.
pub fn note_absent(l: &mut Lowerer<'_, '_>, scalar: Scalar, span: Span) -> Result<(), CodegenError> {
    if !l.object.facts.absent_keys {
        return Ok(());
    }
    let present = memory::load(&mut l.function.builder, scalar.present, 1, false);
    l.when(Cond::Eq, present.into(), 0.into(), |l| {
        count_absent(l, span);
        Ok(())
    })
}

/// Counts a key that the kernel did not take, and why.
pub fn not_inserted(l: &mut Lowerer<'_, '_>, result: Vreg, span: Span) -> Result<(), CodegenError> {
    let b = &mut l.function.builder;
    let [full, done] = b.new_blocks();
    // Before Linux 6.4 a map's update is called in place of the helper and returns an `int`: its upper half is unset.
    let result = b.extend(result, 32, true);
    flow::require(b, Cond::Ne, result, h::E2BIG, full);
    l.failed(LossCause::KeyRefused, Some((h::MAP_UPDATE_ELEM, result.into())), span);
    l.function.builder.jump(done);
    l.function.builder.switch_to(full);
    l.failed(LossCause::MapFull, Some((h::MAP_UPDATE_ELEM, h::E2BIG.into())), span);
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    Ok(())
}
