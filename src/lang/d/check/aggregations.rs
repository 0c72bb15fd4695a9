//! `@a[keys] = function(value)`.

use std::sync::Arc;

use super::checker::Checker;
use super::code::{binary, block, cast, choose, int, int64, negated, statement};
use super::prototypes::{Class, function};
use super::site::SiteKind;
use super::value::{Value, error_value, is_int, is_scalar, key, key_type, whole, zero};
use super::variables::Aggregate;
use super::{prototypes, variables};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Binary, Expr as Ast, ExprKind as Kind};
use crate::lang::diagnostic::Code;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, StatementKind};
use crate::lang::types::{Aggregation, Type};
use crate::model::histogram::LogLinear;

/// The codes of a constant argument: not a constant, out of range, other than before.
type Codes = (Code, Code, Code);

/// What an aggregating call asks for.
struct Aggregated {
    aggregation: Aggregation,
    /// Constant arguments, which are the same in every call.
    constants: Vec<i64>,
    value: Option<Expr>,
    /// How often the value counts.
    weight: Option<Expr>,
}

pub fn aggregation(c: &mut Checker<'_>, op: Option<Binary>, target: &Ast, value: &Ast, span: Span) -> Value {
    let Some((name, items)) = name_and_keys(target) else {
        return c.wrong(tags::D_AGG_MDIM, span, "improper use of an aggregation: it is indexed once");
    };
    let Kind::Call(callee, arguments) = &value.kind else {
        let right = c.expr(value);
        if !right.is_error() {
            c.error(tags::D_AGG_FUNC, span, format!("{name} must be assigned an aggregating function"));
        }
        return error_value(span);
    };
    let Kind::Ident(word) = &callee.kind else { return c.expr(value) };
    let Some(f) = function(word) else { return c.expr(value) };
    if f.class != Class::Aggregating || op.is_some() {
        return c.wrong(tags::D_AGG_FUNC, span, format!("{word}( ) may not be assigned to an aggregation"));
    }
    if c.frame.speculates {
        return c.wrong(tags::D_AGG_SPEC, span, "aggregating actions may not follow speculate( )");
    }
    if c.frame.commits {
        return c.wrong(tags::D_AGG_COMM, span, "aggregating actions may not follow commit( )");
    }
    let keys: Vec<Expr> = items.iter().map(|e| variables::key_part(c, e)).collect();
    let keys = c.variables.address_keys.made_symbols(name, keys);
    if !prototypes::count_arguments(c, f, arguments.len(), span) {
        return error_value(span);
    }
    let guessed = c.frame.site.kind == SiteKind::Absent;
    let known = c.variables.aggregates.get(name).filter(|k| guessed || !k.guessed).cloned();
    if let Some(known) = known.as_ref().filter(|k| k.function != f.name) {
        let message = format!("aggregation redefined: {name} is of {}( ), not {}( )", known.function, f.name);
        return c.wrong(tags::D_AGG_REDEF, span, message);
    }
    let Some(asked) = aggregated(c, f.name, arguments, known.as_ref(), span) else { return error_value(span) };
    let aggregate = known.unwrap_or_else(|| {
        let types: Vec<Type> = keys.iter().map(|e| e.ty.clone()).collect();
        let map = c.map(name, key_type(types.clone()), Type::Agg(asked.aggregation), span);
        let aggregate = Aggregate { map, function: f.name, keys: types, arguments: asked.constants, guessed };
        c.variables.aggregates.insert(name.clone(), aggregate.clone());
        aggregate
    });
    let Some(keys) = converted_keys(c, name, keys, &aggregate.keys, span) else { return error_value(span) };
    let (map, key) = (aggregate.map, key(keys, span));
    let kind = StatementKind::Aggregate { map, key, value: asked.value, weight: asked.weight };
    Value::new(block(vec![statement(kind, span)], zero(span)))
}

/// `@name` or `@name[keys]`; `None` for what is indexed again.
fn name_and_keys(target: &Ast) -> Option<(&Arc<str>, &[Ast])> {
    match &target.kind {
        Kind::Aggregation(name) => Some((name, &[])),
        Kind::Index(base, items) => match &base.kind {
            Kind::Aggregation(name) => Some((name, items)),
            _ => None,
        },
        _ => None,
    }
}

/// The keys as those that the aggregation was made with.
fn converted_keys(c: &mut Checker<'_>, name: &str, keys: Vec<Expr>, wanted: &[Type], span: Span) -> Option<Vec<Expr>> {
    if keys.len() != wanted.len() {
        let message = format!("{name}[ ] prototype mismatch: {} keys passed, {} expected", keys.len(), wanted.len());
        c.error(tags::D_PROTO_LEN, span, message);
        return None;
    }
    let mut converted = Vec::new();
    for (key, ty) in keys.into_iter().zip(wanted) {
        let (at, text) = (key.span, c.type_text(&key.ty));
        let Some(e) = c.convert(Value::new(key), ty) else {
            let ty = c.type_text(ty);
            let message = format!("{name}[ ] key is incompatible with prototype: {text}, {ty} expected");
            c.error(tags::D_PROTO_ARG, at, message);
            return None;
        };
        converted.push(e);
    }
    Some(converted)
}

fn aggregated(
    c: &mut Checker<'_>,
    function: &str,
    arguments: &[Ast],
    known: Option<&Aggregate>,
    span: Span,
) -> Option<Aggregated> {
    let plain = |aggregation, value| Aggregated { aggregation, constants: Vec::new(), value, weight: None };
    if function == "count" {
        return Some(plain(Aggregation::Count, None));
    }
    let value = c.expr(&arguments[0]);
    if value.is_error() {
        return None;
    }
    if !is_scalar(value.ty()) {
        let text = c.type_text(value.ty());
        c.error(tags::D_AGG_SCALAR, span, format!("{function}( ) argument #1 must be of scalar type, not {text}"));
        return None;
    }
    let value = cast(whole(&value), &Type::I64);
    let signed = true;
    let aggregation = match function {
        "sum" => Aggregation::Sum { signed },
        "min" => Aggregation::Min { signed },
        "max" => Aggregation::Max { signed },
        "avg" => Aggregation::Avg { signed },
        "stddev" => Aggregation::StdDev,
        "quantize" => {
            let weight = increment(c, function, arguments.get(1)).ok()?;
            return Some(Aggregated { weight, ..plain(Aggregation::Quantize, Some(value)) });
        }
        "lquantize" => return linear(c, value, arguments, known, span),
        _ => return log_linear(c, value, arguments, known, span),
    };
    Some(plain(aggregation, Some(value)))
}

/// `lquantize(value, base, limit[, step[, increment]])`.
fn linear(
    c: &mut Checker<'_>,
    value: Expr,
    arguments: &[Ast],
    known: Option<&Aggregate>,
    span: Span,
) -> Option<Aggregated> {
    let base = (tags::D_LQUANT_BASETYPE, tags::D_LQUANT_BASEVAL, tags::D_LQUANT_MATCHBASE);
    let limit = (tags::D_LQUANT_LIMTYPE, tags::D_LQUANT_LIMVAL, tags::D_LQUANT_MATCHLIM);
    let step = (tags::D_LQUANT_STEPTYPE, tags::D_LQUANT_STEPVAL, tags::D_LQUANT_MATCHSTEP);
    let fits32 = |n: i64| i32::try_from(n).is_ok();
    let low = constant_argument(c, &arguments[1], base, fits32)?;
    let high = constant_argument(c, &arguments[2], limit, fits32)?;
    if low >= high {
        c.error(tags::D_LQUANT_MISMATCH, span, "lquantize( ) base must be less than its limit");
        return None;
    }
    let width = match arguments.get(3) {
        None => 1,
        Some(e) => {
            let n = constant_argument(c, e, step, |n| n <= i64::from(u16::MAX))?;
            if n <= 0 {
                c.error(step.0, e.span, "lquantize( ) step must be a non-zero positive integer constant");
                return None;
            }
            n
        }
    };
    if high - low < width {
        c.error(tags::D_LQUANT_STEPLARGE, span, "lquantize( ) step is larger than its range");
        return None;
    }
    if (high - low) / width > i64::from(u16::MAX) {
        c.error(tags::D_LQUANT_STEPSMALL, span, "lquantize( ) step is too small: there are too many levels");
        return None;
    }
    let constants = vec![low, high, width];
    matches(c, known, &constants, &[base.2, limit.2, step.2], span)?;
    let weight = increment(c, "lquantize", arguments.get(4)).ok()?;
    // The last level ends where a whole step does.
    let max = low + (high - low) / width * width;
    let max = if max < high { max + width } else { max };
    let aggregation = Aggregation::LHist { min: low, max, step: width };
    Some(Aggregated { aggregation, constants, value: Some(value), weight })
}

fn constant_argument(c: &mut Checker<'_>, e: &Ast, codes: Codes, fits: impl Fn(i64) -> bool) -> Option<i64> {
    let value = c.expr(e);
    if value.is_error() {
        return None;
    }
    let Some(number) = value.e.as_int().filter(|_| value.constant && is_int(value.ty())) else {
        c.error(codes.0, e.span, "the argument must be an integer constant");
        return None;
    };
    if !fits(number as i64) {
        c.error(codes.1, e.span, format!("{} is out of the argument's range", number as i64));
        return None;
    }
    Some(number as i64)
}

/// `llquantize(value, factor, low, high, steps[, increment])`.
fn log_linear(
    c: &mut Checker<'_>,
    value: Expr,
    arguments: &[Ast],
    known: Option<&Aggregate>,
    span: Span,
) -> Option<Aggregated> {
    let codes = [
        (tags::D_LLQUANT_FACTORTYPE, tags::D_LLQUANT_FACTORVAL, tags::D_LLQUANT_MATCHFACTOR),
        (tags::D_LLQUANT_LMAGTYPE, tags::D_LLQUANT_LMAGVAL, tags::D_LLQUANT_MATCHLMAG),
        (tags::D_LLQUANT_HMAGTYPE, tags::D_LLQUANT_HMAGVAL, tags::D_LLQUANT_MATCHHMAG),
        (tags::D_LLQUANT_STEPTYPE, tags::D_LLQUANT_STEPVAL, tags::D_LLQUANT_MATCHSTEPS),
    ];
    let fits16 = |n: i64| (0..=i64::from(u16::MAX)).contains(&n);
    let factor = constant_argument(c, &arguments[1], codes[0], |n| fits16(n) && n >= 2)?;
    let low = constant_argument(c, &arguments[2], codes[1], fits16)?;
    let high = constant_argument(c, &arguments[3], codes[2], fits16)?;
    let steps = constant_argument(c, &arguments[4], codes[3], |n| n <= i64::from(u16::MAX))?;
    if steps <= 0 {
        c.error(codes[3].0, arguments[4].span, "llquantize( ) steps must be a non-zero positive integer constant");
        return None;
    }
    // The power of the factor is at most 64 bits.
    let power = u32::try_from(high).ok().and_then(|h| (factor as u64).checked_pow(h + 1));
    if low > high || power.is_none() {
        c.error(
            tags::D_LLQUANT_HMAGVAL,
            span,
            "llquantize( ) high magnitude must be at least the low one, and fit 64 bits",
        );
        return None;
    }
    let divided =
        if low == 0 { Some(factor * factor) } else { u32::try_from(low + 1).ok().and_then(|l| factor.checked_pow(l)) };
    let fits = match steps.cmp(&factor) {
        std::cmp::Ordering::Less => factor % steps == 0,
        std::cmp::Ordering::Equal => true,
        std::cmp::Ordering::Greater => steps % factor == 0 && divided.is_none_or(|n| n % steps == 0),
    };
    if !fits {
        c.error(
            tags::D_LLQUANT_STEPVAL,
            span,
            "llquantize( ) steps must divide the factor, or be a multiple of it that divides its magnitudes",
        );
        return None;
    }
    let constants = vec![factor, low, high, steps];
    matches(c, known, &constants, &codes.map(|(.., other)| other), span)?;
    let weight = increment(c, "llquantize", arguments.get(5)).ok()?;
    let part = |n: usize| constants[n] as u16;
    let shape = LogLinear { factor: part(0), low: part(1), high: part(2), steps: part(3) };
    let value = log_linear_bucket(c, value, shape);
    Some(Aggregated { aggregation: Aggregation::LogLinear(shape), constants, value: Some(value), weight })
}

/// The number of a value's bucket.
fn log_linear_bucket(c: &mut Checker<'_>, value: Expr, shape: LogLinear) -> Expr {
    let span = value.span;
    let number = |n: u64| int(n as i64, Type::U64, span);
    let mut statements = Vec::new();
    let value = c.kept(value, &mut statements);
    let negative = || binary(BinaryOp::Lt, value.clone(), int64(0, span));
    let less = negated(value.clone());
    let size = c.kept(cast(choose(negative(), less, value.clone()), &Type::U64), &mut statements);
    let below = u64::from(shape.steps / shape.factor);
    // Beyond the last magnitude, then each magnitude from the highest down.
    let magnitudes = u64::from(shape.high - shape.low) + 1;
    let mut distance = number(magnitudes * u64::from(shape.new_steps()) + 1);
    for magnitude in (shape.low..=shape.high).rev() {
        let end = shape.power(u32::from(magnitude) + 1);
        let steps = u64::from(shape.steps);
        let step = if magnitude == 0 {
            let scaled = binary(BinaryOp::Mul, size.clone(), number(steps));
            binary(BinaryOp::Div, scaled, number(end))
        } else {
            binary(BinaryOp::Div, size.clone(), number((end / steps).max(1)))
        };
        let first = u64::from(magnitude - shape.low) * u64::from(shape.new_steps()) + 1;
        let place = binary(BinaryOp::Add, step, number(first.wrapping_sub(below)));
        distance = choose(binary(BinaryOp::Lt, size.clone(), number(end)), place, distance);
    }
    let near = binary(BinaryOp::Lt, size, number(shape.power(u32::from(shape.low))));
    let distance = c.kept(choose(near, number(0), distance), &mut statements);
    let middle = || number(u64::from(shape.middle()));
    let left = binary(BinaryOp::Sub, middle(), distance.clone());
    let right = binary(BinaryOp::Add, middle(), distance);
    cast(block(statements, choose(negative(), left, right)), &Type::I64)
}

/// How much each value counts.
fn increment(c: &mut Checker<'_>, function: &str, e: Option<&Ast>) -> Result<Option<Expr>, ()> {
    let Some(e) = e else { return Ok(None) };
    let value = c.expr(e);
    if value.is_error() {
        return Err(());
    }
    if !is_scalar(value.ty()) {
        c.error(tags::D_PROTO_ARG, e.span, format!("{function}( ) increment value must be of scalar type"));
        return Err(());
    }
    Ok(Some(cast(whole(&value), &Type::I64)))
}

/// Refuses constants that are others than before.
fn matches(c: &mut Checker<'_>, known: Option<&Aggregate>, new: &[i64], codes: &[Code], span: Span) -> Option<()> {
    let Some(known) = known else { return Some(()) };
    let mut compared = known.arguments.iter().zip(new).zip(codes);
    let Some(((old, new), code)) = compared.find(|((old, new), _)| old != new) else { return Some(()) };
    let message = format!("the aggregation was used with {old} before, and now with {new}");
    c.error(*code, span, message);
    None
}
