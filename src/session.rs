//! A session owns its tracers and drives them: the only room that the faces talk to.

pub mod count;
mod driver;
mod feed;
pub mod front;
pub mod headless;
pub mod hits;
pub mod live;
pub mod recorded;
pub mod rerun;
pub mod scopes;
pub mod testing;
pub mod trial;
pub mod update;

pub use live::{Session, SessionHandle, SessionOptions};
