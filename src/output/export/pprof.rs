//! Stacks as a profile of pprof (`profile.proto`, packed by gzip).

use std::collections::HashMap;
use std::io::{self, Write as _};

use super::proto::Message;
use crate::model::flame::{FlameTree, FrameKind, ROOT};

/// Strings by number, the empty one first.
struct Strings {
    numbers: HashMap<String, u64>,
    all: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// The profile; parts of the key are frames at the root. What the stacks are of is a comment of it.
///
/// # Errors
/// When it cannot be packed.
pub fn profile(tree: &FlameTree, map: &str, of: Option<&str>) -> io::Result<Vec<u8>> {
    let mut strings = Strings { numbers: HashMap::from([(String::new(), 0)]), all: vec![String::new()] };
    let mut out = Message::default();
    let mut kind = Message::default();
    // Of a map without a name, samples.
    let name = map.trim_start_matches('@');
    kind.number(1, strings.number(if name.is_empty() { "samples" } else { name }));
    kind.number(2, strings.number("count"));
    out.message(1, &kind);
    for (node, value) in tree.ends() {
        let mut path = Vec::new();
        let mut above = Some(node);
        while let Some(at) = above.filter(|n| *n != ROOT) {
            path.push(u64::from(tree.name_id(at)));
            above = tree.parent(at);
        }
        let mut sample = Message::default();
        sample.packed(1, path.into_iter());
        sample.packed(2, std::iter::once(value.min(i64::MAX as u64)));
        out.message(2, &sample);
    }
    let mut mappings: HashMap<u64, u64> = HashMap::new();
    for (id, name) in (0_u64..).zip(tree.names()).skip(1) {
        let object = match (&name.object, name.kind) {
            (Some(object), _) => object.as_ref(),
            (None, FrameKind::Kernel) => "[kernel]",
            _ => "",
        };
        let object = strings.number(object);
        let known = mappings.len() as u64 + 1;
        let mapping = *mappings.entry(object).or_insert(known);
        let mut line = Message::default();
        line.number(1, id);
        let mut location = Message::default();
        location.number(1, id);
        location.number(2, mapping);
        location.message(4, &line);
        out.message(4, &location);
        let text = strings.number(&name.text);
        let mut function = Message::default();
        function.number(1, id);
        function.number(2, text);
        function.number(3, text);
        function.number(4, object);
        out.message(5, &function);
    }
    for (object, id) in mappings {
        let mut mapping = Message::default();
        mapping.number(1, id);
        mapping.number(5, object);
        // Functions are known: pprof need not look for them.
        mapping.number(7, 1);
        out.message(3, &mapping);
    }
    if let Some(of) = of {
        out.number(13, strings.number(of));
    }
    for text in &strings.all {
        out.text(6, text);
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(&out.finish())?;
    packed.finish()
}
