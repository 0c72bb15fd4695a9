//! Top-level items: probes, settings, imports, macros, functions, map declarations.

use super::Parser;
use crate::lang::bt::ast::{Expr, ExprKind, Function, Item, Macro, MapDecl, Name, Probe, Script, Setting};
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;

impl Parser<'_> {
    pub(super) fn script(&mut self) -> Script {
        let mut items = Vec::new();
        let mut configured: Option<Span> = None;
        while !self.at_kind(T::Eof) {
            let before = self.at;
            self.item(&mut items, &mut configured);
            if self.at == before {
                self.bump();
            }
        }
        Script { items }
    }

    fn item(&mut self, items: &mut Vec<Item>, configured: &mut Option<Span>) {
        match self.kind() {
            T::Semicolon | T::Unclosed => {
                self.bump();
            }
            T::RBrace => {
                self.error_here(
                    codes::STRAY_CLOSE,
                    "this `}` closes nothing",
                    "remove it, or look for a block closed too early",
                );
                self.bump();
            }
            T::Word => self.word_item(items, configured),
            _ => items.extend(self.probe().map(Item::Probe)),
        }
    }

    fn word_item(&mut self, items: &mut Vec<Item>, configured: &mut Option<Span>) {
        let word = self.text_of(self.token());
        match word {
            "config" => {
                let (settings, span) = self.config();
                if let Some(first) = *configured {
                    self.report_always(
                        Diagnostic::error(codes::DUPLICATE_CONFIG, span, "a script has only one `config` block")
                            .label(first, "the first one")
                            .help("put all settings into the first block"),
                    );
                }
                configured.get_or_insert(span);
                items.push(Item::Config(settings, span));
            }
            "import" => items.extend(self.import()),
            "let" => items.extend(self.map_decl().map(Item::MapDecl)),
            "macro" => items.extend(self.macro_item().map(Item::Macro)),
            "fn" => items.extend(self.function().map(Item::Function)),
            "struct" | "union" | "enum" | "typedef" => self.c_definition(items),
            _ => {
                let message = format!("expected a probe, found {}", self.found());
                self.error_here(
                    codes::EXPECTED,
                    message,
                    "a probe begins with its attach points, like `kprobe:vfs_read { ... }`",
                );
                self.skip_item();
            }
        }
    }

    /// To the end of a broken item: past its `;` or `}`, or before the next probe.
    pub(super) fn skip_item(&mut self) {
        let mut depth = 0_u32;
        while !self.at_end() {
            match self.kind() {
                T::Point if depth == 0 => return,
                T::LBrace => depth += 1,
                T::RBrace => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        self.bump();
                        return;
                    }
                }
                T::Semicolon if depth == 0 => {
                    self.bump();
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    fn probe(&mut self) -> Option<Probe> {
        let start = self.token().span;
        let name = (self.at_kind(T::Point) && self.peek(1).kind == T::Assign).then(|| {
            let name = self.bump();
            self.bump();
            self.name(name)
        });
        let points = self.points();
        if points.is_empty() {
            let message = format!("expected an attach point, found {}", self.found());
            self.error_here(
                codes::EXPECTED,
                message,
                "a probe begins with its attach points, like `kprobe:vfs_read { ... }`",
            );
            if self.at_kind(T::LBrace) {
                let body = self.effect_block();
                return Some(Probe { name, points, predicate: None, alias: None, span: self.since(start), body });
            }
            self.skip_item();
            return None;
        }
        let assigns = name.as_ref().is_some_and(|n| n.text.starts_with(['@', '$']));
        if !self.at_kind(T::LBrace) && (assigns || statement_like(points.last())) {
            self.outside(if assigns { self.since(start) } else { points.last().map_or(start, |p| p.span) });
            return None;
        }
        let predicate = self.predicate();
        if !self.at_kind(T::LBrace) {
            self.missing_body(&points, predicate.is_some());
            let at = self.previous_end();
            let body = crate::lang::bt::ast::Block { span: at, ..Default::default() };
            return Some(Probe { name, points, predicate, body, alias: None, span: self.since(start) });
        }
        let body = self.effect_block();
        Some(Probe { name, points, predicate, body, alias: None, span: self.since(start) })
    }

    /// `a, b, c`
    fn points(&mut self) -> Vec<Name> {
        let mut points = Vec::new();
        loop {
            if self.at_kind(T::Point) {
                let token = self.bump();
                points.push(self.name(token));
            } else if !points.is_empty() && self.at_kind(T::LBrace) {
                // A comma before the body: harmless.
                return points;
            } else {
                return points;
            }
            if self.accept(T::Comma).is_some() {
                continue;
            }
            if self.at_kind(T::Point) && self.peek(1).kind != T::Assign {
                if statement_like(points.last()) {
                    return points;
                }
                let at = self.previous_end();
                self.report(
                    Diagnostic::error(
                        codes::MISSING_COMMA,
                        self.token().span,
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
    fn outside(&mut self, span: Span) {
        let before = self.tokens[..self.at].iter().rev().find(|t| t.span.end <= span.start && t.kind == T::RBrace);
        let mut problem = Diagnostic::error(codes::OUTSIDE_PROBE, span, "this stands outside of any probe")
            .help("put statements into a probe's braces, such as `BEGIN { ... }` to run them once at the start");
        if let Some(close) = before {
            problem = problem.label(close.span, "the probe before it ends here");
        }
        self.report(problem);
        let mut depth = 0_u32;
        while !self.at_end() {
            match self.kind() {
                T::Point if depth == 0 && probe_like(self.text_of(self.token())) => return,
                T::LBrace => depth += 1,
                T::RBrace if depth == 0 => {
                    self.bump();
                    return;
                }
                T::RBrace => depth -= 1,
                _ => {}
            }
            self.bump();
        }
    }

    fn missing_body(&mut self, points: &[Name], predicate: bool) {
        let message = format!("expected this probe's body `{{ ... }}`, found {}", self.found());
        let help =
            if predicate { "write `/predicate/ { ... }`" } else { "write the body after the attach points: `{ ... }`" };
        let span = if self.at_end() { self.previous_end() } else { self.token().span };
        self.report(
            Diagnostic::error(codes::MISSING_BODY, span, message)
                .label(points.first().map_or(span, |p| p.span), "the probe begins here")
                .help(help),
        );
        if !self.at_kind(T::Point) {
            self.skip_item();
        }
    }

    /// `/ expr /`, when there is one.
    fn predicate(&mut self) -> Option<Expr> {
        let open = self.accept(T::Slash)?;
        let outer = std::mem::replace(&mut self.predicate, true);
        let condition = self.expression();
        self.predicate = outer;
        if self.accept(T::Slash).is_none() {
            let span = if self.at_end() { self.previous_end() } else { self.token().span };
            let message = format!("expected `/` after the predicate, found {}", self.found());
            let help = match self.kind() {
                T::Assign => "a predicate assigns nothing; to compare write `==`",
                _ => "close it with `/` before the body: `/pid == 1/ {`",
            };
            self.report(
                Diagnostic::error(codes::UNCLOSED_PREDICATE, span, message)
                    .label(open.span, "the predicate begins here")
                    .help(help),
            );
            while !self.at_end() && !matches!(self.kind(), T::LBrace | T::Point | T::RBrace) {
                self.bump();
            }
        }
        Some(condition)
    }

    /// `config = { name = value; ... }`
    fn config(&mut self) -> (Vec<Setting>, Span) {
        let start = self.bump().span;
        self.accept(T::Assign);
        let mut settings = Vec::new();
        let Some(open) = self.expect(T::LBrace, "`{`", "settings are written `config = { name = value; }`") else {
            self.skip_item();
            return (settings, self.since(start));
        };
        while !self.at_end() && !self.at_kind(T::RBrace) {
            if self.accept(T::Semicolon).is_some() || self.accept(T::Comma).is_some() {
                continue;
            }
            let Some(name) = self.accept(T::Word).map(|t| self.name(t)) else {
                let message = format!("expected a setting's name, found {}", self.found());
                self.error_here(codes::BAD_CONFIG, message, "settings are written `name = value;`");
                self.skip_statement();
                continue;
            };
            if self.expect(T::Assign, "`=`", "settings are written `name = value;`").is_none() {
                self.skip_statement();
                continue;
            }
            let value = self.expression();
            settings.push(Setting { name, value });
            if !matches!(self.kind(), T::Semicolon | T::Comma | T::RBrace | T::Word) {
                let message = format!("expected `;`, found {}", self.found());
                self.error_here(codes::BAD_CONFIG, message, "settings are written `name = value;`");
                self.skip_statement();
            }
        }
        self.close(T::RBrace, "}", open);
        (settings, self.since(start))
    }

    fn import(&mut self) -> Option<Item> {
        self.bump();
        let token = self.expect(T::Str, "a path in quotes", "write `import \"path.bt\";`");
        let name = token.map(|t| Name { text: self.string_value(t).into(), span: t.span });
        if name.is_none() {
            self.skip_item();
        } else {
            self.statement_end();
        }
        name.map(Item::Import)
    }

    /// `let @m = kind(size);`
    fn map_decl(&mut self) -> Option<MapDecl> {
        let start = self.bump().span;
        let help =
            "map declarations are written `let @name = lruhash(1000);`; scratch variables are declared inside probes";
        let parts = (|| {
            let name = self.expect(T::Map, "a map's name", help)?;
            self.expect(T::Assign, "`=`", help)?;
            let kind = self.expect(T::Word, "a kind of map", help)?;
            let open = self.expect(T::LParen, "`(`", help)?;
            let size = self.expression();
            self.close(T::RParen, ")", open);
            Some((self.name(name), self.name(kind), size))
        })();
        let Some((name, kind, size)) = parts else {
            self.skip_item();
            return None;
        };
        let span = self.since(start);
        self.statement_end();
        Some(MapDecl { name, kind, size, span })
    }

    /// `macro name(parameters) { ... }`
    fn macro_item(&mut self) -> Option<Macro> {
        let start = self.bump().span;
        let help = "macros are written `macro name($variable, @map, expression) { ... }`";
        let header = (|| {
            let name = self.expect(T::Word, "a name", help)?;
            let open = self.expect(T::LParen, "`(`", help)?;
            let parameters = self.macro_parameters();
            self.close(T::RParen, ")", open);
            self.at_kind(T::LBrace).then(|| (self.name(name), parameters))
        })();
        let Some((name, parameters)) = header else {
            let message = format!("expected this macro's body, found {}", self.found());
            self.error_here(codes::EXPECTED, message, help);
            self.skip_item();
            return None;
        };
        let body = self.value_block();
        Some(Macro { name, parameters, body, span: self.since(start) })
    }

    fn macro_parameters(&mut self) -> Vec<Name> {
        let mut parameters = Vec::new();
        while !self.at_end() && !self.at_kind(T::RParen) {
            if !matches!(self.kind(), T::Word | T::Variable | T::Map) {
                let message = format!("expected a parameter, found {}", self.found());
                self.error_here(codes::BAD_PARAMETER, message, "parameters are `$variable`, `@map` or `expression`");
                break;
            }
            let token = self.bump();
            parameters.push(self.name(token));
            if self.accept(T::Comma).is_none() {
                break;
            }
        }
        parameters
    }

    /// `fn name($a: int64) : int64 { ... }`
    fn function(&mut self) -> Option<Function> {
        let start = self.bump().span;
        let help = "functions are written `fn name($a: int64) : int64 { ... }`";
        let header = (|| {
            let name = self.expect(T::Word, "a name", help)?;
            let open = self.expect(T::LParen, "`(`", help)?;
            let mut parameters = Vec::new();
            while !self.at_end() && !self.at_kind(T::RParen) {
                let parameter = self.expect(T::Variable, "a parameter", help)?;
                self.expect(T::Colon, "`:` and a type", help)?;
                parameters.push((self.name(parameter), self.type_name()?));
                if self.accept(T::Comma).is_none() {
                    break;
                }
            }
            self.close(T::RParen, ")", open);
            let result = if self.accept(T::Colon).is_some() { Some(self.type_name()?) } else { None };
            self.at_kind(T::LBrace).then(|| (self.name(name), parameters, result))
        })();
        let Some((name, parameters, result)) = header else {
            let message = format!("expected this function's body, found {}", self.found());
            self.error_here(codes::EXPECTED, message, help);
            self.skip_item();
            return None;
        };
        let body = self.effect_block();
        Some(Function { name, parameters, result, body, span: self.since(start) })
    }
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

impl Parser<'_> {
    /// The value of a string token; complaints about its escapes are reported.
    pub(super) fn string_value(&mut self, token: crate::lang::bt::lexer::Token) -> String {
        let (value, errors) = crate::lang::bt::lexer::decode_str(self.text_of(token), None);
        for error in errors {
            self.report_string(token, &error);
        }
        value
    }

    fn report_string(&mut self, token: crate::lang::bt::lexer::Token, error: &crate::lang::bt::lexer::StrError) {
        use crate::lang::bt::lexer::StrError;
        let diagnostic = match error {
            StrError::UnknownEscape(range) => {
                let in_place = token.text == token.span;
                let span = if in_place {
                    Span::new(token.span.start + range.start as u32, token.span.start + range.end as u32)
                } else {
                    token.span
                };
                let text = self.text_of(token).get(range.clone()).unwrap_or("").escape_debug().to_string();
                Diagnostic::error(codes::BAD_ESCAPE, span, format!("`{text}` is no escape that strings know")).help(
                    "known are \\n \\t \\r \\\" \\\\, octal \\012 and hexadecimal \\x0a; a backslash itself is \\\\",
                )
            }
        };
        self.report_always(diagnostic);
    }

    /// An integer token's value; 0 when it has none, which is reported.
    pub(super) fn int_value(&mut self, token: crate::lang::bt::lexer::Token) -> u64 {
        use crate::lang::bt::lexer::{IntError, decode_int};
        match decode_int(self.text_of(token)) {
            Ok(value) => value,
            Err(error) => {
                let text = self.text_of(token);
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
                self.report_always(diagnostic);
                0
            }
        }
    }

    /// A plain error expression's placeholder for a missing value.
    pub(super) fn missing_expr(&self) -> Expr {
        let at = self.previous_end();
        Expr { kind: ExprKind::Error, span: at }
    }
}
