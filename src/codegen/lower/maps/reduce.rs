//! Aggregations read by the script: combined over all CPUs.

use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, MapId};
use crate::lang::types::Aggregation;
use crate::model::histogram::{linear_buckets, log2_buckets};

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::{Home, PER_CPU};
use crate::codegen::lower::maps::key;
use crate::codegen::lower::{helpers as h, numbers};

/// The reduction of `@m[key]` over all CPUs.
pub fn value<'a>(
    l: &mut Lowerer<'_, 'a>,
    map: MapId,
    agg: Aggregation,
    key: Option<&'a Expr>,
    e: &'a Expr,
) -> Result<Operand, CodegenError> {
    if matches!(l.object.layout.homes[map.0 as usize], Home::PerCpu { keyed: false, .. }) {
        return reduce_scalar(l, map, agg, e.span);
    }
    let mark = l.mark();
    let key = key::in_memory(l, map, key, e.span)?;
    let value = by_key(l, map, agg, key, e.span)?;
    l.release(mark);
    Ok(value)
}

/// The reduction of a keyed aggregation.
pub fn by_key(
    l: &mut Lowerer<'_, '_>,
    map: MapId,
    agg: Aggregation,
    key: Addr,
    span: Span,
) -> Result<Operand, CodegenError> {
    let Some(bpf) = l.object.keyed_map(map) else { return l.internal(span, "a scalar map with a key") };
    if !l.object.facts.features().map_lookup_percpu {
        return Err(CodegenError::unsupported(
            span,
            "the value of a keyed aggregation",
            "bpf_map_lookup_percpu_elem (Linux 5.19)",
        ));
    }
    let state = Totals::new(l);
    each_cpu(l, |l, cpu, next| {
        let b = &mut l.function.builder;
        let handle = b.address(bpf);
        let at = memory::pointer(b, key);
        let element = b.call(h::MAP_LOOKUP_PERCPU_ELEM, &[handle.into(), at.into(), cpu.into()]);
        flow::require(b, Cond::Ne, element, 0, next);
        add_cpu(b, &state, agg, Addr::new(Base::Reg(element), 0), span)
    })?;
    Ok(result_of(&mut l.function.builder, &state, agg))
}

fn reduce_scalar(l: &mut Lowerer<'_, '_>, map: MapId, agg: Aggregation, span: Span) -> Result<Operand, CodegenError> {
    let Home::PerCpu { offset, .. } = l.object.layout.homes[map.0 as usize] else {
        return l.internal(span, "not a scalar aggregation");
    };
    let state = Totals::new(l);
    each_cpu(l, |l, cpu, _| {
        let own = of_cpu(l, cpu, offset);
        add_cpu(&mut l.function.builder, &state, agg, own, span)
    })?;
    Ok(result_of(&mut l.function.builder, &state, agg))
}

/// Where a scalar aggregation's value for a CPU is.
fn of_cpu(l: &mut Lowerer<'_, '_>, cpu: Vreg, offset: u32) -> Addr {
    let section = l.object.section(PER_CPU);
    let b = &mut l.function.builder;
    let at = b.mul(cpu, i64::from(l.object.layout.percpu_stride));
    let base = b.address(section.at(offset));
    Addr::new(Base::Reg(b.add(base, at)), 0)
}

/// Runs `body` for every possible CPU: a constant-trip loop. The block that it gets begins the next iteration.
fn each_cpu(
    l: &mut Lowerer<'_, '_>,
    body: impl FnOnce(&mut Lowerer<'_, '_>, Vreg, BlockId) -> Result<(), CodegenError>,
) -> Result<(), CodegenError> {
    let cpus = l.object.facts.possible_cpus.max(1);
    let b = &mut l.function.builder;
    let cpu = b.copy(0);
    let [head, inside, next, done] = b.new_blocks();
    b.jump(head);
    b.switch_to(head);
    b.branch(Cond::Lt, cpu, i64::from(cpus), inside, done);
    b.switch_to(inside);
    body(l, cpu, next)?;
    let b = &mut l.function.builder;
    b.jump(next);
    b.switch_to(next);
    b.alu_into(cpu, Alu::Add, Width::W64, cpu, 1);
    b.jump(head);
    b.switch_to(done);
    Ok(())
}

/// Adds one CPU's value to the totals.
fn add_cpu(
    b: &mut FunctionBuilder,
    totals: &Totals,
    agg: Aggregation,
    at: Addr,
    span: Span,
) -> Result<(), CodegenError> {
    match agg {
        Aggregation::Count | Aggregation::Sum { .. } => {
            let value = memory::load(b, at, 8, false);
            b.alu_into(totals.value, Alu::Add, Width::W64, totals.value, value);
        }
        Aggregation::Avg { .. } | Aggregation::Stats { .. } => {
            let value = memory::load(b, at, 8, false);
            let count = memory::load(b, at.at(8), 8, false);
            b.alu_into(totals.value, Alu::Add, Width::W64, totals.value, value);
            b.alu_into(totals.count, Alu::Add, Width::W64, totals.count, count);
        }
        Aggregation::Min { signed } => best(b, totals, at, if signed { Cond::SLt } else { Cond::Lt }),
        Aggregation::Max { signed } => best(b, totals, at, if signed { Cond::SGt } else { Cond::Gt }),
        Aggregation::Hist { bits } => add_buckets(b, totals, at, log2_buckets(bits)),
        Aggregation::LHist { min, max, step } => add_buckets(b, totals, at, linear_buckets(min, max, step)),
        Aggregation::LogLinear(_) | Aggregation::Quantize | Aggregation::StdDev => {
            return Err(CodegenError::unsupported(span, "this aggregation as a number", "another aggregation"));
        }
        Aggregation::TSeries { .. } => {
            return Err(CodegenError::unsupported(span, "a time series as a number", "another aggregation"));
        }
    }
    Ok(())
}

fn add_buckets(b: &mut FunctionBuilder, totals: &Totals, at: Addr, buckets: u32) {
    for bucket in 0..buckets.min(2048) {
        let value = memory::load(b, at.at(bucket * 8), 8, false);
        b.alu_into(totals.value, Alu::Add, Width::W64, totals.value, value);
    }
}

fn best(b: &mut FunctionBuilder, totals: &Totals, at: Addr, better: Cond) {
    let set = memory::load(b, at.at(8), 8, false);
    let (value, count) = (totals.value, totals.count);
    flow::when(b, Cond::Ne, set, 0, |b| {
        let new = memory::load(b, at, 8, false);
        let [compare, take, done] = b.new_blocks();
        b.branch(Cond::Eq, count, 0, take, compare);
        b.switch_to(compare);
        b.branch(better, new, value, take, done);
        b.switch_to(take);
        b.copy_into(value, new);
        b.copy_into(count, 1);
        b.jump(done);
        b.switch_to(done);
    });
}

fn result_of(b: &mut FunctionBuilder, totals: &Totals, agg: Aggregation) -> Operand {
    match agg {
        Aggregation::Avg { signed } | Aggregation::Stats { signed } => {
            numbers::average(b, totals.value, totals.count, signed).into()
        }
        _ => totals.value.into(),
    }
}

/// `delete(@m)` of a scalar aggregation: true when any CPU had it.
pub fn delete_per_cpu<'a>(l: &mut Lowerer<'_, 'a>, map: MapId, e: &'a Expr) -> Result<Operand, CodegenError> {
    let Home::PerCpu { offset, present, .. } = l.object.layout.homes[map.0 as usize] else {
        return l.internal(e.span, "not a scalar aggregation");
    };
    let was = l.function.builder.copy(0);
    each_cpu(l, |l, cpu, _| {
        let own = of_cpu(l, cpu, offset);
        let b = &mut l.function.builder;
        let flag = own.at(present - offset);
        let set = memory::load(b, flag, 1, false);
        b.alu_into(was, Alu::Or, Width::W64, was, set);
        memory::zero(b, own, present - offset);
        memory::store(b, flag, 1, 0);
        Ok(())
    })?;
    Ok(flow::compare(&mut l.function.builder, Cond::Ne, was, 0).into())
}

/// Registers that collect a reduction.
struct Totals {
    value: Vreg,
    count: Vreg,
}

impl Totals {
    fn new(l: &mut Lowerer<'_, '_>) -> Self {
        Self { value: l.function.builder.copy(0), count: l.function.builder.copy(0) }
    }
}
