//! Functions, macros, macros that are given maps and variables, and statements that use them.

use super::{Held, Map, Shape, Writer};
use crate::generated_scripts::probes;
use crate::generated_scripts::tree::{Kind, Node};

impl Writer {
    pub(super) fn function(&mut self) -> Node {
        let probe = std::mem::replace(&mut self.probe, probes::ANYWHERE);
        self.scopes.push(vec![("$a".into(), Shape::Int), ("$b".into(), Shape::Int)]);
        self.in_function = true;
        let body = self.body(2);
        let result = self.int(2);
        self.in_function = false;
        self.scopes.pop();
        self.probe = probe;
        let name = format!("fn f{}($a: int64, $b: int64): int64 {{\n¤  return (int64)¤;\n}}\n", self.functions);
        self.functions += 1;
        Node::new(Kind::Top, &name, vec![body, result])
    }

    pub(super) fn make_macro(&mut self) -> Node {
        let probe = std::mem::replace(&mut self.probe, probes::ANYWHERE);
        let scopes = std::mem::take(&mut self.scopes);
        self.scopes.push(Vec::new());
        self.in_macro = true;
        let value = self.int(2);
        self.in_macro = false;
        self.scopes = scopes;
        self.probe = probe;
        let name = format!("macro g{}(x) {{ x + ¤ }}\n", self.macros);
        self.macros += 1;
        Node::new(Kind::Top, &name, vec![value])
    }

    pub(super) fn text_function(&mut self) -> Node {
        let probe = std::mem::replace(&mut self.probe, probes::ANYWHERE);
        self.scopes.push(vec![("$t".into(), Shape::Str), ("$n".into(), Shape::Int)]);
        self.in_function = true;
        let (condition, other) = (self.condition(1), self.string(1));
        self.in_function = false;
        self.scopes.pop();
        self.probe = probe;
        self.texts += 1;
        let text = "fn s0($t: string, $n: int64): string {\n  if (¤) { return ¤; }\n  return $t;\n}\n";
        Node::new(Kind::Top, text, vec![condition, other])
    }

    pub(super) fn map_macro(&mut self) -> Node {
        let probe = std::mem::replace(&mut self.probe, probes::ANYWHERE);
        let scopes = std::mem::take(&mut self.scopes);
        self.scopes.push(Vec::new());
        self.in_macro = true;
        let value = self.int(1);
        self.in_macro = false;
        self.scopes = scopes;
        self.probe = probe;
        self.map_macros += 1;
        Node::new(Kind::Top, "macro h0(@m, $v, x) { @m[x] = $v + ¤; $v += x; }\n", vec![value])
    }

    /// One number as key, and numbers as values.
    fn number_map(&mut self) -> Option<Map> {
        self.pick_map(|m| m.key == [Shape::Int] && m.held == Held::Plain(Shape::Int))
    }

    pub(super) fn reused_statement(&mut self, depth: u32) -> Node {
        let Some(map) = self.number_map() else { return self.update_map() };
        match self.variable(&Shape::Int) {
            Some(name) if self.map_macros > 0 && self.random.once_in(2) => {
                let template = format!("  h0({}, {name}, ¤);\n", map.name);
                Node::new(Kind::Statement, &template, vec![self.int(depth.min(2))])
            }
            _ => {
                let (found, key) = (self.fresh(), self.key(&map, 1));
                let template =
                    format!("  let {found}: int64 = 0;\n  if (find({}, ¤, {found})) {{ print({found}); }}\n", map.name);
                Node::new(Kind::Statement, &template, vec![key])
            }
        }
    }
}
