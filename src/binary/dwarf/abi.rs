//! Where parameters are when a function is entered.
//!
//! System V Application Binary Interface, AMD64 Architecture Processor Supplement, 3.2.3 "Parameter
//! Passing"; Procedure Call Standard for the Arm 64-bit Architecture, 6.8. Rust passes values of more
//! than two words by their address.

use gimli::DwLang;

use super::error::DwarfError;
use super::functions::ParameterPlace;
use super::passing;
use super::state::{Budget, State};
use super::types::{DwarfType, TypeId, Types};

/// Integer registers for parameters.
const INTEGER_REGISTERS: u8 = if cfg!(target_arch = "aarch64") { 8 } else { 6 };
/// Vector registers for parameters.
const VECTOR_REGISTERS: u8 = 8;
/// Most fields of a small struct that are looked at.
const MOST_FIELDS: u32 = 256;
/// Deepest nesting of structs in a small struct.
const MOST_DEPTH: u32 = 8;

const ON_STACK: &str = "is passed on the stack";
const BY_VALUE: &str = "is a struct passed by value";
const FLOATING: &str = "is a floating-point number, which is in a vector register";
const WIDE: &str = "has 16 bytes, in two registers";
const GO: &str = "is passed as Go passes arguments";
const UNKNOWN: &str = "has a type that is not understood";

/// How a value is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// One integer register.
    Integer,
    /// One vector register (or the x87 stack's memory when `false`).
    Vector(bool),
    /// In so many integer and vector registers, not readable as one value.
    Split { integers: u8, vectors: u8, reason: &'static str },
    /// On the stack.
    Memory,
    /// By address, in one integer register.
    Reference,
    /// Nothing: an empty struct.
    Nothing,
}

/// The place of each parameter.
pub fn places(
    state: &mut State,
    types: &mut Types,
    language: Option<DwLang>,
    result: Option<TypeId>,
    parameters: &[Option<TypeId>],
    budget: &mut Budget,
) -> Result<Vec<ParameterPlace>, DwarfError> {
    if language == Some(gimli::DW_LANG_Go) {
        return Ok(vec![ParameterPlace::Elsewhere(GO); parameters.len()]);
    }
    let rust = language == Some(gimli::DW_LANG_Rust);
    let (mut integers, mut vectors) = (0_u8, 0_u8);
    if let Some(result) = result
        && matches!(classify(state, types, result, rust, budget)?, Class::Memory | Class::Reference)
        && !cfg!(target_arch = "aarch64")
        && is_aggregate(state, types, result, budget)?
    {
        // The caller gives the address of the result as a first, hidden argument.
        integers = 1;
    }
    let mut list = Vec::new();
    for parameter in parameters {
        let class = match parameter {
            Some(ty) => classify(state, types, *ty, rust, budget)?,
            None => Class::Split { integers: 0, vectors: 0, reason: UNKNOWN },
        };
        list.push(place(class, &mut integers, &mut vectors));
    }
    Ok(list)
}

fn place(class: Class, integers: &mut u8, vectors: &mut u8) -> ParameterPlace {
    let (wanted_integers, wanted_vectors) = match class {
        Class::Integer | Class::Reference => (1, 0),
        Class::Vector(true) => (0, 1),
        Class::Split { integers, vectors, .. } => (integers, vectors),
        Class::Vector(false) | Class::Memory | Class::Nothing => (0, 0),
    };
    if *integers + wanted_integers > INTEGER_REGISTERS || *vectors + wanted_vectors > VECTOR_REGISTERS {
        return ParameterPlace::Elsewhere(ON_STACK);
    }
    let register = *integers;
    *integers += wanted_integers;
    *vectors += wanted_vectors;
    match class {
        Class::Integer => ParameterPlace::Register(register),
        Class::Reference => ParameterPlace::Reference(register),
        Class::Vector(_) => ParameterPlace::Elsewhere(FLOATING),
        Class::Split { reason, .. } => ParameterPlace::Elsewhere(reason),
        Class::Memory => ParameterPlace::Elsewhere(ON_STACK),
        Class::Nothing => ParameterPlace::Elsewhere(BY_VALUE),
    }
}

fn is_aggregate(state: &mut State, types: &mut Types, ty: TypeId, budget: &mut Budget) -> Result<bool, DwarfError> {
    Ok(matches!(types.describe(state, ty, budget)?, DwarfType::Struct { .. } | DwarfType::Array(..)))
}

fn classify(
    state: &mut State,
    types: &mut Types,
    ty: TypeId,
    rust: bool,
    budget: &mut Budget,
) -> Result<Class, DwarfError> {
    Ok(match types.describe(state, ty, budget)? {
        DwarfType::Int { size: 16, .. } => Class::Split { integers: 2, vectors: 0, reason: WIDE },
        DwarfType::Int { .. } | DwarfType::Enum { .. } | DwarfType::Pointer(_) => Class::Integer,
        // `long double` has ten bytes in sixteen and goes through memory.
        DwarfType::Float(size) => Class::Vector(size <= 8 || cfg!(target_arch = "aarch64")),
        // C passes arrays as pointers; a language that has arrays as values treats them as structs.
        DwarfType::Struct { .. } | DwarfType::Array(..) => {
            if passing::by_reference(state, types, ty, budget)? {
                return Ok(Class::Reference);
            }
            let size = types.size(state, ty, budget)?;
            match size {
                0 => Class::Nothing,
                1..=16 => small(state, types, ty, budget)?,
                _ if rust || cfg!(target_arch = "aarch64") => Class::Reference,
                _ => Class::Memory,
            }
        }
        DwarfType::Void => Class::Split { integers: 1, vectors: 0, reason: UNKNOWN },
    })
}

/// A struct of at most two words: each word in an integer register, or in a vector register when it
/// holds only floating-point numbers.
fn small(state: &mut State, types: &mut Types, ty: TypeId, budget: &mut Budget) -> Result<Class, DwarfError> {
    let mut words = [None; 2];
    let mut steps = MOST_FIELDS;
    if !fill(state, types, ty, 0, &mut words, &mut steps, MOST_DEPTH, budget)? {
        return Ok(Class::Memory);
    }
    let count = |wanted: bool| words.iter().filter(|w| **w == Some(wanted)).count() as u8;
    Ok(Class::Split { integers: count(true), vectors: count(false), reason: BY_VALUE })
}

/// Notes for each word whether an integer lies in it; false when a field goes through memory.
#[expect(clippy::too_many_arguments, reason = "a walk and what it carries along")]
fn fill(
    state: &mut State,
    types: &mut Types,
    ty: TypeId,
    offset: u64,
    words: &mut [Option<bool>; 2],
    steps: &mut u32,
    depth: u32,
    budget: &mut Budget,
) -> Result<bool, DwarfError> {
    let Some(left) = steps.checked_sub(1).filter(|_| depth > 0) else { return Ok(false) };
    *steps = left;
    match types.describe(state, ty, budget)? {
        DwarfType::Struct { .. } => {
            for member in types.members(state, ty, budget)? {
                let at = offset + u64::from(member.bit_offset / 8);
                if !fill(state, types, member.ty, at, words, steps, depth - 1, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        DwarfType::Array(of, len) => {
            let each = types.size(state, of, budget)?.max(1);
            for n in 0..u64::from(len).min(16) {
                if !fill(state, types, of, offset + n * each, words, steps, depth - 1, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        DwarfType::Float(size) if size > 8 => Ok(false),
        kind => {
            if let Some(word) = words.get_mut((offset / 8) as usize) {
                *word = Some(*word == Some(true) || !matches!(kind, DwarfType::Float(_)));
            }
            Ok(true)
        }
    }
}
