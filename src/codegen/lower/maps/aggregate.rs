//! `@m = count()` and its kin: updates of one CPU's value in place.
//!
//! Programs that exclude each other on a CPU update with plain loads and stores. Where programs that
//! can interrupt each other update one map (`ObjectBuilder::contended`), additions are atomic.

use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, MapId};
use crate::lang::types::{Aggregation, Reduce};
use crate::model::histogram::{linear_buckets, log2_buckets};

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::builtin::clock;
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::{CONSTANTS, aggregation};
use crate::codegen::lower::maps::{element, key, per_cpu_key_cache};
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::{marks, numbers};

/// `@m[key] = agg(value)`.
pub fn update<'a>(
    l: &mut Lowerer<'_, 'a>,
    map: MapId,
    key: Option<&'a Expr>,
    value: Option<&'a Expr>,
    weight: Option<&'a Expr>,
    span: Span,
) -> Result<(), CodegenError> {
    let Some(agg) = aggregation(&l.object.program.maps[map.0 as usize]) else {
        return l.internal(span, "an aggregation on a map of plain values");
    };
    l.known.invalidate(map);
    let atomic = l.object.contended[map.0 as usize];
    let mut computed = Operand::Imm(0);
    if let Some(e) = value {
        computed = l.scalar(e)?;
        if !matches!(agg, Aggregation::Sum { .. } | Aggregation::Avg { .. } | Aggregation::Stats { .. }) {
            computed = marks::compared(&mut l.function.builder, e, computed);
        }
        if let Some(key) = key {
            computed = numbers::keep(&mut l.function.builder, computed, key);
        }
    }
    // Of a time series it is the time.
    let weight = match (weight, agg) {
        (Some(e), _) => l.scalar(e)?,
        (None, Aggregation::TSeries { .. }) => clock::wall(l.object, &mut l.function.builder).into(),
        (None, _) => Operand::Imm(1),
    };
    if let Some(scalar) = element::scalar(l, map) {
        apply(l.object, &mut l.function.builder, agg, scalar.value, computed, weight, atomic);
        memory::store(&mut l.function.builder, scalar.present, 1, 1);
        return Ok(());
    }
    let done = l.function.builder.new_block();
    let element = if let Some(cells) = l.object.cells(map) {
        per_cpu_key_cache::cell(l, map, cells, key, done, span)?
    } else {
        let key = key::in_memory(l, map, key, span)?;
        element::lookup_or_insert(l, map, key, done, false, span)?
    };
    apply(l.object, &mut l.function.builder, agg, Addr::new(Base::Reg(element), 0), computed, weight, atomic);
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    Ok(())
}

fn apply(
    object: &mut ObjectBuilder<'_>,
    b: &mut FunctionBuilder,
    agg: Aggregation,
    at: Addr,
    value: Operand,
    weight: Operand,
    atomic: bool,
) {
    match agg {
        Aggregation::Count => memory::add_at(b, at, 8, weight, atomic),
        Aggregation::Sum { .. } => memory::add_at(b, at, 8, value, atomic),
        Aggregation::Avg { .. } | Aggregation::Stats { .. } => {
            memory::add_at(b, at, 8, value, atomic);
            memory::add_at(b, at.at(8), 8, Operand::Imm(1), atomic);
        }
        Aggregation::Min { signed } => extreme(b, at, value, if signed { Cond::SLt } else { Cond::Lt }),
        Aggregation::Max { signed } => extreme(b, at, value, if signed { Cond::SGt } else { Cond::Gt }),
        Aggregation::Hist { bits } => {
            let bucket = log2_bucket(object, b, value, bits);
            count_bucket(b, at, bucket, weight, atomic);
        }
        Aggregation::LHist { min, max, step } => {
            let bucket = linear_bucket(object, b, value, min, max, step);
            count_bucket(b, at, bucket, weight, atomic);
        }
        Aggregation::LogLinear(shape) => {
            let number = b.in_register(value);
            let bucket = numbers::copy_at_most(b, number, i64::from(shape.buckets()) - 1);
            count_bucket(b, at, bucket, weight, atomic);
        }
        Aggregation::Quantize => {
            let bucket = two_sided_bucket(object, b, value);
            count_bucket(b, at, bucket, weight, atomic);
        }
        Aggregation::StdDev => add_square(b, at, value, atomic),
        Aggregation::TSeries { interval_ns, buckets, reduce, signed } => {
            time_series(b, at, (value, weight), interval_ns, buckets, (reduce, signed));
        }
    }
}

fn extreme(b: &mut FunctionBuilder, at: Addr, value: Operand, better: Cond) {
    let value = b.in_register(value);
    replace_if(b, at.at(8), at, (better, value), |b| memory::store(b, at.at(8), 8, 1));
}

/// Puts a value in the place of another that it is better than, or of none, as the word at `set` tells; `and_then` when
/// it does.
fn replace_if(
    b: &mut FunctionBuilder,
    set: Addr,
    at: Addr,
    (better, value): (Cond, Vreg),
    and_then: impl FnOnce(&mut FunctionBuilder),
) {
    let [compare, replace, done] = b.new_blocks();
    let set = memory::load(b, set, 8, false);
    b.branch(Cond::Eq, set, 0, replace, compare);
    b.switch_to(compare);
    let old = memory::load(b, at, 8, false);
    b.branch(better, value, old, replace, done);
    b.switch_to(replace);
    memory::store(b, at, 8, value);
    and_then(b);
    b.jump(done);
    b.switch_to(done);
}

fn count_bucket(b: &mut FunctionBuilder, at: Addr, bucket: Vreg, weight: Operand, atomic: bool) {
    let offset = b.shl(bucket, 3);
    let start = memory::pointer(b, at);
    let cell = b.add(start, offset);
    memory::add_at(b, Addr::new(Base::Reg(cell), 0), 8, weight, atomic);
}

/// `model::histogram::log2_bucket` without a loop: three comparisons bring the highest bit into one
/// byte, whose logarithm is in a table. Values of one histogram are mostly of one size, so that the
/// branch predictor knows the comparisons, and what depends on the value is two shifts and a load.
fn log2_bucket(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder, value: Operand, bits: u8) -> Vreg {
    let value = b.in_register(value);
    let sub = 1_i64 << bits;
    let result = b.new_vreg();
    let [small, large, done] = b.new_blocks();
    b.branch(Cond::SLt, value, sub, small, large);
    b.switch_to(small);
    small_bucket(b, result, value, bits);
    b.jump(done);
    b.switch_to(large);
    let power = highest_bit(object, b, value, if bits == 0 { 1 + sub } else { 0 });
    if bits == 0 {
        b.copy_into(result, power);
    } else {
        let shift = b.sub(power, i64::from(bits));
        // Never negative here; the mask tells the verifier.
        let shift = b.and(shift, 63);
        let scaled = b.shl(shift, i64::from(bits));
        let bucket = b.add(scaled, 1 + sub);
        let low = b.shr(value, shift);
        let low = b.and(low, sub - 1);
        let bucket = b.add(bucket, low);
        b.copy_into(result, bucket);
        clamp(b, result, log2_buckets(bits));
    }
    b.jump(done);
    b.switch_to(done);
    result
}

/// The bucket of a value of either sign: 63 for 0, one more for each power of two, one less for each of the negative.
fn two_sided_bucket(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder, value: Operand) -> Vreg {
    let value = b.in_register(value);
    let (sign, magnitude) = numbers::sign_and_magnitude(b, value);
    // The smallest number has no magnitude: it is counted as the one above it, in the same bucket.
    let smallest = b.shr(magnitude, 63);
    let magnitude = b.sub(magnitude, smallest);
    let bucket = log2_bucket(object, b, magnitude.into(), 0);
    let power = b.sub(bucket, 1);
    let signed = numbers::negated_by(b, power, sign);
    let index = b.add(signed, 63);
    // The mask tells the verifier.
    b.and(index, 127)
}

/// Adds a value to a sum and its square, of 128 bits, to that of squares.
fn add_square(b: &mut FunctionBuilder, at: Addr, value: Operand, atomic: bool) {
    let value = b.in_register(value);
    memory::add_at(b, at, 8, value.into(), atomic);
    memory::add_at(b, at.at(8), 8, Operand::Imm(1), atomic);
    let (_, magnitude) = numbers::sign_and_magnitude(b, value);
    let high = b.shr(magnitude, 32);
    let cut = b.shl(magnitude, 32);
    let low = b.shr(cut, 32);
    let (square, middle, top) = (b.mul(low, low), b.mul(high, low), b.mul(high, high));
    let middle_low = b.shl(middle, 33);
    let middle_high = b.shr(middle, 31);
    let low = b.add(square, middle_low);
    let high = b.add(top, middle_high);
    let carried = b.copy(high);
    carry(b, carried, low, square);
    let old = memory::load(b, at.at(16), 8, false);
    let new = b.add(old, low);
    memory::store(b, at.at(16), 8, new);
    carry(b, carried, new, low);
    memory::add_at(b, at.at(24), 8, carried.into(), false);
}

/// Adds the carry of a sum to a number: there is one where the sum is less than what was added.
fn carry(b: &mut FunctionBuilder, to: Vreg, sum: Vreg, added: Vreg) {
    flow::when(b, Cond::Lt, sum, added, |b| {
        let more = b.add(to, 1);
        b.copy_into(to, more);
    });
}

/// Negative: 0; otherwise one more than the value, which is below `2^bits`.
fn small_bucket(b: &mut FunctionBuilder, result: Vreg, value: Vreg, bits: u8) {
    if bits == 0 {
        // 0 or negative: 1 plus the sign.
        let sign = b.shr(value, 63);
        let bucket = b.alu(Alu::Xor, sign, 1);
        b.copy_into(result, bucket);
        return;
    }
    let [negative, positive, joined] = b.new_blocks();
    b.branch(Cond::SLt, value, 0, negative, positive);
    b.switch_to(negative);
    b.copy_into(result, 0);
    b.jump(joined);
    b.switch_to(positive);
    let masked = b.and(value, (1 << bits) - 1);
    let bucket = b.add(masked, 1);
    b.copy_into(result, bucket);
    b.jump(joined);
    b.switch_to(joined);
}

/// `first` more than the number of the highest set bit of a value that is not 0. The verifier
/// knows that it is at most `first + 63`: a constant on each path plus a number below 8.
fn highest_bit(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder, value: Vreg, first: i64) -> Vreg {
    let (byte, power) = (b.copy(value), b.copy(first));
    for step in [32, 16, 8] {
        let [higher, on] = b.new_blocks();
        // A half of all bits does not fit an instruction's constant.
        let shifted = (step == 32).then(|| b.shr(byte, step));
        match shifted {
            Some(shifted) => b.branch(Cond::Ne, shifted, 0, higher, on),
            None => b.branch(Cond::Ge, byte, 1 << step, higher, on),
        }
        b.switch_to(higher);
        match shifted {
            Some(shifted) => b.copy_into(byte, shifted),
            None => b.alu_into(byte, Alu::Shr, Width::W64, byte, step),
        }
        b.alu_into(power, Alu::Add, Width::W64, power, step);
        b.jump(on);
        b.switch_to(on);
    }
    let at = object.constant(&log2_of_bytes());
    let section = object.section(CONSTANTS);
    let index = b.and(byte, 255);
    let table = b.address(section.at(at));
    let entry = b.add(table, index);
    let of_byte = memory::load(b, Addr::new(Base::Reg(entry), 0), 1, false);
    let of_byte = b.and(of_byte, 7);
    b.add(power, of_byte)
}

/// `model::histogram::linear_bucket`. Nearly all values lie within the bounds: one unsigned comparison
/// of the distance from the lower one tells.
fn linear_bucket(
    object: &ObjectBuilder<'_>,
    b: &mut FunctionBuilder,
    value: Operand,
    min: i64,
    max: i64,
    step: i64,
) -> Vreg {
    let step = step.max(1);
    let buckets = linear_buckets(min, max, step);
    let range = (i128::from(max) - i128::from(min)).clamp(0, u64::MAX.into()) as u64;
    let value = b.in_register(value);
    let result = b.new_vreg();
    let [inside, outside, done] = b.new_blocks();
    let distance = if min == 0 { value } else { b.sub(value, min) };
    let bound = b.copy(range as i64);
    b.branch(Cond::Lt, distance, bound, inside, outside);
    b.switch_to(outside);
    b.copy_into(result, 0);
    flow::require(b, Cond::SGe, value, max, done);
    b.copy_into(result, i64::from(buckets - 1));
    b.jump(done);
    b.switch_to(inside);
    let (index, bounded) = steps_within(b, distance, range, step as u64);
    let bucket = b.add(index, 1);
    b.copy_into(result, bucket);
    if !bounded || object.facts.version < FOLLOWS_SPILLED {
        clamp(b, result, buckets);
    }
    b.jump(done);
    b.switch_to(done);
    result
}

/// `distance / step` of a distance below `range`, and whether the verifier can tell how large it gets.
fn steps_within(b: &mut FunctionBuilder, distance: Vreg, range: u64, step: u64) -> (Vreg, bool) {
    if step.is_power_of_two() {
        return (b.shr(distance, i64::from(step.trailing_zeros())), true);
    }
    if let Some((factor, shift)) = reciprocal(range, step) {
        let product = b.mul(distance, factor);
        return (b.shr(product, shift), true);
    }
    let width = if u32::try_from(range).is_ok() { Width::W32 } else { Width::W64 };
    let quotient = b.new_vreg();
    b.alu_into(quotient, Alu::Div, width, distance, step as i64);
    (quotient, false)
}

/// Keeps an index below `count`: never false, but the verifier does not know.
fn clamp(b: &mut FunctionBuilder, index: Vreg, count: u32) {
    numbers::at_most(b, index, i64::from(count.max(1) - 1));
}

/// One cell for each interval, reused in turn: a cell of another interval is begun anew.
fn time_series(
    b: &mut FunctionBuilder,
    at: Addr,
    (value, now): (Operand, Operand),
    interval_ns: u64,
    buckets: u32,
    (reduce, signed): (Reduce, bool),
) {
    let (value, now) = (b.in_register(value), b.in_register(now));
    let epoch = b.alu(Alu::Div, now, interval_ns.max(1) as i64);
    let index = b.alu(Alu::Mod, epoch, i64::from(buckets.max(1)));
    clamp(b, index, buckets);
    let offset = b.mul(index, 24);
    let start = memory::pointer(b, at);
    let cell = b.add(start, offset);
    let (epoch_at, value_at, count_at) =
        (Addr::new(Base::Reg(cell), 0), Addr::new(Base::Reg(cell), 8), Addr::new(Base::Reg(cell), 16));
    let old = memory::load(b, epoch_at, 8, false);
    flow::when(b, Cond::Ne, old, epoch, |b| {
        memory::store(b, epoch_at, 8, epoch);
        memory::store(b, value_at, 8, 0);
        memory::store(b, count_at, 8, 0);
    });
    match reduce {
        Reduce::Last => {
            // The latest of all CPUs' values is wanted: the moment stands where others count.
            memory::store(b, value_at, 8, value);
            memory::store(b, count_at, 8, now);
            return;
        }
        Reduce::Avg | Reduce::Sum => memory::add_at(b, value_at, 8, value.into(), false),
        Reduce::Max | Reduce::Min => {
            let better = match (reduce, signed) {
                (Reduce::Max, true) => Cond::SGt,
                (Reduce::Max, false) => Cond::Gt,
                (_, true) => Cond::SLt,
                (_, false) => Cond::Lt,
            };
            replace_if(b, count_at, value_at, (better, value), |_| ());
        }
    }
    memory::add_at(b, count_at, 8, Operand::Imm(1), false);
}

/// Verifiers that know the bounds of a number that was compared in one register and read again from the stack
/// ("bpf: Track spilled unbounded scalars", commit e67ddd9b1cff of 6.9; seen on 6.12).
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
