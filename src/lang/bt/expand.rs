//! What is done to a script before it is checked: imports, macros, parameters, options, `comptime`.
//!
//! Macros are hygienic: their own variables get a name no script can write (`$x'3`), and they see
//! no map that was not handed to them. A macro's body keeps its own places in the text, arguments
//! keep theirs; what comes from another file is placed at its `import`.

mod comptime;
mod imports;
mod macros;
mod parameters;

pub(in crate::bt) use parameters::wanted;

use std::collections::HashMap;
use std::sync::Arc;

use super::ast::{
    Block, Expr, ExprKind, Item, Macro, Script, Statement, StatementKind, TypeBase, TypeName, TypeSuffix,
};
use super::visit::{self, NodeMut};
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::front::AbsentParameters;
use crate::lang::source::Span;

/// How high the expanded tree may grow.
const MAX_HEIGHT: u32 = 600;
/// How many nodes all expansions together may make: about as many as a program of the kernel has instructions.
const MAX_NODES: u32 = 100_000;

/// What a script is given from outside.
pub struct ExpandInputs<'a> {
    /// Positional parameters: the first is `$1`.
    pub params: &'a [String],
    /// Options given after `--`: name and value, `None` for a flag.
    pub named: &'a [(String, Option<String>)],
    /// Reads an imported script by its path; the error is plain words.
    pub load: &'a dyn Fn(&str) -> Result<String, String>,
    /// Which parameters that were not given are warned of.
    pub absent: AbsentParameters,
}

/// Expands a script. The result has no imports, macros, positional parameters or options left.
#[must_use]
pub fn expand(mut script: Script, inputs: &ExpandInputs<'_>) -> (Script, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    imports::resolve(&mut script, inputs, &mut diagnostics);
    let mut expander = Expander {
        inputs,
        asked: parameters::asked(&script),
        limitable: inputs.absent != AbsentParameters::All && wanted(&script).takes_limit(),
        macros: HashMap::new(),
        diagnostics,
        active: Vec::new(),
        options: Vec::new(),
        described: Vec::new(),
        defaults: Vec::new(),
        fresh: 0,
        depth: 0,
        nodes: 0,
        stopped: false,
    };
    expander.collect_macros(&mut script);
    for item in &mut script.items {
        expander.item(item);
    }
    expander.unknown_options();
    (script, expander.diagnostics)
}

struct Expander<'a> {
    /// `-p PID` is one of its words.
    limitable: bool,
    inputs: &'a ExpandInputs<'a>,
    /// Parameters that the script asks after; `None` for all.
    asked: Option<Vec<u32>>,
    macros: HashMap<Arc<str>, Vec<Arc<Macro>>>,
    diagnostics: Vec<Diagnostic>,
    /// Macros being expanded, outermost first.
    active: Vec<Arc<Macro>>,
    /// Names the script asked for with `getopt`.
    options: Vec<Arc<str>>,
    /// What options are for, of those whose `getopt` says.
    described: Vec<(Arc<str>, Arc<str>)>,
    /// Options and their defaults, as they were first asked for.
    defaults: Vec<(Arc<str>, ExprKind)>,
    fresh: u32,
    depth: u32,
    /// Nodes that macros have made so far; those of the text are as many as it has.
    nodes: u32,
    /// A limit was reached: nothing more is expanded.
    stopped: bool,
}

/// What names mean inside one macro's body; outside of macros everything means itself.
#[derive(Default)]
struct Scope {
    /// Inside a macro.
    hygienic: bool,
    variables: HashMap<Arc<str>, Arc<str>>,
    maps: HashMap<Arc<str>, Arc<str>>,
    /// Parameters by expression: what they stand for and how large that is.
    expressions: HashMap<Arc<str>, (Expr, macros::Size)>,
}

impl Expander<'_> {
    fn item(&mut self, item: &mut Item) {
        let mut scope = Scope::default();
        if let Item::Probe(probe) = item {
            for point in &mut probe.points {
                parameters::in_point(point, self.inputs.params);
            }
        }
        visit::item_mut(item, &mut |node| self.node(node, &mut scope));
    }

    fn node(&mut self, node: NodeMut<'_>, scope: &mut Scope) {
        match node {
            NodeMut::Expr(e) => self.expr(e, scope),
            NodeMut::Block(block) => self.block(block, scope),
            NodeMut::Type(ty) => self.type_name(ty, scope),
            NodeMut::Name(name) => {
                if name.text.starts_with('@') {
                    self.map_name(&mut name.text, name.span, scope);
                } else {
                    self.variable_name(&mut name.text, scope);
                }
            }
        }
    }

    /// Counts a node; false when a limit is reached.
    fn enter(&mut self, span: Span, extra: u32) -> bool {
        if !self.active.is_empty() {
            self.nodes += 1;
        }
        if self.stopped {
            return false;
        }
        let budget = if self.depth + extra > MAX_HEIGHT {
            format!("the script's macros nest too deep here: the limit is {MAX_HEIGHT} levels")
        } else if self.nodes > MAX_NODES {
            format!("the script's macros expand to too much here: the limit is {MAX_NODES} names, values and operators")
        } else {
            return true;
        };
        self.stopped = true;
        self.diagnostics.push(
            Diagnostic::error(codes::EXPANSION_TOO_LARGE, span, budget)
                .help("macros that use others several times over grow without bounds; use fewer levels"),
        );
        false
    }

    fn block(&mut self, block: &mut Block, scope: &mut Scope) {
        if !self.enter(block.span, 1) {
            return;
        }
        self.depth += 1;
        for statement in &mut block.statements {
            self.statement(statement, scope);
        }
        if let Some(value) = &mut block.value {
            self.expr(value, scope);
        }
        self.depth -= 1;
    }

    fn statement(&mut self, statement: &mut Statement, scope: &mut Scope) {
        visit::statement_mut(statement, &mut |node| self.node(node, scope));
        comptime::statement(statement);
        let block = match &mut statement.kind {
            // A macro in a statement's place is a block of statements.
            StatementKind::Expr(Expr { kind: ExprKind::Block(block), .. }) => std::mem::take(&mut **block),
            _ => return,
        };
        statement.kind = StatementKind::Block(without_value(block));
    }

    fn expr(&mut self, e: &mut Expr, scope: &mut Scope) {
        if !self.enter(e.span, 1) {
            return;
        }
        self.depth += 1;
        self.expr_inside(e, scope);
        self.depth -= 1;
    }

    fn expr_inside(&mut self, e: &mut Expr, scope: &mut Scope) {
        match &mut e.kind {
            ExprKind::Ident(name) => {
                let name = name.clone();
                self.ident(e, &name, scope);
            }
            ExprKind::Variable(name) => self.variable_name(name, scope),
            ExprKind::Positional(_) | ExprKind::PositionalCount => self.positional(e),
            ExprKind::Map(name, keys) => {
                self.map_name(name, e.span, scope);
                for key in keys.iter_mut().flatten() {
                    self.expr(key, scope);
                }
            }
            ExprKind::Call(..) => self.call(e, scope),
            _ => {
                visit::expr_mut(e, &mut |node| self.node(node, scope));
                array_of_a_type(e);
                comptime::expr(e);
            }
        }
    }

    fn call(&mut self, e: &mut Expr, scope: &mut Scope) {
        let ExprKind::Call(name, arguments) = &mut e.kind else { return };
        if &*name.text == "str" && self.positional_text(arguments) {
            if let [Expr { kind: ExprKind::Str(_), .. }] = arguments.as_slice() {
                e.kind = std::mem::take(arguments).remove(0).kind;
            }
            return;
        }
        for argument in arguments.iter_mut() {
            self.expr(argument, scope);
        }
        if &*name.text == "getopt" {
            return self.getopt(e);
        }
        if self.macros.contains_key(&name.text) {
            self.macro_call(e);
        }
    }

    fn ident(&mut self, e: &mut Expr, name: &Arc<str>, scope: &Scope) {
        if let Some((value, size)) = scope.expressions.get(name) {
            self.nodes = self.nodes.saturating_add(size.nodes);
            if self.enter(e.span, size.height) {
                *e = value.clone();
            }
        } else if self.macros.contains_key(name) {
            let span = e.span;
            e.kind = ExprKind::Call(super::ast::Name { text: name.clone(), span }, Vec::new());
            self.macro_call(e);
        }
    }

    fn type_name(&mut self, ty: &mut TypeName, scope: &mut Scope) {
        visit::ty_mut(ty, &mut |node| self.node(node, scope));
        let replacement = match &ty.base {
            TypeBase::Named(name) => scope.expressions.get(name).map(|(e, _)| e),
            TypeBase::TypeOf(e) => Some(&**e),
            _ => None,
        };
        let Some(ExprKind::Type(given)) = replacement.map(|e| &e.kind) else { return };
        let mut given = given.clone();
        given.suffixes.append(&mut ty.suffixes);
        *ty = TypeName { span: ty.span, ..given };
    }
}

/// What looks like an element where it was written is an array where a macro is given a type: `sizeof(a[2])`.
fn array_of_a_type(e: &mut Expr) {
    let ExprKind::Index(base, index) = &mut e.kind else { return };
    let (ExprKind::Type(of), ExprKind::Int(count)) = (&mut base.kind, &index.kind) else { return };
    let arrays = of.suffixes.iter().rev().take_while(|suffix| matches!(suffix, TypeSuffix::Array(_))).count();
    let at = of.suffixes.len() - arrays;
    of.suffixes.insert(at, TypeSuffix::Array(Some(*count)));
    e.kind = std::mem::replace(&mut base.kind, ExprKind::PositionalCount);
}

/// The block with its value as a last statement.
fn without_value(mut block: Block) -> Block {
    if let Some(value) = block.value.take() {
        let span = value.span;
        let kind = match value.kind {
            ExprKind::Block(inner) => StatementKind::Block(without_value(*inner)),
            kind => StatementKind::Expr(Expr { kind, span }),
        };
        block.statements.push(Statement { kind, span });
    }
    block
}

#[cfg(test)]
mod tests;
