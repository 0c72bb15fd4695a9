//! What is known about the thing under the cursor.

use std::collections::HashMap;
use std::sync::Arc;

use super::completion::{ITEM_WORDS, KEYWORDS};
use super::context::{Context, each_expr};
use super::infer::{Inference, Known};
use super::places;
use crate::lang::bt::ast::{Expr, ExprKind, Item, Script, StatementKind, TypeDef};
use crate::lang::bt::builtins::{self, Builtin};
use crate::lang::bt::dump;
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::bt::{constant, settings};
use crate::lang::service::{Hover, ServiceEnv};
use crate::lang::source::{SourceText, Span};

/// How many arguments of a probe are shown.
const MAX_ARGS: usize = 40;

/// Describes what is at `offset`.
#[must_use]
pub fn hover(source: &SourceText, offset: u32, env: &ServiceEnv<'_>) -> Option<Hover> {
    let context = Context::new(source, offset);
    let index = context.token_under()?;
    let (span, text) = (context.span(index), context.text(index));
    let before = context.before(Some(index)).map(|i| context.kind(i));
    match context.kind(index) {
        T::Point => point(text, span, env),
        T::Word if matches!(before, Some(T::Dot | T::Arrow)) => field(&context, span, *env),
        T::Word => own_word(&context, index, text, span, env).or_else(|| word(&context, index, text, span)),
        T::Variable | T::Map => place(&context, text, span, *env),
        T::Int => {
            let value = crate::lang::bt::lexer::decode_int(text).ok()?;
            let code = value.to_string();
            (code != text).then(|| Hover { span, code: format!("{code} ({value:#x})"), doc: String::new() })
        }
        _ => None,
    }
}

fn point(text: &str, span: Span, env: &ServiceEnv<'_>) -> Option<Hover> {
    let args = env.knowledge.args(text);
    let mut lines: Vec<_> =
        args.iter().take(MAX_ARGS).map(|f| format!("    {}", declaration(&f.ty, &f.name))).collect();
    if args.len() > MAX_ARGS {
        lines.push("    ...".into());
    }
    if let Some(ty) = env.knowledge.retval(text) {
        lines.push(format!("    {}", declaration(&ty, "retval")));
    }
    let doc = provider(text)?;
    let code = if lines.is_empty() { text.to_owned() } else { format!("{text}\n{}", lines.join("\n")) };
    Some(Hover { span, code, doc: doc.to_owned() })
}

/// `int x[4]` as C writes it.
fn declaration(ty: &str, name: &str) -> String {
    match ty.split_once('[') {
        Some((base, sizes)) => format!("{} {name}[{sizes}", base.trim_end()),
        None if ty.ends_with('*') => format!("{ty}{name}"),
        None => format!("{ty} {name}"),
    }
}

/// When a kind of probe fires.
fn provider(point: &str) -> Option<&'static str> {
    let name = point.split(':').next().unwrap_or("").to_ascii_lowercase();
    Some(match name.as_str() {
        "begin" => "Fires once, before all other probes are attached.",
        "end" => "Fires once, after all other probes are detached.",
        "kprobe" | "k" => "Fires when a kernel function is entered.",
        "kretprobe" | "kr" => "Fires when a kernel function returns.",
        "fentry" | "f" | "kfunc" => "Fires when a kernel function is entered; arguments have names and types.",
        "fexit" | "fr" | "kretfunc" => "Fires when a kernel function returns; arguments and retval have types.",
        "uprobe" | "u" => "Fires when a function of a program or library is entered.",
        "uretprobe" | "ur" => "Fires when a function of a program or library returns.",
        "usdt" => "Fires at a marker that a program's authors put into it.",
        "tracepoint" | "t" => "Fires at a marker that the kernel's authors put there; stable across versions.",
        "rawtracepoint" | "rt" => "Fires at a kernel tracepoint with its arguments as the kernel passes them.",
        "profile" | "p" => "Fires at a steady rate on every CPU.",
        "interval" | "i" => "Fires at a steady rate on one CPU.",
        "software" | "s" => "Fires every so many software events of the kernel.",
        "hardware" | "h" => "Fires every so many hardware events of the CPU.",
        "watchpoint" | "w" => "Fires when memory at an address is read, written or executed.",
        "iter" | "it" => "Runs over all objects of a kind, such as tasks.",
        "self" => "Fires on an event of this program itself, such as a signal.",
        _ => return None,
    })
}

fn word(context: &Context<'_>, index: usize, text: &str, span: Span) -> Option<Hover> {
    for item in &context.script.items {
        let code = match item {
            Item::Macro(m) if *m.name.text == *text => format!("macro {}", super::signature::of_macro(m)),
            Item::Function(f) if *f.name.text == *text => format!("fn {}", super::signature::of_function(f)),
            _ => continue,
        };
        return Some(Hover { span, code, doc: String::new() });
    }
    if let Some(code) = super::navigate::define_line(context, text) {
        return Some(Hover { span, code: context.source.slice(code).to_owned(), doc: String::new() });
    }
    let call = context.kind(index + 1) == T::LParen;
    let (first, second) = if call {
        (builtins::function(text), builtins::variable(text))
    } else {
        (builtins::variable(text), builtins::function(text))
    };
    first.or(second).map(|b| of_builtin(b, span)).or_else(|| of_language(text, span))
}

/// A setting, a struct or an enumerator: words that mean something only where they stand.
fn own_word(context: &Context<'_>, index: usize, text: &str, span: Span, env: &ServiceEnv<'_>) -> Option<Hover> {
    if places::setting(context, Some(index)).is_some_and(str::is_empty)
        && let Some(setting) = settings::find(text)
    {
        let default = if setting.default.is_empty() { String::new() } else { format!(" = {}", setting.default) };
        let words = setting.words.join(", ");
        let words = if words.is_empty() { String::new() } else { format!(" One of {words}.") };
        return Some(Hover { span, code: format!("{text}{default}"), doc: format!("{}{words}", setting.doc) });
    }
    let tag = context.before(Some(index)).map(|i| context.text(i)).filter(|t| matches!(*t, "struct" | "union"));
    if let (Some(tag), Some(item)) = (tag, context.item()) {
        let name = format!("{tag} {text}");
        let inference = Inference { context, env: *env };
        let fields = inference.fields(&Known::Type(name.clone()), item);
        let mut lines: Vec<_> =
            fields.iter().take(MAX_ARGS).map(|f| format!("    {}", declaration(&f.ty, &f.name))).collect();
        if fields.len() > MAX_ARGS {
            lines.push(format!("    ... {} more", fields.len() - MAX_ARGS));
        }
        return (!lines.is_empty()).then(|| Hover {
            span,
            code: format!("{name}\n{}", lines.join("\n")),
            doc: String::new(),
        });
    }
    context.script.items.iter().find_map(|item| {
        let Item::TypeDef(TypeDef::Enum { name, variants, .. }) = item else { return None };
        variants.iter().any(|(variant, _)| *variant.text == *text).then(|| {
            let number = enumerators(&context.script).remove(text).map_or_else(String::new, |n| format!(" = {n}"));
            let of =
                if name.text.is_empty() { "an enum without a name".to_owned() } else { format!("enum {}", name.text) };
            Hover { span, code: format!("{text}{number}"), doc: format!("Of {of}.") }
        })
    })
}

/// The numbers of the script's enumerators, which may be made of those before them.
fn enumerators(script: &Script) -> HashMap<Arc<str>, i64> {
    let mut known: HashMap<Arc<str>, i64> = HashMap::new();
    for item in &script.items {
        let Item::TypeDef(TypeDef::Enum { variants, .. }) = item else { continue };
        let mut next = Some(0_i64);
        for (variant, value) in variants {
            let mut named = |kind: &ExprKind| match kind {
                ExprKind::Ident(name) => known.get(name).map(|n| *n as u64),
                _ => None,
            };
            let number = value.as_ref().map_or(next, |e| constant::fold_names(e, &mut named).map(|n| n as i64));
            if let Some(number) = number {
                known.insert(variant.text.clone(), number);
            }
            next = number.map(|n| n.wrapping_add(1));
        }
    }
    known
}

/// What a word of the language is for.
fn of_language(text: &str, span: Span) -> Option<Hover> {
    let form = KEYWORDS.iter().chain(ITEM_WORDS).find(|(word, _)| *word == text).map(|(_, form)| *form);
    if let Some(form) = form {
        return Some(Hover { span, code: form.to_owned(), doc: String::new() });
    }
    let (name, what) = places::TYPES.iter().find(|(name, _)| *name == text)?;
    Some(Hover { span, code: (*name).to_owned(), doc: format!("{}.", capital(what)) })
}

fn of_builtin(builtin: &Builtin, span: Span) -> Hover {
    let doc = format!("{}\n{}.", builtin.doc, capital(builtin.place.words()));
    Hover { span, code: builtin.signature.to_owned(), doc }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

fn field(context: &Context<'_>, span: Span, env: ServiceEnv<'_>) -> Option<Hover> {
    let item = context.item()?;
    let inference = Inference { context, env };
    let mut found = None;
    each_expr(item, &mut |e| {
        if let ExprKind::Field(_, name) = &e.kind
            && name.span == span
        {
            found = Some((e, name));
        }
    });
    let (e, name) = found?;
    match inference.of(e, item)? {
        Known::Args => None,
        known => Some(Hover { span, code: declaration(&known.text(), &name.text), doc: String::new() }),
    }
}

/// A variable or map: its type as far as known, and how a map is filled.
fn place(context: &Context<'_>, text: &str, span: Span, env: ServiceEnv<'_>) -> Option<Hover> {
    let item = context.item()?;
    let inference = Inference { context, env };
    let map = text.starts_with('@');
    let kind = if map { ExprKind::Map(text.into(), None) } else { ExprKind::Variable(text.into()) };
    let ty = match inference.of(&Expr { kind, span }, item) {
        Some(known) => format!("{text}: {}", known.text()),
        None => text.to_owned(),
    };
    let doc = if map { filled(context, text) } else { None };
    Some(Hover { span, code: ty, doc: doc.unwrap_or_default() })
}

fn filled(context: &Context<'_>, map: &str) -> Option<String> {
    let mut found = None;
    for item in &context.script.items {
        super::context::each_block(item, &mut |block| {
            for statement in &block.statements {
                if let (None, StatementKind::Assign { target, value, .. }) = (&found, &statement.kind)
                    && matches!(&target.kind, ExprKind::Map(name, _) if **name == *map)
                {
                    let keys = context.source.slice(target.span);
                    let value = context.source.slice(value.span);
                    let value = if value.is_empty() { "a value" } else { value };
                    found = Some(format!("Filled by `{keys} = {value}`."));
                }
            }
        });
    }
    found.or_else(|| {
        context.script.items.iter().find_map(|i| match i {
            Item::MapDecl(d) if *d.name.text == *map => {
                Some(format!("A {} of {} keys.", d.kind.text, dump::expr(&d.size)))
            }
            _ => None,
        })
    })
}
