//! What structures of the kernel offer: numbers, texts and pointers on, and loops that follow these.

use super::{Shape, Writer, int};
use crate::generated_scripts::structures::{STRUCTURES, TASK};
use crate::generated_scripts::tree::{Kind, Node};

impl Writer {
    /// A pointer to this structure, with a sign for each number in it.
    pub(super) fn structure(&mut self, which: usize, depth: u32) -> String {
        if self.random.once_in(2)
            && let Some(name) = self.variable(&Shape::Pointer(which))
        {
            return name;
        }
        if depth > 0 && self.random.once_in(3) {
            let from: Vec<(usize, &str)> = STRUCTURES
                .iter()
                .enumerate()
                .flat_map(|(at, s)| s.links.iter().filter(|l| l.1 == which).map(move |l| (at, l.0)))
                .collect();
            if !from.is_empty() {
                let (at, link) = self.random.pick(&from);
                let base = self.structure(at, depth - 1);
                return link.replace('¤', &base);
            }
        }
        let roots: Vec<&str> = self.probe.structures.iter().filter(|r| r.1 == which).map(|r| r.0).collect();
        if !roots.is_empty() {
            return self.random.pick(&roots).to_owned();
        }
        if which == TASK {
            return "curtask".to_owned();
        }
        format!("((struct {} *)curtask.stack)", STRUCTURES[which].name)
    }

    /// One of those that this probe has pointers to.
    fn reachable(&mut self) -> usize {
        if self.random.once_in(3) || self.probe.structures.is_empty() {
            return TASK;
        }
        let (_, which) = self.random.pick(self.probe.structures);
        which
    }

    /// Fills a text in which `§` stands for a number.
    fn numbered(&mut self, kind: Kind, text: &str, depth: u32) -> Node {
        let children = (0..text.matches('§').count()).map(|_| self.int(depth)).collect();
        Node::new(kind, &text.replace('§', "¤"), children)
    }

    pub(super) fn structure_int(&mut self, depth: u32) -> Node {
        let which = self.reachable();
        let pointer = self.structure(which, 2);
        let field = self.random.pick(STRUCTURES[which].integers);
        self.numbered(Kind::Int, &format!("({})", field.replace('¤', &pointer)), depth)
    }

    pub(super) fn structure_text(&mut self, depth: u32) -> Node {
        let which = self.reachable();
        let pointer = self.structure(which, 2);
        let field = self.random.pick(STRUCTURES[which].strings);
        self.numbered(Kind::Str, &field.replace('¤', &pointer), depth)
    }

    pub(super) fn structure_value(&mut self, which: usize, depth: u32) -> Node {
        let pointer = self.structure(which, 2);
        self.numbered(Kind::Other, &pointer, depth)
    }

    /// A loop that goes from one structure to the next of its kind.
    pub(super) fn walk(&mut self, depth: u32) -> Node {
        let which = self.reachable();
        let links: Vec<&str> = STRUCTURES[which].links.iter().filter(|l| l.1 == which).map(|l| l.0).collect();
        let Some(link) = links.first() else { return self.branch(depth) };
        let (start, name) = (self.structure_value(which, 1), self.fresh());
        let next = link.replace('¤', &name);
        self.declare(&name, Shape::Pointer(which));
        let stop = self.random.pick(&["== 0", "== 1", "> 1000"]);
        let field = STRUCTURES[which].integers[0].replace('¤', &name);
        let leave = self.random.pick(&["break", "continue", "return"]);
        let leave = if self.in_function { "break" } else { leave };
        let times = self.random.pick(&["2", "4", "16"]);
        let counter = self.fresh();
        let body = self.looped(&counter, Shape::Int, depth);
        let head = match self.random.below(3) {
            0 if self.loops < 2 && !self.in_function => format!("  for {counter} : 0..{times} {{\n"),
            1 if self.loops == 0 => {
                format!("  let {counter} = 0;\n  while ({counter} < {times}) {{\n    {counter}++;\n")
            }
            _ => {
                let template = format!("  let {name} = ¤;\n  unroll(3) {{\n    {name} = {next};\n  }}\n");
                return Node::new(Kind::Statement, &template, vec![start]);
            }
        };
        let text =
            format!("  let {name} = ¤;\n{head}    if ({field} {stop}) {{ {leave}; }}\n¤    {name} = {next};\n  }}\n");
        Node::new(Kind::Statement, &text, vec![start, body])
    }

    /// Two pointers, or a pointer and a number.
    pub(super) fn pointers_compared(&mut self) -> Node {
        let which = self.reachable();
        let operator = self.random.pick(&["==", "!="]);
        let other = if self.random.once_in(2) { int("0") } else { self.structure_value(which, 0) };
        Node::new(Kind::Int, &format!("(¤ {operator} ¤)"), vec![self.structure_value(which, 0), other])
    }
}
