//! What compiling a script gives, and the form in which a session is given a compiler.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::codegen::artifact::Artifact;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::SourceText;
use crate::lang::typed::Program;

/// A compiled script, or why there is none.
#[derive(Clone, Debug, Default)]
pub struct Compilation {
    /// Everything there is to say about the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The result; absent when there were errors.
    pub output: Option<Compiled>,
}

/// What a compiled script runs from.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The checked script.
    pub program: Arc<Program>,
    /// The object and its description.
    pub artifact: Arc<Artifact>,
    /// Time and size.
    pub figures: CompileFigures,
}

/// Compiles a text in the language that its name tells; the second argument is the process of `-c`, when there is one.
pub type Compiler = Arc<dyn Fn(&SourceText, Option<u32>) -> Compilation + Send + Sync>;

/// Figures of one compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompileFigures {
    /// Parse, check and code generation together, ns.
    pub compile_ns: u64,
    /// BPF instructions of all programs.
    pub instructions: u32,
    /// Programs.
    pub programs: u32,
    /// Maps.
    pub maps: u32,
}
