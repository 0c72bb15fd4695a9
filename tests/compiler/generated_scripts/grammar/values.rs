//! Expressions: values of each type, by the rules of the language.

use super::{AGGREGATIONS, Held, Map, READ_BACK, Shape, Writer, int};
use crate::generated_scripts::probes;
use crate::generated_scripts::tree::{Kind, Node};

/// Whether a number is known before the script runs: no name in it is that of a value.
fn is_constant(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$' | '@' | '"'));
    let known = |w: &str| w.is_empty() || w.starts_with(|c: char| c.is_ascii_digit()) || KNOWN.contains(&w);
    words.into_iter().all(known)
}

/// Words that make no value unknown.
const KNOWN: [&str; 14] = [
    "true", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "LIMIT", "TWICE",
    "GREEN", "sizeof",
];

impl Writer {
    pub(super) fn value(&mut self, shape: &Shape, depth: u32) -> Node {
        match shape {
            Shape::Int => self.int(depth),
            Shape::Str => self.string(depth),
            Shape::Tuple(items) => {
                if self.random.once_in(3)
                    && let Some(name) = self.variable(shape)
                {
                    return Node::leaf(Kind::Other, name);
                }
                let values: Vec<Node> = items.iter().map(|s| self.value(s, depth.saturating_sub(1))).collect();
                let comma = if values.len() == 1 { "," } else { "" };
                let template = format!("({}{comma})", vec!["¤"; values.len()].join(", "));
                Node::new(Kind::Other, &template, values)
            }
            Shape::Record(_) | Shape::Made(_) | Shape::Pointer(_) if self.random.once_in(3) => {
                match self.variable(shape) {
                    Some(name) => Node::leaf(Kind::Other, name),
                    None => self.constructed(shape, depth),
                }
            }
            _ => self.constructed(shape, depth),
        }
    }

    fn constructed(&mut self, shape: &Shape, depth: u32) -> Node {
        let inner = depth.saturating_sub(1);
        let held = self.pick_map(|m| m.held == Held::Plain(shape.clone()));
        if let Some(map) = held
            && self.random.once_in(4)
        {
            return self.element(&map, inner);
        }
        match shape {
            Shape::Record(items) => self.record(items, inner),
            Shape::Made(which) => self.made(*which, inner),
            Shape::Pointer(which) => self.structure_value(*which, inner),
            Shape::Int | Shape::Str | Shape::Tuple(_) => self.value(shape, inner),
        }
    }

    pub(super) fn condition(&mut self, depth: u32) -> Node {
        let inner = depth.saturating_sub(1);
        match self.random.below(11) {
            9 if depth > 0 => self.groups_compared(inner),
            10 => self.pointers_compared(),
            0..=2 => {
                let operator = self.random.pick(&["==", "!=", "<", "<=", ">", ">="]);
                Node::new(Kind::Int, &format!("(¤ {operator} ¤)"), vec![self.int(inner), self.int(inner)])
            }
            3 | 4 => {
                let operator = self.random.pick(&["==", "!="]);
                Node::new(Kind::Int, &format!("(¤ {operator} ¤)"), vec![self.string(inner), self.string(inner)])
            }
            5 if depth > 0 => {
                let operator = self.random.pick(&["&&", "||"]);
                Node::new(Kind::Int, &format!("(¤ {operator} ¤)"), vec![self.condition(inner), self.condition(inner)])
            }
            6 => Node::new(Kind::Int, "!¤", vec![self.int(inner)]),
            7 => {
                let keyed = self.pick_map(|m| !m.key.is_empty());
                let Some(map) = keyed else { return self.int(inner) };
                let key = self.key(&map, inner);
                Node::new(Kind::Int, &format!("has_key({}, (¤))", map.name), vec![key])
            }
            _ => self.int(inner),
        }
    }

    pub(super) fn literal(&mut self) -> Node {
        let edges = [
            "0",
            "1",
            "2",
            "(-1)",
            "7",
            "63",
            "64",
            "255",
            "256",
            "65535",
            "4096",
            "1000000",
            "2147483647",
            "(-2147483648)",
            "4294967295",
            "4294967296",
            "9223372036854775807",
            "5ms",
            "1e6",
            "0x7f",
            "true",
        ];
        int(self.random.pick(&edges))
    }

    pub(super) fn int(&mut self, depth: u32) -> Node {
        if depth == 0 || self.random.once_in(3) {
            return self.simple_int();
        }
        let inner = depth - 1;
        match self.random.below(25) {
            18..=20 => self.structure_int(inner),
            21 => self.own_int(inner),
            22 => self.stepped(),
            23 => self.outside(),
            24 => self.long_choice(inner),
            16 | 17 => self.placed(inner),
            0..=3 => {
                let operators = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"];
                let operator = self.random.pick(&operators);
                let (a, b) = (self.int(inner), self.int(inner));
                // The checker computes constants, and most of these come to more than 64 bits.
                let plain = is_constant(&a.to_string()) && is_constant(&b.to_string());
                let a = if plain { int(self.random.pick(probes::ANYWHERE.integers)) } else { a };
                Node::new(Kind::Int, &format!("(¤ {operator} ¤)"), vec![a, b])
            }
            4 | 5 => self.condition(depth),
            6 => {
                let operator = self.random.pick(&["-", "~", "!"]);
                Node::new(Kind::Int, &format!("({operator}¤)"), vec![self.int(inner)])
            }
            7 | 8 => {
                let casts = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"];
                let cast = self.random.pick(&casts);
                Node::new(Kind::Int, &format!("(({cast})¤)"), vec![self.int(inner)])
            }
            9 => {
                let children = vec![self.condition(inner), self.int(inner), self.int(inner)];
                Node::new(Kind::Int, "(¤ ? ¤ : ¤)", children)
            }
            10 => self.string_number(inner),
            11 => self.read_map(inner),
            12 => self.called(inner),
            13 => {
                let name = self.fresh();
                let template = format!("{{ let {name} = ¤; {name} + ¤ }}");
                Node::new(Kind::Int, &format!("({template})"), vec![self.int(inner), self.int(inner)])
            }
            14 => self.read_memory(inner),
            _ => self.tuple_field(inner),
        }
    }

    pub(super) fn simple_int(&mut self) -> Node {
        match self.random.below(6) {
            0 | 1 => self.literal(),
            2 => match self.variable(&Shape::Int) {
                Some(name) => int(&name),
                None => self.literal(),
            },
            3 if !self.probe.integers.is_empty() => int(self.random.pick(self.probe.integers)),
            _ => int(self.random.pick(probes::ANYWHERE.integers)),
        }
    }

    pub(super) fn string_number(&mut self, depth: u32) -> Node {
        let a = self.string(depth);
        match self.random.below(5) {
            0 => Node::new(Kind::Int, "strlen(¤)", vec![a]),
            1 => {
                let n = self.random.pick(&["1", "3", "8", "15"]);
                Node::new(Kind::Int, &format!("strncmp(¤, ¤, {n})"), vec![a, self.string(depth)])
            }
            2 => Node::new(Kind::Int, "strcontains(¤, \"ab\")", vec![a]),
            3 => Node::new(Kind::Int, "strstr(¤, ¤)", vec![a, self.string(0)]),
            _ => Node::new(Kind::Int, "(¤ == ¤)", vec![a, self.string(depth)]),
        }
    }

    pub(super) fn read_map(&mut self, depth: u32) -> Node {
        let readable = |m: &Map| match &m.held {
            Held::Plain(shape) => *shape == Shape::Int,
            Held::Aggregation(call) => AGGREGATIONS[..READ_BACK].contains(call),
            Held::Stack(_) => false,
        };
        let Some(map) = self.pick_map(readable) else { return self.literal() };
        let element = self.element(&map, depth);
        match (&map.held, self.random.below(8)) {
            (_, 0) if !map.key.is_empty() && !self.old => int(&format!("len({})", map.name)),
            (Held::Plain(_), 1) => Node::new(Kind::Int, "(¤++)", vec![element]),
            (Held::Plain(_), _) => Node::new(Kind::Int, "¤", vec![element]),
            _ => Node::new(Kind::Int, "((int64)¤)", vec![element]),
        }
    }

    pub(super) fn called(&mut self, depth: u32) -> Node {
        match self.random.below(4) {
            0 if self.functions > 0 && self.scopes.len() > 1 => {
                let n = self.random.below(self.functions as usize);
                Node::new(Kind::Int, &format!("f{n}(¤, ¤)"), vec![self.int(depth), self.int(depth)])
            }
            1 if self.macros > 0 => {
                let n = self.random.below(self.macros as usize);
                Node::new(Kind::Int, &format!("g{n}(¤)"), vec![self.int(depth)])
            }
            2 => Node::new(Kind::Int, "bswap((uint32)¤)", vec![self.int(depth)]),
            _ => Node::new(Kind::Int, "bswap(¤)", vec![self.int(depth)]),
        }
    }

    pub(super) fn read_memory(&mut self, depth: u32) -> Node {
        let cast = self.random.pick(&["int8", "uint16", "int32", "uint64"]);
        match self.random.below(3) {
            0 => Node::new(Kind::Int, &format!("(*({cast}*)¤)"), vec![self.int(depth)]),
            1 => Node::new(Kind::Int, &format!("(*(({cast}*)uptr(¤)))"), vec![self.int(depth)]),
            _ => Node::new(Kind::Int, &format!("((({cast}*)curtask)[¤])"), vec![self.int(depth)]),
        }
    }

    pub(super) fn tuple_field(&mut self, depth: u32) -> Node {
        let shape = Shape::Tuple(vec![Shape::Int, Shape::Str, Shape::Int]);
        let field = self.random.pick(&["0", "2"]);
        let tuple = self.value(&shape, depth);
        Node::new(Kind::Int, &format!("¤.{field}"), vec![tuple])
    }

    pub(super) fn pointer(&mut self) -> Option<String> {
        let pointers = self.probe.pointers;
        if pointers.is_empty() { None } else { Some((self.random.pick(pointers)).to_owned()) }
    }

    pub(super) fn string(&mut self, depth: u32) -> Node {
        if depth == 0 || self.random.once_in(3) {
            return self.simple_string();
        }
        let inner = depth - 1;
        match self.random.below(14) {
            9 | 10 => self.structure_text(inner),
            11 => self.own_text(inner),
            12 | 13 => self.odd_string(inner),
            7 if self.texts > 0 && self.scopes.len() > 1 => {
                Node::new(Kind::Str, "s0(¤, ¤)", vec![self.string(inner), self.int(inner)])
            }
            8 => Node::new(Kind::Str, "(name = ¤, n = ¤).name", vec![self.string(inner), self.int(inner)]),
            0 => {
                let children = vec![self.condition(inner), self.string(inner), self.string(inner)];
                Node::new(Kind::Str, "(¤ ? ¤ : ¤)", children)
            }
            1 => Node::new(Kind::Str, "str_concat(¤, ¤)", vec![self.string(inner), self.string(inner)]),
            2 => match self.pointer() {
                Some(pointer) => Node::new(Kind::Str, &format!("str({pointer}, (¤ & 255))"), vec![self.int(inner)]),
                None => self.simple_string(),
            },
            3 => {
                let Some(map) = self.pick_map(|m| m.held == Held::Plain(Shape::Str)) else {
                    return self.simple_string();
                };
                let element = self.element(&map, inner);
                Node::new(Kind::Str, "¤", vec![element])
            }
            4 => Node::new(Kind::Str, "(¤, ¤).1", vec![self.int(inner), self.string(inner)]),
            5 => Node::new(Kind::Str, "str(¤)", vec![self.int(inner)]),
            _ => self.simple_string(),
        }
    }

    pub(super) fn simple_string(&mut self) -> Node {
        let leaf = |text: &str| Node::leaf(Kind::Str, text);
        match self.random.below(6) {
            0 | 1 => {
                let texts = [
                    "\"\"",
                    "\"a\"",
                    "\"probescope\"",
                    "\"twelve chars\"",
                    "\"a longer text that is no name of any command at all, over sixty-four bytes\"",
                ];
                leaf(self.random.pick(&texts[..if self.short { 4 } else { 5 }]))
            }
            2 => match self.variable(&Shape::Str) {
                Some(name) => leaf(&name),
                None => leaf("comm"),
            },
            3 if !self.probe.strings.is_empty() => leaf(self.random.pick(self.probe.strings)),
            4 => match self.pointer() {
                Some(pointer) => leaf(&format!("str({pointer})")),
                None => leaf("comm"),
            },
            _ => leaf(self.random.pick(probes::ANYWHERE.strings)),
        }
    }
}
