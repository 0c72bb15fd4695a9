//! One workbench session: a script, its running trace, its history. The only room the faces talk to.

pub mod child;
pub mod headless;
pub mod losses;
pub mod report;
pub mod reporter;
pub mod update;
