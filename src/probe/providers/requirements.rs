//! Whether the kernel has what an expression of a row names.

use std::sync::Arc;

use crate::kernel::Kernel;
use crate::kernel::btf::{Btf, BtfType, TypeId};
use crate::probe::point::PointPattern;

/// What the kernel's types tell of members; nothing is known to be missing where there are no types.
#[derive(Clone, Debug, Default)]
pub struct Members {
    btf: Option<Arc<Btf>>,
}

/// An argument of a place and its type.
pub type Parameter = (String, TypeId);

impl Members {
    /// Those of a kernel.
    pub fn of(kernel: &Kernel) -> Self {
        Self { btf: kernel.module_btf("vmlinux").ok() }
    }

    /// The first of some expressions over `R`, a pointer to a `root`, whose members the kernel has; else what is
    /// missing for the last.
    pub fn first(&self, root: &str, texts: &'static [&'static str]) -> Result<&'static str, String> {
        let mut missing = "such thing".to_owned();
        for text in texts {
            match self.follow(text, "R", |btf| btf.find_struct(root).ok_or_else(|| format!("struct {root}"))) {
                Ok(()) => return Ok(text),
                Err(what) => missing = what,
            }
        }
        Err(missing)
    }

    /// Whether the arguments that a text names are there, and their members.
    pub fn meets(&self, text: &str, parameters: Option<&[Parameter]>) -> Result<(), String> {
        for (at, _) in text.match_indices("args.") {
            let rest = text.get(at + 5..).unwrap_or("");
            let name = word(rest);
            let Some(parameters) = parameters else { continue };
            let Some((_, ty)) = parameters.iter().find(|(known, _)| known == name) else {
                return Err(format!("it has no argument {name}"));
            };
            if let Some(btf) = &self.btf {
                chain(btf, *ty, rest.get(name.len()..).unwrap_or("")).map_err(|what| format!("there is no {what}"))?;
            }
        }
        self.follow(text, "curtask", |btf| {
            btf.find_struct("task_struct").ok_or_else(|| "struct task_struct".to_owned())
        })
    }

    fn follow(&self, text: &str, start: &str, root: impl Fn(&Btf) -> Result<TypeId, String>) -> Result<(), String> {
        let Some(btf) = &self.btf else { return Ok(()) };
        for (at, _) in text.match_indices(start) {
            let before = text.get(..at).unwrap_or("").chars().next_back();
            let rest = text.get(at + start.len()..).unwrap_or("");
            if before.is_some_and(in_word) || rest.starts_with(in_word) {
                continue;
            }
            chain(btf, root(btf)?, rest)?;
        }
        Ok(())
    }
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn word(text: &str) -> &str {
    text.get(..text.find(|c: char| !in_word(c)).unwrap_or(text.len())).unwrap_or("")
}

/// Follows `->a.b[0]->c` from a type; what is missing otherwise.
fn chain(btf: &Btf, from: TypeId, text: &str) -> Result<(), String> {
    let mut at = from;
    let mut rest = text;
    loop {
        if let Some(inner) = rest.strip_prefix('[') {
            rest = inner.split_once(']').map_or("", |(_, behind)| behind);
            continue;
        }
        let Some(behind) = rest.strip_prefix("->").or_else(|| rest.strip_prefix('.')) else { return Ok(()) };
        let name = word(behind);
        if name.is_empty() {
            return Ok(());
        }
        rest = behind.get(name.len()..).unwrap_or("");
        let object = pointed(btf, at);
        let Some(member) = btf.member(object, name) else {
            return Err(format!("{}.{name}", btf.name(object)));
        };
        at = member.ty;
    }
}

/// The struct that a type is, points to, or is an array of.
fn pointed(btf: &Btf, mut id: TypeId) -> TypeId {
    for _ in 0..16 {
        id = btf.resolve(id);
        id = match btf.ty(id) {
            BtfType::Ptr(to) | BtfType::TypeTag(_, to) => to,
            BtfType::Array(of, _) => of,
            _ => return id,
        };
    }
    id
}

/// The arguments of a place where the kernel's types tell them.
pub fn parameters(pattern: &PointPattern, kernel: &Kernel) -> Option<Vec<Parameter>> {
    let btf = kernel.btf().ok()?;
    let prototype = match pattern {
        PointPattern::RawTracepoint { event, .. } => btf.raw_tracepoint(event.as_str()),
        PointPattern::Fentry { function, .. } | PointPattern::Kprobe { function, .. } => btf.func(function.as_str()),
        _ => None,
    }?;
    Some(prototype.params.iter().map(|p| (p.name.to_owned(), p.ty)).collect())
}

/// A member's expression with the object put in for `R`.
pub fn with_base(text: &str, base: &str) -> String {
    let mut out = String::with_capacity(text.len() + base.len());
    let mut rest = text;
    while let Some(at) = rest.find('R') {
        let before = rest.get(..at).unwrap_or("");
        let behind = rest.get(at + 1..).unwrap_or("");
        let alone = !before.chars().next_back().or_else(|| out.chars().next_back()).is_some_and(in_word)
            && !behind.starts_with(in_word);
        out.push_str(before);
        out.push_str(if alone { base } else { "R" });
        rest = behind;
    }
    out + rest
}
