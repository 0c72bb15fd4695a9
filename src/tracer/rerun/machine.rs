//! Runs the bodies of a script in user space.

use std::sync::Arc;

use super::datum::{Datum, extend};
use super::elements::{Elements, of_map};
use crate::lang::typed::{
    ActionId, ActionKind, BinaryOp, Block, Builtin, Expr, ExprKind, Intrinsic, LocalId, MapId, Program, Statement,
    StatementKind, UnaryOp,
};
use crate::lang::types::Type;
use crate::model::bytes::bytes_of;
use crate::model::snapshot::{MapRow, MapSnapshot};
use crate::model::value::Value;

/// Statements and expressions that one firing may run: what the kernel allows a program.
const MOST_STEPS: u64 = 1 << 20;
/// Calls of functions inside one another.
const DEEPEST: u32 = 64;

/// A report of a firing.
#[derive(Debug)]
pub struct Said {
    pub action: ActionId,
    pub values: Vec<Datum>,
    /// The map that is printed, as it was then.
    pub map: Option<MapSnapshot>,
}

/// What happens after a statement.
#[derive(Debug)]
enum Flow {
    Next,
    Break,
    Continue,
    Return(Datum),
}

/// A script's maps and what its firings say.
#[derive(Debug)]
pub struct Machine<'a> {
    program: &'a Program,
    pub maps: Vec<Elements>,
    /// What the firing said, in order.
    pub said: Vec<Said>,
    /// Divisions by zero.
    pub zero_divisors: u64,
    /// Firings that ran too long and were broken off.
    pub broken_off: u64,
    /// The moment of the firing, ns of `CLOCK_MONOTONIC` and of the wall clock.
    pub at_ns: u64,
    pub wall_ns: u64,
    /// When the trace began.
    pub began_ns: u64,
    pub cpu: u64,
    locals: Vec<Datum>,
    steps: u64,
    depth: u32,
}

impl<'a> Machine<'a> {
    pub fn new(program: &'a Program) -> Self {
        Self {
            program,
            maps: program.maps.iter().map(|_| Elements::default()).collect(),
            said: Vec::new(),
            zero_divisors: 0,
            broken_off: 0,
            at_ns: 0,
            wall_ns: 0,
            began_ns: 0,
            cpu: 0,
            locals: Vec::new(),
            steps: 0,
            depth: 0,
        }
    }

    /// Runs a body for one firing, with its variables as they begin.
    pub fn fire(&mut self, predicate: Option<&Expr>, body: &Block, locals: Vec<Datum>) {
        self.locals = locals;
        self.steps = MOST_STEPS;
        self.depth = 0;
        if predicate.is_none_or(|predicate| self.is_true(predicate)) {
            self.block(body);
        }
        self.broken_off += u64::from(self.steps == 0);
    }

    fn is_true(&mut self, e: &Expr) -> bool {
        match self.eval(e) {
            Datum::Text(bytes) => !bytes.is_empty(),
            other => other.bits() != 0,
        }
    }

    /// One step more; false when there were too many.
    fn may_go_on(&mut self) -> bool {
        self.steps = self.steps.saturating_sub(1);
        self.steps > 0
    }

    fn block(&mut self, block: &Block) -> Flow {
        for statement in &block.statements {
            match self.statement(statement) {
                Flow::Next => {}
                other => return other,
            }
        }
        Flow::Next
    }

    fn statement(&mut self, statement: &Statement) -> Flow {
        if !self.may_go_on() {
            return Flow::Return(Datum::None);
        }
        match &statement.kind {
            StatementKind::Expr(e) => drop(self.eval(e)),
            StatementKind::SetLocal(local, value) => {
                let value = self.eval(value);
                self.set(*local, value);
            }
            StatementKind::SetMap { map, key, value } => {
                let (key, value) = (self.key(key.as_ref()), self.eval(value));
                self.on(*map, |elements, map| elements.set(key, value, map));
            }
            StatementKind::Aggregate { map, key, value, weight } => {
                let key = self.key(key.as_ref());
                let value = value.as_ref().map_or(0, |e| self.eval(e).bits());
                let weight = weight.as_ref().map_or(1, |e| self.eval(e).bits());
                let wall_ns = self.wall_ns;
                self.on(*map, |elements, map| elements.aggregate(key, value, weight, wall_ns, map));
            }
            StatementKind::Report { action, values } => return self.say(*action, values),
            StatementKind::If(condition, yes, no) => {
                let chosen = if self.is_true(condition) { yes } else { no };
                return self.block(chosen);
            }
            StatementKind::While(condition, body) => {
                while self.may_go_on() && self.is_true(condition) {
                    match self.block(body) {
                        Flow::Break => break,
                        Flow::Next | Flow::Continue => {}
                        end @ Flow::Return(_) => return end,
                    }
                }
            }
            StatementKind::ForRange { local, start, end, body } => {
                let (start, end) = (self.eval(start).bits() as i64, self.eval(end).bits() as i64);
                let values = (start..end).map(|n| Datum::Number(n as u64));
                return self.each(*local, values, body);
            }
            StatementKind::ForMap { local, map, body } => {
                let pairs = self.on(*map, |elements, map| elements.pairs(map)).unwrap_or_default();
                let values = pairs.into_iter().map(|(key, value)| Datum::Parts([key, value].into()));
                return self.each(*local, values, body);
            }
            StatementKind::Unroll(times, body) => {
                for _ in 0..*times {
                    match self.block(body) {
                        Flow::Break => break,
                        Flow::Next | Flow::Continue => {}
                        end @ Flow::Return(_) => return end,
                    }
                }
            }
            // Only D programs have it, which do not run here (see `Rerun::prepare`).
            StatementKind::Store { .. } => {}
            StatementKind::Break | StatementKind::Fault(_) => return Flow::Break,
            StatementKind::Continue => return Flow::Continue,
            StatementKind::Return(value) => {
                return Flow::Return(value.as_ref().map_or(Datum::None, |value| self.eval(value)));
            }
            StatementKind::Block(body) => return self.block(body),
        }
        Flow::Next
    }

    fn each(&mut self, local: LocalId, values: impl Iterator<Item = Datum>, body: &Block) -> Flow {
        for value in values {
            if !self.may_go_on() {
                break;
            }
            self.set(local, value);
            match self.block(body) {
                Flow::Break => break,
                Flow::Next | Flow::Continue => {}
                end @ Flow::Return(_) => return end,
            }
        }
        Flow::Next
    }

    fn say(&mut self, action: ActionId, values: &[Expr]) -> Flow {
        let values: Vec<Datum> = values.iter().map(|value| self.eval(value)).collect();
        let (program, at_ns) = (self.program, self.at_ns);
        let Some(kind) = program.actions.get(action.0 as usize).map(|action| &action.kind) else { return Flow::Next };
        // What is asked of a map happens in its place.
        let snapshot = match kind {
            ActionKind::PrintMap { map, .. } => self.on(*map, |elements, map| {
                let mut snapshot = elements.snapshot(map, program, None, at_ns);
                // A single value that was never set, or was cleared, is zero.
                if snapshot.rows.is_empty() && !snapshot.keyed {
                    let value = Datum::None.shown(&map.value, program);
                    snapshot.rows.extend((value != Value::None).then_some(MapRow { key: Vec::new(), value }));
                }
                snapshot
            }),
            ActionKind::PrintMapEntry { map } => {
                let key = values.first().cloned().unwrap_or_default();
                self.on(*map, |elements, map| elements.snapshot(map, program, Some(&key), at_ns))
            }
            ActionKind::Clear(map) => {
                self.on(*map, |elements, _| elements.clear());
                None
            }
            ActionKind::Zero(map) => {
                self.on(*map, |elements, _| elements.zero());
                None
            }
            _ => None,
        };
        self.said.push(Said { action, values, map: snapshot });
        if matches!(kind, ActionKind::Exit) { Flow::Return(Datum::None) } else { Flow::Next }
    }

    fn set(&mut self, local: LocalId, value: Datum) {
        let at = local.0 as usize;
        if at >= self.locals.len() {
            self.locals.resize(at + 1, Datum::None);
        }
        self.locals[at] = value;
    }

    fn on<T>(&mut self, map: MapId, work: impl FnOnce(&mut Elements, &crate::lang::typed::Map) -> T) -> Option<T> {
        let at = map.0 as usize;
        Some(work(self.maps.get_mut(at)?, self.program.maps.get(at)?))
    }

    fn key(&mut self, key: Option<&Expr>) -> Datum {
        key.map_or(Datum::None, |key| self.eval(key))
    }

    fn eval(&mut self, e: &Expr) -> Datum {
        if !self.may_go_on() {
            return Datum::None;
        }
        let truth = |is: bool| Datum::Number(u64::from(is));
        match &e.kind {
            ExprKind::Int(bits) => Datum::number(*bits, &e.ty),
            ExprKind::Str(text) => Datum::Text(bytes_of(text).into_owned().into()),
            ExprKind::Local(local) => self.locals.get(local.0 as usize).cloned().unwrap_or_default(),
            ExprKind::MapGet { map, key } => {
                let key = self.key(key.as_deref());
                self.on(*map, |elements, map| elements.get(&key, map)).unwrap_or_default()
            }
            ExprKind::MapHas { map, key } => {
                let key = self.key(key.as_deref());
                truth(self.on(*map, |elements, _| elements.has(&key)).unwrap_or(false))
            }
            ExprKind::MapDelete { map, key } => {
                let key = self.key(key.as_deref());
                truth(self.on(*map, |elements, _| elements.remove(&key)).unwrap_or(false))
            }
            ExprKind::MapFind { map, key, local } => {
                let key = self.eval(key);
                let found =
                    self.on(*map, |elements, map| elements.has(&key).then(|| elements.get(&key, map))).flatten();
                truth(found.is_some_and(|value| {
                    self.set(*local, value);
                    true
                }))
            }
            ExprKind::MapLen(map) => {
                Datum::Number(self.on(*map, |elements, _| elements.len() as u64).unwrap_or_default())
            }
            ExprKind::MapStep { map, key, delta, postfix } => {
                let key = self.key(key.as_deref());
                let delta = self.eval(delta).bits();
                let before = self.on(*map, |elements, map| {
                    let before = elements.get(&key, map).bits();
                    let after = of_map(before.wrapping_add(delta), map);
                    elements.set(key, after.clone(), map);
                    if *postfix { Datum::Number(before) } else { after }
                });
                before.unwrap_or_default()
            }
            ExprKind::LocalStep { local, delta, postfix } => {
                let before = self.locals.get(local.0 as usize).map_or(0, Datum::bits);
                let after = Datum::number(before.wrapping_add(*delta as u64), &e.ty);
                self.set(*local, after.clone());
                if *postfix { Datum::Number(before) } else { after }
            }
            ExprKind::Builtin(builtin) => self.builtin(*builtin),
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (self.eval(a), self.eval(b));
                self.binary(*op, (&x, a), (&y, b), &e.ty)
            }
            ExprKind::Unary(op, a) => {
                let value = self.eval(a);
                match op {
                    UnaryOp::Neg => Datum::number(value.bits().wrapping_neg(), &e.ty),
                    UnaryOp::BitNot => Datum::number(!value.bits(), &e.ty),
                    UnaryOp::Not => truth(value.bits() == 0),
                }
            }
            ExprKind::And(a, b) => truth(self.is_true(a) && self.is_true(b)),
            ExprKind::Or(a, b) => truth(self.is_true(a) || self.is_true(b)),
            ExprKind::Conditional(condition, a, b) => {
                let chosen = if self.is_true(condition) { a } else { b };
                self.eval(chosen)
            }
            ExprKind::Cast(inner) => {
                let value = self.eval(inner);
                if e.ty.is_scalar() { Datum::number(value.bits(), &e.ty) } else { value }
            }
            ExprKind::Tuple(items) => Datum::Parts(items.iter().map(|item| self.eval(item)).collect()),
            ExprKind::TupleField(base, nth) => match self.eval(base) {
                Datum::Parts(parts) => parts.get(*nth as usize).cloned().unwrap_or_default(),
                _ => Datum::None,
            },
            ExprKind::Call(intrinsic, arguments) => self.call(intrinsic, arguments, &e.ty),
            ExprKind::CallUser(function, arguments) => {
                let Some(function) = self.program.functions.get(function.0 as usize) else { return Datum::None };
                let arguments: Vec<Datum> = arguments.iter().map(|argument| self.eval(argument)).collect();
                if self.depth >= DEEPEST {
                    self.steps = 0;
                    return Datum::None;
                }
                let before = std::mem::replace(&mut self.locals, arguments);
                self.depth += 1;
                let flow = self.block(&function.body);
                self.depth -= 1;
                self.locals = before;
                if let Flow::Return(value) = flow { value } else { Datum::None }
            }
            ExprKind::Block(block, value) => match self.block(block) {
                Flow::Next => self.eval(value),
                _ => Datum::None,
            },
            // What reads memory is never left in a body that runs here (see `plan`).
            ExprKind::Deref(_)
            | ExprKind::Field { .. }
            | ExprKind::Index { .. }
            | ExprKind::AddressOf(_)
            | ExprKind::Within { .. }
            | ExprKind::MapAddress(_) => Datum::None,
        }
    }

    fn builtin(&self, builtin: Builtin) -> Datum {
        Datum::Number(match builtin {
            Builtin::Nsecs(_) => self.at_ns,
            Builtin::Elapsed => self.at_ns.saturating_sub(self.began_ns),
            Builtin::Cpu => self.cpu,
            _ => 0,
        })
    }

    fn binary(&mut self, op: BinaryOp, (x, a): (&Datum, &Expr), (y, b): (&Datum, &Expr), ty: &Type) -> Datum {
        let truth = |is: bool| Datum::Number(u64::from(is));
        if !(a.ty.is_scalar() && b.ty.is_scalar()) {
            let same = match (&a.ty, &b.ty) {
                (Type::Str { .. }, _) | (_, Type::Str { .. }) => {
                    x.text(&a.ty, self.program) == y.text(&b.ty, self.program)
                }
                _ => x == y,
            };
            return truth(if op == BinaryOp::Ne { !same } else { same });
        }
        let (x, y, signed) = (extend(x.bits(), &a.ty), extend(y.bits(), &b.ty), a.ty.is_signed());
        let width = match a.ty {
            Type::Int { size, .. } | Type::Enum { size, .. } => u32::from(size) * 8,
            _ => 64,
        };
        let order = if signed { (x as i64).cmp(&(y as i64)) } else { x.cmp(&y) };
        let shift = (y % u64::from(width.max(1))) as u32;
        let bits = match op {
            BinaryOp::Add => x.wrapping_add(y),
            BinaryOp::Sub => x.wrapping_sub(y),
            BinaryOp::Mul => x.wrapping_mul(y),
            BinaryOp::Div | BinaryOp::Mod if y == 0 => {
                self.zero_divisors += 1;
                1
            }
            BinaryOp::Div if signed => (x as i64).wrapping_div(y as i64) as u64,
            BinaryOp::Div => x / y,
            BinaryOp::Mod if signed => (x as i64).wrapping_rem(y as i64) as u64,
            BinaryOp::Mod => x % y,
            BinaryOp::BitAnd => x & y,
            BinaryOp::BitOr => x | y,
            BinaryOp::BitXor => x ^ y,
            BinaryOp::Shl => x << shift,
            BinaryOp::Shr if signed => (x as i64 >> shift) as u64,
            BinaryOp::Shr => x >> shift,
            BinaryOp::Eq => return truth(order.is_eq()),
            BinaryOp::Ne => return truth(order.is_ne()),
            BinaryOp::Lt => return truth(order.is_lt()),
            BinaryOp::Le => return truth(order.is_le()),
            BinaryOp::Gt => return truth(order.is_gt()),
            BinaryOp::Ge => return truth(order.is_ge()),
        };
        Datum::number(bits, ty)
    }

    fn call(&mut self, intrinsic: &Intrinsic, arguments: &[Expr], ty: &Type) -> Datum {
        let values: Vec<Datum> = arguments.iter().map(|argument| self.eval(argument)).collect();
        let text = |nth: usize| -> Arc<[u8]> {
            match (values.get(nth), arguments.get(nth)) {
                (Some(value), Some(argument)) => value.text(&argument.ty, self.program),
                _ => Arc::from([]),
            }
        };
        let number = |nth: usize| values.get(nth).map_or(0, Datum::bits);
        let found = || memchr::memmem::find(&text(0), &text(1));
        Datum::Number(match intrinsic {
            // A text of which less is wanted.
            Intrinsic::Str if arguments.len() == 2 => {
                let whole = text(0);
                let most = (number(1) as usize).saturating_sub(1).min(whole.len());
                return Datum::Text(whole[..most].into());
            }
            Intrinsic::Str | Intrinsic::SymbolicText => return Datum::Text(text(0)),
            Intrinsic::StrConcat => return Datum::Text([&*text(0), &*text(1)].concat().into()),
            Intrinsic::StrLen => text(0).len() as u64,
            Intrinsic::StrContains => u64::from(found().is_some()),
            Intrinsic::StrStr => found().map_or(u64::MAX, |at| at as u64),
            Intrinsic::StrNCmp => {
                let (a, b, most) = (text(0), text(1), number(2) as usize);
                u64::from(a[..a.len().min(most)] != b[..b.len().min(most)])
            }
            Intrinsic::StackLen => match values.first() {
                Some(Datum::Shown(Value::Stack(stack))) => stack.frames.len() as u64,
                _ => 0,
            },
            Intrinsic::Bswap => match ty {
                Type::Int { size: 2, .. } => u64::from((number(0) as u16).swap_bytes()),
                Type::Int { size: 4, .. } => u64::from((number(0) as u32).swap_bytes()),
                Type::Int { size: 8, .. } => number(0).swap_bytes(),
                _ => number(0),
            },
            _ => return Datum::None,
        })
    }
}

/// Whether a function can be computed from recorded values alone.
pub const fn computes(intrinsic: &Intrinsic) -> bool {
    matches!(
        intrinsic,
        Intrinsic::SymbolicText
            | Intrinsic::StrConcat
            | Intrinsic::StrLen
            | Intrinsic::StrContains
            | Intrinsic::StrStr
            | Intrinsic::StrNCmp
            | Intrinsic::StackLen
            | Intrinsic::Bswap
    )
}
