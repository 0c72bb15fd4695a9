//! `@m = count()` and its kin: updates of one CPU's value in place.
//!
//! Programs that exclude each other on a CPU update with plain loads and stores. Where programs that
//! can interrupt each other update one map (`Unit::contended`), additions are atomic.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, MapId};
use crate::lang::types::{Aggregation, Reduce};
use crate::model::histogram::{linear_buckets, log2_buckets};

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::{CONSTANTS, aggregation};

impl<'a> Lowerer<'_, 'a> {
    /// `@m[key] = agg(value)`.
    pub fn aggregate(
        &mut self,
        map: MapId,
        key: Option<&'a Expr>,
        value: Option<&'a Expr>,
        weight: Option<&'a Expr>,
        span: Span,
    ) -> Result<(), CodegenError> {
        let Some(agg) = aggregation(&self.object.program.maps[map.0 as usize]) else {
            return self.internal(span, "an aggregation on a map of plain values");
        };
        self.known.invalidate(map);
        let atomic = self.object.contended[map.0 as usize];
        let mut computed = Operand::Imm(0);
        if let Some(e) = value {
            computed = self.scalar(e)?;
            if !matches!(agg, Aggregation::Sum { .. } | Aggregation::Avg { .. } | Aggregation::Stats { .. }) {
                computed = self.compared(e, computed);
            }
            if let Some(key) = key {
                computed = self.keep(computed, key);
            }
        }
        // Of a time series it is the time.
        let weight = match (weight, agg) {
            (Some(e), _) => self.scalar(e)?,
            (None, Aggregation::TSeries { .. }) => self.wall_clock().into(),
            (None, _) => Operand::Imm(1),
        };
        if let Some(scalar) = self.scalar_map(map) {
            self.apply(agg, scalar.value, computed, weight, atomic)?;
            self.store(scalar.present, 1, 1);
            return Ok(());
        }
        let done = self.function.builder.new_block();
        let element = if let Some(cells) = self.cells(map) {
            self.cell(map, cells, key, done, span)?
        } else {
            let key = self.key(map, key, span)?;
            self.lookup_or_insert(map, key, done, false, span)?
        };
        self.apply(agg, Addr::new(Base::Reg(element), 0), computed, weight, atomic)?;
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(())
    }

    fn apply(
        &mut self,
        agg: Aggregation,
        at: Addr,
        value: Operand,
        weight: Operand,
        atomic: bool,
    ) -> Result<(), CodegenError> {
        match agg {
            Aggregation::Count => {
                self.add_at(at, 8, weight, atomic);
                Ok(())
            }
            Aggregation::Sum { .. } => {
                self.add_at(at, 8, value, atomic);
                Ok(())
            }
            Aggregation::Avg { .. } | Aggregation::Stats { .. } => {
                self.add_at(at, 8, value, atomic);
                self.add_at(at.at(8), 8, Operand::Imm(1), atomic);
                Ok(())
            }
            Aggregation::Min { signed } => {
                self.extreme(at, value, if signed { Cond::SLt } else { Cond::Lt });
                Ok(())
            }
            Aggregation::Max { signed } => {
                self.extreme(at, value, if signed { Cond::SGt } else { Cond::Gt });
                Ok(())
            }
            Aggregation::Hist { bits } => {
                let bucket = self.log2_bucket(value, bits)?;
                self.count_bucket(at, bucket, weight, atomic);
                Ok(())
            }
            Aggregation::LHist { min, max, step } => {
                let bucket = self.linear_bucket(value, min, max, step)?;
                self.count_bucket(at, bucket, weight, atomic);
                Ok(())
            }
            Aggregation::LogLinear(shape) => {
                let number = self.function.builder.in_register(value);
                let bucket = self.function.builder.copy_to_bound(number);
                self.at_most(bucket, i64::from(shape.buckets()) - 1)?;
                self.count_bucket(at, bucket, weight, atomic);
                Ok(())
            }
            Aggregation::Quantize => {
                let bucket = self.two_sided_bucket(value)?;
                self.count_bucket(at, bucket, weight, atomic);
                Ok(())
            }
            Aggregation::StdDev => self.add_square(at, value, atomic),
            Aggregation::TSeries { interval_ns, buckets, reduce, signed } => {
                self.time_series(at, (value, weight), interval_ns, buckets, (reduce, signed))
            }
        }
    }

    fn extreme(&mut self, at: Addr, value: Operand, better: Cond) {
        let value = self.function.builder.in_register(value);
        let (compare, replace, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        let set = self.load(at.at(8), 8, false);
        self.function.builder.branch(Cond::Eq, set, 0, replace, compare);
        self.function.builder.switch_to(compare);
        let old = self.load(at, 8, false);
        self.function.builder.branch(better, value, old, replace, done);
        self.function.builder.switch_to(replace);
        self.store(at, 8, value);
        self.store(at.at(8), 8, 1);
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
    }

    fn count_bucket(&mut self, at: Addr, bucket: Vreg, weight: Operand, atomic: bool) {
        let offset = self.function.builder.shl(bucket, 3);
        let start = self.pointer(at);
        let cell = self.function.builder.add(start, offset);
        self.add_at(Addr::new(Base::Reg(cell), 0), 8, weight, atomic);
    }

    /// `model::histogram::log2_bucket` without a loop: three comparisons bring the highest bit into one
    /// byte, whose logarithm is in a table. Values of one histogram are mostly of one size, so that the
    /// branch predictor knows the comparisons, and what depends on the value is two shifts and a load.
    fn log2_bucket(&mut self, value: Operand, bits: u8) -> Result<Vreg, CodegenError> {
        let value = self.function.builder.in_register(value);
        let sub = 1_i64 << bits;
        let result = self.function.builder.new_vreg();
        let (small, large, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.branch(Cond::SLt, value, sub, small, large);
        self.function.builder.switch_to(small);
        self.small_bucket(result, value, bits);
        self.function.builder.jump(done);
        self.function.builder.switch_to(large);
        let power = self.highest_bit(value, if bits == 0 { 1 + sub } else { 0 });
        if bits == 0 {
            self.function.builder.copy_into(result, power);
        } else {
            let shift = self.function.builder.sub(power, i64::from(bits));
            // Never negative here; the mask tells the verifier.
            let shift = self.function.builder.and(shift, 63);
            let scaled = self.function.builder.shl(shift, i64::from(bits));
            let bucket = self.function.builder.add(scaled, 1 + sub);
            let low = self.function.builder.shr(value, shift);
            let low = self.function.builder.and(low, sub - 1);
            let bucket = self.function.builder.add(bucket, low);
            self.function.builder.copy_into(result, bucket);
            self.clamp(result, log2_buckets(bits))?;
        }
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(result)
    }

    /// The sign of a value, as 0 or -1, and its magnitude.
    fn sign_and_magnitude(&mut self, value: Vreg) -> (Vreg, Vreg) {
        let sign = self.function.builder.alu(Alu::Sar, value, 63);
        (sign, self.negated_by(value, sign))
    }

    /// The value where the sign is 0, its negation where it is -1.
    fn negated_by(&mut self, value: Vreg, sign: Vreg) -> Vreg {
        let flipped = self.function.builder.alu(Alu::Xor, value, sign);
        self.function.builder.sub(flipped, sign)
    }

    /// The bucket of a value of either sign: 63 for 0, one more for each power of two, one less for each of the negative.
    fn two_sided_bucket(&mut self, value: Operand) -> Result<Vreg, CodegenError> {
        let value = self.function.builder.in_register(value);
        let (sign, magnitude) = self.sign_and_magnitude(value);
        let bucket = self.log2_bucket(magnitude.into(), 0)?;
        let power = self.function.builder.sub(bucket, 1);
        let signed = self.negated_by(power, sign);
        let index = self.function.builder.add(signed, 63);
        // The mask tells the verifier.
        Ok(self.function.builder.and(index, 127))
    }

    /// Adds a value to a sum and its square, of 128 bits, to that of squares.
    fn add_square(&mut self, at: Addr, value: Operand, atomic: bool) -> Result<(), CodegenError> {
        let value = self.function.builder.in_register(value);
        self.add_at(at, 8, value.into(), atomic);
        self.add_at(at.at(8), 8, Operand::Imm(1), atomic);
        let (_, magnitude) = self.sign_and_magnitude(value);
        let high = self.function.builder.shr(magnitude, 32);
        let cut = self.function.builder.shl(magnitude, 32);
        let low = self.function.builder.shr(cut, 32);
        let (square, middle, top) = (
            self.function.builder.mul(low, low),
            self.function.builder.mul(high, low),
            self.function.builder.mul(high, high),
        );
        let middle_low = self.function.builder.shl(middle, 33);
        let middle_high = self.function.builder.shr(middle, 31);
        let low = self.function.builder.add(square, middle_low);
        let high = self.function.builder.add(top, middle_high);
        let carried = self.function.builder.copy(high);
        self.carry(carried, low, square)?;
        let old = self.load(at.at(16), 8, false);
        let new = self.function.builder.add(old, low);
        self.store(at.at(16), 8, new);
        self.carry(carried, new, low)?;
        self.add_at(at.at(24), 8, carried.into(), false);
        Ok(())
    }

    /// Adds the carry of a sum to a number: there is one where the sum is less than what was added.
    fn carry(&mut self, to: Vreg, sum: Vreg, added: Vreg) -> Result<(), CodegenError> {
        self.when(Cond::Lt, sum.into(), added.into(), |l| {
            let more = l.function.builder.add(to, 1);
            l.function.builder.copy_into(to, more);
            Ok(())
        })
    }

    /// Negative: 0; otherwise one more than the value, which is below `2^bits`.
    fn small_bucket(&mut self, result: Vreg, value: Vreg, bits: u8) {
        if bits == 0 {
            // 0 or negative: 1 plus the sign.
            let sign = self.function.builder.shr(value, 63);
            let bucket = self.function.builder.alu(Alu::Xor, sign, 1);
            self.function.builder.copy_into(result, bucket);
            return;
        }
        let (negative, positive, joined) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.branch(Cond::SLt, value, 0, negative, positive);
        self.function.builder.switch_to(negative);
        self.function.builder.copy_into(result, 0);
        self.function.builder.jump(joined);
        self.function.builder.switch_to(positive);
        let masked = self.function.builder.and(value, (1 << bits) - 1);
        let bucket = self.function.builder.add(masked, 1);
        self.function.builder.copy_into(result, bucket);
        self.function.builder.jump(joined);
        self.function.builder.switch_to(joined);
    }

    /// `first` more than the number of the highest set bit of a value that is not 0. The verifier
    /// knows that it is at most `first + 63`: a constant on each path plus a number below 8.
    fn highest_bit(&mut self, value: Vreg, first: i64) -> Vreg {
        let (byte, power) = (self.function.builder.copy(value), self.function.builder.imm(first));
        for step in [32, 16, 8] {
            let (higher, on) = (self.function.builder.new_block(), self.function.builder.new_block());
            // A half of all bits does not fit an instruction's constant.
            let shifted = (step == 32).then(|| self.function.builder.shr(byte, step));
            match shifted {
                Some(shifted) => self.function.builder.branch(Cond::Ne, shifted, 0, higher, on),
                None => self.function.builder.branch(Cond::Ge, byte, 1 << step, higher, on),
            }
            self.function.builder.switch_to(higher);
            match shifted {
                Some(shifted) => self.function.builder.copy_into(byte, shifted),
                None => self.function.builder.alu_into(byte, Alu::Shr, Width::W64, byte, step),
            }
            self.function.builder.alu_into(power, Alu::Add, Width::W64, power, step);
            self.function.builder.jump(on);
            self.function.builder.switch_to(on);
        }
        let at = self.object.constant(&log2_of_bytes());
        let section = self.object.section(CONSTANTS);
        let index = self.function.builder.and(byte, 255);
        let table = self.function.builder.global_addr(section, at);
        let entry = self.function.builder.add(table, index);
        let of_byte = self.load(Addr::new(Base::Reg(entry), 0), 1, false);
        let of_byte = self.function.builder.and(of_byte, 7);
        self.function.builder.add(power, of_byte)
    }

    /// `model::histogram::linear_bucket`. Nearly all values lie within the bounds: one unsigned comparison
    /// of the distance from the lower one tells.
    fn linear_bucket(&mut self, value: Operand, min: i64, max: i64, step: i64) -> Result<Vreg, CodegenError> {
        let step = step.max(1);
        let buckets = linear_buckets(min, max, step);
        let range = (i128::from(max) - i128::from(min)).clamp(0, u64::MAX.into()) as u64;
        let value = self.function.builder.in_register(value);
        let result = self.function.builder.new_vreg();
        let (inside, outside, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        let distance = if min == 0 { value } else { self.function.builder.sub(value, min) };
        let bound = self.function.builder.imm(range as i64);
        self.function.builder.branch(Cond::Lt, distance, bound, inside, outside);
        self.function.builder.switch_to(outside);
        self.function.builder.copy_into(result, 0);
        self.function.builder.require(Cond::SGe, value, max, done);
        self.function.builder.copy_into(result, i64::from(buckets - 1));
        self.function.builder.jump(done);
        self.function.builder.switch_to(inside);
        let (index, bounded) = self.steps_within(distance, range, step as u64);
        let bucket = self.function.builder.add(index, 1);
        self.function.builder.copy_into(result, bucket);
        if !bounded || self.object.facts.version < FOLLOWS_SPILLED {
            self.clamp(result, buckets)?;
        }
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(result)
    }

    /// `distance / step` of a distance below `range`, and whether the verifier can tell how large it gets.
    fn steps_within(&mut self, distance: Vreg, range: u64, step: u64) -> (Vreg, bool) {
        if step.is_power_of_two() {
            return (self.function.builder.shr(distance, i64::from(step.trailing_zeros())), true);
        }
        if let Some((factor, shift)) = reciprocal(range, step) {
            let product = self.function.builder.mul(distance, factor);
            return (self.function.builder.shr(product, shift), true);
        }
        let step = step as i64;
        let short = u32::try_from(range).is_ok();
        (
            if short {
                self.function.builder.alu32(Alu::Div, distance, step)
            } else {
                self.function.builder.alu(Alu::Div, distance, step)
            },
            false,
        )
    }

    /// Keeps an index below `count`: never false, but the verifier does not know.
    fn clamp(&mut self, index: Vreg, count: u32) -> Result<(), CodegenError> {
        self.at_most(index, i64::from(count.max(1) - 1))
    }

    /// One cell for each interval, reused in turn: a cell of another interval is begun anew.
    fn time_series(
        &mut self,
        at: Addr,
        (value, now): (Operand, Operand),
        interval_ns: u64,
        buckets: u32,
        (reduce, signed): (Reduce, bool),
    ) -> Result<(), CodegenError> {
        let (value, now) = (self.function.builder.in_register(value), self.function.builder.in_register(now));
        let epoch = self.function.builder.alu(Alu::Div, now, interval_ns.max(1) as i64);
        let index = self.function.builder.alu(Alu::Mod, epoch, i64::from(buckets.max(1)));
        self.clamp(index, buckets)?;
        let offset = self.function.builder.mul(index, 24);
        let start = self.pointer(at);
        let cell = self.function.builder.add(start, offset);
        let (epoch_at, value_at, count_at) =
            (Addr::new(Base::Reg(cell), 0), Addr::new(Base::Reg(cell), 8), Addr::new(Base::Reg(cell), 16));
        let old = self.load(epoch_at, 8, false);
        self.when(Cond::Ne, old.into(), epoch.into(), |l| {
            l.store(epoch_at, 8, epoch);
            l.store(value_at, 8, 0);
            l.store(count_at, 8, 0);
            Ok(())
        })?;
        match reduce {
            Reduce::Last => {
                // The latest of all CPUs' values is wanted: the moment stands where others count.
                self.store(value_at, 8, value);
                self.store(count_at, 8, now);
                return Ok(());
            }
            Reduce::Avg | Reduce::Sum => self.add_at(value_at, 8, value.into(), false),
            Reduce::Max | Reduce::Min => {
                let better = match (reduce, signed) {
                    (Reduce::Max, true) => Cond::SGt,
                    (Reduce::Max, false) => Cond::Gt,
                    (_, true) => Cond::SLt,
                    (_, false) => Cond::Lt,
                };
                let (compare, replace, done) = (
                    self.function.builder.new_block(),
                    self.function.builder.new_block(),
                    self.function.builder.new_block(),
                );
                let count = self.load(count_at, 8, false);
                self.function.builder.branch(Cond::Eq, count, 0, replace, compare);
                self.function.builder.switch_to(compare);
                let old = self.load(value_at, 8, false);
                self.function.builder.branch(better, value, old, replace, done);
                self.function.builder.switch_to(replace);
                self.store(value_at, 8, value);
                self.function.builder.jump(done);
                self.function.builder.switch_to(done);
            }
        }
        self.add_at(count_at, 8, Operand::Imm(1), false);
        Ok(())
    }
}

/// Verifiers that know the bounds of a number that was compared in one register and read again from the stack
/// ("bpf: Assign ID to scalars on spill", commit e67ddd9b1cff of 6.9; seen on 6.12).
const FOLLOWS_SPILLED: u32 = 6 << 16 | 12 << 8;

/// A factor and a shift with which `n * factor >> shift` is `n / divisor` for all `n` below `range`: exact
/// when the factor is `2^shift / divisor` rounded up and its error, less than `divisor`, times `range` stays
/// within `2^shift` (T. Granlund and P. Montgomery, "Division by invariant integers using multiplication",
/// theorem 4.2). Only for factors that an instruction takes, whose product the verifier follows.
fn reciprocal(range: u64, divisor: u64) -> Option<(i64, i64)> {
    let bits = 64 - range.max(1).leading_zeros();
    let shift = bits + (64 - divisor.leading_zeros());
    let factor = (1_u128.checked_shl(shift)? / u128::from(divisor)) + 1;
    let factor = i32::try_from(factor).ok()?;
    (u32::try_from(range).is_ok() && shift < 64).then_some((i64::from(factor), i64::from(shift)))
}

/// Number of the highest set bit of each byte; 0 for 0.
fn log2_of_bytes() -> [u8; 256] {
    std::array::from_fn(|byte| byte.checked_ilog2().unwrap_or(0) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplying_by_a_reciprocal_divides() {
        for (range, divisor) in [(1_000, 10), (100_000, 1_000), (7, 3), (1 << 24, 1_000_001), (65_536, 3), (1 << 29, 7)]
        {
            let Some((factor, shift)) = reciprocal(range, divisor) else {
                panic!("{range} by {divisor} is within reach")
            };
            let multiples = (0..range).step_by(divisor as usize).take(5_000);
            let last = (range - 1) / divisor * divisor;
            for n in multiples.chain([last]).flat_map(|n| [n.saturating_sub(1), n, n + 1]).filter(|n| *n < range) {
                let product = n.checked_mul(factor as u64).unwrap_or_default();
                assert_eq!(product >> shift, n / divisor, "{n} of {range} by {divisor}");
            }
        }
        assert_eq!(reciprocal(1 << 40, 10), None);
    }

    #[test]
    fn the_table_names_the_highest_bit() {
        let table = log2_of_bytes();
        assert_eq!((table[0], table[1], table[2], table[3], table[128], table[255]), (0, 0, 1, 1, 7, 7));
    }
}
