//! Maps that are read and that nothing tells a type of.

use crate::lang::bt::ast;
use crate::lang::codes::check::UNDEFINED_MAP;
use crate::lang::diagnostic::has_errors;
use crate::lang::source::Span;
use crate::lang::typed::MapId;
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;

/// A map that is asked for as a whole but that nothing writes. What is written with a mistake has been told of.
pub fn report_undefined(c: &mut Checker<'_>, id: MapId, span: Span) {
    if c.maps.get(id).written && has_errors(&c.diagnostics) {
        return;
    }
    let name = c.maps.get(id).name.clone();
    let help = c.maps.written_map_help(&name);
    c.error_help(UNDEFINED_MAP, span, format!("Undefined map: {name}"), Some(help));
}

/// A map with keys that is named without one stands for the type of its keys where a type is asked for.
pub fn key_type_of(c: &mut Checker<'_>, e: &ast::Expr) -> Option<Type> {
    let ast::ExprKind::Map(name, None) = &e.kind else { return None };
    let id = c.maps.map_id(name, e.span);
    c.maps.is_keyed(id).then(|| c.maps.get(id).key.clone().unwrap_or(Type::Error))
}
