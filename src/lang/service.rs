//! What an editor may ask about a script, whatever its language: the questions and answers. Each front end answers
//! from text and knowledge alone ([`super::front::FrontEnd`]), and on half-typed text, too.
//!
//! What is known of the kernel comes through [`Knowledge`], so that the same front end answers the
//! workbench, `probescope lsp` and tests.

pub mod kernel;

use std::ops::Range;

use super::source::Span;

/// One field, argument or member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type as C spells it, such as `struct file *`.
    pub ty: String,
}

/// An attach point that could be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeHit {
    /// The whole attach point.
    pub point: String,
    /// A few words about it.
    pub detail: String,
}

/// What the machine has to offer. Every answer may be empty.
pub trait Knowledge {
    /// Attach points that fit what was typed so far, best first, at most `limit`.
    fn probes(&self, typed: &str, limit: usize) -> Vec<ProbeHit>;
    /// The arguments of an attach point.
    fn args(&self, point: &str) -> Vec<Field>;
    /// The type of `retval` at an attach point.
    fn retval(&self, point: &str) -> Option<String>;
    /// Members of `struct x` or `union x`, anonymous ones flattened.
    fn members(&self, ty: &str) -> Vec<Field>;
    /// As [`Knowledge::members`], where the binary of a user probe has a type of that name the binary's.
    fn members_in(&self, _point: &str, ty: &str) -> Vec<Field> {
        self.members(ty)
    }
    /// Names of structs that begin with `prefix`, at most `limit`.
    fn structs(&self, prefix: &str, limit: usize) -> Vec<String>;
}

/// Knows nothing: for scripts looked at away from their machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKnowledge;

impl Knowledge for NoKnowledge {
    fn probes(&self, _: &str, _: usize) -> Vec<ProbeHit> {
        Vec::new()
    }
    fn args(&self, _: &str) -> Vec<Field> {
        Vec::new()
    }
    fn retval(&self, _: &str) -> Option<String> {
        None
    }
    fn members(&self, _: &str) -> Vec<Field> {
        Vec::new()
    }
    fn structs(&self, _: &str, _: usize) -> Vec<String> {
        Vec::new()
    }
}

/// What the service works with.
#[derive(Clone, Copy)]
pub struct ServiceEnv<'a> {
    /// What is known of the machine.
    pub knowledge: &'a dyn Knowledge,
}

/// What a completion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompletionKind {
    /// A field, argument or member.
    Field,
    /// A scratch variable.
    Variable,
    /// A map.
    Map,
    /// An attach point.
    Probe,
    /// A builtin variable.
    Builtin,
    /// A function.
    Function,
    /// A macro or function of the script.
    Macro,
    /// A struct.
    Type,
    /// A keyword.
    Keyword,
}

/// One thing that could be typed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What is shown.
    pub label: String,
    /// What is inserted.
    pub insert: String,
    /// The text it takes the place of.
    pub replace: Span,
    /// What it is.
    pub kind: CompletionKind,
    /// Type or signature.
    pub detail: String,
    /// One or two sentences, maybe empty.
    pub doc: String,
}

/// What is known about the thing under the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// The thing.
    pub span: Span,
    /// Its type or signature, in the script's language.
    pub code: String,
    /// Sentences, maybe empty.
    pub doc: String,
}

/// The call the cursor is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureHelp {
    /// The whole signature.
    pub label: String,
    /// What the function does.
    pub doc: String,
    /// Byte ranges of the parameters in the label.
    pub parameters: Vec<(usize, usize)>,
    /// Which of them is being typed.
    pub active: usize,
}

/// Kinds of top-level items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A probe.
    Probe,
    /// A macro.
    Macro,
    /// A function.
    Function,
    /// A map declaration.
    Map,
    /// A C type.
    Type,
    /// The settings.
    Config,
}

/// A top-level item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name; of a probe, its attach points.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// All of it.
    pub span: Span,
    /// Its name's place.
    pub selection: Span,
}

/// Why a name can't be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenameError {
    /// Nothing that the script names is there.
    #[error("the script gives no name here")]
    NoName,
    /// The new name has other characters than a name may have.
    #[error("`{0}` is no name: letters, digits and `_`, not first a digit")]
    BadName(String),
    /// Something else has the new name.
    #[error("the script has a `{0}` already")]
    Taken(String),
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A comment, or text that the preprocessor leaves out.
    Comment,
    /// A preprocessor line.
    Directive,
    /// An attach point.
    Probe,
    /// A word of the language's grammar.
    Keyword,
    /// A type.
    Type,
    /// A builtin variable.
    Builtin,
    /// A function that is called.
    Function,
    /// A field of a struct or record.
    Field,
    /// A map.
    Map,
    /// A variable or parameter of the script.
    Variable,
    /// A number or duration.
    Number,
    /// A string.
    Str,
    /// Punctuation.
    Operator,
}

/// A text taken apart, for colours and for keys that look at where they are typed.
pub trait Pieces: std::fmt::Debug + Send + Sync {
    /// Blocks that are open before a byte offset.
    fn depth(&self, offset: u32) -> u16;
    /// True where a new clause could begin: between the script's items, outside of comments.
    fn between_items(&self, offset: u32, text: &str) -> bool;
    /// Whether a byte offset lies in a definition of C types.
    fn in_definition(&self, offset: u32) -> bool;
    /// The pieces that touch a byte range of the text, in order; gaps are plain.
    fn within(&self, range: Range<u32>, text: &str) -> Vec<(Range<u32>, Class)>;
}
