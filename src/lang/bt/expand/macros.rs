//! Macros: choosing one by its arguments, and putting its body in the call's place.

use std::sync::Arc;

use super::{Expander, Scope};
use crate::lang::bt::ast::{Expr, ExprKind, Item, Macro, Name, Script};
use crate::lang::bt::builtins;
use crate::lang::bt::visit::{self, Node};
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;

impl Expander<'_> {
    /// Takes the macros out of the script.
    pub(super) fn collect_macros(&mut self, script: &mut Script) {
        let mut rest = Vec::with_capacity(script.items.len());
        for item in script.items.drain(..) {
            let Item::Macro(m) = item else {
                rest.push(item);
                continue;
            };
            self.refuse_twins(&m);
            let forms = self.macros.entry(m.name.text.clone()).or_default();
            if let Some(first) = forms.iter().find(|f| kinds(f) == kinds(&m)) {
                self.diagnostics.push(
                    Diagnostic::error(
                        codes::MACRO_DUPLICATE,
                        m.name.span,
                        format!("macro `{}` is defined twice with the same parameters", m.name.text),
                    )
                    .label(first.name.span, "first defined here")
                    .help("remove one, or let them differ in the number or kinds of parameters"),
                );
            } else {
                forms.push(Arc::new(m));
            }
        }
        script.items = rest;
    }

    /// Of two parameters with one name the body could see only one.
    fn refuse_twins(&mut self, m: &Macro) {
        for (i, parameter) in m.parameters.iter().enumerate() {
            let Some(first) = m.parameters.iter().take(i).find(|p| p.text == parameter.text) else { continue };
            let what = match parameter.text.chars().next() {
                Some('$') => "Variable",
                Some('@') => "Map",
                _ => "Ident",
            };
            let message = format!("{what} for macro argument has already been used: {}", parameter.text);
            self.diagnostics.push(
                Diagnostic::error(codes::MACRO_DUPLICATE, parameter.span, message).label(first.span, "first here"),
            );
        }
    }

    /// Replaces a call of a macro; its arguments are expanded already.
    pub(super) fn macro_call(&mut self, e: &mut Expr) {
        let ExprKind::Call(name, arguments) = &mut e.kind else { return };
        // A call that is left as it is says nothing more: the limit is told.
        if self.stopped {
            return;
        }
        let Some(chosen) = self.choose(name, arguments) else { return };
        let arguments = std::mem::take(arguments);
        if self.active.iter().any(|m| Arc::ptr_eq(m, &chosen)) {
            self.diagnostics.push(
                Diagnostic::error(
                    codes::MACRO_RECURSION,
                    e.span,
                    format!("macro `{}` uses itself without end", chosen.name.text),
                )
                .label(chosen.name.span, "defined here")
                .help("macros are replaced by their bodies; use a `for` or `while` loop to repeat something"),
            );
            e.kind = ExprKind::Error;
            return;
        }
        let mut scope = bind(&chosen, arguments);
        let mut body = chosen.body.clone();
        self.active.push(chosen);
        self.block(&mut body, &mut scope);
        self.active.pop();
        e.kind = match body.value.take() {
            // A body that is only a value stands for that value.
            Some(value) if body.statements.is_empty() => value.kind,
            value => {
                body.value = value;
                ExprKind::Block(Box::new(body))
            }
        };
    }

    /// The form whose parameters fit best: by variable and by map before by expression.
    fn choose(&mut self, name: &Name, arguments: &[Expr]) -> Option<Arc<Macro>> {
        let forms = self.macros.get(&name.text)?;
        let fitting = forms.iter().filter(|m| fits(m, arguments));
        let best = fitting.max_by_key(|m| m.parameters.iter().filter(|p| p.text.starts_with(['$', '@'])).count());
        if let Some(best) = best {
            return Some(Arc::clone(best));
        }
        // A builtin of the same name takes the calls that fit no form; a bare name is no call.
        if builtins::function(&name.text).is_some() || builtins::is_variable(&name.text) {
            return None;
        }
        let known: Vec<_> = forms.iter().map(|m| format!("`{}`", signature(m))).collect();
        let first = forms.first().map(|m| m.name.span);
        let mut diagnostic = Diagnostic::error(
            codes::UNKNOWN_MACRO_FORM,
            name.span,
            format!("Call to {}() has arguments that do not match any definition.", name.text),
        )
        .help(format!("it is defined as {}", known.join(" and ")));
        if let Some(first) = first {
            diagnostic = diagnostic.label(first, "defined here");
        }
        self.diagnostics.push(diagnostic);
        None
    }

    /// Inside a macro, its own variables get names that no other code can have.
    pub(super) fn variable_name(&mut self, name: &mut Arc<str>, scope: &mut Scope) {
        if !scope.hygienic {
            return;
        }
        let fresh = &mut self.fresh;
        let renamed = scope.variables.entry(name.clone()).or_insert_with(|| {
            *fresh += 1;
            format!("{name}'{fresh}").into()
        });
        *name = renamed.clone();
    }

    /// Inside a macro, only the maps it was given are seen.
    pub(super) fn map_name(&mut self, name: &mut Arc<str>, span: Span, scope: &mut Scope) {
        if !scope.hygienic {
            return;
        }
        if let Some(given) = scope.maps.get(name) {
            *name = given.clone();
            return;
        }
        let (maker, place) = self.active.last().map_or((String::new(), span), |m| (signature(m), m.name.span));
        self.diagnostics.push(
            Diagnostic::error(
                codes::MACRO_MAP,
                span,
                format!("the macro uses the map `{name}`, which it was not given"),
            )
            .label(place, format!("in `{maker}`"))
            .help(format!("make `{name}` a parameter of the macro and hand the map over in the call")),
        );
        // Told once, not at every use and call.
        scope.maps.insert(name.clone(), name.clone());
    }
}

fn kinds(m: &Macro) -> Vec<Option<char>> {
    m.parameters.iter().map(|p| p.text.chars().next().filter(|c| matches!(c, '$' | '@'))).collect()
}

fn signature(m: &Macro) -> String {
    let parameters: Vec<_> = m.parameters.iter().map(|p| &*p.text).collect();
    format!("{}({})", m.name.text, parameters.join(", "))
}

fn fits(m: &Macro, arguments: &[Expr]) -> bool {
    m.parameters.len() == arguments.len()
        && m.parameters.iter().zip(arguments).all(|(p, a)| match p.text.chars().next() {
            Some('$') => matches!(a.kind, ExprKind::Variable(_)),
            Some('@') => matches!(a.kind, ExprKind::Map(_, None)),
            _ => true,
        })
}

fn bind(m: &Macro, arguments: Vec<Expr>) -> Scope {
    let mut scope = Scope { hygienic: true, ..Scope::default() };
    for (parameter, argument) in m.parameters.iter().zip(arguments) {
        let name = parameter.text.clone();
        match (&argument.kind, name.starts_with('$'), name.starts_with('@')) {
            (ExprKind::Variable(given), true, _) => {
                scope.variables.insert(name, given.clone());
            }
            (ExprKind::Map(given, None), _, true) => {
                scope.maps.insert(name, given.clone());
            }
            _ => {
                let size = Size::of(&argument);
                scope.expressions.insert(name, (argument, size));
            }
        }
    }
    scope
}

/// How large an expression's tree is.
#[derive(Clone, Copy, Default)]
pub(super) struct Size {
    pub height: u32,
    pub nodes: u32,
}

impl Size {
    fn of(e: &Expr) -> Self {
        let mut below = Self::default();
        visit::expr(e, &mut |node| below.add(&node));
        below.with_its_root()
    }

    fn add(&mut self, node: &Node<'_>) {
        let of = match node {
            Node::Expr(e) => Self::of(e),
            Node::Block(block) => {
                let mut below = Self::default();
                visit::block(block, &mut |node| below.add(&node));
                below.with_its_root()
            }
            Node::Type(_) | Node::Name(_) => Self { height: 1, nodes: 1 },
        };
        self.height = self.height.max(of.height);
        self.nodes = self.nodes.saturating_add(of.nodes);
    }

    const fn with_its_root(self) -> Self {
        Self { height: self.height + 1, nodes: self.nodes.saturating_add(1) }
    }
}
