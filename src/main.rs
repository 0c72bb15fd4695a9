//! Arguments, panic hook, exit code: nothing else.

use std::process::ExitCode;

use probescope::cli;

fn main() -> ExitCode {
    let (panic_hook, _) = color_eyre::config::HookBuilder::default().display_env_section(false).into_hooks();
    panic_hook.install();
    cli::main(std::env::args_os().collect(), &cli::World::of_process())
}
