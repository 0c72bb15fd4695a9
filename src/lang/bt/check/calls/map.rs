//! Functions on maps, and those that a map collects.

use crate::lang::bt::ast;
use crate::lang::codes::check::{ARGUMENT_TYPE, OUT_OF_RANGE};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Intrinsic, MapId, Statement, StatementKind};
use crate::lang::types::{Aggregation, Reduce, Type};

use crate::lang::bt::check::calls::{AGGREGATIONS, Call};
use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::{constant, convert_scalar};

/// Largest number of steps of an `lhist`.
const MAX_LHIST: i128 = 1000;

/// Largest number of intervals of a `tseries`.
const MAX_TSERIES: i64 = 1_000_000;

impl Checker<'_> {
    /// `count()` and its kin on the right of `@m =`: the aggregation, its value and its weight.
    /// `None` when it is no such function; the inner `None` when its arguments are wrong.
    #[allow(clippy::option_option, reason = "not one, or one with a reported error")]
    pub fn aggregation(
        &mut self,
        name: &ast::Name,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<(Option<Aggregation>, Option<Expr>, Option<Expr>)> {
        let (_, min, max) = AGGREGATIONS.iter().find(|a| a.0 == &*name.text)?;
        if self.functions.iter().any(|f| f.name == name.text) {
            return None;
        }
        let call = Call { name, args, span };
        if !self.check_count(call, *min, *max) {
            return Some((None, None, None));
        }
        if &*name.text == "count" {
            return Some((Some(Aggregation::Count), None, None));
        }
        let value = self.integer_argument(call, 0);
        if matches!(value.ty, Type::Error) {
            for arg in &args[1..] {
                let _ = self.value(arg);
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
            "hist" => {
                weight = (args.len() > 2).then(|| self.integer_argument(call, 2));
                self.hist_bits(call).map(|bits| Aggregation::Hist { bits })
            }
            "lhist" => {
                weight = (args.len() > 4).then(|| self.integer_argument(call, 4));
                self.lhist(call)
            }
            _ => {
                weight = self.series_clock.clone().map(|map| {
                    let time = self.map_get(&map, None, span);
                    convert_scalar(time, &Type::U64)
                });
                self.tseries(call, signed)
            }
        };
        let value = match agg {
            Some(Aggregation::Hist { .. } | Aggregation::LHist { .. }) => convert_scalar(value, &Type::I64),
            _ => value,
        };
        Some((agg, Some(value), weight))
    }

    fn hist_bits(&mut self, call: Call<'_>) -> Option<u8> {
        if call.args.len() < 2 {
            return Some(0);
        }
        match self.literal_argument(call, 1)? {
            n @ 0..=5 => Some(n as u8),
            n => self.out_of_range(call, format!("hist: bits {n} must be 0..5")),
        }
    }

    fn lhist(&mut self, call: Call<'_>) -> Option<Aggregation> {
        let (min, max, step) =
            (self.literal_argument(call, 1), self.literal_argument(call, 2), self.literal_argument(call, 3));
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
        self.out_of_range(call, problem)
    }

    fn out_of_range<T>(&mut self, call: Call<'_>, problem: String) -> Option<T> {
        self.error(OUT_OF_RANGE, call.span, problem);
        None
    }

    fn tseries(&mut self, call: Call<'_>, signed: bool) -> Option<Aggregation> {
        self.refuse_unstable("tseries", call.span);
        let (interval, buckets) = (self.literal_argument(call, 1), self.literal_argument(call, 2));
        let reduce = match call.args.get(3) {
            None => Some(Reduce::Last),
            Some(_) => match self.string_argument(call, 3).as_deref() {
                Some("avg") => Some(Reduce::Avg),
                Some("max") => Some(Reduce::Max),
                Some("min") => Some(Reduce::Min),
                Some("sum") => Some(Reduce::Sum),
                Some(other) => self.out_of_range(
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
            return self.out_of_range(call, format!("tseries() interval_ns must be >= 1 ({interval} provided)"));
        }
        if buckets <= 0 {
            return self.out_of_range(call, format!("tseries() num_intervals must be >= 1 ({buckets} provided)"));
        }
        if buckets > MAX_TSERIES {
            let problem = format!("tseries() num_intervals must be < {MAX_TSERIES} ({buckets} provided)");
            return self.out_of_range(call, problem);
        }
        Some(Aggregation::TSeries { interval_ns: interval as u64, buckets: buckets as u32, reduce: reduce?, signed })
    }

    /// The map that an argument names; reports anything else.
    pub fn map_argument(&mut self, call: Call<'_>, n: usize) -> Option<MapId> {
        let arg = call.args.get(n)?;
        match &arg.kind {
            ast::ExprKind::Map(name, None) => Some(self.map_id(name, arg.span)),
            ast::ExprKind::Map(name, Some(_)) => {
                let message = format!("`{}` takes the whole map: `{}({name})`", call.name.text, call.name.text);
                self.error(ARGUMENT_TYPE, arg.span, message);
                None
            }
            _ => {
                let value = self.expr(arg);
                let text = self.type_text(&value.ty);
                self.bad_argument(call, arg.span, "a map", &text);
                None
            }
        }
    }

    /// `(@m, key)` as map and typed key.
    fn map_and_key(&mut self, call: Call<'_>) -> Option<(MapId, Option<Box<Expr>>)> {
        let id = self.map_argument(call, 0)?;
        let key = self.map_key(id, call.args.get(1..2), call.args.get(1).map_or(call.span, |a| a.span));
        self.must_exist(id, call.args[0].span);
        Some((id, key))
    }

    fn must_exist(&mut self, id: MapId, span: Span) {
        if matches!(self.map_value_type(id), Type::Error) && self.maps.get(id).declared.is_none() {
            self.report_undefined(id, span);
        }
    }
}

/// `delete(@m, key)`, and the older `delete(@m[key], ...)`.
pub fn delete(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    if let (2, ast::ExprKind::Map(_, None)) = (call.args.len(), &call.args[0].kind) {
        return match c.map_and_key(call) {
            Some((map, key)) => Expr::new(ExprKind::MapDelete { map, key }, Type::Bool, call.span),
            None => Checker::error_value(call.span),
        };
    }
    let mut deletes = Vec::new();
    for arg in call.args {
        let ast::ExprKind::Map(name, keys) = &arg.kind else {
            let value = c.expr(arg);
            let text = c.type_text(&value.ty);
            return c.bad_argument(call, arg.span, "an entry of a map", &text);
        };
        let map = c.map_id(name, arg.span);
        let key = c.map_key(map, keys.as_deref(), arg.span);
        c.must_exist(map, arg.span);
        deletes.push(Expr::new(ExprKind::MapDelete { map, key }, Type::Bool, arg.span));
    }
    let Some(last) = deletes.pop() else { return Checker::error_value(call.span) };
    let before = deletes.into_iter().map(|e| Statement { span: e.span, kind: StatementKind::Expr(e) }).collect();
    crate::lang::bt::check::literal::wrap(before, last, call.span)
}

/// `has_key(@m, key)`.
pub fn has_key(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    if let ast::ExprKind::Map(name, None) = &call.args[0].kind {
        let id = c.map_id(name, call.args[0].span);
        if c.maps.get(id).key == Some(Type::Void) {
            let message = "call to has_key() expects a map with explicit keys (non-scalar map)";
            return c.error_expr(ARGUMENT_TYPE, call.span, message);
        }
    }
    match c.map_and_key(call) {
        Some((map, key)) => Expr::new(ExprKind::MapHas { map, key }, Type::Bool, call.span),
        None => Checker::error_value(call.span),
    }
}

/// `find(@m, key, $v)`.
pub fn find(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let Some((map, key)) = c.map_and_key(call) else { return Checker::error_value(call.span) };
    let target = &call.args[2];
    let ast::ExprKind::Variable(name) = &target.kind else {
        return c.error_expr(
            ARGUMENT_TYPE,
            target.span,
            "`find` puts the value into a variable, as in `find(@m, k, $v)`",
        );
    };
    let whole = Expr::new(ExprKind::MapGet { map, key: None }, c.map_value_type(map), call.span);
    let ty = c.aggregate_as_value(whole).ty;
    let local = c.variable_to_set(name, target.span);
    if matches!(ty, Type::Error) {
        return Expr::new(ExprKind::Int(0), Type::Bool, call.span);
    }
    let sample = Expr::new(ExprKind::MapGet { map, key: None }, ty, target.span);
    let _ = c.assign_local(local, sample);
    match key {
        Some(key) => Expr::new(ExprKind::MapFind { map, key, local }, Type::Bool, call.span),
        None => c.error_expr(ARGUMENT_TYPE, call.span, "`find` needs a map with keys"),
    }
}

/// `len(@m)`, `len(stack)`.
pub fn len(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    if let ast::ExprKind::Map(_, None) = &call.args[0].kind
        && let Some(id) = c.map_argument(call, 0)
    {
        let (key, value) = (c.map_key_type(id), c.map_value_type(id));
        if !(key == Type::Void && matches!(value, Type::KStack { .. } | Type::UStack { .. })) {
            c.must_exist(id, call.args[0].span);
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
        Type::KStack { .. } | Type::UStack { .. } => c.intrinsic(Intrinsic::StackLen, vec![value], Type::I64, call),
        Type::Array { len, .. } => constant(i64::from(len), call.span),
        _ => {
            let text = c.type_text(&value.ty);
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
