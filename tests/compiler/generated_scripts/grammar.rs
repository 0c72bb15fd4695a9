//! Scripts from the language's grammar, well-typed as far as can be done without checking them:
//! what the checker refuses all the same is left out by the test.

use super::probes::{self, Probe};
use super::random::Random;
use super::structures::{DENTRY, FILE, SOCK, TASK};
use super::tree::{Kind, Node};

mod chains;
mod compiler_paths;
mod defs;
mod idioms;
mod loops;
mod places;
mod rare;
mod reports;
mod reuse;
mod special_values;
mod values;

/// The type of a value that variables, keys and maps hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Int,
    Str,
    Tuple(Vec<Self>),
    Record(Vec<Self>),
    /// Something that prints in a form of its own, by its place in [`special_values::MADE`].
    Made(usize),
    /// A pointer to a structure of the kernel.
    Pointer(usize),
}

/// What a map holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Held {
    Plain(Shape),
    /// The call that updates it, with the sign for its argument.
    Aggregation(&'static str),
    Stack(&'static str),
}

#[derive(Clone, Debug)]
struct Map {
    name: String,
    key: Vec<Shape>,
    held: Held,
}

impl Map {
    /// What an element reads as, if as anything.
    fn value(&self) -> Option<Shape> {
        match &self.held {
            Held::Plain(shape) => Some(shape.clone()),
            Held::Aggregation(call) if AGGREGATIONS[..READ_BACK].contains(call) => Some(Shape::Int),
            Held::Aggregation(_) | Held::Stack(_) => None,
        }
    }
}

/// Updates of aggregations; those that read back as an integer come first.
const AGGREGATIONS: [&str; 23] = [
    "count()",
    "sum(¤)",
    "min(¤)",
    "max(¤)",
    "avg(¤)",
    "sum((uint64)¤)",
    "max((uint32)¤)",
    "sum((int8)¤)",
    "min((uint16)¤)",
    "avg((uint64)¤)",
    "stats(¤)",
    "hist(¤)",
    "hist(¤, 2)",
    "hist((uint64)¤, 5)",
    "lhist(¤, 0, 1000, 100)",
    "lhist(¤, -100, 100, 7)",
    "tseries(¤, 1ms, 10, \"max\")",
    "hist((int32)¤, 0)",
    "lhist(¤, 0, 10, 1)",
    "lhist((uint8)¤, -5, 5, 3)",
    "tseries(¤, 100ms, 20)",
    "tseries((uint32)¤, 1s, 3, \"avg\")",
    "stats((uint8)¤)",
];
const READ_BACK: usize = 10;

/// A script by its number, for a kernel that may be an old one (before Linux 5.17).
pub fn script(seed: u64, old: bool) -> Node {
    let (maps, scopes) = (Vec::new(), Vec::new());
    let mut writer = Writer { random: Random::new(seed), maps, scopes, names: 0, old, ..START };
    writer.script()
}

const START: Writer = Writer {
    random: Random::new(0),
    maps: Vec::new(),
    scopes: Vec::new(),
    fixed: Vec::new(),
    names: 0,
    probe: probes::ANYWHERE,
    loops: 0,
    functions: 0,
    texts: 0,
    macros: 0,
    map_macros: 0,
    in_function: false,
    in_macro: false,
    has_definitions: false,
    idioms: false,
    rarities: false,
    wide: false,
    old: false,
    short: false,
    big: false,
};

struct Writer {
    random: Random,
    maps: Vec<Map>,
    /// Variables by block.
    scopes: Vec<Vec<(String, Shape)>>,
    /// Variables of loops.
    fixed: Vec<String>,
    names: u32,
    probe: Probe,
    loops: u32,
    functions: u32,
    /// Functions of texts.
    texts: u32,
    macros: u32,
    /// Macros that are given a map and a variable.
    map_macros: u32,
    /// Statements of a function: `return` gives a value there, and probes' calls are not to be had.
    in_function: bool,
    /// Macros are given their maps and variables.
    in_macro: bool,
    /// The script starts with [`defs::DEFINITIONS`].
    has_definitions: bool,
    /// The script has statements of [`idioms`].
    idioms: bool,
    /// The script has statements of [`rare`].
    rarities: bool,
    /// The script has statements of [`wider`].
    wide: bool,
    /// The kernel knows no loops (before Linux 5.17): without those that it declines, and with short strings.
    old: bool,
    /// Strings are short in this script.
    short: bool,
    /// Many probes with much in each.
    big: bool,
}

fn int(text: &str) -> Node {
    Node::leaf(Kind::Int, text)
}

impl Writer {
    fn script(&mut self) -> Node {
        self.big = self.random.once_in(12);
        self.has_definitions = self.random.once_in(3);
        for n in 0..=self.random.below(if self.big { 14 } else { 6 }) {
            let map = self.map(n);
            self.maps.push(map);
        }
        let mut tops = Vec::new();
        if self.has_definitions {
            tops.push(Node::leaf(Kind::Other, defs::DEFINITIONS));
        }
        tops.extend(self.declarations());
        for _ in 0..self.random.below(2) {
            tops.push(self.function());
        }
        for _ in 0..self.random.below(2) {
            tops.push(self.make_macro());
        }
        if self.random.once_in(3) {
            tops.push(self.text_function());
        }
        if self.random.once_in(3) {
            tops.push(self.map_macro());
        }
        let clauses = if self.big { 6 + self.random.below(10) } else { self.random.below(3) };
        for _ in 0..=clauses {
            tops.push(self.clause());
        }
        let written = self.writes_all();
        if self.rarities && !self.old {
            tops.push(Node::leaf(Kind::Top, rare::FUNCTIONS));
        }
        tops.push(written);
        Node::list(Kind::Top, tops)
    }

    fn map(&mut self, n: usize) -> Map {
        let keys = [0, 0, 1, 1, 1, 2, 2, 3];
        let key = (0..self.random.pick(&keys)).map(|_| self.shape(1)).collect();
        let held = match self.random.below(8) {
            0..=2 => Held::Plain(self.shape(1)),
            3 if self.random.once_in(2) => Held::Stack(self.random.pick(&["kstack", "ustack", "kstack(3)"])),
            _ => Held::Aggregation(self.random.pick(&AGGREGATIONS)),
        };
        Map { name: format!("@m{n}"), key, held }
    }

    fn shape(&mut self, depth: u32) -> Shape {
        match self.random.below(22) {
            0..=11 => Shape::Int,
            12..=15 => Shape::Str,
            16 => Shape::Made(self.random.below(special_values::MADE.len())),
            17 => Shape::Pointer(self.random.pick(&[TASK, FILE, DENTRY, SOCK])),
            _ if depth == 0 => Shape::Int,
            18 => Shape::Record((0..=self.random.below(2)).map(|_| self.shape(depth - 1)).collect()),
            _ => Shape::Tuple((0..=self.random.below(3)).map(|_| self.shape(depth - 1)).collect()),
        }
    }

    fn declarations(&mut self) -> Vec<Node> {
        let mut out = Vec::new();
        if self.old || self.random.once_in(2) {
            let config = [
                "max_strlen = 32",
                "max_strlen = 64; stack_mode = perf",
                "max_strlen = 200",
                "max_map_keys = 17",
                "on_stack_limit = 64",
                "max_strlen = 100; max_map_keys = 100; print_maps_on_exit = 0",
            ];
            let chosen = self.random.pick(if self.old { &config[..2] } else { &config });
            self.short = chosen.contains("= 32") || chosen.contains("= 64;");
            out.push(Node::leaf(Kind::Other, format!("config = {{ {chosen} }}\n")));
        }
        for map in &self.maps {
            let plain = matches!(map.held, Held::Plain(_)) && !map.key.is_empty();
            if plain && self.random.once_in(6) {
                let kind = self.random.pick(&["hash", "lruhash", "percpuhash", "percpulruhash"]);
                out.push(Node::leaf(Kind::Top, format!("let {} = {kind}(50);\n", map.name)));
            }
        }
        out
    }

    /// Every map is written somewhere, or reading it is a mistake.
    fn writes_all(&mut self) -> Node {
        self.probe = probes::ANYWHERE;
        let mut statements: Vec<Node> = self.maps.clone().iter().map(|map| self.update(map, 1)).collect();
        if self.idioms {
            statements.push(Node::leaf(Kind::Statement, idioms::WRITES));
        }
        if self.rarities {
            statements.push(Node::leaf(Kind::Statement, rare::WRITES));
        }
        if self.wide {
            statements.push(Node::leaf(Kind::Statement, compiler_paths::WRITES));
        }
        Node::new(Kind::Top, "begin {\n¤}\n", vec![Node::list(Kind::Body, statements)])
    }

    fn clause(&mut self) -> Node {
        self.probe = self.random.pick(probes::PROBES);
        while self.old && self.probe.points.contains(&"iter:task_vma") {
            self.probe = self.random.pick(probes::PROBES);
        }
        let head = Node::leaf(Kind::Other, self.random.pick(self.probe.points));
        let predicate = if self.random.once_in(3) {
            Node::new(Kind::Predicate, " / ¤ /", vec![self.condition(3)])
        } else {
            Node::leaf(Kind::Predicate, "")
        };
        self.scopes.push(Vec::new());
        let body = self.body(3);
        self.scopes.pop();
        Node::new(Kind::Top, "¤¤ {\n¤}\n", vec![head, predicate, body])
    }

    fn body(&mut self, depth: u32) -> Node {
        self.scopes.push(Vec::new());
        // Loops in loops with much in them are too much for the verifier in any compiler's hands.
        let most = match (depth > 2, self.big) {
            (true, true) => 14,
            (true, false) => 6,
            _ => 3 - self.loops.min(2) as usize,
        };
        let statements = (0..=self.random.below(most)).map(|_| self.statement(depth)).collect();
        self.scopes.pop();
        Node::list(Kind::Body, statements)
    }

    fn statement(&mut self, depth: u32) -> Node {
        let inner = depth.saturating_sub(1);
        let choices = if depth == 0 { 12 } else { 25 };
        if self.random.once_in(12) {
            return self.reused_statement(depth);
        }
        if self.random.once_in(6) {
            return self.idiom();
        }
        if self.random.once_in(8) {
            return self.rare();
        }
        if self.random.once_in(8) {
            return self.wider();
        }
        match self.random.below(choices) {
            0..=2 => self.update_map(),
            3 | 4 => self.let_variable(),
            5 => self.assign_variable(),
            6 | 7 => self.printf(),
            8 => self.map_call(),
            9 => self.other_report(),
            10 => Node::new(Kind::Statement, "  _ = ¤;\n", vec![self.int(3)]),
            11 => self.long_printf(),
            12 | 13 => self.branch(inner),
            14 if !self.in_function && self.loops < 2 => self.for_range(inner.min(1)),
            15 if !self.in_function && self.loops < 2 => self.for_map(inner.min(1)),
            16 if self.loops == 0 => self.while_loop(inner.min(1)),
            21 | 22 => self.walk(inner.min(1)),
            23 if !self.in_function && self.loops < 2 => self.emptying(),
            14..=16 | 23 => self.update_map(),
            24 => self.reassign(),
            17 => {
                let times = self.random.below(4) + 1;
                Node::new(Kind::Statement, &format!("  unroll({times}) {{\n¤  }}\n"), vec![self.body(inner)])
            }
            18 => self.jump(),
            19 => self.if_value(inner),
            _ => Node::new(Kind::Statement, "  {\n¤  }\n", vec![self.body(inner)]),
        }
    }

    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("$v{}", self.names)
    }

    fn declare(&mut self, name: &str, shape: Shape) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((name.to_owned(), shape));
        }
    }

    fn variable(&mut self, shape: &Shape) -> Option<String> {
        let fitting: Vec<&String> = self.scopes.iter().flatten().filter(|(_, s)| s == shape).map(|(n, _)| n).collect();
        if fitting.is_empty() { None } else { Some(self.random.pick(&fitting).clone()) }
    }

    fn let_variable(&mut self) -> Node {
        let shape = self.shape(2);
        let value = self.value(&shape, 3);
        // What counts up must not be a bool.
        let value = if shape == Shape::Int { Node::new(Kind::Int, "(int64)(¤)", vec![value]) } else { value };
        let name = self.fresh();
        let word = match (&shape, self.random.below(6)) {
            (Shape::Int, 0) => format!("  let {name}: int64 = ¤;\n"),
            (_, 1) => format!("  {name} = ¤;\n"),
            _ => format!("  let {name} = ¤;\n"),
        };
        self.declare(&name, shape);
        Node::new(Kind::Statement, &word, vec![value])
    }

    fn assign_variable(&mut self) -> Node {
        let shape = self.shape(0);
        let Some(name) = self.variable(&shape) else { return self.let_variable() };
        if shape == Shape::Str {
            return Node::new(Kind::Statement, &format!("  {name} = ¤;\n"), vec![self.string(2)]);
        }
        let operator = self.random.pick(&["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="]);
        Node::new(Kind::Statement, &format!("  {name} {operator} ¤;\n"), vec![self.int(3)])
    }

    /// A new value for a variable of whatever shape.
    fn reassign(&mut self) -> Node {
        let all: Vec<(String, Shape)> = self.scopes.iter().flatten().cloned().collect();
        // What loops count with and go through is not theirs to change.
        let own: Vec<&(String, Shape)> = all.iter().filter(|(n, _)| !self.fixed.contains(n)).collect();
        if own.is_empty() {
            return self.let_variable();
        }
        let (name, shape) = self.random.pick(&own).clone();
        let value = if self.random.once_in(3) { self.chosen(&shape, 1) } else { self.value(&shape, 2) };
        Node::new(Kind::Statement, &format!("  {name} = ¤;\n"), vec![value])
    }

    fn pick_map(&mut self, fits: impl Fn(&Map) -> bool) -> Option<Map> {
        let fitting: Vec<&Map> = self.maps.iter().filter(|m| !self.in_macro && fits(m)).collect();
        if fitting.is_empty() { None } else { Some(self.random.pick(&fitting).clone()) }
    }

    /// `@m[key]`
    fn element(&mut self, map: &Map, depth: u32) -> Node {
        if map.key.is_empty() {
            return Node::leaf(Kind::Other, map.name.clone());
        }
        let key = self.key(map, depth);
        Node::new(Kind::Other, &format!("{}[¤]", map.name), vec![key])
    }

    fn key(&mut self, map: &Map, depth: u32) -> Node {
        let values: Vec<Node> = map.key.iter().map(|shape| self.value(shape, depth)).collect();
        let template = vec!["¤"; values.len()].join(", ");
        Node::new(Kind::Other, &template, values)
    }

    fn update_map(&mut self) -> Node {
        let Some(map) = self.pick_map(|_| true) else { return self.printf() };
        self.update(&map, 2)
    }

    fn update(&mut self, map: &Map, depth: u32) -> Node {
        let element = self.element(map, depth);
        match &map.held {
            Held::Plain(Shape::Int) => match self.random.below(6) {
                0 => Node::new(Kind::Statement, "  ¤++;\n", vec![element]),
                1 => Node::new(Kind::Statement, "  --¤;\n", vec![element]),
                2 => Node::new(Kind::Statement, "  ¤ += ¤;\n", vec![element, self.int(2)]),
                3 if depth > 1 => Node::new(Kind::Statement, "  ¤ |= ¤;\n", vec![element, self.int(2)]),
                _ => Node::new(Kind::Statement, "  ¤ = ¤;\n", vec![element, self.int(3)]),
            },
            Held::Plain(shape) => {
                let value = self.value(shape, 3);
                Node::new(Kind::Statement, "  ¤ = ¤;\n", vec![element, value])
            }
            Held::Stack(call) => Node::new(Kind::Statement, &format!("  ¤ = {call};\n"), vec![element]),
            Held::Aggregation(call) => {
                let mut children = vec![element];
                if call.contains('¤') {
                    children.push(self.int(3));
                }
                Node::new(Kind::Statement, &format!("  ¤ = {call};\n"), children)
            }
        }
    }

    fn map_call(&mut self) -> Node {
        let Some(map) = self.pick_map(|_| true) else { return self.printf() };
        let name = &map.name;
        let keyed = !map.key.is_empty();
        match self.random.below(8) {
            6 => Node::leaf(Kind::Statement, format!("  print({name}, 3{});\n", if keyed { ", 2" } else { "" })),
            7 if keyed => {
                let key = self.key(&map, 2);
                Node::new(Kind::Statement, &format!("  delete({name}[¤]);\n"), vec![key])
            }
            0 => Node::leaf(Kind::Statement, format!("  clear({name});\n")),
            1 => Node::leaf(Kind::Statement, format!("  zero({name});\n")),
            2 => Node::leaf(Kind::Statement, format!("  print({name});\n")),
            3 | 4 if keyed => {
                let key = self.key(&map, 2);
                Node::new(Kind::Statement, &format!("  delete({name}, (¤));\n"), vec![key])
            }
            _ => {
                let element = self.element(&map, 2);
                Node::new(Kind::Statement, "  print(¤);\n", vec![element])
            }
        }
    }

    fn branch(&mut self, depth: u32) -> Node {
        let condition = self.condition(3);
        let then = self.body(depth);
        match self.random.below(3) {
            0 => Node::new(Kind::Statement, "  if (¤) {\n¤  }\n", vec![condition, then]),
            1 => {
                let otherwise = self.body(depth);
                Node::new(Kind::Statement, "  if (¤) {\n¤  } else {\n¤  }\n", vec![condition, then, otherwise])
            }
            _ => {
                let (second, middle, last) = (self.condition(2), self.body(depth), self.body(depth));
                let template = "  if (¤) {\n¤  } else if (¤) {\n¤  } else {\n¤  }\n";
                Node::new(Kind::Statement, template, vec![condition, then, second, middle, last])
            }
        }
    }

    fn jump(&mut self) -> Node {
        let condition = self.condition(2);
        let words: &[&str] = match (self.in_function, self.loops > 0) {
            (true, true) => &["break", "continue", "return 3"],
            (true, false) => &["return 3"],
            (false, true) => &["break", "continue", "return"],
            (false, false) => &["return", "exit()", "exit(3)"],
        };
        let word = self.random.pick(words);
        Node::new(Kind::Statement, &format!("  if (¤) {{ {word}; }}\n"), vec![condition])
    }
}
