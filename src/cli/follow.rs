//! `probescope follow`: which functions of the kernel are given an object.

use std::ffi::OsString;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;

use super::run::Runner;
use super::script::Script;
use super::xray::{RunArgs, ending, span};
use super::{CliError, World};
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::SourceText;
use crate::output::diagnostics::render_all;
use crate::stdio;
use crate::tracer::follow::{self, Chosen, Object};

/// Follow packets, files, inodes, threads or block requests through the kernel's functions.
///
/// Every function is traced that is given such an object in one of its first six arguments. Of a
/// packet, clones are followed, too, and why it was dropped is told. `--script` prints the script
/// that does it.
///
/// Examples:
///
///   probescope follow skb --proto udp --port 53
///
///   probescope follow file --filter 'str($o->f_path.dentry->d_name.name) == "passwd"' -c 'cat /etc/passwd'
#[derive(Debug, clap::Args)]
#[command(about = "Follow packets, files, inodes, threads or block requests through the kernel", verbatim_doc_comment)]
pub struct Args {
    /// What to follow.
    #[arg(value_enum, value_name = "OBJECT")]
    object: Kind,
    /// Only objects for which this condition holds: an expression of the script's language over `$o`.
    #[arg(long, value_name = "CONDITION")]
    filter: Option<String>,
    /// Only packets from or to this IPv4 address.
    #[arg(long, value_name = "ADDRESS")]
    host: Option<Ipv4Addr>,
    /// Only packets from or to this TCP or UDP port.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Only packets of this protocol.
    #[arg(long, value_enum, value_name = "PROTOCOL")]
    proto: Option<Protocol>,
    /// Run a command: the trace ends with it.
    #[arg(short = 'c', long = "command", value_name = "COMMAND")]
    command: Option<String>,
    /// How long.
    #[arg(short = 'd', long, value_name = "TIME", value_parser = span)]
    duration: Option<Duration>,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
    /// Also record to a file.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print the script that would run, and end.
    #[arg(long)]
    script: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Kind {
    /// Packets (struct `sk_buff`).
    Skb,
    /// Open files.
    File,
    /// Inodes.
    Inode,
    /// Threads.
    Task,
    /// Requests to block devices.
    Bio,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Protocol {
    Icmp,
    Tcp,
    Udp,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let object = match args.object {
        Kind::Skb => Object::Skb,
        Kind::File => Object::File,
        Kind::Inode => Object::Inode,
        Kind::Task => Object::Task,
        Kind::Bio => Object::Bio,
    };
    // IANA's numbers.
    let protocol = args.proto.map(|protocol| match protocol {
        Protocol::Icmp => 1,
        Protocol::Tcp => 6,
        Protocol::Udp => 17,
    });
    let chosen = Chosen { filter: args.filter.clone(), host: args.host, port: args.port, protocol };
    if chosen.of_headers() && object != Object::Skb {
        return Err(CliError::Refused("--host, --port and --proto choose packets: follow skb".to_owned()));
    }
    let kernel = super::kernel::running(world);
    let mut text = follow::script(object, &chosen, &kernel)
        .map_err(|absence| CliError::Refused(format!("{absence}; {}", absence.remedy)))?;
    if let Some(duration) = args.duration {
        text += &ending(duration);
    }
    if args.script {
        stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut words = ["run", "--times", "-e", ""].map(OsString::from).to_vec();
    if args.json {
        words.extend(["-f", "json"].map(Into::into));
    }
    if let Some(command) = &args.command {
        words.extend(["-c", command].map(Into::into));
    }
    if let Some(path) = &args.record {
        words.extend(["--record".into(), path.into()]);
    }
    let run = RunArgs::try_parse_from(words).map_err(|error| CliError::Refused(error.to_string()))?.run;
    // What is said of a line is said of the script that `--script` prints.
    let script = Script::of_text("follow --script", &text);
    let plain = |d: &[Diagnostic], s: &SourceText| render_all(s, d, world.colour());
    Runner::new(&run, world, &script, &plain).run()
}
