//! Types of expressions, as far as names tell: enough to complete fields and to show on hover.
//! The checker knows better, but only for scripts without mistakes.

use super::context::{Context, each_block, each_expr, points_of};
use crate::lang::bt::ast::{Expr, ExprKind, ForOver, Item, Member, StatementKind, TypeDef, UnaryOp};
use crate::lang::bt::dump;
use crate::lang::service::{Field, ServiceEnv};
use crate::probe::point::Provider;

/// How many steps are followed from variable to variable.
const MAX_STEPS: u32 = 16;

/// What an expression is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// `args`
    Args,
    /// A type as C spells it.
    Type(String),
    /// A tuple or a record: its parts by name, those of a tuple by number.
    Group(Vec<(String, Option<Self>)>),
}

impl Known {
    /// As people write it.
    pub fn text(&self) -> String {
        match self {
            Self::Args => "args".to_owned(),
            Self::Type(ty) => ty.clone(),
            Self::Group(parts) => {
                let numbered = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
                let part = |(name, known): &(String, Option<Self>)| match part_text(known.as_ref()) {
                    ty if numbered(name) => ty,
                    ty => format!("{name}: {ty}"),
                };
                format!("({})", parts.iter().map(part).collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn tuple(parts: impl IntoIterator<Item = Option<Self>>) -> Self {
        Self::Group(parts.into_iter().enumerate().map(|(n, known)| (n.to_string(), known)).collect())
    }

    fn part(self, name: &str) -> Option<Self> {
        let Self::Group(parts) = self else { return None };
        parts.into_iter().find(|(n, _)| n == name)?.1
    }
}

fn part_text(known: Option<&Known>) -> String {
    known.map_or_else(|| "?".to_owned(), Known::text)
}

pub(super) struct Inference<'a> {
    pub context: &'a Context<'a>,
    pub env: ServiceEnv<'a>,
}

impl Inference<'_> {
    /// The type of an expression of `item`.
    pub fn of(&self, e: &Expr, item: &Item) -> Option<Known> {
        self.step(e, item, MAX_STEPS)
    }

    fn step(&self, e: &Expr, item: &Item, steps: u32) -> Option<Known> {
        let steps = steps.checked_sub(1)?;
        let ty = match &e.kind {
            ExprKind::Ident(name) => return self.name(name, item),
            ExprKind::Variable(name) => return self.variable(name, item, steps),
            ExprKind::Map(name, _) => return self.map(name, steps),
            ExprKind::Cast(ty, _) => dump::type_name(ty),
            ExprKind::Field(base, name) => {
                let known = self.step(base, item, steps)?;
                if matches!(known, Known::Group(_)) {
                    return known.part(&name.text);
                }
                self.fields(&known, item).into_iter().find(|f| f.name == *name.text)?.ty
            }
            ExprKind::Index(base, _) | ExprKind::Unary(UnaryOp::Deref, base) => match self.step(base, item, steps)? {
                Known::Type(ty) => pointed(&ty)?.to_owned(),
                Known::Args | Known::Group(_) => return None,
            },
            ExprKind::TupleField(base, n, _) => return self.step(base, item, steps)?.part(&n.to_string()),
            ExprKind::Tuple(parts) => return Some(Known::tuple(parts.iter().map(|e| self.step(e, item, steps)))),
            ExprKind::Record(parts) => {
                let part =
                    |(name, e): &(crate::lang::bt::ast::Name, Expr)| (name.text.to_string(), self.step(e, item, steps));
                return Some(Known::Group(parts.iter().map(part).collect()));
            }
            ExprKind::Unary(UnaryOp::AddressOf, base) => match self.step(base, item, steps)? {
                Known::Type(ty) => format!("{ty} *"),
                Known::Args | Known::Group(_) => return None,
            },
            ExprKind::Conditional(_, Some(a), b) => {
                return self.step(a, item, steps).or_else(|| self.step(b, item, steps));
            }
            ExprKind::Call(name, arguments) => match (&*name.text, arguments.as_slice()) {
                ("kptr" | "uptr", [inner]) => return self.step(inner, item, steps),
                ("container_of", [_, Expr { kind: ExprKind::Type(ty), .. }, _]) => format!("{} *", dump::type_name(ty)),
                (name, _) => result_type(name)?,
            },
            ExprKind::Int(_) => "int64".to_owned(),
            ExprKind::Str(_) => "string".to_owned(),
            ExprKind::Bool(_) => "bool".to_owned(),
            _ => return None,
        };
        Some(Known::Type(ty))
    }

    fn name(&self, name: &str, item: &Item) -> Option<Known> {
        let point = points_of(item).first().map_or("", |p| &*p.text);
        match name {
            "args" => Some(Known::Args),
            "retval" => self.env.knowledge.retval(point).map(Known::Type),
            "ctx" => iterator(point).map(|kind| Known::Type(format!("struct bpf_iter__{kind} *"))),
            _ => {
                let builtin = crate::lang::bt::builtins::variable(name)?;
                let (_, ty) = builtin.signature.split_once(": ")?;
                Some(Known::Type(ty.to_owned()))
            }
        }
    }

    /// From the variable's declaration or its first assignment.
    fn variable(&self, name: &str, item: &Item, steps: u32) -> Option<Known> {
        let mut found = None;
        each_block(item, &mut |block| {
            for statement in &block.statements {
                if found.is_some() {
                    return;
                }
                match &statement.kind {
                    StatementKind::Let { name: n, ty: Some(ty), .. } if *n.text == *name => {
                        found = Some(Known::Type(dump::type_name(ty)));
                    }
                    StatementKind::Let { name: n, value: Some(value), .. } if *n.text == *name => {
                        found = self.step(value, item, steps);
                    }
                    StatementKind::Assign { target, op: None, value } if matches!(&target.kind, ExprKind::Variable(n) if **n == *name) =>
                    {
                        found = self.step(value, item, steps);
                    }
                    StatementKind::For { name: n, over: ForOver::Map(map), .. } if *n.text == *name => {
                        found = Some(Known::tuple([self.key(&map.text, steps), self.map(&map.text, steps)]));
                    }
                    StatementKind::For { name: n, .. } if *n.text == *name => {
                        found = Some(Known::Type("int64".to_owned()));
                    }
                    _ => {}
                }
            }
        });
        if let (None, Item::Function(f)) = (&found, item) {
            let parameter = f.parameters.iter().find(|(n, _)| *n.text == *name);
            return parameter.map(|(_, ty)| Known::Type(dump::type_name(ty)));
        }
        found
    }

    /// From the first assignment to the map whose value's type is known.
    fn map(&self, name: &str, steps: u32) -> Option<Known> {
        let mut found = None;
        for item in &self.context.script.items {
            each_block(item, &mut |block| {
                for statement in &block.statements {
                    if let (None, StatementKind::Assign { target, op: None, value }) = (&found, &statement.kind)
                        && matches!(&target.kind, ExprKind::Map(n, _) if **n == *name)
                    {
                        found = self.step(value, item, steps);
                    }
                }
            });
        }
        found
    }

    /// From the first use of the map whose key's types are known.
    fn key(&self, name: &str, steps: u32) -> Option<Known> {
        let mut found = None;
        for item in &self.context.script.items {
            each_expr(item, &mut |e| match &e.kind {
                ExprKind::Map(n, Some(keys)) if found.is_none() && **n == *name => {
                    let mut parts: Vec<_> = keys.iter().map(|k| self.step(k, item, steps)).collect();
                    if parts.iter().any(Option::is_some) {
                        found = if parts.len() == 1 { parts.pop().flatten() } else { Some(Known::tuple(parts)) };
                    }
                }
                _ => {}
            });
        }
        found
    }

    /// The fields of what an expression is.
    pub fn fields(&self, known: &Known, item: &Item) -> Vec<Field> {
        match known {
            Known::Args => {
                let points = points_of(item).iter();
                points.map(|p| self.env.knowledge.args(&p.text)).find(|f| !f.is_empty()).unwrap_or_default()
            }
            Known::Group(parts) => {
                let field = |(name, known): &(String, Option<Known>)| Field {
                    name: name.clone(),
                    ty: part_text(known.as_ref()),
                };
                parts.iter().map(field).collect()
            }
            Known::Type(ty) => {
                let base = self.resolve_alias(base_type(ty));
                let point = points_of(item).first().map_or("", |p| &*p.text);
                self.script_members(&base).unwrap_or_else(|| self.env.knowledge.members_in(point, &base))
            }
        }
    }

    fn resolve_alias(&self, ty: &str) -> String {
        let alias = self.context.script.items.iter().find_map(|i| match i {
            Item::TypeDef(TypeDef::Alias { name, ty: target }) if *name.text == *ty => Some(dump::type_name(target)),
            _ => None,
        });
        alias.map_or_else(|| ty.to_owned(), |t| base_type(&t).to_owned())
    }

    fn script_members(&self, ty: &str) -> Option<Vec<Field>> {
        let tag = ty.strip_prefix("struct ").or_else(|| ty.strip_prefix("union "))?;
        self.context.script.items.iter().find_map(|i| match i {
            Item::TypeDef(TypeDef::Struct { name, members, .. }) if *name.text == *tag => {
                let mut fields = Vec::new();
                flatten(members, &mut fields);
                Some(fields)
            }
            _ => None,
        })
    }
}

fn flatten(members: &[Member], fields: &mut Vec<Field>) {
    for member in members {
        match &member.body {
            Some(body) if member.name.text.is_empty() => {
                if let TypeDef::Struct { members, .. } = &**body {
                    flatten(members, fields);
                }
            }
            _ if member.name.text.is_empty() => {}
            _ => fields.push(Field { name: member.name.text.to_string(), ty: dump::type_name(&member.ty) }),
        }
    }
}

/// The kind of object that an iterator's attach point walks. The kernel's name of its context is made from
/// it (`DEFINE_BPF_ITER_FUNC`, include/linux/bpf.h).
fn iterator(point: &str) -> Option<&str> {
    let (provider, rest) = point.split_once(':')?;
    (Provider::find(provider)?.name == "iter").then(|| rest.split(':').next().unwrap_or(rest).trim())
}

/// The type a pointer points to or an array is made of.
fn pointed(ty: &str) -> Option<&str> {
    let ty = ty.trim_end();
    match ty.strip_suffix('*') {
        Some(inner) => Some(inner.trim_end()),
        None => ty.strip_suffix(']').and_then(|t| t.rfind('[').and_then(|at| t.get(..at))).map(str::trim_end),
    }
}

/// `struct x` of `const struct x **`.
fn base_type(ty: &str) -> &str {
    let mut ty = ty.trim();
    while let Some(inner) = ty.strip_prefix("const ").or_else(|| ty.strip_prefix("volatile ")) {
        ty = inner.trim_start();
    }
    ty.split(['*', '[']).next().unwrap_or(ty).trim_end()
}

/// What a builtin function gives, from its signature.
fn result_type(name: &str) -> Option<String> {
    let builtin = crate::lang::bt::builtins::function(name)?;
    let (_, ty) = builtin.signature.rsplit_once("): ")?;
    Some(ty.to_owned())
}
