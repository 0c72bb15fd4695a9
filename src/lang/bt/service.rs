//! What an editor asks about a bpftrace script. Pure: text and knowledge in, answers out. It works on half-typed text,
//! since the parser always returns a tree.

mod completion;
mod context;
mod groups;
mod helpers;
mod highlight;
mod hover;
mod infer;
mod navigate;
mod places;
mod references;
mod signature;
#[cfg(test)]
mod tests;

pub use completion::completions;
pub use groups::groups;
pub use helpers::cleared_at_end;
pub use highlight::BtPieces;
pub use hover::hover;
pub use navigate::{definition, imported, symbols};
pub use references::{references, renamable, rename};
pub use signature::signature_help;
