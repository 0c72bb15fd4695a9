//! Reading a query.

use std::fmt;

/// A query that is none, with the place.
#[derive(Debug)]
pub struct Wrong {
    query: String,
    at: usize,
    why: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.query.get(..self.at).map_or(0, |text| text.chars().count());
        write!(f, "{}\n  {}\n  {:>3$}", self.why, self.query, '^', column + 1)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Sign(&'static str),
    End,
}

/// What is selected.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    Field(Column),
    /// `CAST(field AS modifier)`.
    Cast(Column, String),
    /// A difference or another operation of two fields.
    Operation(Column, &'static str, Column),
}

/// `alias.field`, with its place in the query.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub table: Option<String>,
    pub field: String,
    pub at: usize,
}

#[derive(Clone, Debug)]
pub struct Query {
    pub items: Vec<(Item, Option<String>)>,
    pub from: (String, usize, Option<String>),
    pub join: Option<((String, usize, Option<String>), Column, Column)>,
    pub filter: String,
    pub filter_at: usize,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token)>,
    next: usize,
}

const SIGNS: [&str; 21] =
    ["<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "=~", "=", "<", ">", "&", "|", "(", ")", ",", "+", "-", "*", "/"];

fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Wrong> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() || c == ';' {
            at += c.len_utf8();
        } else if let Some(sign) = SIGNS.iter().find(|sign| text[at..].starts_with(**sign)) {
            found.push((at, Token::Sign(sign)));
            at += sign.len();
        } else if c == '"' || c == '\'' {
            let end = text[at + 1..].find(c).map(|end| at + end + 2);
            let end = end.ok_or_else(|| wrong(text, at, "this text has no end"))?;
            found.push((at, Token::Word(text[at..end].to_owned())));
            at = end;
        } else {
            let end = text[at..]
                .find(|c: char| !(c.is_alphanumeric() || "_.$:~!?[]".contains(c)))
                .map_or(text.len(), |n| at + n);
            if end == at {
                return Err(wrong(text, at, "this is not known here"));
            }
            found.push((at, Token::Word(text[at..end].to_owned())));
            at = end;
        }
    }
    found.push((text.len(), Token::End));
    Ok(found)
}

/// A mistake at a byte.
pub fn wrong(query: &str, at: usize, why: impl Into<String>) -> Wrong {
    Wrong { query: query.to_owned(), at, why: why.into() }
}

impl Parser<'_> {
    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.text.len(), |(at, _)| *at)
    }

    fn token(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |(_, token)| token)
    }

    fn fail<T>(&self, why: impl Into<String>) -> Result<T, Wrong> {
        Err(wrong(self.text, self.at(), why))
    }

    fn keyword(&mut self, wanted: &str) -> bool {
        let is = matches!(self.token(), Token::Word(word) if word.eq_ignore_ascii_case(wanted));
        self.next += usize::from(is);
        is
    }

    fn sign(&mut self, wanted: &str) -> bool {
        let is = matches!(self.token(), Token::Sign(sign) if *sign == wanted);
        self.next += usize::from(is);
        is
    }

    fn word(&mut self, what: &str) -> Result<(String, usize), Wrong> {
        let at = self.at();
        match self.token().clone() {
            Token::Word(word) => {
                self.next += 1;
                Ok((word, at))
            }
            _ => self.fail(format!("{what} is expected here")),
        }
    }

    fn column(&mut self) -> Result<Column, Wrong> {
        let (word, at) = self.word("a field")?;
        Ok(match word.split_once('.') {
            Some((table, field)) => Column { table: Some(table.to_owned()), field: field.to_owned(), at },
            None => Column { table: None, field: word, at },
        })
    }

    fn item(&mut self) -> Result<Item, Wrong> {
        if self.sign("(") {
            let inside = self.item()?;
            if !self.sign(")") {
                return self.fail("`)` is expected here");
            }
            return Ok(inside);
        }
        if self.keyword("CAST") {
            if !self.sign("(") {
                return self.fail("`(` is expected here");
            }
            let column = self.column()?;
            if !self.keyword("AS") {
                return self.fail("AS is expected here");
            }
            let (kind, _) = self.word("a kind")?;
            if !self.sign(")") {
                return self.fail("`)` is expected here");
            }
            return Ok(Item::Cast(column, kind));
        }
        let left = self.column()?;
        for sign in ["+", "-", "*", "/"] {
            if self.sign(sign) {
                let sign = SIGNS.iter().find(|s| **s == sign).copied().unwrap_or("-");
                return Ok(Item::Operation(left, sign, self.column()?));
            }
        }
        Ok(Item::Field(left))
    }

    fn table(&mut self) -> Result<(String, usize, Option<String>), Wrong> {
        let (name, at) = self.word("an event")?;
        let alias = if self.keyword("AS") { Some(self.word("a name")?.0) } else { None };
        Ok((name, at, alias))
    }

    fn query(mut self) -> Result<Query, Wrong> {
        if !self.keyword("SELECT") {
            return self.fail("a query begins with SELECT");
        }
        let mut items = Vec::new();
        loop {
            let item = self.item()?;
            let name = if self.keyword("AS") { Some(self.word("a name")?.0) } else { None };
            items.push((item, name));
            if !self.sign(",") {
                break;
            }
        }
        if !self.keyword("FROM") {
            return self.fail("FROM is expected here");
        }
        let from = self.table()?;
        let join = if self.keyword("JOIN") {
            let table = self.table()?;
            if !self.keyword("ON") {
                return self.fail("ON is expected here");
            }
            let left = self.column()?;
            if !self.sign("=") && !self.sign("==") {
                return self.fail("`=` is expected here");
            }
            Some((table, left, self.column()?))
        } else {
            None
        };
        let (filter, filter_at) = if self.keyword("WHERE") {
            let at = self.at();
            self.next = self.tokens.len() - 1;
            (self.text[at..].trim_end().trim_end_matches(';').to_owned(), at)
        } else {
            (String::new(), self.at())
        };
        if *self.token() != Token::End {
            return self.fail("this is not expected here");
        }
        Ok(Query { items, from, join, filter, filter_at })
    }
}

/// Reads a query.
pub fn read(text: &str) -> Result<Query, Wrong> {
    Parser { text, tokens: tokens(text)?, next: 0 }.query()
}
