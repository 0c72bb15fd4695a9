//! Debug information (DWARF 2 to 5): parameters and types of functions, source lines.
//!
//! Nothing is read before it is asked for, and then only what the answer needs: one unit for one
//! function, found by `.debug_aranges` or by the units' own ranges. Files may be hostile: every
//! question has a budget of entries and time, nesting is limited, names are made printable.

mod abi;
mod error;
mod functions;
mod lines;
mod locate;
mod passing;
mod state;
mod types;
mod window;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use error::DwarfError;
pub use functions::{Function, Parameter, ParameterPlace};
pub use types::{DwarfMember, DwarfType, Tag, TypeId};

use lines::Wanted;
use state::{Budget, State};
use types::Types;

/// The separate file that holds a binary's debug information, when there is one.
#[must_use]
pub fn debug_file(binary: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    locate::find(binary, roots).ok().map(|file| file.path).filter(|path| path != binary)
}

/// A binary's debug information.
pub struct DebugInfo {
    binary: PathBuf,
    inner: Mutex<(State, Types)>,
}

impl std::fmt::Debug for DebugInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DebugInfo").field("binary", &self.binary).finish_non_exhaustive()
    }
}

type Answer<T> = Result<T, DwarfError>;

impl DebugInfo {
    /// Finds the debug information of a binary, in itself or in a debug file below `roots`. Only
    /// tables of sections are read.
    ///
    /// # Errors
    /// [`DwarfError::Absent`] when there is none.
    pub fn open(binary: &Path, roots: &[PathBuf]) -> Answer<Self> {
        let absent = |looked| DwarfError::Absent { path: binary.to_owned(), looked };
        let file = locate::find(binary, roots).map_err(absent)?;
        let state = State::new(binary, &file);
        Ok(Self { binary: binary.to_owned(), inner: Mutex::new((state, Types::default())) })
    }

    fn lock(&self) -> MutexGuard<'_, (State, Types)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<T>(&self, what: &str, f: impl FnOnce(&mut State, &mut Types, &mut Budget) -> Answer<T>) -> Answer<T> {
        let mut inner = self.lock();
        let (state, types) = &mut *inner;
        f(state, types, &mut Budget::new(what))
    }

    /// The function that begins at an address of the binary; `symbol` is for messages.
    ///
    /// # Errors
    /// When it is not described, or what describes it can't be read.
    pub fn function(&self, address: u64, symbol: &str) -> Answer<Function> {
        let found = self.ask(symbol, |state, types, budget| functions::function(state, types, address, budget))?;
        found.ok_or_else(|| DwarfError::NoFunction { path: self.binary.clone(), function: symbol.to_owned() })
    }

    /// Finds a type by its name, in the units of functions asked for before the others.
    ///
    /// # Errors
    /// When the information can't be read.
    pub fn find_type(&self, tag: Tag, name: &str) -> Answer<Option<TypeId>> {
        self.ask(name, |state, types, budget| types.find(state, tag, name, budget))
    }

    /// The enum that has an enumerator of this name, and its value: in the units of functions asked for.
    ///
    /// # Errors
    /// When the information can't be read.
    pub fn enumerator(&self, name: &str) -> Answer<Option<(TypeId, i64)>> {
        self.ask(name, |state, types, budget| types.enumerator(state, name, budget))
    }

    /// What a type is.
    ///
    /// # Errors
    /// When the information can't be read.
    pub fn describe(&self, id: TypeId) -> Answer<DwarfType> {
        self.ask("a type", |state, types, budget| types.describe(state, id, budget))
    }

    /// The number that all definitions of one struct, union or enum share.
    ///
    /// # Errors
    /// When the information can't be read.
    pub fn canonical(&self, id: TypeId) -> Answer<TypeId> {
        self.ask("a type", |state, types, budget| types.canonical(state, id, budget))
    }

    /// The members of a struct or union; empty for other types.
    ///
    /// # Errors
    /// When the information can't be read.
    pub fn members(&self, id: TypeId) -> Answer<Vec<DwarfMember>> {
        self.ask("a type's members", |state, types, budget| types.members(state, id, budget))
    }

    /// Names and values of an enum; empty for other types.
    ///
    /// # Errors
    /// When the information can't be read.
    pub fn variants(&self, id: TypeId) -> Answer<Vec<(Arc<str>, i64)>> {
        self.ask("an enum's values", |state, types, budget| types.variants(state, id, budget))
    }

    /// A type as C writes it; `void` for none.
    ///
    /// # Errors
    /// When the information can't be read.
    pub fn type_text(&self, id: Option<TypeId>) -> Answer<String> {
        self.ask("a type's name", |state, types, budget| types.text(state, id, budget))
    }

    /// Addresses of the first statement of a source line, one for each unit that has it. `file` is a
    /// path or the end of one.
    ///
    /// # Errors
    /// [`DwarfError::NoLine`] when no instruction belongs to it.
    pub fn line(&self, file: &str, line: u32, column: Option<u32>) -> Answer<Vec<u64>> {
        let wanted = Wanted { file, line, column };
        let found = self.ask(file, |state, _, budget| lines::find(state, &wanted, budget))?;
        if !found.addresses.is_empty() {
            return Ok(found.addresses);
        }
        let shown = column.map_or_else(|| line.to_string(), |column| format!("{line}:{column}"));
        let files = if found.lines.is_empty() { found.files } else { Vec::new() };
        Err(DwarfError::NoLine {
            path: self.binary.clone(),
            file: file.to_owned(),
            line: shown,
            near: lines::nearest(&found.lines, u64::from(line)),
            files,
        })
    }
}
