//! Numbers out of records, arrays, bytes and the memory of variables.

use super::{Shape, Writer};
use crate::generated_scripts::tree::{Kind, Node};

impl Writer {
    pub(super) fn placed(&mut self, depth: u32) -> Node {
        match self.random.below(10) {
            0 => Node::new(Kind::Int, "(a = ¤, b = ¤).a", vec![self.int(depth), self.string(depth)]),
            1 => Node::new(Kind::Int, "(b = ¤, a = (1, ¤)).a.1", vec![self.int(depth), self.int(depth)]),
            2 => {
                let bytes = self.random.pick(&["uint8[8]", "uint16[4]", "uint32[2]"]);
                let index = self.random.pick(&["0", "1"]);
                Node::new(Kind::Int, &format!("(({bytes})(uint64)¤)[{index}]"), vec![self.int(depth)])
            }
            3 => Node::new(Kind::Int, "(pton(\"1.2.3.4\")[¤ & 3])", vec![self.int(depth)]),
            4 => {
                let n = self.random.pick(&["1", "4", "15"]);
                Node::new(Kind::Int, &format!("memcmp(¤, ¤, {n})"), vec![self.string(0), self.string(0)])
            }
            5 => Node::leaf(Kind::Int, self.random.pick(&["len(kstack)", "len(ustack(3))", "len(kstack(raw))"])),
            6 => Node::leaf(Kind::Int, "offsetof(struct task_struct, pid)"),
            7 => Node::new(Kind::Int, "((1, ¤) == (2, ¤))", vec![self.string(depth), self.string(depth)]),
            8 => Node::new(Kind::Int, "((¤, 1) != (¤, 2))", vec![self.int(depth), self.int(depth)]),
            _ => match self.variable(&Shape::Int) {
                Some(name) => Node::leaf(Kind::Int, format!("(*&{name})")),
                None => self.literal(),
            },
        }
    }

    /// `let $x = if (..) { .. } else { .. };`
    pub(super) fn if_value(&mut self, depth: u32) -> Node {
        let name = self.fresh();
        let children = vec![self.condition(2), self.int(depth), self.int(depth)];
        self.declare(&name, Shape::Int);
        Node::new(Kind::Statement, &format!("  let {name} = if (¤) {{ (int64)¤ }} else {{ (int64)¤ }};\n"), children)
    }
}
