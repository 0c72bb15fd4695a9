//! What subcommands that trace have in common.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use crate::kernel::Kernel;
use crate::session::SessionHandle;
use crate::session::update::Update;

/// Starts a session, or tells why scripts can't run here.
pub fn session(_kernel: &Arc<Kernel>) -> Result<(SessionHandle, Receiver<Update>), String> {
    Err("the compiler is not built in".to_owned())
}
