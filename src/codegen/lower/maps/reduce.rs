//! Aggregations read by the script: combined over all CPUs.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, MapId};
use crate::lang::types::Aggregation;
use crate::model::histogram::{linear_buckets, log2_buckets};

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::{Home, PER_CPU};

impl<'a> Lowerer<'_, 'a> {
    /// The reduction of `@m[key]` over all CPUs.
    pub fn reduce(
        &mut self,
        map: MapId,
        agg: Aggregation,
        key: Option<&'a Expr>,
        e: &'a Expr,
    ) -> Result<Operand, CodegenError> {
        if matches!(self.object.layout.homes[map.0 as usize], Home::PerCpu { keyed: false, .. }) {
            return self.reduce_scalar(map, agg, e.span);
        }
        let mark = self.mark();
        let key = self.key(map, key, e.span)?;
        let value = self.reduce_by_key(map, agg, key, e.span)?;
        self.release(mark);
        Ok(value)
    }

    /// The reduction of a keyed aggregation.
    pub fn reduce_by_key(
        &mut self,
        map: MapId,
        agg: Aggregation,
        key: Addr,
        span: Span,
    ) -> Result<Operand, CodegenError> {
        let Some(bpf) = self.keyed_map(map) else { return self.internal(span, "a scalar map with a key") };
        if !self.object.facts.features().map_lookup_percpu {
            return self.unsupported(
                span,
                "the value of a keyed aggregation",
                "bpf_map_lookup_percpu_elem (Linux 5.19)",
            );
        }
        let cpus = self.object.facts.possible_cpus.max(1);
        let state = Totals::new(self);
        self.each_cpu(cpus, |l, cpu, next| {
            let handle = l.function.builder.map_addr(bpf);
            let at = l.pointer(key);
            let element = l.function.builder.call(h::MAP_LOOKUP_PERCPU_ELEM, &[handle.into(), at.into(), cpu.into()]);
            l.function.builder.require(Cond::Ne, element, 0, next);
            l.add_cpu(&state, agg, Addr::new(Base::Reg(element), 0), span)
        })?;
        self.result_of(&state, agg, span)
    }

    fn reduce_scalar(&mut self, map: MapId, agg: Aggregation, span: Span) -> Result<Operand, CodegenError> {
        let Home::PerCpu { offset, .. } = self.object.layout.homes[map.0 as usize] else {
            return self.internal(span, "not a scalar aggregation");
        };
        let section = self.object.section(PER_CPU);
        let stride = i64::from(self.object.layout.percpu_stride);
        let cpus = self.object.facts.possible_cpus.max(1);
        let state = Totals::new(self);
        self.each_cpu(cpus, |l, cpu, _| {
            let at = l.function.builder.mul(cpu, stride);
            let base = l.function.builder.global_addr(section, offset);
            let cell = l.function.builder.add(base, at);
            l.add_cpu(&state, agg, Addr::new(Base::Reg(cell), 0), span)
        })?;
        self.result_of(&state, agg, span)
    }

    /// Runs `body` for every possible CPU: a loop that the verifier follows. The block that it gets
    /// is the next iteration.
    fn each_cpu(
        &mut self,
        cpus: u32,
        body: impl FnOnce(&mut Self, Vreg, crate::codegen::ir::BlockId) -> Result<(), CodegenError>,
    ) -> Result<(), CodegenError> {
        let cpu = self.function.builder.imm(0);
        let (head, inside, next, done) = (
            self.function.builder.new_block(),
            self.function.builder.new_block(),
            self.function.builder.new_block(),
            self.function.builder.new_block(),
        );
        self.function.builder.jump(head);
        self.function.builder.switch_to(head);
        self.function.builder.branch(Cond::Lt, cpu, i64::from(cpus), inside, done);
        self.function.builder.switch_to(inside);
        body(self, cpu, next)?;
        self.function.builder.jump(next);
        self.function.builder.switch_to(next);
        self.function.builder.alu_into(cpu, Alu::Add, Width::W64, cpu, 1);
        self.function.builder.jump(head);
        self.function.builder.switch_to(done);
        Ok(())
    }

    /// Adds one CPU's value to the totals.
    fn add_cpu(&mut self, totals: &Totals, agg: Aggregation, at: Addr, span: Span) -> Result<(), CodegenError> {
        match agg {
            Aggregation::Count | Aggregation::Sum { .. } => {
                let value = self.load(at, 8, false);
                self.function.builder.alu_into(totals.value, Alu::Add, Width::W64, totals.value, value);
            }
            Aggregation::Avg { .. } | Aggregation::Stats { .. } => {
                let value = self.load(at, 8, false);
                let count = self.load(at.at(8), 8, false);
                self.function.builder.alu_into(totals.value, Alu::Add, Width::W64, totals.value, value);
                self.function.builder.alu_into(totals.count, Alu::Add, Width::W64, totals.count, count);
            }
            Aggregation::Min { signed } => self.best(totals, at, if signed { Cond::SLt } else { Cond::Lt })?,
            Aggregation::Max { signed } => self.best(totals, at, if signed { Cond::SGt } else { Cond::Gt })?,
            Aggregation::Hist { bits } => self.add_buckets(totals, at, log2_buckets(bits)),
            Aggregation::LHist { min, max, step } => self.add_buckets(totals, at, linear_buckets(min, max, step)),
            Aggregation::LogLinear(_) | Aggregation::Quantize | Aggregation::StdDev => {
                return self.unsupported(span, "this aggregation as a number", "another aggregation");
            }
            Aggregation::TSeries { .. } => {
                return self.unsupported(span, "a time series as a number", "another aggregation");
            }
        }
        Ok(())
    }

    fn add_buckets(&mut self, totals: &Totals, at: Addr, buckets: u32) {
        for bucket in 0..buckets.min(2048) {
            let value = self.load(at.at(bucket * 8), 8, false);
            self.function.builder.alu_into(totals.value, Alu::Add, Width::W64, totals.value, value);
        }
    }

    fn best(&mut self, totals: &Totals, at: Addr, better: Cond) -> Result<(), CodegenError> {
        let set = self.load(at.at(8), 8, false);
        let (value, count) = (totals.value, totals.count);
        self.when(Cond::Ne, set.into(), 0.into(), |l| {
            let new = l.load(at, 8, false);
            let (compare, take, done) =
                (l.function.builder.new_block(), l.function.builder.new_block(), l.function.builder.new_block());
            l.function.builder.branch(Cond::Eq, count, 0, take, compare);
            l.function.builder.switch_to(compare);
            l.function.builder.branch(better, new, value, take, done);
            l.function.builder.switch_to(take);
            l.function.builder.copy_into(value, new);
            l.function.builder.copy_into(count, 1);
            l.function.builder.jump(done);
            l.function.builder.switch_to(done);
            Ok(())
        })
    }

    fn result_of(&mut self, totals: &Totals, agg: Aggregation, span: Span) -> Result<Operand, CodegenError> {
        let (Aggregation::Avg { signed } | Aggregation::Stats { signed }) = agg else {
            return Ok(totals.value.into());
        };
        let _ = span;
        self.average(totals.value, totals.count, signed).map(Into::into)
    }

    /// `clear` of a scalar aggregation from the script: `delete(@m)`. True when any CPU had it.
    pub fn delete_per_cpu(&mut self, map: MapId, e: &'a Expr) -> Result<Operand, CodegenError> {
        let Home::PerCpu { offset, present, .. } = self.object.layout.homes[map.0 as usize] else {
            return self.internal(e.span, "not a scalar aggregation");
        };
        let section = self.object.section(PER_CPU);
        let stride = i64::from(self.object.layout.percpu_stride);
        let cpus = self.object.facts.possible_cpus.max(1);
        let was = self.function.builder.imm(0);
        self.each_cpu(cpus, |l, cpu, _| {
            let at = l.function.builder.mul(cpu, stride);
            let base = l.function.builder.global_addr(section, offset);
            let cell = Addr::new(Base::Reg(l.function.builder.add(base, at)), 0);
            let flag = cell.at(present - offset);
            let set = l.load(flag, 1, false);
            l.function.builder.alu_into(was, Alu::Or, Width::W64, was, set);
            l.zero(cell, present - offset);
            l.store(flag, 1, 0);
            Ok(())
        })?;
        Ok(self.function.builder.compare(Cond::Ne, was, 0).into())
    }
}

/// Registers that collect a reduction.
struct Totals {
    value: Vreg,
    count: Vreg,
}

impl Totals {
    fn new(l: &mut Lowerer<'_, '_>) -> Self {
        Self { value: l.function.builder.imm(0), count: l.function.builder.imm(0) }
    }
}
