//! Filters over the fields of events: `dur > 1ms && comm ~ "post"`.

use regex::{Regex, RegexBuilder};

use crate::model::render;
use crate::model::value::Value;
use crate::store::{Column, Entry, Payload, TraceInfo};

#[cfg(test)]
mod tests;

/// Largest compiled pattern, bytes.
const LARGEST: usize = 1 << 20;
/// Brackets in one another.
const DEEPEST: usize = 32;

/// A condition over fields.
#[derive(Clone, Debug)]
pub struct Expression(Node);

#[derive(Clone, Debug)]
enum Node {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Compare { field: String, op: Op, with: Literal },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    Like,
    Unlike,
}

#[derive(Clone, Debug)]
struct Literal {
    text: String,
    /// As a number, and ns where it has a unit of time.
    number: Option<(f64, Option<f64>)>,
    pattern: Option<Regex>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Quoted(String),
    Op(Op),
    And,
    Or,
    Not,
    Open,
    Close,
}

/// An event as filters see it.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    /// Its trace.
    pub info: Option<&'a TraceInfo>,
    /// Itself.
    pub entry: &'a Entry,
    /// Its text.
    pub text: &'a str,
}

/// Names and values of an event.
#[must_use]
pub fn named<'a>(info: Option<&'a TraceInfo>, entry: &'a Entry) -> Vec<(&'a Column, &'a Value)> {
    let Payload::Event { action, values } = &entry.payload else { return Vec::new() };
    let columns = info.and_then(|i| i.action(*action)).map_or(&[][..], |a| &a.columns);
    columns.iter().zip(values).collect()
}

/// A value as filters compare it and lists show it.
#[must_use]
pub fn text_of(value: &Value) -> String {
    let mut out = Vec::new();
    render::value_into(value, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A field's name without what scripts put in front of it.
#[must_use]
pub fn plain(name: &str) -> &str {
    let name = name.trim_start_matches('$');
    name.strip_prefix("args.").or_else(|| name.strip_prefix("args->")).unwrap_or(name)
}

/// The unit of time that a name ends with, in ns, and the name without it.
fn unit(name: &str) -> (&str, Option<f64>) {
    for (suffix, ns) in [("_ns", 1.0), ("_us", 1e3), ("_ms", 1e6), ("_s", 1e9)] {
        if let Some(stem) = name.strip_suffix(suffix) {
            return (stem, Some(ns));
        }
    }
    let whole = [("ns", 1.0), ("nsecs", 1.0), ("us", 1e3), ("ms", 1e6)];
    (name, whole.iter().find(|(unit, _)| *unit == name).map(|(_, ns)| *ns))
}

/// A field's text, its number, and the unit of time of that.
struct Found {
    text: String,
    number: Option<f64>,
    unit_ns: Option<f64>,
}

impl Fields<'_> {
    fn find(&self, field: &str) -> Option<Found> {
        let number = |n: f64, unit_ns| Some(Found { text: n.to_string(), number: Some(n), unit_ns });
        let words = |text: &str| Some(Found { text: text.to_owned(), number: None, unit_ns: None });
        for (column, value) in named(self.info, self.entry) {
            let name = plain(&column.name);
            let (stem, unit_ns) = unit(name);
            if [&*column.name, name, stem].contains(&field) {
                let number = value.as_number().map(|n| n as f64);
                return Some(Found { text: text_of(value), number, unit_ns });
            }
        }
        match field {
            "cpu" => self.entry.cpu.and_then(|cpu| number(cpu.into(), None)),
            "time" => {
                let began = self.info.map_or(0, |i| i.began_ns);
                number(self.entry.at_ns.saturating_sub(began) as f64, Some(1.0))
            }
            "text" => words(self.text),
            "probe" => words(self.info.map_or("", |i| i.probe(self.entry.payload.action()))),
            _ => None,
        }
    }
}

impl Literal {
    fn word(text: String) -> Self {
        let number = number(&text);
        Self { text, number, pattern: None }
    }

    /// How a field compares with it.
    fn order(&self, found: &Found) -> Option<std::cmp::Ordering> {
        match (found.number, self.number) {
            (Some(value), Some((_, Some(ns)))) => (value * found.unit_ns.unwrap_or(1.0)).partial_cmp(&ns),
            (Some(value), Some((plain, None))) => value.partial_cmp(&plain),
            _ => Some(found.text.as_str().cmp(&self.text)),
        }
    }
}

/// A number with its unit: of time, else of 1024.
fn number(text: &str) -> Option<(f64, Option<f64>)> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(|n| (n as f64, None));
    }
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(text.len());
    let value: f64 = text[..digits].parse().ok()?;
    let scaled = |by: f64| Some((value * by, None));
    let time = |ns: f64| Some((value, Some(value * ns)));
    match &text[digits..] {
        "" => scaled(1.0),
        "ns" => time(1.0),
        "us" | "µs" => time(1e3),
        "ms" => time(1e6),
        "s" => time(1e9),
        "K" | "k" => scaled(1024.0),
        "M" => scaled(1024.0 * 1024.0),
        "G" => scaled(1024.0 * 1024.0 * 1024.0),
        _ => None,
    }
}

impl Expression {
    /// Reads a filter.
    ///
    /// # Errors
    /// Says what was expected where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let tokens = tokens(text)?;
        let mut parser = Parser { tokens: &tokens, at: 0, depth: 0 };
        let node = parser.any()?;
        if let Some(token) = parser.tokens.get(parser.at) {
            return Err(format!("&& or || is missing before {}", shown(token)));
        }
        Ok(Self(node))
    }

    /// Whether an event passes.
    #[must_use]
    pub fn passes(&self, fields: &Fields<'_>) -> bool {
        self.0.passes(fields)
    }
}

/// Whether a text is meant as an expression, even if it is none yet.
#[must_use]
pub fn is_meant(text: &str) -> bool {
    ["==", "!=", ">=", "<=", " > ", " < ", " ~ ", "!~", "&&", "||"].iter().any(|op| text.contains(op))
}

impl Node {
    fn passes(&self, fields: &Fields<'_>) -> bool {
        match self {
            Self::All(all) => all.iter().all(|n| n.passes(fields)),
            Self::Any(all) => all.iter().any(|n| n.passes(fields)),
            Self::Not(node) => !node.passes(fields),
            Self::Compare { field, op, with } => fields.find(field).is_some_and(|found| op.holds(&found, with)),
        }
    }
}

impl Op {
    fn holds(self, found: &Found, with: &Literal) -> bool {
        let like = || with.pattern.as_ref().is_some_and(|p| p.is_match(&found.text));
        let order = || with.order(found);
        match self {
            Self::Like => like(),
            Self::Unlike => !like(),
            Self::Equal => order().is_some_and(std::cmp::Ordering::is_eq),
            Self::Unequal => order().is_some_and(std::cmp::Ordering::is_ne),
            Self::Less => order().is_some_and(std::cmp::Ordering::is_lt),
            Self::AtMost => order().is_some_and(std::cmp::Ordering::is_le),
            Self::More => order().is_some_and(std::cmp::Ordering::is_gt),
            Self::AtLeast => order().is_some_and(std::cmp::Ordering::is_ge),
        }
    }
}

fn shown(token: &Token) -> String {
    match token {
        Token::Word(text) | Token::Quoted(text) => text.clone(),
        Token::Op(_) => "the comparison".to_owned(),
        Token::And => "&&".to_owned(),
        Token::Or => "||".to_owned(),
        Token::Not => "!".to_owned(),
        Token::Open => "(".to_owned(),
        Token::Close => ")".to_owned(),
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    const SIGNS: [(&str, Token); 13] = [
        ("&&", Token::And),
        ("||", Token::Or),
        ("==", Token::Op(Op::Equal)),
        ("!=", Token::Op(Op::Unequal)),
        (">=", Token::Op(Op::AtLeast)),
        ("<=", Token::Op(Op::AtMost)),
        ("!~", Token::Op(Op::Unlike)),
        (">", Token::Op(Op::More)),
        ("<", Token::Op(Op::Less)),
        ("~", Token::Op(Op::Like)),
        ("!", Token::Not),
        ("(", Token::Open),
        (")", Token::Close),
    ];
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some((sign, token)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            out.push(token.clone());
            rest = rest[sign.len()..].trim_start();
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let (text, after) = until_quote(quoted).ok_or("a quote is not closed")?;
            out.push(Token::Quoted(text));
            rest = after.trim_start();
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || "&|=!<>~()\"".contains(c)).unwrap_or(rest.len());
            if end == 0 {
                return Err(format!("{} makes no sense here", rest.chars().next().unwrap_or(' ')));
            }
            out.push(Token::Word(rest[..end].to_owned()));
            rest = rest[end..].trim_start();
        }
    }
    Ok(out)
}

/// A text up to its closing quote, and what is behind that.
fn until_quote(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                c @ ('"' | '\\') => out.push(c),
                // Of a pattern.
                c => out.extend(['\\', c]),
            },
            c => out.push(c),
        }
    }
    None
}

/// A text as it stands between quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn is_next(&mut self, token: &Token) -> bool {
        let is = self.tokens.get(self.at) == Some(token);
        self.at += usize::from(is);
        is
    }

    fn any(&mut self) -> Result<Node, String> {
        let mut all = vec![self.all()?];
        while self.is_next(&Token::Or) {
            all.push(self.all()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Node::Any(all) })
    }

    fn all(&mut self) -> Result<Node, String> {
        let mut all = vec![self.one()?];
        while self.is_next(&Token::And) {
            all.push(self.one()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Node::All(all) })
    }

    fn one(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("too many brackets".to_owned());
        }
        let node = if self.is_next(&Token::Not) {
            Node::Not(Box::new(self.one()?))
        } else if self.is_next(&Token::Open) {
            let node = self.any()?;
            if !self.is_next(&Token::Close) {
                return Err("a bracket is not closed".to_owned());
            }
            node
        } else {
            self.compare()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn compare(&mut self) -> Result<Node, String> {
        let Some(Token::Word(field)) = self.tokens.get(self.at) else { return Err("a field is missing".to_owned()) };
        let Some(Token::Op(op)) = self.tokens.get(self.at + 1) else {
            return Err(format!("== != < <= > >= ~ or !~ is missing after {field}"));
        };
        let with = match self.tokens.get(self.at + 2) {
            Some(Token::Quoted(text)) => Literal { text: text.clone(), number: None, pattern: None },
            Some(Token::Word(word)) => Literal::word(word.clone()),
            _ => return Err(format!("a value is missing after {field}")),
        };
        self.at += 3;
        let with = if matches!(op, Op::Like | Op::Unlike) { pattern(with)? } else { with };
        Ok(Node::Compare { field: field.clone(), op: *op, with })
    }
}

fn pattern(with: Literal) -> Result<Literal, String> {
    let small = !with.text.chars().any(char::is_uppercase);
    let built = RegexBuilder::new(&with.text).case_insensitive(small).size_limit(LARGEST).build();
    let pattern = built.map_err(|_| format!("{} is no regular expression", with.text))?;
    Ok(Literal { pattern: Some(pattern), ..with })
}
