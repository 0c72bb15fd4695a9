//! Functions on maps, and those that a map collects.

use crate::lang::bt::ast;
use crate::lang::codes::check::ARGUMENT_TYPE;
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Intrinsic, MapId, Statement, StatementKind};
use crate::lang::types::{Aggregation, Reduce, Type};

use crate::lang::bt::check::calls::{AGGREGATIONS, Call, intrinsic};
use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::{constant, convert_scalar, wrap};
use crate::lang::bt::check::maps::undefined;
use crate::lang::bt::check::{calls, frame, maps, setting, type_text};

/// Largest number of steps of an `lhist`.
const MAX_LHIST: i128 = 1000;

/// Largest number of intervals of a `tseries`.
const MAX_TSERIES: i64 = 1_000_000;

/// `count()` and its kin on the right of `@m =`: the aggregation, its value and its weight.
/// `None` when it is no such function; the inner `None` when its arguments are wrong.
#[allow(clippy::option_option, reason = "not one, or one with a reported error")]
pub fn aggregation(
    c: &mut Checker<'_>,
    name: &ast::Name,
    args: &[ast::Expr],
    span: Span,
) -> Option<(Option<Aggregation>, Option<Expr>, Option<Expr>)> {
    let (_, min, max) = AGGREGATIONS.iter().find(|a| a.0 == &*name.text)?;
    if c.functions.iter().any(|f| f.name == name.text) {
        return None;
    }
    let call = Call { name, args, span };
    if !calls::check_count(c, call, *min, *max) {
        return Some((None, None, None));
    }
    if &*name.text == "count" {
        return Some((Some(Aggregation::Count), None, None));
    }
    let value = calls::integer_argument(c, call, 0);
    if matches!(value.ty, Type::Error) {
        for arg in &args[1..] {
            let _ = c.value(arg);
        }
        // The type may be known in a later walk: the kind of aggregation is known now.
    }
    let signed = value.ty.is_signed();
    let mut weight = None;
    let agg = match &*name.text {
        "sum" => Some(Aggregation::Sum { signed }),
        "min" => Some(Aggregation::Min { signed }),
        "max" => Some(Aggregation::Max { signed }),
        "avg" => Some(Aggregation::Avg { signed }),
        "stats" => Some(Aggregation::Stats { signed }),
        "hist" => hist_bits(c, call).map(|bits| Aggregation::Hist { bits }),
        "lhist" => lhist(c, call),
        _ => {
            weight = c.series_clock.clone().map(|map| {
                let time = maps::map_get(c, &map, None, span);
                convert_scalar(time, &Type::U64)
            });
            tseries(c, call, signed)
        }
    };
    let value = match agg {
        Some(Aggregation::Hist { .. } | Aggregation::LHist { .. }) => convert_scalar(value, &Type::I64),
        _ => value,
    };
    Some((agg, Some(value), weight))
}

fn hist_bits(c: &mut Checker<'_>, call: Call<'_>) -> Option<u8> {
    if call.args.len() < 2 {
        return Some(0);
    }
    match calls::literal_argument(c, call, 1)? {
        n @ 0..=5 => Some(n as u8),
        n => intrinsic::out_of_range(c, call, format!("hist: bits {n} must be 0..5")),
    }
}

fn lhist(c: &mut Checker<'_>, call: Call<'_>) -> Option<Aggregation> {
    let (min, max, step) =
        (calls::literal_argument(c, call, 1), calls::literal_argument(c, call, 2), calls::literal_argument(c, call, 3));
    let (min, max, step) = (min?, max?, step?);
    let range = i128::from(max) - i128::from(min);
    let steps = range / i128::from(step.max(1));
    let problem = if step <= 0 {
        format!("lhist() step must be >= 1 ({step} provided)")
    } else if min > max {
        format!("lhist() min must be less than max (provided min {min} and max {max})")
    } else if range < i128::from(step) {
        format!("lhist() step is too large for the given range (provided step {step} for range {range})")
    } else if steps > MAX_LHIST {
        format!("lhist() too many buckets, must be <= {MAX_LHIST} (would need {steps})")
    } else {
        return Some(Aggregation::LHist { min, max, step });
    };
    intrinsic::out_of_range(c, call, problem)
}

fn tseries(c: &mut Checker<'_>, call: Call<'_>, signed: bool) -> Option<Aggregation> {
    setting::refuse_unstable(c, "tseries", call.span);
    let (interval, buckets) = (calls::literal_argument(c, call, 1), calls::literal_argument(c, call, 2));
    let reduce = match call.args.get(3) {
        None => Some(Reduce::Last),
        Some(_) => match calls::string_argument(c, call, 3).as_deref() {
            Some("avg") => Some(Reduce::Avg),
            Some("max") => Some(Reduce::Max),
            Some("min") => Some(Reduce::Min),
            Some("sum") => Some(Reduce::Sum),
            Some(other) => intrinsic::out_of_range(
                c,
                call,
                format!(
                    "tseries() expects one of the following aggregation functions: avg, max, min, sum (\"{other}\" \
                     provided)"
                ),
            ),
            None => None,
        },
    };
    let (interval, buckets) = (interval?, buckets?);
    if interval <= 0 {
        return intrinsic::out_of_range(c, call, format!("tseries() interval_ns must be >= 1 ({interval} provided)"));
    }
    if buckets <= 0 {
        return intrinsic::out_of_range(c, call, format!("tseries() num_intervals must be >= 1 ({buckets} provided)"));
    }
    if buckets > MAX_TSERIES {
        let problem = format!("tseries() num_intervals must be < {MAX_TSERIES} ({buckets} provided)");
        return intrinsic::out_of_range(c, call, problem);
    }
    Some(Aggregation::TSeries { interval_ns: interval as u64, buckets: buckets as u32, reduce: reduce?, signed })
}

/// The map that an argument names; reports anything else.
pub fn map_argument(c: &mut Checker<'_>, call: Call<'_>, n: usize) -> Option<MapId> {
    let arg = call.args.get(n)?;
    match &arg.kind {
        ast::ExprKind::Map(name, None) => Some(c.maps.map_id(name, arg.span)),
        ast::ExprKind::Map(name, Some(_)) => {
            let message = format!("`{}` takes the whole map: `{}({name})`", call.name.text, call.name.text);
            c.error(ARGUMENT_TYPE, arg.span, message);
            None
        }
        _ => {
            let value = c.expr(arg);
            let text = type_text::text(&c.types, &value.ty);
            intrinsic::bad_argument(c, call, arg.span, "a map", &text);
            None
        }
    }
}

/// `(@m, key)` as map and typed key.
fn map_and_key(c: &mut Checker<'_>, call: Call<'_>) -> Option<(MapId, Option<Box<Expr>>)> {
    let id = map_argument(c, call, 0)?;
    let key = maps::map_key(c, id, call.args.get(1..2), call.args.get(1).map_or(call.span, |a| a.span));
    must_exist(c, id, call.args[0].span);
    Some((id, key))
}

fn must_exist(c: &mut Checker<'_>, id: MapId, span: Span) {
    if matches!(c.maps.map_value_type(id), Type::Error) && c.maps.get(id).declared.is_none() {
        undefined::report_undefined(c, id, span);
    }
}

/// `delete(@m, key)`, and the older `delete(@m[key], ...)`.
pub fn delete(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    if let (2, ast::ExprKind::Map(_, None)) = (call.args.len(), &call.args[0].kind) {
        return match map_and_key(c, call) {
            Some((map, key)) => Expr::new(ExprKind::MapDelete { map, key }, Type::Bool, call.span),
            None => Checker::error_value(call.span),
        };
    }
    let mut deletes = Vec::new();
    for arg in call.args {
        let ast::ExprKind::Map(name, keys) = &arg.kind else {
            let value = c.expr(arg);
            let text = type_text::text(&c.types, &value.ty);
            return intrinsic::bad_argument(c, call, arg.span, "an entry of a map", &text);
        };
        let map = c.maps.map_id(name, arg.span);
        let key = maps::map_key(c, map, keys.as_deref(), arg.span);
        must_exist(c, map, arg.span);
        deletes.push(Expr::new(ExprKind::MapDelete { map, key }, Type::Bool, arg.span));
    }
    let Some(last) = deletes.pop() else { return Checker::error_value(call.span) };
    let before = deletes.into_iter().map(|e| Statement { span: e.span, kind: StatementKind::Expr(e) }).collect();
    wrap(before, last, call.span)
}

/// `has_key(@m, key)`.
pub fn has_key(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    if let ast::ExprKind::Map(name, None) = &call.args[0].kind {
        let id = c.maps.map_id(name, call.args[0].span);
        if c.maps.get(id).key == Some(Type::Void) {
            let message = "call to has_key() expects a map with explicit keys (non-scalar map)";
            return c.error_expr(ARGUMENT_TYPE, call.span, message);
        }
    }
    match map_and_key(c, call) {
        Some((map, key)) => Expr::new(ExprKind::MapHas { map, key }, Type::Bool, call.span),
        None => Checker::error_value(call.span),
    }
}

/// `find(@m, key, $v)`.
pub fn find(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let Some((map, key)) = map_and_key(c, call) else { return Checker::error_value(call.span) };
    let target = &call.args[2];
    let ast::ExprKind::Variable(name) = &target.kind else {
        return c.error_expr(
            ARGUMENT_TYPE,
            target.span,
            "`find` puts the value into a variable, as in `find(@m, k, $v)`",
        );
    };
    let whole = Expr::new(ExprKind::MapGet { map, key: None }, c.maps.map_value_type(map), call.span);
    let ty = maps::aggregate_as_value(c, whole).ty;
    let local = frame::variable_to_set(c, name, target.span);
    if matches!(ty, Type::Error) {
        return Expr::new(ExprKind::Int(0), Type::Bool, call.span);
    }
    let sample = Expr::new(ExprKind::MapGet { map, key: None }, ty, target.span);
    let _ = frame::assign_local(c, local, sample);
    match key {
        Some(key) => Expr::new(ExprKind::MapFind { map, key, local }, Type::Bool, call.span),
        None => c.error_expr(ARGUMENT_TYPE, call.span, "`find` needs a map with keys"),
    }
}

/// `len(@m)`, `len(stack)`.
pub fn len(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    if let ast::ExprKind::Map(_, None) = &call.args[0].kind
        && let Some(id) = map_argument(c, call, 0)
    {
        let (key, value) = (c.maps.map_key_type(id), c.maps.map_value_type(id));
        if !(key == Type::Void && matches!(value, Type::KStack { .. } | Type::UStack { .. })) {
            must_exist(c, id, call.args[0].span);
            if key == Type::Void {
                let message = "call to len() expects a map with explicit keys (non-scalar map)";
                return c.error_expr(ARGUMENT_TYPE, call.span, message);
            }
            return Expr::new(ExprKind::MapLen(id), Type::I64, call.span);
        }
    }
    let value = c.value(&call.args[0]);
    match value.ty {
        Type::Error => value,
        Type::KStack { .. } | Type::UStack { .. } => {
            intrinsic::intrinsic(Intrinsic::StackLen, vec![value], Type::I64, call)
        }
        Type::Array { len, .. } => constant(i64::from(len), call.span),
        _ => {
            let text = type_text::text(&c.types, &value.ty);
            c.error_help(
                ARGUMENT_TYPE,
                value.span,
                format!("`len` takes a map or a stack, this is {text}"),
                Some("the length of a string is `strlen(...)`".into()),
            );
            Checker::error_value(call.span)
        }
    }
}
