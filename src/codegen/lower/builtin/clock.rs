//! Clocks.

use crate::codegen::builder::FunctionBuilder;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::Vreg;
use crate::lang::source::Span;
use crate::lang::typed::Clock;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::SHARED;
use crate::codegen::lower::object::{ObjectBuilder, START_BOOT_NS, WALL_MINUS_BOOT_NS};

pub fn clock(
    object: &ObjectBuilder<'_>,
    b: &mut FunctionBuilder,
    clock: Clock,
    span: Span,
) -> Result<Vreg, CodegenError> {
    match clock {
        Clock::Monotonic => Ok(b.call(h::KTIME_GET_NS, &[])),
        Clock::Boot => Ok(boot(object, b)),
        Clock::Tai if object.facts.features().ktime_tai => Ok(b.call(h::KTIME_GET_TAI_NS, &[])),
        Clock::Tai => Err(CodegenError::unsupported(span, "nsecs(tai)", "bpf_ktime_get_tai_ns (Linux 6.1)")),
        Clock::SoftwareTai => {
            let boot = boot(object, b);
            Ok(b.add(boot, object.facts.tai_offset_ns))
        }
    }
}

/// The boot clock, or the monotonic one before 5.8 (they differ by suspended time only).
fn boot(object: &ObjectBuilder<'_>, b: &mut FunctionBuilder) -> Vreg {
    let helper = if object.facts.features().ktime_boot { h::KTIME_GET_BOOT_NS } else { h::KTIME_GET_NS };
    b.call(helper, &[])
}

/// The wall clock, ns since 1970.
pub fn wall(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder) -> Vreg {
    let now = boot(object, b);
    let section = object.section(SHARED);
    let base = b.address(section.at(WALL_MINUS_BOOT_NS));
    let difference = memory::load(b, Addr::new(Base::Reg(base), 0), 8, false);
    b.add(now, difference)
}

pub fn elapsed(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder) -> Vreg {
    let now = boot(object, b);
    let section = object.section(SHARED);
    let base = b.address(section.at(START_BOOT_NS));
    let start = memory::load(b, Addr::new(Base::Reg(base), 0), 8, false);
    b.sub(now, start)
}
