//! Places of a script that take words of their own: settings, types, what a loop runs over.

use super::context::{Context, each_block};
use crate::lang::bt::ast::{ForOver, Item, StatementKind};
use crate::lang::bt::lexer::TokenKind as T;

/// Types by name, each with what it is.
pub(super) const TYPES: &[(&str, &str)] = &[
    ("int8", "1 byte, signed"),
    ("int16", "2 bytes, signed"),
    ("int32", "4 bytes, signed"),
    ("int64", "8 bytes, signed"),
    ("uint8", "1 byte, unsigned"),
    ("uint16", "2 bytes, unsigned"),
    ("uint32", "4 bytes, unsigned"),
    ("uint64", "8 bytes, unsigned"),
    ("bool", "true or false"),
    ("string", "text; string[64] says how many bytes at most"),
    ("buffer", "bytes of any value"),
    ("inet", "an IP address"),
    ("char", "C's, 1 byte, signed"),
    ("short", "C's, 2 bytes, signed"),
    ("int", "C's, 4 bytes, signed"),
    ("long", "C's, 8 bytes, signed"),
    ("size_t", "C's, 8 bytes, unsigned"),
    ("void", "C's; void * points to anything"),
];

/// In a `config` block: the setting whose value is typed, or the empty text where a name is.
pub(super) fn setting<'t>(context: &Context<'t>, index: Option<usize>) -> Option<&'t str> {
    let mut open = None;
    let end = context.before(index)?;
    for at in (0..=end).rev() {
        match context.kind(at) {
            T::LBrace => {
                open = Some(at);
                break;
            }
            T::RBrace => return None,
            _ => {}
        }
    }
    let head = context.before(open)?;
    let head = if context.kind(head) == T::Assign { context.before(Some(head))? } else { head };
    if context.text(head) != "config" {
        return None;
    }
    Some(match context.kind(end) {
        T::Assign => context.before(Some(end)).map_or("", |name| context.text(name)),
        _ => "",
    })
}

/// Behind the colon of a declared variable or parameter, or of a function's result.
pub(super) fn takes_type(context: &Context<'_>, index: Option<usize>) -> bool {
    let Some(colon) = context.before(index).filter(|i| context.kind(*i) == T::Colon) else { return false };
    let Some(before) = context.before(Some(colon)) else { return false };
    let declared = || context.before(Some(before)).is_some_and(|i| context.text(i) == "let");
    match context.kind(before) {
        T::Variable => !context.in_code() || declared(),
        T::RParen => !context.in_code(),
        _ => false,
    }
}

/// The parts of what a variable holds when it runs over a map.
pub(super) fn loop_parts(item: &Item, variable: &str) -> Option<[(&'static str, &'static str); 2]> {
    let mut over_map = false;
    each_block(item, &mut |block| {
        over_map |= block.statements.iter().any(
            |s| matches!(&s.kind, StatementKind::For { name, over: ForOver::Map(_), .. } if *name.text == *variable),
        );
    });
    over_map.then_some([("0", "the key"), ("1", "the value")])
}
