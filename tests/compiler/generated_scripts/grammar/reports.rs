//! Statements that report something.

use super::{Kind, Node, Shape, Writer};

impl Writer {
    pub(super) fn printf(&mut self) -> Node {
        let mut format = String::new();
        let mut values = Vec::new();
        for _ in 0..self.random.below(5) {
            let (conversion, value) = match self.random.below(9) {
                0..=3 => (self.random.pick(&["%d", "%u", "%x", "%lld", "%5d", "%-8llx", "%c"]), self.int(3)),
                4 | 5 => (self.random.pick(&["%s", "%20s", "%-5s"]), self.string(3)),
                6 => ("%s", self.formatted()),
                7 => ("%r", self.buffer()),
                _ => ("%p", self.int(2)),
            };
            format.push_str(conversion);
            format.push(' ');
            values.push(value);
        }
        let template = format!("  printf(\"{format}\\n\"{});\n", ", ¤".repeat(values.len()));
        Node::new(Kind::Statement, &template, values)
    }

    pub(super) fn buffer(&mut self) -> Node {
        let Some(pointer) = self.pointer() else { return Node::leaf(Kind::Other, "buf(curtask, 16)") };
        let length = self.random.pick(&["1", "16", "100", "pid"]);
        Node::leaf(Kind::Other, format!("buf({pointer}, {length})"))
    }

    /// Values that print as text and are not strings.
    fn formatted(&mut self) -> Node {
        let with_number = [
            "ksym(¤)",
            "usym(¤)",
            "ntop((uint32)¤)",
            "strftime(\"%H:%M:%S\", ¤)",
            "strerror(¤)",
            "signal_name(¤)",
            "syscall_name(¤)",
            "cgroup_path(¤)",
        ];
        let alone =
            ["kstack", "ustack", "kstack(2)", "ustack(perf, 3)", "username", "kstack(raw)", "macaddr(curtask.comm)"];
        if self.random.once_in(2) {
            let value = self.int(2);
            return Node::new(Kind::Other, self.random.pick(&with_number), vec![value]);
        }
        Node::leaf(Kind::Other, self.random.pick(&alone))
    }

    pub(super) fn other_report(&mut self) -> Node {
        match self.random.below(12) {
            9 => Node::new(Kind::Statement, "  warnf(\"%s\\n\", ¤);\n", vec![self.string(2)]),
            10 => Node::leaf(Kind::Statement, "  signal(\"SIGUSR1\");\n"),
            11 => match self.probe.lists.first() {
                None => Node::leaf(Kind::Statement, "  print(1);\n"),
                Some(list) => Node::leaf(Kind::Statement, format!("  join({list});\n")),
            },
            0 => Node::leaf(Kind::Statement, "  time(\"%H\\n\");\n"),
            1 => Node::new(Kind::Statement, "  print(¤);\n", vec![self.formatted()]),
            2 => Node::new(Kind::Statement, "  print(¤);\n", vec![self.int(3)]),
            3 => {
                let shape = Shape::Tuple(vec![Shape::Int, Shape::Str]);
                Node::new(Kind::Statement, "  print(¤);\n", vec![self.value(&shape, 3)])
            }
            4 => Node::new(Kind::Statement, "  cat(\"/proc/%d/stat\", ¤);\n", vec![self.int(1)]),
            5 => Node::new(Kind::Statement, "  errorf(\"%d\\n\", ¤);\n", vec![self.int(2)]),
            6 => Node::new(Kind::Statement, "  assert(¤, \"why\");\n", vec![self.condition(2)]),
            7 => Node::new(Kind::Statement, "  system(\"echo %d %s\", ¤, ¤);\n", vec![self.int(1), self.string(1)]),
            _ => Node::new(Kind::Statement, "  print(¤);\n", vec![self.string(3)]),
        }
    }
}
