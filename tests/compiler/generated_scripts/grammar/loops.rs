//! Loops over ranges, maps and conditions.

use super::{Held, Map, Shape, Writer, int};
use crate::generated_scripts::tree::{Kind, Node};

impl Writer {
    pub(super) fn looped(&mut self, name: &str, shape: Shape, depth: u32) -> Node {
        self.scopes.push(vec![(name.to_owned(), shape)]);
        self.fixed.push(name.to_owned());
        self.loops += 1;
        let body = self.body(depth);
        self.loops -= 1;
        self.scopes.pop();
        body
    }

    pub(super) fn for_range(&mut self, depth: u32) -> Node {
        let name = self.fresh();
        let end = match self.random.below(4) {
            0 if !self.old => self.int(1),
            1 if !self.old => int("1000"),
            _ => int(self.random.pick(&["3", "10", "100"])),
        };
        let start = if !self.old && self.random.once_in(3) { self.int(1) } else { int("0") };
        let body = self.looped(&name, Shape::Int, depth);
        Node::new(Kind::Statement, &format!("  for {name} : (¤)..(¤) {{\n¤  }}\n"), vec![start, end, body])
    }

    pub(super) fn for_map(&mut self, depth: u32) -> Node {
        if self.old {
            return self.for_range(depth);
        }
        let looped = |m: &Map| !m.key.is_empty() && m.value().is_some();
        let Some(map) = self.pick_map(looped) else { return self.branch(depth) };
        let Some(value) = map.value() else { return self.branch(depth) };
        let name = self.fresh();
        let key = if map.key.len() == 1 { map.key[0].clone() } else { Shape::Tuple(map.key.clone()) };
        let pair = Shape::Tuple(vec![key, value]);
        let body = self.looped(&name, pair, depth);
        Node::new(Kind::Statement, &format!("  for ({name} : {}) {{\n¤  }}\n", map.name), vec![body])
    }

    /// Goes through a map and takes elements out, or tells another map of them.
    pub(super) fn emptying(&mut self) -> Node {
        if self.old {
            return self.update_map();
        }
        let Some(map) = self.pick_map(|m| !m.key.is_empty() && m.value().is_some()) else { return self.update_map() };
        let name = self.fresh();
        let key = if map.key.len() == 1 { map.key[0].clone() } else { Shape::Tuple(map.key.clone()) };
        let other = self.pick_map(|m| m.key.len() == 1 && m.key[0] == key && m.held == Held::Aggregation("count()"));
        let mut text = format!("  for ({name} : {}) {{\n    if (¤) {{ delete({}, {name}.0); }}\n", map.name, map.name);
        if let Some(other) = other {
            text.push_str(&format!("    {}[{name}.0] = count();\n", other.name));
        }
        text.push_str(&format!("    print({name});\n    print(({name}.1, {name}.0));\n  }}\n"));
        Node::new(Kind::Statement, &text, vec![self.condition(1)])
    }

    pub(super) fn while_loop(&mut self, depth: u32) -> Node {
        let name = self.fresh();
        // The variable is not offered to the body, which could change it for ever.
        self.loops += 1;
        let body = self.body(depth);
        self.loops -= 1;
        let times = self.random.pick(&["2", "5", "20"]);
        let template = format!("  let {name} = 0;\n  while ({name} < {times}) {{\n    {name}++;\n¤  }}\n");
        Node::new(Kind::Statement, &template, vec![body])
    }
}
