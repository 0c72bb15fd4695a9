//! Arguments, panic hook, allocator, exit code: nothing else.

use std::process::ExitCode;

use probescope::{cli, stdio};

/// The history drops and takes chunks of a few kilobytes all day long. The C library's allocator leaves more and more
/// holes between them, a third of the history after a day; this one's memory stays as it is once the history is full.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A report quotes what it was that went wrong: it has no colours of its own, and goes through the one door.
    let hooks = color_eyre::config::HookBuilder::new().theme(color_eyre::config::Theme::new());
    let (panic_hook, _) = hooks.display_env_section(false).into_hooks();
    std::panic::set_hook(Box::new(move |panic| stdio::say(panic_hook.panic_report(panic))));
    cli::main(std::env::args_os().collect(), &cli::World::of_process())
}
