//! Maps: what each is, how it is read and written.

pub mod table;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::{
    AGGREGATION, DUPLICATE, KEY_MISMATCH, NEEDS_LITERAL, OPERAND_TYPE, OUT_OF_RANGE, TYPE_MISMATCH, UNDEFINED_MAP,
    UNKNOWN_NAME,
};
use crate::lang::diagnostic::{Diagnostic, has_errors};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, MapId, MapStorage, StatementKind, UnaryOp};
use crate::lang::types::{Aggregation, Type};

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::join::{infer_type, join, promote, smallest, unknown};
use crate::lang::bt::check::literal::{constant, convert_scalar};
use crate::lang::bt::check::maps::table::reduction;
use crate::lang::bt::check::suggest;
use crate::lang::bt::check::text::aggregation_text;

impl Checker<'_> {
    /// Numbers all maps in the order of their names, which is the order they are printed in.
    pub fn name_maps(&mut self, script: &ast::Script) {
        let mut names: BTreeMap<Arc<str>, (Span, bool)> = BTreeMap::new();
        let mut look = |e: &ast::Expr| {
            if let ast::ExprKind::Map(name, keys) = &e.kind {
                names.entry(name.clone()).or_insert((e.span, false)).1 |= keys.is_some();
            }
        };
        for item in &script.items {
            match item {
                ast::Item::Probe(probe) => {
                    probe.predicate.iter().for_each(|e| crate::lang::bt::check::hoisting::walk_expr(e, &mut look));
                    crate::lang::bt::check::hoisting::walk_block(&probe.body, &mut look);
                }
                ast::Item::Function(function) => {
                    crate::lang::bt::check::hoisting::walk_block(&function.body, &mut look);
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
            let id = self.maps.id(&name, span);
            self.maps.get_mut(id).indexed = indexed;
        }
    }

    /// `let @m = lruhash(100);` at the top of the script.
    pub fn read_map_declarations(&mut self, script: &ast::Script) {
        for item in &script.items {
            if let ast::Item::MapDecl(decl) = item {
                self.declare_map(decl);
            }
        }
    }

    fn declare_map(&mut self, decl: &ast::MapDecl) {
        let storage = match &*decl.kind.text {
            "hash" => MapStorage::Hash,
            "lruhash" => MapStorage::LruHash,
            "percpuhash" => MapStorage::PerCpuHash,
            "percpulruhash" => MapStorage::PerCpuLruHash,
            "percpuarray" => MapStorage::Auto,
            other => {
                let kinds = ["hash", "lruhash", "percpuhash", "percpulruhash"];
                let help =
                    suggest::did_you_mean(other, kinds).unwrap_or_else(|| format!("one of: {}", kinds.join(", ")));
                self.error_help(UNKNOWN_NAME, decl.kind.span, format!("Invalid bpf map type: {other}"), Some(help));
                MapStorage::Auto
            }
        };
        let size = match decl.size.kind {
            ast::ExprKind::Int(n) => n,
            _ => {
                self.error(NEEDS_LITERAL, decl.size.span, "a map's size must be a number");
                1
            }
        };
        if size == 0 || size > 1 << 26 {
            self.error(OUT_OF_RANGE, decl.size.span, "a map's size must be from 1 to 67108864");
        }
        let id = self.maps.id(&decl.name.text, decl.name.span);
        let before = self.maps.get(id).declared;
        if let Some(before) = before {
            let diagnostic =
                Diagnostic::error(DUPLICATE, decl.name.span, format!("`{}` is declared twice", decl.name.text))
                    .label(before, "first here");
            self.push(diagnostic);
        }
        let map = self.maps.get_mut(id);
        map.declared = Some(decl.span);
        map.storage = storage;
        map.capacity = Some(size.clamp(1, 1 << 26) as u32);
    }

    /// The map of a name, marked as used.
    pub fn map_id(&mut self, name: &Arc<str>, span: Span) -> MapId {
        let id = self.maps.id(name, span);
        self.maps.get_mut(id).used = true;
        id
    }

    /// The key of an access, in the map's key type.
    pub fn map_key(&mut self, id: MapId, keys: Option<&[ast::Expr]>, span: Span) -> Option<Box<Expr>> {
        let keys = keys.unwrap_or(&[]);
        let mut values: Vec<Expr> = keys.iter().map(|k| self.value(k)).collect();
        for value in &values {
            // A struct is printed with all its fields.
            self.types.complete(&value.ty);
        }
        let key = match values.len() {
            0 => None,
            1 => values.pop(),
            _ => {
                let ty = Type::Tuple(values.iter().map(|e| e.ty.clone()).collect());
                Some(Expr::new(ExprKind::Tuple(values), ty, span))
            }
        };
        self.typed_key(id, key, span)
    }

    /// Joins a key to the map's key type.
    pub fn typed_key(&mut self, id: MapId, key: Option<Expr>, span: Span) -> Option<Box<Expr>> {
        let new = key.as_ref().map_or(Type::Void, infer_type);
        if matches!(new, Type::Agg(_)) {
            let text = self.type_text(&new);
            self.error(KEY_MISMATCH, span, format!("{text} can't be a key"));
            return None;
        }
        let known = self.maps.get(id).key.clone();
        let joined = match &known {
            None => Some(new.clone()),
            Some(Type::Void) => (new == Type::Void).then_some(Type::Void),
            Some(_) if new == Type::Void => None,
            Some(known) => join(known, &new),
        };
        let Some(joined) = joined else {
            self.report_key(id, &new, span);
            return None;
        };
        if known.as_ref() != Some(&joined) {
            let first = known.is_none();
            let map = self.maps.get_mut(id);
            map.key = Some(joined.clone());
            if first {
                map.key_span = span;
            }
            self.changed = true;
        }
        if let Some(key) = &key {
            self.warn_cast(key, &smallest(&joined));
        }
        key.map(|key| Box::new(self.coerce(key, &promote(&joined))))
    }

    fn report_key(&mut self, id: MapId, new: &Type, span: Span) {
        let map = self.maps.get(id);
        let (name, first) = (map.name.clone(), map.key_span);
        let known = map.key.clone().unwrap_or(Type::Void);
        let (is, was) = (self.inferred_text(new), self.inferred_text(&known));
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
        self.push(diagnostic);
    }

    /// A map's value type as stored: `Error` while unknown.
    pub fn map_value_type(&self, id: MapId) -> Type {
        promote(&self.maps.get(id).value)
    }

    /// Whether a map has keys, as far as uses of it tell so far, or else their syntax.
    pub fn is_keyed(&self, id: MapId) -> bool {
        let map = self.maps.get(id);
        map.key.as_ref().map_or(map.indexed, |key| *key != Type::Void)
    }

    /// Declared kinds that can't hold what the script puts into their maps: aggregations have a value on each CPU, all
    /// others have one.
    pub fn check_storage(&mut self) {
        let mut found = Vec::new();
        for map in self.maps.all() {
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
            self.push(diagnostic);
        }
    }

    /// A map's key type as stored.
    pub fn map_key_type(&self, id: MapId) -> Type {
        self.maps.get(id).key.as_ref().map_or(Type::Error, promote)
    }

    /// `@m` and `@m[key]` as values. Aggregations keep their type: `value` turns them to numbers.
    pub fn map_get(&mut self, name: &Arc<str>, keys: Option<&[ast::Expr]>, span: Span) -> Expr {
        let id = self.map_id(name, span);
        let key = self.map_key(id, keys, span);
        let ty = self.map_value_type(id);
        if unknown(&ty) {
            self.maps.get_mut(id).asked = true;
            return Self::error_value(span);
        }
        Expr::new(ExprKind::MapGet { map: id, key }, ty, span)
    }

    /// A map that is asked for as a whole but that nothing writes. What is written with a mistake has been told of.
    pub fn report_undefined(&mut self, id: MapId, span: Span) {
        if self.maps.get(id).written && has_errors(&self.diagnostics) {
            return;
        }
        let name = self.maps.get(id).name.clone();
        let help = self.written_map_help(&name);
        self.error_help(UNDEFINED_MAP, span, format!("Undefined map: {name}"), Some(help));
    }

    /// What to do about a map that nothing writes.
    pub fn written_map_help(&self, name: &str) -> String {
        let known = self.maps.all().iter().filter(|m| m.written && &*m.name != name).map(|m| &*m.name);
        suggest::did_you_mean(name, known).unwrap_or_else(|| format!("assign it somewhere: `{name} = ...;`"))
    }

    /// An aggregation read in an expression: the reduction over all CPUs.
    pub fn aggregate_as_value(&mut self, e: Expr) -> Expr {
        let Type::Agg(agg) = e.ty else { return e };
        match reduction(agg) {
            Some(ty) => Expr { ty, ..e },
            None => {
                let what = aggregation_text(agg);
                self.error_help(
                    AGGREGATION,
                    e.span,
                    format!("a {what} is no single value"),
                    Some("print the map, or keep the number in another map".into()),
                );
                Self::error_value(e.span)
            }
        }
    }

    /// Joins a value to the map's type; gives it in that type.
    pub fn map_value(&mut self, id: MapId, value: Expr) -> Expr {
        self.maps.get_mut(id).written = true;
        let known = self.maps.get(id).value.clone();
        let new = infer_type(&value);
        match join(&known, &new) {
            Some(joined) if !matches!(joined, Type::Agg(_)) => {
                self.learn_value(id, &known, &joined, value.span);
                self.warn_cast(&value, &smallest(&joined));
                self.coerce(value, &promote(&joined))
            }
            _ => {
                let place = self.assigning.unwrap_or(value.span);
                self.report_value(id, &known, &new, place);
                Self::error_value(value.span)
            }
        }
    }

    fn learn_value(&mut self, id: MapId, known: &Type, joined: &Type, span: Span) {
        if known != joined {
            let map = self.maps.get_mut(id);
            if matches!(known, Type::Error) {
                map.value_span = span;
            }
            map.value = joined.clone();
            self.changed = true;
        }
    }

    fn report_value(&mut self, id: MapId, known: &Type, new: &Type, span: Span) {
        // What is wrong with the value was told already.
        if matches!(new, Type::Error) {
            return;
        }
        let map = self.maps.get(id);
        let (name, first) = (map.name.clone(), map.value_span);
        let (was, is) = (self.inferred_text(known), self.inferred_text(new));
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
        let diagnostic =
            Diagnostic::error(TYPE_MISMATCH, span, message).label(first, "first here").help("use another map");
        self.push(diagnostic);
    }

    /// `@m[key] = value`.
    pub fn set_map(&mut self, name: &Arc<str>, keys: Option<&[ast::Expr]>, span: Span, value: Expr) -> StatementKind {
        let id = self.map_id(name, span);
        let key = self.map_key(id, keys, span).map(|k| *k);
        if let Type::Struct(_) = value.ty {
            self.types.complete(&value.ty);
        }
        let value = self.map_value(id, value);
        StatementKind::SetMap { map: id, key, value }
    }

    /// `@m[key] = count()` and its kin.
    pub fn aggregate(
        &mut self,
        target: (&Arc<str>, Option<&[ast::Expr]>, Span),
        agg: Aggregation,
        value: Option<Expr>,
        weight: Option<Expr>,
        span: Span,
    ) -> StatementKind {
        let (name, keys, target_span) = target;
        let id = self.map_id(name, target_span);
        let key = self.map_key(id, keys, target_span).map(|k| *k);
        self.maps.get_mut(id).written = true;
        let known = self.maps.get(id).value.clone();
        let new = Type::Agg(agg);
        match join(&known, &new) {
            Some(joined) => self.learn_value(id, &known, &joined, span),
            None => self.report_value(id, &known, &new, span),
        }
        StatementKind::Aggregate { map: id, key, value, weight }
    }

    /// `@m++`, `@m += e`: in place.
    pub fn map_step(
        &mut self,
        name: &Arc<str>,
        keys: Option<&[ast::Expr]>,
        target_span: Span,
        delta: Expr,
        postfix: bool,
        span: Span,
    ) -> Expr {
        let id = self.map_id(name, target_span);
        let key = self.map_key(id, keys, target_span);
        let known = self.maps.get(id).value.clone();
        self.maps.get_mut(id).written = true;
        self.maps.get_mut(id).stepped = true;
        match &known {
            // A pointer steps by elements and a flag may be counted: both are read, changed and set.
            Type::Error | Type::Int { .. } => {
                let typed = self.map_value(id, delta);
                let ty = self.map_value_type(id);
                let delta = convert_scalar(typed, &ty);
                Expr::new(ExprKind::MapStep { map: id, key, delta: Box::new(delta), postfix }, ty, span)
            }
            other => {
                let text = self.type_text(other);
                self.error_expr(OPERAND_TYPE, span, format!("`{name}` holds {text}, which can't be counted up or down"))
            }
        }
    }

    /// The negative of a step, for `-=`.
    pub fn negate(&mut self, e: Expr) -> Expr {
        let span = e.span;
        if let Some(v) = e.as_int() {
            return constant((v as i64).wrapping_neg(), span);
        }
        let e = convert_scalar(e, &Type::I64);
        Expr::new(ExprKind::Unary(UnaryOp::Neg, Box::new(e)), Type::I64, span)
    }
}
