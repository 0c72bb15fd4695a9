//! Hash indexes from names to types and enumerators: one `u32` per bucket and per entry.

use super::Btf;
use super::types::{TypeId, kind};

/// No further entry in a chain.
const NONE: u32 = u32::MAX;

/// Which kinds share a C name space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Struct,
    Union,
    Enum,
    Typedef,
    Func,
    Int,
    Var,
}

impl Space {
    pub(super) const fn of(kind: u8) -> Option<Self> {
        Some(match kind {
            kind::STRUCT => Self::Struct,
            kind::UNION => Self::Union,
            kind::ENUM | kind::ENUM64 => Self::Enum,
            kind::TYPEDEF => Self::Typedef,
            kind::FUNC => Self::Func,
            kind::INT | kind::FLOAT => Self::Int,
            kind::VAR => Self::Var,
            _ => return None,
        })
    }
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |h, b| (h ^ u32::from(*b)).wrapping_mul(0x0100_0193))
}

/// Chains of entry numbers by hash.
struct Chains {
    heads: Vec<u32>,
    next: Vec<u32>,
}

impl Chains {
    fn new(entries: usize) -> Self {
        let buckets = entries.max(16).next_power_of_two();
        Self { heads: vec![NONE; buckets], next: vec![NONE; entries] }
    }

    fn bucket(&self, key: u32) -> usize {
        (key ^ key >> 15) as usize & (self.heads.len() - 1)
    }

    /// Puts an entry at the front of its chain: insert in reverse for ascending chains.
    fn insert(&mut self, entry: u32, key: u32) {
        let bucket = self.bucket(key);
        if let (Some(head), Some(next)) = (self.heads.get_mut(bucket), self.next.get_mut(entry as usize)) {
            *next = *head;
            *head = entry;
        }
    }

    fn find(&self, key: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.heads.get(self.bucket(key)).copied().unwrap_or(NONE);
        std::iter::successors((first != NONE).then_some(first), |e| {
            self.next.get(*e as usize).copied().filter(|n| *n != NONE)
        })
    }
}

/// Names of one BTF's own types.
pub(super) struct NameIndex(Chains);

impl NameIndex {
    fn build(btf: &Btf) -> Self {
        let mut chains = Chains::new(btf.offsets.len());
        for entry in (0..btf.offsets.len() as u32).rev() {
            let Some(raw) = btf.raw(TypeId(btf.first_id + entry)) else { continue };
            if raw.name != 0 && Space::of(raw.kind).is_some() {
                chains.insert(entry, hash(btf.any_string(raw.name)));
            }
        }
        Self(chains)
    }
}

/// Enumerators of one BTF's own enums: (type id, position).
pub(super) struct EnumeratorIndex {
    chains: Chains,
    entries: Vec<(u32, u32)>,
}

impl EnumeratorIndex {
    fn build(btf: &Btf) -> Self {
        let mut entries = Vec::new();
        for id in btf.own_ids() {
            let Some(raw) = btf.raw(id) else { continue };
            if matches!(raw.kind, kind::ENUM | kind::ENUM64) {
                entries.extend((0..raw.count).map(|n| (id.0, n)));
            }
        }
        let mut chains = Chains::new(entries.len());
        for (entry, (id, position)) in entries.iter().enumerate().rev() {
            let name = btf.enumerator_name_offset(TypeId(*id), *position);
            chains.insert(entry as u32, hash(btf.any_string(name)));
        }
        Self { chains, entries }
    }
}

impl Btf {
    /// Bytes of a string here or in the base.
    fn any_string(&self, offset: u32) -> &[u8] {
        if offset < self.first_string {
            return self.base.as_ref().map_or(&[], |b| b.any_string(offset));
        }
        self.string_bytes(offset)
    }

    fn enumerator_name_offset(&self, id: TypeId, position: u32) -> u32 {
        self.raw(id).map_or(0, |raw| {
            let each = if raw.kind == kind::ENUM64 { 12 } else { 8 };
            self.word(raw.rest + position as usize * each)
        })
    }

    /// Types of this name and name space: own ones first, then the base's, each in order of id.
    pub(super) fn named<'a>(&'a self, name: &'a str, space: Space) -> impl Iterator<Item = TypeId> + 'a {
        let mut layers = vec![self];
        while let Some(base) = layers.last().and_then(|b| b.base.as_deref()) {
            layers.push(base);
        }
        let key = hash(name.as_bytes());
        layers.into_iter().flat_map(move |btf| {
            let index = btf.names.get_or_init(|| NameIndex::build(btf));
            index.0.find(key).map(|entry| TypeId(btf.first_id + entry)).filter(move |id| {
                btf.raw(*id).is_some_and(|raw| {
                    Space::of(raw.kind) == Some(space) && btf.any_string(raw.name) == name.as_bytes()
                })
            })
        })
    }

    /// The first enumerator of this name: its enum and position.
    pub(super) fn enumerator_position(&self, name: &str) -> Option<(TypeId, u32)> {
        let index = self.enumerators.get_or_init(|| EnumeratorIndex::build(self));
        let own = index.chains.find(hash(name.as_bytes())).find_map(|entry| {
            let (id, position) = *index.entries.get(entry as usize)?;
            let offset = self.enumerator_name_offset(TypeId(id), position);
            (self.any_string(offset) == name.as_bytes()).then_some((TypeId(id), position))
        });
        own.or_else(|| self.base.as_ref()?.enumerator_position(name))
    }
}
