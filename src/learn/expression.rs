//! Expressions over what a load told: `2 * files`, `exit_0 + exit_3`, `openat.ENOENT`.

use std::collections::BTreeMap;

/// Names that a truth may have, and the longest text of one.
const MOST_NAMES: usize = 256;
const LONGEST: usize = 200;
/// Expressions that nest deeper are refused.
const DEEPEST: u32 = 16;

/// What a load says that it has done: numbers and texts by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    numbers: BTreeMap<String, f64>,
    texts: BTreeMap<String, String>,
}

impl Truth {
    /// The truth in a load's JSON object; none where it is no object. What is neither number nor text is left out.
    #[must_use]
    pub fn parse(json: &str) -> Option<Self> {
        let serde_json::Value::Object(object) = serde_json::from_str(json.trim()).ok()? else { return None };
        let mut truth = Self::default();
        for (name, value) in object.into_iter().take(MOST_NAMES) {
            match value {
                serde_json::Value::Number(n) => {
                    truth.texts.insert(name.clone(), n.to_string());
                    truth.numbers.insert(name, n.as_f64().unwrap_or(0.0));
                }
                serde_json::Value::String(text) if text.len() <= LONGEST => {
                    truth.texts.insert(name, text);
                }
                _ => {}
            }
        }
        Some(truth)
    }

    /// A number by its name.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied()
    }

    /// A text with each `{name}` replaced by what the truth has there; unknown names stay.
    #[must_use]
    pub fn filled(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((name, behind)) = after.split_once('}') else {
                out.push('{');
                rest = after;
                continue;
            };
            match self.texts.get(name) {
                Some(value) => out.push_str(value),
                None => out.push_str(&format!("{{{name}}}")),
            }
            rest = behind;
        }
        out + rest
    }
}

/// A number that is computed from a truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Name(String),
    Binary(char, Box<Node>, Box<Node>),
}

impl Expression {
    /// Reads an expression: numbers, names, `+ - * /` and parentheses.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("it is longer than {LONGEST} bytes"));
        }
        let mut parser = Parser { rest: text, depth: 0 };
        let root = parser.sum()?;
        parser.skip();
        if !parser.rest.is_empty() {
            return Err(format!("`{}` is too much", parser.rest.chars().take(20).collect::<String>()));
        }
        Ok(Self { text: text.trim().to_owned(), root })
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its value; none where the truth has no such name, or it is no number.
    #[must_use]
    pub fn value(&self, truth: &Truth) -> Option<f64> {
        self.root.value(truth).filter(|value| value.is_finite())
    }

    /// The names that it uses.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.names(&mut names);
        names
    }
}

impl Node {
    fn value(&self, truth: &Truth) -> Option<f64> {
        match self {
            Self::Number(n) => Some(*n),
            Self::Name(name) => truth.number(name),
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.value(truth)?, right.value(truth)?);
                Some(match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                })
            }
        }
    }

    fn names<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Self::Number(_) => {}
            Self::Name(name) => into.push(name),
            Self::Binary(_, left, right) => {
                left.names(into);
                right.names(into);
            }
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: u32,
}

impl Parser<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn operator(&mut self, among: &[char]) -> Option<char> {
        self.skip();
        let found = self.rest.chars().next().filter(|c| among.contains(c))?;
        self.rest = &self.rest[found.len_utf8()..];
        Some(found)
    }

    fn sum(&mut self) -> Result<Node, String> {
        let mut left = self.product()?;
        while let Some(operator) = self.operator(&['+', '-']) {
            left = Node::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut left = self.atom()?;
        while let Some(operator) = self.operator(&['*', '/']) {
            left = Node::Binary(operator, Box::new(left), Box::new(self.atom()?));
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Node, String> {
        if self.operator(&['(']).is_some() {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err("it nests too deep".to_owned());
            }
            let inner = self.sum()?;
            self.depth -= 1;
            return self.operator(&[')']).map(|_| inner).ok_or_else(|| "a `)` is missing".to_owned());
        }
        self.skip();
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word.chars().next() {
            None => Err("a number or a name is missing".to_owned()),
            Some(c) if c.is_ascii_digit() => {
                word.replace('_', "").parse().map(Node::Number).map_err(|_| format!("`{word}` is no number"))
            }
            Some(_) => Ok(Node::Name(word.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<f64> {
        let truth = Truth::parse(r#"{"a": 3, "openat.ENOENT": 4, "path": "/x", "deep": {"no": 1}}"#).unwrap();
        Expression::parse(text).unwrap().value(&truth)
    }

    #[test]
    fn numbers_of_the_truth_are_computed_with() {
        assert_eq!(value("2 * a + 1"), Some(7.0));
        assert_eq!(value("2 * (a + openat.ENOENT) / 7 - 1"), Some(1.0));
        assert_eq!(value("1_000"), Some(1000.0));
        assert_eq!(value("a / 0"), None);
        assert_eq!(value("nobody"), None);
    }

    #[test]
    fn what_is_no_expression_is_refused_in_words() {
        for (text, why) in [("", "missing"), ("1 +", "missing"), ("(a", ")"), ("a b", "too much"), ("1x", "no number")]
        {
            assert!(Expression::parse(text).unwrap_err().contains(why), "{text}");
        }
        assert!(Expression::parse(&"(".repeat(100)).is_err());
        assert!(Expression::parse(&"1+".repeat(200)).is_err());
    }

    #[test]
    fn texts_are_filled_in() {
        let truth = Truth::parse(r#"{"port": 80, "name": "x"}"#).unwrap();
        assert_eq!(truth.filled("*:{port},{name},{who}{"), "*:80,x,{who}{");
        assert_eq!(Truth::parse("[1]"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-+*/() a-c0-9._{}é]{0,60}") {
            let truth = Truth::parse(r#"{"a": 1}"#).unwrap();
            if let Ok(expression) = Expression::parse(&text) {
                let _ = expression.value(&truth);
            }
            let _ = truth.filled(&text);
            let _ = Truth::parse(&text);
        }
    }
}
