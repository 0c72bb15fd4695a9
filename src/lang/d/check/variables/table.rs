//! What is known of a program's variables.

use std::collections::HashMap;
use std::sync::Arc;

use crate::lang::d::ast;
use crate::lang::d::check::address_keys::AddressKeys;
use crate::lang::typed::MapId;
use crate::lang::types::Type;

/// Which variables share their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    Global,
    Thread,
    Clause,
}

/// A variable that is kept in a map.
#[derive(Clone, Debug)]
pub struct Variable {
    pub map: MapId,
    pub ty: Type,
    /// Types of the keys of an associative array.
    pub keys: Vec<Type>,
    pub indexed: bool,
}

/// What an aggregation was used as.
#[derive(Clone, Debug)]
pub struct Aggregate {
    pub map: MapId,
    pub function: &'static str,
    pub keys: Vec<Type>,
    /// The constant arguments of lquantize and llquantize.
    pub arguments: Vec<i64>,
    /// Only clauses of absent probes have it so far: what its keys are is a guess, and it stays empty.
    pub guessed: bool,
}

/// All variables of a program.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    pub known: HashMap<(Scope, Arc<str>), Variable>,
    /// Declared clause-local variables: each program has its own.
    pub declared_this: HashMap<Arc<str>, Type>,
    pub aggregates: HashMap<Arc<str>, Aggregate>,
    pub functions: std::collections::HashSet<Arc<str>>,
    /// Which keys of aggregations are printed as addresses.
    pub address_keys: AddressKeys,
}

/// A definition that is put in where its name stands.
#[derive(Clone, Debug)]
pub struct Inline {
    pub ty: Type,
    pub keys: Vec<(Arc<str>, Type)>,
    pub value: ast::Expr,
}
