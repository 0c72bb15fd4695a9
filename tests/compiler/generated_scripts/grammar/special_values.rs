//! Values that are neither numbers nor texts, records, and statements with many or odd arguments.

use super::{Shape, Writer};
use crate::generated_scripts::tree::{Kind, Node};

/// Values that print in a form of their own, by how they are made; `§` stands for a number.
pub const MADE: &[&str] = &[
    "ksym(§)",
    "usym(§)",
    "ntop((uint32)§)",
    "strftime(\"%H:%M:%S\", §)",
    "kstack",
    "kstack(3)",
    "ustack",
    "ustack(perf, 5)",
    "username",
    "cgroup_path(§)",
    "macaddr(curtask.comm)",
    "ntop(pton(\"fe80::1\"))",
];

impl Writer {
    pub(super) fn made(&mut self, which: usize, depth: u32) -> Node {
        let text = MADE[which];
        let children = (0..text.matches('§').count()).map(|_| self.int(depth)).collect();
        Node::new(Kind::Other, &text.replace('§', "¤"), children)
    }

    pub(super) fn record(&mut self, items: &[Shape], depth: u32) -> Node {
        let values: Vec<Node> = items.iter().map(|s| self.value(s, depth)).collect();
        let fields: Vec<String> = (0..items.len()).map(|n| format!("f{n} = ¤")).collect();
        Node::new(Kind::Other, &format!("({})", fields.join(", ")), values)
    }

    /// Tuples or records, of variables or made in place, compared.
    pub(super) fn groups_compared(&mut self, depth: u32) -> Node {
        let operator = self.random.pick(&["==", "!="]);
        let shape = match self.random.below(4) {
            0 => Shape::Tuple(vec![Shape::Int, Shape::Str]),
            1 => Shape::Tuple(vec![Shape::Str, Shape::Tuple(vec![Shape::Int, Shape::Int])]),
            2 => Shape::Record(vec![Shape::Int, Shape::Str]),
            _ => Shape::Tuple(vec![Shape::Int]),
        };
        let (a, b) = (self.value(&shape, depth), self.value(&shape, depth));
        Node::new(Kind::Int, &format!("(¤ {operator} ¤)"), vec![a, b])
    }

    /// A value that is chosen between two of a shape.
    pub(super) fn chosen(&mut self, shape: &Shape, depth: u32) -> Node {
        let (condition, a, b) = (self.condition(1), self.value(shape, depth), self.value(shape, depth));
        let template = if self.random.once_in(2) { "(¤ ? ¤ : ¤)" } else { "(if (¤) { ¤ } else { ¤ })" };
        Node::new(Kind::Other, template, vec![condition, a, b])
    }

    /// `printf()` of anything, with widths and many arguments.
    pub(super) fn long_printf(&mut self) -> Node {
        let (mut format, mut values) = (String::new(), Vec::new());
        for _ in 0..=self.random.below(14) {
            let (conversion, value) = match self.random.below(8) {
                0..=2 => (
                    self.random.pick(&["%d", "%-12llu", "%#x", "%016llx", "%+d", "%hhd", "%hx", "%o", "%c"]),
                    self.int(2),
                ),
                3 | 4 => (self.random.pick(&["%s", "%-20s", "%.5s", "%8.3s"]), self.string(2)),
                5 => {
                    let which = self.random.below(MADE.len());
                    (self.random.pick(&["%s", "%20s"]), self.made(which, 1))
                }
                6 => (self.random.pick(&["%r", "%rx", "%rh"]), self.buffer()),
                _ => (self.random.pick(&["%d", "%5u", "%lx"]), self.stepped()),
            };
            format.push_str(conversion);
            format.push(' ');
            values.push(value);
        }
        let call = self.random.pick(&["printf", "printf", "printf", "errorf", "warnf"]);
        let template = format!("  {call}(\"{format}\\n\"{});\n", ", ¤".repeat(values.len()));
        Node::new(Kind::Statement, &template, values)
    }

    /// Choices in choices, and a value that stands in for itself.
    pub(super) fn long_choice(&mut self, depth: u32) -> Node {
        let (a, b) = (self.condition(1), self.condition(1));
        let values = [self.int(depth), self.int(depth), self.int(depth)];
        let [x, y, z] = values;
        match self.random.below(3) {
            0 => Node::new(Kind::Int, "(¤ ? (¤ ? ¤ : ¤) : ¤)", vec![a, b, x, y, z]),
            1 => Node::new(Kind::Int, "(¤ ? ¤ : ¤ ? ¤ : ¤)", vec![a, x, b, y, z]),
            _ => Node::new(Kind::Int, "(¤ ?: ¤)", vec![x, y]),
        }
    }

    /// Numbers that come from a change of what holds them.
    pub(super) fn stepped(&mut self) -> Node {
        match self.variable(&Shape::Int) {
            Some(name) => {
                let text = self.random.pick(&["(¤++)", "(--¤)", "(¤++ + ++¤)", "(¤-- - ¤)"]);
                Node::leaf(Kind::Int, text.replace('¤', &name))
            }
            None => self.literal(),
        }
    }

    /// What the command line gives, addresses and names that are known before the start.
    pub(super) fn outside(&mut self) -> Node {
        Node::leaf(
            Kind::Int,
            self.random.pick(&[
                "getopt(\"n\", 5)",
                "(getopt(\"on\") ? 1 : 2)",
                "$#",
                "kaddr(\"vfs_read\")",
                "AF_INET",
                "TCP_ESTABLISHED",
                "sizeof(struct sock)",
                "nsecs(sw_tai)",
                "cgroupid(\"/sys/fs/cgroup\")",
            ]),
        )
    }

    pub(super) fn odd_string(&mut self, depth: u32) -> Node {
        match self.random.below(8) {
            0 => Node::leaf(Kind::Str, "getopt(\"s\", \"text\")"),
            1 => Node::new(Kind::Str, "signal_name(¤)", vec![self.int(depth)]),
            2 => Node::new(Kind::Str, "str_concat(¤, \"more of it\")", vec![self.string(depth)]),
            3 if !self.old && self.random.once_in(3) => Node::new(Kind::Str, "comm(¤)", vec![self.int(depth)]),
            4 => Node::new(Kind::Str, "strerror(¤)", vec![self.int(depth)]),
            5 => {
                let (condition, a) = (self.condition(1), self.string(depth));
                Node::new(Kind::Str, "(if (¤) { ¤ } else { \"other\" })", vec![condition, a])
            }
            6 => Node::new(Kind::Str, "syscall_name(¤)", vec![self.int(depth)]),
            _ => Node::new(Kind::Str, "{ let $q = ¤; $q }", vec![self.string(depth)]),
        }
    }
}
