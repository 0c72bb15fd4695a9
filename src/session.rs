//! One workbench session: a script, its running trace, its history. The only room the faces talk to.

pub mod update;
