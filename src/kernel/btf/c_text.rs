//! Types as C text, for `list -v` and the browser.

use std::fmt::Write;

use super::Btf;
use super::types::{BtfType, TypeId};

/// Deepest nesting that is written out.
const MAX_DEPTH: u32 = 12;
/// Most parameters of a function pointer that are written out; deeper pointers get fewer levels.
const MAX_PARAMETERS: usize = 24;
/// Longest definition that is written, bytes.
const MAX_TEXT: usize = 1 << 20;

impl Btf {
    /// A declaration of `name` with this type: `struct file * file`, `char comm[16]`. With an empty
    /// name the type alone. Pointers are written with spaces around the star, as tracefs does.
    pub fn declaration(&self, id: TypeId, name: &str) -> String {
        self.declare(id, name.to_owned(), MAX_DEPTH)
    }

    fn declare(&self, id: TypeId, name: String, depth: u32) -> String {
        let Some(depth) = depth.checked_sub(1) else { return join("...", &name) };
        match self.ty(id) {
            BtfType::Void => join("void", &name),
            BtfType::Ptr(to) => self.declare_pointer(to, &name, depth),
            BtfType::Array(of, len) => {
                let inner = if name.starts_with('*') { format!("({name})[{len}]") } else { format!("{name}[{len}]") };
                self.declare(of, inner, depth)
            }
            BtfType::Const(to) => match self.ty(to) {
                BtfType::Ptr(_) => self.declare(to, join("const", &name), depth),
                _ => format!("const {}", self.declare(to, name, depth)),
            },
            BtfType::Volatile(to) => format!("volatile {}", self.declare(to, name, depth)),
            BtfType::Restrict(to) | BtfType::TypeTag(_, to) => self.declare(to, name, depth),
            BtfType::FuncProto(ret, _) => {
                let parameters = self.parameters(id, depth);
                let inner = if name.starts_with('*') { format!("({name})") } else { name };
                self.declare(ret, format!("{inner}({parameters})"), depth)
            }
            _ => join(&self.base_text(id), &name),
        }
    }

    fn declare_pointer(&self, to: TypeId, name: &str, depth: u32) -> String {
        let target = self.ty(to);
        if matches!(target, BtfType::FuncProto(..) | BtfType::Array(..)) {
            return self.declare(to, format!("*{name}"), depth);
        }
        let star = if name.is_empty() { "*".to_owned() } else { format!("* {name}") };
        let star = if name.starts_with('*') { format!("*{name}") } else { star };
        self.declare(to, star, depth)
    }

    fn parameters(&self, proto: TypeId, depth: u32) -> String {
        let Some(proto) = self.prototype(proto) else { return String::new() };
        let mut texts: Vec<_> = proto
            .params
            .iter()
            .take(MAX_PARAMETERS)
            .map(|p| self.declare(p.ty, p.name.to_owned(), depth / 3))
            .collect();
        if proto.variadic {
            texts.push("...".into());
        }
        if texts.is_empty() { "void".into() } else { texts.join(", ") }
    }

    fn base_text(&self, id: TypeId) -> String {
        let tagged = |word: &str, name: &str| match name {
            "" => format!("{word} (anonymous)"),
            _ => format!("{word} {name}"),
        };
        match self.ty(id) {
            BtfType::Int(int) if int.boolean => "bool".into(),
            BtfType::Int(int) => int.name.to_owned(),
            BtfType::Float(name, _) | BtfType::Typedef(name, _) | BtfType::Func(name, _) => name.to_owned(),
            BtfType::Struct(c) => tagged("struct", c.name),
            BtfType::Union(c) => tagged("union", c.name),
            BtfType::Enum(e) => tagged("enum", e.name),
            BtfType::Forward(name, union) => tagged(if union { "union" } else { "struct" }, name),
            _ => "void".into(),
        }
    }

    /// The definition of a struct, union or enum as C text, nested anonymous ones written out.
    pub fn definition(&self, id: TypeId) -> Option<String> {
        let id = self.resolve(id);
        let mut text = String::new();
        match self.ty(id) {
            BtfType::Struct(_) | BtfType::Union(_) => self.define_members(&mut text, id, 0),
            BtfType::Enum(e) => {
                let _ = writeln!(text, "enum {} {{", e.name);
                for value in self.enumerators(id) {
                    let _ = writeln!(text, "\t{} = {},", value.name, value.value);
                }
                text.push('}');
            }
            _ => return None,
        }
        text.push_str(";\n");
        Some(text)
    }

    fn define_members(&self, text: &mut String, id: TypeId, depth: u32) {
        let (BtfType::Struct(composite) | BtfType::Union(composite)) = self.ty(id) else { return };
        let word = if composite.union { "union" } else { "struct" };
        let _ = write!(text, "{word} {}", composite.name);
        text.push_str(if composite.name.is_empty() { "{\n" } else { " {\n" });
        let indent = "\t".repeat(depth as usize + 1);
        for member in self.members(id) {
            if text.len() > MAX_TEXT {
                break;
            }
            text.push_str(&indent);
            let anonymous = matches!(self.ty(member.ty), BtfType::Struct(c) | BtfType::Union(c) if c.name.is_empty());
            if anonymous && depth < MAX_DEPTH {
                self.define_members(text, member.ty, depth + 1);
                let space = if member.name.is_empty() { "" } else { " " };
                let _ = write!(text, "{space}{}", member.name);
            } else {
                text.push_str(&tight(&self.declaration(member.ty, member.name)));
            }
            if member.bits != 0 {
                let _ = write!(text, ":{}", member.bits);
            }
            text.push_str(";\n");
        }
        text.push_str(&"\t".repeat(depth as usize));
        text.push('}');
    }
}

/// `struct list_head * next` as C programmers write it: `struct list_head *next`.
fn tight(declaration: &str) -> String {
    declaration.replace("* ", "*")
}

fn join(left: &str, right: &str) -> String {
    if right.is_empty() { left.to_owned() } else { format!("{left} {right}") }
}
