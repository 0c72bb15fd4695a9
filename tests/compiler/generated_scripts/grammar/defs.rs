//! Definitions in C, and what casts to them read.

use super::Writer;
use crate::generated_scripts::tree::{Kind, Node};

/// Definitions at the start of a script.
pub const DEFINITIONS: &str = "#define LIMIT 7
#define TWICE (LIMIT * 2)
enum colour { RED, GREEN = 5, BLUE };
struct inner { unsigned short a; char name[12]; };
struct own {
  int number;
  unsigned int low : 3, high : 13;
  char text[20];
  struct inner list[4];
  union { unsigned long whole; unsigned char bytes[8]; };
  struct own *next;
  long wide[3];
};
";

const INTEGERS: &[&str] = &[
    "¤.number",
    "¤.low",
    "¤.high",
    "¤.list[2].a",
    "¤.list[§ & 3].a",
    "¤.whole",
    "¤.bytes[5]",
    "¤.bytes[§ & 7]",
    "¤.next.number",
    "¤.next.next.list[1].a",
    "¤.wide[§ % 3]",
    "¤.text[3]",
];
const STRINGS: &[&str] =
    &["¤.text", "¤.list[1].name", "¤.list[§ & 3].name", "str(¤.text, 3)", "¤.next.text", "str(¤.next.list[0].name)"];

impl Writer {
    fn own_pointer(&mut self) -> String {
        let place = self.pointer().unwrap_or_else(|| "curtask".into());
        match self.random.below(3) {
            0 => format!("((struct own *){place})"),
            1 => format!("(*(struct own *){place})"),
            _ => format!("((struct own *)({place} + 16))"),
        }
    }

    pub(super) fn own_int(&mut self, depth: u32) -> Node {
        if !self.has_definitions || self.random.once_in(5) {
            return Node::leaf(Kind::Int, if self.has_definitions { "(TWICE + GREEN)" } else { "sizeof(uint16)" });
        }
        let (pointer, field) = (self.own_pointer(), self.random.pick(INTEGERS));
        let text = field.replace('¤', &pointer);
        let children = (0..text.matches('§').count()).map(|_| self.int(depth)).collect();
        Node::new(Kind::Int, &format!("({})", text.replace('§', "¤")), children)
    }

    pub(super) fn own_text(&mut self, depth: u32) -> Node {
        if !self.has_definitions {
            return self.structure_text(depth);
        }
        let (pointer, field) = (self.own_pointer(), self.random.pick(STRINGS));
        let text = field.replace('¤', &pointer);
        let children = (0..text.matches('§').count()).map(|_| self.int(depth)).collect();
        Node::new(Kind::Str, &text.replace('§', "¤"), children)
    }
}
