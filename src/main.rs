//! Arguments, panic hook, exit code: nothing else.

use std::process::ExitCode;

use probescope::{cli, stdio};

fn main() -> ExitCode {
    // A report quotes what it was that went wrong: it has no colours of its own, and goes through the one door.
    let hooks = color_eyre::config::HookBuilder::new().theme(color_eyre::config::Theme::new());
    let (panic_hook, _) = hooks.display_env_section(false).into_hooks();
    std::panic::set_hook(Box::new(move |panic| stdio::say(panic_hook.panic_report(panic))));
    cli::main(std::env::args_os().collect(), &cli::World::of_process())
}
