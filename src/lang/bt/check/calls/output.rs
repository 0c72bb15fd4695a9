//! Functions that report to user space.

use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::{
    ADDRESS_AS_TEXT, AGGREGATION, ARGUMENT_COUNT, ARGUMENT_TYPE, BAD_FORMAT, OUT_OF_RANGE, PRINTED_IN_LOOP,
    WITHOUT_EFFECT,
};
use crate::lang::source::Span;
use crate::lang::typed::{ActionKind, Block, Expr, ExprKind, Intrinsic, MapId, PrintfSink, Statement, StatementKind};
use crate::lang::types::{Aggregation, Type};
use crate::model::format::{Conversion, ConversionKind, Format, Piece};

use crate::lang::bt::check::calls::intrinsic::Call;
use crate::lang::bt::check::calls::{intrinsic, map};
use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::join::{infer_type, unknown};
use crate::lang::bt::check::literal::{convert_scalar, effect, statement_expr, wrap};
use crate::lang::bt::check::maps::undefined;
use crate::lang::bt::check::place::space;
use crate::lang::bt::check::{calls, coerce, maps, strict, type_text};

/// Bytes of a struct that `lens` captures.
const MOST_CAPTURED: u32 = 32 * 1024;
/// Bytes of one `join`: 16 strings of 1024.
const JOIN_BYTES: u32 = 16 * 1024;

pub fn printf(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    formatted(c, call, |format| ActionKind::Printf { format, sink: PrintfSink::Out })
}

pub fn errorf(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    formatted(c, call, |format| ActionKind::Printf { format, sink: PrintfSink::Error })
}

pub fn warnf(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    formatted(c, call, |format| ActionKind::Printf { format, sink: PrintfSink::Warning })
}

pub fn debugf(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    strict::warn_debugging(c, call.span);
    formatted(c, call, |format| ActionKind::Printf { format, sink: PrintfSink::TracePipe })
}

pub fn cat(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    formatted(c, call, ActionKind::Cat)
}

pub fn system(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    calls::needs_unsafe(c, call);
    formatted(c, call, ActionKind::System)
}

fn report(c: &mut Checker<'_>, kind: ActionKind, values: Vec<Expr>, span: Span) -> Expr {
    if values.iter().any(|v| unknown(&v.ty)) {
        return Expr::new(ExprKind::Int(0), Type::Void, span);
    }
    let types = values.iter().map(|v| v.ty.clone()).collect();
    let action = c.add_action(kind, types, span);
    statement_expr(StatementKind::Report { action, values }, span)
}

fn formatted(c: &mut Checker<'_>, call: Call<'_>, kind: impl FnOnce(Format) -> ActionKind) -> Expr {
    let text = calls::string_argument(c, call, 0);
    let values: Vec<Expr> = call.args[1..].iter().map(|a| c.value(a)).collect();
    let nothing = Expr::new(ExprKind::Int(0), Type::Void, call.span);
    let Some(text) = text else { return nothing };
    let format = match crate::lang::format::parse_format_of(&text, call.args[0].span, values.len()) {
        Ok(format) => format,
        Err(e) => {
            let diagnostic = e.diagnostic(c.source);
            c.push(diagnostic);
            return nothing;
        }
    };
    match match_format(c, &format, values, call) {
        Some(values) => report(c, kind(format), values, call.span),
        None => nothing,
    }
}

/// Brings each value to what its conversion prints.
fn match_format(c: &mut Checker<'_>, format: &Format, values: Vec<Expr>, call: Call<'_>) -> Option<Vec<Expr>> {
    let wanted: Vec<&Conversion> = format
        .pieces
        .iter()
        .filter_map(|p| match p {
            Piece::Conversion(c) => Some(c),
            Piece::Literal(_) => None,
        })
        .collect();
    if wanted.len() != values.len() {
        let (n, m) = (wanted.len(), values.len());
        let word = if m < n { "not enough" } else { "too many" };
        let message = format!("{word} arguments for format string ({m} supplied, {n} expected)");
        c.error(ARGUMENT_COUNT, call.span, message);
        return None;
    }
    let values = wanted.into_iter().zip(values).map(|(w, v)| convert_for(c, w, v, call)).collect();
    Some(values)
}

fn convert_for(c: &mut Checker<'_>, wanted: &Conversion, value: Expr, call: Call<'_>) -> Expr {
    use ConversionKind as K;
    let ty = value.ty.clone();
    if matches!(ty, Type::Error) {
        return value;
    }
    let numeric = ty.fits_register();
    let good = match wanted.kind {
        K::Signed | K::Unsigned | K::HexLower | K::HexUpper | K::Octal | K::Char | K::Pointer | K::Gfp => {
            if let Type::Array { .. } = ty
                && let Some(integer) = coerce::integer(value.clone())
            {
                return integer;
            }
            numeric
        }
        K::Bytes | K::BytesHex | K::BytesHexEscaped => match &ty {
            Type::Buf { .. } | Type::Str { .. } => true,
            Type::Array { .. } => {
                let size = c.size_of(&ty);
                return intrinsic::intrinsic(Intrinsic::Buf, vec![value], Type::Buf { size }, call);
            }
            _ => false,
        },
        // As in bpftrace, text can be made of anything; an address prints as one.
        K::Str => {
            if matches!(&ty, Type::Ptr { to, .. } if matches!(**to, Type::Int { size: 1, .. })) {
                let help = Some("the text at it is `str(...)`; to print the address write `%p`".to_owned());
                c.warn(ADDRESS_AS_TEXT, value.span, "`%s` prints this address, not the text at it", help);
            }
            true
        }
    };
    if good {
        return value;
    }
    let text = type_text::inferred(&c.types, &infer_type(&value));
    let letter = letter(wanted.kind);
    let help = match &ty {
        Type::Int { signed: true, .. } => Some("use `%d` for a number".to_owned()),
        Type::Int { .. } => Some("use `%u` or `%d` for a number".to_owned()),
        Type::Ptr { to, .. } if matches!(**to, Type::Int { size: 1, .. }) => {
            Some("turn the address into text with `str(...)`".to_owned())
        }
        Type::Ptr { .. } => Some("use `%p` for an address, or `str(...)` for the text at it".to_owned()),
        Type::Buf { .. } => Some("use `%r`, `%rx` or `%rh` for bytes".to_owned()),
        _ => Some("use `%s`".to_owned()),
    };
    let message = format!("unsupported format specifier for type '{text}': {letter}");
    c.error_help(BAD_FORMAT, call.span, message, help);
    Checker::error_value(value.span)
}

fn letter(kind: ConversionKind) -> &'static str {
    use ConversionKind as K;
    match kind {
        K::Signed => "d",
        K::Unsigned => "u",
        K::HexLower => "x",
        K::HexUpper => "X",
        K::Octal => "o",
        K::Char => "c",
        K::Pointer => "p",
        K::Str => "s",
        K::Bytes => "r",
        K::BytesHexEscaped => "rx",
        K::BytesHex => "rh",
        K::Gfp => "gr",
    }
}

/// `print(x)`, `print(@m[, top[, div]])`, `print(@m[key])`.
pub fn print(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    if let ast::ExprKind::Map(name, keys) = &call.args[0].kind {
        let id = c.maps.map_id(name, call.args[0].span);
        let value = c.maps.map_value_type(id);
        if matches!(value, Type::Error) && c.maps.get(id).declared.is_none() {
            undefined::report_undefined(c, id, call.args[0].span);
        }
        match keys {
            None => return print_map(c, id, call),
            // One number prints as that number; the others as the map's entry.
            Some(keys) if matches!(value, Type::Agg(agg) if printed_as_entry(agg)) => {
                let key = maps::map_key(c, id, Some(keys), call.args[0].span);
                let kind = ActionKind::PrintMapEntry { map: id };
                return report(c, kind, key.into_iter().map(|k| *k).collect(), call.span);
            }
            Some(_) => {}
        }
    }
    if call.args.len() > 1 {
        for arg in call.args {
            let _ = c.value(arg);
        }
        return c.error_expr(
            ARGUMENT_COUNT,
            call.span,
            format!("Non-map print() only takes 1 argument, {} found", call.args.len()),
        );
    }
    // What it captures, it prints.
    if let ast::ExprKind::Call(name, args) = &call.args[0].kind
        && &*name.text == "lens"
        && args.len() == 1
    {
        return lens(c, Call { name, args, span: call.span });
    }
    let value = as_written(&call.args[0], c.expr(&call.args[0]));
    let value = match value.ty {
        Type::Agg(_) => maps::aggregate_as_value(c, value),
        Type::Void => c.error_expr(ARGUMENT_TYPE, call.span, "none type passed to print() is not printable"),
        _ => value,
    };
    report(c, ActionKind::PrintValue, vec![value], call.span)
}

/// The whole struct at a pointer, as one value that is looked into later.
pub fn lens(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let pointer = &call.args[0];
    let value = match c.expr(pointer) {
        whole if matches!(whole.ty, Type::Struct(_)) => whole,
        _ => {
            let whole = ast::ExprKind::Unary(ast::UnaryOp::Deref, Box::new(pointer.clone()));
            c.expr(&ast::Expr { kind: whole, span: pointer.span })
        }
    };
    match &value.ty {
        Type::Error => return value,
        Type::Struct(_) => {}
        other => {
            let message =
                format!("lens() captures a struct: this points to '{}'", type_text::inferred(&c.types, other));
            return c.error_expr(ARGUMENT_TYPE, call.span, message);
        }
    }
    let bytes = c.size_of(&value.ty);
    if bytes > MOST_CAPTURED {
        let message = format!("lens() captures {MOST_CAPTURED} bytes at most, and this struct has {bytes}");
        return c.error_expr(ARGUMENT_TYPE, call.span, message);
    }
    match value.kind {
        ExprKind::Deref(pointer) => capture(c, *pointer, value.ty, call),
        _ => report(c, ActionKind::PrintValue, vec![value], call.span),
    }
}

/// Reports the struct at a pointer. Where nothing can be read, zeros would pass for its members: that is said instead.
fn capture(c: &mut Checker<'_>, pointer: Expr, ty: Type, call: Call<'_>) -> Expr {
    let span = call.span;
    let local = c.frame.temporary(pointer.ty.clone(), span);
    let at = Expr::new(ExprKind::Local(local), pointer.ty.clone(), span);
    let set = Statement { kind: StatementKind::SetLocal(local, pointer), span };
    let readable = intrinsic::intrinsic(Intrinsic::IsReadable, vec![at.clone()], Type::Bool, call);
    let whole = Expr::new(ExprKind::Deref(Box::new(at.clone())), ty, span);
    let captured = effect(report(c, ActionKind::PrintValue, vec![whole], span));
    let unreadable = match crate::lang::format::parse_format("lens(): nothing can be read at %p", span) {
        Ok(format) => {
            let warning = ActionKind::Printf { format, sink: PrintfSink::Warning };
            effect(report(c, warning, vec![at], span))
        }
        Err(_) => Block::default(),
    };
    let choice = StatementKind::If(readable, captured, unreadable);
    wrap(vec![set, Statement { kind: choice, span }], Expr::new(ExprKind::Int(0), Type::Void, span), span)
}

/// `kptr(n)` and `uptr(n)` of a number say how its memory is to be read; alone they print as that number.
fn as_written(argument: &ast::Expr, value: Expr) -> Expr {
    let ast::ExprKind::Call(name, arguments) = &argument.kind else { return value };
    if arguments.iter().any(|of| matches!(of.kind, ast::ExprKind::Cast(..))) {
        return value;
    }
    match value {
        Expr { kind: ExprKind::Int(number), ty: Type::Ptr { .. }, span } if is_space(&name.text) => {
            Expr::new(ExprKind::Int(number), Type::Int { size: 8, signed: false }, span)
        }
        Expr { kind: ExprKind::Cast(inner), ty: Type::Ptr { .. }, .. }
            if is_space(&name.text) && matches!(inner.ty, Type::Int { .. }) =>
        {
            *inner
        }
        other => other,
    }
}

fn is_space(name: &str) -> bool {
    matches!(name, "kptr" | "uptr")
}

/// Aggregations that are more than one number.
const fn printed_as_entry(agg: Aggregation) -> bool {
    matches!(
        agg,
        Aggregation::Stats { .. } | Aggregation::Hist { .. } | Aggregation::LHist { .. } | Aggregation::TSeries { .. }
    )
}

fn print_map(c: &mut Checker<'_>, map: MapId, call: Call<'_>) -> Expr {
    let number = |c: &mut Checker<'_>, n: usize| {
        if call.args.len() <= n {
            return 0;
        }
        match calls::literal_argument(c, call, n) {
            // No limit.
            Some(v) if v < 0 && n == 1 => 0,
            Some(v) if v < 0 => {
                c.error(ARGUMENT_TYPE, call.args[n].span, "a negative number makes no sense here");
                0
            }
            v => v.unwrap_or(0) as u64,
        }
    };
    let (top, div) = (number(c, 1), number(c, 2));
    if matches!(c.maps.map_value_type(map), Type::Agg(Aggregation::TSeries { .. })) && call.args.len() > 1 {
        c.error(AGGREGATION, call.span, "time series are printed without limit and divisor");
    }
    if matches!(c.maps.map_value_type(map), Type::Agg(Aggregation::Stats { .. })) && call.args.len() > 1 {
        let message = "print()'s top and div arguments are ignored when used on stats() maps.";
        c.warn(WITHOUT_EFFECT, call.span, message, None);
    }
    if c.frame.program_loops > 0 {
        let message = "Due to it's asynchronous nature using 'print()' in a loop can lead to unexpected behavior. The \
                       map will likely be updated before the runtime can 'print' it.";
        c.warn(PRINTED_IN_LOOP, call.span, message, None);
    }
    report(c, ActionKind::PrintMap { map, top, div }, Vec::new(), call.span)
}

pub fn clear(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    match map::map_argument(c, call, 0) {
        Some(map) => {
            known_map(c, map, call);
            report(c, ActionKind::Clear(map), Vec::new(), call.span)
        }
        None => Checker::error_value(call.span),
    }
}

pub fn zero(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    match map::map_argument(c, call, 0) {
        Some(map) => {
            known_map(c, map, call);
            report(c, ActionKind::Zero(map), Vec::new(), call.span)
        }
        None => Checker::error_value(call.span),
    }
}

fn known_map(c: &mut Checker<'_>, map: MapId, call: Call<'_>) {
    if matches!(c.maps.map_value_type(map), Type::Error) && c.maps.get(map).declared.is_none() {
        undefined::report_undefined(c, map, call.args[0].span);
    }
}

/// `exit([code])`: reports and returns.
pub fn exit(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let code = if call.args.is_empty() {
        Expr::new(ExprKind::Int(0), Type::I64, call.span)
    } else {
        let code = calls::integer_argument(c, call, 0);
        if let Some(n) = code.as_int().map(|n| n as i64).filter(|n| !(-128..256).contains(n)) {
            c.error(OUT_OF_RANGE, code.span, format!("an exit code has 8 bits: {n} would be told as {}", n & 0xff));
        }
        convert_scalar(code, &Type::I64)
    };
    let report = report(c, ActionKind::Exit, vec![code], call.span);
    then_return(c, report, call.span)
}

/// A report after which the probe ends.
pub fn then_return(c: &mut Checker<'_>, report: Expr, span: Span) -> Expr {
    if c.frame.result.is_some() {
        return report;
    }
    let mut statements = effect(report).statements;
    statements.push(Statement { kind: StatementKind::Return(None), span });
    wrap(statements, Expr::new(ExprKind::Int(0), Type::Void, span), span)
}

/// `time([format])`.
pub fn time(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let format: Option<Arc<str>> =
        if call.args.is_empty() { Some("%H:%M:%S\n".into()) } else { calls::string_argument(c, call, 0) };
    match format {
        Some(format) => report(c, ActionKind::Time(format), Vec::new(), call.span),
        None => Checker::error_value(call.span),
    }
}

/// `join(argv[, separator])`.
pub fn join(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let argv = c.value(&call.args[0]);
    let separator = if call.args.len() > 1 { calls::string_argument(c, call, 1) } else { Some(" ".into()) };
    let Some(separator) = separator else { return Checker::error_value(call.span) };
    if !argv.ty.is_scalar() && !matches!(argv.ty, Type::Error) {
        let text = type_text::text(&c.types, &argv.ty);
        return intrinsic::bad_argument(c, call, argv.span, "an array of strings, as argv is", &text);
    }
    let space = space::of_address(c, &argv.ty);
    let text = crate::lang::bt::check::literal::pointer(Type::Int { size: 1, signed: true }, space);
    let argv = convert_scalar(argv, &crate::lang::bt::check::literal::pointer(text, space));
    let buffer = intrinsic::intrinsic(Intrinsic::JoinArgs, vec![argv], Type::Buf { size: JOIN_BYTES }, call);
    report(c, ActionKind::Join(separator), vec![buffer], call.span)
}

/// `skboutput(file, skb, length, offset)`.
pub fn skboutput(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let file = calls::string_argument(c, call, 0);
    let skb = c.value(&call.args[1]);
    if let Type::Ptr { to, .. } = &skb.ty {
        // Where the packet's bytes are is told by a field that the script need not name.
        c.types.complete(to);
    }
    let (length, offset) = (calls::integer_argument(c, call, 2), calls::integer_argument(c, call, 3));
    let Some(file) = file else { return Checker::error_value(call.span) };
    let size = c.config.max_strlen.max(2048);
    let bytes = intrinsic::intrinsic(Intrinsic::SkbBytes, vec![skb, length, offset], Type::Buf { size }, call);
    let done = report(c, ActionKind::SkbOutput(file), vec![bytes], call.span);
    // The packet is written by whoever reads the report: here it always succeeds.
    wrap(effect(done).statements, Expr::new(ExprKind::Int(0), Type::U32, call.span), call.span)
}
