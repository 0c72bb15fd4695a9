//! Top-level items: probes, settings, imports, macros, functions, map declarations.

use crate::lang::bt::ast::{Expr, ExprKind, Function, Item, Macro, MapDecl, Name, Probe, Script, Setting};
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;

use crate::lang::bt::parser::{Parser, blocks, ctypes, statements};

pub fn script(p: &mut Parser<'_>) -> Script {
    let headers = p.diagnostics.iter().any(|d| d.code == codes::INCLUDE_IGNORED);
    let mut items = Vec::new();
    let mut configured: Option<Span> = None;
    while !p.at_kind(T::Eof) {
        let before = p.at;
        item(p, &mut items, &mut configured);
        if p.at == before {
            p.bump();
        }
    }
    Script { items, headers }
}

fn item(p: &mut Parser<'_>, items: &mut Vec<Item>, configured: &mut Option<Span>) {
    match p.kind() {
        T::Semicolon | T::Unclosed => {
            p.bump();
        }
        T::RBrace => {
            p.error_here(
                codes::STRAY_CLOSE,
                "this `}` closes nothing",
                "remove it, or look for a block closed too early",
            );
            p.bump();
        }
        T::Word => word_item(p, items, configured),
        _ => items.extend(probe(p).map(Item::Probe)),
    }
}

fn word_item(p: &mut Parser<'_>, items: &mut Vec<Item>, configured: &mut Option<Span>) {
    let word = p.text_of(p.token());
    match word {
        "config" => {
            let (settings, span) = config(p);
            if let Some(first) = *configured {
                p.report_always(
                    Diagnostic::error(codes::DUPLICATE_CONFIG, span, "a script has only one `config` block")
                        .label(first, "the first one")
                        .help("put all settings into the first block"),
                );
            }
            configured.get_or_insert(span);
            items.push(Item::Config(settings, span));
        }
        "import" => items.extend(import(p)),
        "let" => items.extend(map_decl(p).map(Item::MapDecl)),
        "macro" => items.extend(macro_item(p).map(Item::Macro)),
        "fn" => items.extend(function(p).map(Item::Function)),
        "struct" | "union" | "enum" | "typedef" => ctypes::c_definition(p, items),
        _ => {
            let message = format!("expected a probe, found {}", p.found());
            p.error_here(
                codes::EXPECTED,
                message,
                "a probe begins with its attach points, like `kprobe:vfs_read { ... }`",
            );
            skip_item(p);
        }
    }
}

/// To the end of a broken item: past its `;` or `}`, or before the next probe.
pub fn skip_item(p: &mut Parser<'_>) {
    let mut depth = 0_u32;
    while !p.at_end() {
        match p.kind() {
            T::Point if depth == 0 => return,
            T::LBrace => depth += 1,
            T::RBrace => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    p.bump();
                    return;
                }
            }
            T::Semicolon if depth == 0 => {
                p.bump();
                return;
            }
            _ => {}
        }
        p.bump();
    }
}

fn probe(p: &mut Parser<'_>) -> Option<Probe> {
    let start = p.token().span;
    let name = (p.at_kind(T::Point) && p.peek(1).kind == T::Assign).then(|| {
        let name = p.bump();
        p.bump();
        p.name(name)
    });
    let points = points(p);
    if points.is_empty() {
        let message = format!("expected an attach point, found {}", p.found());
        p.error_here(codes::EXPECTED, message, "a probe begins with its attach points, like `kprobe:vfs_read { ... }`");
        if p.at_kind(T::LBrace) {
            let body = blocks::effect_block(p);
            return Some(Probe {
                name,
                points,
                predicate: None,
                alias: None,
                limited: false,
                span: p.since(start),
                body,
            });
        }
        skip_item(p);
        return None;
    }
    let assigns = name.as_ref().is_some_and(|n| n.text.starts_with(['@', '$']));
    if !p.at_kind(T::LBrace) && (assigns || statement_like(points.last())) {
        outside(p, if assigns { p.since(start) } else { points.last().map_or(start, |p| p.span) });
        return None;
    }
    let predicate = predicate(p);
    if !p.at_kind(T::LBrace) {
        missing_body(p, &points, predicate.is_some());
        let at = p.previous_end();
        let body = crate::lang::bt::ast::Block { span: at, ..Default::default() };
        return Some(Probe { name, points, predicate, body, alias: None, limited: false, span: p.since(start) });
    }
    let body = blocks::effect_block(p);
    Some(Probe { name, points, predicate, body, alias: None, limited: false, span: p.since(start) })
}

/// `a, b, c`
fn points(p: &mut Parser<'_>) -> Vec<Name> {
    let mut points = Vec::new();
    loop {
        if p.at_kind(T::Point) {
            let token = p.bump();
            points.push(p.name(token));
        } else if !points.is_empty() && p.at_kind(T::LBrace) {
            // A comma before the body: harmless.
            return points;
        } else {
            return points;
        }
        if p.accept(T::Comma).is_some() {
            continue;
        }
        if p.at_kind(T::Point) && p.peek(1).kind != T::Assign {
            if statement_like(points.last()) {
                return points;
            }
            let at = p.previous_end();
            p.report(
                Diagnostic::error(
                    codes::MISSING_COMMA,
                    p.token().span,
                    "a `,` or this probe's body `{ ... }` is missing before this attach point",
                )
                .help("separate attach points that share a body by `,`; a point with blanks in it needs quotes")
                .fix(at, ","),
            );
            continue;
        }
        return points;
    }
}

/// Statements without a probe, which most often follow a `}` too many: told once, then left out up
/// to the next probe or to the `}` that would have closed them.
fn outside(p: &mut Parser<'_>, span: Span) {
    let before = p.tokens[..p.at].iter().rev().find(|t| t.span.end <= span.start && t.kind == T::RBrace);
    let mut problem = Diagnostic::error(codes::OUTSIDE_PROBE, span, "this stands outside of any probe")
        .help("put statements into a probe's braces, such as `BEGIN { ... }` to run them once at the start");
    if let Some(close) = before {
        problem = problem.label(close.span, "the probe before it ends here");
    }
    p.report(problem);
    let mut depth = 0_u32;
    while !p.at_end() {
        match p.kind() {
            T::Point if depth == 0 && probe_like(p.text_of(p.token())) => return,
            T::LBrace => depth += 1,
            T::RBrace if depth == 0 => {
                p.bump();
                return;
            }
            T::RBrace => depth -= 1,
            _ => {}
        }
        p.bump();
    }
}

fn missing_body(p: &mut Parser<'_>, points: &[Name], predicate: bool) {
    let message = format!("expected this probe's body `{{ ... }}`, found {}", p.found());
    let help =
        if predicate { "write `/predicate/ { ... }`" } else { "write the body after the attach points: `{ ... }`" };
    let span = if p.at_end() { p.previous_end() } else { p.token().span };
    p.report(
        Diagnostic::error(codes::MISSING_BODY, span, message)
            .label(points.first().map_or(span, |p| p.span), "the probe begins here")
            .help(help),
    );
    if !p.at_kind(T::Point) {
        skip_item(p);
    }
}

/// `/ expr /`, when there is one.
fn predicate(p: &mut Parser<'_>) -> Option<Expr> {
    let open = p.accept(T::Slash)?;
    let outer = std::mem::replace(&mut p.predicate, true);
    let condition = p.expression();
    p.predicate = outer;
    if p.accept(T::Slash).is_none() {
        let span = if p.at_end() { p.previous_end() } else { p.token().span };
        let message = format!("expected `/` after the predicate, found {}", p.found());
        let help = match p.kind() {
            T::Assign => "a predicate assigns nothing; to compare write `==`",
            _ => "close it with `/` before the body: `/pid == 1/ {`",
        };
        p.report(
            Diagnostic::error(codes::UNCLOSED_PREDICATE, span, message)
                .label(open.span, "the predicate begins here")
                .help(help),
        );
        while !p.at_end() && !matches!(p.kind(), T::LBrace | T::Point | T::RBrace) {
            p.bump();
        }
    }
    Some(condition)
}

/// `config = { name = value; ... }`
fn config(p: &mut Parser<'_>) -> (Vec<Setting>, Span) {
    let start = p.bump().span;
    p.accept(T::Assign);
    let mut settings = Vec::new();
    let Some(open) = p.expect(T::LBrace, "`{`", "settings are written `config = { name = value; }`") else {
        skip_item(p);
        return (settings, p.since(start));
    };
    while !p.at_end() && !p.at_kind(T::RBrace) {
        if p.accept(T::Semicolon).is_some() || p.accept(T::Comma).is_some() {
            continue;
        }
        let Some(name) = p.accept(T::Word).map(|t| p.name(t)) else {
            let message = format!("expected a setting's name, found {}", p.found());
            p.error_here(codes::BAD_CONFIG, message, "settings are written `name = value;`");
            statements::skip_statement(p);
            continue;
        };
        if p.expect(T::Assign, "`=`", "settings are written `name = value;`").is_none() {
            statements::skip_statement(p);
            continue;
        }
        let value = p.expression();
        settings.push(Setting { name, value });
        if !matches!(p.kind(), T::Semicolon | T::Comma | T::RBrace | T::Word) {
            let message = format!("expected `;`, found {}", p.found());
            p.error_here(codes::BAD_CONFIG, message, "settings are written `name = value;`");
            statements::skip_statement(p);
        }
    }
    p.close(T::RBrace, "}", open);
    (settings, p.since(start))
}

fn import(p: &mut Parser<'_>) -> Option<Item> {
    p.bump();
    let token = p.expect(T::Str, "a path in quotes", "write `import \"path.bt\";`");
    let name = token.map(|t| Name { text: string_value(p, t).into(), span: t.span });
    if name.is_none() {
        skip_item(p);
    } else {
        statements::statement_end(p);
    }
    name.map(Item::Import)
}

/// `let @m = kind(size);`
fn map_decl(p: &mut Parser<'_>) -> Option<MapDecl> {
    let start = p.bump().span;
    let help =
        "map declarations are written `let @name = lruhash(1000);`; scratch variables are declared inside probes";
    let parts = (|| {
        let name = p.expect(T::Map, "a map's name", help)?;
        p.expect(T::Assign, "`=`", help)?;
        let kind = p.expect(T::Word, "a kind of map", help)?;
        let open = p.expect(T::LParen, "`(`", help)?;
        let size = p.expression();
        p.close(T::RParen, ")", open);
        Some((p.name(name), p.name(kind), size))
    })();
    let Some((name, kind, size)) = parts else {
        skip_item(p);
        return None;
    };
    let span = p.since(start);
    statements::statement_end(p);
    Some(MapDecl { name, kind, size, span })
}

/// `macro name(parameters) { ... }`
fn macro_item(p: &mut Parser<'_>) -> Option<Macro> {
    let start = p.bump().span;
    let help = "macros are written `macro name($variable, @map, expression) { ... }`";
    let header = (|| {
        let name = p.expect(T::Word, "a name", help)?;
        let open = p.expect(T::LParen, "`(`", help)?;
        let parameters = macro_parameters(p);
        p.close(T::RParen, ")", open);
        p.at_kind(T::LBrace).then(|| (p.name(name), parameters))
    })();
    let Some((name, parameters)) = header else {
        let message = format!("expected this macro's body, found {}", p.found());
        p.error_here(codes::EXPECTED, message, help);
        skip_item(p);
        return None;
    };
    let body = blocks::value_block(p);
    Some(Macro { name, parameters, body, span: p.since(start) })
}

fn macro_parameters(p: &mut Parser<'_>) -> Vec<Name> {
    let mut parameters = Vec::new();
    while !p.at_end() && !p.at_kind(T::RParen) {
        if !matches!(p.kind(), T::Word | T::Variable | T::Map) {
            let message = format!("expected a parameter, found {}", p.found());
            p.error_here(codes::BAD_PARAMETER, message, "parameters are `$variable`, `@map` or `expression`");
            break;
        }
        let token = p.bump();
        parameters.push(p.name(token));
        if p.accept(T::Comma).is_none() {
            break;
        }
    }
    parameters
}

/// `fn name($a: int64) : int64 { ... }`
fn function(p: &mut Parser<'_>) -> Option<Function> {
    let start = p.bump().span;
    let help = "functions are written `fn name($a: int64) : int64 { ... }`";
    let header = (|| {
        let name = p.expect(T::Word, "a name", help)?;
        let open = p.expect(T::LParen, "`(`", help)?;
        let mut parameters = Vec::new();
        while !p.at_end() && !p.at_kind(T::RParen) {
            let parameter = p.expect(T::Variable, "a parameter", help)?;
            p.expect(T::Colon, "`:` and a type", help)?;
            parameters.push((p.name(parameter), p.type_name()?));
            if p.accept(T::Comma).is_none() {
                break;
            }
        }
        p.close(T::RParen, ")", open);
        let result = if p.accept(T::Colon).is_some() { Some(p.type_name()?) } else { None };
        p.at_kind(T::LBrace).then(|| (p.name(name), parameters, result))
    })();
    let Some((name, parameters, result)) = header else {
        let message = format!("expected this function's body, found {}", p.found());
        p.error_here(codes::EXPECTED, message, help);
        skip_item(p);
        return None;
    };
    let body = blocks::effect_block(p);
    Some(Function { name, parameters, result, body, span: p.since(start) })
}

/// True for text in a point's place that is rather a statement: `printf("x")`, `@x`, `$x`.
fn statement_like(point: Option<&Name>) -> bool {
    point.is_some_and(|p| {
        let head = p.text.split(':').next().unwrap_or("");
        head.contains('(')
            || head.starts_with(['$', '@'])
            || matches!(head, "if" | "for" | "while" | "return" | "unroll")
    })
}

/// True for text that can hardly be anything but an attach point: `kprobe:f`, `BEGIN`.
fn probe_like(text: &str) -> bool {
    let (head, rest) = text.split_once(':').map_or((text, None), |(head, rest)| (head, Some(rest)));
    let word = !head.is_empty() && head.chars().all(|c| c.is_ascii_alphanumeric());
    word && (rest.is_some() || matches!(head, "BEGIN" | "END" | "begin" | "end"))
}

/// The value of a string token; complaints about its escapes are reported.
pub fn string_value(p: &mut Parser<'_>, token: crate::lang::bt::lexer::Token) -> String {
    let (value, errors) = crate::lang::bt::lexer::decode_str(p.text_of(token), None);
    for error in errors {
        report_string(p, token, &error);
    }
    value
}

fn report_string(p: &mut Parser<'_>, token: crate::lang::bt::lexer::Token, error: &crate::lang::bt::lexer::StrError) {
    use crate::lang::bt::lexer::StrError;
    let (StrError::UnknownEscape(range) | StrError::EscapeTooLarge(range)) = error;
    let in_place = token.text == token.span;
    let span = if in_place {
        Span::new(token.span.start + range.start as u32, token.span.start + range.end as u32)
    } else {
        token.span
    };
    let text = p.text_of(token).get(range.clone()).unwrap_or("").escape_debug().to_string();
    let diagnostic = match error {
        StrError::UnknownEscape(_) => {
            Diagnostic::error(codes::BAD_ESCAPE, span, format!("`{text}` is no escape that strings know"))
                .help("known are \\n \\t \\r \\\" \\\\, octal \\012 and hexadecimal \\x0a; a backslash itself is \\\\")
        }
        StrError::EscapeTooLarge(_) => {
            let message = format!("octal escape sequence out of range '{}'", text.replace("\\\\", "\\"));
            Diagnostic::error(codes::BAD_ESCAPE, span, message).help("a character has 8 bits: \\377 is the largest")
        }
    };
    p.report_always(diagnostic);
}

/// An integer token's value; 0 when it has none, which is reported.
pub fn int_value(p: &mut Parser<'_>, token: crate::lang::bt::lexer::Token) -> u64 {
    use crate::lang::bt::lexer::{IntError, decode_int};
    match decode_int(p.text_of(token)) {
        Ok(value) => value,
        Err(error) => {
            let text = p.text_of(token);
            let diagnostic = match error {
                IntError::TooLarge => Diagnostic::error(
                    codes::INTEGER_TOO_LARGE,
                    token.span,
                    format!("syntax: overflow error, maximum value is {}: {text}", u64::MAX),
                ),
                IntError::Malformed => {
                    Diagnostic::error(codes::BAD_INTEGER, token.span, format!("`{text}` is no integer"))
                        .help("integers are written 1000, 1_000, 1e3, 0x3e8 or 01750; durations 5ms, 10s")
                }
            };
            p.report_always(diagnostic);
            0
        }
    }
}

/// A plain error expression's placeholder for a missing value.
pub fn missing_expr(p: &Parser<'_>) -> Expr {
    let at = p.previous_end();
    Expr { kind: ExprKind::Error, span: at }
}
