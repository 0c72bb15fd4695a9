//! The table of a script's maps, and what is known of each so far.

use std::collections::HashMap;
use std::sync::Arc;

use crate::lang::source::Span;
use crate::lang::typed::{Config, Map, MapId, MapStorage};
use crate::lang::types::{Aggregation, Type};

use crate::lang::bt::check::join::{promote, unknown};
use crate::lang::bt::check::suggest;

/// All maps of a script.
#[derive(Default)]
pub struct Maps {
    states: Vec<MapState>,
    by_name: HashMap<Arc<str>, MapId>,
}

/// What is known of one map.
pub struct MapState {
    /// With its `@`.
    pub name: Arc<str>,
    /// Joined key type; `None` until a use tells whether there is a key, `Void` for none.
    pub key: Option<Type>,
    /// Joined value type; `Error` while unknown.
    pub value: Type,
    /// Where the key was first seen.
    pub key_span: Span,
    /// Where the value was first seen.
    pub value_span: Span,
    /// First use.
    pub span: Span,
    /// Declared storage.
    pub storage: MapStorage,
    /// Declared capacity.
    pub capacity: Option<u32>,
    /// It has a declaration, here.
    pub declared: Option<Span>,
    /// The script uses it beyond its declaration.
    pub used: bool,
    /// The script writes it.
    pub written: bool,
    /// The script reads its value, and what that is nothing has told yet.
    pub asked: bool,
    /// The script counts it up or down, which makes 8 bytes of it for bpftrace.
    pub stepped: bool,
    /// It is a number because nothing tells what else it is.
    pub guessed: bool,
    /// The script writes a key behind its name somewhere.
    pub indexed: bool,
}

impl Maps {
    /// Begins a pass over the script: what the last one found is not known.
    pub fn start_pass(&mut self) {
        for map in &mut self.states {
            map.used = false;
            map.written = false;
            map.asked = false;
        }
    }

    /// Makes numbers of the maps that are read while nothing tells what they hold: `@n = @n + 1` says
    /// so of itself only, and a map that nothing writes reads as zero. True when there was one.
    pub fn guess_numbers(&mut self) -> bool {
        let mut any = false;
        for map in self.states.iter_mut().filter(|m| m.asked && m.value == Type::Error) {
            map.value = Type::I64;
            map.guessed = true;
            any = true;
        }
        any
    }

    /// Maps that are read and of which nothing tells all of the type: `@a = (@a, 1)`.
    pub fn unsettled(&self) -> Vec<(MapId, Span)> {
        let open = |(_, map): &(usize, &MapState)| map.asked && unknown(&map.value);
        self.states.iter().enumerate().filter(open).map(|(i, map)| (MapId(i as u32), map.span)).collect()
    }

    /// The map of this name, made where it is new.
    pub fn id(&mut self, name: &Arc<str>, span: Span) -> MapId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = MapId(self.states.len() as u32);
        self.by_name.insert(name.clone(), id);
        self.states.push(MapState {
            name: name.clone(),
            key: None,
            value: Type::Error,
            key_span: span,
            value_span: span,
            span,
            storage: MapStorage::Auto,
            capacity: None,
            declared: None,
            used: false,
            written: false,
            asked: false,
            stepped: false,
            guessed: false,
            indexed: false,
        });
        id
    }

    pub fn get(&self, id: MapId) -> &MapState {
        &self.states[id.0 as usize]
    }

    /// A map's state, to change.
    pub fn get_mut(&mut self, id: MapId) -> &mut MapState {
        &mut self.states[id.0 as usize]
    }

    pub fn all(&self) -> &[MapState] {
        &self.states
    }

    /// The typed maps.
    pub fn finish(&self, config: &Config) -> Vec<Map> {
        self.states
            .iter()
            .map(|m| {
                let key = m.key.as_ref().map_or(Type::Void, |key| known(promote(key)));
                let scalar = key == Type::Void;
                Map {
                    name: m.name.clone(),
                    value: known(promote(&m.value)),
                    max_entries: if scalar { 1 } else { m.capacity.unwrap_or(config.max_map_keys) },
                    storage: m.storage,
                    span: m.span,
                    key,
                }
            })
            .collect()
    }
}

/// What nothing told the type of is a number: only probes that this kernel lacks use it.
fn known(ty: Type) -> Type {
    match ty {
        Type::Error => Type::I64,
        Type::Tuple(items) => Type::Tuple(items.iter().cloned().map(known).collect()),
        Type::Record(items) => Type::Record(items.iter().map(|(n, t)| (n.clone(), known(t.clone()))).collect()),
        other => other,
    }
}

/// The number that an aggregation reads as, where it is one.
pub fn reduction(agg: Aggregation) -> Option<Type> {
    let by_sign = |signed: bool| if signed { Type::I64 } else { Type::U64 };
    match agg {
        Aggregation::Count => Some(Type::U64),
        Aggregation::Sum { signed }
        | Aggregation::Min { signed }
        | Aggregation::Max { signed }
        | Aggregation::Avg { signed } => Some(by_sign(signed)),
        Aggregation::Stats { .. }
        | Aggregation::Hist { .. }
        | Aggregation::LHist { .. }
        | Aggregation::LogLinear(_)
        | Aggregation::Quantize
        | Aggregation::StdDev
        | Aggregation::TSeries { .. } => None,
    }
}

impl Maps {
    /// The map of a name, marked as used.
    pub fn map_id(&mut self, name: &Arc<str>, span: Span) -> MapId {
        let id = self.id(name, span);
        self.get_mut(id).used = true;
        id
    }

    /// A map's value type as stored: `Error` while unknown.
    pub fn map_value_type(&self, id: MapId) -> Type {
        promote(&self.get(id).value)
    }

    /// Whether a map has keys, as far as uses of it tell so far, or else their syntax.
    pub fn is_keyed(&self, id: MapId) -> bool {
        let map = self.get(id);
        map.key.as_ref().map_or(map.indexed, |key| *key != Type::Void)
    }

    /// A map's key type as stored.
    pub fn map_key_type(&self, id: MapId) -> Type {
        self.get(id).key.as_ref().map_or(Type::Error, promote)
    }

    /// What to do about a map that nothing writes.
    pub fn written_map_help(&self, name: &str) -> String {
        let known = self.all().iter().filter(|m| m.written && &*m.name != name).map(|m| &*m.name);
        suggest::did_you_mean(name, known).unwrap_or_else(|| format!("assign it somewhere: `{name} = ...;`"))
    }
}
