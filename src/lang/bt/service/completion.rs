//! What could be typed at a position.

use std::collections::BTreeSet;

use super::context::{Context, each_expr};
use super::infer::Inference;
use super::places;
use crate::lang::bt::ast::{Expr, ExprKind, Item, StatementKind, TypeDef};
use crate::lang::bt::builtins::{self, Builtin};
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::bt::settings;
use crate::lang::service::{Completion, CompletionKind, ServiceEnv};
use crate::lang::source::{SourceText, Span};
use crate::probe::point;

/// How many probes or structs are offered at once.
const LIMIT: usize = 200;

/// Words that begin statements.
pub(super) const KEYWORDS: &[(&str, &str)] = &[
    ("if", "if condition { ... }"),
    ("else", "else { ... }"),
    ("for", "for ($kv : @map) { ... } or for ($i : 0..10) { ... }"),
    ("while", "while condition { ... }"),
    ("unroll", "unroll(5) { ... }"),
    ("let", "let $x: type = value;"),
    ("return", "return;"),
    ("break", "break;"),
    ("continue", "continue;"),
    ("true", "true"),
    ("false", "false"),
    ("struct", "struct name"),
];

/// Words that begin items.
pub(super) const ITEM_WORDS: &[(&str, &str)] = &[
    ("BEGIN", "BEGIN { ... }: once, before anything else"),
    ("END", "END { ... }: once, when the script ends"),
    ("config", "config = { name = value; }"),
    ("macro", "macro name($v, @m, e) { ... }"),
    ("import", "import \"path.bt\";"),
    ("let", "let @map = lruhash(1000);"),
    ("struct", "struct name { type member; };"),
    ("fn", "fn name($a: int64) : int64 { ... }"),
];

/// Everything that could be typed at `offset`, the most specific kinds first.
#[must_use]
pub fn completions(source: &SourceText, offset: u32, env: &ServiceEnv<'_>) -> Vec<Completion> {
    let context = Context::new(source, offset);
    let completer = Completer { inference: Inference { context: &context, env: *env }, context: &context, env: *env };
    completer.all()
}

struct Completer<'a> {
    context: &'a Context<'a>,
    inference: Inference<'a>,
    env: ServiceEnv<'a>,
}

impl Completer<'_> {
    fn all(&self) -> Vec<Completion> {
        let here = Span::new(self.context.offset, self.context.offset);
        let Some(index) = self.context.token() else { return self.empty(here) };
        let span = self.context.span(index);
        // Only what stands before the cursor has been typed; all of the token is replaced.
        let typed = self.context.source.slice(Span::new(span.start, self.context.offset));
        let before = self.context.before(Some(index)).map(|i| self.context.kind(i));
        match self.context.kind(index) {
            T::Point => self.points(typed, span),
            T::Word if matches!(before, Some(T::Dot | T::Arrow)) => self.fields(span),
            T::Word => self.words(typed, span, index),
            T::Variable => self.variables(typed, span),
            T::Map => self.maps(typed, span),
            T::Dot | T::Arrow => self.fields(here),
            T::Comment | T::Directive | T::Inactive | T::Shebang | T::Str | T::Int => Vec::new(),
            T::Unknown if typed == "$" => self.variables(typed, span),
            _ => self.empty(here),
        }
    }

    /// Nothing typed yet.
    fn empty(&self, here: Span) -> Vec<Completion> {
        if let Some(own) = self.own_words("", here, None) {
            return own;
        }
        if !self.context.in_code() {
            let after = self.context.before(None).map(|i| self.context.kind(i));
            // After a complete attach point comes `,`, a predicate or the body.
            return if after == Some(T::Point) { Vec::new() } else { self.points("", here) };
        }
        let before = self.context.before(None);
        match before.map(|i| (self.context.kind(i), self.context.text(i))) {
            Some((T::Dot | T::Arrow, _)) => self.fields(here),
            Some((T::Word, "struct" | "union")) => self.structs("", here),
            _ => {
                let mut all = self.variables("$", here);
                all.extend(self.maps("@", here));
                all.extend(self.plain_words("", here));
                all
            }
        }
    }

    fn points(&self, typed: &str, span: Span) -> Vec<Completion> {
        let hits = self.env.knowledge.probes(typed, LIMIT).into_iter().map(|hit| Completion {
            label: hit.point.clone(),
            insert: hit.point,
            replace: span,
            kind: CompletionKind::Probe,
            detail: hit.detail,
            doc: String::new(),
        });
        kinds(typed, span).chain(hits).chain(keywords(ITEM_WORDS, typed, span)).collect()
    }

    /// Where only some words make sense: settings, their values, types.
    fn own_words(&self, typed: &str, span: Span, index: Option<usize>) -> Option<Vec<Completion>> {
        if places::takes_type(self.context, index) {
            return Some(types(typed, span).collect());
        }
        let setting = places::setting(self.context, index)?;
        if let Some(setting) = settings::find(setting) {
            let fitting = setting.words.iter().filter(|w| starts(w, typed));
            return Some(
                fitting.map(|w| simple((*w).to_owned(), span, CompletionKind::Keyword, String::new())).collect(),
            );
        }
        let fitting = settings::SETTINGS.iter().filter(|s| setting.is_empty() && starts(s.name, typed));
        Some(
            fitting
                .map(|s| Completion {
                    label: s.name.to_owned(),
                    insert: format!("{} = ", s.name),
                    replace: span,
                    kind: CompletionKind::Keyword,
                    detail: s.default.to_owned(),
                    doc: s.doc.to_owned(),
                })
                .collect(),
        )
    }

    fn words(&self, typed: &str, span: Span, index: usize) -> Vec<Completion> {
        if let Some(own) = self.own_words(typed, span, Some(index)) {
            return own;
        }
        let before = self.context.before(Some(index)).map(|i| self.context.text(i));
        if matches!(before, Some("struct" | "union")) {
            return self.structs(typed, span);
        }
        if !self.context.in_code() {
            return keywords(ITEM_WORDS, typed, span).collect();
        }
        self.plain_words(typed, span)
    }

    fn plain_words(&self, typed: &str, span: Span) -> Vec<Completion> {
        let mut all = self.script_names(typed, span);
        let row = |kind: CompletionKind| {
            move |b: &&Builtin| Completion {
                label: b.name.to_owned(),
                insert: if kind == CompletionKind::Function { format!("{}(", b.name) } else { b.name.to_owned() },
                replace: span,
                kind,
                detail: b.signature.to_owned(),
                doc: format!("{} ({})", b.doc, b.place.words()),
            }
        };
        let fits = |b: &&Builtin| starts(b.name, typed);
        all.extend(builtins::VARIABLES.iter().filter(fits).map(|b| row(CompletionKind::Builtin)(&b)));
        all.extend(builtins::FUNCTIONS.iter().filter(fits).map(|b| row(CompletionKind::Function)(&b)));
        all.extend(keywords(KEYWORDS, typed, span));
        if !typed.is_empty() {
            all.extend(types(typed, span));
        }
        all
    }

    /// The script's own macros and functions.
    fn script_names(&self, typed: &str, span: Span) -> Vec<Completion> {
        let mut all = self.constants(typed, span);
        for item in &self.context.script.items {
            let (name, signature) = match item {
                Item::Macro(m) => (&m.name.text, super::signature::of_macro(m)),
                Item::Function(f) => (&f.name.text, super::signature::of_function(f)),
                _ => continue,
            };
            if starts(name, typed) {
                all.push(Completion {
                    label: name.to_string(),
                    insert: format!("{name}("),
                    replace: span,
                    kind: CompletionKind::Macro,
                    detail: signature,
                    doc: String::new(),
                });
            }
        }
        all
    }

    /// The script's own enumerators and `#define`s.
    fn constants(&self, typed: &str, span: Span) -> Vec<Completion> {
        let mut all = Vec::new();
        let mut add = |name: &str, what: String| {
            if starts(name, typed) {
                all.push(simple(name.to_owned(), span, CompletionKind::Keyword, what));
            }
        };
        for item in &self.context.script.items {
            if let Item::TypeDef(TypeDef::Enum { name, variants, .. }) = item {
                variants.iter().for_each(|(variant, _)| add(&variant.text, format!("enum {}", name.text)));
            }
        }
        for line in self.context.source.text.lines() {
            let Some(rest) = line.trim_start().strip_prefix("#define ") else { continue };
            let rest = rest.trim();
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            if end > 0 {
                add(&rest[..end], format!("#define {rest}"));
            }
        }
        all
    }

    fn structs(&self, typed: &str, span: Span) -> Vec<Completion> {
        let names = self.env.knowledge.structs(typed, LIMIT).into_iter();
        names.map(|name| simple(name, span, CompletionKind::Type, String::new())).collect()
    }

    fn variables(&self, typed: &str, span: Span) -> Vec<Completion> {
        let Some(item) = self.context.item() else { return Vec::new() };
        let mut names = BTreeSet::new();
        each_expr(item, &mut |e| {
            if let ExprKind::Variable(name) = &e.kind
                && !(e.span.start <= span.start && span.start < e.span.end)
            {
                names.insert(name.to_string());
            }
        });
        super::context::each_block(item, &mut |block| {
            for statement in &block.statements {
                if let StatementKind::Let { name, .. } | StatementKind::For { name, .. } = &statement.kind {
                    names.insert(name.text.to_string());
                }
            }
        });
        let names = names.into_iter().filter(|n| starts(n, typed));
        names
            .map(|name| {
                let e = Expr { kind: ExprKind::Variable(name.as_str().into()), span };
                let ty = self.type_text(&e, item);
                simple(name, span, CompletionKind::Variable, ty)
            })
            .collect()
    }

    fn maps(&self, typed: &str, span: Span) -> Vec<Completion> {
        let mut names = BTreeSet::new();
        for item in &self.context.script.items {
            if let Item::MapDecl(decl) = item {
                names.insert(decl.name.text.to_string());
            }
            each_expr(item, &mut |e| {
                if let ExprKind::Map(name, _) = &e.kind
                    && !(e.span.start <= span.start && span.start < e.span.end)
                {
                    names.insert(name.to_string());
                }
            });
        }
        let names = names.into_iter().filter(|n| starts(n, typed));
        let text = |name: &str| {
            let e = Expr { kind: ExprKind::Map(name.into(), None), span };
            self.context.script.items.first().map_or_else(String::new, |item| self.type_text(&e, item))
        };
        names.map(|name| (text(&name), name)).map(|(ty, name)| simple(name, span, CompletionKind::Map, ty)).collect()
    }

    /// The fields of what stands before the dot.
    fn fields(&self, span: Span) -> Vec<Completion> {
        let Some(item) = self.context.item() else { return Vec::new() };
        let mut base = None;
        each_expr(item, &mut |e| {
            let (inner, name) = match &e.kind {
                ExprKind::Field(inner, name) => (inner, name.span),
                ExprKind::TupleField(inner, _, number) => (inner, *number),
                _ => return,
            };
            if name.start <= self.context.offset && self.context.offset <= name.end {
                base = Some(&**inner);
            }
        });
        if let Some(Expr { kind: ExprKind::Variable(name), .. }) = base
            && let Some(parts) = places::loop_parts(item, name)
        {
            let part = |(n, what): (&str, &str)| simple(n.to_owned(), span, CompletionKind::Field, what.to_owned());
            return parts.into_iter().map(part).collect();
        }
        let Some(known) = base.and_then(|b| self.inference.of(b, item)) else { return Vec::new() };
        let fields = self.inference.fields(&known, item).into_iter();
        fields.map(|f| simple(f.name, span, CompletionKind::Field, f.ty)).collect()
    }

    fn type_text(&self, e: &Expr, item: &Item) -> String {
        self.inference.of(e, item).map(|known| known.text()).unwrap_or_default()
    }
}

fn simple(name: String, replace: Span, kind: CompletionKind, detail: String) -> Completion {
    Completion { label: name.clone(), insert: name, replace, kind, detail, doc: String::new() }
}

/// The kinds of probes that begin with what was typed, to be typed on.
fn kinds(typed: &str, span: Span) -> impl Iterator<Item = Completion> {
    let fitting = point::PROVIDERS.iter().filter(move |p| {
        let whole = p.syntax.contains(':') && !typed.contains(':');
        whole && !typed.is_empty() && starts(p.name, typed)
    });
    fitting.map(move |p| simple(format!("{}:", p.name), span, CompletionKind::Probe, p.syntax.to_owned()))
}

fn types(typed: &str, span: Span) -> impl Iterator<Item = Completion> {
    let fitting = places::TYPES.iter().filter(move |(name, _)| starts(name, typed));
    fitting.map(move |(name, what)| simple((*name).to_owned(), span, CompletionKind::Type, (*what).to_owned()))
}

fn starts(name: &str, typed: &str) -> bool {
    name.get(..typed.len()).is_some_and(|head| head.eq_ignore_ascii_case(typed))
}

fn keywords(table: &'static [(&str, &str)], typed: &str, span: Span) -> impl Iterator<Item = Completion> {
    table
        .iter()
        .filter(move |(word, _)| starts(word, typed))
        .map(move |(word, form)| simple((*word).to_owned(), span, CompletionKind::Keyword, (*form).to_owned()))
}
