//! Cuts a small BTF out of a large one, for fixtures: the named types and everything that they need,
//! with pointers to further structs left as declarations.

use std::collections::{HashMap, HashSet, VecDeque};

use super::Btf;
use super::types::{BtfType, TypeId, kind};

/// Names that a subset starts from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Structs, complete.
    pub structs: &'a [&'a str],
    /// Enums.
    pub enums: &'a [&'a str],
    /// Typedefs, with what they stand for.
    pub typedefs: &'a [&'a str],
    /// Functions, with their prototypes.
    pub functions: &'a [&'a str],
    /// Enums that declare these enumerators.
    pub enumerators: &'a [&'a str],
}

/// The types being copied.
struct Copy<'a> {
    from: &'a Btf,
    numbers: HashMap<u32, u32>,
    queue: VecDeque<u32>,
    /// Structs to copy whole; others behind pointers become declarations.
    whole: HashSet<u32>,
    strings: Vec<u8>,
    offsets: HashMap<String, u32>,
}

/// A BTF file with the wanted types. Names that do not exist are left out.
#[must_use]
pub fn subset(from: &Btf, wanted: &Wanted<'_>) -> Vec<u8> {
    let structs = wanted.structs.iter().filter_map(|n| from.find_struct(n));
    let roots: Vec<u32> = structs.map(|id| id.0).collect();
    let whole = with_embedded(from, &roots);
    let mut copy = Copy {
        from,
        numbers: HashMap::new(),
        queue: VecDeque::new(),
        whole,
        strings: vec![0],
        offsets: HashMap::new(),
    };
    let enums = wanted.enums.iter().filter_map(|n| from.find_enum(n));
    let typedefs = wanted.typedefs.iter().filter_map(|n| from.find_typedef(n));
    let functions = wanted.functions.iter().filter_map(|n| from.func(n)).map(|f| f.id);
    let enumerators = wanted.enumerators.iter().filter_map(|n| from.enumerator(n)).map(|(id, _)| id);
    let roots: Vec<u32> =
        roots.into_iter().chain(enums.chain(typedefs).chain(functions).chain(enumerators).map(|id| id.0)).collect();
    for id in roots {
        copy.number(id);
    }
    let mut types = Vec::new();
    while let Some(id) = copy.queue.pop_front() {
        copy.write(id, &mut types);
    }
    let header = [24, 0, types.len() as u32, types.len() as u32, copy.strings.len() as u32];
    let mut bytes = [&0xeb9f_u16.to_ne_bytes()[..], &[1, 0]].concat();
    bytes.extend(header.iter().flat_map(|w| w.to_ne_bytes()));
    bytes.extend(types);
    bytes.extend(copy.strings);
    bytes
}

impl Copy<'_> {
    /// The new number of a type, which is queued the first time.
    fn number(&mut self, id: u32) -> u32 {
        if id == 0 {
            return 0;
        }
        let next = self.numbers.len() as u32 + 1;
        *self.numbers.entry(id).or_insert_with(|| {
            self.queue.push_back(id);
            next
        })
    }

    fn string(&mut self, offset: u32) -> u32 {
        let text = self.from.string(offset).to_owned();
        if text.is_empty() {
            return 0;
        }
        let strings = &mut self.strings;
        *self.offsets.entry(text).or_insert_with_key(|text| {
            let at = strings.len() as u32;
            strings.extend(text.as_bytes());
            strings.push(0);
            at
        })
    }

    fn write(&mut self, id: u32, out: &mut Vec<u8>) {
        let Some(raw) = self.from.raw(TypeId(id)) else { return };
        let name = self.string(raw.name);
        let mut put = |word: u32| out.extend(word.to_ne_bytes());
        let info = u32::from(raw.kind) << 24 | u32::from(raw.flag) << 31 | raw.count;
        let composite = matches!(raw.kind, kind::STRUCT | kind::UNION);
        // A named struct that nobody asked for: enough to know its name.
        if composite && name != 0 && !self.whole.contains(&id) {
            put(name);
            put(u32::from(kind::FWD) << 24 | u32::from(raw.kind == kind::UNION) << 31);
            put(0);
            return;
        }
        let word = |n: usize| self.from.word(raw.rest + n * 4);
        // (words that are strings, words that are types) of what follows, per item.
        let (items, size, strings, types): (usize, usize, &[usize], &[usize]) = match raw.kind {
            kind::INT | kind::VAR | kind::DECL_TAG => (1, 1, &[], &[]),
            kind::ARRAY => (1, 3, &[], &[0, 1]),
            kind::STRUCT | kind::UNION => (raw.count as usize, 3, &[0], &[1]),
            kind::ENUM => (raw.count as usize, 2, &[0], &[]),
            kind::ENUM64 => (raw.count as usize, 3, &[0], &[]),
            kind::FUNC_PROTO => (raw.count as usize, 2, &[0], &[1]),
            _ => (0, 0, &[], &[]),
        };
        let words: Vec<u32> = (0..items * size).map(word).collect();
        let sized = matches!(raw.kind, kind::INT | kind::FLOAT | kind::ENUM | kind::ENUM64 | kind::ARRAY) || composite;
        let value = if sized { raw.value } else { self.number(raw.value) };
        let mut rest = Vec::with_capacity(words.len());
        for (n, word) in words.into_iter().enumerate() {
            rest.push(if strings.contains(&(n % size)) {
                self.string(word)
            } else if types.contains(&(n % size)) {
                self.number(word)
            } else {
                word
            });
        }
        put(name);
        put(info);
        put(value);
        rest.into_iter().for_each(put);
    }
}

/// These structs and all that lie inside them: those are needed whole, for their sizes; behind a
/// pointer a name will do.
fn with_embedded(from: &Btf, roots: &[u32]) -> HashSet<u32> {
    let mut whole = HashSet::new();
    let mut queue: Vec<u32> = roots.to_vec();
    while let Some(id) = queue.pop() {
        let mut at = from.resolve(TypeId(id));
        while let BtfType::Array(of, _) = from.ty(at) {
            at = from.resolve(of);
        }
        if matches!(from.ty(at), BtfType::Struct(_) | BtfType::Union(_)) && whole.insert(at.0) {
            queue.extend(from.members(at).map(|m| m.ty.0));
        }
    }
    whole
}
