//! Function calls: what each function takes and gives, and the subroutines.

use super::actions::speculation;
use super::checker::Checker;
use super::code::{builtin, call, cast, int};
use super::prototypes::Class::{Action, Aggregating, Subroutine};
use super::prototypes::function;
use super::value::{Value, error_value, is_int, symbol_of, word};
use super::{
    addresses, cleanpath, files, operators, processes, prototypes, registers, scratch, semantic, strings, text_bytes,
};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Intrinsic, SymbolForm};
use crate::lang::types::{StackMode, Type};

/// A call within an expression.
pub fn call_expr(c: &mut Checker<'_>, callee: &Ast, items: &[Ast], span: Span) -> Value {
    let Kind::Ident(name) = &callee.kind else {
        return c.wrong(tags::D_FUNC_IDENT, span, "function designator is not of function type");
    };
    if let Some(value) = semantic::call_of_row(c, name, items, span) {
        return value;
    }
    let Some(f) = function(name) else {
        let known = c.variables.functions.contains(name);
        if known || super::builtins::is_builtin(name) || c.inlines.contains_key(name) {
            c.error(tags::D_FUNC_IDENT, span, format!("{name} can't be called"));
        } else {
            c.error(tags::D_FUNC_UNDEF, span, format!("undefined function name: {name}"));
        }
        return error_value(span);
    };
    if !prototypes::count_arguments(c, f, items.len(), span) {
        return error_value(span);
    }
    match (f.class, f.name) {
        (Action, "stack" | "ustack" | "jstack") => stack(c, f.name, items, span),
        (Action, _) => {
            // An action gives nothing.
            Value::new(Expr::new(ExprKind::Int(0), Type::Void, span))
        }
        (Aggregating, _) => {
            c.wrong(tags::D_CG_EXPR, span, format!("{}( ) may only be assigned to an aggregation", f.name))
        }
        (Subroutine, _) => {
            let Some(arguments) = prototypes::arguments(c, f, items) else { return error_value(span) };
            subroutine(c, f.name, arguments, span)
        }
    }
}

pub fn stack(c: &mut Checker<'_>, name: &str, items: &[Ast], span: Span) -> Value {
    let user = name != "stack";
    let mut depth = match name {
        "stack" => c.options.stackframes,
        "ustack" => c.options.ustackframes,
        // Functions of a machine are known by the map that it keeps for profilers.
        _ => c.options.jstackframes,
    };
    for (number, item) in items.iter().enumerate() {
        let value = c.expr(item);
        if !value.is_error() && !is_int(value.ty()) {
            prototypes::mismatch(c, &format!("{name}( )"), number + 1, "uint32_t", &value, item.span);
            continue;
        }
        let constant = value.e.as_int();
        match (number, constant) {
            (0, Some(n)) if (1..=i32::MAX as u64).contains(&n) => depth = n.min(1024) as u16,
            (0, _) => {
                let tag = if user { tags::D_USTACK_FRAMES } else { tags::D_STACK_SIZE };
                c.error(tag, item.span, format!("{name}( ) argument #1 must be a non-zero positive integer constant"));
            }
            (_, Some(n)) if i64::try_from(n).is_ok() => {}
            _ => {
                c.error(
                    tags::D_USTACK_STRSIZE,
                    item.span,
                    format!("{name}( ) argument #2 must be a positive integer constant"),
                );
            }
        }
    }
    depth = registers::frames_of(c, user, depth);
    let mode = StackMode::Bpftrace;
    if user {
        let ty = Type::UStack { mode, depth };
        Value::new(call(Intrinsic::UStack, Vec::new(), ty, span))
    } else {
        let ty = Type::KStack { mode, depth };
        Value::new(call(Intrinsic::KStack, Vec::new(), ty, span))
    }
}

fn subroutine(c: &mut Checker<'_>, name: &str, mut arguments: Vec<Value>, span: Span) -> Value {
    let string = c.string();
    let call = |which, items: Vec<Expr>, ty: Type| Value::new(call(which, items, ty, span));
    match name {
        "strlen" => {
            let text = c.text(arguments.remove(0).e);
            call(Intrinsic::StrLen, vec![text], Type::U64)
        }
        "strjoin" => {
            let second = c.text(arguments.remove(1).e);
            let first = c.text(arguments.remove(0).e);
            call(Intrinsic::StrConcat, vec![first, second], string)
        }
        "index" if arguments.len() == 2 => {
            let needle = c.text(arguments.remove(1).e);
            let text = c.text(arguments.remove(0).e);
            strings::index_of(c, text, needle, span)
        }
        "index" => strings::index_from(c, arguments, span),
        "substr" => strings::substr(c, arguments, span),
        "strstr" => {
            let part = c.text(arguments.remove(1).e);
            strings::text_from(c, arguments.remove(0).e, part, span)
        }
        "strchr" if let Some(part) = strings::one_character(c, &arguments[1]) => {
            strings::text_from(c, arguments.remove(0).e, part, span)
        }
        "strchr" | "strrchr" => {
            let character = arguments.remove(1);
            text_bytes::rest_at_character(c, name == "strrchr", arguments.remove(0), character, span)
        }
        "basename" | "dirname" => text_bytes::part_of_path(c, name == "dirname", arguments.remove(0), span),
        "lltostr" => text_bytes::number_as_text(c, arguments.remove(0), span),
        "strtok" => {
            let delimiters = arguments.remove(1);
            text_bytes::next_word(c, arguments.remove(0), delimiters, span)
        }
        "inet_ntop" => addresses::inet_ntop(c, arguments, span),
        "link_ntop" => addresses::link_ntop(c, arguments, span),
        "rindex" => text_bytes::last_index(c, arguments, span),
        "d_path" => files::path_of_entry(c, arguments.remove(0), span),
        "cleanpath" => cleanpath::clean_path(c, arguments.remove(0), span),
        "progenyof" => processes::progenyof(c, arguments.remove(0), span),
        _ if name.starts_with("mutex_") || name.starts_with("rw_") => {
            processes::lock(c, name, arguments.remove(0), span)
        }
        "alloca" => scratch::alloca(c, arguments.remove(0), span),
        "bcopy" => scratch::bcopy(c, arguments, span),
        "copyin" => scratch::copyin(c, arguments, span),
        "copyinto" => scratch::copyinto(c, arguments, span),
        "speculation" => speculation::new_speculation(c, span),
        "inet_ntoa" => addresses::network_address(c, 2, arguments.remove(0)),
        "inet_ntoa6" => addresses::inet_ntoa6(c, arguments, span),
        "copyinstr" => strings::copyinstr(c, arguments),
        "rand" => {
            let e = builtin(crate::lang::typed::Builtin::Rand, Type::U32, span);
            Value::new(cast(e, &Type::I32))
        }
        "htons" | "ntohs" => swapped(arguments.remove(0), 2),
        "htonl" | "ntohl" => swapped(arguments.remove(0), 4),
        "htonll" | "ntohll" => swapped(arguments.remove(0), 8),
        "getmajor" => shifted(c, arguments.remove(0), 20, u64::from(u32::MAX >> 20)),
        "getminor" => shifted(c, arguments.remove(0), 0, (1 << 20) - 1),
        "sym" | "func" | "mod" | "usym" | "ufunc" | "umod" | "uaddr" => symbol(name, arguments.remove(0), span),
        _ => {
            c.unsupported(span, &format!("{name}( )"));
            error_value(span)
        }
    }
}

/// An address that prints as what it is of.
fn symbol(name: &str, address: Value, span: Span) -> Value {
    let address = Value { e: Expr { span, ..address.e }, ..address };
    let form = match name {
        "mod" | "umod" => SymbolForm::Object,
        "uaddr" => SymbolForm::WithOffset,
        _ => SymbolForm::InObject,
    };
    Value::new(symbol_of(address.e, name.starts_with('u'), form))
}

fn swapped(value: Value, size: u8) -> Value {
    let span = value.span();
    let ty = Type::Int { size, signed: false };
    let e = cast(value.e, &ty);
    Value::new(call(Intrinsic::Bswap, vec![e], ty, span))
}

fn shifted(c: &mut Checker<'_>, value: Value, by: i64, mask: u64) -> Value {
    use crate::lang::d::ast::Binary;
    let span = value.span();
    let number = Value::new(cast(word(value.e), &Type::U64));
    let moved = operators::operate(c, Binary::Shr, number, Value::new(int(by, Type::I32, span)), span);
    let masked = operators::operate(c, Binary::BitAnd, moved, Value::new(int(mask as i64, Type::U64, span)), span);
    Value::new(cast(masked.e, &Type::U32))
}
