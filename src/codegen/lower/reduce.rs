//! Aggregations read by the script: combined over all CPUs.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, MapId};
use crate::lang::types::Aggregation;
use crate::model::histogram::{linear_buckets, log2_buckets};

use super::addr::{Addr, Base};
use super::func::Lowerer;
use super::helpers as h;
use super::layout::{Home, PER_CPU};

impl<'a> Lowerer<'_, 'a> {
    /// The reduction of `@m[key]` over all CPUs.
    pub fn reduce(
        &mut self,
        map: MapId,
        agg: Aggregation,
        key: Option<&'a Expr>,
        e: &'a Expr,
    ) -> Result<Operand, CodegenError> {
        if matches!(self.u.layout.homes[map.0 as usize], Home::PerCpu { keyed: false, .. }) {
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
        if !self.u.facts.abilities().map_lookup_percpu {
            return self.unsupported(
                span,
                "the value of a keyed aggregation",
                "bpf_map_lookup_percpu_elem (Linux 5.19)",
            );
        }
        let cpus = self.u.facts.possible_cpus.max(1);
        let state = Totals::new(self);
        self.each_cpu(cpus, |l, cpu, next| {
            let handle = l.f.b.map_addr(bpf);
            let at = l.pointer(key);
            let element = l.f.b.call(h::MAP_LOOKUP_PERCPU_ELEM, &[handle.into(), at.into(), cpu.into()]);
            l.f.b.require(Cond::Ne, element, 0, next);
            l.add_cpu(&state, agg, Addr::new(Base::Reg(element), 0), span)
        })?;
        self.result_of(&state, agg, span)
    }

    fn reduce_scalar(&mut self, map: MapId, agg: Aggregation, span: Span) -> Result<Operand, CodegenError> {
        let Home::PerCpu { offset, .. } = self.u.layout.homes[map.0 as usize] else {
            return self.internal(span, "not a scalar aggregation");
        };
        let section = self.u.section(PER_CPU);
        let stride = i64::from(self.u.layout.percpu_stride);
        let cpus = self.u.facts.possible_cpus.max(1);
        let state = Totals::new(self);
        self.each_cpu(cpus, |l, cpu, _| {
            let at = l.f.b.mul(cpu, stride);
            let base = l.f.b.global_addr(section, offset);
            let cell = l.f.b.add(base, at);
            l.add_cpu(&state, agg, Addr::new(Base::Reg(cell), 0), span)
        })?;
        self.result_of(&state, agg, span)
    }

    /// Runs `body` for every possible CPU: a loop that the verifier follows. The block that it gets
    /// is the next round.
    fn each_cpu(
        &mut self,
        cpus: u32,
        body: impl FnOnce(&mut Self, Vreg, crate::codegen::ir::BlockId) -> Result<(), CodegenError>,
    ) -> Result<(), CodegenError> {
        let cpu = self.f.b.imm(0);
        let (head, inside, next, done) =
            (self.f.b.new_block(), self.f.b.new_block(), self.f.b.new_block(), self.f.b.new_block());
        self.f.b.jump(head);
        self.f.b.switch_to(head);
        self.f.b.branch(Cond::Lt, cpu, i64::from(cpus), inside, done);
        self.f.b.switch_to(inside);
        body(self, cpu, next)?;
        self.f.b.jump(next);
        self.f.b.switch_to(next);
        self.f.b.alu_into(cpu, Alu::Add, Width::W64, cpu, 1);
        self.f.b.jump(head);
        self.f.b.switch_to(done);
        Ok(())
    }

    /// Adds one CPU's value to the totals.
    fn add_cpu(&mut self, totals: &Totals, agg: Aggregation, at: Addr, span: Span) -> Result<(), CodegenError> {
        match agg {
            Aggregation::Count | Aggregation::Sum { .. } => {
                let value = self.load(at, 8, false);
                self.f.b.alu_into(totals.value, Alu::Add, Width::W64, totals.value, value);
            }
            Aggregation::Avg { .. } | Aggregation::Stats { .. } => {
                let value = self.load(at, 8, false);
                let count = self.load(at.at(8), 8, false);
                self.f.b.alu_into(totals.value, Alu::Add, Width::W64, totals.value, value);
                self.f.b.alu_into(totals.count, Alu::Add, Width::W64, totals.count, count);
            }
            Aggregation::Min { signed } => self.best(totals, at, if signed { Cond::SLt } else { Cond::Lt })?,
            Aggregation::Max { signed } => self.best(totals, at, if signed { Cond::SGt } else { Cond::Gt })?,
            Aggregation::Hist { bits } => self.add_buckets(totals, at, log2_buckets(bits)),
            Aggregation::LHist { min, max, step } => self.add_buckets(totals, at, linear_buckets(min, max, step)),
            Aggregation::TSeries { .. } => {
                return self.unsupported(span, "a time series as a number", "another aggregation");
            }
        }
        Ok(())
    }

    fn add_buckets(&mut self, totals: &Totals, at: Addr, buckets: u32) {
        for bucket in 0..buckets.min(2048) {
            let value = self.load(at.at(bucket * 8), 8, false);
            self.f.b.alu_into(totals.value, Alu::Add, Width::W64, totals.value, value);
        }
    }

    fn best(&mut self, totals: &Totals, at: Addr, better: Cond) -> Result<(), CodegenError> {
        let set = self.load(at.at(8), 8, false);
        let (value, count) = (totals.value, totals.count);
        self.when(Cond::Ne, set.into(), 0.into(), |l| {
            let new = l.load(at, 8, false);
            let (compare, take, done) = (l.f.b.new_block(), l.f.b.new_block(), l.f.b.new_block());
            l.f.b.branch(Cond::Eq, count, 0, take, compare);
            l.f.b.switch_to(compare);
            l.f.b.branch(better, new, value, take, done);
            l.f.b.switch_to(take);
            l.f.b.copy_into(value, new);
            l.f.b.copy_into(count, 1);
            l.f.b.jump(done);
            l.f.b.switch_to(done);
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
        let Home::PerCpu { offset, present, .. } = self.u.layout.homes[map.0 as usize] else {
            return self.internal(e.span, "not a scalar aggregation");
        };
        let section = self.u.section(PER_CPU);
        let stride = i64::from(self.u.layout.percpu_stride);
        let cpus = self.u.facts.possible_cpus.max(1);
        let was = self.f.b.imm(0);
        self.each_cpu(cpus, |l, cpu, _| {
            let at = l.f.b.mul(cpu, stride);
            let base = l.f.b.global_addr(section, offset);
            let cell = Addr::new(Base::Reg(l.f.b.add(base, at)), 0);
            let flag = cell.at(present - offset);
            let set = l.load(flag, 1, false);
            l.f.b.alu_into(was, Alu::Or, Width::W64, was, set);
            l.zero(cell, present - offset);
            l.store(flag, 1, 0);
            Ok(())
        })?;
        Ok(self.f.b.compare(Cond::Ne, was, 0).into())
    }
}

/// Registers that collect a reduction.
struct Totals {
    value: Vreg,
    count: Vreg,
}

impl Totals {
    fn new(l: &mut Lowerer<'_, '_>) -> Self {
        Self { value: l.f.b.imm(0), count: l.f.b.imm(0) }
    }
}
