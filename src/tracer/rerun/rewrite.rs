//! A body in which everything that was recorded is a variable.

use std::collections::{HashMap, HashSet};

use super::known::{Group, Source};
use super::machine::computes;
use crate::lang::source::Span;
use crate::lang::typed::keys::{Keys, conjuncts, keeps_value};
use crate::lang::typed::{
    ActionKind, Block, Builtin, Expr, ExprKind, Intrinsic, LocalId, MapId, Probe, Program, Statement, StatementKind,
};
use crate::lang::types::Type;

/// Functions that call one another deeper are not looked into.
const DEEPEST: u32 = 8;

/// A clause's body for the firings of one group.
#[derive(Debug)]
pub struct Rewritten {
    pub predicate: Option<Expr>,
    pub body: Block,
    /// The variables that hold recorded values when a firing begins, with their types.
    pub slots: Vec<(LocalId, Source, Type)>,
    pub locals: usize,
    /// What was not recorded, and where the script asks for it.
    pub missing: Vec<Missing>,
    /// Maps that are not set as the script says, because that needs what was not recorded.
    pub unset: HashSet<MapId>,
    /// Maps that are still read.
    pub read: HashSet<MapId>,
}

/// Maps of a script that are not as live ones are.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    /// What sets them was not recorded: nothing is known of them, and they are not shown.
    pub stale: HashSet<MapId>,
    /// The script reads them itself: it may do without what sets them where what it computed from them was recorded.
    pub internal: HashSet<MapId>,
}

/// Something in a script that does not run on a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub span: Span,
    pub why: Why,
}

/// Why something does not run on a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The value was not recorded.
    Value,
    /// Nothing is known of a map that is read.
    Map(MapId),
    /// It acts on the traced machine.
    Acts,
}

/// Rewrites a clause for the firings of a group.
pub fn rewrite(program: &Program, probe: &Probe, group: Option<&Group<'_>>, maps: &Maps) -> Rewritten {
    rewrite_at(program, probe, group, maps, 0)
}

fn rewrite_at(program: &Program, probe: &Probe, group: Option<&Group<'_>>, maps: &Maps, depth: u32) -> Rewritten {
    let mut rewriter = Rewriter {
        program,
        keys: Keys::of(program, probe),
        group,
        maps,
        known: HashMap::new(),
        poisoned: HashMap::new(),
        slots: Vec::new(),
        locals: probe.locals.len(),
        missing: Vec::new(),
        unset: HashSet::new(),
        read: HashSet::new(),
        depth,
    };
    let predicate = probe.predicate.as_ref().map(|predicate| rewriter.condition(predicate));
    let body = rewriter.block(&probe.body);
    let Rewriter { slots, locals, mut missing, unset, read, .. } = rewriter;
    missing.dedup();
    Rewritten { predicate, body, slots, locals, missing, unset, read }
}

struct Rewriter<'a> {
    program: &'a Program,
    keys: Keys<'a>,
    group: Option<&'a Group<'a>>,
    maps: &'a Maps,
    known: HashMap<String, LocalId>,
    /// Variables that are set to what was not recorded. That is a fault only where they are read.
    poisoned: HashMap<LocalId, Vec<Missing>>,
    slots: Vec<(LocalId, Source, Type)>,
    locals: usize,
    missing: Vec<Missing>,
    unset: HashSet<MapId>,
    read: HashSet<MapId>,
    /// Functions around this one.
    depth: u32,
}

impl Rewriter<'_> {
    fn block(&mut self, block: &Block) -> Block {
        Block {
            id: block.id,
            statements: block.statements.iter().filter_map(|statement| self.statement(statement)).collect(),
        }
    }

    fn statement(&mut self, statement: &Statement) -> Option<Statement> {
        let kind = match &statement.kind {
            StatementKind::Expr(e) => match &e.kind {
                ExprKind::MapDelete { map, .. } | ExprKind::MapStep { map, .. } if self.maps.stale.contains(map) => {
                    return None;
                }
                _ => StatementKind::Expr(self.expr(e)),
            },
            StatementKind::SetLocal(local, value) => {
                let before = std::mem::take(&mut self.missing);
                let value = self.expr(value);
                let missing = std::mem::replace(&mut self.missing, before);
                if !missing.is_empty() {
                    self.poisoned.insert(*local, missing);
                    return None;
                }
                StatementKind::SetLocal(*local, value)
            }
            StatementKind::SetMap { map, .. } | StatementKind::Aggregate { map, .. }
                if self.maps.stale.contains(map) =>
            {
                return None;
            }
            StatementKind::SetMap { map, .. } | StatementKind::Aggregate { map, .. } => {
                let before = std::mem::take(&mut self.missing);
                let kind = self.setting(&statement.kind);
                let missing = std::mem::replace(&mut self.missing, before);
                if !missing.is_empty() && self.maps.internal.contains(map) {
                    self.unset.insert(*map);
                    return None;
                }
                self.missing.extend(missing);
                kind
            }
            StatementKind::Report { action, values } => {
                let kind = self.program.actions.get(action.0 as usize).map(|action| &action.kind);
                match kind {
                    Some(ActionKind::Clear(map) | ActionKind::Zero(map)) if self.maps.stale.contains(map) => {
                        return None;
                    }
                    Some(ActionKind::PrintMap { map, .. } | ActionKind::PrintMapEntry { map })
                        if self.maps.stale.contains(map) =>
                    {
                        self.missing.push(Missing { span: statement.span, why: Why::Map(*map) });
                    }
                    _ => {}
                }
                StatementKind::Report { action: *action, values: values.iter().map(|value| self.expr(value)).collect() }
            }
            StatementKind::If(condition, yes, no) => {
                StatementKind::If(self.condition(condition), self.block(yes), self.block(no))
            }
            StatementKind::While(condition, body) => StatementKind::While(self.expr(condition), self.block(body)),
            StatementKind::ForRange { local, start, end, body } => StatementKind::ForRange {
                local: *local,
                start: self.expr(start),
                end: self.expr(end),
                body: self.block(body),
            },
            StatementKind::ForMap { local, map, body } => {
                if self.maps.stale.contains(map) {
                    self.missing.push(Missing { span: statement.span, why: Why::Map(*map) });
                }
                StatementKind::ForMap { local: *local, map: *map, body: self.block(body) }
            }
            StatementKind::Unroll(times, body) => StatementKind::Unroll(*times, self.block(body)),
            StatementKind::Return(value) => StatementKind::Return(self.maybe(value.as_ref())),
            StatementKind::Block(body) => StatementKind::Block(self.block(body)),
            StatementKind::Store { .. } => {
                self.missing.push(Missing { span: statement.span, why: Why::Acts });
                return None;
            }
            StatementKind::Break => StatementKind::Break,
            StatementKind::Fault(code) => StatementKind::Fault(*code),
            StatementKind::Continue => StatementKind::Continue,
        };
        Some(Statement { kind, span: statement.span })
    }

    /// What sets a map.
    fn setting(&mut self, kind: &StatementKind) -> StatementKind {
        match kind {
            StatementKind::SetMap { map, key, value } => {
                StatementKind::SetMap { map: *map, key: self.maybe(key.as_ref()), value: self.expr(value) }
            }
            StatementKind::Aggregate { map, key, value, weight } => StatementKind::Aggregate {
                map: *map,
                key: self.maybe(key.as_ref()),
                value: self.maybe(value.as_ref()),
                weight: self.maybe(weight.as_ref()),
            },
            other => other.clone(),
        }
    }

    /// A condition: what held at each firing is true whatever it was made of.
    fn condition(&mut self, e: &Expr) -> Expr {
        let yes = || Expr::new(ExprKind::Int(1), Type::Bool, e.span);
        if self.held(e) {
            return yes();
        }
        let parts = conjuncts(e);
        if parts.len() < 2 {
            return if parts.first().is_some_and(|part| self.held(part)) { yes() } else { self.expr(e) };
        }
        let parts: Vec<Expr> = parts.into_iter().map(|part| self.condition(part)).collect();
        let both = |a: Expr, b: Expr| Expr::new(ExprKind::And(Box::new(a), Box::new(b)), Type::Bool, e.span);
        parts.into_iter().reduce(both).unwrap_or_else(yes)
    }

    fn held(&self, e: &Expr) -> bool {
        let Some(group) = self.group else { return false };
        self.keys.key(e).is_some_and(|key| group.held(&key))
    }

    fn maybe(&mut self, e: Option<&Expr>) -> Option<Expr> {
        e.map(|e| self.expr(e))
    }

    fn boxed(&mut self, e: &Expr) -> Box<Expr> {
        Box::new(self.expr(e))
    }

    /// An expression; what is known as a whole is read from a variable.
    fn expr(&mut self, e: &Expr) -> Expr {
        let is_constant = matches!(e.kind, ExprKind::Int(_) | ExprKind::Str(_));
        if !is_constant && let Some(local) = self.recorded(e) {
            return Expr::new(ExprKind::Local(local), e.ty.clone(), e.span);
        }
        let kind = match &e.kind {
            ExprKind::Int(_) | ExprKind::Str(_) => e.kind.clone(),
            ExprKind::Local(local) => {
                if let Some(missing) = self.poisoned.get(local) {
                    self.missing.extend(missing.iter().cloned());
                }
                e.kind.clone()
            }
            ExprKind::MapGet { map, key } => ExprKind::MapGet { map: *map, key: self.element(*map, key.as_deref(), e) },
            ExprKind::MapHas { map, key } => ExprKind::MapHas { map: *map, key: self.element(*map, key.as_deref(), e) },
            ExprKind::MapDelete { map, key } => {
                ExprKind::MapDelete { map: *map, key: self.element(*map, key.as_deref(), e) }
            }
            ExprKind::MapFind { map, key, local } => {
                self.look_up(*map, e);
                ExprKind::MapFind { map: *map, key: self.boxed(key), local: *local }
            }
            ExprKind::MapLen(map) => {
                self.look_up(*map, e);
                e.kind.clone()
            }
            ExprKind::MapStep { map, key, delta, postfix } => ExprKind::MapStep {
                map: *map,
                key: self.element(*map, key.as_deref(), e),
                delta: self.boxed(delta),
                postfix: *postfix,
            },
            ExprKind::LocalStep { .. } => e.kind.clone(),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, self.boxed(a), self.boxed(b)),
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, self.boxed(a)),
            ExprKind::And(a, b) => ExprKind::And(Box::new(self.condition(a)), Box::new(self.condition(b))),
            ExprKind::Or(a, b) => ExprKind::Or(self.boxed(a), self.boxed(b)),
            ExprKind::Conditional(c, a, b) => {
                ExprKind::Conditional(Box::new(self.condition(c)), self.boxed(a), self.boxed(b))
            }
            ExprKind::Cast(inner) if converts(&inner.ty, &e.ty) => ExprKind::Cast(self.boxed(inner)),
            ExprKind::Tuple(items) => ExprKind::Tuple(items.iter().map(|item| self.expr(item)).collect()),
            ExprKind::TupleField(base, nth) => ExprKind::TupleField(self.boxed(base), *nth),
            ExprKind::Call(intrinsic, arguments) if computes(intrinsic) => {
                ExprKind::Call(intrinsic.clone(), arguments.iter().map(|argument| self.expr(argument)).collect())
            }
            ExprKind::Call(Intrinsic::Str, arguments) if arguments.len() == 2 => match self.whole_text(e, arguments) {
                Some(whole) => whole,
                None => return self.lacking(e),
            },
            ExprKind::CallUser(function, arguments) => {
                if self.reads_more(function.0) {
                    return self.lacking(e);
                }
                ExprKind::CallUser(*function, arguments.iter().map(|argument| self.expr(argument)).collect())
            }
            ExprKind::Block(block, value) => ExprKind::Block(self.block(block), self.boxed(value)),
            ExprKind::Builtin(Builtin::Nsecs(_) | Builtin::Elapsed) => e.kind.clone(),
            ExprKind::Builtin(_)
            | ExprKind::Cast(_)
            | ExprKind::Call(..)
            | ExprKind::Deref(_)
            | ExprKind::Field { .. }
            | ExprKind::Index { .. }
            | ExprKind::AddressOf(_)
            | ExprKind::Within { .. }
            | ExprKind::MapAddress(_) => return self.lacking(e),
        };
        Expr::new(kind, e.ty.clone(), e.span)
    }

    /// `str(p, n)` where `str(p)` was recorded.
    fn whole_text(&mut self, e: &Expr, arguments: &[Expr]) -> Option<ExprKind> {
        let whole = Expr::new(ExprKind::Call(Intrinsic::Str, arguments[..1].to_vec()), e.ty.clone(), e.span);
        let local = self.recorded(&whole)?;
        let length = self.expr(&arguments[1]);
        Some(ExprKind::Call(Intrinsic::Str, vec![Expr::new(ExprKind::Local(local), e.ty.clone(), e.span), length]))
    }

    fn element(&mut self, map: MapId, key: Option<&Expr>, e: &Expr) -> Option<Box<Expr>> {
        self.look_up(map, e);
        key.map(|key| self.boxed(key))
    }

    fn look_up(&mut self, map: MapId, e: &Expr) {
        self.read.insert(map);
        if self.maps.stale.contains(&map) {
            self.missing.push(Missing { span: e.span, why: Why::Map(map) });
        }
    }

    fn lacking(&mut self, e: &Expr) -> Expr {
        let acts = matches!(&e.kind, ExprKind::Call(call, _) if acts(call));
        self.missing.push(Missing { span: e.span, why: if acts { Why::Acts } else { Why::Value } });
        e.clone()
    }

    /// The variable that holds an expression's recorded value.
    fn recorded(&mut self, e: &Expr) -> Option<LocalId> {
        let key = self.keys.key(e)?;
        if let Some(local) = self.known.get(&key) {
            return Some(*local);
        }
        let source = self.group?.value(&key)?.clone();
        let local = LocalId(self.locals as u32);
        self.locals += 1;
        self.known.insert(key, local);
        self.slots.push((local, source, e.ty.clone()));
        Some(local)
    }

    /// Whether a function asks the kernel for something.
    fn reads_more(&self, function: u32) -> bool {
        let Some(function) = self.program.functions.get(function as usize) else { return true };
        let body = Probe {
            targets: Vec::new(),
            names: Vec::new(),
            predicate: None,
            body: function.body.clone(),
            locals: function.locals.clone(),
            needs_probe_id: false,
            alone: false,
            limited: false,
            traced: false,
            fault: None,
            span: function.span,
            head: function.span,
        };
        self.depth >= DEEPEST || !rewrite_at(self.program, &body, None, self.maps, self.depth + 1).missing.is_empty()
    }
}

/// Calls that change something on the traced machine.
const fn acts(call: &Intrinsic) -> bool {
    matches!(call, Intrinsic::Signal | Intrinsic::SignalThread | Intrinsic::Override | Intrinsic::WriteUser)
}

/// Conversions that need no memory: of numbers, and of texts to longer ones.
fn converts(from: &Type, to: &Type) -> bool {
    let words = |ty: &Type| ty.fits_register() && !matches!(ty, Type::KSym | Type::Username);
    from.is_scalar() && words(to) || keeps_value(from, to) || matches!((from, to), (Type::Str { .. }, Type::Str { .. }))
}
