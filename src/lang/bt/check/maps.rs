//! Maps: what each is, how it is read and written.

pub mod table;
pub mod undefined;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::{
    AGGREGATION, DUPLICATE, KEY_MISMATCH, NEEDS_LITERAL, OPERAND_TYPE, OUT_OF_RANGE, TYPE_MISMATCH, UNKNOWN_NAME,
};
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, MapId, MapStorage, StatementKind, UnaryOp};
use crate::lang::types::{Aggregation, Type};

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::hoisting::{walk_block, walk_expr};
use crate::lang::bt::check::join::{infer_type, join, promote, smallest, unknown};
use crate::lang::bt::check::literal::{constant, convert_scalar};
use crate::lang::bt::check::maps::table::reduction;
use crate::lang::bt::check::type_text::aggregation_text;
use crate::lang::bt::check::{strict, suggest, type_text};

/// Numbers all maps in the order of their names, which is the order they are printed in.
pub fn name_maps(c: &mut Checker<'_>, script: &ast::Script) {
    let mut names: BTreeMap<Arc<str>, (Span, bool)> = BTreeMap::new();
    let mut look = |e: &ast::Expr| {
        if let ast::ExprKind::Map(name, keys) = &e.kind {
            names.entry(name.clone()).or_insert((e.span, false)).1 |= keys.is_some();
        }
    };
    for item in &script.items {
        match item {
            ast::Item::Probe(probe) => {
                probe.predicate.iter().for_each(|e| walk_expr(e, &mut look));
                walk_block(&probe.body, &mut look);
            }
            ast::Item::Function(function) => {
                walk_block(&function.body, &mut look);
            }
            _ => {}
        }
    }
    for item in &script.items {
        if let ast::Item::MapDecl(decl) = item {
            names.entry(decl.name.text.clone()).or_insert((decl.name.span, false));
        }
    }
    for (name, (span, indexed)) in names {
        let id = c.maps.id(&name, span);
        c.maps.get_mut(id).indexed = indexed;
    }
}

/// `let @m = lruhash(100);` at the top of the script.
pub fn read_map_declarations(c: &mut Checker<'_>, script: &ast::Script) {
    for item in &script.items {
        if let ast::Item::MapDecl(decl) = item {
            declare_map(c, decl);
        }
    }
}

fn declare_map(c: &mut Checker<'_>, decl: &ast::MapDecl) {
    let storage = match &*decl.kind.text {
        "hash" => MapStorage::Hash,
        "lruhash" => MapStorage::LruHash,
        "percpuhash" => MapStorage::PerCpuHash,
        "percpulruhash" => MapStorage::PerCpuLruHash,
        "percpuarray" => MapStorage::Auto,
        other => {
            let kinds = ["hash", "lruhash", "percpuhash", "percpulruhash"];
            let help = suggest::did_you_mean(other, kinds).unwrap_or_else(|| format!("one of: {}", kinds.join(", ")));
            c.error_help(UNKNOWN_NAME, decl.kind.span, format!("Invalid bpf map type: {other}"), Some(help));
            MapStorage::Auto
        }
    };
    let size = match decl.size.kind {
        ast::ExprKind::Int(n) => n,
        _ => {
            c.error(NEEDS_LITERAL, decl.size.span, "a map's size must be a number");
            1
        }
    };
    if size == 0 || size > 1 << 26 {
        c.error(OUT_OF_RANGE, decl.size.span, "a map's size must be from 1 to 67108864");
    }
    let id = c.maps.id(&decl.name.text, decl.name.span);
    let before = c.maps.get(id).declared;
    if let Some(before) = before {
        let diagnostic =
            Diagnostic::error(DUPLICATE, decl.name.span, format!("`{}` is declared twice", decl.name.text))
                .label(before, "first here");
        c.push(diagnostic);
    }
    let map = c.maps.get_mut(id);
    map.declared = Some(decl.span);
    map.storage = storage;
    map.capacity = Some(size.clamp(1, 1 << 26) as u32);
}

/// The key of an access, in the map's key type.
pub fn map_key(c: &mut Checker<'_>, id: MapId, keys: Option<&[ast::Expr]>, span: Span) -> Option<Box<Expr>> {
    let keys = keys.unwrap_or(&[]);
    let mut values: Vec<Expr> = keys.iter().map(|k| c.value(k)).collect();
    for value in &values {
        // A struct is printed with all its fields.
        c.types.complete(&value.ty);
    }
    let key = match values.len() {
        0 => None,
        1 => values.pop(),
        _ => {
            let ty = Type::Tuple(values.iter().map(|e| e.ty.clone()).collect());
            Some(Expr::new(ExprKind::Tuple(values), ty, span))
        }
    };
    typed_key(c, id, key, span)
}

/// Joins a key to the map's key type.
fn typed_key(c: &mut Checker<'_>, id: MapId, key: Option<Expr>, span: Span) -> Option<Box<Expr>> {
    let new = key.as_ref().map_or(Type::Void, infer_type);
    if matches!(new, Type::Agg(_)) {
        let text = type_text::text(&c.types, &new);
        c.error(KEY_MISMATCH, span, format!("{text} can't be a key"));
        return None;
    }
    let known = c.maps.get(id).key.clone();
    let joined = match &known {
        None => Some(new.clone()),
        Some(Type::Void) => (new == Type::Void).then_some(Type::Void),
        Some(_) if new == Type::Void => None,
        Some(known) => join(known, &new),
    };
    let Some(joined) = joined else {
        report_key(c, id, &new, span);
        return None;
    };
    if known.as_ref() != Some(&joined) {
        let first = known.is_none();
        let map = c.maps.get_mut(id);
        map.key = Some(joined.clone());
        if first {
            map.key_span = span;
        }
        c.changed = true;
    }
    if let Some(key) = &key {
        strict::warn_cast(c, key, &smallest(&joined));
    }
    key.map(|key| Box::new(c.coerce(key, &promote(&joined))))
}

fn report_key(c: &mut Checker<'_>, id: MapId, new: &Type, span: Span) {
    let map = c.maps.get(id);
    let (name, first) = (map.name.clone(), map.key_span);
    let known = map.key.clone().unwrap_or(Type::Void);
    let (is, was) = (type_text::inferred(&c.types, new), type_text::inferred(&c.types, &known));
    let message = match (new, &known) {
        (Type::Void, _) => format!(
            "{name} used as a map without an explicit key (scalar map), previously used with an explicit key \
             (non-scalar map)"
        ),
        (_, Type::Void) => format!(
            "{name} used as a map with an explicit key (non-scalar map), previously used without an explicit \
             key (scalar map)"
        ),
        _ => format!(
            "Argument mismatch for {name}: trying to access with arguments: '{is}' when map expects arguments: \
             '{was}'"
        ),
    };
    let diagnostic = Diagnostic::error(KEY_MISMATCH, span, message).label(first, "first used here");
    c.push(diagnostic);
}

/// Declared kinds that can't hold what the script puts into their maps: aggregations have a value on each CPU, all
/// others have one.
pub fn check_storage(c: &mut Checker<'_>) {
    let mut found = Vec::new();
    for map in c.maps.all() {
        let each = matches!(map.storage, MapStorage::PerCpuHash | MapStorage::PerCpuLruHash);
        if map.storage == MapStorage::Auto || unknown(&map.value) || each == matches!(map.value, Type::Agg(_)) {
            continue;
        }
        let (declared, fits) = match map.storage {
            MapStorage::Hash => ("hash", "percpuhash"),
            MapStorage::LruHash => ("lruhash", "percpulruhash"),
            MapStorage::PerCpuHash => ("percpuhash", "hash"),
            _ => ("percpulruhash", "lruhash"),
        };
        let message =
            format!("Incompatible map types. Type from declaration: {declared}. Type from value/key type: {fits}");
        let diagnostic = Diagnostic::error(TYPE_MISMATCH, map.value_span, message);
        let declared = map.declared.unwrap_or(map.span);
        let help = format!("declare `{}` as {fits}", map.name);
        found.push(diagnostic.label(declared, "declared here").help(help));
    }
    for diagnostic in found {
        c.push(diagnostic);
    }
}

/// `@m` and `@m[key]` as values. Aggregations keep their type: `value` turns them to numbers.
pub fn map_get(c: &mut Checker<'_>, name: &Arc<str>, keys: Option<&[ast::Expr]>, span: Span) -> Expr {
    let id = c.maps.map_id(name, span);
    let key = map_key(c, id, keys, span);
    let ty = c.maps.map_value_type(id);
    if unknown(&ty) {
        c.maps.get_mut(id).asked = true;
        return Checker::error_value(span);
    }
    Expr::new(ExprKind::MapGet { map: id, key }, ty, span)
}

/// An aggregation read in an expression: the reduction over all CPUs.
pub fn aggregate_as_value(c: &mut Checker<'_>, e: Expr) -> Expr {
    let Type::Agg(agg) = e.ty else { return e };
    match reduction(agg) {
        Some(ty) => Expr { ty, ..e },
        None => {
            let what = aggregation_text(agg);
            c.error_help(
                AGGREGATION,
                e.span,
                format!("a {what} is no single value"),
                Some("print the map, or keep the number in another map".into()),
            );
            Checker::error_value(e.span)
        }
    }
}

/// Joins a value to the map's type; gives it in that type.
fn map_value(c: &mut Checker<'_>, id: MapId, value: Expr) -> Expr {
    c.maps.get_mut(id).written = true;
    let known = c.maps.get(id).value.clone();
    let new = infer_type(&value);
    match join(&known, &new) {
        Some(joined) if !matches!(joined, Type::Agg(_)) => {
            learn_value(c, id, &known, &joined, value.span);
            strict::warn_cast(c, &value, &smallest(&joined));
            c.coerce(value, &promote(&joined))
        }
        _ => {
            let place = c.assigning.unwrap_or(value.span);
            report_value(c, id, &known, &new, place);
            Checker::error_value(value.span)
        }
    }
}

fn learn_value(c: &mut Checker<'_>, id: MapId, known: &Type, joined: &Type, span: Span) {
    if known != joined {
        let map = c.maps.get_mut(id);
        if matches!(known, Type::Error) {
            map.value_span = span;
        }
        map.value = joined.clone();
        c.changed = true;
    }
}

fn report_value(c: &mut Checker<'_>, id: MapId, known: &Type, new: &Type, span: Span) {
    // What is wrong with the value was told already.
    if matches!(new, Type::Error) {
        return;
    }
    let map = c.maps.get(id);
    let (name, first) = (map.name.clone(), map.value_span);
    let (was, is) = (type_text::inferred(&c.types, known), type_text::inferred(&c.types, new));
    let message = match (known, new) {
        (Type::Agg(Aggregation::Hist { .. }), Type::Agg(Aggregation::Hist { .. })) => {
            "Different bits in a single hist unsupported".to_owned()
        }
        (Type::Agg(Aggregation::LHist { .. }), Type::Agg(Aggregation::LHist { .. })) => {
            "Different lhist bounds in a single map unsupported".to_owned()
        }
        (Type::Agg(Aggregation::TSeries { .. }), Type::Agg(Aggregation::TSeries { .. })) => {
            "Different tseries bounds in a single map unsupported".to_owned()
        }
        _ => format!(
            "Type mismatch for {name}: trying to assign value of type '{is}' when map already has a type '{was}'"
        ),
    };
    let diagnostic = Diagnostic::error(TYPE_MISMATCH, span, message).label(first, "first here").help("use another map");
    c.push(diagnostic);
}

/// `@m[key] = value`.
pub fn set_map(
    c: &mut Checker<'_>,
    name: &Arc<str>,
    keys: Option<&[ast::Expr]>,
    span: Span,
    value: Expr,
) -> StatementKind {
    let id = c.maps.map_id(name, span);
    let key = map_key(c, id, keys, span).map(|k| *k);
    if let Type::Struct(_) = value.ty {
        c.types.complete(&value.ty);
    }
    let value = map_value(c, id, value);
    StatementKind::SetMap { map: id, key, value }
}

/// `@m[key] = count()` and its kin.
pub fn aggregate(
    c: &mut Checker<'_>,
    target: (&Arc<str>, Option<&[ast::Expr]>, Span),
    agg: Aggregation,
    value: Option<Expr>,
    weight: Option<Expr>,
    span: Span,
) -> StatementKind {
    let (name, keys, target_span) = target;
    let id = c.maps.map_id(name, target_span);
    let key = map_key(c, id, keys, target_span).map(|k| *k);
    c.maps.get_mut(id).written = true;
    let known = c.maps.get(id).value.clone();
    let new = Type::Agg(agg);
    match join(&known, &new) {
        Some(joined) => learn_value(c, id, &known, &joined, span),
        None => report_value(c, id, &known, &new, span),
    }
    StatementKind::Aggregate { map: id, key, value, weight }
}

/// `@m++`, `@m += e`: in place.
pub fn map_step(
    c: &mut Checker<'_>,
    name: &Arc<str>,
    keys: Option<&[ast::Expr]>,
    target_span: Span,
    delta: Expr,
    postfix: bool,
    span: Span,
) -> Expr {
    let id = c.maps.map_id(name, target_span);
    let key = map_key(c, id, keys, target_span);
    let known = c.maps.get(id).value.clone();
    c.maps.get_mut(id).written = true;
    c.maps.get_mut(id).stepped = true;
    match &known {
        // A pointer steps by elements and a flag may be counted: both are read, changed and set.
        Type::Error | Type::Int { .. } => {
            let typed = map_value(c, id, delta);
            let ty = c.maps.map_value_type(id);
            let delta = convert_scalar(typed, &ty);
            Expr::new(ExprKind::MapStep { map: id, key, delta: Box::new(delta), postfix }, ty, span)
        }
        other => {
            let text = type_text::text(&c.types, other);
            c.error_expr(OPERAND_TYPE, span, format!("`{name}` holds {text}, which can't be counted up or down"))
        }
    }
}

/// The negative of a step, for `-=`.
pub fn negate(e: Expr) -> Expr {
    let span = e.span;
    if let Some(v) = e.as_int() {
        return constant((v as i64).wrapping_neg(), span);
    }
    let e = convert_scalar(e, &Type::I64);
    Expr::new(ExprKind::Unary(UnaryOp::Neg, Box::new(e)), Type::I64, span)
}
