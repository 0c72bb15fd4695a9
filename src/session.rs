//! One workbench session: a script, its running trace, its history. The only room the faces talk to.

pub mod child;
pub mod compilation;
pub mod failure;
pub mod front;
pub mod headless;
pub mod lines;
pub mod live;
pub mod losses;
pub mod names;
pub mod origin;
pub mod report;
pub mod reporter;
pub mod testing;
pub mod trial;
pub mod update;

pub use live::{Session, SessionHandle, SessionOptions};
